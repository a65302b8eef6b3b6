//! Baseline sources: the registry's tarballs, found in cargo's cache and checked against the reviewed checksums.
//!
//! The tool itself has no network access; what is not cached, cargo fetches. Where a prover has vendored its crates, cargo has
//! no tarballs to fetch; then the sources are those of the vendored folder, file by file as its list of checksums has them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use toml_edit::{DocumentMut, Item, Table, value};

use crate::project::Patches;
use crate::source::cache::{Tarball, tarballs};
use crate::source::checksums::Checksums;
use crate::source::index::{self, Release, releases_in};
use crate::source::locked::{Locked, REGISTRY, find_locked, packages, published, without};
use crate::source::package::{Package, is_vendored, read_vendored, unpack, wrong_checksum};
use crate::source::resolve::{
    CACHE_FIRST, CONNECT, metadata, out_of_a_changed_package, out_of_a_missing_program,
    out_of_a_replacement, resolve, unresolved,
};
use paired::address::without_credentials;
use paired::cargo::{REPLACED, configured_by, is_offline};
use paired::error::Failure;
use paired::files::changed::write_changed;
use paired::files::claimed;
use paired::files::contents::sha256;
use paired::terminal::shown;

/// A package that cargo finds where it is asked for a published one.
#[derive(Clone)]
enum Found {
    Published {
        locked: Locked,
        /// Its folder, where a directory source stands in for the registry.
        vendored: Option<PathBuf>,
    },
    /// Another package takes its place, as a `[patch]` of cargo's configuration has it. The phrase says which.
    Replaced(String),
}

impl Found {
    /// Returns the published package with its vendored folder, and refuses another one in its place.
    fn published(self, patches: &Patches) -> Result<(Locked, Option<PathBuf>)> {
        match self {
            Self::Published { locked, vendored } => Ok((locked, vendored)),
            Self::Replaced(what) => {
                let files = configured_by(patches.workplace());
                let hint = format!("take its entry out of `[patch]`; {files}");
                Err(Failure::input(what).hint(hint).into())
            }
        }
    }
}

/// Returns the package as published, from cargo's cache if it is there, with its checksum verified.
pub fn package(patches: &Patches, name: &str, version: &str) -> Result<Package> {
    let reviewed = reviewed(patches, name, version)?;
    let mut found = match &reviewed {
        Some(locked) => tarballs(locked)?,
        None => Vec::new(),
    };
    let decided = |found: &[Tarball]| found.iter().any(|found| found.is_it || found.is_corrupt());
    let locked = match reviewed {
        Some(locked) if decided(&found) => locked,
        reviewed => {
            let (fetched, vendored) = fetch(patches, name, version)?.published(patches)?;
            let locked = reviewed.unwrap_or(fetched);
            if let Some(folder) = vendored {
                return read_vendored(name, version, locked.checksum, folder);
            }
            found = tarballs(&locked)?;
            locked
        }
    };
    if let Some(Tarball { path, bytes, .. }) = found.iter().find(|found| found.is_it) {
        return unpack(name, version, locked.checksum, bytes).with_context(|| shown(path));
    }
    let Some(Tarball { path, bytes, .. }) = found.first() else {
        return Err(Failure::environment(format!("cargo fetched {name} {version}, but it is not in its cache"))
            .hint("a `[source]` replacement in cargo's configuration keeps sources elsewhere; run without it")
            .into());
    };
    let checksum = sha256(bytes);
    let registry = path.parent().and_then(Path::file_name);
    let index = index::copy(registry.unwrap_or_default())?;
    let is_indexed =
        |release: &Release| release.version.to_string() == version && release.checksum == checksum;
    let hint = if releases_in(&index, name).iter().any(is_indexed) {
        out_of_a_changed_package(patches.workplace())
    } else {
        "delete that file; cargo will fetch it again".to_owned()
    };
    Err(wrong_checksum(path, &locked.checksum, &checksum)
        .hint(hint)
        .into())
}

/// Returns the package from cargo's cache alone, if it is there with the reviewed checksum.
pub fn cached(patches: &Patches, name: &str, version: &str) -> Result<Option<Package>> {
    let Some(locked) = reviewed(patches, name, version)? else {
        return Ok(None);
    };
    let found = tarballs(&locked)?.into_iter().find(|found| found.is_it);
    let package = found.map(|found| unpack(name, version, locked.checksum, &found.bytes));
    package.transpose()
}

/// Tells how lock files name a published package.
pub fn locked(patches: &Patches, name: &str, version: &str) -> Result<Locked> {
    match reviewed(patches, name, version)? {
        Some(locked) => Ok(locked),
        None => Ok(fetch(patches, name, version)?.published(patches)?.0),
    }
}

/// Compares the SHA-256 of a package's tarball with the registry's index, or with the vendored folder in its place, and returns
/// the objection.
pub fn objection(
    patches: &Patches,
    name: &str,
    version: &str,
    checksum: &str,
) -> Result<Option<String>> {
    let (locked, vendored) = match fetch(patches, name, version)? {
        Found::Published { locked, vendored } => (locked, vendored),
        Found::Replaced(what) => return Ok(Some(what)),
    };
    let index = match vendored {
        None => "the registry's index",
        Some(_) => "the vendored folder",
    };
    let differs = locked.checksum != checksum;
    Ok(differs.then(|| format!("the tarball, by {index} {}", locked.checksum)))
}

/// The result of [`compare_locks`].
#[derive(Debug, Default)]
pub struct Comparison {
    /// A line for each package with another checksum than the reviewed one.
    pub differences: Vec<String>,
    /// The packages of Plonky3's that were reviewed in other versions only, each with its version.
    pub unreviewed: Vec<String>,
    /// The registry's packages of which the lock file has no checksum, each with its version.
    pub unlocked: Vec<String>,
    /// The packages of Plonky3's that the lock file takes from a path, a repository or another registry than crates.io.
    pub elsewhere: Vec<Locked>,
    /// The number of packages with the reviewed checksum.
    pub same: usize,
    /// The number of other crates' packages from registries, in versions that no list here has.
    pub unknown: usize,
}

/// Compares a workspace's lock file with the reviewed checksums.
pub fn compare_locks(patches: &Patches, lock: &str) -> Result<Comparison> {
    let key = |package: &Locked| {
        (
            package.name.clone(),
            package.version.clone(),
            package.source.clone(),
        )
    };
    let own = patches.lock()?.unwrap_or_default();
    let own: BTreeMap<_, _> = (published(&own)?.into_iter())
        .map(|package| (key(&package), package.checksum))
        .collect();
    let reviewed = Checksums::load(patches)?;
    let mut compared = Comparison::default();
    for package in packages(lock)? {
        if package.is_unlocked() {
            compared.unlocked.push(package.to_string());
            continue;
        }
        if package.checksum.is_empty() {
            if reviewed.knows(&package.name) {
                compared.elsewhere.push(package);
            }
            continue;
        }
        let of_upstream = reviewed.get(&package.name, &package.version);
        let of_upstream = of_upstream.filter(|_| package.source == REGISTRY);
        let expected = of_upstream.or_else(|| own.get(&key(&package)).map(String::as_str));
        let Locked { name, checksum, .. } = &package;
        match expected {
            Some(expected) if checksum == expected => compared.same += 1,
            Some(expected) => compared.differences.push(format!(
                "{package} is locked with checksum {checksum}; the reviewed one is {expected}"
            )),
            None if !reviewed.knows(name) => compared.unknown += 1,
            None if package.source == REGISTRY => compared.unreviewed.push(package.to_string()),
            None => compared.elsewhere.push(package),
        }
    }
    Ok(compared)
}

/// Returns the package with the checksum that was reviewed with these patches, which is trusted first.
pub fn reviewed(patches: &Patches, name: &str, version: &str) -> Result<Option<Locked>> {
    let checksums = Checksums::load(patches)?;
    let checksum = checksums.get(name, version);
    Ok(checksum.map(|checksum| Locked {
        name: name.to_owned(),
        version: version.to_owned(),
        source: REGISTRY.to_owned(),
        checksum: checksum.to_owned(),
    }))
}

/// Returns the manifest of a package whose dependencies cargo is to fetch.
pub fn fetching_manifest() -> DocumentMut {
    let mut manifest = DocumentMut::new();
    manifest["package"]["name"] = value("fetch");
    manifest["package"]["edition"] = value("2021");
    manifest["workspace"] = Item::Table(Table::new());
    manifest
}

/// Asks cargo to put the package into its cache, from the network only if it must, and returns the registry's entry for it. A
/// vendored package is in no cache; its entry is the folder's list of checksums.
///
/// Cargo takes most of a second to answer, so it is asked once in a run, for each folder that it is asked in.
fn fetch(patches: &Patches, name: &str, version: &str) -> Result<Found> {
    /// The folder, the package's name, its version.
    type Asked = (PathBuf, String, String);
    static ANSWERS: Mutex<BTreeMap<Asked, Found>> = Mutex::new(BTreeMap::new());
    if !patches.may_ask_cargo() {
        let workplace = shown(patches.workplace());
        let missing = format!(
            "{name} {version} is not in cargo's cache, and cargo is not run in {workplace}: that folder, or cargo's home, is part of the workspace's repository"
        );
        return Err(Failure::environment(missing)
            .hint("set CARGO_HOME to a folder outside of the repository")
            .into());
    }
    let workplace = patches.workplace();
    fs::create_dir_all(workplace).map_err(|error| {
        let what = match workplace.is_symlink() {
            true => "a symbolic link to nothing".to_owned(),
            false => format!("cannot be created: {error}"),
        };
        Failure::environment(format!("{}: {what}", shown(workplace)))
            .hint("cargo is asked for packages in that folder; CARGO_HOME names cargo's home")
    })?;
    let asked = (
        patches.workplace().to_owned(),
        name.to_owned(),
        version.to_owned(),
    );
    let mut answers = ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = answers.get(&asked) {
        return Ok(found.clone());
    }
    let found = ask(patches, name, version)?;
    answers.insert(asked, found.clone());
    Ok(found)
}

/// Cargo's words for a version that the registry does not have, or has yanked.
const LACKING: &str = "failed to select a version for the requirement ";

/// Cargo fetches what the package depends on too, in the versions of these patches' lock file. Offline it takes any that are
/// cached: nothing is built from them.
fn ask(patches: &Patches, name: &str, version: &str) -> Result<Found> {
    let dir = claimed::folder()?;
    let mut manifest = fetching_manifest();
    manifest["dependencies"][name]["version"] = value(format!("={version}"));
    // Features may need packages that a prover has not vendored.
    manifest["dependencies"][name]["default-features"] = value(false);
    write_changed(&dir.path().join("src/lib.rs"), b"")?;
    let text = manifest.to_string();
    let manifest = dir.path().join("Cargo.toml");
    write_changed(&manifest, text.as_bytes())?;
    let manifest = manifest.to_str().context("a path that is not UTF-8")?;
    let lock_file = dir.path().join("Cargo.lock");
    // Without the package's entry, the lock file gets the checksum that is in the index. A yanked version is found by its entry
    // alone, as are those that it depends on; cargo compares their checksums with the index then.
    let graph = resolve(CACHE_FIRST, |offline| {
        let lock = match offline {
            [] => without(&patches.lock()?.unwrap_or_default(), name, version)?,
            _ => String::new(),
        };
        let options = [&["--manifest-path", manifest], offline].concat();
        let with_lock = |lock: &str| {
            write_changed(&lock_file, lock.as_bytes())?;
            // Cargo goes by the configuration of the folder that it runs in.
            metadata(patches.workplace(), &options)
        };
        match with_lock(&lock)? {
            Err(error) if error.contains(LACKING) => {
                let graph = with_lock(&with_release(patches, &lock, version)?)?;
                Ok(graph.or(Err(error)))
            }
            graph => Ok(graph),
        }
    })?;
    let graph = graph.map_err(|error| {
        let what = match out_of_a_missing_program(&error) {
            Some(_) => format!("cargo cannot be asked for {name} {version}"),
            None => format!("{name} {version} is not in cargo's cache and cannot be fetched"),
        };
        if error.contains(LACKING) && !is_offline(&error) && !error.contains(REPLACED) {
            let hint = "name a version that crates.io has, as `cargo info` and its pages list them";
            return Failure::input(format!("crates.io has no {name} {version}: {error}"))
                .hint(hint);
        }
        let hint = out_of_a_replacement(patches.workplace(), &error);
        let hint = hint.as_deref().unwrap_or(CONNECT);
        unresolved(patches.workplace(), &what, &error, hint)
    })?;
    let mut same = graph.packages.iter().filter(|found| found.name == name);
    let found = same
        .clone()
        .find(|found| found.version.to_string() == version)
        .or(same.next());
    let folder = found.and_then(|found| found.manifest_path.parent());
    let folder = folder.map(|folder| folder.as_std_path().to_owned());
    let vendored = folder.filter(|folder| is_vendored(folder));
    let lock = fs::read_to_string(lock_file).context("cargo wrote no lock file")?;
    if let Some(locked) = find_locked(&lock, name, version)? {
        return Ok(Found::Published { locked, vendored });
    }
    let resolved = format!("cargo resolved {name} {version} without a checksum");
    match (vendored, found) {
        (Some(folder), _) => Err(Failure::input(format!("{}: {resolved}", shown(&folder)))
            .hint("it was vendored from git; the patches are for the registry's package")
            .into()),
        (None, Some(found))
            if found
                .source
                .as_ref()
                .is_none_or(|source| !source.is_crates_io()) =>
        {
            let from = match &found.source {
                Some(source) => without_credentials(&source.repr),
                None => found.manifest_path.to_string(),
            };
            Ok(Found::Replaced(format!(
                "cargo takes {name} {version} from {from} in place of crates.io"
            )))
        }
        // Cargo ignores the metadata of a build.
        (None, Some(found)) if found.version.to_string() != version => {
            let what = format!("crates.io has no {name} {version}, but {}", found.version);
            Err(Failure::input(what).hint("name that version").into())
        }
        _ => Err(Failure::environment(resolved).into()),
    }
}

/// Adds the packages of a release to the text of a lock file, as they were reviewed.
fn with_release(patches: &Patches, lock: &str, version: &str) -> Result<String> {
    let mut text = lock.to_owned();
    let there = packages(lock)?;
    for (name, checksum) in Checksums::load(patches)?.of_release(version) {
        if !there
            .iter()
            .any(|package| (&*package.name, &*package.version) == (name, version))
        {
            text += &format!(
                "\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = \"{REGISTRY}\"\nchecksum = \"{checksum}\"\n"
            );
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mirror may invent a version of a package that is known, and cargo takes it for a compatible one.
    #[test]
    fn a_version_that_was_never_reviewed_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let sum = "0a".repeat(32);
        let line = format!("{sum}  p3-util-0.7.0.crate\n");
        write_changed(&dir.path().join("patches/SHA256SUMS"), line.as_bytes()).unwrap();
        let entry = |name: &str, version: &str, source: &str| {
            format!(
                "[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = \"{source}\"\nchecksum = \"{sum}\"\n"
            )
        };
        let lock = [
            entry("p3-util", "0.7.0", REGISTRY),
            entry("p3-util", "0.7.0+evil", REGISTRY),
            entry("p3-util", "0.7.99", REGISTRY),
            entry("p3-util", "0.6.0", "registry+https://mirror.invalid/index"),
            entry("serde", "1.0.0", REGISTRY),
        ];
        let patches = crate::project::at(dir.path());
        let compared = compare_locks(&patches, &lock.concat()).unwrap();
        assert_eq!((compared.same, compared.unknown), (1, 1));
        assert_eq!(compared.differences, [""; 0]);
        let expected = ["p3-util 0.7.0+evil", "p3-util 0.7.99"];
        assert_eq!(compared.unreviewed, expected);
        let elsewhere: Vec<_> = compared.elsewhere.iter().map(Locked::to_string).collect();
        assert_eq!(elsewhere, ["p3-util 0.6.0"]);
    }
}
