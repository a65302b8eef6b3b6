//! A published package in memory, read from its tarball or from a vendored folder.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use flate2::read::GzDecoder;
use serde::Deserialize;

use paired::error::Failure;
use paired::files::contents::sha256;
use paired::files::dir::Dir;
use paired::terminal::shown;

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
    /// Returns the package with these files, one of which says where it was published from.
    fn new(
        name: &str,
        version: &str,
        checksum: String,
        files: BTreeMap<String, Vec<u8>>,
    ) -> Result<Self> {
        let vcs = files.get(VCS_INFO).ok_or_else(|| {
            Failure::input(format!("no {VCS_INFO}, so its upstream folder is unknown"))
        })?;
        let refuse = |what: String| Failure::input(format!("{VCS_INFO}: {what}"));
        let VcsInfo {
            git: Commit { sha1: commit },
            path_in_vcs: folder,
        } = serde_json::from_slice(vcs).map_err(|error| refuse(error.to_string()))?;
        parts(Path::new(&folder)).map_err(|what| refuse(format!("{folder:?}: {what}")))?;
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

    /// Returns the names of the packages that it depends on, and that its tests do.
    pub fn needs(&self) -> Result<BTreeSet<String>> {
        let manifest = self.files.get("Cargo.toml");
        let manifest = manifest.context("no Cargo.toml in the tarball")?;
        let manifest: toml::Table = toml::from_slice(manifest)
            .with_context(|| format!("{}: cannot parse Cargo.toml", self.name))?;
        let targets = manifest.get("target").and_then(toml::Value::as_table);
        let targets = targets.into_iter().flat_map(toml::Table::values);
        let tables = targets.filter_map(toml::Value::as_table).chain([&manifest]);
        let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
        let needed = tables.flat_map(|table| kinds.map(|kind| table.get(kind)));
        let needed = needed.flatten().filter_map(toml::Value::as_table).flatten();
        let name = |(key, value): (&String, &toml::Value)| {
            let package = value.get("package").and_then(toml::Value::as_str);
            package.unwrap_or(key).to_owned()
        };
        Ok(needed.map(name).collect())
    }

    /// Returns the part of an upstream path that lies inside this package.
    pub fn inside<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.strip_prefix(&self.folder)?.strip_prefix('/')
    }

    /// Gives the package the benches of another state of it in place of its own.
    pub fn take_benches(&mut self, other: &Self) {
        self.files.retain(|path, _| !is_bench(path));
        let benches = other.files.iter().filter(|(path, _)| is_bench(path));
        self.files
            .extend(benches.map(|(path, contents)| (path.clone(), contents.clone())));
    }
}

/// Tells whether a file is a bench by its path in a package or in upstream's repository. No other target of a package has anything of it.
pub fn is_bench(path: &str) -> bool {
    let mut above_sources = path.split('/').take_while(|part| *part != "src");
    above_sources.any(|part| part == "benches")
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

/// Tells whether a package's folder is one of a directory source, as `cargo vendor` writes them.
pub fn is_vendored(folder: &Path) -> bool {
    folder.join(SUMS).is_file()
}

/// Returns the package in a folder that `cargo vendor` wrote: one of a tarball with this checksum, by the folder's list, and each
/// file with the checksum that it has there.
pub(super) fn read_vendored(
    name: &str,
    version: &str,
    checksum: String,
    folder: PathBuf,
) -> Result<Package> {
    let dir = Dir::open(&folder)?;
    let list = folder.join(SUMS);
    let again = "`cargo vendor` writes that folder again; run it where no patches are applied";
    let text = dir.read(SUMS)?.unwrap_or_default();
    let sums: Sums = serde_json::from_slice(&text)
        .map_err(|error| Failure::input(format!("{}: {error}", shown(&list))).hint(again))?;
    let package = sums.package.unwrap_or_default();
    if package != checksum {
        return Err(wrong_checksum(&list, &checksum, &package)
            .hint("`cargo vendor` takes the published package where no patches are applied and cargo's configuration replaces no registry")
            .into());
    }
    // Cargo leaves them out of what it takes from git, as it did of all packages.
    for published in [VCS_INFO, "Cargo.toml.orig"] {
        if !sums.files.contains_key(published) {
            let what = format!("{}: {published} was not vendored", shown(&folder));
            let hint =
                "`cargo vendor` of cargo 1.89 or later writes packages as they were published";
            return Err(Failure::input(what).hint(hint).into());
        }
    }
    let mut files = BTreeMap::new();
    for (file, expected) in sums.files {
        let path = folder.join(&file);
        let contents = dir
            .read(&file)?
            .ok_or_else(|| Failure::input(format!("{}: is not there", shown(&path))).hint(again))?;
        parts(Path::new(&file))
            .map_err(|what| Failure::input(format!("{}: {what}", shown(&path))))?;
        let found = sha256(&contents);
        if found != expected {
            return Err(wrong_checksum(&path, &expected, &found).hint(again).into());
        }
        files.insert(file, contents);
    }
    let mut package =
        Package::new(name, version, checksum, files).with_context(|| shown(&folder))?;
    package.vendored = Some(folder);
    Ok(package)
}

/// Returns the failure for a file with another checksum than the expected one.
pub(super) fn wrong_checksum(path: &Path, expected: &str, found: &str) -> Failure {
    let [path, expected, found] = [path, Path::new(expected), Path::new(found)].map(shown);
    Failure::input(format!(
        "{path}: wrong checksum\n  expected: {expected}\n  found:    {found}"
    ))
}

/// The most that a tarball may unpack to: twenty times what the largest of Plonky3's does.
const MOST_BYTES: u64 = 64 << 20;
const MOST_FILES: usize = 10_000;

/// Reads a tarball into memory. Refuses entries that are no plain files inside `NAME-VERSION/`, and a tarball that is damaged or
/// larger than any package's.
pub(super) fn unpack(name: &str, version: &str, checksum: String, bytes: &[u8]) -> Result<Package> {
    let damaged = |error: io::Error| Failure::input(format!("no whole tarball: {error}"));
    let mut plain = Vec::new();
    let mut unpacked = GzDecoder::new(bytes).take(MOST_BYTES + 1);
    unpacked.read_to_end(&mut plain).map_err(damaged)?;
    if plain.len() as u64 > MOST_BYTES {
        let most = MOST_BYTES >> 20;
        return Err(Failure::input(format!("unpacks to more than {most} MiB")).into());
    }
    let top = format!("{name}-{version}");
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(&*plain).entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let path = entry.path().map_err(damaged)?.into_owned();
        let refuse = |what: &str| Failure::input(format!("{}: {what}", shown(&path)));
        if !entry.header().entry_type().is_file() {
            return Err(refuse("not a plain file; a tarball of a package holds no others").into());
        }
        let inner = path
            .strip_prefix(&top)
            .map_err(|_| refuse("lies outside the package"))?;
        let inner = parts(inner).map_err(refuse)?.join("/");
        if inner.is_empty() {
            return Err(refuse("names no file in the package").into());
        }
        let mut contents = Vec::new();
        entry.read_to_end(&mut contents).map_err(damaged)?;
        if files.contains_key(&inner) {
            return Err(refuse("is there twice").into());
        }
        if let Some(other) = in_the_way(&inner, &files) {
            let what = format!("cannot stand beside {other}: one is the other's folder");
            return Err(refuse(&what).into());
        }
        files.insert(inner, contents);
        if files.len() > MOST_FILES {
            return Err(Failure::input(format!("has more than {MOST_FILES} files")).into());
        }
    }
    Package::new(name, version, checksum, files)
}

/// Finds a file that a new one at `path` needs as a folder, or that needs `path` as one.
pub fn in_the_way<'p>(path: &'p str, files: &'p BTreeMap<String, Vec<u8>>) -> Option<&'p str> {
    let folder = format!("{path}/");
    let inside = files.range(folder.clone()..).next();
    let inside = inside.filter(|(other, _)| other.starts_with(&folder));
    let mut above = path.match_indices('/').map(|(end, _)| &path[..end]);
    (inside.map(|(other, _)| other.as_str()))
        .or_else(|| above.find(|folder| files.contains_key(*folder)))
}

/// The most bytes of a path in a package or a patch: all file systems have room for these.
pub const LONGEST_PATH: usize = 255;

/// Splits a path in a package into its parts, or says why no package may have it. Git obeys what it finds in a folder `.git`.
fn parts(path: &Path) -> Result<Vec<&str>, &'static str> {
    let name = |part| match part {
        Component::Normal(name) => name.to_str().ok_or("not a UTF-8 path"),
        _ => Err("leaves the package"),
    };
    let parts = (path.components().map(name)).collect::<Result<Vec<_>, _>>()?;
    // Some file systems take names that differ in case for one.
    if parts.iter().any(|part| part.eq_ignore_ascii_case(".git")) {
        return Err("belongs to git, and no package has that");
    }
    if parts.iter().any(|part| part.contains(char::is_control)) {
        return Err("has a control character");
    }
    if parts.join("/").len() > LONGEST_PATH {
        return Err("the path is too long");
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tar::{Builder, EntryType, Header};

    use super::*;
    use paired::error::Kind;

    /// Returns a tarball of `p3-x` 1.0.0 with entries of these names, as `append_data` writes them.
    fn named(paths: &[&str]) -> Vec<u8> {
        let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for path in paths {
            let mut header = Header::new_gnu();
            header.set_size(0);
            let path = format!("p3-x-1.0.0/{path}");
            builder.append_data(&mut header, path, &b""[..]).unwrap();
        }
        builder.into_inner().unwrap().finish().unwrap()
    }

    #[test]
    fn a_name_that_no_folder_can_have_is_refused() {
        for paths in [["a", "a/b"], ["a/b", "a"], ["a", "a/b/c"]] {
            let refused = refused(&named(&paths));
            let expected = format!(
                "p3-x-1.0.0/{}: cannot stand beside {}: one is the other's folder",
                paths[1], paths[0]
            );
            assert_eq!(refused, expected);
        }
        let long = "n".repeat(300);
        let deep = "n/".repeat(130) + "n";
        for path in [&long, &format!("src/{long}"), &deep] {
            let refused = refused(&named(&[path]));
            assert_eq!(refused, format!("p3-x-1.0.0/{path}: the path is too long"));
        }
        let refused = refused(&named(&["src/a\nb"]));
        assert!(refused.ends_with(": has a control character"), "{refused}");
    }

    #[test]
    fn a_package_takes_the_benches_of_another_state_of_it() {
        let package = |files: &[(&str, &str)]| Package {
            name: "p3-x".to_owned(),
            version: "1.0.0".to_owned(),
            folder: "x".to_owned(),
            commit: String::new(),
            checksum: String::new(),
            vendored: None,
            files: (files.iter())
                .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
                .collect(),
        };
        let mut published = package(&[("benches/gone.rs", ""), ("src/benches/x.rs", "old")]);
        let patched = [("benches/added/x.rs", "new"), ("src/benches/x.rs", "new")];
        published.take_benches(&package(&patched));
        let expected = package(&[("benches/added/x.rs", "new"), ("src/benches/x.rs", "old")]);
        assert_eq!(published.files, expected.files);
        assert!(is_bench("x/benches/added.rs"));
        assert!(!is_bench("x/src/benches/x.rs"));
    }

    /// Returns a tarball of `p3-x` 1.0.0 with one more entry, whose path is written as given.
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

    /// Returns the message about a tarball, which has to be refused as input.
    fn refused(bytes: &[u8]) -> String {
        let error = unpack("p3-x", "1.0.0", String::new(), bytes).unwrap_err();
        let failure = Failure::behind(&error).expect("a failure that was foreseen");
        assert_eq!(failure.kind, Kind::Input);
        format!("{error:#}")
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
            "p3-x-1.0.0/.git/config",
            "p3-x-1.0.0/y/.Git",
            "p3-x-1.0.0",
        ] {
            assert!(unpacked(path, EntryType::Regular).is_err(), "{path}");
        }
        for kind in [EntryType::Symlink, EntryType::Link, EntryType::Fifo] {
            assert!(unpacked("p3-x-1.0.0/y", kind).is_err(), "{kind:?}");
        }
    }
    #[test]
    fn a_damaged_tarball_is_refused() {
        let whole = tarball("p3-x-1.0.0/y", EntryType::Regular);
        for length in [0, 5, whole.len() / 2, whole.len() - 9] {
            let refused = refused(&whole[..length]);
            assert!(
                refused.starts_with("no whole tarball: "),
                "{length}: {refused}"
            );
        }
        let twice = tarball("p3-x-1.0.0/.cargo_vcs_info.json", EntryType::Regular);
        assert!(refused(&twice).ends_with(".cargo_vcs_info.json: is there twice"));
    }

    /// Returns a tarball with these files, each of so many zero bytes.
    fn large(files: usize, bytes: usize) -> Vec<u8> {
        let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for file in 0..files {
            let mut header = Header::new_gnu();
            header.set_size(bytes as u64);
            let path = format!("p3-x-1.0.0/{file}");
            let contents = vec![0; bytes];
            builder
                .append_data(&mut header, path, &*contents)
                .expect("memory has room");
        }
        builder.into_inner().unwrap().finish().unwrap()
    }

    #[test]
    fn a_tarball_larger_than_any_packages_is_refused() {
        let bomb = large(2, 40 << 20);
        assert!(bomb.len() < 1 << 20);
        assert_eq!(refused(&bomb), "unpacks to more than 64 MiB");
        assert_eq!(refused(&large(10_001, 0)), "has more than 10000 files");
    }

    #[test]
    fn a_package_lies_in_the_repository() {
        let published = |folder: &str| {
            let vcs = format!(r#"{{"git":{{"sha1":"0"}},"path_in_vcs":"{folder}"}}"#);
            let files = BTreeMap::from([(VCS_INFO.to_owned(), vcs.into_bytes())]);
            Package::new("p3-x", "1.0.0", String::new(), files)
        };
        for folder in ["", "x", "crates/x"] {
            assert_eq!(published(folder).unwrap().folder, folder);
        }
        for folder in ["..", "/x", "x/../../y", "x/.git"] {
            let refused = format!("{:#}", published(folder).unwrap_err());
            assert!(refused.contains(&format!("{folder:?}: ")), "{refused}");
        }
    }
}
