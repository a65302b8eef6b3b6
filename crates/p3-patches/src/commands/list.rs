//! `list`: the patches there are.

use std::env::consts::ARCH;

use anyhow::Result;
use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;

use crate::catalog::Catalog;
use crate::catalog::effects::{Effect, Effects};
use crate::project::Patches;
use paired::terminal::print_json;

/// List the patches: what they do, for which releases, what they need, what they gain.
///
/// The effect is, for each ISA, the time with the patch to the time without, of the recorded workload that gains most. JSON has
/// more: that workload and its CPU, the packages that a patch touches, its risk, what has become of it upstream.
#[derive(clap::Args)]
#[command(after_help = "Example: cargo p3 list --json")]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Columns of a terminal.
const WIDTH: u16 = 100;

#[derive(Serialize)]
struct Listed<'e> {
    name: String,
    title: String,
    #[serde(skip)]
    subject: String,
    packages: Vec<String>,
    bases: Vec<String>,
    needs: Vec<String>,
    /// Empty where the patch changes builds for all.
    architectures: Vec<String>,
    /// Why the patch changes nothing on this machine; absent where it may.
    inert: Option<String>,
    risk: String,
    forwarded: String,
    applied_upstream: String,
    /// The best row of the newest record, for each ISA.
    effect: Vec<&'e Effect>,
}

pub fn run(args: &Args, patches: &Patches) -> Result<()> {
    let catalog = Catalog::load(patches)?;
    let effects = Effects::load(&catalog)?;
    let mut listed = Vec::new();
    for entry in &catalog.entries {
        let base = catalog.newest_base_of(&entry.name)?;
        let header = catalog.patch(&base, &entry.name)?.header;
        listed.push(Listed {
            name: entry.name.clone(),
            inert: header.inert(&[ARCH]),
            subject: header.subject().to_owned(),
            title: header.title,
            packages: header.packages,
            bases: header.bases,
            needs: header.needs,
            architectures: header.architectures,
            risk: header.risk,
            forwarded: header.forwarded,
            applied_upstream: header.applied_upstream,
            effect: effects.newest(&entry.name),
        });
    }
    if args.json {
        print_json(&listed);
        return Ok(());
    }
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH)
        .set_header(["name", "what it does", "releases", "effect"]);
    for patch in &listed {
        table.add_row([
            patch.name.as_str(),
            &what(patch),
            &patch.bases.join("\n"),
            &summary(&patch.effect),
        ]);
    }
    println!("{}", table.trim_fmt());
    Ok(())
}

/// Returns the subject, and a line each for what limits the patch.
fn what(patch: &Listed<'_>) -> String {
    let mut lines = vec![patch.subject.clone()];
    if !patch.needs.is_empty() {
        lines.push(format!("needs {}", patch.needs.join(", ")));
    }
    lines.extend(patch.inert.clone());
    lines.join("\n")
}

/// Returns one line per ISA: the ratio of the row that gains most.
fn summary(effects: &[&Effect]) -> String {
    let line = |effect: &&Effect| format!("{}: {:.2}", effect.isa, effect.ratio);
    effects.iter().map(line).collect::<Vec<_>>().join("\n")
}
