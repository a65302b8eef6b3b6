//! `apply`: trees, the stanza, and the proof that the next build uses them.

use std::collections::BTreeMap;

use anyhow::Result;
use cargo_metadata::Metadata;
use cargo_metadata::semver::Version;
use indicatif::ProgressBar;

use super::{Downstream, spinner};
use crate::error::Failure;
use crate::git_source::Checkout;
use crate::manifest::{self, Git, Manifest, Restore, Stanza, TREES, Use};
use crate::patch;
use crate::project::Patches;
use crate::series::Series;
use crate::tree::{self, Folder, Tree};

/// Point a prover's workspace at patched packages.
///
/// Writes the patched packages to `.p3-patches` beside the workspace's root manifest, adds a block of overrides to
/// that manifest, and proves that the resolved graph uses every one. NAMEs replace what was applied before; what
/// they need is applied too. Without a NAME, what the manifest records is applied again, for example after a
/// colleague has cloned it.
///
/// A workspace that has Plonky3 from git names the repository with `--source`. Its sources have to equal the release's.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo p3 apply batched-permute --manifest-path ../prover/Cargo.toml
  cargo p3 apply batched-permute --source https://github.com/Plonky3/Plonky3 --rev a21e3ed")]
pub struct Args {
    /// Patches to apply; `list` shows them.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// The Plonky3 release that the workspace uses [default: as recorded, else the newest that has patches].
    #[arg(long, value_name = "VERSION")]
    base: Option<String>,
    /// The git repository that the workspace has Plonky3 from [default: as recorded, else the registry].
    #[arg(long, value_name = "URL")]
    source: Option<String>,
    /// Fail unless this is the revision, tag or branch that the workspace pins, or the commit that it is locked to.
    #[arg(long, value_name = "REV", requires = "source")]
    rev: Option<String>,
    #[command(flatten)]
    downstream: Downstream,
}

/// What came of it.
struct Applied {
    names: Vec<String>,
    /// Those of them that change nothing on this machine, and why.
    inert: BTreeMap<String, String>,
    trees: Vec<Tree>,
    /// Patched too, but not in the prover's graph.
    absent: Vec<Tree>,
}

pub fn run(args: &Args, patches: &Patches) -> Result<()> {
    let series = Series::load(patches)?;
    let manifest = Manifest::load(&args.downstream.manifest_path)?;
    if Some(manifest.root()) == patches.root() {
        let path = manifest.path.display();
        return Err(Failure::input(format!(
            "{path}: the baseline of the measurements stays unpatched"
        ))
        .hint("--manifest-path names your prover's Cargo.toml")
        .into());
    }
    let folder = Folder::lock(&manifest.trees())?;
    // Once more, now that no other run can change it.
    let manifest = Manifest::load(&manifest.path)?;
    let progress = spinner("applying patches");
    let applied = apply(args, patches, &series, &manifest, &folder, &progress);
    let kept = match (&applied, &manifest.stanza) {
        (Ok(applied), _) => applied.trees.iter().map(|tree| tree.path.clone()).collect(),
        (Err(_), Some(stanza)) => stanza
            .overrides
            .values()
            .map(|place| manifest.root().join(place))
            .collect(),
        (Err(_), None) => Vec::new(),
    };
    let cleaned = folder.keep_only(&kept);
    let Applied {
        names,
        inert,
        trees,
        absent,
    } = applied?;
    cleaned?;
    progress.finish_and_clear();

    for (name, reason) in inert {
        eprintln!("note: {name}: {reason}");
    }
    for tree in absent {
        eprintln!(
            "note: {} is patched too, but nothing here depends on it",
            tree.package
        );
    }
    println!(
        "applied {} to {}",
        names.join(", "),
        manifest.path.display()
    );
    for Tree {
        package,
        version,
        path,
    } in &trees
    {
        println!("  {package} {version} -> {}", path.display());
    }
    Ok(())
}

/// Writes the trees and the stanza. The order matters: trees stand complete before the manifest names them, and old
/// ones go when it no longer does, so whenever this is killed, the manifest names whole trees.
fn apply(
    args: &Args,
    patches: &Patches,
    series: &Series,
    manifest: &Manifest,
    folder: &Folder,
    progress: &ProgressBar,
) -> Result<Applied> {
    let recorded = manifest.stanza.as_ref();
    let asked = match (args.names.is_empty(), recorded) {
        (false, _) => &args.names,
        (true, Some(stanza)) => &stanza.names,
        (true, None) => {
            return Err(Failure::input(format!(
                "{}: no patches are recorded here",
                manifest.path.display()
            ))
            .hint("name the patches to apply; `cargo p3 list` shows them")
            .into());
        }
    };
    let base = args
        .base
        .as_deref()
        .or(recorded.map(|stanza| stanza.base.as_str()));
    let (base, names) = series.resolve(patches, base, asked)?;

    let restore = Restore::new(folder, [&*manifest.path, &manifest.lock_file()])?;
    let recorded_source = recorded.and_then(|stanza| stanza.git.as_ref());
    let source = (args.source.as_deref()).or(recorded_source.map(|git| git.source.url()));
    let unpatched;
    let checkout = match source {
        None => None,
        Some(url) => {
            progress.set_message(format!("comparing {url} with Plonky3 {base}"));
            manifest.set(None, folder, patches)?;
            unpatched = manifest.resolve()?;
            let checkout = Checkout::find(&manifest.path, &unpatched, url, args.rev.as_deref())?;
            for (name, package) in &checkout.packages {
                let version = package.version.to_string();
                check_version(manifest, name, &version, &base, patches, series, asked)?;
            }
            checkout.assert_release(patches, &base)?;
            Some(checkout)
        }
    };

    progress.set_message(format!("writing {}", names.join(", ")));
    let mut trees = tree::materialize(patches, &base, &names, folder)?;
    progress.set_message("resolving the graph");
    let write = |trees: &[Tree]| {
        let git = checkout.as_ref().map(|checkout| Git {
            source: checkout.source.clone(),
            needed: checkout.needed_by(trees),
        });
        let stanza = Stanza {
            base: base.clone(),
            names: names.clone(),
            overrides: places(trees),
            git,
        };
        manifest.set(Some(&stanza), folder, patches)?;
        manifest.resolve()
    };
    // A patch may span packages of which this prover uses some. What its graph lacks cannot be overridden and need
    // not be; what it has in another version or from elsewhere is a failure, found below.
    let mut absent = Vec::new();
    let mut set_aside = |trees: &mut Vec<Tree>, metadata: &Metadata| {
        absent.extend(trees.extract_if(.., |tree| manifest::usage(metadata, tree) == Use::Absent));
        if !trees.is_empty() {
            return Ok(());
        }
        let packages = absent.iter().map(|tree| tree.package.as_str());
        Err(Failure::input(format!(
            "{}: no package here depends on {}",
            manifest.path.display(),
            packages.collect::<Vec<_>>().join(", ")
        ))
        .hint("--manifest-path names the workspace of a prover that uses Plonky3"))
    };
    // Where the graph is known, the manifest need not be written for it.
    if !manifest.locks(&trees)
        && let Ok(metadata) = manifest.resolve_locked()?
    {
        set_aside(&mut trees, &metadata)?;
    }
    let mut metadata = write(&trees)?;
    let named = trees.len();
    set_aside(&mut trees, &metadata)?;
    if trees.len() < named {
        metadata = write(&trees)?;
    }
    for tree in &trees {
        if let Use::Bypassed(found) = manifest::usage(&metadata, tree) {
            for (version, _) in found {
                check_version(
                    manifest,
                    &tree.package,
                    &version,
                    &base,
                    patches,
                    series,
                    asked,
                )?;
            }
        }
    }
    manifest::assert_overrides_used(&metadata, &trees)?;
    if let Some(checkout) = &checkout {
        for name in checkout.packages.keys() {
            manifest::assert_one_copy(&metadata, name, &base)?;
        }
    }
    restore.keep();
    Ok(Applied {
        inert: patch::inert(patches, &base, &names)?,
        names,
        trees,
        absent,
    })
}

/// Where the trees are, as the manifest writes it.
fn places(trees: &[Tree]) -> BTreeMap<String, String> {
    let place = |tree: &Tree| {
        let folder = tree
            .path
            .file_name()
            .expect("a tree has a name")
            .to_string_lossy()
            .into_owned();
        (
            tree.package.clone(),
            format!("{TREES}/{}/{folder}", tree.version),
        )
    };
    trees.iter().map(place).collect()
}

/// Refuses a workspace that has `package` of another release than `base`, and says whether that one contains the patches,
/// else which ones there are patches for.
fn check_version(
    manifest: &Manifest,
    package: &str,
    version: &str,
    base: &str,
    patches: &Patches,
    series: &Series,
    asked: &[String],
) -> Result<()> {
    if version == base {
        return Ok(());
    }
    series.refuse_merged(patches, &Version::parse(version)?, asked)?;
    let bases = series
        .bases
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>();
    Err(Failure::input(format!(
        "{}: uses {package} {version}, and these patches are for Plonky3 {base}",
        manifest.path.display(),
    ))
    .hint(format!(
        "bases that exist: {}; choose one with --base",
        bases.join(", ")
    ))
    .into())
}
