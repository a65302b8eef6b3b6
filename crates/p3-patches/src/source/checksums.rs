//! The checksums of Plonky3's packages in each release that there are patches for. They are reviewed with the patches, and the
//! executable carries them.
//!
//! The file has the form of `sha256sum`: `sha256sum --check --ignore-missing` holds the tarballs in a folder against it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use cargo_metadata::semver::Version;

use crate::project::{CHECKSUMS, Patches};
use crate::source::index;
use crate::source::requirement::Indexed;
use paired::error::Failure;
use paired::interrupt;

/// The SHA-256 of tarballs, by release and name.
#[derive(Debug, Default, Eq, PartialEq)]
pub struct Checksums(BTreeMap<(Version, String), String>);

impl Checksums {
    /// Reads the file; a checkout of other patches need not have one.
    pub fn load(patches: &Patches) -> Result<Self> {
        let text = patches.checksums()?.unwrap_or_default();
        let mut read = Self::default();
        for (line, number) in String::from_utf8_lossy(&text).lines().zip(1..) {
            let Some((key, checksum)) = parse(line) else {
                let what =
                    format!("patches/{CHECKSUMS}:{number}: not `SHA256  NAME-VERSION.crate`");
                return Err(Failure::input(what)
                    .hint("`cargo p3 refresh --checksums` adds lines; the others are never edited")
                    .into());
            };
            let (version, name) = &key;
            if read.get(name, &version.to_string()).is_some() {
                let what =
                    format!("patches/{CHECKSUMS}:{number}: a second line for {name} {version}");
                return Err(Failure::input(what)
                    .hint("the registry's index has one checksum for it; delete the line with another")
                    .into());
            }
            read.0.insert(key, checksum);
        }
        Ok(read)
    }

    /// Returns the SHA-256 of a package's tarball, as lock files spell it.
    pub fn get(&self, name: &str, version: &str) -> Option<&str> {
        let key = (Version::parse(version).ok()?, name.to_owned());
        self.0.get(&key).map(String::as_str)
    }

    /// Returns the packages of a release, by name, with their checksums.
    pub fn of_release(&self, version: &str) -> impl Iterator<Item = (&str, &str)> {
        let version = Version::parse(version).ok();
        let entries = self.0.iter();
        let entries = entries.filter(move |((found, _), _)| Some(found) == version.as_ref());
        entries.map(|((_, name), checksum)| (name.as_str(), checksum.as_str()))
    }

    /// Returns the names of the packages.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(|(_, name)| name.as_str())
    }

    /// Tells whether the file has a package in some release.
    pub fn knows(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// Returns the checksums that `before` lacks, as packages with their versions.
    pub fn added<'c>(&'c self, before: &'c Self) -> impl Iterator<Item = (&'c str, &'c Version)> {
        let is_new = |key: &&(Version, String)| !before.0.contains_key(*key);
        (self.0.keys().filter(is_new)).map(|(version, name)| (name.as_str(), version))
    }

    /// Adds what the registry's index has of these `releases`: of the packages that the file has in any release, of those
    /// `named`, and of what they depend on. A checksum that is there has to be the index's.
    pub fn update(
        patches: &Patches,
        root: &Path,
        releases: &[Version],
        named: impl IntoIterator<Item = String>,
    ) -> Result<Self> {
        let present = Self::load(patches)?;
        let mut todo: BTreeSet<String> = named.into_iter().collect();
        todo.extend(present.names().map(str::to_owned));
        let mut seen = BTreeSet::new();
        let mut updated = Self::default();
        while let Some(name) = todo.pop_first() {
            interrupt::check()?;
            // Cargo brings its copy of the index up to date for what it is asked about.
            index::newest(root, &name, present.knows(&name))?;
            for release in index::releases_on_crates_io(&name)? {
                if !releases.contains(&release.version) {
                    continue;
                }
                let of_upstream = |name: &&str| name.starts_with("p3-") && !seen.contains(*name);
                let needed = release.dependencies.iter().map(Indexed::package);
                todo.extend(needed.filter(of_upstream).map(str::to_owned));
                let key = (release.version, name.clone());
                updated.0.insert(key, release.checksum);
            }
            seen.insert(name);
        }
        for (key @ (version, name), checksum) in &present.0 {
            let found = updated.0.get(key).map(String::as_str);
            if found != Some(checksum) && releases.contains(version) {
                let found = found.unwrap_or("none");
                let what = format!(
                    "{name} {version}: patches/{CHECKSUMS} has {checksum}, and the registry's index {found}"
                );
                return Err(Failure::input(what)
                    .hint("what is published does not change; find out which of the two is wrong")
                    .into());
            }
        }
        Ok(updated)
    }

    /// Returns the file's text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for ((version, name), checksum) in &self.0 {
            let _ = writeln!(text, "{checksum}  {name}-{version}.crate");
        }
        text
    }
}

fn parse(line: &str) -> Option<((Version, String), String)> {
    let (checksum, file) = line.split_once("  ")?;
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if checksum.len() != 64 || !checksum.bytes().all(is_hex) {
        return None;
    }
    let package = file.strip_suffix(".crate")?;
    // A name may have parts of digits.
    let mut dashes = package.match_indices('-');
    let key = dashes.find_map(|(at, _)| {
        let version = Version::parse(&package[at + 1..]).ok()?;
        Some((version, package[..at].to_owned()))
    });
    Some((key?, checksum.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(text: &str) -> Result<Checksums> {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("patches");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(CHECKSUMS), text).unwrap();
        Checksums::load(&crate::project::at(dir.path()))
    }

    #[test]
    fn a_name_may_have_digits_and_a_version_a_dash() {
        let sum = "0a".repeat(32);
        let text =
            format!("{sum}  p3-monty-31-0.8.0.crate\n{sum}  p3-sha256-air-0.9.0-rc.2.crate\n");
        let checksums = read(&text).unwrap();
        assert_eq!(checksums.get("p3-monty-31", "0.8.0"), Some(&*sum));
        assert_eq!(checksums.get("p3-sha256-air", "0.9.0-rc.2"), Some(&*sum));
        assert_eq!(checksums.get("p3-monty", "0.8.0"), None);
        assert_eq!(checksums.text(), text);
    }

    #[test]
    fn a_second_line_for_a_package_is_refused() {
        let [one, other] = ["0", "1"].map(|digit| digit.repeat(64));
        for second in [&one, &other] {
            let text = format!("{one}  p3-x-0.8.0.crate\n{second}  p3-x-0.8.0.crate\n");
            let error = read(&text).unwrap_err();
            let expected = "patches/SHA256SUMS:2: a second line for p3-x 0.8.0";
            assert_eq!(error.to_string(), expected);
            assert_eq!(
                Failure::behind(&error).unwrap().kind,
                paired::error::Kind::Input
            );
        }
    }

    #[test]
    fn a_line_of_another_form_is_refused() {
        let sum = "0".repeat(64);
        for line in [
            String::new(),
            format!("{sum} p3-x-0.8.0.crate"),
            format!("{sum}  p3-x-0.8.0"),
            format!("{sum}  p3-x.crate"),
            format!("{}  p3-x-0.8.0.crate", &sum[1..]),
            format!("{}  p3-x-0.8.0.crate", "A".repeat(64)),
        ] {
            let error = read(&format!("{sum}  p3-x-0.8.0.crate\n{line}\n")).unwrap_err();
            let expected = "patches/SHA256SUMS:2: not `SHA256  NAME-VERSION.crate`";
            assert_eq!(error.to_string(), expected, "{line}");
        }
    }
}
