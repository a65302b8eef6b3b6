//! A published package in memory, read from its tarball or from a vendored folder.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use flate2::read::GzDecoder;
use serde::Deserialize;

use crate::error::Failure;
use crate::files::dir::Dir;
use crate::registry::source::{sha256, wrong_checksum};

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

/// Whether a package's folder is one of a directory source, as `cargo vendor` writes them.
pub fn is_vendored(folder: &Path) -> bool {
    folder.join(SUMS).is_file()
}

/// The package in a folder that `cargo vendor` wrote: one of a tarball with this checksum, by the folder's list, and each file
/// with the checksum that it has there.
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

/// Reads a tarball into memory; whatever is no plain file inside `NAME-VERSION/` is refused.
pub(super) fn unpack(name: &str, version: &str, checksum: String, bytes: &[u8]) -> Result<Package> {
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
}
