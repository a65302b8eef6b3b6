//! The versions that the tool's workspaces resolve to: those of lock files, never the newest that there are.
//!
//! First comes the lock file of this repository, which is reviewed with the patches. Upstream's suites, and its other
//! releases, need packages that it lacks: for these the published packages have lock files of their own, in the tarballs
//! whose checksums are verified. A prover that others have published is resolved from its own alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::Metadata;
use cargo_metadata::semver::Version;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use crate::project::Patches;
use crate::source::locked::{self, Locked, REGISTRY};
use crate::source::package::Package;
use crate::source::registry;
use crate::source::resolve::{CACHE_FIRST, CONNECT, metadata, resolve, unresolved_manifest};
use paired::error::Failure;
use paired::files::changed::write_changed;
use paired::terminal::shown;

const FILE: &str = "Cargo.lock";

/// The lock file from which a workspace is resolved.
pub struct Seed {
    release: String,
    /// The reviewed one, and what it has.
    text: String,
    reviewed: Vec<Locked>,
    /// One package for each name and each line of versions that cargo takes for compatible: to the first that meets a
    /// requirement it is bound.
    packages: BTreeMap<(String, Line), Locked>,
}

/// Where a version differs from another one here, they are incompatible.
type Line = (u64, u64, u64);

impl Seed {
    /// Returns the versions of the reviewed lock file, for a workspace on `release`.
    pub fn new(patches: &Patches, release: &str) -> Result<Self> {
        let text = patches.lock()?.context("there is no Cargo.lock")?;
        Self::of(text.into_owned(), release)
    }

    /// Returns the versions that a package was published with, for a workspace of that package alone.
    pub fn published(package: &Package) -> Result<Self> {
        let text = package.files.get(FILE).cloned();
        let text = text.with_context(|| format!("{}: no {FILE}", package.name))?;
        Self::of(String::from_utf8(text)?, &package.version)
    }

    fn of(text: String, release: &str) -> Result<Self> {
        let reviewed = locked::published(&text)?;
        let keyed = |package: &Locked| Ok((key(package)?, package.clone()));
        Ok(Self {
            release: release.to_owned(),
            text,
            packages: reviewed.iter().map(keyed).collect::<Result<_>>()?,
            reviewed,
        })
    }

    /// Adds packages of the release by their names. One that the reviewed lock file has brings nothing.
    pub fn add_published<'n>(
        &mut self,
        patches: &Patches,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<()> {
        for name in names {
            let release = self.release.clone();
            let same = |package: &Locked| package.name == name && package.version == release;
            if !self.packages.values().any(same) {
                self.add(&registry::package(patches, name, &release)?)?;
            }
        }
        Ok(())
    }

    /// Adds a package of the release, and the versions that it was published with.
    pub fn add(&mut self, package: &Package) -> Result<()> {
        let mut new = vec![Locked {
            name: package.name.clone(),
            version: package.version.clone(),
            source: REGISTRY.to_owned(),
            checksum: package.checksum.clone(),
        }];
        if let Some(lock) = package.files.get(FILE) {
            new.extend(locked::published(str::from_utf8(lock)?)?);
        }
        for new in new {
            let key = key(&new)?;
            match self.packages.get(&key) {
                Some(old) if !self.replaces(&new, old)? => {}
                _ => {
                    self.packages.insert(key, new);
                }
            }
        }
        Ok(())
    }

    /// Tells whether a package takes the place of one that is compatible. The reviewed lock file decides where it has the
    /// release; for another one it may be too old.
    fn replaces(&self, new: &Locked, old: &Locked) -> Result<bool> {
        let of_release =
            |package: &Locked| package.name.starts_with("p3-") && package.version == self.release;
        if of_release(new) != of_release(old) {
            return Ok(of_release(new));
        }
        let decides = self.reviewed.iter().any(of_release) && self.reviewed.contains(old);
        Ok(!decides && Version::parse(&new.version)? > Version::parse(&old.version)?)
    }

    /// Returns the text of the file. Cargo finds out what the added packages depend on.
    fn lock_file(&self) -> Result<String> {
        let mut lock: DocumentMut = self.text.parse().context("cannot parse Cargo.lock")?;
        let packages = lock["package"]
            .or_insert(Item::ArrayOfTables(ArrayOfTables::new()))
            .as_array_of_tables_mut()
            .context("Cargo.lock: `package` is no list")?;
        let stays: BTreeSet<_> = self.packages.values().map(name_and_version).collect();
        packages.retain(|package| {
            let field = |name| package.get(name).and_then(Item::as_str).unwrap_or_default();
            package.get("checksum").is_none() || stays.contains(&(field("name"), field("version")))
        });
        for added in self.packages.values() {
            if self.reviewed.contains(added) {
                continue;
            }
            let mut entry = Table::new();
            entry["name"] = value(&added.name);
            entry["version"] = value(&added.version);
            entry["source"] = value(&added.source);
            entry["checksum"] = value(&added.checksum);
            packages.push(entry);
        }
        Ok(lock.to_string())
    }

    /// Returns the graph of the workspace in `dir`, resolved from here; its packages come from the network only where cargo's
    /// cache lacks them. Writes the workspace's lock file, and fails where that would have a version of no other lock file.
    pub fn resolve(&self, dir: &Path, options: &[&str]) -> Result<Metadata> {
        let lock = dir.join(FILE);
        let seed = self.lock_file()?;
        let known: BTreeSet<_> = self.packages.values().collect();
        // Offline, cargo prefers what is cached to what is locked.
        let graph = resolve(CACHE_FIRST, |offline| {
            write_changed(&lock, seed.as_bytes())?;
            let graph = match metadata(dir, &[options, offline].concat())? {
                Ok(graph) => graph,
                Err(error) => {
                    let what = format!("{}: the dependencies cannot be resolved", shown(dir));
                    return Ok(Err(unresolved_manifest(dir, &what, &error, CONNECT)));
                }
            };
            let resolved = fs::read_to_string(&lock)
                .with_context(|| format!("cannot read {}", shown(&lock)))?;
            let resolved = locked::published(&resolved)?;
            let new = (resolved.iter().filter(|package| !known.contains(package)))
                .map(|package| format!("{} {}", package.name, package.version))
                .collect::<Vec<_>>();
            if new.is_empty() {
                return Ok(Ok(graph));
            }
            let what = format!("{}: no lock file has {}", shown(dir), new.join(", "));
            Ok(Err(Failure::environment(what).hint(
                "the reviewed Cargo.lock has to have them, or one in a package of the release as published",
            )))
        })?;
        Ok(graph?)
    }
}

fn name_and_version(package: &Locked) -> (&str, &str) {
    (&package.name, &package.version)
}

/// Equal for versions of which a caret requirement may take one for the other.
fn key(package: &Locked) -> Result<(String, Line)> {
    let Version {
        major,
        minor,
        patch,
        ..
    } = Version::parse(&package.version)?;
    let line = match (major, minor) {
        (0, 0) => (0, 0, patch),
        (0, _) => (0, minor, 0),
        _ => (major, 0, 0),
    };
    Ok((package.name.clone(), line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, version: &str) -> String {
        format!(
            "[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = \"{REGISTRY}\"\nchecksum = \"{version}\"\n"
        )
    }

    /// Returns the packages of the lock file that results from `own`, for `p3-x` of a release that was published with
    /// `published`.
    fn seeded(release: &str, own: &[(&str, &str)], published: &[(&str, &str)]) -> Vec<String> {
        let text = |packages: &[(&str, &str)]| {
            let entries = packages.iter().map(|(name, version)| entry(name, version));
            format!("version = 4\n\n{}", entries.collect::<String>())
        };
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(FILE), text(own)).unwrap();
        let mut seed = Seed::new(&crate::project::at(dir.path()), release).unwrap();
        let package = Package {
            name: "p3-x".to_owned(),
            version: release.to_owned(),
            folder: "x".to_owned(),
            commit: String::new(),
            checksum: release.to_owned(),
            vendored: None,
            files: BTreeMap::from([(FILE.to_owned(), text(published).into_bytes())]),
        };
        seed.add(&package).unwrap();
        let mut locked = locked::published(&seed.lock_file().unwrap()).unwrap();
        locked.sort();
        let shown = |package: &Locked| format!("{} {}", package.name, package.version);
        locked.iter().map(shown).collect()
    }

    #[test]
    fn the_reviewed_lock_file_decides() {
        let own = [("p3-y", "0.8.0"), ("rand", "0.10.3"), ("serde", "1.0.5")];
        let published = [("rand", "0.10.9"), ("rand", "0.9.5"), ("serde", "1.0.9")];
        assert_eq!(
            seeded("0.8.0", &own, &published),
            [
                "p3-x 0.8.0",
                "p3-y 0.8.0",
                "rand 0.10.3",
                "rand 0.9.5",
                "serde 1.0.5"
            ]
        );
    }

    /// The newer version of two, but of Plonky3's packages the release's.
    #[test]
    fn another_release_needs_what_it_was_published_with() {
        let own = [("p3-y", "0.8.2"), ("rand", "0.9.7"), ("serde", "1.0.5")];
        let published = [("p3-y", "0.8.1"), ("rand", "0.9.5"), ("serde", "1.0.10")];
        assert_eq!(
            seeded("0.8.1", &own, &published),
            ["p3-x 0.8.1", "p3-y 0.8.1", "rand 0.9.7", "serde 1.0.10"]
        );
    }

    #[test]
    fn versions_are_compatible_as_cargo_has_it() {
        let key = |version: &str| {
            key(&Locked {
                name: String::new(),
                version: version.to_owned(),
                source: String::new(),
                checksum: String::new(),
            })
            .unwrap()
        };
        for (one, other, expected) in [
            ("1.2.3", "1.9.0", true),
            ("1.2.3", "2.0.0", false),
            ("0.9.5", "0.9.6", true),
            ("0.9.5", "0.10.0", false),
            ("0.0.1", "0.0.2", false),
        ] {
            assert_eq!(key(one) == key(other), expected, "{one}, {other}");
        }
    }
}
