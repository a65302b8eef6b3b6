//! Baseline sources: the registry's tarballs, found in cargo's cache and checked against a lock file.
//!
//! The tool itself has no network access; what is not cached, cargo fetches. Where a prover has vendored its crates, cargo has
//! no tarballs to fetch; then the sources are those of the vendored folder, file by file as its list of checksums has them.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use cargo_metadata::semver::Version;
use flate2::read::GzDecoder;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use toml_edit::{DocumentMut, Item, Table, value};

use crate::dir::Dir;
use crate::error::Failure;
use crate::interrupt;
use crate::lock;
use crate::project::Patches;

/// A published package, unpacked in memory.
#[derive(Clone, Debug)]
pub struct Package {
    pub name: String,
    pub version: String,
    /// The package's folder in upstream's repository.
    pub folder: String,
    /// The commit there that it was published from.
    pub commit: String,
    /// The tarball's SHA-256, as lock files spell it.
    pub checksum: String,
    /// The folder that the files were read from, where that was not the tarball.
    pub vendored: Option<PathBuf>,
    /// Contents by path inside the package, with `/` between its parts.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// The list that cargo keeps in each folder of a directory source.
const SUMS: &str = ".cargo-checksum.json";

#[derive(Deserialize)]
struct Sums {
    /// SHA-256 of the files by path, with `/` between its parts.
    files: BTreeMap<String, String>,
    /// That of the tarball; what is vendored from git has none.
    package: Option<String>,
}

impl Package {
    /// The package with these files, one of which says where it was published from.
    fn new(
        name: &str,
        version: &str,
        checksum: String,
        files: BTreeMap<String, Vec<u8>>,
    ) -> Result<Self> {
        let vcs = (files.get(VCS_INFO))
            .with_context(|| format!("no {VCS_INFO}, so its upstream folder is unknown"))?;
        let VcsInfo {
            git: Commit { sha1: commit },
            path_in_vcs: folder,
        } = serde_json::from_slice(vcs).context(VCS_INFO)?;
        Ok(Self {
            name: name.to_owned(),
            version: version.to_owned(),
            folder,
            commit,
            checksum,
            vendored: None,
            files,
        })
    }

    /// The part of an upstream path that lies inside this package.
    pub fn inside<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.strip_prefix(&self.folder)?.strip_prefix('/')
    }
}

const VCS_INFO: &str = ".cargo_vcs_info.json";

/// The note of cargo's packager about where a package comes from.
#[derive(Deserialize)]
struct VcsInfo {
    git: Commit,
    path_in_vcs: String,
}

#[derive(Deserialize)]
struct Commit {
    sha1: String,
}

#[derive(Deserialize)]
struct Lock {
    #[serde(default)]
    package: Vec<Locked>,
}

/// A package as lock files name it.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
pub struct Locked {
    pub name: String,
    pub version: String,
    /// The registry, in cargo's notation; empty for a package that is not from one.
    #[serde(default)]
    pub source: String,
    #[serde(default)]
    pub checksum: String,
}

/// A published package, as cargo finds it.
struct Found {
    locked: Locked,
    /// Its folder, where a directory source stands in for the registry.
    vendored: Option<PathBuf>,
}

/// The package as published, from cargo's cache if it is there, with its checksum verified.
pub fn package(patches: &Patches, name: &str, version: &str) -> Result<Package> {
    let own = own_lock(patches, name, version)?;
    let mut found = match &own {
        Some(locked) => tarballs(locked)?,
        None => Vec::new(),
    };
    let decided = |found: &[Tarball]| found.iter().any(|found| found.is_it || found.is_corrupt());
    let locked = match own {
        Some(locked) if decided(&found) => locked,
        own => {
            let fetched = fetch(patches, name, version)?;
            let locked = own.unwrap_or(fetched.locked);
            if let Some(folder) = fetched.vendored {
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
    Err(wrong_checksum(path, &locked.checksum, &sha256(bytes))
        .hint("delete that file; cargo will fetch it again")
        .into())
}

fn wrong_checksum(path: &Path, expected: &str, found: &str) -> Failure {
    let path = path.display();
    Failure::input(format!(
        "{path}: wrong checksum\n  expected: {expected}\n  found:    {found}"
    ))
}

/// Whether a package's folder is one of a directory source, as `cargo vendor` writes them.
pub fn is_vendored(folder: &Path) -> bool {
    folder.join(SUMS).is_file()
}

/// The package in a folder that `cargo vendor` wrote: one of a tarball with this checksum, by the folder's list, and each file
/// with the checksum that it has there.
fn read_vendored(name: &str, version: &str, checksum: String, folder: PathBuf) -> Result<Package> {
    let dir = Dir::open(&folder)?;
    let list = folder.join(SUMS);
    let again = "`cargo vendor` writes that folder again; run it where no patches are applied";
    let text = dir.read(SUMS)?.unwrap_or_default();
    let sums: Sums = serde_json::from_slice(&text)
        .map_err(|error| Failure::input(format!("{}: {error}", list.display())).hint(again))?;
    let package = sums.package.unwrap_or_default();
    if package != checksum {
        return Err(wrong_checksum(&list, &checksum, &package)
            .hint(again)
            .into());
    }
    // Cargo leaves them out of what it takes from git, as it did of all packages.
    for published in [VCS_INFO, "Cargo.toml.orig"] {
        if !sums.files.contains_key(published) {
            let what = format!("{}: {published} was not vendored", folder.display());
            let hint =
                "`cargo vendor` of cargo 1.89 or later writes packages as they were published";
            return Err(Failure::input(what).hint(hint).into());
        }
    }
    let mut files = BTreeMap::new();
    for (file, expected) in sums.files {
        let path = folder.join(&file);
        let contents = dir.read(&file)?.ok_or_else(|| {
            Failure::input(format!("{}: is not there", path.display())).hint(again)
        })?;
        let found = sha256(&contents);
        if found != expected {
            return Err(wrong_checksum(&path, &expected, &found).hint(again).into());
        }
        files.insert(file, contents);
    }
    let mut package = Package::new(name, version, checksum, files)
        .with_context(|| folder.display().to_string())?;
    package.vendored = Some(folder);
    Ok(package)
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
        let folder = self.path.parent().and_then(Path::file_name);
        let folder = folder.unwrap_or_default().to_string_lossy();
        let crates_io = ["index.crates.io-", "github.com-1ecc6299db9ec823"];
        !self.is_it && crates_io.iter().any(|prefix| folder.starts_with(prefix))
    }
}

/// The files of that name in cargo's cache; one that is corrupt comes first.
fn tarballs(locked: &Locked) -> Result<Vec<Tarball>> {
    let file = format!("{}-{}.crate", locked.name, locked.version);
    let mut found = Vec::new();
    for path in caches()?.into_iter().map(|dir| dir.join(&file)) {
        if path.is_file() {
            let unreadable = || format!("cannot read {}", path.display());
            let bytes = fs::read(&path).with_context(unreadable)?;
            let is_it = sha256(&bytes) == locked.checksum;
            found.push(Tarball { path, bytes, is_it });
        }
    }
    found.sort_by_key(|found| !found.is_corrupt());
    Ok(found)
}

/// The newest release of a package that cargo knows of, whether or not it is a preview.
pub fn newest(name: &str) -> Result<Version> {
    // Where no workspace has locked another one.
    let dir = tempfile::tempdir().context("cannot create a temporary folder")?;
    let mut info = cargo();
    info.args(["info", "--color", "never", name])
        .current_dir(dir.path());
    let output = interrupt::output(&mut info)?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::environment(format!(
            "cannot tell which release of {name} is the newest: {}",
            cargo_error(&stderr)
        ))
        .hint("connect to the registry, or name a release with --to")
        .into());
    }
    newest_of(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| {
        Failure::environment(format!("`cargo info {name}` names no version"))
            .hint("name a release with --to")
            .into()
    })
}

/// The newest version in what `cargo info` prints: `version: 0.8.0 (latest 0.9.0-rc.2)` where it shows another one.
fn newest_of(info: &str) -> Option<Version> {
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("version: "))?;
    let words = line.split([' ', '(', ')']);
    words.filter_map(|word| Version::parse(word).ok()).max()
}

/// SHA-256 in lower-case hex.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A `cargo` command; under `cargo run` it is the same cargo.
pub fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The folders in which cargo keeps tarballs, one per registry.
fn caches() -> Result<Vec<PathBuf>> {
    let home = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(env::home_dir()?.join(".cargo")))
        .ok_or_else(|| Failure::environment("neither CARGO_HOME nor a home folder is set"))?;
    let Ok(entries) = fs::read_dir(home.join("registry/cache")) else {
        return Ok(Vec::new());
    };
    let mut dirs = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    dirs.sort();
    Ok(dirs)
}

/// How lock files name a published package.
pub fn locked(patches: &Patches, name: &str, version: &str) -> Result<Locked> {
    match own_lock(patches, name, version)? {
        Some(locked) => Ok(locked),
        None => Ok(fetch(patches, name, version)?.locked),
    }
}

/// The objections to the SHA-256 of a package's tarball, by which it was unpacked: of the registry's index, as cargo has it, or
/// the vendored folder in its place, and of the lock file of these patches.
pub fn objections(
    patches: &Patches,
    name: &str,
    version: &str,
    checksum: &str,
) -> Result<Vec<String>> {
    let Found { locked, vendored } = fetch(patches, name, version)?;
    let index = match vendored {
        None => "the registry's index",
        Some(_) => "the vendored folder",
    };
    let witnesses = [
        (index, Some(locked)),
        (
            "the lock file of the patches",
            own_lock(patches, name, version)?,
        ),
    ];
    let other = |(witness, locked): (&str, Option<Locked>)| {
        let locked = locked.filter(|locked| locked.checksum != checksum)?;
        Some(format!("the tarball, by {witness} {}", locked.checksum))
    };
    Ok(witnesses.into_iter().filter_map(other).collect())
}

/// The packages of a workspace's lock file that have another checksum there than in the lock file of these patches; and how
/// many have the same.
pub fn compare_locks(patches: &Patches, lock: &str) -> Result<(Vec<String>, usize)> {
    let key = |package: Locked| {
        (
            (package.name, package.version, package.source),
            package.checksum,
        )
    };
    let own = patches.lock().unwrap_or_default();
    let own: BTreeMap<_, _> = published(&own)?.into_iter().map(key).collect();
    let (mut others, mut same) = (Vec::new(), 0);
    for ((name, version, source), checksum) in published(lock)?.into_iter().map(key) {
        let shown = format!("{name} {version}");
        match own.get(&(name, version, source)) {
            Some(expected) if *expected == checksum => same += 1,
            Some(expected) => others.push(format!(
                "{shown} is locked with checksum {checksum}; the lock file of the patches has {expected}"
            )),
            None => {}
        }
    }
    Ok((others, same))
}

/// The package's entry in the lock file of these patches, which is reviewed and therefore trusted first.
fn own_lock(patches: &Patches, name: &str, version: &str) -> Result<Option<Locked>> {
    match patches.lock() {
        Some(lock) => find_locked(&lock, name, version),
        None => Ok(None),
    }
}

/// The entry of a published package in the text of a lock file.
fn find_locked(lock: &str, name: &str, version: &str) -> Result<Option<Locked>> {
    let mut published = published(lock)?.into_iter();
    Ok(published.find(|package| package.name == name && package.version == version))
}

/// The packages in the text of a lock file that come from a registry.
pub fn published(lock: &str) -> Result<Vec<Locked>> {
    let mut packages = packages(lock)?;
    packages.retain(|package| !package.checksum.is_empty());
    Ok(packages)
}

/// The manifest of a package whose dependencies cargo is to fetch.
pub fn fetching_manifest() -> DocumentMut {
    let mut manifest = DocumentMut::new();
    manifest["package"]["name"] = value("fetch");
    manifest["package"]["edition"] = value("2021");
    manifest["workspace"] = Item::Table(Table::new());
    manifest
}

/// The packages in the text of a lock file.
pub fn packages(lock: &str) -> Result<Vec<Locked>> {
    let lock: Lock = toml::from_str(lock).context("cannot parse Cargo.lock")?;
    Ok(lock.package)
}

/// Has cargo put the package into its cache, from the network only if it must, and returns what the registry's
/// index says of it. Of vendored sources, which are in no cache, the folder's list says it.
///
/// Cargo fetches what the package depends on too, in the versions of these patches' lock file. Offline it takes any that are
/// cached: nothing is built from them.
fn fetch(patches: &Patches, name: &str, version: &str) -> Result<Found> {
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
        lock::metadata(patches.workplace().unwrap_or(dir.path()), &options)
    };
    let lock_file = dir.path().join("Cargo.lock");
    let graph = match graph(&["--offline"])? {
        Ok(graph) => graph,
        Err(_) => {
            let own = patches.lock().unwrap_or_default();
            fs::write(&lock_file, without(&own, name, version)?)?;
            graph(&[])?.map_err(|error| {
                Failure::environment(format!(
                    "{name} {version} is not in cargo's cache and cannot be fetched: {error}"
                ))
                .hint(vendoring(&error).unwrap_or(
                    "connect to the registry once, or run `cargo fetch` where it can be reached",
                ))
            })?
        }
    };
    let found = graph.packages.iter().find(|found| found.name == name);
    let folder = found.and_then(|found| found.manifest_path.parent());
    let folder = folder.map(|folder| folder.as_std_path().to_owned());
    let vendored = folder.filter(|folder| is_vendored(folder));
    let lock = fs::read_to_string(lock_file).context("cargo wrote no lock file")?;
    let locked = find_locked(&lock, name, version)?.ok_or_else(|| {
        let resolved = format!("cargo resolved {name} {version} without a checksum");
        match &vendored {
            None => Failure::environment(resolved),
            Some(folder) => Failure::input(format!("{}: {resolved}", folder.display()))
                .hint("it was vendored from git; the patches are for the registry's package"),
        }
    })?;
    Ok(Found { locked, vendored })
}

/// The text of a lock file without a package, of which cargo would otherwise say what the file says.
fn without(lock: &str, name: &str, version: &str) -> Result<String> {
    let mut lock: DocumentMut = lock.parse().context("cannot parse Cargo.lock")?;
    let packages = lock
        .get_mut("package")
        .and_then(Item::as_array_of_tables_mut);
    if let Some(packages) = packages {
        packages.retain(|package| {
            let field = |key| package.get(key).and_then(Item::as_str);
            (field("name"), field("version")) != (Some(name), Some(version))
        });
    }
    Ok(lock.to_string())
}

/// A hint for a package that cargo lacks because it was not vendored.
pub fn vendoring(error: &str) -> Option<&'static str> {
    error.contains(REPLACED).then_some(
        "`cargo vendor` takes what the workspace needs, but for packages that are patched: vendor before `apply`, or run this where cargo's configuration does not replace the registry",
    )
}

/// Of a source in place of another one, cargo says so.
const REPLACED: &str = " (which is replacing ";

/// Cargo's account of a failure as one line: its `error:` with the list below it, if it has one, and the last cause, or which
/// source in place of another one lacks a package.
pub fn cargo_error(stderr: &str) -> String {
    let lines = stderr
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>();
    let error = lines.iter().find_map(|line| line.strip_prefix("error: "));
    let cause = lines
        .iter()
        .rposition(|line| *line == "Caused by:")
        .and_then(|at| lines.get(at + 1));
    match (error, cause) {
        (Some(error), Some(cause)) => format!("{error}: {cause}"),
        (Some(error), None) if error.ends_with(':') => {
            let list = lines.iter().skip_while(|line| !line.ends_with(error));
            let items = list.skip(1).map_while(|line| line.split_once(": "));
            let items = items.take_while(|(key, _)| !key.contains(' '));
            let items = items.map(|(key, value)| format!("{key} {}", value.trim()));
            format!("{error} {}", items.collect::<Vec<_>>().join(", "))
        }
        (Some(error), None) => match lines.iter().find(|line| line.contains(REPLACED)) {
            Some(replaced) => format!("{error}, {replaced}"),
            None => error.to_owned(),
        },
        _ => lines
            .last()
            .map_or("no message from cargo".to_owned(), |line| {
                (*line).to_owned()
            }),
    }
}

/// Reads a tarball into memory; whatever is no plain file inside `NAME-VERSION/` is refused.
fn unpack(name: &str, version: &str, checksum: String, bytes: &[u8]) -> Result<Package> {
    let top = format!("{name}-{version}");
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(GzDecoder::new(bytes)).entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let refuse = |what: &str| Failure::input(format!("{}: {what}", path.display()));
        if !entry.header().entry_type().is_file() {
            return Err(refuse("neither file nor folder; a tarball holds plain files only").into());
        }
        let parts = (path
            .strip_prefix(&top)
            .map_err(|_| refuse("lies outside the package"))?
            .components())
        .map(|part| match part {
            Component::Normal(part) => part.to_str().ok_or_else(|| refuse("not a UTF-8 path")),
            _ => Err(refuse("leaves the package")),
        })
        .collect::<Result<Vec<_>, _>>()?;
        let mut contents = Vec::new();
        entry.read_to_end(&mut contents)?;
        files.insert(parts.join("/"), contents);
    }
    Package::new(name, version, checksum, files)
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tar::{Builder, EntryType, Header};

    use super::*;

    /// A tarball of `p3-x` 1.0.0 with one more entry, whose path is written as given.
    fn tarball(path: &str, kind: EntryType) -> Vec<u8> {
        let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        let vcs = br#"{"git":{"sha1":"0"},"path_in_vcs":"x"}"#;
        for (path, kind, contents) in [
            (
                "p3-x-1.0.0/.cargo_vcs_info.json",
                EntryType::Regular,
                &vcs[..],
            ),
            (path, kind, b"contents"),
        ] {
            let mut header = Header::new_gnu();
            header.as_gnu_mut().expect("a GNU header").name[..path.len()]
                .copy_from_slice(path.as_bytes());
            header.set_entry_type(kind);
            header.set_size(contents.len() as u64);
            header.set_cksum();
            builder.append(&header, contents).unwrap();
        }
        builder.into_inner().unwrap().finish().unwrap()
    }

    fn unpacked(path: &str, kind: EntryType) -> Result<Package> {
        unpack("p3-x", "1.0.0", String::new(), &tarball(path, kind))
    }

    #[test]
    fn a_tarball_is_unpacked() {
        let package = unpacked("p3-x-1.0.0/src/lib.rs", EntryType::Regular).unwrap();
        assert_eq!(package.files["src/lib.rs"], b"contents");
        assert_eq!(package.inside("x/src/lib.rs"), Some("src/lib.rs"));
        assert_eq!(package.inside("xy/src/lib.rs"), None);
    }

    #[test]
    fn an_entry_that_leaves_the_package_is_refused() {
        for path in [
            "p3-x-1.0.0/../y",
            "/p3-x-1.0.0/y",
            "y",
            "p3-x-1.0.01/y",
            "../p3-x-1.0.0/y",
        ] {
            assert!(unpacked(path, EntryType::Regular).is_err(), "{path}");
        }
        for kind in [EntryType::Symlink, EntryType::Link, EntryType::Fifo] {
            assert!(unpacked("p3-x-1.0.0/y", kind).is_err(), "{kind:?}");
        }
    }

    #[test]
    fn the_newest_release_is_read() {
        let newest = |version: &str| newest_of(&format!("p3-x #math\nversion: {version}\n"));
        let expected = Version::parse("0.9.0-rc.2").ok();
        assert_eq!(newest("0.9.0-rc.2"), expected);
        assert_eq!(newest("0.8.0 (latest 0.9.0-rc.2)"), expected);
        assert_eq!(newest("of no kind"), None);
    }

    #[test]
    fn cargo_errors_fit_one_line() {
        let stderr = "    Updating index\nerror: failed to parse `x`\n\nCaused by:\n  no\n\nCaused by:\n  because\n";
        assert_eq!(cargo_error(stderr), "failed to parse `x`: because");
        assert_eq!(cargo_error("error: no\n"), "no");
        let replaced = "error: no\nlocation searched: b (which is replacing a)\nrequired by c\n";
        let expected = "no, location searched: b (which is replacing a)";
        assert_eq!(cargo_error(replaced), expected);
        assert!(vendoring(expected).is_some() && vendoring("no").is_none());
        let list = "error: not a member:\ncurrent:   /a\nworkspace: /b\n\nthis may help: do\n";
        let expected = "not a member: current /a, workspace /b";
        assert_eq!(cargo_error(list), expected);
        assert_eq!(cargo_error(""), "no message from cargo");
    }
}
