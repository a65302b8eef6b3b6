//! The packages in the text of a lock file.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use anyhow::Result;
use serde::Deserialize;
use toml_edit::{DocumentMut, Item};

use paired::error::Failure;
use paired::run::protocol::check_line;

/// The registry, as lock files write it.
pub(super) const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The hint for a lock file that cannot be read.
pub(super) const RESTORE: &str =
    "restore Cargo.lock from version control, or delete it and run `cargo generate-lockfile`";

#[derive(Deserialize)]
struct Lock {
    /// The version of the format; files of version 1 and 2 have none.
    version: Option<i64>,
    #[serde(default)]
    package: Vec<Locked>,
    /// The checksums of a file of version 1, by package: `checksum NAME VERSION (SOURCE)`.
    #[serde(default)]
    metadata: BTreeMap<String, toml::Value>,
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

impl Locked {
    /// Tells whether the package comes from a registry, though the lock file has no checksum of it.
    pub(super) fn is_unlocked(&self) -> bool {
        let of_registry = ["registry+", "sparse+"];
        let mut of_registry = of_registry.iter();
        self.checksum.is_empty() && of_registry.any(|kind| self.source.starts_with(kind))
    }
}

impl fmt::Display for Locked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

/// Returns the entry of a published package in the text of a lock file.
pub(super) fn find_locked(lock: &str, name: &str, version: &str) -> Result<Option<Locked>> {
    let mut published = published(lock)?.into_iter();
    Ok(published.find(|package| package.name == name && package.version == version))
}

/// Returns the packages in the text of a lock file that come from a registry.
pub fn published(lock: &str) -> Result<Vec<Locked>> {
    let mut packages = packages(lock)?;
    packages.retain(|package| !package.checksum.is_empty());
    Ok(packages)
}

/// Returns the version of the format of a lock file's text; 0 stands for those without one.
pub fn version(lock: &str) -> Result<i64> {
    let lock: Lock = toml::from_str(lock).map_err(|error| unparsed(&error))?;
    Ok(lock.version.unwrap_or_default())
}

/// Returns the packages in the text of a lock file.
pub fn packages(lock: &str) -> Result<Vec<Locked>> {
    let lock: Lock = toml::from_str(lock).map_err(|error| unparsed(&error))?;
    if let Some(version) = lock.version.filter(|version| ![3, 4].contains(version)) {
        let what = format!("Cargo.lock: has version {version}, and known are 3 and 4");
        return Err(Failure::input(what).hint(RESTORE).into());
    }
    let mut packages = lock.package;
    for package in &mut packages {
        let Locked {
            name,
            version,
            source,
            checksum,
        } = package;
        for text in [&*name, version, source, checksum] {
            check_line(text).map_err(|why| unparsed(&why))?;
        }
        let key = format!("checksum {name} {version} ({source})");
        let listed = lock.metadata.get(&key).and_then(toml::Value::as_str);
        if let Some(listed) = listed.filter(|listed| checksum.is_empty() && *listed != "<none>") {
            listed.clone_into(checksum);
        }
    }
    Ok(packages)
}

/// Parses the text of a lock file for an edit.
pub fn document(lock: &str) -> Result<DocumentMut, Failure> {
    lock.parse::<DocumentMut>()
        .map_err(|error| unparsed(&error))
}

fn unparsed(error: &impl Display) -> Failure {
    let what = format!("cannot parse Cargo.lock: {error}");
    Failure::input(what.trim_end()).hint(RESTORE)
}

/// Writes the text of a lock file without a package, of which cargo would otherwise say what the file says.
pub(super) fn without(lock: &str, name: &str, version: &str) -> Result<String> {
    let mut lock = document(lock)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use paired::error::Kind;

    #[test]
    fn checksums_of_version_1_are_read() {
        let entry = |name| {
            format!(
                "[[package]]\nname = \"{name}\"\nversion = \"1.0.0\"\nsource = \"registry+r\"\n"
            )
        };
        let lock = ["a", "b", "c"].map(entry).concat()
            + "[metadata]\n\"checksum a 1.0.0 (registry+r)\" = \"0a\"\n"
            + "\"checksum b 1.0.0 (registry+r)\" = \"<none>\"\n"
            + "\"checksum c 1.0.0 (registry+other)\" = \"0c\"\n";
        let published = published(&lock).unwrap();
        assert_eq!(published.len(), 1);
        assert_eq!((&*published[0].name, &*published[0].checksum), ("a", "0a"));
        let mut unlocked = packages(&lock).unwrap();
        unlocked.retain(Locked::is_unlocked);
        let unlocked: Vec<_> = unlocked.iter().map(Locked::to_string).collect();
        assert_eq!(unlocked, ["b 1.0.0", "c 1.0.0"]);
    }

    #[test]
    fn a_lock_file_that_does_not_parse_is_refused() {
        let source = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"git+https://h/r\\nhint: x\"\n";
        packages("version = 4\n").unwrap();
        for text in [
            "[[package",
            "package = 1",
            source,
            "version = 5\n",
            "version = 0\n",
        ] {
            let error = packages(text).unwrap_err();
            let failure = Failure::behind(&error).expect("a failure that was foreseen");
            assert_eq!(failure.kind, Kind::Input);
        }
        assert_eq!(document("[[package").unwrap_err().kind, Kind::Input);
    }
}
