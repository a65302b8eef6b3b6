//! Graphs compared with the manifests of their packages.
//!
//! Cargo takes the dependencies and features of a registry's package from the registry's index, which no checksum covers, and the
//! manifest from the tarball, which has one.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::ptr;

use cargo_metadata::{
    DepKindInfo, Dependency, DependencyKind, Metadata, Node, NodeDep, Package, Source,
};
use toml::{Table, Value};

use crate::source::locked::uses;
use crate::source::resolve::out_of_a_changed_package;
use paired::cargo::configuration;
use paired::error::Failure;
use paired::files::plain;
use paired::terminal::shown;

/// Refuses a graph in which a package of a registry does not use what its own manifest names for that use, or has other features than the
/// manifests ask for. Where a graph is not `whole`, what other platforms need is missing in it.
pub fn assert_of_manifests(dir: &Path, metadata: &Metadata, whole: bool) -> Result<(), Failure> {
    let packages: BTreeMap<_, _> = (metadata.packages.iter())
        .map(|package| (&package.id, package))
        .collect();
    let nodes = (metadata.resolve.iter()).flat_map(|graph| &graph.nodes);
    let nodes: Vec<(&Node, &Package)> = nodes
        .filter_map(|node| Some((node, *packages.get(&node.id)?)))
        .collect();
    // The root manifest and the configuration are read where a registry is another one.
    let elsewhere = LazyCell::new(|| patched_elsewhere(dir, metadata));
    let is_of_registry = |package: &Package, used: &Package| {
        // A package of crates.io depends on packages of crates.io alone.
        let is_of_same =
            !is_of_crates_io(package) || !is_of_registry(used) || is_of_crates_io(used);
        is_of_same || elsewhere.contains(used.name.as_str())
    };

    // The graph lacks a package that has no library, and the lock file has it.
    let locked = LazyCell::new(|| {
        let lock = metadata.workspace_root.as_std_path().join("Cargo.lock");
        uses(&plain::read_to_string(&lock).unwrap_or_default())
    });

    let mut asked: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    for (node, package) in &nodes {
        let is_compared = package.source.is_some();
        let activated = activated(node, package);
        let is_asked = |named: &Dependency| activated.get(name_in_manifest(named));
        let mut missing: Vec<&Dependency> = (package.dependencies.iter())
            .filter(|named| is_compared && whole && named.kind != DependencyKind::Development)
            .filter(|named| !named.optional || is_asked(named) == Some(&true))
            .collect();
        for edge in &node.deps {
            let Some(used) = packages.get(&edge.pkg) else {
                continue;
            };
            let mut unnamed: Vec<_> = edge.dep_kinds.iter().collect();
            for named in &package.dependencies {
                let is_of = |of: &DepKindInfo| of.kind == named.kind && of.target == named.target;
                let is_used = edge.dep_kinds.iter().any(is_of)
                    && is_named(named, edge, used)
                    // Cargo's lock file has an optional one of which a feature alone is asked for, too.
                    && (!named.optional || is_asked(named).is_some())
                    && is_of_registry(package, used);
                if is_used {
                    unnamed.retain(|of| !is_of(of));
                    missing.retain(|missing| !ptr::eq(*missing, named));
                    let of_used = asked.entry(&used.id).or_default();
                    of_used.extend(named.features.iter().cloned());
                    of_used.extend(named.uses_default_features.then(|| "default".to_owned()));
                    of_used.extend(asked_by_features(node, package, named));
                }
            }
            if let Some(of) = unnamed.first()
                && is_compared
            {
                let what = match of.kind {
                    DependencyKind::Normal => format!("with {} {}", used.name, used.version),
                    kind => format!("with {} {} as a {kind}-dependency", used.name, used.version),
                };
                let what = format!("{what}, which its manifest does not name");
                return Err(foreign(dir, package, &what));
            }
        }
        let is_without_library = |missing: &Dependency| {
            let mut used = node.deps.iter().filter_map(|edge| packages.get(&edge.pkg));
            let key = (
                package.name.to_string(),
                package.version.to_string(),
                missing.name.clone(),
            );
            used.all(|used| *used.name != missing.name) && locked.contains(&key)
        };
        if let Some(missing) = missing.iter().find(|missing| !is_without_library(missing)) {
            let what = format!("without {}, which its manifest names", missing.name);
            return Err(foreign(dir, package, &what));
        }
    }
    for (node, package) in nodes {
        if package.source.is_none() || !whole {
            continue;
        }
        let asked = asked.remove(&package.id).unwrap_or_default();
        let asked = with_what_they_enable(package, asked);
        let on: BTreeSet<_> = node.features.iter().map(|on| (**on).to_owned()).collect();
        if let Some(feature) = on.difference(&asked).next() {
            let what = match package.features.contains_key(feature) {
                true => "which no manifest asks for",
                false => "which its manifest does not name",
            };
            let what = format!("with the feature {feature:?}, {what}");
            return Err(foreign(dir, package, &what));
        }
        if let Some(feature) = asked.difference(&on).next() {
            let what = format!("without the feature {feature:?}, which a manifest asks for");
            return Err(foreign(dir, package, &what));
        }
    }
    Ok(())
}

fn foreign(dir: &Path, package: &Package, what: &str) -> Failure {
    let Package { name, version, .. } = package;
    let message = format!("{}: {name} {version} would be built {what}", shown(dir));
    Failure::input(message).hint(out_of_a_changed_package(dir))
}

/// Returns the names of the packages that a `[patch]` takes from another registry: one in the root manifest, or in cargo's configuration.
fn patched_elsewhere(dir: &Path, metadata: &Metadata) -> BTreeSet<String> {
    let root = metadata.workspace_root.as_std_path().join("Cargo.toml");
    let manifest = plain::read_to_string(&root).unwrap_or_default();
    let manifest: Table = manifest.parse().unwrap_or_default();
    let configured = configuration(dir, "patch", &[]).unwrap_or_default();
    let configured: Option<Table> = serde_json::from_value(configured).unwrap_or_default();
    let patches = manifest.get("patch").and_then(Value::as_table);
    let sources = patches
        .into_iter()
        .chain(&configured)
        .flat_map(Table::values);
    let sources = sources.filter_map(Value::as_table);
    let is_elsewhere = |patched: &Value| {
        ["registry", "registry-index"]
            .iter()
            .any(|key| patched.get(key).is_some())
    };
    let patched = sources
        .flatten()
        .filter(|(_, patched)| is_elsewhere(patched));
    let name = |(key, patched): (&String, &Value)| {
        let package = patched.get("package").and_then(Value::as_str);
        package.unwrap_or(key).to_owned()
    };
    patched.map(name).collect()
}

fn is_of_crates_io(package: &Package) -> bool {
    package.source.as_ref().is_some_and(Source::is_crates_io)
}

fn is_of_registry(package: &Package) -> bool {
    let source = package.source.as_ref();
    source.is_some_and(|source| !source.repr.starts_with("git+"))
}

/// Tells whether a dependency in a manifest is what `used` stands for: by its name, its name in the code and its version.
fn is_named(named: &Dependency, edge: &NodeDep, used: &Package) -> bool {
    let in_code = |name: &str| name.replace('-', "_");
    let library = (used.targets.iter()).find(|target| target.is_lib() || target.is_proc_macro());
    let name = (named.rename.as_deref()).or(library.map(|library| &*library.name));
    let is_in_code = name.is_none_or(|name| in_code(name) == edge.name);
    let is_version = named.req.comparators.is_empty() || named.req.matches(&used.version);
    named.name == *used.name && is_version && is_in_code
}

/// Returns each `NAME/FEATURE` and `NAME?/FEATURE` of a dependency that the features of its package ask for.
fn asked_by_features<'a>(
    node: &'a Node,
    package: &'a Package,
    named: &'a Dependency,
) -> impl Iterator<Item = String> + 'a {
    enabled(node, package).filter_map(|value| {
        let (dependency, feature) = value.split_once('/')?;
        let is_of = dependency.trim_end_matches('?') == name_in_manifest(named);
        is_of.then(|| feature.to_owned())
    })
}

/// Returns the dependencies that the features of a package ask for, by their names in the manifest: `true` where one asks for the
/// dependency itself, `false` where all ask for a feature of it should another one ask for the dependency.
fn activated<'a>(node: &'a Node, package: &'a Package) -> BTreeMap<&'a str, bool> {
    let mut activated = BTreeMap::new();
    for value in enabled(node, package) {
        let dependency = match value.split_once('/') {
            Some((dependency, _)) => Some(dependency),
            None => value.strip_prefix("dep:"),
        };
        let Some(dependency) = dependency else {
            continue;
        };
        let weak = dependency.strip_suffix('?');
        *activated.entry(weak.unwrap_or(dependency)).or_default() |= weak.is_none();
    }
    activated
}

/// Returns what the features of a package that are on enable by themselves.
fn enabled<'a>(node: &'a Node, package: &'a Package) -> impl Iterator<Item = &'a String> {
    let features = (node.features.iter()).filter_map(|name| package.features.get(&***name));
    features.flatten()
}

fn name_in_manifest(named: &Dependency) -> &str {
    named.rename.as_deref().unwrap_or(&named.name)
}

/// Returns those of a package's features that are asked for, and those that these enable.
fn with_what_they_enable(package: &Package, features: BTreeSet<String>) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let mut left: Vec<_> = features.into_iter().collect();
    while let Some(feature) = left.pop() {
        let Some(values) = package.features.get(&feature) else {
            continue;
        };
        // `NAME/FEATURE` enables the feature NAME where that is an optional dependency's name.
        let is_optional = |name: &str| {
            let mut named = package.dependencies.iter();
            named.any(|named| named.optional && name_in_manifest(named) == name)
        };
        let enables = values
            .iter()
            .filter_map(|value| match value.split_once('/') {
                Some((dependency, _)) => is_optional(dependency).then_some(dependency),
                None => Some(&**value),
            });
        let enables: Vec<_> = enables.map(str::to_owned).collect();
        if all.insert(feature) {
            left.extend(enables);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::slice;

    use serde_json::{Value, json};

    use super::*;

    const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

    /// A lock file in which `a` uses `b`.
    const LOCK: &str =
        "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\ndependencies = [\"b 1.0.0\"]\n";

    fn dependency(name: &str, more: &Value) -> Value {
        let mut dependency = json!({
            "name": name, "req": "^1", "kind": null, "rename": null, "optional": false,
            "uses_default_features": true, "features": [], "target": null, "source": CRATES_IO,
        });
        let fields = dependency.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        dependency
    }

    fn package(
        name: &str,
        source: Option<&str>,
        dependencies: &[Value],
        features: &Value,
    ) -> Value {
        json!({
            "name": name, "version": "1.0.0", "id": name, "source": source,
            "dependencies": dependencies, "features": features, "manifest_path": "/x/Cargo.toml",
            "targets": [{
                "name": name, "kind": ["lib"], "crate_types": ["lib"], "src_path": "/x/lib.rs",
                "edition": "2024", "doc": true, "doctest": true, "test": true,
            }],
            "license": null, "license_file": null, "description": null, "categories": [],
            "keywords": [], "readme": null, "repository": null, "homepage": null,
            "documentation": null, "edition": "2024", "metadata": null, "links": null,
            "publish": null, "authors": [], "default_run": null, "rust_version": null,
        })
    }

    fn node(name: &str, uses: &[(&str, Value)], features: &[&str]) -> Value {
        let uses = uses
            .iter()
            .map(|(used, kinds)| json!({"name": used, "pkg": used, "dep_kinds": kinds}));
        let uses: Vec<_> = uses.collect();
        json!({"id": name, "dependencies": [], "deps": uses, "features": features})
    }

    /// The way in which a package uses another one.
    fn normal() -> Value {
        json!([{"kind": null, "target": null}])
    }

    fn check(packages: &[Value], nodes: &[Value]) -> Result<(), String> {
        check_in(Path::new("/nonexistent"), packages, nodes)
    }

    fn check_in(root: &Path, packages: &[Value], nodes: &[Value]) -> Result<(), String> {
        let metadata = json!({
            "packages": packages, "workspace_members": ["own"], "workspace_default_members": ["own"],
            "resolve": {"nodes": nodes, "root": null}, "target_directory": "/x/target",
            "workspace_root": root, "version": 1, "metadata": null,
        });
        let metadata: Metadata = serde_json::from_value(metadata).unwrap();
        let checked = assert_of_manifests(Path::new("/"), &metadata, true);
        checked.map_err(|failure| failure.message)
    }

    /// The workspace's package uses `a` with its feature `on`, and `a` uses `b` by each of these dependencies.
    fn a_and_b(
        dependencies: &[Value],
        used: &[(&str, Value)],
        of_b: &[&str],
    ) -> Result<(), String> {
        let of_own = dependency("a", &json!({"features": ["on"]}));
        let features = json!({
            "default": ["std"], "std": [], "on": ["b?/weak"], "off": ["b/strong"], "b": ["dep:b"],
        });
        let of_b_features = json!({"default": ["d"], "d": [], "dev": [], "weak": [], "strong": []});
        let root = tempfile::tempdir().unwrap();
        if !used.is_empty() {
            std::fs::write(root.path().join("Cargo.lock"), LOCK).unwrap();
        }
        check_in(
            root.path(),
            &[
                package("own", None, &[of_own], &json!({})),
                package("a", Some(CRATES_IO), dependencies, &features),
                package("b", Some(CRATES_IO), &[], &of_b_features),
            ],
            &[
                node("own", &[("a", normal())], &[]),
                node("a", used, &["default", "on", "std"]),
                node("b", &[], of_b),
            ],
        )
    }

    #[test]
    fn a_graph_has_what_the_manifests_ask_for() {
        let named = dependency("b", &json!({}));
        let used = [("b", normal())];
        let all = ["d", "default", "weak"];
        assert_eq!(a_and_b(slice::from_ref(&named), &used, &all), Ok(()));
        let refused = |result: Result<(), String>| {
            let message = result.unwrap_err();
            message.strip_prefix("/: ").unwrap().to_owned()
        };
        let without = refused(a_and_b(slice::from_ref(&named), &[], &[]));
        assert_eq!(
            without,
            "a 1.0.0 would be built without b, which its manifest names"
        );
        let without = refused(a_and_b(slice::from_ref(&named), &used, &["d", "default"]));
        assert_eq!(
            without,
            "b 1.0.0 would be built without the feature \"weak\", which a manifest asks for"
        );
        let with = refused(a_and_b(
            slice::from_ref(&named),
            &used,
            &["d", "default", "strong", "weak"],
        ));
        assert_eq!(
            with,
            "b 1.0.0 would be built with the feature \"strong\", which no manifest asks for"
        );
        // A dev-dependency asks for nothing where it is not used.
        let of_tests = dependency("b", &json!({"kind": "dev", "features": ["dev"]}));
        let both = [named, of_tests];
        assert_eq!(a_and_b(&both, &used, &all), Ok(()));
        let with = refused(a_and_b(&both, &used, &["d", "default", "dev", "weak"]));
        assert_eq!(
            with,
            "b 1.0.0 would be built with the feature \"dev\", which no manifest asks for"
        );
        let with = refused(a_and_b(&both[1..], &used, &all));
        assert_eq!(
            with,
            "a 1.0.0 would be built with b 1.0.0, which its manifest does not name"
        );
    }

    /// An index that leaves out one of two dependencies of a name, which asks for a feature.
    #[test]
    fn each_dependency_of_a_name_is_used() {
        let named = dependency("b", &json!({}));
        let of_unix = dependency("b", &json!({"target": "cfg(unix)", "features": ["strong"]}));
        let of_build = dependency("b", &json!({"kind": "build"}));
        let all = ["d", "default", "weak"];
        let without = "/: a 1.0.0 would be built without b, which its manifest names";
        for other in [of_unix, of_build] {
            let both = [named.clone(), other.clone()];
            let refused = a_and_b(&both, &[("b", normal())], &all);
            assert_eq!(refused, Err(without.to_owned()));
            let kinds = json!([{"kind": null, "target": null}, {"kind": other["kind"], "target": other["target"]}]);
            let of_b = match other["kind"].is_null() {
                true => &["d", "default", "strong", "weak"][..],
                false => &all,
            };
            assert_eq!(a_and_b(&both, &[("b", kinds)], of_b), Ok(()));
        }
    }

    /// Cargo has the feature of a dependency's name enabled by `NAME/FEATURE` where the dependency is optional.
    #[test]
    fn a_feature_of_the_name_of_a_required_package() {
        let of_own = dependency("a", &json!({"features": ["link"]}));
        let features = json!({"link": ["b/strong"], "b": ["more"], "more": []});
        let graph = |b: &Value, on: &[&str]| {
            check(
                &[
                    package("own", None, slice::from_ref(&of_own), &json!({})),
                    package("a", Some(CRATES_IO), slice::from_ref(b), &features),
                    package("b", Some(CRATES_IO), &[], &json!({"strong": []})),
                ],
                &[
                    node("own", &[("a", normal())], &[]),
                    node("a", &[("b", normal())], on),
                    node("b", &[], &["strong"]),
                ],
            )
        };
        let required = dependency("b", &json!({}));
        assert_eq!(graph(&required, &["link"]), Ok(()));
        let optional = dependency("b", &json!({"optional": true}));
        assert_eq!(graph(&optional, &["b", "link", "more"]), Ok(()));
        assert!(graph(&optional, &["link"]).is_err());
        assert!(graph(&required, &["b", "link", "more"]).is_err());
    }

    /// Cargo builds such a graph, with a warning: it is in the lock file alone.
    #[test]
    fn a_package_without_a_library_is_used_by_none() {
        let root = tempfile::tempdir().unwrap();
        let of_own = dependency("a", &json!({}));
        let of_a = dependency("b", &json!({}));
        let check = || {
            check_in(
                root.path(),
                &[
                    package("own", None, slice::from_ref(&of_own), &json!({})),
                    package("a", Some(CRATES_IO), slice::from_ref(&of_a), &json!({})),
                ],
                &[node("own", &[("a", normal())], &[]), node("a", &[], &[])],
            )
        };
        let without = "/: a 1.0.0 would be built without b, which its manifest names";
        assert_eq!(check(), Err(without.to_owned()));
        std::fs::write(root.path().join("Cargo.lock"), LOCK).unwrap();
        assert_eq!(check(), Ok(()));
    }

    /// No feature asks for the package, but one for a feature of it: cargo's lock file may have it.
    #[test]
    fn an_optional_package_may_be_there() {
        let optional = dependency("b", &json!({"optional": true}));
        let of_windows = dependency("b", &json!({"optional": true, "target": "cfg(windows)"}));
        assert_eq!(a_and_b(slice::from_ref(&optional), &[], &[]), Ok(()));
        let used = [("b", normal())];
        assert_eq!(
            a_and_b(&[optional], &used, &["d", "default", "weak"]),
            Ok(())
        );
        assert!(
            a_and_b(
                slice::from_ref(&of_windows),
                &used,
                &["d", "default", "weak"]
            )
            .is_err()
        );
        let used = [("b", json!([{"kind": null, "target": "cfg(windows)"}]))];
        assert_eq!(
            a_and_b(&[of_windows], &used, &["d", "default", "weak"]),
            Ok(())
        );
    }

    /// A package of crates.io's uses none of another registry. A package of another registry may come with copies of crates.io's, and name
    /// an address that the registry had once.
    #[test]
    fn crates_io_depends_on_nothing_else() {
        let other = "registry+https://other.invalid/index";
        let once = dependency(
            "b",
            &json!({"source": "registry+https://once.invalid/index"}),
        );
        let uses = |of_a: Option<&str>, of_b: Option<&str>| {
            let of_own = dependency("a", &json!({}));
            check(
                &[
                    package("own", None, &[of_own], &json!({})),
                    package("a", of_a, slice::from_ref(&once), &json!({})),
                    package("b", of_b, &[], &json!({})),
                ],
                &[
                    node("own", &[("a", normal())], &[]),
                    node("a", &[("b", normal())], &[]),
                    node("b", &[], &[]),
                ],
            )
        };
        let git = "git+https://git.invalid/b#0";
        for (of_a, of_b) in [
            (Some(other), Some(other)),
            (Some(other), Some(CRATES_IO)),
            (Some(CRATES_IO), Some(CRATES_IO)),
            (Some(CRATES_IO), Some(git)),
            (Some(CRATES_IO), None),
            (None, Some(other)),
        ] {
            assert_eq!(uses(of_a, of_b), Ok(()), "{of_a:?} {of_b:?}");
        }
        let refused = uses(Some(CRATES_IO), Some(other)).unwrap_err();
        assert!(
            refused
                .ends_with("a 1.0.0 would be built with b 1.0.0, which its manifest does not name")
        );
    }
}
