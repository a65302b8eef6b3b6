//! `list`: the patches there are.

use anyhow::Result;
use comfy_table::{Table, presets};
use serde::Serialize;

use crate::patch::Patch;
use crate::project::Project;
use crate::series::Series;

/// List the patches: what they touch, what they need, how far they are upstream.
#[derive(clap::Args)]
#[command(after_help = "Example: cargo p3 list --json")]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Listed {
    name: String,
    title: String,
    packages: Vec<String>,
    bases: Vec<String>,
    needs: Vec<String>,
    forwarded: String,
    applied_upstream: String,
}

pub fn run(args: &Args, project: &Project) -> Result<()> {
    let series = Series::load(project)?;
    let mut listed = Vec::new();
    for entry in &series.entries {
        let base = series.newest_base_of(project, &entry.name)?;
        let header = Patch::load(project, &base, &entry.name)?.header;
        listed.push(Listed {
            name: entry.name.clone(),
            title: header.title,
            packages: header.packages,
            bases: header.bases,
            needs: header.needs,
            forwarded: header.forwarded,
            applied_upstream: header.applied_upstream,
        });
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&listed)?);
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header([
        "name",
        "title",
        "packages",
        "bases",
        "needs",
        "forwarded",
        "upstream",
    ]);
    for patch in &listed {
        table.add_row([
            patch.name.as_str(),
            &patch.title,
            &patch.packages.join(" "),
            &patch.bases.join(" "),
            &patch.needs.join(" "),
            &patch.forwarded,
            &patch.applied_upstream,
        ]);
    }
    println!("{}", table.trim_fmt());
    Ok(())
}
