//! The part of a package's manifest that it may inherit from the root manifest of its git repository: the version, the edition, and
//! what it depends on. The package's own manifest does not show that.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use cargo_metadata::Package;
use cargo_metadata::cargo_platform::Platform;
use serde::Deserialize;

use crate::source::package;
use crate::source::requirement::{self, Requirement};

/// A manifest as the registry has it: nothing in there is inherited.
#[derive(Deserialize)]
struct Published {
    package: Fields,
    #[serde(flatten)]
    everywhere: Tables,
    #[serde(default)]
    target: BTreeMap<Platform, Tables>,
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
    dependencies: BTreeMap<String, requirement::Published>,
    #[serde(default)]
    build_dependencies: BTreeMap<String, requirement::Published>,
}

fn first_edition() -> String {
    "2015".to_owned()
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

/// Returns the first field by which a package of a git repository is not the `published` one, once cargo has resolved what it
/// inherits. It may take other packages of Plonky3's from the same repository, and all others from crates.io.
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
    for dependency in &package.dependencies {
        let Some(requirement) = Requirement::resolved(dependency) else {
            continue;
        };
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
        if !published.remove(&requirement) {
            return Ok(Some(format!("it has another requirement for {name}")));
        }
    }
    let lost = published.first();
    Ok(lost.map(|lost| format!("it has no requirement for {}", lost.package)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const MANIFEST: &str = "\
[package]
name = \"p3-x\"
version = \"0.8.0\"
edition = \"2024\"
[dependencies.p3-y]
version = \"0.8.0\"
[dependencies.short]
version = \"1.2\"
package = \"long\"
features = [\"b\", \"a\"]
default-features = false
optional = true
[target.'cfg(unix)'.build-dependencies.tool]
version = \"1\"
";
    const REPOSITORY: &str = "git+https://git.example/x#0a";
    const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

    fn dependency(name: &str, version: &str, source: &str) -> Value {
        json!({
            "name": name, "req": version, "source": source, "kind": null, "rename": null, "optional": false,
            "uses_default_features": true, "features": [], "target": null, "registry": null, "path": null,
        })
    }

    /// Returns the package of the repository as cargo resolves it: that of [`MANIFEST`].
    fn resolved() -> Value {
        let mut long = dependency("long", "^1.2", CRATES_IO);
        long["rename"] = "short".into();
        long["features"] = json!(["a", "b"]);
        long["uses_default_features"] = false.into();
        long["optional"] = true.into();
        let mut tool = dependency("tool", "^1", CRATES_IO);
        tool["kind"] = "build".into();
        tool["target"] = "cfg(unix)".into();
        let mut test = dependency("test", "^3", "git+https://elsewhere.example/test#0b");
        test["kind"] = "dev".into();
        json!({
            "name": "p3-x", "version": "0.8.0", "edition": "2024", "id": format!("{REPOSITORY}#p3-x@0.8.0"),
            "source": REPOSITORY, "manifest_path": "/x/Cargo.toml", "targets": [], "features": {},
            "dependencies": [dependency("p3-y", "^0.8.0", REPOSITORY), long, tool, test],
        })
    }

    #[test]
    fn each_inherited_field_is_compared() {
        let published = package::Package {
            name: "p3-x".to_owned(),
            version: "0.8.0".to_owned(),
            folder: "x".to_owned(),
            commit: String::new(),
            checksum: String::new(),
            vendored: None,
            files: BTreeMap::from([("Cargo.toml".to_owned(), MANIFEST.into())]),
        };
        let difference = |change: &dyn Fn(&mut Value)| {
            let mut package = resolved();
            change(&mut package);
            difference(&serde_json::from_value(package).unwrap(), &published).unwrap()
        };
        assert_eq!(difference(&|_| {}), None);
        // A package of Plonky3's may come from crates.io too, and the dependencies of tests may differ.
        let dependency = |at: usize, key: &'static str, value: Value| {
            move |package: &mut Value| package["dependencies"][at][key] = value.clone()
        };
        assert_eq!(difference(&dependency(0, "source", CRATES_IO.into())), None);
        assert_eq!(difference(&dependency(3, "req", "^4".into())), None);

        let set = |key: &'static str, value: &'static str| {
            move |package: &mut Value| package[key] = value.into()
        };
        let found = difference(&set("version", "0.8.1")).unwrap();
        assert_eq!(found, "its version is 0.8.1");
        let found = difference(&set("edition", "2021")).unwrap();
        assert_eq!(found, "its edition is 2021");
        for (at, key, value) in [
            (0, "req", json!("^0.8.1")),
            (0, "features", json!(["parallel"])),
            (1, "req", json!("^1.3")),
            (1, "rename", json!("other")),
            (1, "features", json!(["a"])),
            (1, "uses_default_features", json!(true)),
            (1, "optional", json!(false)),
            (2, "kind", json!(null)),
            (2, "target", json!(null)),
            (2, "target", json!("cfg(windows)")),
        ] {
            let name = ["p3-y", "long", "tool"][at];
            let found = difference(&dependency(at, key, value)).unwrap();
            assert_eq!(
                found,
                format!("it has another requirement for {name}"),
                "{key}"
            );
        }
        for source in [
            "git+https://other.example/x#0c",
            "registry+https://other.example/index",
        ] {
            for (at, name) in ["p3-y", "long", "tool"].into_iter().enumerate() {
                let found = difference(&dependency(at, "source", source.into())).unwrap();
                assert_eq!(
                    found,
                    format!("it takes {name} from elsewhere than crates.io")
                );
            }
        }
        let found = difference(&dependency(1, "source", REPOSITORY.into())).unwrap();
        assert_eq!(found, "it takes long from the repository itself");
        let found = difference(&|package| {
            package["dependencies"].as_array_mut().unwrap().remove(2);
        });
        assert_eq!(found.unwrap(), "it has no requirement for tool");
    }
}
