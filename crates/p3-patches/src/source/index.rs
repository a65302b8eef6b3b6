//! The releases of a package: in registries' indexes and cargo's copies of these, and by asking the registry.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use cargo_metadata::semver::Version;
use serde::Deserialize;

use crate::source::cache::{caches, is_of_crates_io};
use crate::source::requirement::{self, Requirement};
use crate::source::resolve::unresolved;
use paired::cargo::{cargo, error_of, home};
use paired::error::Failure;
use paired::files::changed::write_changed;
use paired::files::plain;
use paired::interrupt;

/// Returns the newest release of a package that the registry has, whether or not it is a preview, as cargo finds it in the checkout
/// with this root. Where it finds none of a name that is known to be there, its index is what is missing.
pub fn newest(root: &Path, name: &str, is_known: bool) -> Result<Version> {
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
            && !is_known
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

/// A release of a package in a registry's index (The Cargo Book, "Registry Index").
#[derive(Deserialize)]
pub struct Release {
    #[serde(rename = "vers")]
    pub version: Version,
    /// The tarball's SHA-256.
    #[serde(rename = "cksum")]
    pub checksum: String,
    yanked: Option<bool>,
    #[serde(default, rename = "deps")]
    pub dependencies: Vec<requirement::Indexed>,
    #[serde(default)]
    features: Features,
    /// The features of which older versions of cargo would not know the form.
    #[serde(default)]
    features2: Option<Features>,
}

/// Features, each with what it enables.
pub(super) type Features = BTreeMap<String, BTreeSet<String>>;

impl Release {
    pub fn is_yanked(&self) -> bool {
        self.yanked == Some(true)
    }

    /// Returns the features as cargo has them: an optional dependency is one, too, unless a feature enables `dep:NAME`.
    pub(super) fn features(&self) -> Features {
        let mut features = self.features.clone();
        for (name, enabled) in self.features2.iter().flatten() {
            let all = features.entry(name.clone()).or_default();
            all.extend(enabled.iter().cloned());
        }
        let enabled: BTreeSet<_> = features.values().flatten().cloned().collect();
        let requirements = (self.dependencies.iter()).filter_map(Requirement::indexed);
        for asked in requirements.filter(|asked| asked.optional) {
            let enables = format!("dep:{}", asked.name);
            if !enabled.contains(&enables) {
                features
                    .entry(asked.name)
                    .or_insert_with(|| BTreeSet::from([enables]));
            }
        }
        features
    }
}

/// Lists the releases of a package in all of cargo's copies of indexes. Nothing is fetched.
pub fn releases(name: &str) -> Result<Vec<Release>> {
    releases_where(name, |_| true)
}

/// Lists the releases of a package in cargo's copy of crates.io's index.
pub fn releases_on_crates_io(name: &str) -> Result<Vec<Release>> {
    releases_where(name, is_of_crates_io)
}

/// Lists the releases of a package in the indexes of the registries whose folders of tarballs `is_asked` accepts.
fn releases_where(name: &str, is_asked: impl Fn(&Path) -> bool) -> Result<Vec<Release>> {
    let caches = caches()?.into_iter().filter(|cache| is_asked(cache));
    let indexes = caches.filter_map(|cache| Some(copy(cache.file_name()?)));
    let mut all = Vec::new();
    for index in indexes {
        all.extend(releases_in(&index?, name));
    }
    Ok(all)
}

/// Returns cargo's copy of the index of the registry with this name, as the folders of its tarballs and its sources have it.
pub(super) fn copy(registry: &OsStr) -> Result<PathBuf> {
    Ok(home()?.join("registry/index").join(registry).join(".cache"))
}

/// Lists the releases of a package in an index; what cannot be read is left out.
pub(super) fn releases_in(index: &Path, name: &str) -> Vec<Release> {
    let entries = entries(index, name).into_iter();
    entries
        .filter_map(|entry| serde_json::from_slice(&entry).ok())
        .collect()
}

/// Lists the entries of one version of a package in an index. An error is about an entry that cannot be read, and that cargo may know how
/// to read.
pub(super) fn releases_of(index: &Path, name: &str, version: &Version) -> Result<Vec<Release>> {
    #[derive(Deserialize)]
    struct Versioned {
        #[serde(rename = "vers")]
        version: Version,
    }
    // No other entry is parsed. The version may be escaped.
    let quoted = format!("\"{version}\"");
    let may_be_of_it = |entry: &[u8]| {
        let text = str::from_utf8(entry).ok();
        text.is_none_or(|text| text.contains(&quoted) || text.contains('\\'))
    };
    let mut entries = entries(index, name);
    if entries
        .iter()
        .any(|entry| entry.trim_ascii_start().starts_with(b"["))
    {
        bail!("cargo's copy has an entry that is a list");
    }
    entries.retain(|entry| {
        may_be_of_it(entry)
            && serde_json::from_slice::<Versioned>(entry)
                .is_ok_and(|entry| entry.version == *version)
    });
    let releases = entries
        .iter()
        .map(|entry| Ok(serde_json::from_slice(entry)?));
    releases.collect()
}

/// Lists the entries of a package in an index, each the JSON of a release; another form than these two has none.
///
/// A registry has a file for each package, with an entry a line. In cargo's copy, every entry has its version before it, and a zero byte
/// behind both (cargo's `src/cargo/sources/registry/index/cache.rs`).
fn entries(index: &Path, name: &str) -> Vec<Vec<u8>> {
    let bytes = plain::read(&index.join(file_of(name))).unwrap_or_default();
    let entries = bytes.split(|byte| [0, b'\n'].contains(byte));
    entries
        .filter(|entry| {
            [b"{", b"["]
                .iter()
                .any(|start| entry.trim_ascii_start().starts_with(*start))
        })
        .map(<[u8]>::to_vec)
        .collect()
}

/// Returns the path of a package's file in an index: `se/rd/serde`, `3/l/log`, `2/cc`, `1/a`.
fn file_of(name: &str) -> String {
    let name = name.to_lowercase();
    match (name.len(), name.get(..1), name.get(..2), name.get(2..4)) {
        (length @ 1..=2, ..) => format!("{length}/{name}"),
        (3, Some(first), ..) => format!("3/{first}/{name}"),
        (_, _, Some(first), Some(second)) => format!("{first}/{second}/{name}"),
        // No registry has such a name.
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cargo reads each of these as an entry of 1.0.0, and takes the last one.
    #[test]
    fn each_entry_of_a_version_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("ab/cd/abcd");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let entry = |version: &str, rest: &str| {
            format!(
                "{{\"name\":\"abcd\",\"vers\":\"{version}\",\"cksum\":\"0a\",\"deps\":[]{rest}}}"
            )
        };
        let count_bytes = |bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            let version = Version::new(1, 0, 0);
            releases_of(dir.path(), "abcd", &version)
                .map(|found| found.len())
                .ok()
        };
        let count = |entries: &[String]| count_bytes(entries.join("\n").as_bytes());
        let honest = entry("1.0.0", "");
        let others = [
            entry("1.0.1", ""),
            entry("1.0.0-rc.1", ""),
            "\"1.0.0\"".to_owned(),
        ];
        assert_eq!(count(&others), Some(0));
        assert_eq!(count(&[honest.clone(), others.join("\n")]), Some(1));
        for other in [
            entry("1.\\u0030.0", ""),
            entry("1.0.0", ",\"yanked\":null,\"v\":2"),
            format!("\t{}", entry("1.0.0", "")),
        ] {
            assert_eq!(count(&[honest.clone(), other]), Some(2));
        }
        let unknown = entry("1.0.0", ",\"x\":\"?\"").into_bytes();
        let unknown: Vec<_> = (unknown.into_iter())
            .map(|byte| if byte == b'?' { 0xff } else { byte })
            .collect();
        assert_eq!(count_bytes(&unknown), Some(1));
        // Cargo may know such a form, and reads the second.
        let list = r#"["abcd","1.0.0",[],{},null,"0a"]"#.to_owned();
        for other in [entry("1.0.0", ",\"features\":[]"), list] {
            assert_eq!(count(&[honest.clone(), other]), None);
        }
    }

    /// The first four are the Cargo Book's.
    #[test]
    fn files_of_an_index() {
        for (name, file) in [
            ("a", "1/a"),
            ("cc", "2/cc"),
            ("Log", "3/l/log"),
            ("Cargo", "ca/rg/cargo"),
            ("p3-air", "p3/-a/p3-air"),
        ] {
            assert_eq!(file_of(name), file);
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
}
