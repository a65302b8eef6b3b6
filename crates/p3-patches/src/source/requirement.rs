//! What packages ask of others, as a manifest, `cargo metadata` and a registry's index write it.

use std::collections::BTreeSet;

use cargo_metadata::cargo_platform::Platform;
use cargo_metadata::semver::{Comparator, Op, VersionReq};
use cargo_metadata::{Dependency, DependencyKind};
use serde::Deserialize;

/// What a package asks of another one for its build.
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

    /// Tells whether a requirement that an index has stands for this one of the manifest: it is the same, but that its version is a
    /// wildcard.
    ///
    /// Old versions of cargo have published `^1.2.*` and its like as `1.2.*`, where today's read `^1.2` in the manifest. The wildcard
    /// allows no version that the manifest does not.
    pub fn is_published_as(&self, indexed: &Self) -> bool {
        let versions = |requirement: &Self| {
            let version = VersionReq::parse(&requirement.version);
            version.map_or_else(|_| Vec::new(), |version| version.comparators)
        };
        let is_wildcard = |(of_index, named): (&Comparator, &Comparator)| {
            let of_same = (of_index.major, of_index.minor, of_index.patch)
                == (named.major, named.minor, named.patch);
            let is_within = [Op::Caret, Op::Tilde, Op::Exact, Op::GreaterEq].contains(&named.op);
            of_index == named
                || of_index.op == Op::Wildcard && of_same && named.patch.is_none() && is_within
        };
        let (of_index, named) = (versions(indexed), versions(self));
        let is_same = Self {
            version: self.version.clone(),
            ..indexed.clone()
        } == *self;
        is_same && of_index.len() == named.len() && of_index.iter().zip(&named).all(is_wildcard)
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
