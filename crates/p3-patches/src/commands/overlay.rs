//! `overlay`: patched packages as a folder for a git repository of the user's own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::spinner;
use crate::error::Failure;
use crate::patch::Patch;
use crate::project::Patches;
use crate::series::Series;
use crate::tree::{self, Stamp, StampedPatch};

/// Write patched packages to a folder that a team can push to a git repository.
///
/// Provers then name that repository in `[patch.crates-io]`, and need neither this tool nor a folder of trees. The folder
/// has a README with the lines to write, the licences, and in `provenance.json` what each package was made from. The same
/// patches give the same bytes. A folder that `overlay` wrote is replaced, apart from a `.git` in it; any other one has to
/// be empty.
#[derive(clap::Args)]
#[command(after_help = "Example: cargo p3 overlay --out ../plonky3-patched batched-permute")]
pub struct Args {
    /// Patches to apply, with what they need [default: all that there are for the release].
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// The folder to write.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The Plonky3 release [default: the newest that has patches].
    #[arg(long, value_name = "VERSION")]
    base: Option<String>,
}

/// What the packages were made from, for programs.
#[derive(Serialize)]
struct Provenance {
    tool: String,
    base: String,
    /// In order of application.
    patches: Vec<StampedPatch>,
    packages: Vec<Stamp>,
}

/// What of it shows that a folder is an overlay, and which of its entries belong to that.
#[derive(Deserialize)]
struct Written {
    tool: String,
    packages: Vec<WrittenPackage>,
}

#[derive(Deserialize)]
struct WrittenPackage {
    package: String,
}

const TOOL: &str = env!("CARGO_PKG_NAME");

const README: &str = "README.md";
const PROVENANCE: &str = "provenance.json";
const LICENSE_MIT: &str = "LICENSE-MIT";
const LICENSE_APACHE: &str = "LICENSE-APACHE";

/// The user's own, which stays where the rest of the folder is replaced.
const REPOSITORY: &str = ".git";

/// The line of Plonky3's licence that this repository's lacks; the registry's tarballs carry no licence.
const COPYRIGHT: &str = "Copyright (c) 2025 The Plonky3 Authors";

pub fn run(args: &Args, patches: &Patches) -> Result<()> {
    let series = Series::load(patches)?;
    let (base, names) = series.chosen(patches, args.base.as_deref(), &args.names)?;
    let out = &std::path::absolute(&args.out)?;
    let progress = spinner(format!("writing {}", out.display()));
    refuse_other(out)?;

    let (planned, notes) = tree::plan(patches, &base, &names, false)?;
    let applied = (names.iter())
        .map(|name| Ok(StampedPatch::new(&Patch::load(patches, &base, name)?)))
        .collect::<Result<Vec<_>>>()?;
    let mut files = BTreeMap::new();
    let mut packages = Vec::new();
    for planned in planned {
        let folder = planned.stamp.package.clone();
        let inside = |(file, contents)| (format!("{folder}/{file}"), contents);
        files.extend(planned.files.into_iter().map(inside));
        packages.push(planned.stamp);
    }
    let provenance = Provenance {
        tool: format!("{TOOL} {}", env!("CARGO_PKG_VERSION")),
        base,
        patches: applied,
        packages,
    };
    let license_mit = include_str!("../../embedded/LICENSE-MIT");
    let license_apache = include_str!("../../embedded/LICENSE-APACHE");
    files.extend([
        (README.to_owned(), provenance.readme().into()),
        (PROVENANCE.to_owned(), tree::json(&provenance)),
        (
            LICENSE_MIT.to_owned(),
            format!("{COPYRIGHT}\n{license_mit}").into(),
        ),
        (LICENSE_APACHE.to_owned(), license_apache.into()),
    ]);
    let beside = out
        .parent()
        .context("the root of the file system cannot be replaced")?;
    fs::create_dir_all(beside).with_context(|| format!("cannot create {}", beside.display()))?;
    tree::replace_folder(out, beside, &files, &[REPOSITORY])?;
    progress.finish_and_clear();

    for note in notes {
        eprintln!("note: {note}");
    }
    println!("{}: {}", out.display(), provenance.title());
    for Stamp {
        package, version, ..
    } in &provenance.packages
    {
        println!("  {package} {version}");
    }
    Ok(())
}

/// Refuses a folder that holds what `overlay` has not written.
fn refuse_other(out: &Path) -> Result<()> {
    let unreadable = || format!("cannot read {}", out.display());
    let entries = match fs::read_dir(out) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(unreadable),
    };
    let mut found = BTreeSet::new();
    for entry in entries {
        let name = entry.with_context(unreadable)?.file_name();
        found.insert(name.to_string_lossy().into_owned());
    }
    let refuse = |what: &str| {
        Failure::input(format!("{}: {what}", out.display())).hint(
            "--out takes a folder that is empty or not there yet, or one that `overlay` wrote",
        )
    };
    let written = fs::read(out.join(PROVENANCE)).ok();
    let written = written.and_then(|text| serde_json::from_slice::<Written>(&text).ok());
    let own = written.filter(|written| written.tool.starts_with(TOOL));
    let mut known = BTreeSet::from([REPOSITORY.to_owned()]);
    if let Some(written) = own {
        known.extend([README, PROVENANCE, LICENSE_MIT, LICENSE_APACHE].map(str::to_owned));
        known.extend(written.packages.into_iter().map(|package| package.package));
    } else if found != known && !found.is_empty() {
        return Err(refuse("not empty, and no overlay").into());
    }
    match found.difference(&known).next() {
        Some(stray) => Err(refuse(&format!("an overlay, but {stray} is no part of it")).into()),
        None => Ok(()),
    }
}

impl Provenance {
    fn title(&self) -> String {
        format!("Plonky3 {} with {}", self.base, names(&self.patches, ", "))
    }

    fn readme(&self) -> String {
        let Self {
            tool,
            base,
            patches,
            packages,
        } = self;
        let branch = format!("plonky3-{base}");
        let mut text = format!(
            "# Plonky3 {base}, patched\n\n\
             Packages of [Plonky3](https://github.com/Plonky3/Plonky3) {base} as published, with {names}. The patches keep\n\
             every output as it is, and no version changes. In a git repository, say as its branch `{branch}`, the packages\n\
             replace the registry's in every workspace whose root manifest has\n\n\
             ```toml\n[patch.crates-io]\n",
            names = names(patches, ", ")
        );
        for Stamp { package, .. } in packages {
            text += &format!("{package} = {{ git = \"URL\", branch = \"{branch}\" }}\n");
        }
        text += &format!(
            "```\n\n\
             with that repository's address for `URL`. Patches span packages, so take all lines but those of packages that the\n\
             workspace does not have; cargo warns of an override that it does not use. The workspace has to be locked to\n\
             {base}. `cargo tree --invert PACKAGE` shows where a package comes from.\n\n\
             ## Provenance\n\n\
             | package | registry's tarball, SHA-256 | upstream's commit | folder there | patches |\n|---|---|---|---|---|\n"
        );
        for Stamp {
            package,
            version,
            checksum,
            commit,
            folder,
            patches,
            ..
        } in packages
        {
            let names = names(patches, ", ");
            text += &format!(
                "| {package} {version} | `{checksum}` | `{commit}` | {folder} | {names} |\n"
            );
        }
        text += "\n| patch, in order | SHA-256 |\n|---|---|\n";
        for StampedPatch { name, sha256 } in patches {
            text += &format!("| {name} | `{sha256}` |\n");
        }
        text += &format!(
            "\nWritten by {tool}; `{PROVENANCE}` has the same for programs. From the same patches\n\n\
             ```\n{TOOL} overlay --out DIR --base {base} {names}\n```\n\n\
             writes the same bytes.\n\n\
             ## Licence\n\n\
             MIT or Apache-2.0, at your option: Plonky3's packages and the patches.\n",
            names = names(patches, " ")
        );
        text
    }
}

fn names(patches: &[StampedPatch], separator: &str) -> String {
    let names = patches.iter().map(|patch| patch.name.as_str());
    names.collect::<Vec<_>>().join(separator)
}
