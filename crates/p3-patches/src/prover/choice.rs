//! Reads the Plonky3 release from a prover's graph, and chooses the patches for it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use cargo_metadata::semver::{Version, VersionReq};
use cargo_metadata::{Dependency, Metadata, Node, Package};

use crate::catalog::Catalog;
use crate::catalog::patch::Patch;
use crate::prover::graph::{self, brought_by, is_crates_io, is_upstream, shows_users};
use crate::prover::manifest::{self, Manifest};
use crate::source::index;
use crate::source::resolve::architectures;
use paired::error::Failure;
use paired::terminal::shown;

/// The patches for a prover that names none.
pub struct Choice {
    /// With what they need, in series order.
    pub names: Vec<String>,
    /// The other ones, in that order, each with the reason.
    pub left_out: Vec<(String, String)>,
}

impl Choice {
    /// Chooses all that have been ported to `base`, touch a package of the graph in that release and none that it has in
    /// another one only, or from a place of the user's, and change builds for an architecture that cargo's configuration builds for.
    fn new(catalog: &Catalog, manifest: &Path, graph: &Metadata, base: &str) -> Result<Self> {
        let base = catalog.base(Some(base))?;
        let version = Version::parse(&base)?;
        let architectures = architectures(graph.workspace_root.as_std_path())?;
        let (mut names, mut left_out) = (Vec::new(), Vec::new());
        let mut elsewhere = None;
        let mut foreign = Vec::new();
        for name in catalog.names() {
            let reason = if let Some(merged) = catalog.merged(&version, name)? {
                Some(format!("merged in Plonky3 {merged}"))
            } else if !catalog.has(&base, name) {
                Some(format!("no text for Plonky3 {base}"))
            } else {
                let header = catalog.header(&base, name)?;
                if header.packages.iter().any(|name| graph::has(graph, name)) {
                    let other = in_another_release(catalog, graph, &version, name)?;
                    elsewhere = elsewhere.or_else(|| other.clone());
                    let reason = other.or_else(|| header.inert(&architectures));
                    if reason.is_none()
                        && let Some(reason) = from_a_path(catalog, graph, &version, name)?
                    {
                        foreign.push((name.to_owned(), reason));
                        continue;
                    }
                    reason
                } else {
                    let packages = header.packages.join(", ");
                    Some(format!("nothing here depends on {packages}"))
                }
            };
            match reason {
                None => names.push(name.to_owned()),
                Some(reason) => left_out.push((name.to_owned(), reason)),
            }
        }
        // Where nothing else is left, the check of overrides says what stands in the way of these.
        if names.is_empty() {
            names.extend(foreign.into_iter().map(|(name, _)| name));
        } else {
            left_out.extend(foreign);
        }
        if names.is_empty() {
            let what = format!(
                "{}: no patch for Plonky3 {base} does anything here",
                shown(manifest)
            );
            return Err(match elsewhere {
                Some(why) => Failure::input(format!("{what}: {why}")).hint(OWN_RELEASE),
                None => Failure::input(what).hint("`cargo p3 list` shows the packages, the releases and the architectures that each is for"),
            }
            .into());
        }
        let (_, names) = catalog.resolve(Some(&base), &names)?;
        left_out.retain(|(name, _)| !names.contains(name));
        Ok(Self { names, left_out })
    }
}

/// A hint for a release that the graph does not have.
const OWN_RELEASE: &str = "without `--base`, the release that the workspace is locked to is taken";

/// Returns the packages that the patch `name` touches, and those that it needs.
fn packages_with_needs(catalog: &Catalog, base: &Version, name: &str) -> Result<BTreeSet<String>> {
    let release = base.to_string();
    let (_, mut names) = catalog.resolve(Some(&release), &[name.to_owned()])?;
    // A need that has not been ported is reported where the patches are loaded.
    names.retain(|name| catalog.has(&release, name));
    catalog.packages_of(&release, &names)
}

/// Returns the reason why the patch `name`, or one that it needs, does not fit the graph: it is for a package that the graph has
/// in another release than `base` only.
fn in_another_release(
    catalog: &Catalog,
    graph: &Metadata,
    base: &Version,
    name: &str,
) -> Result<Option<String>> {
    for package in packages_with_needs(catalog, base, name)? {
        let copies = graph.packages.iter().filter(|copy| copy.name == package);
        let copies = copies.collect::<Vec<_>>();
        if let [copy, ..] = copies[..]
            && copies.iter().all(|copy| copy.version != *base)
        {
            let version = &copy.version;
            let users = brought_by(graph, &[copy]).join(" and ");
            return Ok(Some(format!(
                "{package} is here only in {version}{}, for {users}",
                fork(version)
            )));
        }
    }
    Ok(None)
}

/// Returns the reason why the patch `name`, or one that it needs, cannot take the place of what the graph has: a package that comes
/// from a path, which the user may have changed.
fn from_a_path(
    catalog: &Catalog,
    graph: &Metadata,
    base: &Version,
    name: &str,
) -> Result<Option<String>> {
    let release = base.to_string();
    let packages = packages_with_needs(catalog, base, name)?;
    let mut copies = packages
        .iter()
        .filter_map(|package| graph::not_replaceable(graph, package, &release));
    let from_a_path = copies.find(|copy| copy.source.is_none());
    Ok(from_a_path.map(|copy| {
        let path = copy.manifest_path.as_std_path();
        format!("{} {base} is here from {}", copy.name, shown(path))
    }))
}

/// Returns the release and the patches for the prover with this `manifest`: `base`, or the release that the `graph` has, and
/// those `asked` for, or all that do something there.
pub fn chosen(
    catalog: &Catalog,
    manifest: &Path,
    graph: &Metadata,
    base: Option<&str>,
    asked: &[String],
) -> Result<(String, Choice)> {
    let base = match base {
        Some(base) => base.to_owned(),
        None => {
            let release = release(catalog, manifest, graph)?;
            catalog.refuse_merged(&release, asked)?;
            refuse_unported(catalog, manifest, graph, &release)?;
            release.to_string()
        }
    };
    if asked.is_empty() {
        let choice = Choice::new(catalog, manifest, graph, &base)?;
        return Ok((base, choice));
    }
    let (base, names) = catalog.resolve(Some(&base), asked)?;
    let version = Version::parse(&base)?;
    for name in asked {
        let Some(why) = in_another_release(catalog, graph, &version, name)? else {
            continue;
        };
        let touched = catalog.packages()?;
        for package in &graph.packages {
            if touched.contains(&*package.name) && package.version != version {
                catalog.refuse_merged(&package.version, asked)?;
            }
        }
        let hint = match Choice::new(catalog, manifest, graph, &base) {
            Ok(choice) => format!(
                "with `--base {base}` and no names, the patches that fit are taken: {}",
                choice.names.join(", ")
            ),
            Err(_) => OWN_RELEASE.to_owned(),
        };
        let path = shown(manifest);
        return Err(Failure::input(format!(
            "{path}: {name} does not fit here for Plonky3 {base}: {why}"
        ))
        .hint(hint)
        .into());
    }
    let left_out = Vec::new();
    Ok((base, Choice { names, left_out }))
}

/// Chooses as [`chosen`] does, and refuses a workspace in which cargo would not use the overrides. Those of packages from git
/// are for the comparison with the release to judge.
pub fn applicable(
    catalog: &Catalog,
    manifest: &Manifest,
    graph: &Metadata,
    base: Option<&str>,
    asked: &[String],
    from_git: bool,
) -> Result<(String, Choice)> {
    let (base, choice) = chosen(catalog, &manifest.path, graph, base, asked)?;
    let mut touched = catalog.packages_of(&base, &choice.names)?;
    touched.retain(|package| graph::has(graph, package));
    if !from_git {
        let packages = touched.iter().map(String::as_str);
        manifest.assert_unpatched(packages, None, manifest.root(), &[])?;
        for package in &touched {
            graph::assert_one_copy(graph, package, &base)?;
            graph::assert_replaceable(&manifest.path, graph, package, &base)?;
        }
    }
    manifest.assert_overridable()?;
    manifest.assert_reviewed(&catalog.patches)?;
    Ok((base, choice))
}

/// Returns the Plonky3 release of the workspace with this `manifest`: that of the packages that patches touch.
fn release(catalog: &Catalog, manifest: &Path, graph: &Metadata) -> Result<Version> {
    let touched = catalog.packages()?;
    let mut releases = BTreeMap::<_, Vec<_>>::new();
    for package in &graph.packages {
        if touched.contains(package.name.as_str()) {
            releases.entry(&package.version).or_default().push(package);
        }
    }
    let asked = |releases: &BTreeMap<&Version, Vec<&Package>>| {
        let asked = releases.iter().map(|(release, packages)| {
            let users = brought_by(graph, packages).join(" and ");
            format!("{release}{}, for {users}", fork(release))
        });
        asked.collect::<Vec<_>>().join("; ")
    };
    let path = shown(manifest);
    let (own, forks) =
        (releases.into_iter()).partition::<BTreeMap<_, _>, _>(|(release, _)| is_release(release));
    let ends = own.first_key_value().zip(own.last_key_value());
    let Some(((oldest, packages), (newest, _))) = ends else {
        if forks.is_empty() {
            return Err(nothing_to_patch(manifest, touched.iter().map(String::as_str)).into());
        }
        return Err(
            Failure::input(format!("{path}: uses Plonky3 {}", asked(&forks)))
                .hint("the patches are for the releases that Plonky3 publishes; none is known to fit a fork")
                .into(),
        );
    };
    if oldest == newest {
        return Ok((*newest).clone());
    }
    // The release that most of the packages are of comes first.
    let mut bases = own.iter().collect::<Vec<_>>();
    bases.sort_by_key(|(_, packages)| Reverse(packages.len()));
    let mut bases = bases.into_iter().map(|(base, _)| base.to_string());
    let fits = |base: &String| Choice::new(catalog, manifest, graph, base).is_ok();
    let hint = if compatible(oldest, newest) {
        update(
            graph,
            &touched,
            reachable(catalog, newest).unwrap_or(newest),
        )
    } else if let Some(base) = bases.find(fits) {
        format!(
            "`--base {base}` takes the patches that fit that release, and leaves the others as they are"
        )
    } else {
        format!(
            "{}; the prover has to take Plonky3 in one release",
            shows_users(&format!("{}@{oldest}", packages[0].name))
        )
    };
    Err(Failure::input(format!(
        "{path}: has more than one Plonky3 release: {}",
        asked(&own)
    ))
    .hint(hint)
    .into())
}

/// Returns the refusal of a workspace that has none of `packages`.
pub fn nothing_to_patch<'p>(manifest: &Path, packages: impl Iterator<Item = &'p str>) -> Failure {
    let packages = packages.collect::<Vec<_>>();
    if packages.is_empty() {
        return Failure::input(format!(
            "{}: there are no patches to apply",
            shown(manifest)
        ))
        .hint("patches/series lists them; --patches and --project name another folder");
    }
    Failure::input(format!(
        "{}: no package here depends on {}",
        shown(manifest),
        packages.join(", ")
    ))
    .hint("`cargo p3 status` says what is applied and what fits here; --manifest-path names another workspace")
}

/// Refuses a workspace on a `release` that there are no patches for, and says which releases are near and how to reach one.
fn refuse_unported(
    catalog: &Catalog,
    manifest: &Path,
    graph: &Metadata,
    release: &Version,
) -> Result<()> {
    if catalog.bases.contains(release) {
        return Ok(());
    }
    for name in catalog.names() {
        let Some(home) = catalog.home(&release.to_string(), name) else {
            continue;
        };
        let what = format!(
            "{}: is for Plonky3 {release}, of which there is no folder of patches",
            catalog.patches.shown(&Patch::path(&home, name))
        );
        return Err(Failure::input(what)
            .hint(format!("create the folder {release} beside that of {home}"))
            .into());
    }
    let older = catalog.bases.iter().rfind(|base| *base < release);
    let newer = catalog.bases.iter().find(|base| *base > release);
    let near = older.into_iter().chain(newer).map(Version::to_string);
    let near = near.collect::<Vec<_>>().join(" and ");
    let touched = catalog.packages()?;
    let hint = match reachable(catalog, release) {
        Some(base) => update(graph, &touched, base),
        None => {
            let is_of =
                |package: &&Package| is_plonky3(package, &touched) && package.version == *release;
            let packages = graph.packages.iter().filter(is_of).collect::<Vec<_>>();
            format!(
                "no `cargo update` reaches these; change what asks for {release}: {}",
                phrase(graph, &requirements(graph, &packages))
            )
        }
    };
    Err(Failure::input(format!(
        "{}: uses Plonky3 {release}, which there are no patches for; the nearest that have some: {near}",
        shown(manifest)
    ))
    .hint(hint)
    .into())
}

/// Returns the newest release with patches that cargo takes for compatible.
fn reachable<'s>(catalog: &'s Catalog, release: &Version) -> Option<&'s Version> {
    (catalog.bases.iter()).rfind(|base| compatible(base, release))
}

/// Returns the step that moves Plonky3 to `release`, which cargo takes for compatible with what the graph has.
fn update(graph: &Metadata, touched: &BTreeSet<String>, release: &Version) -> String {
    let moves = |package: &&Package| {
        is_plonky3(package, touched)
            && package.version != *release
            && compatible(&package.version, release)
    };
    let moved = graph.packages.iter().filter(moves).collect::<Vec<_>>();
    let is_elsewhere = |package: &&&Package| !is_crates_io(package);
    let elsewhere: Vec<_> = moved.iter().filter(is_elsewhere).copied().collect();
    if !elsewhere.is_empty() {
        let asked = phrase(graph, &requirements(graph, &elsewhere));
        return format!("take Plonky3 {release} in place of {asked}");
    }
    let pins = requirements(graph, &moved).into_iter();
    let pins = pins.filter(|pin| !pin.dependency.req.matches(release));
    let (own, others) = pins.partition::<Vec<_>, _>(|pin| pin.by.source.is_none());
    if !others.is_empty() {
        return format!(
            "Plonky3 {release} is ruled out by {}; another release of that package may ask for it",
            phrase(graph, &others)
        );
    }
    let mut todo = moved;
    let mut names = Vec::new();
    // A package can only go back once no newer one needs it.
    while !todo.is_empty() {
        let needed = |package: &Package| {
            let mut nodes = todo.iter().map(|above| node(graph, above));
            nodes.any(|node| node.is_some_and(|node| node.dependencies.contains(&package.id)))
        };
        let first = todo.iter().position(|package| !needed(package));
        let Package { name, version, .. } = todo.remove(first.unwrap_or(0));
        let copies = graph.packages.iter().filter(|copy| copy.name == *name);
        names.push(match copies.count() {
            1 => name.to_string(),
            _ => format!("{name}@{}.{}", version.major, version.minor),
        });
    }
    let moves = match &names[..] {
        [name] => format!("`cargo update --precise {release} {name}` moves to it"),
        _ => format!(
            "`for name in {}; do cargo update --precise {release} $name; done` moves to it",
            names.join(" ")
        ),
    };
    match &own[..] {
        [] => moves,
        own => format!(
            "write `{release}` in place of {}; then {moves}",
            phrase(graph, own)
        ),
    }
}

/// The requirement of one package for another one.
struct Requirement<'g> {
    by: &'g Package,
    dependency: &'g Dependency,
}

/// Returns the requirements that others than `packages` have for these.
fn requirements<'g>(graph: &'g Metadata, packages: &[&Package]) -> Vec<Requirement<'g>> {
    let mut found = Vec::new();
    for by in &graph.packages {
        if packages.iter().any(|package| package.id == by.id) {
            continue;
        }
        let Some(node) = node(graph, by) else {
            continue;
        };
        let in_use = packages
            .iter()
            .filter(|package| node.dependencies.contains(&package.id));
        for package in in_use {
            let dependency = by.dependencies.iter().find(|dependency| {
                dependency.name == *package.name && dependency.req.matches(&package.version)
            });
            found.extend(dependency.map(|dependency| Requirement { by, dependency }));
        }
    }
    found
}

/// Names requirements, those of packages on this machine by the line that they stand in.
fn phrase(graph: &Metadata, requirements: &[Requirement<'_>]) -> String {
    let root = graph.workspace_root.join("Cargo.toml");
    let phrase = |Requirement { by, dependency }: &Requirement<'_>| {
        let Dependency { name, req, .. } = dependency;
        let place = match by.source {
            None => manifest::line_of([&by.manifest_path, &root], name),
            Some(_) => format!("{} {}", by.name, by.version),
        };
        match *req == VersionReq::STAR {
            true => format!("{name} in {place}"),
            false => format!("`{req}` for {name} in {place}"),
        }
    };
    let phrases = requirements.iter().map(phrase).collect::<BTreeSet<_>>();
    phrases.into_iter().collect::<Vec<_>>().join(" and ")
}

/// Returns the releases in cargo's copy of the index that a build without patches could take in place of `base`, each with the
/// packages that have it.
pub fn newer<'p>(
    packages: impl IntoIterator<Item = &'p String>,
    base: &str,
) -> Result<BTreeMap<Version, Vec<&'p str>>> {
    let base = Version::parse(base)?;
    let mut found = BTreeMap::<_, Vec<_>>::new();
    for package in packages {
        for release in index::releases(package)? {
            let is_yanked = release.is_yanked();
            let version = release.version;
            if !is_yanked && version > base && version.pre.is_empty() && compatible(&base, &version)
            {
                let packages = found.entry(version).or_default();
                if !packages.contains(&package.as_str()) {
                    packages.push(package.as_str());
                }
            }
        }
    }
    Ok(found)
}

fn node<'g>(graph: &'g Metadata, package: &Package) -> Option<&'g Node> {
    let mut nodes = graph.resolve.iter().flat_map(|resolve| &resolve.nodes);
    nodes.find(|node| node.id == package.id)
}

/// Tells whether a package is Plonky3's: a prover may give its own ones names of that form.
fn is_plonky3(package: &Package, touched: &BTreeSet<String>) -> bool {
    touched.contains(&*package.name) || is_upstream(package)
}

/// Tells whether a version is of the form of Plonky3's own releases and previews. Forks that are published under the names of its
/// packages, such as `0.4.3-succinct`, are not.
fn is_release(version: &Version) -> bool {
    let preview = || version.pre.strip_prefix("rc.")?.parse::<u64>().ok();
    version.build.is_empty() && (version.pre.is_empty() || preview().is_some())
}

/// Returns the phrase that follows a version which is no release.
fn fork(version: &Version) -> &'static str {
    match is_release(version) {
        true => "",
        false => ", another code base under the same names",
    }
}

/// Tells whether a requirement of the older one's accepts the newer one.
fn compatible(a: &Version, b: &Version) -> bool {
    let caret = VersionReq::parse(&format!("^{}", a.min(b)));
    caret.is_ok_and(|caret| caret.matches(a.max(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_is_no_release() {
        for (version, is) in [
            ("0.8.0", true),
            ("0.9.0-rc.2", true),
            ("0.4.3-succinct", false),
            ("0.9.0-rc.x", false),
            ("0.9.0-rc", false),
            ("0.8.0+fork", false),
        ] {
            assert_eq!(is_release(&version.parse().unwrap()), is, "{version}");
        }
    }
}
