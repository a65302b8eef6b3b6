//! `overlay`: patched packages as a folder for a git repository of the user's own.

use std::path::PathBuf;

use anyhow::Result;

use crate::catalog::Catalog;
use crate::overlay::{self, Overlay};
use crate::project::Patches;
use paired::error::Failure;
use paired::files::dir::{Dir, is_locked};
use paired::terminal::{shown, spinner};

/// Write patched packages to a folder that a team can push to a git repository.
///
/// Provers then name that repository in `[patch.crates-io]`, and need neither this tool nor a folder of trees. The folder
/// has a README with the lines to write, the licences, and in `provenance.json` what each package was made from. The same
/// patches give the same bytes. In a folder that `overlay` wrote its packages and files are replaced, and a `.git` stays; any
/// other one has to be empty.
#[derive(clap::Args)]
#[command(after_help = "Example: cargo p3 overlay --out ../plonky3-patched batched-permute")]
pub struct Args {
    /// Patches to apply, with what they need [default: all that there are for the release].
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// The folder to write.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The Plonky3 release [default: the newest that has patches; a preview, such as 0.9.0-rc.2, is taken by name only].
    #[arg(long, value_name = "VERSION")]
    base: Option<String>,
}

pub fn run(args: &Args, patches: &Patches) -> Result<()> {
    // The configuration of the current folder is of some prover, and an overlay is for all.
    let catalog = &Catalog::load(&patches.apart()?)?;
    let (base, names) = catalog.chosen(args.base.as_deref(), &args.names)?;
    if names.is_empty() {
        return Err(Failure::input(format!("no patch is for Plonky3 {base}"))
            .hint("patches/series lists patches, each with a text in the folder of a release")
            .into());
    }
    let out = &std::path::absolute(&args.out)?;
    let progress = spinner(format!("writing {}", shown(out)));
    if out.exists() {
        let folder = Dir::open(out)?;
        // A run that is at work has written a part of an overlay.
        let _lock = folder.lock()?.ok_or_else(|| is_locked(out))?;
        overlay::own_entries(&folder)?;
    }
    let overlay = Overlay::new(catalog, base, &names)?;
    overlay.write(out)?;
    progress.finish_and_clear();
    println!("{}: {}", shown(out), overlay.describe());
    Ok(())
}
