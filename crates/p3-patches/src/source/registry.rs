//! Baseline sources: the registry's tarballs, found in cargo's cache and checked against the reviewed checksums.
//!
//! The tool itself has no network access; what is not cached, cargo fetches. Where a prover has vendored its crates, cargo has
//! no tarballs to fetch; then the sources are those of the vendored folder, file by file as its list of checksums has them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use cargo_metadata::semver::Version;
use serde::Deserialize;
use toml_edit::{DocumentMut, Item, Table, value};

use crate::project::Patches;
use crate::source::checksums::Checksums;
use crate::source::lock::{self, REGISTRY};
use crate::source::locked::{Locked, find_locked, packages, published, without};
use crate::source::package::{Package, is_vendored, read_vendored, unpack};
use paired::address::without_credentials;
use paired::cargo::{self, cargo, cargo_error, home, vendoring};
use paired::error::Failure;
use paired::files::changed::write_changed;
use paired::files::contents::sha256;
use paired::files::plain;
use paired::interrupt;

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
                let files = cargo::configured_by(patches.workplace());
                let hint = format!("take its entry out of `[patch]`; {files}");
                Err(Failure::input(what).hint(hint).into())
            }
        }
    }
}

/// The package as published, from cargo's cache if it is there, with its checksum verified.
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
        return unpack(name, version, locked.checksum, bytes)
            .with_context(|| path.display().to_string());
    }
    let Some(Tarball { path, bytes, .. }) = found.first() else {
        return Err(Failure::environment(format!("cargo fetched {name} {version}, but it is not in its cache"))
            .hint("a `[source]` replacement in cargo's configuration keeps sources elsewhere; run without it")
            .into());
    };
    let checksum = sha256(bytes);
    let cache = path.parent().unwrap_or(path);
    let is_indexed =
        |release: &Indexed| release.version.to_string() == version && release.checksum == checksum;
    let hint = if indexed_by(cache, name).iter().any(is_indexed) {
        cargo::out_of_a_changed_package(patches.workplace())
    } else {
        "delete that file; cargo will fetch it again".to_owned()
    };
    Err(wrong_checksum(path, &locked.checksum, &checksum)
        .hint(hint)
        .into())
}

/// The package from cargo's cache alone, if it is there with the reviewed checksum.
pub fn cached(patches: &Patches, name: &str, version: &str) -> Result<Option<Package>> {
    let Some(locked) = reviewed(patches, name, version)? else {
        return Ok(None);
    };
    let found = tarballs(&locked)?.into_iter().find(|found| found.is_it);
    let package = found.map(|found| unpack(name, version, locked.checksum, &found.bytes));
    package.transpose()
}

pub(super) fn wrong_checksum(path: &Path, expected: &str, found: &str) -> Failure {
    let path = path.display();
    Failure::input(format!(
        "{path}: wrong checksum\n  expected: {expected}\n  found:    {found}"
    ))
}

/// A file of cargo's cache with the name of a package's tarball. The cache has a folder for each registry, and packages of
/// another one may have the same names.
struct Tarball {
    path: PathBuf,
    bytes: Vec<u8>,
    /// It has the checksum.
    is_it: bool,
}

impl Tarball {
    /// It has not, though it is in the folder of crates.io.
    fn is_corrupt(&self) -> bool {
        !self.is_it && self.path.parent().is_some_and(is_of_crates_io)
    }
}

/// Whether a folder of cargo's cache is that of crates.io.
fn is_of_crates_io(cache: &Path) -> bool {
    let folder = cache.file_name().unwrap_or_default().to_string_lossy();
    let crates_io = ["index.crates.io-", "github.com-1ecc6299db9ec823"];
    crates_io.iter().any(|prefix| folder.starts_with(prefix))
}

/// The files of that name in cargo's cache; one that is corrupt comes first.
fn tarballs(locked: &Locked) -> Result<Vec<Tarball>> {
    let file = format!("{}-{}.crate", locked.name, locked.version);
    let mut found = Vec::new();
    for path in caches()?.into_iter().map(|dir| dir.join(&file)) {
        if path.is_file() {
            let unreadable = || format!("cannot read {}", path.display());
            let bytes = plain::read(&path).with_context(unreadable)?;
            let is_it = sha256(&bytes) == locked.checksum;
            found.push(Tarball { path, bytes, is_it });
        }
    }
    found.sort_by_key(|found| !found.is_corrupt());
    Ok(found)
}

/// Returns the newest release of a package that the registry has, whether or not it is a preview, as cargo finds it in the checkout
/// with this root.
pub fn newest(root: &Path, name: &str) -> Result<Version> {
    // A workspace without a lock file, below the checkout's configuration: cargo would look no further than a lock file.
    let dir = &root.join("target/p3/newest");
    write_changed(&dir.join("Cargo.toml"), b"[workspace]\n")?;
    let mut info = cargo();
    info.args(["info", "--color", "never", "--", name])
        .current_dir(dir);
    let output = interrupt::output(&mut info)?;
    if !output.status.success() {
        let error = cargo_error(&String::from_utf8_lossy(&output.stderr));
        let what = format!("cannot tell which release of {name} is the newest: {error}");
        if ["could not find", "invalid character", "cannot be empty"]
            .iter()
            .any(|refused| error.contains(refused))
        {
            return Err(Failure::input(what)
                .hint("name a package as crates.io has it, such as p3-field")
                .into());
        }
        let what = format!("cannot tell which release of {name} is the newest");
        return Err(cargo::unresolved(dir, &what, &error, "connect to the registry").into());
    }
    newest_of(&String::from_utf8_lossy(&output.stdout))
        .ok_or_else(|| Failure::environment(format!("`cargo info {name}` names no version")).into())
}

/// The newest version in what `cargo info` prints: `version: 0.8.0 (latest 0.9.0-rc.2)` where it shows another one.
fn newest_of(info: &str) -> Option<Version> {
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("version: "))?;
    let words = line.split([' ', '(', ')']);
    words.filter_map(|word| Version::parse(word).ok()).max()
}

/// The folders in which cargo keeps tarballs, one per registry.
fn caches() -> Result<Vec<PathBuf>> {
    let Ok(entries) = fs::read_dir(home()?.join("registry/cache")) else {
        return Ok(Vec::new());
    };
    let mut dirs = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    dirs.sort();
    Ok(dirs)
}

/// Refuses a pipe or a device in place of a tarball in cargo's cache: cargo opens it, and waits for its other end.
pub(super) fn assert_plain_tarballs() -> Result<()> {
    for cache in caches()? {
        for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
            let path = entry.path();
            let kind = match entry.file_type() {
                Ok(kind) if kind.is_symlink() => fs::metadata(&path).map(|named| named.file_type()),
                kind => kind,
            };
            if kind.is_ok_and(|kind| !kind.is_file() && !kind.is_dir()) {
                return Err(
                    Failure::input(format!("{}: not a plain file", path.display()))
                        .hint("delete it; cargo will fetch the package again")
                        .into(),
                );
            }
        }
    }
    Ok(())
}

/// A release of a package in a registry's index.
#[derive(Deserialize)]
pub struct Indexed {
    #[serde(rename = "vers")]
    pub version: Version,
    /// The tarball's SHA-256.
    #[serde(rename = "cksum")]
    pub checksum: String,
    #[serde(default)]
    pub yanked: bool,
    #[serde(default, rename = "deps")]
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    /// The name in the manifest, which is another one than the package's where it has `package`.
    name: String,
    package: Option<String>,
}

impl Indexed {
    /// The names of the packages that it depends on, and that its tests do.
    pub fn needs(&self) -> impl Iterator<Item = &str> {
        let needed = self.dependencies.iter();
        needed.map(|needed| needed.package.as_deref().unwrap_or(&needed.name))
    }
}

/// Lists the releases of a package in all of cargo's copies of indexes. Nothing is fetched.
pub fn indexed(name: &str) -> Result<Vec<Indexed>> {
    indexed_where(name, |_| true)
}

/// Lists the releases of a package in cargo's copy of crates.io's index.
pub fn indexed_by_crates_io(name: &str) -> Result<Vec<Indexed>> {
    indexed_where(name, is_of_crates_io)
}

/// Lists the releases of a package in the indexes of the registries whose folders of tarballs `is_asked` accepts.
fn indexed_where(name: &str, is_asked: impl Fn(&Path) -> bool) -> Result<Vec<Indexed>> {
    let caches = caches()?.into_iter().filter(|cache| is_asked(cache));
    Ok(caches.flat_map(|cache| indexed_by(&cache, name)).collect())
}

/// The releases in the index of the registry with this folder of tarballs.
///
/// Cargo keeps a file for each package, in which every release has a version and a line of JSON, with a zero byte behind each
/// (cargo's `src/cargo/sources/registry/index/cache.rs`). Another form gives no releases.
fn indexed_by(cache: &Path, name: &str) -> Vec<Indexed> {
    let (Some(first), Some(second)) = (name.get(..2), name.get(2..4)) else {
        return Vec::new();
    };
    let (Some(registry), Some(of_registry)) = (cache.ancestors().nth(2), cache.file_name()) else {
        return Vec::new();
    };
    let index = registry.join("index").join(of_registry).join(".cache");
    let bytes = plain::read(&index.join(first).join(second).join(name)).unwrap_or_default();
    let entries = bytes.split(|byte| *byte == 0);
    entries
        .filter_map(|entry| serde_json::from_slice(entry).ok())
        .collect()
}

/// How lock files name a published package.
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
    /// The packages of Plonky3's that the lock file takes from a path or a repository.
    pub elsewhere: Vec<Locked>,
    /// The number of packages with the reviewed checksum.
    pub same: usize,
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
            None if reviewed.knows(name) => compared.unreviewed.push(package.to_string()),
            None => {}
        }
    }
    Ok(compared)
}

/// The package with the checksum that was reviewed with these patches, which is trusted first.
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

/// The manifest of a package whose dependencies cargo is to fetch.
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
        let missing = format!("{name} {version} is not in cargo's cache, and no program was run");
        return Err(Failure::environment(missing)
            .hint("`cargo fetch` where its configuration is trusted fills the cache")
            .into());
    }
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

/// Cargo fetches what the package depends on too, in the versions of these patches' lock file. Offline it takes any that are
/// cached: nothing is built from them.
fn ask(patches: &Patches, name: &str, version: &str) -> Result<Found> {
    let dir = tempfile::tempdir().context("cannot create a temporary folder")?;
    let mut manifest = fetching_manifest();
    manifest["dependencies"][name]["version"] = value(format!("={version}"));
    // Features may need packages that a prover has not vendored.
    manifest["dependencies"][name]["default-features"] = value(false);
    fs::create_dir(dir.path().join("src"))?;
    fs::write(dir.path().join("src/lib.rs"), "")?;
    fs::write(dir.path().join("Cargo.toml"), manifest.to_string())?;
    let manifest = dir.path().join("Cargo.toml");
    let manifest = manifest.to_str().context("a path that is not UTF-8")?;
    let graph = |offline: &[&str]| {
        let options = [&["--manifest-path", manifest], offline].concat();
        // Cargo goes by the configuration of the folder that it runs in.
        lock::metadata(patches.workplace(), &options)
    };
    let lock_file = dir.path().join("Cargo.lock");
    let graph = match graph(&["--offline"])? {
        Ok(graph) => graph,
        Err(_) => {
            let own = patches.lock()?.unwrap_or_default();
            fs::write(&lock_file, without(&own, name, version)?)?;
            graph(&[])?.map_err(|error| {
                let what =
                    format!("{name} {version} is not in cargo's cache and cannot be fetched");
                let hint = vendoring(&error).unwrap_or(
                    "connect to the registry once, or run `cargo fetch` where it can be reached",
                );
                cargo::unresolved(patches.workplace(), &what, &error, hint)
            })?
        }
    };
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
        (Some(folder), _) => Err(Failure::input(format!("{}: {resolved}", folder.display()))
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
        _ => Err(Failure::environment(resolved).into()),
    }
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
        assert_eq!(compared.same, 1);
        assert_eq!(compared.differences, [""; 0]);
        let expected = ["p3-util 0.7.0+evil", "p3-util 0.7.99", "p3-util 0.6.0"];
        assert_eq!(compared.unreviewed, expected);
    }

    #[test]
    fn the_newest_release_is_read() {
        let newest = |version: &str| newest_of(&format!("p3-x #math\nversion: {version}\n"));
        let expected = Version::parse("0.9.0-rc.2").ok();
        assert_eq!(newest("0.9.0-rc.2"), expected);
        assert_eq!(newest("0.8.0 (latest 0.9.0-rc.2)"), expected);
        assert_eq!(newest("of no kind"), None);
    }
}
