//! Patched packages as a folder for a git repository of the user's own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::Result;
use rustix::fs::FileType;
use serde::{Deserialize, Serialize};

use crate::catalog::Catalog;
use crate::project::TOOL;
use crate::prover::locked_dir::LockedDir;
use crate::prover::tree::{self, Stamp, StampedPatch};
use paired::error::Failure;
use paired::files::contents::json;
use paired::files::dir::{Dir, is_link, is_locked};
use paired::terminal::shown;

/// The packages, and what stands beside them.
pub struct Overlay {
    provenance: Provenance,
    /// Contents by path.
    files: BTreeMap<String, Vec<u8>>,
}

/// The origin of the packages, for programs.
#[derive(Serialize)]
struct Provenance {
    tool: String,
    base: String,
    /// The hash that `apply` prints for the same patches.
    patches_sha256: String,
    /// In order of application.
    patches: Vec<StampedPatch>,
    packages: Vec<Stamp>,
}

/// The part that shows that a folder is an overlay, and which of its entries belong to it.
#[derive(Deserialize)]
struct Written {
    tool: String,
    packages: Vec<WrittenPackage>,
}

#[derive(Deserialize)]
struct WrittenPackage {
    package: String,
}

const README: &str = "README.md";
const PROVENANCE: &str = "provenance.json";
const LICENSE_MIT: &str = "LICENSE-MIT";
const LICENSE_APACHE: &str = "LICENSE-APACHE";

/// The user's own, which is left alone.
const REPOSITORY: &str = ".git";

/// The folder, in that of the overlay, of what is unfinished: new entries until they have taken their place, old ones from
/// then on. It is locked by the run that is at work; what a killed run has left, the next one removes.
const UNFINISHED: &str = ".tmp-overlay";

/// The file in there with the names of the entries that are the overlay's, before this run or after it.
const OWN: &str = "own";

/// The line of Plonky3's licence that this repository's lacks; the registry's tarballs carry no licence.
const COPYRIGHT: &str = "Copyright (c) 2025 The Plonky3 Authors";

impl Overlay {
    /// Returns the packages of the release `base` with the patches `names`, which are in series order and complete.
    pub fn new(catalog: &Catalog, base: String, names: &[String]) -> Result<Self> {
        let plan = tree::plan(catalog, &base, names, false, |_| true)?.complete()?;
        let applied = (names.iter())
            .map(|name| Ok(StampedPatch::new(&catalog.patch(&base, name)?)))
            .collect::<Result<Vec<_>>>()?;
        let mut files = BTreeMap::new();
        let mut packages = Vec::new();
        for planned in plan.trees {
            let folder = planned.stamp.package.clone();
            let inside = |(file, contents)| (format!("{folder}/{file}"), contents);
            files.extend(planned.files.into_iter().map(inside));
            packages.push(planned.stamp);
        }
        let provenance = Provenance {
            tool: format!("{TOOL} {}", env!("CARGO_PKG_VERSION")),
            patches_sha256: catalog.sha256(&base, names)?,
            base,
            patches: applied,
            packages,
        };
        let license_mit = include_str!("../embedded/LICENSE-MIT");
        let license_apache = include_str!("../embedded/LICENSE-APACHE");
        files.extend([
            (README.to_owned(), provenance.readme().into()),
            (PROVENANCE.to_owned(), json(&provenance)),
            (
                LICENSE_MIT.to_owned(),
                format!("{COPYRIGHT}\n{license_mit}").into(),
            ),
            (LICENSE_APACHE.to_owned(), license_apache.into()),
        ]);
        Ok(Self { provenance, files })
    }

    /// Writes the folder `out`, which is empty, not there, or an overlay.
    pub fn write(&self, out: &Path) -> Result<()> {
        let is_new = !out.exists();
        let folder = Dir::create(out)?;
        // The folder in it that is locked, too, goes at the end.
        let _lock = folder.lock()?.ok_or_else(|| is_locked(out))?;
        let published = publish(&folder, &self.files);
        if is_new && published.is_err() {
            // A folder that is not empty is left.
            let _ = fs::remove_dir(out);
        }
        published
    }

    /// Returns a line for the whole, and one for each package.
    pub fn describe(&self) -> String {
        let of = &self.provenance;
        let mut text = format!("{}\n  patches {}", of.title(), of.patches_sha256);
        for stamp in &of.packages {
            text += &format!("\n  {} {}", stamp.package, stamp.version);
        }
        text
    }
}

/// Replaces the contents of a folder by these files, entry by entry (a package is one). An interrupted run leaves each entry as it
/// was or whole. The provenance is written last.
fn publish(out: &Dir, files: &BTreeMap<String, Vec<u8>>) -> Result<()> {
    let unfinished = LockedDir::try_lock(&out.path().join(UNFINISHED))?;
    let unfinished = unfinished.ok_or_else(|| is_locked(out.path()))?;
    // Once more, now that no other run can change it.
    let before = own_entries(out)?;
    let new = files.keys().filter_map(|path| path.split('/').next());
    let new: BTreeSet<_> = new.map(str::to_owned).collect();
    let own = before.union(&new).cloned().collect::<Vec<_>>().join("\n");
    unfinished.replace(unfinished.dir.place(OWN)?, own.as_bytes())?;

    let staged = unfinished.dir.temporary()?;
    let entries = staged.folder();
    let written = tree::write_files(entries, files);
    if written.is_ok() {
        unfinished.dir.sync_all()?;
        // An entry that was not there before belongs to another program.
        let put = |name: &String| {
            let place = out.place(name)?;
            if before.contains(name) {
                return entries.swap(name.as_ref(), &place);
            }
            match entries.put_new(name.as_ref(), &place)? {
                true => Ok(()),
                false => Err(is_locked(out.path()).into()),
            }
        };
        new.iter()
            .filter(|name| *name != PROVENANCE)
            .try_for_each(put)?;
        // The provenance vouches for what is on the disk.
        unfinished.dir.sync_all()?;
        put(&PROVENANCE.to_owned())?;
        for name in before.difference(&new) {
            out.rename(name.as_ref(), entries, name.as_ref())?;
        }
        // The old content goes when no power failure brings it back.
        unfinished.dir.sync_all()?;
    }
    out.remove(UNFINISHED.as_ref())?;
    written
}

/// Returns the entries of a folder that `overlay` has written. Refuses one that holds anything else.
pub fn own_entries(out: &Dir) -> Result<BTreeSet<String>> {
    let refuse = |what: &str| {
        Failure::input(format!("{}: {what}", shown(out.path()))).hint(
            "--out takes a folder that is empty or not there yet, or one that `overlay` wrote",
        )
    };
    let mut found = BTreeSet::new();
    for (name, kind) in out.entries()? {
        if name == REPOSITORY {
            continue;
        }
        if kind == FileType::Symlink {
            return Err(is_link(&out.path().join(&name)).into());
        }
        if name != UNFINISHED {
            found.insert(name.to_string_lossy().into_owned());
        }
    }
    let written = out.read(PROVENANCE)?;
    let written = written.and_then(|text| serde_json::from_slice::<Written>(&text).ok());
    let written = written.filter(|written| written.tool.starts_with(TOOL));
    let killed = out.read(format!("{UNFINISHED}/{OWN}"))?;
    let mut own = BTreeSet::new();
    if let Some(written) = &written {
        own.extend([README, PROVENANCE, LICENSE_MIT, LICENSE_APACHE].map(str::to_owned));
        own.extend((written.packages.iter()).map(|package| package.package.clone()));
    }
    if let Some(killed) = &killed {
        own.extend(String::from_utf8_lossy(killed).lines().map(str::to_owned));
    }
    match found.difference(&own).next() {
        Some(_) if own.is_empty() => Err(refuse("not empty, and no overlay").into()),
        Some(stray) => Err(refuse(&format!(
            "an overlay, but {} is no part of it",
            shown(stray)
        ))
        .into()),
        None => Ok(found),
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
            patches_sha256,
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
        for stamp in packages {
            let package = &stamp.package;
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
        for stamp in packages {
            let names = names(&stamp.patches, ", ");
            text += &format!(
                "| {} {} | `{}` | `{}` | {} | {names} |\n",
                stamp.package, stamp.version, stamp.checksum, stamp.commit, stamp.folder
            );
        }
        text += "\n| patch, in order | SHA-256 |\n|---|---|\n";
        for StampedPatch { name, sha256 } in patches {
            text += &format!("| {name} | `{sha256}` |\n");
        }
        text += &format!("| all of these, as `apply` prints it | `{patches_sha256}` |\n");
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
