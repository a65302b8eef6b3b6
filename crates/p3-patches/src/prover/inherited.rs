//! The part of a package's manifest that it may inherit from the root manifest of its git repository: the version, the edition, and
//! what it depends on. The package's own manifest does not show that.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use cargo_metadata::semver::VersionReq;
use cargo_metadata::{Dependency, DependencyKind, Package};
use serde::Deserialize;

use crate::registry::package;

/// A manifest as the registry has it: nothing in there is inherited.
#[derive(Deserialize)]
struct Published {
    package: Fields,
    #[serde(flatten)]
    everywhere: Tables,
    #[serde(default)]
    target: BTreeMap<String, Tables>,
}

#[derive(Deserialize)]
struct Fields {
    version: String,
    #[serde(default = "first_edition")]
    edition: String,
}

/// The dependencies that a build reads. Tests have more.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Tables {
    #[serde(default)]
    dependencies: BTreeMap<String, Entry>,
    #[serde(default)]
    build_dependencies: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Entry {
    version: VersionReq,
    package: Option<String>,
    #[serde(default)]
    features: BTreeSet<String>,
    #[serde(default = "yes")]
    default_features: bool,
    #[serde(default)]
    optional: bool,
}

fn first_edition() -> String {
    "2015".to_owned()
}

fn yes() -> bool {
    true
}

/// A requirement for a package, in the words of either manifest.
#[derive(Eq, Ord, PartialEq, PartialOrd)]
struct Requirement {
    package: String,
    /// The name in the code.
    name: String,
    version: String,
    features: BTreeSet<String>,
    default_features: bool,
    optional: bool,
    for_build_script: bool,
    target: Option<String>,
}

impl Requirement {
    fn published(
        name: &str,
        entry: &Entry,
        target: Option<&String>,
        for_build_script: bool,
    ) -> Self {
        Self {
            package: entry.package.as_deref().unwrap_or(name).to_owned(),
            name: name.to_owned(),
            version: entry.version.to_string(),
            features: entry.features.clone(),
            default_features: entry.default_features,
            optional: entry.optional,
            for_build_script,
            target: target.cloned(),
        }
    }

    fn resolved(dependency: &Dependency) -> Self {
        Self {
            package: dependency.name.clone(),
            name: dependency
                .rename
                .as_ref()
                .unwrap_or(&dependency.name)
                .clone(),
            version: dependency.req.to_string(),
            features: dependency.features.iter().cloned().collect(),
            default_features: dependency.uses_default_features,
            optional: dependency.optional,
            for_build_script: dependency.kind == DependencyKind::Build,
            target: dependency.target.as_ref().map(ToString::to_string),
        }
    }
}

impl Published {
    fn requirements(&self) -> BTreeSet<Requirement> {
        let targets = self.target.iter();
        let tables = targets.map(|(target, tables)| (Some(target), tables));
        let mut found = BTreeSet::new();
        for (target, tables) in tables.chain([(None, &self.everywhere)]) {
            for (entries, for_build_script) in [
                (&tables.dependencies, false),
                (&tables.build_dependencies, true),
            ] {
                found.extend(entries.iter().map(|(name, entry)| {
                    Requirement::published(name, entry, target, for_build_script)
                }));
            }
        }
        found
    }
}

/// The first field by which a package of a git repository is not the `published` one, once cargo has resolved what it inherits. It
/// may take other packages of Plonky3's from the same repository, and all others from crates.io.
pub(super) fn difference(
    package: &Package,
    published: &package::Package,
) -> Result<Option<String>> {
    let manifest = published
        .files
        .get("Cargo.toml")
        .context("no Cargo.toml in the tarball")?;
    let manifest: Published = toml::from_slice(manifest)
        .with_context(|| format!("{}: cannot parse Cargo.toml", published.name))?;
    let Fields { version, edition } = &manifest.package;
    for (field, published, found) in [
        ("version", version, package.version.to_string()),
        ("edition", edition, package.edition.to_string()),
    ] {
        if found != *published {
            return Ok(Some(format!("its {field} is {found}")));
        }
    }
    let mut published = manifest.requirements();
    let is_built = |dependency: &&Dependency| dependency.kind != DependencyKind::Development;
    for dependency in package.dependencies.iter().filter(is_built) {
        let name = &dependency.name;
        let is_sibling = name.starts_with("p3-") && dependency.source == package.source;
        let is_crates_io = |source: &cargo_metadata::Source| source.is_crates_io();
        if !is_sibling && !dependency.source.as_ref().is_some_and(is_crates_io) {
            let source = match dependency.source == package.source {
                true => "the repository itself",
                false => "elsewhere than crates.io",
            };
            return Ok(Some(format!("it takes {name} from {source}")));
        }
        if !published.remove(&Requirement::resolved(dependency)) {
            return Ok(Some(format!("it has another requirement for {name}")));
        }
    }
    let lost = published.first();
    Ok(lost.map(|lost| format!("it has no requirement for {}", lost.package)))
}
