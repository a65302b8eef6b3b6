//! `apply`: trees, the stanza, and the proof that the next build uses them.

use std::collections::BTreeMap;

use anyhow::Result;
use cargo_metadata::Metadata;
use cargo_metadata::semver::Version;
use indexmap::IndexMap;

use super::{Downstream, Source};
use crate::catalog::Catalog;
use crate::catalog::effects::{self, Effects};
use crate::project::Patches;
use crate::prover::choice::{self, Choice};
use crate::prover::git_source::Checkout;
use crate::prover::graph::{self, Use};
use crate::prover::locked_dir::LockedDir;
use crate::prover::manifest::Manifest;
use crate::prover::restore::Restore;
use crate::prover::stanza::{Stanza, TREES};
use crate::prover::tree::{self, Tree};
use crate::source::resolve::architectures;
use paired::address::without_credentials;
use paired::cargo::{self, Toolchain};
use paired::error::Failure;
use paired::isa::Isa;
use paired::run::rustflags::Rustflags;
use paired::terminal::{Progress, print_line, shown, spinner};

/// Point a prover's workspace at patched packages.
///
/// Writes the patched packages to `.p3-patches` beside the workspace's root manifest, adds a block of overrides to
/// that manifest, and proves that the resolved graph uses every one. The release is that of the workspace's lock file,
/// and the patches are all that touch a package of its graph and do something on this architecture, or on that of
/// cargo's `build.target`. What was left out is printed with the reason, and what each patch gains in the part of a
/// prover that gains most: the time with it to the time without, in its newest record on this CPU's instruction set.
///
/// NAMEs choose other patches, and replace what was applied before; what they need is applied too. Where the manifest
/// records patches, for example after a colleague has cloned it, these are applied again.
///
/// A workspace that has Plonky3 from git names the repository with `--source`. Its sources have to equal the release's.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo p3 apply --manifest-path ../prover/Cargo.toml
  cargo p3 apply batched-permute --manifest-path ../prover/Cargo.toml
  cargo p3 apply batched-permute --source https://github.com/Plonky3/Plonky3 --rev a21e3ed")]
pub struct Args {
    /// Patches to apply; `list` shows them.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// The Plonky3 release to patch [default: as recorded, else the one that the workspace is locked to].
    #[arg(long, value_name = "VERSION")]
    base: Option<String>,
    #[command(flatten)]
    source: Source,
    /// Print each patch's record in full, where the packages are, and the offsets at which hunks apply.
    #[arg(long)]
    verbose: bool,
    #[command(flatten)]
    downstream: Downstream,
}

/// The result of a successful run.
struct Applied {
    base: String,
    names: Vec<String>,
    /// The instruction set whose gains are shown.
    isa: Isa,
    /// Where no names were given, the patches that were not chosen, with the reason.
    left_out: Vec<(String, String)>,
    trees: Vec<Tree>,
    notes: Vec<String>,
}

pub fn run(args: &Args, patches: &Patches) -> Result<()> {
    let catalog = Catalog::load(patches)?;
    let effects = Effects::load(&catalog)?;
    let manifest = Manifest::load(&args.downstream.manifest_path)?;
    let catalog = &catalog.at_work_in(manifest.root());
    if Some(manifest.root()) == patches.root() {
        let path = shown(&manifest.path);
        return Err(Failure::input(format!(
            "{path}: the baseline of the measurements stays unpatched"
        ))
        .hint("--manifest-path names your prover's Cargo.toml")
        .into());
    }
    let folder = LockedDir::lock(&manifest.trees())?;
    // Once more, now that no other run can change it.
    let manifest = Manifest::load(&manifest.path)?;
    let progress = spinner("applying patches");
    let applied = manifest.edit(&folder, |files| {
        apply(files, args, catalog, &manifest, &folder, &progress)
    });
    let kept = match &applied {
        Ok(applied) => applied.trees.iter().map(|tree| tree.path.clone()).collect(),
        Err(_) => manifest.named_trees(),
    };
    let cleaned = tree::keep_only(folder, &kept);
    let Applied {
        base,
        names,
        isa,
        left_out,
        trees,
        notes,
    } = applied?;
    cleaned?;
    progress.finish_and_clear();

    manifest.print_moved();
    // A compiler that does not answer is no reason to fail: the patches are applied.
    let flags = on_flags(&manifest, isa == Isa::best()).unwrap_or_default();
    for note in notes.into_iter().chain(flags) {
        print_line("note", &note);
    }
    // More names are easier to read below, by what the patches gain.
    let applied = match &*names {
        [_] | [_, _] | [_, _, _] => names.join(", "),
        names => format!("{} patches", names.len()),
    };
    println!("applied {applied} to {}", shown(&manifest.path));
    println!("  patches {}", catalog.sha256(&base, &names)?);
    if args.verbose {
        for name in &names {
            println!("  {name}: {}", effects.phrase(name, &base, isa));
        }
        for tree in &trees {
            let (package, version) = (&tree.package, &tree.version);
            println!("  {package} {version} -> {}", shown(&tree.path));
        }
    } else {
        for line in effects.summary(&names, &base, isa) {
            println!("  {line}");
        }
    }
    for (names, reason) in alike(left_out) {
        println!("left out {names}: {reason}");
    }
    println!(
        "builds here use them from now on; docs/teams.md says what that means for audits, `cargo update` and stored proofs"
    );
    Ok(())
}

/// Returns each reason once, with the names that it holds for.
fn alike(reasons: impl IntoIterator<Item = (String, String)>) -> Vec<(String, String)> {
    let mut alike: IndexMap<String, Vec<String>> = IndexMap::new();
    for (name, reason) in reasons {
        alike.entry(reason).or_default().push(name);
    }
    let alike = alike.into_iter();
    alike
        .map(|(reason, names)| (names.join(", "), reason))
        .collect()
}

/// Writes the trees and the stanza. The order matters: trees stand complete before the manifest names them, and old
/// ones go when it no longer does, so whenever this is killed, the manifest names whole trees.
fn apply(
    [file, lock]: [&mut Restore<'_>; 2],
    args: &Args,
    catalog: &Catalog,
    manifest: &Manifest,
    folder: &LockedDir,
    progress: &Progress,
) -> Result<Applied> {
    catalog.select(&args.names)?;
    let doubts = manifest.doubts(&catalog.patches)?;
    let recorded = manifest.stanza.as_ref();
    let recorded_source = recorded.and_then(|stanza| stanza.git.as_ref());
    let source = args.source.url(manifest)?;
    // Recorded patches are replaced in one step: they stay in place until then.
    let unpatched = match (recorded, recorded_source) {
        (None, _) => {
            manifest.restore_left_behind(lock, &catalog.patches)?;
            Some(manifest.resolve(lock, &[])?)
        }
        (Some(_), Some(git)) => Some(manifest.graph_from(git, folder, &catalog.patches)?),
        (Some(_), None) => None,
    };

    let asked = match recorded {
        Some(stanza) if args.names.is_empty() => {
            catalog.assert_recorded(&stanza.names)?;
            &stanza.names
        }
        _ => &args.names,
    };
    let known = (args.base.as_deref()).or(recorded.map(|stanza| stanza.base.as_str()));
    let (base, Choice { names, left_out }) = match &unpatched {
        Some(graph) => {
            choice::applicable(catalog, manifest, graph, known, asked, source.is_some())?
        }
        None => {
            let (base, names) = catalog.resolve(known, asked)?;
            let left_out = Vec::new();
            (base, Choice { names, left_out })
        }
    };

    let checkout = match (source, &unpatched) {
        (Some(url), Some(graph)) => {
            let shown = without_credentials(url);
            progress.set_message(format!("comparing {shown} with Plonky3 {base}"));
            let checkout = Checkout::find(&manifest.path, graph, url, args.source.rev.as_deref())?;
            for (name, package) in &checkout.packages {
                let version = package.version.to_string();
                check_version(manifest, name, &version, &base, catalog, asked)?;
            }
            checkout.assert_release(&catalog.patches, &base)?;
            Some(checkout)
        }
        _ => None,
    };

    progress.set_message("writing the patched packages");
    // In a clone, nothing but the lock file tells the graph before the trees are there.
    let is_locked = manifest.locked();
    let mut recorded_packages = recorded.iter().flat_map(|stanza| stanza.overrides.keys());
    let tells = recorded_packages.any(|package| is_locked(package));
    let is_used = |package: &str| match &unpatched {
        Some(graph) => graph::has(graph, package),
        None => !tells || is_locked(package),
    };
    let mut plan = tree::plan(catalog, &base, &names, false, is_used)?;
    plan.assert_available(&is_locked)?;
    if args.verbose {
        plan.print_notes();
    }
    let mut trees = plan.write(folder, true)?;
    let replaced = match recorded {
        Some(stanza) if args.names.is_empty() && args.base.is_none() => replaced(stanza, &trees),
        _ => None,
    };
    progress.set_message("resolving the graph");
    let mut write = |trees: &[Tree]| {
        let git = checkout
            .as_ref()
            .map(|checkout| checkout.replaced_by(trees));
        let packages = trees.iter().map(|tree| &*tree.package);
        manifest.assert_unpatched(packages, git.as_ref(), manifest.root(), &[])?;
        let stanza = Stanza {
            base: base.clone(),
            names: names.clone(),
            overrides: places(trees),
            not_incremental: (manifest.incremental(trees)?.into_iter())
                .flat_map(|(profile, packages)| {
                    (packages.into_iter()).map(move |package| (profile.clone(), package))
                })
                .collect(),
            git,
        };
        manifest.set(Some(&stanza), &catalog.patches, folder, [file, lock])?;
        manifest.resolve(lock, &[])
    };
    // A patch may span packages of which this prover uses some. What its graph lacks cannot be overridden and need
    // not be; what it has in another version or from elsewhere is a failure, found below.
    let missing: Vec<_> = plan.missing().cloned().collect();
    let mut absent = missing.clone();
    let mut set_aside = |trees: &mut Vec<Tree>, metadata: &Metadata| -> Result<()> {
        plan.assert_available(|package| graph::has(metadata, package))?;
        let unused = |tree: &mut Tree| graph::usage(metadata, tree) == Use::Absent;
        absent.extend(trees.extract_if(.., unused).map(|tree| tree.package));
        if trees.is_empty() {
            let packages = absent.iter().map(String::as_str);
            return Err(choice::nothing_to_patch(&manifest.path, packages).into());
        }
        Ok(())
    };
    // Where the graph is known, the manifest need not be written for it.
    if let (None, Some(graph)) = (recorded, &unpatched) {
        set_aside(&mut trees, graph)?;
    } else if !trees.iter().all(|tree| is_locked(&tree.package))
        && let Ok(graph) = manifest.resolve_locked()?
    {
        set_aside(&mut trees, &graph)?;
    }
    let mut metadata = write(&trees)?;
    let is_new = |package: &String| !is_locked(package) && graph::has(&metadata, package);
    if missing.iter().any(is_new) {
        // The lock file has this package since cargo has resolved the graph.
        return apply([file, lock], args, catalog, manifest, folder, progress);
    }
    let named = trees.len();
    set_aside(&mut trees, &metadata)?;
    if trees.len() < named {
        metadata = write(&trees)?;
    }
    for tree in &trees {
        if let Use::Bypassed(found) = graph::usage(&metadata, tree) {
            for (version, _) in found {
                check_version(manifest, &tree.package, &version, &base, catalog, asked)?;
            }
        }
    }
    graph::assert_in_place(&manifest.path, &metadata, &trees, checkout.as_ref())?;
    let architectures = architectures(manifest.root())?;
    let inert = alike(catalog.inert(&base, &names, &architectures)?).into_iter();
    let mut notes: Vec<_> = inert
        .map(|(names, reason)| format!("{names}: {reason}"))
        .collect();
    if !absent.is_empty() {
        let absent = absent.join(", ");
        notes.push(format!(
            "nothing here depends on {absent}, which the patches change too"
        ));
    }
    notes.extend(replaced);
    let patched = trees.iter().map(|tree| &tree.package);
    notes.extend(graph::other_releases(&metadata, patched, &base));
    notes.extend(manifest.assert_reviewed(&catalog.patches)?);
    notes.extend(doubts);
    let paths: Vec<_> = trees.iter().map(|tree| tree.path.clone()).collect();
    let git = checkout.as_ref().map(|checkout| &checkout.source);
    notes.extend(graph::foreign(&catalog.patches, &metadata, &paths, git)?);
    notes.extend(incremental(manifest, &trees)?);
    Ok(Applied {
        isa: effects::isa(&architectures),
        base,
        names,
        left_out,
        trees,
        notes,
    })
}

/// Writes down which settings have cargo compile the trees incrementally, where it compiles published packages as a whole.
fn incremental(manifest: &Manifest, trees: &[Tree]) -> Result<Vec<String>> {
    let slower = |setting: &str| {
        format!(
            "{setting} has cargo compile patched packages incrementally, and published ones not; they run slower for it"
        )
    };
    let mut notes = Vec::new();
    for (profile, packages) in manifest.incremental(trees)? {
        notes.push(match packages.len() == trees.len() {
            true => format!(
                "profile {profile} compiles incrementally, which slows packages down; the block excepts the patched ones, as cargo does published ones"
            ),
            false => slower(&format!("profile {profile}")),
        });
    }
    let root = manifest.root();
    const KEY: &str = "profile.release.incremental";
    let profiles = manifest.configured_incremental()?;
    // A variable is no part of a table of the configuration.
    let of_release = !profiles.iter().any(|profile| profile == "release")
        && cargo::configuration(root, KEY, &[])? == true;
    let profiles = profiles.iter();
    let profiles = profiles.map(|profile| format!("profile {profile} of cargo's configuration"));
    let everywhere = cargo::incremental(root, &[])?.map(str::to_owned);
    let settings = profiles
        .chain(everywhere)
        .chain(of_release.then(|| KEY.to_owned()));
    notes.extend(settings.map(|setting| slower(&setting)));
    Ok(notes)
}

/// Writes down what patched packages have of the workspace's compiler flags: lints that are denied, and, where the figures are of
/// `this_cpu`, that packed kernels need its vectors.
fn on_flags(manifest: &Manifest, this_cpu: bool) -> Result<Vec<String>> {
    let root = manifest.root();
    let host = Toolchain::of(cargo::rustc_in(root))?.host;
    let rustflags = Rustflags::read(cargo::rustc_in(root), root, &[], &host)?;
    let mut notes = Vec::new();
    if rustflags.denies_lints() {
        notes.push(
            "the compiler flags here deny lints, and cargo keeps these from packages of a registry, not from patched ones; docs/teams.md has the ways out"
                .to_owned(),
        );
    }
    let chooses = |flag: &String| flag.contains("target-cpu") || flag.contains("target-feature");
    if this_cpu && cfg!(target_arch = "x86_64") && !rustflags.flags.iter().any(chooses) {
        notes.push(format!(
            "these figures are of builds that use this CPU's vector instructions; builds here are for any x86-64 CPU. \
             `{}` has them use its own",
            rustflags.for_this_cpu()
        ));
    }
    Ok(notes)
}

/// Writes down which trees are others than the manifest has recorded, where its patches are applied again.
fn replaced(recorded: &Stanza, trees: &[Tree]) -> Option<String> {
    let mut places = places(trees);
    places.retain(|package, place| {
        let before = recorded.overrides.get(package);
        before.is_some_and(|before| before != place)
    });
    let packages: Vec<_> = places.into_keys().collect();
    (!packages.is_empty()).then(|| {
        format!(
            "the manifest had recorded other patched sources of {}; its block names those of this tool's patches now",
            packages.join(", ")
        )
    })
}

/// Tells where the trees are, as the manifest writes it.
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

/// Refuses a workspace that has `package` of another release than `base`, and says whether that one contains the patches.
fn check_version(
    manifest: &Manifest,
    package: &str,
    version: &str,
    base: &str,
    catalog: &Catalog,
    asked: &[String],
) -> Result<()> {
    if version == base {
        return Ok(());
    }
    catalog.refuse_merged(&Version::parse(version)?, asked)?;
    Err(Failure::input(format!(
        "{}: uses {package} {version}, and these patches are for Plonky3 {base}",
        shown(&manifest.path),
    ))
    .hint(
        "`cargo p3 remove` takes out what is applied, then `apply` goes by what the workspace has",
    )
    .into())
}
