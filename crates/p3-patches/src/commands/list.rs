//! `list`: the patches there are.

use anyhow::Result;
use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;

use crate::measure::record::{self, Record};
use crate::measure::row::Row;
use crate::project::Patches;
use crate::series::Series;
use crate::series::patch::Patch;

/// List the patches: what they do, for which releases, what they need, what they gain.
///
/// The effect is the range, over the recorded workloads of one ISA, of the time with the patch to the time without;
/// the records are in a checkout of this tool's repository, and without one there is no effect to show. JSON has more: the
/// packages that a patch touches, its risk, how far it is upstream.
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
struct Listed {
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
    /// The newest record on the newest base, previews apart, for each ISA and CPU.
    effect: Vec<Record>,
}

pub fn run(args: &Args, patches: &Patches) -> Result<()> {
    let series = Series::load(patches)?;
    let mut listed = Vec::new();
    for entry in &series.entries {
        let base = series.newest_base_of(patches, &entry.name)?;
        let header = Patch::load(patches, &base, &entry.name)?.header;
        listed.push(Listed {
            name: entry.name.clone(),
            inert: header.inert(),
            subject: header.subject().to_owned(),
            title: header.title,
            packages: header.packages,
            bases: header.bases,
            needs: header.needs,
            architectures: header.architectures,
            risk: header.risk,
            forwarded: header.forwarded,
            applied_upstream: header.applied_upstream,
            effect: match patches.root() {
                Some(root) => {
                    let base = series.default_base_of(patches, &entry.name)?;
                    record::records(root, patches, &series, &base, &entry.name)?
                }
                None => Vec::new(),
            },
        });
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&listed)?);
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

/// The subject, and a line each for what limits the patch.
fn what(patch: &Listed) -> String {
    let mut lines = vec![patch.subject.clone()];
    if !patch.needs.is_empty() {
        lines.push(format!("needs {}", patch.needs.join(", ")));
    }
    lines.extend(patch.inert.clone());
    lines.join("\n")
}

/// One line per ISA: the smallest and the largest ratio.
fn summary(records: &[Record]) -> String {
    let rows: Vec<&Row> = records.iter().flat_map(|record| &record.rows).collect();
    let line = |rows: &[&Row]| {
        let ratios = rows.iter().map(|row| row.ratio);
        let (least, most) = ratios.fold(
            (f64::INFINITY, f64::NEG_INFINITY),
            |(least, most), ratio| (least.min(ratio), most.max(ratio)),
        );
        format!("{}: {least:.2} to {most:.2}", rows[0].isa)
    };
    rows.chunk_by(|a, b| a.isa == b.isa)
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
}
