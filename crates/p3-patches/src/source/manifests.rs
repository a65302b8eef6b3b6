//! Registries' indexes compared with the manifests of packages.
//!
//! Cargo takes the dependencies and features of a registry's package from the registry's index, which no checksum covers, and the
//! manifest from the tarball, which has one.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Display;
use std::fs;
use std::path::Path;

use anyhow::Result;
use cargo_metadata::{Metadata, Package, Source};

use crate::source::cache;
use crate::source::index::{self, Features, Release, releases_of};
use crate::source::requirement::Requirement;
use crate::source::resolve::{local_registries, out_of_a_changed_package};
use paired::address::without_credentials;
use paired::cargo::home;
use paired::error::Failure;
use paired::terminal::shown;

/// Refuses a graph with a package of a registry of which the index does not say what the package's own manifest does.
///
/// A directory source has no index: cargo reads the manifests there.
pub fn assert_of_manifests(dir: &Path, metadata: &Metadata) -> Result<()> {
    let sources = home()?.join("registry/src");
    let resolved = fs::canonicalize(&sources).ok();
    // Cargo writes a file of its copy in place.
    let _locked = cache::locked()?;
    let mut local = None;
    for package in &metadata.packages {
        let Some(registry) = registry_of(&sources, resolved.as_deref(), package) else {
            continue;
        };
        let Package { name, version, .. } = package;
        let unread = |error: &dyn Display| {
            let what = format!(
                "{}: {name} {version}: cannot compare its manifest with the registry's index: {error}",
                shown(dir)
            );
            Failure::environment(what)
                .hint("`cargo fetch` in that folder writes cargo's copy of the index, where the cargo home can be written")
        };
        let entries =
            |index: &Path| releases_of(index, name, version).map_err(|error| unread(&error));
        let mut found = entries(&index::copy(registry)?)?;
        if found.is_empty() {
            // Cargo reads the index of a local registry in its place.
            if local.is_none() {
                local = Some(local_registries(dir)?);
            }
            for place in local.iter().flatten() {
                found.extend(entries(&place.join("index"))?);
            }
        }
        if found.is_empty() {
            return Err(unread(&"cargo's copy has no entry that can be read").into());
        }
        if let Some(what) = found.iter().find_map(|entry| difference(package, entry)) {
            let message = format!("{}: {name} {version} would be built {what}", shown(dir));
            let hint = match &package.source {
                Some(source) if !source.is_crates_io() => {
                    let source = without_credentials(&source.repr);
                    format!(
                        "the index of {source} says so, and its keeper can write it again from the packages"
                    )
                }
                _ => out_of_a_changed_package(dir),
            };
            return Err(Failure::input(message).hint(hint).into());
        }
    }
    Ok(())
}

/// Returns the name of the folder that cargo's home has for the registry from which it took a package's sources. The folder of all
/// registries' `sources` is `resolved` without its links.
fn registry_of<'a>(
    sources: &Path,
    resolved: Option<&Path>,
    package: &'a Package,
) -> Option<&'a OsStr> {
    let folder = package.manifest_path.as_std_path().parent()?.parent()?;
    let home = folder.parent()?;
    let is_there = home == sources || fs::canonicalize(home).ok()? == resolved?;
    is_there.then(|| folder.file_name()).flatten()
}

/// Says in a phrase by what an index's entry of a package is not its manifest.
fn difference(package: &Package, entry: &Release) -> Option<String> {
    let is_of_crates_io = package.source.as_ref().is_some_and(Source::is_crates_io);
    // A package of crates.io uses packages of crates.io alone. Another registry may hand on packages that name a third one.
    let elsewhere =
        |named: &str| is_of_crates_io && !CRATES_IO.contains(&named.trim_end_matches('/'));
    let foreign = (entry.dependencies.iter())
        .find(|dependency| dependency.registry.as_deref().is_some_and(elsewhere));
    if let Some(foreign) = foreign {
        let package = foreign.package();
        return Some(format!(
            "with {package} of another registry, which its manifest does not name"
        ));
    }
    let mut asked: BTreeSet<_> = (package.dependencies.iter())
        .filter_map(Requirement::resolved)
        .collect();
    let mut indexed: BTreeSet<_> = (entry.dependencies.iter())
        .filter_map(Requirement::indexed)
        .collect();
    // The differences are what is left of both.
    indexed.retain(|indexed| !asked.remove(indexed));
    indexed.retain(|indexed| {
        let published = asked.iter().find(|asked| asked.is_published_as(indexed));
        let published = published.cloned();
        !published.is_some_and(|published| asked.remove(&published))
    });
    if let Some(Requirement { package: other, .. }) = indexed.first() {
        let mut named = package
            .dependencies
            .iter()
            .filter_map(Requirement::resolved);
        return Some(match named.any(|named| named.package == *other) {
            false => format!("with {other}, which its manifest does not name"),
            true => format!("with {other} in another way than its manifest names it"),
        });
    }
    if let Some(Requirement { package: other, .. }) = asked.first() {
        return Some(format!("without {other}, as its manifest names it"));
    }
    let named = package.features.iter();
    let named: Features = named
        .map(|(name, enabled)| (name.clone(), enabled.iter().cloned().collect()))
        .collect();
    let indexed = entry.features();
    let mut names = named.keys().chain(indexed.keys());
    let feature = names.find(|name| named.get(*name) != indexed.get(*name))?;
    Some(match (named.get(feature), indexed.get(feature)) {
        (None, _) => format!("with the feature {feature:?}, which its manifest does not name"),
        (_, None) => format!("without the feature {feature:?}, which its manifest names"),
        _ => format!("with another feature {feature:?} than its manifest has"),
    })
}

/// The addresses of crates.io's index.
const CRATES_IO: [&str; 2] = [
    "https://github.com/rust-lang/crates.io-index",
    "sparse+https://index.crates.io",
];

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Reads the difference between a package of a registry and its entry, of which each part is merged into the honest one.
    fn compare(of_package: &Value, of_entry: &Value, source: &str) -> Option<String> {
        let merged = |mut all: Value, more: &Value| {
            let fields = all.as_object_mut().unwrap();
            fields.extend(more.as_object().unwrap().clone());
            all
        };
        let package = json!({
            "name": "a", "version": "1.0.0", "id": "a", "source": source, "targets": [],
            "manifest_path": "/x/Cargo.toml", "edition": "2024", "metadata": null,
            "features": {"default": ["std"], "std": [], "on": ["b/std", "c?/std"], "c": ["dep:c"]},
            "dependencies": [named("b", &json!({})), named("c", &json!({"optional": true}))],
        });
        let entry = json!({
            "name": "a", "vers": "1.0.0", "cksum": "0a", "yanked": false,
            "features": {"default": ["std"], "std": []}, "features2": {"on": ["c?/std", "b/std"]},
            "deps": [indexed("c", &json!({"optional": true})), indexed("b", &json!({}))],
        });
        let package = serde_json::from_value(merged(package, of_package)).unwrap();
        let entry = serde_json::from_value(merged(entry, of_entry)).unwrap();
        difference(&package, &entry)
    }

    const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

    /// Returns a dependency as `cargo metadata` writes it.
    fn named(name: &str, more: &Value) -> Value {
        let mut dependency = json!({
            "name": name, "req": "^1", "kind": null, "rename": null, "optional": false, "source": CRATES_IO,
            "uses_default_features": true, "features": [], "target": null,
        });
        let fields = dependency.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        dependency
    }

    /// Returns a dependency as an index writes it.
    fn indexed(name: &str, more: &Value) -> Value {
        let mut dependency = json!({
            "name": name, "req": "^1", "kind": "normal", "optional": false, "default_features": true,
            "features": [], "target": null,
        });
        let fields = dependency.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        dependency
    }

    #[test]
    fn an_index_says_what_the_manifest_does() {
        let honest = json!({});
        assert_eq!(compare(&honest, &honest, CRATES_IO), None);
        let c = indexed("c", &json!({"optional": true}));
        let deps = |b: &Value| json!({"deps": [c, b]});
        let entry = |of_entry: &Value| compare(&honest, of_entry, CRATES_IO).unwrap_or_default();
        let another = "with b in another way than its manifest names it";
        for more in [
            json!({"req": "^1.1"}),
            json!({"kind": "build"}),
            json!({"optional": true}),
            json!({"default_features": false}),
            json!({"features": ["std"]}),
            json!({"target": "cfg(unix)"}),
            json!({"target": "x86_64-unknown-linux-gnu"}),
            json!({"name": "d", "package": "b"}),
        ] {
            assert_eq!(entry(&deps(&indexed("b", &more))), another, "{more}");
        }
        let without = "without b, as its manifest names it";
        assert_eq!(entry(&json!({"deps": [c]})), without);
        assert_eq!(
            entry(&deps(&indexed("b", &json!({"kind": "dev"})))),
            without
        );
        let other = indexed("b", &json!({"package": "evil"}));
        let with = "with evil, which its manifest does not name";
        assert_eq!(entry(&deps(&other)), with);
        // Both of a name.
        let both =
            json!({"deps": [c, indexed("b", &honest), indexed("b", &json!({"kind": "build"}))]});
        assert_eq!(entry(&both), another);
        for (features, said) in [
            (
                json!({"default": [], "std": []}),
                "with another feature \"default\" than its manifest has",
            ),
            (
                json!({"default": ["std"]}),
                "without the feature \"std\", which its manifest names",
            ),
            (
                json!({"default": ["std"], "std": [], "new": []}),
                "with the feature \"new\", which its manifest does not name",
            ),
        ] {
            assert_eq!(entry(&json!({"features": features})), said);
        }
        let strong = json!({"features2": {"on": ["c/std", "b/std"]}});
        assert_eq!(
            entry(&strong),
            "with another feature \"on\" than its manifest has"
        );
    }

    /// A wildcard is no caret of the same numbers for cargo of today, which reads one for the other in the manifest.
    #[test]
    fn a_wildcard_of_old_is_honest() {
        let compared = |named_as: &str, of_index: &str| {
            let package = json!({
                "features": {}, "dependencies": [named("b", &json!({"req": named_as}))],
            });
            let entry = json!({
                "features": {}, "features2": null, "deps": [indexed("b", &json!({"req": of_index}))],
            });
            compare(&package, &entry, CRATES_IO).is_none()
        };
        for (named, of_index) in [
            ("^0", "0.*"),
            ("^0.3", "0.3.*"),
            ("^1.2", "1.2.*"),
            (">=1.2", "1.2.*"),
            ("~1.2, <1.2.9", "1.2.*, <1.2.9"),
            ("=1", "1.*"),
            ("0.*", "0.*"),
            ("*", "*"),
        ] {
            assert!(compared(named, of_index), "{named} as {of_index}");
        }
        for (named, of_index) in [
            ("1.2.*", "^1.2"),
            ("^1.2", "1.*"),
            ("^1", "1.2.*"),
            (">1.2", "1.2.*"),
            ("<1.2", "1.2.*"),
            ("^1.2.3", "1.2.*"),
            ("^1.2", "*"),
            ("^1.2", "^1.3"),
            ("^1.2", ">=1.2"),
        ] {
            assert!(!compared(named, of_index), "{named} as {of_index}");
        }
    }

    /// Indexes have what cargo leaves out, in forms that older versions of cargo wrote.
    #[test]
    fn an_index_of_old_is_honest() {
        let package = json!({
            "dependencies": [
                named("b", &json!({"rename": "d", "target": "cfg(any(unix, windows))", "features": ["std", "x"]})),
                named("t", &json!({"kind": "dev"})),
            ],
            "features": {},
        });
        let more = json!({
            "package": "b", "kind": "of no kind", "target": "cfg( any(unix,windows) )", "features": ["x", "", "std"],
        });
        let entry = json!({"deps": [indexed("d", &more)], "features": {}, "features2": null});
        assert_eq!(compare(&package, &entry, CRATES_IO), None);
        // A feature of the name of an optional dependency stands for it, unless one enables it by its name.
        let optional = |all: &[&str]| {
            let c = named("c", &json!({"optional": true}));
            let features = json!({"all": all});
            let entry = json!({"deps": [indexed("c", &json!({"optional": true}))], "features": features, "features2": null});
            compare(
                &json!({"dependencies": [c], "features": features}),
                &entry,
                CRATES_IO,
            )
        };
        assert_eq!(optional(&["dep:c"]), None);
        let without = "with the feature \"c\", which its manifest does not name";
        assert_eq!(optional(&["c"]).as_deref(), Some(without));
    }

    /// A package of crates.io uses none of another registry.
    #[test]
    fn crates_io_depends_on_nothing_else() {
        let from = |registry: &str, source: &str| {
            let b = indexed("b", &json!({"registry": registry}));
            let deps = json!({"deps": [b, indexed("c", &json!({"optional": true}))]});
            compare(&json!({}), &deps, source)
        };
        let other = "https://other.invalid/index";
        for own in [
            "https://github.com/rust-lang/crates.io-index",
            "sparse+https://index.crates.io/",
        ] {
            assert_eq!(from(own, CRATES_IO), None);
        }
        let said = "with b of another registry, which its manifest does not name";
        assert_eq!(from(other, CRATES_IO).as_deref(), Some(said));
        assert_eq!(from(other, "registry+https://third.invalid/index"), None);
    }
}
