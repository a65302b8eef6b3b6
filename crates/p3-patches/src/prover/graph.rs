//! Reads a prover's graph: whether each tree is what cargo builds, and which other copies of a package there are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;
use cargo_metadata::{Metadata, Package, PackageId};
use toml_edit::Key;

use crate::project::Patches;
use crate::prover::git_source::{Checkout, Git, GitSource, canonical};
use crate::prover::stanza;
use crate::prover::tree::Tree;
use crate::source::checksums::Checksums;
use paired::address::without_credentials;
use paired::error::Failure;
use paired::terminal::shown;

/// How a graph treats an override.
#[derive(Debug, Eq, PartialEq)]
pub enum Use {
    Used,
    /// The graph has the package, but takes it from elsewhere: version and source of each.
    Bypassed(Vec<(String, String)>),
    /// The graph does not have the package.
    Absent,
}

/// Tells whether the graph takes `tree`'s package from `tree`.
pub fn usage(metadata: &Metadata, tree: &Tree) -> Use {
    let manifest = tree.path.join("Cargo.toml");
    let same = metadata
        .packages
        .iter()
        .filter(|package| package.name == tree.package)
        .collect::<Vec<_>>();
    if same
        .iter()
        .any(|package| package.manifest_path.as_std_path() == manifest)
    {
        return Use::Used;
    }
    if same.is_empty() {
        return Use::Absent;
    }
    Use::Bypassed(
        same.into_iter()
            .map(|package| (package.version.to_string(), origin(package)))
            .collect(),
    )
}

/// Tells whether a graph has a package, of whatever release.
pub fn has(metadata: &Metadata, name: &str) -> bool {
    metadata.packages.iter().any(|package| package.name == name)
}

/// Tells whether a graph has a package in a release.
pub fn has_release(metadata: &Metadata, name: &str, version: &str) -> bool {
    !copies(metadata, name, version).is_empty()
}

/// Tells where the graph takes a package from.
fn origin(package: &Package) -> String {
    match &package.source {
        Some(_) if is_crates_io(package) => "crates.io".to_owned(),
        Some(source) => without_credentials(&source.repr),
        None => package.manifest_path.to_string(),
    }
}

/// Tells whether the graph takes a package from crates.io.
pub(super) fn is_crates_io(package: &Package) -> bool {
    let source = package.source.as_ref();
    source.is_some_and(|source| source.is_crates_io())
}

/// Returns the packages of that name and version in a graph.
fn copies<'m>(metadata: &'m Metadata, name: &str, version: &str) -> Vec<&'m Package> {
    let same = |package: &&Package| package.name == name && package.version.to_string() == version;
    metadata.packages.iter().filter(same).collect()
}

/// Lists the packages that bring those of one release into a graph, as `cargo tree --invert` shows them: the nearest ones above
/// that are not of that release, each with the package of that release through which it does so.
pub fn brought_by(graph: &Metadata, packages: &[&Package]) -> Vec<String> {
    let nodes = graph.resolve.iter().flat_map(|resolve| &resolve.nodes);
    let nodes = nodes.collect::<Vec<_>>();
    let named: BTreeSet<&PackageId> = packages.iter().map(|package| &package.id).collect();
    let mut reached = named.clone();
    let mut todo: Vec<_> = reached.iter().copied().collect();
    let mut found = BTreeMap::<_, BTreeSet<_>>::new();
    while let Some(package) = todo.pop() {
        for node in nodes
            .iter()
            .filter(|node| node.dependencies.contains(package))
        {
            let above = &graph[&node.id];
            if !is_upstream(above) || above.version != packages[0].version {
                let through = (!named.contains(package)).then(|| graph[package].name.as_str());
                let above = format!("{} {}", above.name, above.version);
                found.entry(above).or_default().insert(through);
            } else if reached.insert(&node.id) {
                todo.push(&node.id);
            }
        }
    }
    let phrase = |(above, through): (String, BTreeSet<Option<&str>>)| {
        let through = through.into_iter().collect::<Option<Vec<_>>>();
        match through {
            Some(through) => format!("{above} through {}", through.join(", ")),
            None => above,
        }
    };
    found.into_iter().map(phrase).collect()
}

/// Names the command that shows which packages bring the one with this `id` into a graph.
pub fn shows_users(id: &str) -> String {
    // An address that is not shown whole names nothing.
    let which = match without_credentials(id) == id {
        true => format!("--invert '{id}'"),
        false => "--duplicates".to_owned(),
    };
    // Graphs are resolved with all features and for all targets.
    format!("`cargo tree --workspace --all-features --target all {which}` shows what brings it in")
}

const UPSTREAM: &str = "https://github.com/Plonky3/Plonky3";

/// Tells whether a package says that it is Plonky3's.
pub(super) fn is_upstream(package: &Package) -> bool {
    let repository = package.repository.as_deref();
    package.name.starts_with("p3-")
        && repository.is_some_and(|url| canonical(url) == canonical(UPSTREAM))
}

/// Tells where a graph takes a package from, and for which.
fn shown_copy(metadata: &Metadata, copy: &Package) -> String {
    let users = brought_by(metadata, &[copy]).join(" and ");
    format!("from {}, for {users}", origin(copy))
}

/// Proves that the graph holds a package once. Two copies of one release are two types to the compiler.
pub fn assert_one_copy(metadata: &Metadata, name: &str, version: &str) -> Result<(), Failure> {
    let copies = copies(metadata, name, version);
    if copies.len() <= 1 {
        return Ok(());
    }
    let shown = copies.iter().map(|copy| shown_copy(metadata, copy));
    let shown = shown.collect::<Vec<_>>().join("; ");
    let what = format!("the graph has {name} {version} twice: {shown}");
    let sourced = copies.iter().find(|copy| copy.source.is_some());
    let id = &sourced.unwrap_or(&copies[0]).id;
    Err(Failure::input(what).hint(format!(
        "{}; the prover has to take Plonky3 from one place",
        shows_users(&id.repr)
    )))
}

/// Returns a copy of a package in that version that an override would not take the place of: one that is not the registry's.
pub(super) fn not_replaceable<'m>(
    metadata: &'m Metadata,
    name: &str,
    version: &str,
) -> Option<&'m Package> {
    let mut copies = copies(metadata, name, version).into_iter();
    copies.find(|copy| !is_crates_io(copy))
}

/// Proves that an override would take the place of a package, if the graph has it in that version: that it comes from the
/// registry.
pub(super) fn assert_replaceable(
    manifest: &Path,
    metadata: &Metadata,
    name: &str,
    version: &str,
) -> Result<(), Failure> {
    let Some(copy) = not_replaceable(metadata, name, version) else {
        return Ok(());
    };
    let from = origin(copy);
    let path = shown(manifest);
    let what = format!("{path}: takes {name} {version} from {from}, not from crates.io");
    let git = GitSource::parse(&from);
    Err(Failure::input(what).hint(bypassed(name, version, git.as_ref())))
}

/// Returns the next step where a package comes from elsewhere than the registry.
fn bypassed(name: &str, version: &str, git: Option<&GitSource>) -> String {
    match git {
        None => format!(
            "an override replaces crates.io's {name} {version} only; a path, another registry, or a `[patch]` of the manifest or of cargo's configuration, comes before it"
        ),
        Some(git) => format!(
            "`--source {} --rev {}` names where the package comes from",
            git.url(),
            git.reference().map_or(git.commit(), |(_, rev)| rev)
        ),
    }
}

/// Returns the packages that are patched in another release than `base`, which the graph has too. These stay as they are.
pub fn other_releases<'p>(
    metadata: &Metadata,
    packages: impl IntoIterator<Item = &'p String>,
    base: &str,
) -> Vec<String> {
    let packages = packages.into_iter().collect::<BTreeSet<_>>();
    let other = |package: &&Package| {
        packages.contains(&package.name.to_string()) && package.version.to_string() != base
    };
    let others = metadata.packages.iter().filter(other);
    let shown = |other: &Package| {
        let Package { name, version, .. } = other;
        format!(
            "{name} {version} stays unpatched: it comes {}",
            shown_copy(metadata, other)
        )
    };
    others.map(shown).collect()
}

/// Proves that every tree is what the graph builds; cargo itself only warns.
pub fn assert_overrides_used(metadata: &Metadata, trees: &[Tree]) -> Result<()> {
    for tree in trees {
        let Tree {
            package,
            version,
            path,
        } = tree;
        match usage(metadata, tree) {
            Use::Used => {}
            Use::Absent => {
                return Err(Failure::input(format!(
                    "the override of {package} is not used: no package depends on it"
                ))
                .into());
            }
            Use::Bypassed(found) => {
                let git = found
                    .iter()
                    .find_map(|(_, source)| GitSource::parse(source));
                let hint = bypassed(package, version, git.as_ref());
                let found = found
                    .into_iter()
                    .map(|(version, source)| format!("{version} from {source}"));
                return Err(Failure::input(format!(
                    "the override of {package} is not used: the graph has {package} {}, and the tree at {} is {version}",
                    found.collect::<Vec<_>>().join(" and "),
                    shown(path)
                ))
                .hint(hint)
                .into());
            }
        }
    }
    Ok(())
}

/// Proves that a graph builds every tree, and each package once: the patched ones, and those that come from the same repository.
pub fn assert_in_place(
    manifest: &Path,
    metadata: &Metadata,
    trees: &[Tree],
    checkout: Option<&Checkout<'_>>,
) -> Result<()> {
    assert_overrides_used(metadata, trees)?;
    if let Some(checkout) = checkout {
        checkout.source.assert_pinned(manifest, metadata)?;
    }
    for tree in trees {
        assert_one_copy(metadata, &tree.package, &tree.version)?;
    }
    for package in checkout
        .iter()
        .flat_map(|checkout| checkout.packages.values())
    {
        assert_one_copy(metadata, &package.name, &package.version.to_string())?;
    }
    if let (Some(checkout), Some(tree)) = (checkout, trees.first()) {
        assert_no_published(metadata, &checkout.source, &tree.version)?;
    }
    Ok(())
}

/// Proves that a graph with patches in place of a repository has no package of that release from crates.io. Cargo takes one from there
/// where the repository has it without a library, and is silent.
pub fn assert_no_published(
    metadata: &Metadata,
    source: &GitSource,
    base: &str,
) -> Result<(), Failure> {
    let is_published = |package: &&Package| {
        package.name.starts_with("p3-")
            && package.version.to_string() == base
            && is_crates_io(package)
    };
    let Some(published) = metadata.packages.iter().find(is_published) else {
        return Ok(());
    };
    let Package {
        name, version, id, ..
    } = published;
    let shown = shown_copy(metadata, published);
    let what = format!("takes Plonky3 {base} from {source}, but {name} {version} {shown}");
    Err(Failure::input(what).hint(format!(
        "{}; the prover has to take Plonky3 from one place",
        shows_users(&id.repr)
    )))
}

/// Lists the packages of Plonky3's that a graph takes neither from crates.io, nor from one of the folders `trees`, nor from the
/// repository whose sources are compared, each in a phrase. A package with a path may be a member of the workspace, too.
pub fn foreign(
    patches: &Patches,
    metadata: &Metadata,
    trees: &[PathBuf],
    git: Option<&GitSource>,
) -> Result<Vec<String>> {
    let reviewed = Checksums::load(patches)?;
    let is_foreign = |package: &&Package| {
        let compared = match &package.source {
            None => {
                let folder = package.manifest_path.as_std_path().parent();
                trees.iter().any(|tree| Some(tree.as_path()) == folder)
            }
            Some(source) => match GitSource::parse(&source.repr) {
                None => source.is_crates_io(),
                found => found.as_ref() == git,
            },
        };
        reviewed.knows(&package.name) && !compared
    };
    let foreign = metadata.packages.iter().filter(is_foreign);
    let shown = |package: &Package| {
        let Package { name, version, .. } = package;
        in_place_of_crates_io(&format!("{name} {version}"), &origin(package))
    };
    Ok(foreign.map(shown).collect())
}

/// Says in a phrase that a package of Plonky3's comes from a place of the user's.
pub fn in_place_of_crates_io(package: &str, from: &str) -> String {
    let (package, from) = (shown(package), shown(from));
    format!("{package} comes from {from}, in place of crates.io")
}

/// Returns the overrides as values of cargo's `--config`, for a build that leaves the manifest alone. They come before the
/// manifest's.
pub fn overrides(trees: &[Tree], git: Option<&Git>) -> Vec<String> {
    let place = |tree: &Tree| {
        let path = tree.path.to_string_lossy().into_owned();
        (tree.package.clone(), path)
    };
    let places = trees.iter().map(place).collect();
    let mut values = Vec::new();
    for (registry, packages) in stanza::tables(&places, git) {
        for (package, table) in packages {
            for (key, value) in table.iter() {
                let path = ["patch", registry, package, key].map(|key| Key::new(key).to_string());
                values.push(format!("{}={}", path.join("."), value.to_string().trim()));
            }
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use toml_edit::DocumentMut;

    use super::*;

    proptest! {
        #[test]
        fn overrides_are_toml(path in "[a-z \"'\\\\é]{1,12}") {
            let tree = Tree { package: "p3-field".to_owned(), version: "0.8.0".to_owned(), path: (&path).into() };
            let document: DocumentMut = overrides(&[tree], None)[0].parse().unwrap();
            prop_assert_eq!(document["patch"]["crates-io"]["p3-field"]["path"].as_str(), Some(&*path));
        }
    }

    #[test]
    fn overrides_of_a_repository() {
        let git = Git {
            source: GitSource::parse("git+https://a/A?tag=v1#0a").unwrap(),
            needed: BTreeSet::from(["p3-field", "p3-util"].map(str::to_owned)),
        };
        let tree = Tree {
            package: "p3-field".to_owned(),
            version: "0.8.0".to_owned(),
            path: "/t".into(),
        };
        let expected = [
            "patch.crates-io.p3-field.path=\"/t\"",
            "patch.crates-io.p3-util.git=\"https://a/A\"",
            "patch.crates-io.p3-util.tag=\"v1\"",
            "patch.\"https://a/A\".p3-field.path=\"/t\"",
        ];
        assert_eq!(overrides(&[tree], Some(&git)), expected);
    }
}
