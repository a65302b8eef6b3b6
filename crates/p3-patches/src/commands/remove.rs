//! `remove`: the manifest as it was, and the lock file with it.

use std::fs;

use anyhow::{Context, Result};
use toml_edit::{ArrayOfTables, DocumentMut, Item, value};

use super::{Downstream, spinner};
use crate::error::Failure;
use crate::manifest::{Manifest, Restore};
use crate::project::Patches;
use crate::source::{self, Locked};
use crate::tree::Folder;

/// Take the overrides out of a prover's workspace again.
///
/// The manifest is restored byte for byte, the lock file names the registry's packages again, at the same versions,
/// and the folder `.p3-patches` is deleted.
#[derive(clap::Args)]
#[command(after_help = "Example: cargo p3 remove --manifest-path ../prover/Cargo.toml")]
pub struct Args {
    #[command(flatten)]
    downstream: Downstream,
}

pub fn run(args: &Args, patches: &Patches) -> Result<()> {
    let not_applied = |manifest: &Manifest| {
        Failure::input(format!(
            "{}: no patches are applied here",
            manifest.path.display()
        ))
        .hint("--manifest-path names your prover's Cargo.toml")
    };
    let manifest = Manifest::load(&args.downstream.manifest_path)?;
    if manifest.stanza.is_none() {
        return Err(not_applied(&manifest).into());
    }
    let folder = Folder::lock(&manifest.trees())?;
    // Once more, now that no other run can change it.
    let manifest = Manifest::load(&manifest.path)?;
    let stanza = manifest
        .stanza
        .as_ref()
        .ok_or_else(|| not_applied(&manifest))?;
    let progress = spinner("resolving the graph");
    let restore = Restore::new(&folder, &[manifest.path.clone(), manifest.lock_file()])?;
    folder.replace(&manifest.path, manifest.original.as_bytes())?;
    if let Ok(lock) = fs::read_to_string(manifest.lock_file()) {
        let published = (stanza.overrides.keys())
            .map(|package| source::locked(patches, package, &stanza.base))
            .collect::<Result<Vec<_>>>()?;
        folder.replace(&manifest.lock_file(), relock(&lock, &published)?.as_bytes())?;
        manifest.resolve()?;
    }
    restore.keep();
    folder.keep_only(&[])?;
    progress.finish_and_clear();
    println!(
        "removed {} from {}",
        stanza.names.join(", "),
        manifest.path.display()
    );
    Ok(())
}

/// Names the registry as the source of `published` packages again. Left to itself, cargo would lock the newest
/// releases that the prover's requirements allow, and what those need in turn.
fn relock(lock: &str, published: &[Locked]) -> Result<String> {
    let mut lock: DocumentMut = lock.parse().context("cannot parse Cargo.lock")?;
    let packages = lock
        .get_mut("package")
        .and_then(Item::as_array_of_tables_mut);
    for package in packages.into_iter().flat_map(ArrayOfTables::iter_mut) {
        let field = |name| package.get(name).and_then(Item::as_str).unwrap_or_default();
        let same =
            |locked: &&Locked| locked.name == field("name") && locked.version == field("version");
        if let Some(locked) = published
            .iter()
            .find(same)
            .filter(|_| field("source").is_empty())
        {
            package["source"] = value(&locked.source);
            package["checksum"] = value(&locked.checksum);
        }
    }
    Ok(lock.to_string())
}
