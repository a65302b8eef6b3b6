//! `status`: whether what a manifest records is what a build uses.

use std::collections::BTreeMap;

use anyhow::Result;
use comfy_table::{Table, presets};
use serde::Serialize;

use super::{Downstream, spinner};
use crate::error::Failure;
use crate::manifest::{self, Manifest, Use};
use crate::patch;
use crate::project::Patches;
use crate::series::Series;
use crate::tree::{self, Tree};

/// Show what is applied to a workspace, and whether it holds.
///
/// Every tree is made again in memory, from the registry's tarball and the patches, and compared with the one on
/// disk. Exits with 1 if a tree differs, is missing, or is not what the workspace's graph uses.
#[derive(clap::Args)]
#[command(after_help = "Example: cargo p3 status --manifest-path ../prover/Cargo.toml")]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    downstream: Downstream,
}

#[derive(Serialize)]
struct Status {
    manifest: String,
    base: Option<String>,
    /// The git source that the trees replace, in cargo's notation; null where they replace the registry's packages.
    source: Option<String>,
    patches: Vec<String>,
    /// Those of the patches that change no build for this machine's architecture, and why.
    inert: BTreeMap<String, String>,
    trees: Vec<TreeStatus>,
}

#[derive(Serialize)]
struct TreeStatus {
    package: String,
    path: String,
    /// `intact`, `changed`, `missing`, or `outdated` where the patches give another tree by now.
    state: &'static str,
    used: bool,
}

pub fn run(args: &Args, patches: &Patches) -> Result<()> {
    let manifest = Manifest::load(&args.downstream.manifest_path)?;
    let mut status = Status {
        manifest: manifest.path.display().to_string(),
        base: None,
        source: None,
        patches: Vec::new(),
        inert: BTreeMap::new(),
        trees: Vec::new(),
    };
    let Some(stanza) = &manifest.stanza else {
        return if args.json {
            print_json(&status)
        } else {
            println!("{}: no patches applied", manifest.path.display());
            Ok(())
        };
    };
    let progress = spinner("comparing trees");
    let series = Series::load(patches)?;
    let (base, names) = series.resolve(patches, Some(&stanza.base), &stanza.names)?;
    let (planned, _) = tree::plan(patches, &base, &names, false)?;
    let metadata = manifest.resolve_locked()?;
    for (package, place) in &stanza.overrides {
        let path = manifest.root().join(place);
        let tree = Tree {
            package: package.clone(),
            version: stanza.base.clone(),
            path,
        };
        let planned = planned
            .iter()
            .find(|planned| planned.stamp.package == *package);
        let state = match planned {
            _ if !tree.path.exists() => "missing",
            Some(planned) if !tree.path.ends_with(&planned.place) => "outdated",
            Some(planned) if planned.equals(&tree.path)? => "intact",
            Some(_) => "changed",
            None => "outdated",
        };
        let used = metadata.as_ref().is_ok_and(|metadata| {
            manifest::usage(metadata, &tree) == Use::Used
                && (stanza.git.is_none()
                    || manifest::copies(metadata, package, &stanza.base).len() == 1)
        });
        status.trees.push(TreeStatus {
            package: tree.package,
            path: place.clone(),
            state,
            used,
        });
    }
    status.base = Some(stanza.base.clone());
    status.source = stanza.git.as_ref().map(|git| git.source.to_string());
    status.patches.clone_from(&stanza.names);
    status.inert = patch::inert(patches, &stanza.base, &names)?;
    progress.finish_and_clear();

    if args.json {
        print_json(&status)?;
    } else {
        println!(
            "{}: Plonky3 {} with {}",
            status.manifest,
            stanza.base,
            stanza.names.join(", ")
        );
        if let Some(source) = &status.source {
            println!("in place of {source}");
        }
        for (name, reason) in &status.inert {
            println!("{name}: {reason}");
        }
        let mut table = Table::new();
        table
            .load_style(presets::NOTHING)
            .set_header(["package", "tree", "state", "used"]);
        for tree in &status.trees {
            table.add_row([
                tree.package.as_str(),
                tree.path.as_str(),
                tree.state,
                if tree.used { "yes" } else { "no" },
            ]);
        }
        println!("{}", table.trim_fmt());
    }
    if status
        .trees
        .iter()
        .all(|tree| tree.state == "intact" && tree.used)
    {
        return Ok(());
    }
    let cause = metadata
        .err()
        .map(|error| format!(": {error}"))
        .unwrap_or_default();
    Err(Failure::check(format!(
        "{}: the patches are not in effect as recorded{cause}",
        status.manifest
    ))
    .hint("`cargo p3 apply` without names applies them again")
    .into())
}

fn print_json(status: &Status) -> Result<()> {
    println!("{}", serde_json::to_string_pretty(status)?);
    Ok(())
}
