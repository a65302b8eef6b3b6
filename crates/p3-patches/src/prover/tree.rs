//! Trees: packages with patches applied, on disk, where cargo can build them.
//!
//! A tree's folder is named after the hash of its stamp, so a change of tarball, patches or tool gives another
//! folder, and a tree that a manifest points at is never rewritten under it. A tree is written beside its place
//! and renamed: whoever kills the tool at any moment, a folder with a tree's name is a whole tree.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::ops::Not;
use std::path::PathBuf;

use anyhow::Result;
use cargo_metadata::semver::Version;
use rustix::fs::FileType;
use serde::Serialize;

use crate::catalog::Catalog;
use crate::catalog::patch::Patch;
use crate::catalog::stack::Stack;
use crate::project::Patches;
use crate::prover::locked_dir::LockedDir;
use crate::source::package::Package;
use crate::source::registry;
use paired::error::{Failure, Kind};
use paired::files::contents::json;
use paired::files::contents::sha256;
use paired::files::dir::{Dir, UNFINISHED};
use paired::interrupt;
use paired::terminal::print_line;

/// The stamp's file name. Upstream has no hidden files of that name, and a patch cannot write one.
const STAMP: &str = ".p3-stamp.json";

/// The name of a folder that has not taken its place.
const NEW: &str = "new";

/// A patched package on disk.
#[derive(Clone, Debug)]
pub struct Tree {
    pub package: String,
    pub version: String,
    pub path: PathBuf,
}

/// The origin of a tree.
#[derive(Serialize)]
pub struct Stamp {
    tool: &'static str,
    pub package: String,
    pub version: String,
    /// The SHA-256 of the registry's tarball.
    pub checksum: String,
    /// The commit of upstream's that it was published from, and the package's folder there.
    pub commit: String,
    pub folder: String,
    pub patches: Vec<StampedPatch>,
    /// The patches are applied and then taken back: the candidate of `ab --revert`.
    #[serde(skip_serializing_if = "Not::not")]
    reverted: bool,
}

#[derive(Clone, Serialize)]
pub struct StampedPatch {
    pub name: String,
    pub sha256: String,
}

/// A tree in memory, before it is written or compared with one that was.
pub struct Planned {
    pub stamp: Stamp,
    /// The tree's place below the folder of trees, with `/` between its parts.
    pub place: String,
    /// Contents by path inside the tree, the stamp's among them.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The folder of vendored sources that it is made from, where that is not the tarball. The tree is the same.
    pub vendored: Option<PathBuf>,
}

/// The trees of some patches.
#[derive(Default)]
pub struct Plan {
    pub trees: Vec<Planned>,
    /// A note for each hunk at an offset.
    notes: Vec<String>,
    /// The patched packages whose sources are not to be had here, each with the reason. A prover need not have them.
    missing: Vec<(String, anyhow::Error)>,
    /// The packages that are not used.
    unused: Vec<String>,
}

impl StampedPatch {
    pub fn new(patch: &Patch) -> Self {
        Self {
            name: patch.name.clone(),
            sha256: patch.sha256.clone(),
        }
    }
}

impl Planned {
    fn new(package: Package, patches: &[Patch], reverted: bool) -> Self {
        let touching = patches.iter().filter(|patch| touches(patch, &package));
        let patches = touching.map(StampedPatch::new).collect();
        let mut files = package.files;
        let stamp = Stamp {
            tool: env!("CARGO_PKG_VERSION"),
            package: package.name,
            version: package.version,
            checksum: package.checksum,
            commit: package.commit,
            folder: package.folder,
            patches,
            reverted,
        };
        let text = json(&stamp);
        let place = format!(
            "{}/{}-{}",
            stamp.version,
            stamp.package,
            &sha256(&text)[..12]
        );
        files.insert(STAMP.to_owned(), text);
        Self {
            stamp,
            place,
            files,
            vendored: package.vendored,
        }
    }

    /// Tells whether a folder holds this tree: the same files, each with the same bytes.
    pub fn equals(&self, folder: &Dir) -> Result<bool> {
        Ok(self.differences(folder)?.is_empty())
    }

    /// By which files a folder is not this tree.
    pub fn differences(&self, folder: &Dir) -> Result<Vec<String>> {
        let mut missing: BTreeSet<&str> = self.files.keys().map(String::as_str).collect();
        let mut differences = Vec::new();
        let mut places = vec![String::new()];
        while let Some(place) = places.pop() {
            let Some(inner) = folder.folder(&place)? else {
                continue;
            };
            for (name, kind) in inner.entries()? {
                let name = match &*place {
                    "" => name.to_string_lossy().into_owned(),
                    place => format!("{place}/{}", name.to_string_lossy()),
                };
                if kind == FileType::Directory {
                    places.push(name);
                    continue;
                }
                missing.remove(&*name);
                let is_file = kind == FileType::RegularFile;
                match self.files.get(&name) {
                    Some(expected) if is_file && folder.read(&name)?.as_ref() == Some(expected) => {
                    }
                    Some(_) => differences.push(format!("{name} differs")),
                    None => differences.push(format!("{name} is no part of it")),
                }
            }
        }
        differences.extend(missing.iter().map(|name| format!("{name} is not there")));
        differences.sort();
        Ok(differences)
    }
}

impl Plan {
    /// Returns the plan, if it has a tree for each package.
    pub fn complete(mut self) -> Result<Self> {
        self.assert_available(|_| true)?;
        Ok(self)
    }

    /// Fails if a package is to be patched whose sources are not to be had.
    pub fn assert_available(&mut self, is_used: impl Fn(&str) -> bool) -> Result<()> {
        let mut used = self.missing.extract_if(.., |(name, _)| is_used(name));
        used.next().map_or(Ok(()), |(_, reason)| Err(reason))
    }

    /// Returns the packages without a tree.
    pub fn missing(&self) -> impl Iterator<Item = &String> {
        let missing = self.missing.iter().map(|(name, _)| name);
        missing.chain(&self.unused)
    }

    /// Writes the trees below `dest`, but for those that are there. Where they are `in_use`, and a manifest may name them already, each is
    /// flushed to the disk before it takes its place, and the one that it replaces is removed after that.
    pub fn write(&self, dest: &LockedDir, in_use: bool) -> Result<Vec<Tree>> {
        let sync = || if in_use { dest.dir.sync_all() } else { Ok(()) };
        let (mut trees, mut staged) = (Vec::new(), Vec::new());
        let mut replaces = false;
        for planned in &self.trees {
            let present = dest.dir.folder(&planned.place)?;
            let is_equal = |present: &Dir| planned.equals(present);
            if !present.as_ref().map_or(Ok(false), is_equal)? {
                let unfinished = dest.dir.temporary()?;
                write_files(&unfinished.folder().create_folder(NEW)?, &planned.files)?;
                staged.push((planned, unfinished));
                replaces |= present.is_some();
            }
            trees.push(Tree {
                package: planned.stamp.package.clone(),
                version: planned.stamp.version.clone(),
                path: dest.dir.path().join(&planned.place),
            });
        }
        if !staged.is_empty() {
            sync()?;
        }
        for (planned, folder) in &staged {
            let place = dest.dir.place(&planned.place)?;
            folder.folder().swap(NEW.as_ref(), &place)?;
        }
        if replaces {
            sync()?;
        }
        Ok(trees)
    }

    /// Prints the notes.
    pub fn print_notes(&self) {
        for note in &self.notes {
            print_line("note", note);
        }
    }
}

/// Returns the packages that `patches` name, in the order of their names.
fn named(patches: &[Patch]) -> BTreeSet<String> {
    let named = patches.iter().flat_map(|patch| &patch.header.packages);
    named.cloned().collect()
}

/// Returns the packages that `patches` name, as published, in the order of their names.
pub fn baseline(from: &Patches, base: &str, patches: &[Patch]) -> Result<Vec<Package>> {
    let names = named(patches);
    (names.iter().map(|name| registry::package(from, name, base))).collect()
}

/// Returns the trees of `names`, which are in series order and complete. A package that is not used is not looked for, since it may
/// have to be fetched.
pub fn plan(
    catalog: &Catalog,
    base: &str,
    names: &[String],
    reverted: bool,
    is_used: impl Fn(&str) -> bool,
) -> Result<Plan> {
    let mut patches = names
        .iter()
        .map(|name| catalog.patch(base, name))
        .collect::<Result<Vec<_>>>()?;
    let (mut packages, mut missing) = (Vec::new(), Vec::new());
    let named = named(&patches).into_iter();
    let (used, unused) = named.partition::<Vec<_>, _>(|name| is_used(name));
    for name in used {
        match registry::package(&catalog.patches, &name, base) {
            Ok(package) => packages.push(package),
            Err(error) if is_unavailable(&error) => missing.push((name, error)),
            Err(error) => return Err(error),
        }
    }
    if packages.is_empty() && !missing.is_empty() {
        return Err(missing.swap_remove(0).1);
    }
    let mut notes = Vec::new();
    let mut stack = Stack::new(packages);
    for patch in &mut patches {
        interrupt::check()?;
        if patch.files.is_empty() {
            return Err(
                Failure::input(format!("{}: the diff is empty", patch.shown))
                    .hint(format!(
                        "write the change in `edit {0}`, then `refresh {0}`",
                        patch.name
                    ))
                    .into(),
            );
        }
        if !missing.is_empty() || !unused.is_empty() {
            let is_there = |path: &str| {
                let mut packages = stack.packages.iter();
                packages.any(|package| package.inside(path).is_some())
            };
            patch.files.retain(|file| is_there(&file.path));
        }
        notes.extend(stack.apply(patch)?);
    }
    if reverted {
        for patch in patches.iter().rev() {
            stack.take_back(patch)?;
        }
    }
    let touched = (stack.packages.into_iter())
        .filter(|package| patches.iter().any(|patch| touches(patch, package)));
    Ok(Plan {
        trees: touched
            .map(|package| Planned::new(package, &patches, reverted))
            .collect(),
        notes,
        missing,
        unused,
    })
}

/// Returns the trees of packages as published: they take the place of patched ones.
pub fn published<'n>(
    from: &Patches,
    base: &str,
    packages: impl IntoIterator<Item = &'n String>,
) -> Result<Plan> {
    let plain = |name: &String| {
        let package = registry::package(from, name, base)?;
        Ok(Planned::new(package, &[], false))
    };
    Ok(Plan {
        trees: packages.into_iter().map(plain).collect::<Result<_>>()?,
        ..Plan::default()
    })
}

/// Tells whether a package's sources are missing for a reason outside of the package: neither cargo's cache nor a registry has them.
fn is_unavailable(error: &anyhow::Error) -> bool {
    Failure::behind(error).is_some_and(|failure| failure.kind == Kind::Environment)
}

/// Writes the trees of the patches `names` (in series order, with what they need) below `dest`. Where they are `reverted`, the patches
/// have been taken back again.
pub fn materialize(
    catalog: &Catalog,
    base: &str,
    names: &[String],
    reverted: bool,
    dest: &LockedDir,
) -> Result<Vec<Tree>> {
    let plan = plan(catalog, base, names, reverted, |_| true)?.complete()?;
    plan.write(dest, false)
}

/// Ends the work in a folder of trees: removes every tree but these, and the folder where none is left.
pub fn keep_only(folder: LockedDir, kept: &[PathBuf]) -> Result<()> {
    let dir = &folder.dir;
    for (base, _) in dir.entries()? {
        // `edit` keeps its repositories beside the trees.
        if Version::parse(&base.to_string_lossy()).is_err() {
            continue;
        }
        let Some(trees) = dir.folder(&base)? else {
            continue;
        };
        for (name, _) in trees.entries()? {
            if !kept.contains(&trees.path().join(&name)) {
                // Under another name: what has a tree's name is whole.
                let mut gone = OsString::from(UNFINISHED);
                gone.push(&name);
                trees.rename(&name, dir, &gone)?;
                dir.remove(&gone)?;
            }
        }
        if trees.entries()?.is_empty() {
            dir.remove(&base)?;
        }
    }
    folder.remove_if_empty()
}

/// Writes new files below `dir`.
pub fn write_files(dir: &Dir, files: &BTreeMap<String, Vec<u8>>) -> Result<()> {
    for (path, contents) in files {
        interrupt::check()?;
        dir.place(path)?.write_new(contents)?;
    }
    Ok(())
}

fn touches(patch: &Patch, package: &Package) -> bool {
    patch
        .files
        .iter()
        .any(|file| package.inside(&file.path).is_some())
}
