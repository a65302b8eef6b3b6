//! Graphs compared with the manifests of their packages.
//!
//! Cargo takes the dependencies and features of a registry's package from the registry's index, which no checksum covers, and the
//! manifest from the tarball, which has one.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cargo_metadata::{Dependency, DependencyKind, Metadata, Node, NodeDep, Package, Source};
use toml_edit::{DocumentMut, Item};

use crate::source::resolve::out_of_a_changed_package;
use paired::error::Failure;
use paired::files::plain;
use paired::terminal::shown;

/// Refuses a graph in which a package of a registry uses another one that its own manifest does not name for that use, or has a feature
/// that no manifest asks for.
pub fn assert_of_manifests(dir: &Path, metadata: &Metadata) -> Result<(), Failure> {
    let packages: BTreeMap<_, _> = (metadata.packages.iter())
        .map(|package| (&package.id, package))
        .collect();
    let nodes = (metadata.resolve.iter()).flat_map(|graph| &graph.nodes);
    let nodes: Vec<(&Node, &Package)> = nodes
        .filter_map(|node| Some((node, *packages.get(&node.id)?)))
        .collect();
    // The root manifest is read where a registry is another one.
    let elsewhere = LazyCell::new(|| patched_elsewhere(metadata.workspace_root.as_std_path()));
    let elsewhere = &elsewhere;

    let mut asked: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    for (node, package) in &nodes {
        for edge in &node.deps {
            let Some(used) = packages.get(&edge.pkg) else {
                continue;
            };
            let is_elsewhere = || elsewhere.contains(used.name.as_str());
            let named: Vec<_> = (package.dependencies.iter())
                .filter(|named| is_named(named, edge, used, is_elsewhere))
                .collect();
            let of_used = asked.entry(&used.id).or_default();
            for named in &named {
                of_used.extend(named.features.iter().cloned());
                of_used.extend(named.uses_default_features.then(|| "default".to_owned()));
                of_used.extend(asked_by_features(node, package, named));
            }
            if package.source.is_none() {
                continue;
            }
            for of_kind in &edge.dep_kinds {
                let mut named = named.iter().filter(|named| {
                    named.kind == of_kind.kind
                        && named.target == of_kind.target
                        && (!named.optional || is_activated(node, package, named))
                });
                if named.next().is_none() {
                    let what = match of_kind.kind {
                        DependencyKind::Normal => format!("{} {}", used.name, used.version),
                        kind => format!("{} {} as a {kind}-dependency", used.name, used.version),
                    };
                    let what = format!("{what}, which its manifest does not name");
                    return Err(foreign(dir, package, &what));
                }
            }
        }
    }
    for (node, package) in nodes {
        if package.source.is_none() {
            continue;
        }
        let asked = asked.remove(&package.id).unwrap_or_default();
        let asked = with_what_they_enable(package, asked);
        let mut features = node.features.iter();
        if let Some(feature) = features.find(|feature| !asked.contains(&***feature)) {
            let what = match package.features.contains_key(&***feature) {
                true => "which no manifest asks for",
                false => "which its manifest does not name",
            };
            let what = format!("the feature {:?}, {what}", &**feature);
            return Err(foreign(dir, package, &what));
        }
    }
    Ok(())
}

fn foreign(dir: &Path, package: &Package, what: &str) -> Failure {
    let Package { name, version, .. } = package;
    let message = format!(
        "{}: {name} {version} would be built with {what}",
        shown(dir)
    );
    Failure::input(message).hint(out_of_a_changed_package(dir))
}

/// Returns the names of the packages that a `[patch]` in the root manifest takes from another registry.
fn patched_elsewhere(root: &Path) -> BTreeSet<String> {
    let manifest = plain::read_to_string(&root.join("Cargo.toml")).unwrap_or_default();
    let manifest: DocumentMut = manifest.parse().unwrap_or_default();
    let patches = manifest.get("patch").and_then(Item::as_table_like);
    let sources = patches.into_iter().flat_map(|patches| patches.iter());
    let sources = sources.filter_map(|(_, source)| source.as_table_like());
    let patched = sources.flat_map(|source| source.iter());
    let is_elsewhere = |item: &Item| {
        ["registry", "registry-index"]
            .iter()
            .any(|key| item.get(key).is_some())
    };
    let patched = patched.filter(|(_, item)| is_elsewhere(item));
    let name = |(key, item): (&str, &Item)| {
        let package = item.get("package").and_then(Item::as_str);
        package.unwrap_or(key).to_owned()
    };
    patched.map(name).collect()
}

/// Tells whether a dependency in a manifest is what `used` stands for: by its name, its name in the code, its version and its registry. A
/// `[patch]` may put a path or a repository in the place of a registry's package, or another registry's.
fn is_named(
    named: &Dependency,
    edge: &NodeDep,
    used: &Package,
    is_elsewhere: impl Fn() -> bool,
) -> bool {
    let in_code = |name: &str| name.replace('-', "_");
    let library = (used.targets.iter()).find(|target| target.is_lib() || target.is_proc_macro());
    let name = (named.rename.as_deref()).or(library.map(|library| &*library.name));
    let is_in_code = name.is_none_or(|name| in_code(name) == edge.name);
    let is_version = named.req.comparators.is_empty() || named.req.matches(&used.version);
    let registry = |source: &Option<Source>| {
        let source = source.as_ref().map(|source| source.repr.clone());
        source.filter(|source| !source.starts_with("git+"))
    };
    let sources = registry(&named.source).zip(registry(&used.source));
    let is_registry = sources.is_none_or(|(named, used)| named == used) || is_elsewhere();
    named.name == *used.name && is_version && is_in_code && is_registry
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

/// Tells whether a feature of the package asks for an optional dependency. Cargo's lock file has it for `NAME?/FEATURE`, too.
fn is_activated(node: &Node, package: &Package, named: &Dependency) -> bool {
    let mut values = enabled(node, package);
    values.any(|value| {
        let dependency = match value.split_once('/') {
            Some((dependency, _)) => Some(dependency.trim_end_matches('?')),
            None => value.strip_prefix("dep:"),
        };
        dependency == Some(name_in_manifest(named))
    })
}

/// Returns what the features of a package that are on enable by themselves.
fn enabled<'a>(node: &'a Node, package: &'a Package) -> impl Iterator<Item = &'a String> {
    let features = (node.features.iter()).filter_map(|name| package.features.get(&***name));
    features.flatten()
}

fn name_in_manifest(named: &Dependency) -> &str {
    named.rename.as_deref().unwrap_or(&named.name)
}

/// Returns features of a package together with its features that these enable.
fn with_what_they_enable(package: &Package, features: BTreeSet<String>) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let mut left: Vec<_> = features.into_iter().collect();
    while let Some(feature) = left.pop() {
        let values = package.features.get(&feature).into_iter().flatten();
        // An optional dependency has the feature of its name enabled by `NAME/FEATURE`.
        let enables = values.filter_map(|value| match value.split_once('/') {
            Some((dependency, _)) => (!dependency.ends_with('?')).then_some(dependency),
            None => Some(&**value),
        });
        let enables: Vec<_> = enables.map(str::to_owned).collect();
        if all.insert(feature) {
            left.extend(enables);
        }
    }
    all
}
