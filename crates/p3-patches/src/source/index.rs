//! The releases of a package: in cargo's copies of registries' indexes, and by asking the registry.

use std::path::Path;

use anyhow::Result;
use cargo_metadata::semver::Version;
use serde::Deserialize;

use crate::source::cache::{caches, is_of_crates_io};
use crate::source::resolve::unresolved;
use paired::cargo::{cargo, error_of};
use paired::error::Failure;
use paired::files::changed::write_changed;
use paired::files::plain;
use paired::interrupt;

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
        let error = error_of(&output)?;
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
        return Err(unresolved(dir, &what, &error, "connect to the registry").into());
    }
    newest_of(&String::from_utf8_lossy(&output.stdout))
        .ok_or_else(|| Failure::environment(format!("`cargo info {name}` names no version")).into())
}

/// Reads the newest version in what `cargo info` prints: `version: 0.8.0 (latest 0.9.0-rc.2)` where it shows another one.
fn newest_of(info: &str) -> Option<Version> {
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("version: "))?;
    let words = line.split([' ', '(', ')']);
    words.filter_map(|word| Version::parse(word).ok()).max()
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
    /// Lists the names of the packages that it depends on, and that its tests do.
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

/// Lists the releases in the index of the registry with this folder of tarballs.
///
/// Cargo keeps a file for each package, in which every release has a version and a line of JSON, with a zero byte behind each
/// (cargo's `src/cargo/sources/registry/index/cache.rs`). Another form gives no releases.
pub(super) fn indexed_by(cache: &Path, name: &str) -> Vec<Indexed> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_release_is_read() {
        let newest = |version: &str| newest_of(&format!("p3-x #math\nversion: {version}\n"));
        let expected = Version::parse("0.9.0-rc.2").ok();
        assert_eq!(newest("0.9.0-rc.2"), expected);
        assert_eq!(newest("0.8.0 (latest 0.9.0-rc.2)"), expected);
        assert_eq!(newest("of no kind"), None);
    }
}
