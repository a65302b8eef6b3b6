//! Requirements of packages for others, as a manifest, `cargo metadata` and a registry's index write them.

use std::collections::BTreeSet;

use cargo_metadata::cargo_platform::Platform;
use cargo_metadata::semver::{Comparator, Op, Version, VersionReq};
use cargo_metadata::{Dependency, DependencyKind};
use serde::Deserialize;

/// A requirement of a package for another one, for its build.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Requirement {
    pub package: String,
    /// The name in the package that asks.
    pub name: String,
    pub optional: bool,
    version: String,
    features: BTreeSet<String>,
    default_features: bool,
    for_build_script: bool,
    target: Option<Platform>,
}

/// An entry of a published manifest, in which nothing is inherited.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Published {
    version: VersionReq,
    package: Option<String>,
    #[serde(default)]
    features: BTreeSet<String>,
    #[serde(default = "yes")]
    default_features: bool,
    #[serde(default)]
    optional: bool,
}

/// A dependency in a registry's index (The Cargo Book, "Registry Index").
#[derive(Deserialize)]
pub struct Indexed {
    /// The name in the package that asks.
    name: String,
    /// The package's name, where it is another one.
    package: Option<String>,
    req: VersionReq,
    #[serde(default)]
    features: Vec<String>,
    #[serde(default)]
    optional: bool,
    #[serde(default = "yes")]
    default_features: bool,
    target: Option<Platform>,
    kind: Option<String>,
    /// The index of the registry that the package is from, where it is another one.
    pub registry: Option<String>,
}

fn yes() -> bool {
    true
}

/// Returns features without the empty names that old indexes have, which cargo leaves out.
fn not_empty(features: &[String]) -> BTreeSet<String> {
    let named = features.iter().filter(|name| !name.is_empty());
    named.cloned().collect()
}

impl Requirement {
    pub fn published(
        name: &str,
        entry: &Published,
        target: Option<&Platform>,
        for_build_script: bool,
    ) -> Self {
        Self {
            package: entry.package.as_deref().unwrap_or(name).to_owned(),
            name: name.to_owned(),
            optional: entry.optional,
            version: entry.version.to_string(),
            features: entry.features.clone(),
            default_features: entry.default_features,
            for_build_script,
            target: target.cloned(),
        }
    }

    /// Returns what cargo has read in a manifest; `None` where tests alone ask for it.
    pub fn resolved(dependency: &Dependency) -> Option<Self> {
        let name = dependency.rename.as_ref().unwrap_or(&dependency.name);
        (dependency.kind != DependencyKind::Development).then(|| Self {
            package: dependency.name.clone(),
            name: name.clone(),
            optional: dependency.optional,
            version: dependency.req.to_string(),
            features: not_empty(&dependency.features),
            default_features: dependency.uses_default_features,
            for_build_script: dependency.kind == DependencyKind::Build,
            target: dependency.target.clone(),
        })
    }

    /// Tells whether a requirement that an index has stands for this one of the manifest: it is the same, but that old versions of cargo
    /// have published its version in other words, as [`is_published_as`] knows them.
    pub fn is_published_as(&self, indexed: &Self) -> bool {
        let is_same = Self {
            version: self.version.clone(),
            ..indexed.clone()
        } == *self;
        let version = |requirement: &Self| VersionReq::parse(&requirement.version);
        is_same
            && version(self).is_ok_and(|named| {
                version(indexed).is_ok_and(|of_index| is_published_as(&named, &of_index))
            })
    }

    /// Returns what cargo reads in an index; `None` where tests alone ask for it.
    pub fn indexed(dependency: &Indexed) -> Option<Self> {
        // Cargo takes each other kind for a normal dependency.
        let kind = dependency.kind.as_deref();
        (kind != Some("dev")).then(|| Self {
            package: dependency.package().to_owned(),
            name: dependency.name.clone(),
            optional: dependency.optional,
            version: dependency.req.to_string(),
            features: not_empty(&dependency.features),
            default_features: dependency.default_features,
            for_build_script: kind == Some("build"),
            target: dependency.target.clone(),
        })
    }
}

impl Indexed {
    /// Returns the name of the package that is asked for.
    pub fn package(&self) -> &str {
        self.package.as_deref().unwrap_or(&self.name)
    }
}

/// Tells whether a version of cargo has published what a manifest requires as this.
///
/// - `^1.2.*` and its like as `1.2.*`, where today's cargo reads `^1.2` in the manifest. The wildcard allows no version that the
///   manifest does not.
/// - `^1.2` as `>=1.2.0, <2.0.0`, and all others by their bounds, in November 2020.
fn is_published_as(named: &VersionReq, of_index: &VersionReq) -> bool {
    let is_wildcard = |(of_index, named): (&Comparator, &Comparator)| {
        let of_same = (of_index.major, of_index.minor, of_index.patch)
            == (named.major, named.minor, named.patch);
        let is_within = [Op::Caret, Op::Tilde, Op::Exact, Op::GreaterEq].contains(&named.op);
        of_index == named
            || of_index.op == Op::Wildcard && of_same && named.patch.is_none() && is_within
    };
    let (first, second) = (&of_index.comparators, &named.comparators);
    let are_wildcards = first.len() == second.len() && first.iter().zip(second).all(is_wildcard);
    are_wildcards || bounds(named).is_some_and(|bounds_of| bounds(of_index) == Some(bounds_of))
}

/// Returns the least version that a requirement allows, and the least one above it that it does not; `None` for a requirement with a
/// pre-release but in its least version, of which bounds do not say all.
fn bounds(requirement: &VersionReq) -> Option<(Version, Option<Version>)> {
    let mut least = Version::new(0, 0, 0);
    let mut end: Option<Version> = None;
    for comparator in &requirement.comparators {
        let &Comparator {
            op,
            major,
            minor,
            patch,
            ref pre,
        } = comparator;
        let (first, second) = (minor.unwrap_or(0), patch.unwrap_or(0));
        let mut from = Version::new(major, first, second);
        from.pre = pre.clone();
        // The next version in the last of the parts that are given.
        let next = match (minor, patch) {
            (None, _) => Version::new(major.checked_add(1)?, 0, 0),
            (_, None) => Version::new(major, first.checked_add(1)?, 0),
            _ => Version::new(major, first, second.checked_add(1)?),
        };
        let next_minor = || Some(Version::new(major, first.checked_add(1)?, 0));
        let (from, to) = match op {
            Op::Exact | Op::Wildcard => (from, Some(next)),
            Op::Greater => (next, None),
            Op::GreaterEq => (from, None),
            Op::Less => (Version::new(0, 0, 0), Some(from)),
            Op::LessEq => (Version::new(0, 0, 0), Some(next)),
            Op::Tilde if patch.is_some() => (from, Some(next_minor()?)),
            Op::Tilde => (from, Some(next)),
            // The first part that is not zero stays.
            Op::Caret if major > 0 || minor.is_none() => {
                (from, Some(Version::new(major.checked_add(1)?, 0, 0)))
            }
            Op::Caret if first > 0 || patch.is_none() => (from, Some(next_minor()?)),
            Op::Caret => (from, Some(next)),
            _ => return None,
        };
        if !pre.is_empty() && ![Op::GreaterEq, Op::Tilde, Op::Caret].contains(&op) {
            return None;
        }
        least = least.max(from);
        end = match (end, to) {
            (Some(end), Some(to)) => Some(end.min(to)),
            (end, to) => end.or(to),
        };
    }
    Some((least, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs of a manifest's requirement and an index's.
    #[test]
    fn bounds_stand_for_a_requirement() {
        let is_published_as = |named: &str, of_index: &str| {
            let parse = |text: &str| VersionReq::parse(text).unwrap();
            is_published_as(&parse(named), &parse(of_index))
        };
        for (named, of_index) in [
            ("^0.13", ">=0.13.0, <0.14.0"),
            ("^1", ">=1.0.0, <2.0.0"),
            ("^1.2.3", ">=1.2.3, <2.0.0"),
            ("^0", ">=0.0.0, <1.0.0"),
            ("^0.0", ">=0.0.0, <0.1.0"),
            ("^0.0.3", ">=0.0.3, <0.0.4"),
            ("~0.5.1", ">=0.5.1, <0.6.0"),
            ("~1", ">=1.0.0, <2.0.0"),
            (">=0.10, <0.12", ">=0.10.0, <0.12.0"),
            ("=1.2.3", ">=1.2.3, <1.2.4"),
            (">1.2", ">=1.3.0"),
            ("<=1.2", "<1.3.0"),
            ("*", ">=0.0.0"),
            ("^1.0.0-rc.1", ">=1.0.0-rc.1, <2.0.0"),
        ] {
            assert!(is_published_as(named, of_index), "{named} as {of_index}");
            // The bounds are the versions that both allow.
            let [named, of_index] = [named, of_index].map(|text| VersionReq::parse(text).unwrap());
            for version in versions() {
                assert_eq!(
                    named.matches(&version),
                    of_index.matches(&version),
                    "{named}: {version}"
                );
            }
        }
        for (named, of_index) in [
            ("^0.13", ">=0.13.0, <0.15.0"),
            ("^0.13", ">=0.13.0"),
            ("^0.13", ">=0.13.1, <0.14.0"),
            ("^1", "<2.0.0"),
            ("*", "<1.0.0"),
            ("=1.0.0-rc.1", ">=1.0.0-rc.1, <1.0.1"),
            ("^1.0.0-rc.1", ">=1.0.0, <2.0.0"),
        ] {
            assert!(!is_published_as(named, of_index), "{named} as {of_index}");
        }
    }

    /// All versions of small numbers, and pre-releases of them.
    fn versions() -> Vec<Version> {
        let numbers = [0, 1, 2, 3, 4, 5, 6, 10, 11, 12, 13, 14];
        let mut versions = Vec::new();
        for major in [0, 1, 2] {
            for minor in numbers {
                for patch in [0, 1, 2, 3, 4, 5] {
                    versions.push(Version::new(major, minor, patch));
                    let mut preview = Version::new(major, minor, patch);
                    preview.pre = "rc.1".parse().unwrap();
                    versions.push(preview);
                }
            }
        }
        versions
    }
}
