//! Trees: packages with patches applied, on disk, where cargo can build them.
//!
//! A tree's folder is named after the hash of its stamp, so a change of tarball, patches or tool gives another
//! folder, and a tree that a manifest points at is never rewritten under it. A tree is written beside its place
//! and renamed: whoever kills the tool at any moment, a folder with a tree's name is a whole tree.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirEntry, File, TryLockError};
use std::io;
use std::ops::Not;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::semver::Version;
use serde::Serialize;
use tempfile::{NamedTempFile, TempDir};

use crate::error::Failure;
use crate::interrupt;
use crate::patch::{Direction, Patch};
use crate::project::Patches;
use crate::replace::cannot_write;
use crate::source::{self, Package, sha256};

/// The stamp's file name. Upstream has no hidden files of that name, and a patch cannot write one.
const STAMP: &str = ".p3-stamp.json";

/// What unfinished work is called; whoever holds the lock next removes it.
const UNFINISHED: &str = ".tmp-";

/// A patched package on disk.
#[derive(Clone, Debug)]
pub struct Tree {
    pub package: String,
    pub version: String,
    pub path: PathBuf,
}

/// What a tree is made from.
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
}

/// A file that is written, but has not taken its place.
pub struct Staged {
    file: NamedTempFile,
    target: PathBuf,
}

impl Staged {
    /// Takes the place, which needs no space on the disk.
    pub fn put(self) -> Result<()> {
        match self.file.persist(&self.target) {
            Ok(_) => Ok(()),
            Err(error) => Err(cannot_write(&self.target, &error.error).into()),
        }
    }
}

/// A folder of trees that no other run is at work in.
pub struct Folder {
    path: PathBuf,
    /// Holds the lock; the system lets go of it however the process ends.
    lock: File,
}

impl Folder {
    /// Creates the folder if need be, locks it, and removes what killed runs have left.
    pub fn lock(path: &Path) -> Result<Self> {
        fs::create_dir_all(path).map_err(|error| cannot_write(path, &error))?;
        let file = path.join(".lock");
        let lock = File::create(&file).map_err(|error| cannot_write(&file, &error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::environment(format!(
                    "{}: another run is at work here",
                    path.display()
                ))
                .hint("wait until it has ended")
                .into());
            }
            Err(TryLockError::Error(error)) => return Err(cannot_write(&file, &error).into()),
        }
        let ignore = path.join(".gitignore");
        fs::write(&ignore, "*\n").map_err(|error| cannot_write(&ignore, &error))?;
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                delete(&entry.path())?;
            }
        }
        Ok(Self {
            path: path.to_owned(),
            lock,
        })
    }

    /// Replaces `target` by a file with these contents in one step, keeping its permissions.
    pub fn replace(&self, target: &Path, contents: &[u8]) -> Result<()> {
        self.stage(target, contents)?.put()
    }

    /// Replaces files that belong together, each in one step, in this order. None is touched before there is space for all.
    pub fn replace_all(&self, files: &[(PathBuf, Vec<u8>)]) -> Result<()> {
        let stage = |(target, contents): &(PathBuf, Vec<u8>)| self.stage(target, contents);
        let staged = files.iter().map(stage).collect::<Result<Vec<_>>>()?;
        staged.into_iter().try_for_each(Staged::put)
    }

    /// Writes what is to be at `target`, with the permissions of what is there.
    pub fn stage(&self, target: &Path, contents: &[u8]) -> Result<Staged> {
        let write = || -> io::Result<NamedTempFile> {
            let file = tempfile::Builder::new()
                .prefix(UNFINISHED)
                .tempfile_in(&self.path)?;
            fs::write(file.path(), contents)?;
            if let Ok(metadata) = fs::metadata(target) {
                file.as_file().set_permissions(metadata.permissions())?;
            }
            Ok(file)
        };
        Ok(Staged {
            file: write().map_err(|error| cannot_write(target, &error))?,
            target: target.to_owned(),
        })
    }

    /// A folder for what is of no use once this run has ended.
    pub fn temporary(&self) -> Result<TempDir> {
        let dir = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempdir_in(&self.path);
        Ok(dir.map_err(|error| cannot_write(&self.path, &error))?)
    }

    /// Ends the work here: removes every tree but these, and the folder where none is left.
    pub fn keep_only(self, kept: &[PathBuf]) -> Result<()> {
        for base in fs::read_dir(&self.path)? {
            let base = base?.path();
            // `edit` keeps its repositories beside the trees.
            if Version::parse(&base.file_name().unwrap_or_default().to_string_lossy()).is_err() {
                continue;
            }
            for tree in fs::read_dir(&base)? {
                let tree = tree?;
                if !kept.contains(&tree.path()) {
                    // Under another name: what has a tree's name is whole.
                    let name = tree.file_name();
                    let gone = self.path.join(format!("{UNFINISHED}{}", name.display()));
                    fs::rename(tree.path(), &gone).map_err(|error| cannot_write(&gone, &error))?;
                    delete(&gone)?;
                }
            }
            if fs::read_dir(&base)?.next().is_none() {
                fs::remove_dir(&base)?;
            }
        }
        let own = [".gitignore", ".lock"];
        let is_own = |entry: io::Result<DirEntry>| {
            entry.is_ok_and(|entry| own.iter().any(|name| entry.file_name() == *name))
        };
        if fs::read_dir(&self.path)?.all(is_own) {
            drop(self.lock);
            fs::remove_dir_all(&self.path)?;
        }
        Ok(())
    }

    /// Writes a planned tree, unless an equal one is there.
    pub fn write(&self, planned: &Planned) -> Result<Tree> {
        let path = self.path.join(&planned.place);
        let tree = Tree {
            package: planned.stamp.package.clone(),
            version: planned.stamp.version.clone(),
            path,
        };
        if planned.equals(&tree.path)? {
            return Ok(tree);
        }
        replace_folder(&tree.path, &self.path, &planned.files, &[])?;
        Ok(tree)
    }
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
        let Package {
            name,
            version,
            folder,
            commit,
            checksum,
            mut files,
        } = package;
        let stamp = Stamp {
            tool: env!("CARGO_PKG_VERSION"),
            package: name,
            version,
            checksum,
            commit,
            folder,
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
        }
    }

    /// Whether the folder at `path` holds this tree: the same files, each with the same bytes.
    pub fn equals(&self, path: &Path) -> Result<bool> {
        Ok(self.differences(path)?.is_empty())
    }

    /// By which files the folder at `path` is not this tree.
    pub fn differences(&self, path: &Path) -> Result<Vec<String>> {
        let mut missing: BTreeSet<&str> = self.files.keys().map(String::as_str).collect();
        let mut differences = Vec::new();
        let mut folders = vec![path.to_owned()];
        while let Some(folder) = folders.pop() {
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    return Err(error).with_context(|| format!("cannot read {}", folder.display()));
                }
            };
            for entry in entries {
                let entry = entry?;
                let file = entry.path();
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    folders.push(file);
                    continue;
                }
                let parts = file
                    .strip_prefix(path)
                    .expect("found below the path")
                    .iter();
                let name = parts
                    .map(|part| part.to_string_lossy())
                    .collect::<Vec<_>>()
                    .join("/");
                missing.remove(&*name);
                match self.files.get(&name) {
                    Some(expected) if kind.is_file() && fs::read(&file)? == *expected => {}
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

/// The packages that `patches` name, as published, in the order of their names.
pub fn baseline(from: &Patches, base: &str, patches: &[Patch]) -> Result<Vec<Package>> {
    let mut names = patches
        .iter()
        .flat_map(|patch| &patch.header.packages)
        .collect::<Vec<_>>();
    names.sort();
    names.dedup();
    names
        .into_iter()
        .map(|name| source::package(from, name, base))
        .collect()
}

/// The trees of `names`, which are in series order and complete, and a note for each hunk at an offset.
pub fn plan(
    from: &Patches,
    base: &str,
    names: &[String],
    reverted: bool,
) -> Result<(Vec<Planned>, Vec<String>)> {
    let patches = names
        .iter()
        .map(|name| Patch::load(from, base, name))
        .collect::<Result<Vec<_>>>()?;
    let mut packages = baseline(from, base, &patches)?;
    let mut notes = Vec::new();
    for patch in &patches {
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
        notes.extend(patch.apply(&mut packages, Direction::Forward)?);
    }
    if reverted {
        for patch in patches.iter().rev() {
            patch.apply(&mut packages, Direction::Reverse)?;
        }
    }
    let touched = packages
        .into_iter()
        .filter(|package| patches.iter().any(|patch| touches(patch, package)));
    Ok((
        touched
            .map(|package| Planned::new(package, &patches, reverted))
            .collect(),
        notes,
    ))
}

/// Writes the trees of the patches `names` (in series order, with what they need) below `dest`.
pub fn materialize(
    from: &Patches,
    base: &str,
    names: &[String],
    dest: &Folder,
) -> Result<Vec<Tree>> {
    let (planned, notes) = plan(from, base, names, false)?;
    for note in notes {
        eprintln!("note: {note}");
    }
    planned.iter().map(|planned| dest.write(planned)).collect()
}

/// Writes trees from which the patches have been taken back again, for `ab --revert`.
pub fn materialize_reverted(
    from: &Patches,
    base: &str,
    names: &[String],
    dest: &Folder,
) -> Result<Vec<Tree>> {
    let (planned, _) = plan(from, base, names, true)?;
    planned.iter().map(|planned| dest.write(planned)).collect()
}

/// Puts a folder with these files at `target` in one step: it is written inside the folder `beside`, then renamed. Of what
/// stands at `target`, the entries `kept` move into it; the rest goes.
pub fn replace_folder(
    target: &Path,
    beside: &Path,
    files: &BTreeMap<String, Vec<u8>>,
    kept: &[&str],
) -> Result<()> {
    let unfinished = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempdir_in(beside)
        .map_err(|error| cannot_write(beside, &error))?;
    let new = unfinished.path().join("new");
    for (name, contents) in files {
        interrupt::check()?;
        let file = new.join(name);
        fs::create_dir_all(file.parent().expect("a file in a folder"))
            .and_then(|()| fs::write(&file, contents))
            .map_err(|error| cannot_write(&file, &error))?;
    }
    let kept = (kept.iter())
        .filter(|name| target.join(name).exists())
        .collect::<Vec<_>>();
    let publish = || -> io::Result<()> {
        fs::create_dir_all(target.parent().expect("a folder in a folder"))?;
        for name in &kept {
            fs::rename(target.join(name), new.join(name))?;
        }
        if target.exists() {
            if exchange(&new, target) {
                return Ok(());
            }
            fs::rename(target, unfinished.path().join("old"))?;
        }
        fs::rename(&new, target)
    };
    if let Err(error) = publish() {
        // What stood there must not be deleted with what is unfinished.
        let left = unfinished.keep();
        return Err(cannot_write(target, &error)
            .hint(format!("what was there is in {}", left.display()))
            .into());
    }
    Ok(())
}

/// Has two folders change places in one step, where the system and the file system can.
fn exchange(one: &Path, other: &Path) -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (one, other);
        false
    }
}

/// JSON as a file has it.
pub fn json(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).expect("plain data");
    text.push(b'\n');
    text
}

fn touches(patch: &Patch, package: &Package) -> bool {
    patch
        .files
        .iter()
        .any(|file| package.inside(&file.path).is_some())
}

fn delete(path: &Path) -> Result<()> {
    let is_dir = path
        .symlink_metadata()
        .is_ok_and(|metadata| metadata.is_dir());
    let deleted = if is_dir {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
    deleted.with_context(|| format!("cannot remove {}", path.display()))
}
