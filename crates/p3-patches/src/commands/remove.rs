//! `remove`: the manifest as it was, and the lock file with it.

use anyhow::Result;

use super::{Downstream, as_called};
use crate::project::Patches;
use crate::prover::locked_dir::LockedDir;
use crate::prover::manifest::Manifest;
use crate::prover::tree;
use paired::error::Failure;
use paired::exit::print_with_hint;
use paired::interrupt;
use paired::terminal::{shown, spinner};

/// Take the overrides out of a prover's workspace again.
///
/// The manifest is restored byte for byte, the lock file names the registry's packages (or git's) again, at the same
/// versions, and the folder `.p3-patches` is deleted. A warning says why cargo refuses the prover without the patches, too, where it
/// does.
#[derive(clap::Args)]
#[command(after_help = "Example: cargo p3 remove --manifest-path ../prover/Cargo.toml")]
pub struct Args {
    #[command(flatten)]
    downstream: Downstream,
}

pub fn run(args: &Args, patches: &Patches) -> Result<()> {
    let path = &args.downstream.manifest_path;
    let manifest = match Manifest::load(path) {
        // Cargo refuses the manifest or does not answer, but the block is known without cargo.
        Err(error) if interrupt::check().is_ok() => Manifest::load_by_itself(path)
            .ok()
            .filter(has_patches)
            .ok_or(error)?,
        loaded => loaded?,
    };
    if !has_patches(&manifest) {
        let what = format!("{}: no patches are applied here", shown(&manifest.path));
        return Err(Failure::input(what)
            .hint("--manifest-path names your prover's Cargo.toml")
            .into());
    }
    let folder = LockedDir::lock(&manifest.trees())?;
    // Once more, now that no other run can change it.
    let manifest = Manifest::load_by_itself(&manifest.path)?;
    let patches = &patches.at_work_in(manifest.root());
    let progress = spinner("resolving the graph");
    let broken = manifest.edit(&folder, |[file, lock]| {
        manifest.set(None, patches, &folder, [file, lock])?;
        if !manifest.lock_file().exists() {
            return Ok(None);
        }
        match manifest.resolve(lock, &[]) {
            Ok(_) => Ok(None),
            // The patches go from a prover that is broken otherwise, and without a network, too. The lock file is right by now.
            Err(error) => interrupt::check().map(|()| Some(error)),
        }
    })?;
    tree::keep_only(folder, &[])?;
    progress.finish_and_clear();
    manifest.print_moved();
    let path = shown(&manifest.path);
    match &manifest.stanza {
        Some(stanza) => println!("removed {} from {path}", stanza.names.join(", ")),
        None => println!("removed what was left of patches beside {path}"),
    }
    if let Some(error) = broken {
        let what = format!("without the patches, {error:#}");
        print_with_hint("warning", &what, &error, as_called);
    }
    Ok(())
}

/// Tells whether a prover has patches or what is left of them: where the block was deleted by hand, the trees and their entries in the
/// lock file are.
fn has_patches(manifest: &Manifest) -> bool {
    manifest.stanza.is_some() || manifest.trees().is_dir()
}
