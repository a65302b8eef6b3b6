//! `status`: whether what a manifest records is what a build uses.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use cargo_metadata::Metadata;
use comfy_table::{Table, presets};
use serde::Serialize;

use super::Downstream;
use super::as_called;
use crate::catalog::Catalog;
use crate::project::Patches;
use crate::prover::choice;
use crate::prover::git_source::{Checkout, GitSource};
use crate::prover::graph::{self, Use};
use crate::prover::manifest::Manifest;
use crate::prover::stanza::Stanza;
use crate::prover::tree::{self, Planned, Stamp, StampedPatch, Tree};
use crate::source::checksums::Checksums;
use crate::source::locked::{Locked, packages};
use crate::source::registry;
use paired::address::without_credentials;
use paired::cargo::{
    ANOTHER_REGISTRY, configured_by, is_unfetched, out_of_a_changed_package,
    out_of_a_wrong_configuration, out_of_a_wrong_lock_file, replacement,
};
use paired::error::Failure;
use paired::files::dir::{Dir, cannot_write};
use paired::show::report;
use paired::terminal::{print_line, spinner};

/// Show what is applied to a workspace, and whether it holds.
///
/// Where nothing is applied, names what `apply` would choose. Otherwise every tree is made again in memory, from the
/// registry's tarball and the patches, and compared with the one on disk. Exits with 1 if a tree differs, is missing, or
/// is not what the workspace's graph uses.
///
/// The tarball is the one whose checksum was reviewed with the patches. Where cargo's configuration replaces the
/// registry by vendored sources, and there is no tarball, their files stand in for it, and their checksums for the index. With
/// --verify, the registry's index has to agree, and the workspace's lock file in what was reviewed; it is printed what each tree
/// was made from, by which files it differs, and what cargo's configuration has in place of crates.io.
///
/// Cargo runs the programs that its configuration in the workspace names. With --without-cargo no program is run: packages come
/// from cargo's cache, and the manifest and the lock file say whether the trees are used. The lock file's checksums have to be
/// those that were reviewed, as with --verify. Cargo's configuration is not read: `paths` in it go unseen, and a `[patch]` is seen
/// in the lock file alone.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo p3 status --manifest-path ../prover/Cargo.toml
  cargo p3 status --verify --manifest-path ../prover/Cargo.toml
  cargo p3 status --without-cargo --manifest-path ../prover/Cargo.toml")]
pub struct Args {
    /// Run no program: compare the root manifest, the lock file and the trees alone.
    #[arg(long, conflicts_with_all = ["verify", "published_lock"])]
    without_cargo: bool,
    /// Ask the registry's index too, and print what each tree was made from.
    #[arg(long)]
    verify: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Write the workspace's lock file to FILE as it is without the patches, for tools that look packages up in a registry.
    #[arg(long, value_name = "FILE")]
    published_lock: Option<PathBuf>,
    #[command(flatten)]
    downstream: Downstream,
}

#[derive(Serialize)]
struct Status {
    manifest: String,
    base: Option<String>,
    /// The git source that the trees replace, in cargo's notation; null where they replace the registry's packages.
    source: Option<String>,
    patches: Vec<String>,
    /// The hash that `apply` prints for these patches.
    patches_sha256: Option<String>,
    /// With `--verify`: whether these are the patches that were compiled into the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    built_in: Option<bool>,
    /// Where nothing is applied: what `apply` would choose.
    available: Vec<String>,
    /// The patches that change no build for this machine's architecture, and why.
    inert: BTreeMap<String, String>,
    trees: Vec<TreeStatus>,
    /// The patched packages that the graph has in other releases too, and the packages that bring them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    other_releases: Vec<String>,
    /// The releases in cargo's copy of the index that `cargo update` would take, were no patches applied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    newer_releases: Vec<String>,
    /// The headers of tables and the comments inside the manifest's block that the tool has not written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    inside_block: Vec<String>,
    /// With `--verify`: what cargo takes in place of crates.io.
    #[serde(skip_serializing_if = "Option::is_none")]
    replacement: Option<String>,
    /// With `--verify` or `--without-cargo`: what the workspace's lock file has another checksum of than was reviewed with the patches,
    /// or in a version that was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    lock: Option<LockStatus>,
}

#[derive(Serialize)]
struct LockStatus {
    differences: Vec<String>,
    /// Packages with the same checksum in both.
    same: usize,
}

#[derive(Serialize)]
struct TreeStatus {
    package: String,
    path: String,
    /// `intact`, `changed`, `missing`, or `outdated` where the patches give another tree by now.
    state: &'static str,
    used: bool,
    /// With `--verify`.
    #[serde(skip_serializing_if = "Option::is_none")]
    made_from: Option<Provenance>,
}

/// The origin that a tree has to have, and the objections to it.
#[derive(Serialize)]
struct Provenance {
    /// The SHA-256 of the registry's tarball.
    checksum: String,
    /// Whether that was reviewed with the patches.
    reviewed: bool,
    /// The folder that the files come from, where that is not the tarball.
    #[serde(skip_serializing_if = "Option::is_none")]
    vendored: Option<PathBuf>,
    /// Upstream's, and the package's folder there, by the tarball.
    commit: String,
    folder: String,
    patches: Vec<StampedPatch>,
    differences: Vec<String>,
}

impl Provenance {
    fn new(patches: &Patches, planned: &Planned, tree: Option<&Dir>) -> Result<Self> {
        let Stamp {
            package,
            version,
            checksum,
            commit,
            folder,
            patches: applied,
            ..
        } = &planned.stamp;
        let objection = registry::objection(patches, package, version, checksum)?;
        let mut differences: Vec<_> = objection.into_iter().collect();
        if let Some(tree) = tree {
            differences.extend(planned.differences(tree)?);
        }
        Ok(Self {
            checksum: checksum.clone(),
            reviewed: registry::reviewed(patches, package, version)?.is_some(),
            vendored: planned.vendored.clone(),
            commit: commit.clone(),
            folder: folder.clone(),
            patches: applied.clone(),
            differences,
        })
    }
}

pub fn run(args: &Args, patches: &Patches) -> Result<()> {
    let path = &args.downstream.manifest_path;
    let (manifest, patches) = if args.without_cargo {
        (Manifest::load_by_itself(path)?, &patches.without_cargo())
    } else {
        (Manifest::load(path)?, patches)
    };
    let mut status = Status {
        manifest: manifest.path.display().to_string(),
        base: None,
        source: None,
        patches: Vec::new(),
        patches_sha256: None,
        built_in: None,
        available: Vec::new(),
        inert: BTreeMap::new(),
        trees: Vec::new(),
        other_releases: Vec::new(),
        newer_releases: Vec::new(),
        inside_block: manifest.moved.clone(),
        replacement: None,
        lock: None,
    };
    let patches = &patches.at_work_in(manifest.root());
    if let Some(path) = &args.published_lock {
        let own = report::assert_unread(path, &manifest.inputs());
        if path.ends_with("Cargo.toml") || own.is_err() {
            let what = format!(
                "--published-lock {}: a file that cargo or this tool reads",
                path.display()
            );
            return Err(Failure::input(what)
                .hint("name another file, such as published.lock")
                .into());
        }
        let lock = manifest.published_lock(patches)?;
        fs::write(path, lock).map_err(|error| cannot_write(path, &error))?;
    }
    let catalog = &Catalog::load(patches)?;
    let lock = manifest.lock()?;
    if args.without_cargo && lock.is_empty() {
        let what = format!("{}: no Cargo.lock beside it", manifest.path.display());
        return Err(Failure::input(what)
            .hint("--without-cargo looks at a workspace that has been built")
            .into());
    }
    let Some(stanza) = &manifest.stanza else {
        let metadata = match args.without_cargo {
            true => None,
            false => Some(manifest.resolve_locked()?),
        };
        let mut objection = None;
        if args.verify || args.without_cargo {
            let metadata = metadata.as_ref().and_then(|graph| graph.as_ref().ok());
            let (compared, unreviewed) = compare_lock(args, patches, &manifest, &lock, metadata)?;
            status.lock = Some(compared);
            objection = unreviewed;
        }
        if args.verify {
            status.replacement = replacement(manifest.root())?;
        }
        let chosen = metadata.map(|graph| {
            graph.map(|graph| choice::applicable(catalog, &manifest, &graph, None, &[], false))
        });
        match chosen.transpose() {
            Ok(None) => {}
            Ok(Some(Ok((_, choice)))) => status.available = choice.names,
            Ok(Some(Err(error))) => {
                print_line("note", &format!("`apply` would not work here: {error}"));
                let failure = Failure::behind(&error);
                if let Some(hint) = failure.and_then(|failure| failure.hint.as_ref()) {
                    print_line("hint", &as_called(hint));
                }
            }
            Err(error) => {
                let configured = out_of_a_wrong_configuration(manifest.root(), &error);
                let failure = match configured {
                    Some(_) => Failure::input,
                    None => Failure::environment,
                };
                let way_out = configured.unwrap_or_else(|| {
                    "after `cargo fetch` in that folder, `status` can".to_owned()
                });
                let what = format!("cannot tell what `apply` would do: {error}");
                if args.verify {
                    objection = objection.or(Some(failure(what).hint(way_out)));
                } else {
                    print_line("note", &format!("{what}; {way_out}"));
                }
            }
        }
        status.print_unpatched(args.json)?;
        return objection.map_or(Ok(()), |objection| Err(objection.into()));
    };
    let progress = spinner("comparing trees");
    let (base, names) = catalog.resolve(Some(&stanza.base), &stanza.names)?;
    let mut plan = tree::plan(catalog, &base, &names, false)?;
    plan.assert_available(|package| stanza.overrides.contains_key(package))?;
    let metadata = match args.without_cargo {
        true => None,
        false => Some(manifest.resolve_locked()?),
    };
    let locked = packages(&lock)?;
    let root = manifest.dir()?;
    let mut objection = None;
    let mut is_other_release = false;
    let mut is_needed = false;
    let mut unreviewed = None;
    for (package, place) in &stanza.overrides {
        let path = manifest.root().join(place);
        let tree = Tree {
            package: package.clone(),
            version: stanza.base.clone(),
            path,
        };
        let planned = (plan.trees.iter()).find(|planned| planned.stamp.package == *package);
        let folder = root.folder(place)?;
        let state = match (&folder, planned) {
            (None, _) => "missing",
            (_, Some(planned)) if !tree.path.ends_with(&planned.place) => "outdated",
            (Some(folder), Some(planned)) if planned.equals(folder)? => "intact",
            (_, Some(_)) => "changed",
            (_, None) => "outdated",
        };
        let used = match &metadata {
            Some(Ok(metadata)) => {
                let one = graph::assert_one_copy(metadata, package, &stanza.base);
                let usage = graph::usage(metadata, &tree);
                if let Use::Bypassed(found) = &usage {
                    is_other_release |= found.iter().any(|(version, _)| *version != stanza.base);
                }
                is_needed |= usage != Use::Absent;
                let used = usage == Use::Used && one.is_ok();
                objection = objection.take().or(one.err());
                used
            }
            Some(Err(_)) => false,
            None => {
                let same = locked.iter().filter(|locked| locked.name == *package);
                is_needed |= same.clone().next().is_some();
                // A package from a path has no source.
                let copies: Vec<_> = same
                    .filter(|locked| locked.version == stanza.base)
                    .collect();
                matches!(*copies, [copy] if copy.source.is_empty())
            }
        };
        let made_from = match planned {
            Some(planned) if args.verify => {
                Some(Provenance::new(patches, planned, folder.as_ref())?)
            }
            _ => None,
        };
        status.trees.push(TreeStatus {
            package: tree.package,
            path: place.clone(),
            state,
            used,
            made_from,
        });
    }
    let is_in_graph = |package: &str| match &metadata {
        Some(Ok(metadata)) => graph::has_release(metadata, package, &stanza.base),
        Some(Err(_)) => false,
        None => {
            (locked.iter()).any(|locked| locked.name == package && locked.version == stanza.base)
        }
    };
    let patched = (plan.trees.iter()).map(|planned| planned.stamp.package.as_str());
    let patched: BTreeSet<_> = patched.chain(plan.missing()).collect();
    let is_lost = |package: &str| !stanza.overrides.contains_key(package) && is_in_graph(package);
    if let Some(package) = patched.iter().find(|package| is_lost(package)) {
        let what = format!(
            "the p3-patches block does not override {package}, which they change and the workspace has in {}",
            stanza.base
        );
        let hint = "`cargo p3 apply` without names applies them again";
        objection = objection.or(Some(Failure::check(what).hint(hint)));
    }
    if args.without_cargo {
        let recorded = stanza.overrides.keys().map(String::as_str);
        let own = manifest.assert_unpatched_by_itself(
            recorded.chain(patched.iter().copied()),
            stanza.git.as_ref(),
        );
        if let Err(error) = own {
            objection = Some(error.downcast::<Failure>()?);
        }
    }
    let metadata = metadata.transpose();
    if let Some(git) = &stanza.git {
        let pinned = match &metadata {
            Ok(Some(metadata)) => git.source.assert_pinned(&manifest.path, metadata),
            _ => Ok(()),
        };
        let moved = manifest.commit_moved(git, &lock)?;
        objection = objection.or(moved).or(pinned.err());
        if args.verify
            && objection.is_none()
            && let Ok(Some(metadata)) = &metadata
        {
            let checkout = Checkout::at(git.source.clone(), metadata)?;
            objection = match checkout.assert_release(patches, &stanza.base) {
                Ok(()) => graph::assert_no_published(metadata, &git.source, &stanza.base).err(),
                Err(error) => Some(error.downcast::<Failure>()?),
            };
        }
    }
    if args.verify || args.without_cargo {
        let metadata = metadata.as_ref().ok().and_then(Option::as_ref);
        let compared = compare_lock(args, patches, &manifest, &lock, metadata)?;
        status.lock = Some(compared.0);
        unreviewed = compared.1;
    }
    if args.verify {
        status.replacement = replacement(manifest.root())?;
    }
    if let Ok(Some(metadata)) = &metadata {
        let patched = stanza.overrides.keys();
        status.other_releases = graph::other_releases(metadata, patched, &stanza.base);
    }
    if stanza.git.is_none() {
        let newer = choice::newer(stanza.overrides.keys(), &stanza.base)?;
        let shown =
            |(release, packages): (_, Vec<_>)| format!("{release} of {}", packages.join(", "));
        status.newer_releases = newer.into_iter().map(shown).collect();
    }
    let hash = catalog.sha256(&base, &names)?;
    if args.verify {
        let built_in = Catalog::load(&patches.built_in());
        let built_in = built_in.and_then(|built_in| built_in.sha256(&base, &names));
        status.built_in = Some(built_in.is_ok_and(|built_in| built_in == hash));
    }
    status.patches_sha256 = Some(hash);
    status.base = Some(stanza.base.clone());
    status.source = stanza.git.as_ref().map(|git| git.source.to_string());
    status.patches.clone_from(&stanza.names);
    status.inert = catalog.inert(&stanza.base, &names)?;
    progress.finish_and_clear();

    if args.json {
        print_json(&status)?;
    } else {
        println!(
            "{}: Plonky3 {} with {}",
            status.manifest,
            stanza.base,
            stanza.names.join(", ")
        );
        if let Some(hash) = &status.patches_sha256 {
            let built_in = match status.built_in {
                None => "",
                Some(true) => ", those built into this tool",
                Some(false) => ", not those built into this tool",
            };
            println!("patches {hash}{built_in}");
        }
        if let Some(source) = &status.source {
            println!("in place of {source}");
        }
        for (name, reason) in &status.inert {
            println!("{name}: {reason}");
        }
        for other in &status.other_releases {
            println!("{other}");
        }
        for newer in &status.newer_releases {
            println!(
                "{newer} is out; `cargo update` keeps {} while it is patched",
                stanza.base
            );
        }
        for moved in &status.inside_block {
            println!("yours, inside the block: {moved}; `apply` and `remove` move it out");
        }
        let mut table = Table::new();
        table
            .load_style(presets::NOTHING)
            .set_header(["package", "tree", "state", "used"]);
        for tree in &status.trees {
            table.add_row([
                tree.package.as_str(),
                tree.path.as_str(),
                tree.state,
                match (tree.used, &metadata) {
                    (true, _) => "yes",
                    (false, Ok(_)) => "no",
                    (false, Err(_)) => "unknown",
                },
            ]);
        }
        println!("{}", table.trim_fmt());
        status.print_provenance();
    }
    if status.holds() && objection.is_none() && unreviewed.is_none() {
        return Ok(());
    }
    let path = &status.manifest;
    let what = format!("{path}: the patches are not in effect as recorded");
    if let Some(Failure { message, hint, .. }) = objection {
        let message = message
            .strip_prefix(&format!("{path}: "))
            .unwrap_or(&message);
        let failure = Failure::check(format!("{what}: {message}"));
        return Err(failure.hint(hint.unwrap_or_default()).into());
    }
    let is_intact = status.trees.iter().all(|tree| tree.state == "intact");
    if let Some(unreviewed) = unreviewed.filter(|_| is_intact) {
        return Err(unreviewed.into());
    }
    if is_intact && status.trees.iter().all(|tree| tree.used) {
        return Err(changed_checksum(args, &manifest).into());
    }
    if let Err(error) = &metadata
        && let Some(hint) = out_of_a_wrong_configuration(manifest.root(), error)
    {
        let what = format!("{path}: cannot tell whether the patches are in effect: {error}");
        return Err(Failure::input(what).hint(hint).into());
    }
    if let Err(error) = &metadata
        && let Some(hint) = out_of_a_wrong_lock_file(manifest.root(), error)
    {
        return Err(Failure::check(format!("{what}: {error}")).hint(hint).into());
    }
    Err(match metadata {
        Err(error) if is_intact && is_unfetched(&error) => Failure::environment(format!(
            "{path}: cannot tell whether the patches are in effect: {error}"
        ))
        .hint(
            "`cargo fetch` in that folder brings what cargo's cache lacks; then `status` can look",
        ),
        Err(error) if is_intact && error.contains("--locked") => Failure::check(format!(
            "{what}: {error}"
        ))
        .hint("`cargo fetch` in that folder brings the lock file up to date with the manifest"),
        Err(error) => Failure::check(format!("{what}: {error}"))
            .hint("`cargo p3 apply` without names applies them again"),
        Ok(_) if is_other_release => Failure::check(what).hint(
            "`cargo p3 remove` takes the patches out, then `apply` goes by what the workspace has",
        ),
        Ok(_) if is_intact && !is_needed => {
            Failure::check(format!("{what}: no package here needs what they patch"))
                .hint("`cargo p3 remove` takes the patches out")
        }
        Ok(_) => Failure::check(what).hint("`cargo p3 apply` without names applies them again"),
    }
    .into())
}

/// Compares the lock file of a workspace with the reviewed checksums, and looks for packages of Plonky3's in its graph that come
/// from elsewhere; where the graph is not known, in the lock file. Returns the objection besides.
fn compare_lock(
    args: &Args,
    patches: &Patches,
    manifest: &Manifest,
    lock: &str,
    metadata: Option<&Metadata>,
) -> Result<(LockStatus, Option<Failure>)> {
    let registry::Comparison {
        mut differences,
        unreviewed,
        unlocked,
        elsewhere,
        same,
    } = registry::compare_locks(patches, lock)?;
    let stanza = manifest.stanza.as_ref();
    let git = stanza.and_then(|stanza| Some(&stanza.git.as_ref()?.source));
    let foreign = match metadata {
        Some(metadata) => graph::foreign(patches, metadata, &manifest.named_trees(), git)?,
        None => {
            let is_tree = |locked: &Locked| {
                let is_of = |stanza: &Stanza| {
                    stanza.base == locked.version && stanza.overrides.contains_key(&locked.name)
                };
                locked.source.is_empty() && stanza.is_some_and(is_of)
            };
            let is_compared = |locked: &Locked| {
                git.is_some_and(|git| GitSource::parse(&locked.source).as_ref() == Some(git))
            };
            let foreign = elsewhere
                .iter()
                .filter(|locked| !is_tree(locked) && !is_compared(locked));
            // Cargo has not written yet to the lock file what the manifest says by now.
            let reviewed = Checksums::load(patches)?;
            let mut redirected = manifest.redirected()?;
            redirected.retain(|(name, place)| {
                reviewed.knows(name)
                    && !elsewhere
                        .iter()
                        .any(|locked| locked.name == *name && !is_tree(locked))
                    && !git.is_some_and(|git| git.is_at(place))
            });
            let redirected = redirected.iter().map(|(name, place)| {
                graph::in_place_of_a_registry(name, &without_credentials(place))
            });
            let shown = |locked: &Locked| {
                let from = match &*locked.source {
                    "" => "a path".to_owned(),
                    source => without_credentials(source),
                };
                graph::in_place_of_a_registry(&locked.to_string(), &from)
            };
            foreign.map(shown).chain(redirected).collect()
        }
    };
    let path = manifest.path.display();
    let refuse = |what: &str, hint: &str| Failure::check(format!("{path}: {what}")).hint(hint);
    let objection = if !differences.is_empty() {
        Some(changed_checksum(args, manifest))
    } else if let Some(what) = foreign.first() {
        let files = configured_by(manifest.root());
        let hint = format!(
            "a path, a repository or a `[patch]` of the manifest or of cargo's configuration comes before the registry; {files}"
        );
        Some(refuse(what, &hint))
    } else if let Some(package) = unlocked.first() {
        let what = format!("Cargo.lock has no checksum of {package}");
        let hint = "`cargo metadata` in that folder adds what the registry's index has; then `status --verify` compares it";
        Some(refuse(&what, hint))
    } else if !unreviewed.is_empty() {
        let what = "a package of Plonky3's is not one that was reviewed";
        let hint = "`cargo update PACKAGE --precise VERSION` takes a reviewed version; a newer release of this tool may know more";
        Some(refuse(what, hint))
    } else {
        None
    };
    let unreviewed = unreviewed.into_iter();
    differences.extend(unreviewed.map(|package| format!("{package} has no reviewed checksum")));
    let unlocked = unlocked.into_iter();
    differences.extend(unlocked.map(|package| format!("{package} has no checksum")));
    differences.extend(foreign);
    Ok((LockStatus { differences, same }, objection))
}

/// The objection to a checksum that is not the reviewed one.
fn changed_checksum(args: &Args, manifest: &Manifest) -> Failure {
    let path = manifest.path.display();
    let what = format!("{path}: a checksum is not the one that was reviewed with the patches");
    Failure::check(what).hint(match args.without_cargo {
        true => ANOTHER_REGISTRY.to_owned(),
        false => out_of_a_changed_package(manifest.root()),
    })
}

impl Status {
    /// Prints the status of a workspace that nothing is applied to.
    fn print_unpatched(&self, json: bool) -> Result<()> {
        if json {
            return print_json(self);
        }
        println!("{}: no patches applied", self.manifest);
        if !self.available.is_empty() {
            println!("`apply` would apply {}", self.available.join(", "));
        }
        self.print_provenance();
        Ok(())
    }

    fn holds(&self) -> bool {
        self.trees.iter().all(|tree| {
            let made_from = tree.made_from.as_ref();
            tree.state == "intact"
                && tree.used
                && made_from.is_none_or(|made_from| made_from.differences.is_empty())
        })
    }

    fn print_provenance(&self) {
        for tree in &self.trees {
            let Some(made_from) = &tree.made_from else {
                continue;
            };
            let witness = match made_from.reviewed {
                true => "",
                false => ", which was not reviewed with the patches",
            };
            println!(
                "\n{}\n  tarball {}{witness}",
                tree.package, made_from.checksum
            );
            if let Some(vendored) = &made_from.vendored {
                println!(
                    "  files from {}, by its list of checksums",
                    vendored.display()
                );
            }
            println!("  commit {}, folder {}", made_from.commit, made_from.folder);
            for StampedPatch { name, sha256 } in &made_from.patches {
                println!("  patch {name} {sha256}");
            }
            for difference in &made_from.differences {
                println!("  differs: {difference}");
            }
        }
        if let Some(replacement) = &self.replacement {
            println!("\n{replacement}");
        }
        if let Some(LockStatus { differences, same }) = &self.lock {
            println!(
                "\nCargo.lock\n  {same} packages have the checksums that were reviewed with the patches"
            );
            for difference in differences {
                println!("  differs: {difference}");
            }
        }
    }
}

fn print_json(status: &Status) -> Result<()> {
    println!("{}", serde_json::to_string_pretty(status)?);
    Ok(())
}
