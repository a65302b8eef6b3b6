//! Reads the Plonky3 release from a prover's graph, and chooses the patches for it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use cargo_metadata::semver::{Version, VersionReq};
use cargo_metadata::{Metadata, Package, PackageId};

use crate::error::Failure;
use crate::project::Patches;
use crate::registry::source;
use crate::series::Series;
use crate::series::patch::Patch;

/// The patches for a prover that names none.
pub struct Choice {
    /// With what they need, in series order.
    pub names: Vec<String>,
    /// The other ones, in that order, each with the reason.
    pub left_out: Vec<(String, String)>,
}

impl Choice {
    /// All that have been ported to `base`, touch a package of the graph and change builds for this architecture.
    fn new(
        patches: &Patches,
        series: &Series,
        manifest: &Path,
        graph: &Metadata,
        base: &str,
    ) -> Result<Self> {
        let base = series.base(Some(base))?;
        let version = Version::parse(&base)?;
        let in_graph = |name: &String| {
            let mut packages = graph.packages.iter();
            packages.any(|package| package.name == *name && package.version == version)
        };
        let (mut names, mut left_out) = (Vec::new(), Vec::new());
        for name in series.names() {
            let reason = if let Some(merged) = series.merged(patches, &version, name)? {
                Some(format!("merged in Plonky3 {merged}"))
            } else if !Patch::exists(patches, &base, name) {
                Some(format!("no text for Plonky3 {base}"))
            } else {
                let header = Patch::header(patches, &base, name)?;
                let touches = header.packages.iter().any(in_graph);
                let untouched =
                    || format!("nothing here depends on {}", header.packages.join(", "));
                (!touches).then(untouched).or_else(|| header.inert())
            };
            match reason {
                None => names.push(name.to_owned()),
                Some(reason) => left_out.push((name.to_owned(), reason)),
            }
        }
        if names.is_empty() {
            return Err(Failure::input(format!(
                "{}: no patch for Plonky3 {base} does anything here",
                manifest.display()
            ))
            .hint("`cargo p3 list` shows the packages, the releases and the architectures that each is for")
            .into());
        }
        let (_, names) = series.resolve(patches, Some(&base), &names)?;
        left_out.retain(|(name, _)| !names.contains(name));
        Ok(Self { names, left_out })
    }
}

/// The release and the patches for the prover with this `manifest`: `base`, or the release that the `graph` has, and those
/// `asked` for, or all that do something there.
pub fn chosen<'g>(
    patches: &Patches,
    series: &Series,
    manifest: &Path,
    graph: impl Fn() -> &'g Metadata,
    base: Option<&str>,
    asked: &[String],
) -> Result<(String, Choice)> {
    let base = match base {
        Some(base) => base.to_owned(),
        None => {
            let release = release(patches, series, manifest, graph())?;
            series.refuse_merged(patches, &release, asked)?;
            refuse_unported(series, manifest, graph(), &release)?;
            release.to_string()
        }
    };
    if asked.is_empty() {
        let choice = Choice::new(patches, series, manifest, graph(), &base)?;
        return Ok((base, choice));
    }
    let (base, names) = series.resolve(patches, Some(&base), asked)?;
    let left_out = Vec::new();
    Ok((base, Choice { names, left_out }))
}

/// The Plonky3 release of the workspace with this `manifest`: that of the packages that patches touch.
fn release(
    patches: &Patches,
    series: &Series,
    manifest: &Path,
    graph: &Metadata,
) -> Result<Version> {
    let touched = series.packages(patches);
    let mut releases = BTreeMap::<_, Vec<_>>::new();
    for package in &graph.packages {
        if touched.contains(package.name.as_str()) {
            releases.entry(&package.version).or_default().push(package);
        }
    }
    let ends = releases.first_key_value().zip(releases.last_key_value());
    let Some(((oldest, packages), (newest, _))) = ends else {
        return Err(nothing_to_patch(manifest, touched.iter().map(String::as_str)).into());
    };
    if oldest == newest {
        return Ok((*newest).clone());
    }
    let hint = if compatible(oldest, newest) {
        update(graph, reachable(series, newest).unwrap_or(newest))
    } else {
        format!(
            "`cargo tree --invert {}@{oldest}` shows who brings it in; the prover has to take Plonky3 in one release",
            packages[0].name
        )
    };
    let asked = (releases.iter()).map(|(release, packages)| {
        format!(
            "{release}, for {}",
            brought_by(graph, packages).join(" and ")
        )
    });
    Err(Failure::input(format!(
        "{}: has more than one Plonky3 release: {}",
        manifest.display(),
        asked.collect::<Vec<_>>().join("; ")
    ))
    .hint(hint)
    .into())
}

/// The refusal of a workspace that has none of `packages`.
pub fn nothing_to_patch<'p>(manifest: &Path, packages: impl Iterator<Item = &'p str>) -> Failure {
    Failure::input(format!(
        "{}: no package here depends on {}",
        manifest.display(),
        packages.collect::<Vec<_>>().join(", ")
    ))
    .hint("--manifest-path names the workspace of a prover that uses Plonky3")
}

/// Refuses a workspace on a `release` that there are no patches for, and says which releases are near and how to reach one.
fn refuse_unported(
    series: &Series,
    manifest: &Path,
    graph: &Metadata,
    release: &Version,
) -> Result<()> {
    if series.bases.contains(release) {
        return Ok(());
    }
    let older = series.bases.iter().rfind(|base| *base < release);
    let newer = series.bases.iter().find(|base| *base > release);
    let near = older.into_iter().chain(newer).map(Version::to_string);
    let near = near.collect::<Vec<_>>().join(" and ");
    let hint = match reachable(series, release) {
        Some(base) => update(graph, base),
        None => format!(
            "`cargo update` reaches none of these, which are not compatible with {release}: change the versions in the manifest"
        ),
    };
    Err(Failure::input(format!(
        "{}: uses Plonky3 {release}, which there are no patches for; the nearest that have some: {near}",
        manifest.display()
    ))
    .hint(hint)
    .into())
}

/// The newest release with patches that cargo takes for compatible.
fn reachable<'s>(series: &'s Series, release: &Version) -> Option<&'s Version> {
    (series.bases.iter()).rfind(|base| compatible(base, release))
}

/// The command that moves Plonky3 to `release`, where cargo takes that for compatible.
fn update(graph: &Metadata, release: &Version) -> String {
    let other = |package: &&Package| {
        is_plonky3(package) && package.version != *release && compatible(&package.version, release)
    };
    let others = graph.packages.iter().filter(other);
    let (registry, elsewhere) = others.partition::<Vec<_>, _>(|package| {
        (package.source.as_ref()).is_some_and(|source| source.is_crates_io())
    });
    if let [package, ..] = elsewhere[..] {
        return format!("pin {release} where {} comes from", package.name);
    }
    let names = registry.into_iter().map(|package| package.name.as_str());
    let names = names
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect::<Vec<_>>();
    format!(
        "`cargo update --precise {release} {}` moves to it",
        names.join(" ")
    )
}

/// The packages that bring those of one release into a graph, as `cargo tree --invert` shows them: the nearest ones above
/// that are not of that release.
pub fn brought_by(graph: &Metadata, packages: &[&Package]) -> Vec<String> {
    let nodes = graph.resolve.iter().flat_map(|resolve| &resolve.nodes);
    let nodes = nodes.collect::<Vec<_>>();
    let mut reached: BTreeSet<&PackageId> = packages.iter().map(|package| &package.id).collect();
    let mut todo: Vec<_> = reached.iter().copied().collect();
    let mut found = BTreeSet::new();
    while let Some(package) = todo.pop() {
        for node in nodes
            .iter()
            .filter(|node| node.dependencies.contains(package))
        {
            let above = &graph[&node.id];
            if !is_plonky3(above) || above.version != packages[0].version {
                found.insert(format!("{} {}", above.name, above.version));
            } else if reached.insert(&node.id) {
                todo.push(&node.id);
            }
        }
    }
    found.into_iter().collect()
}

/// The releases in cargo's copy of the index that a build without patches could take in place of `base`, each with the packages
/// that have it.
pub fn newer<'p>(
    packages: impl IntoIterator<Item = &'p String>,
    base: &str,
) -> Result<BTreeMap<Version, Vec<&'p str>>> {
    let base = Version::parse(base)?;
    let mut found = BTreeMap::<_, Vec<_>>::new();
    for package in packages {
        for release in source::indexed(package)? {
            if release > base && release.pre.is_empty() && compatible(&base, &release) {
                found.entry(release).or_default().push(package.as_str());
            }
        }
    }
    Ok(found)
}

fn is_plonky3(package: &Package) -> bool {
    package.name.starts_with("p3-")
}

/// Whether a requirement of the older one's accepts the newer one.
fn compatible(a: &Version, b: &Version) -> bool {
    let caret = VersionReq::parse(&format!("^{}", a.min(b)));
    caret.is_ok_and(|caret| caret.matches(a.max(b)))
}
