//! `status`: whether what a manifest records is what a build uses.

use std::collections::{BTreeMap, BTreeSet};
use std::env::consts::ARCH;
use std::path::{Path, PathBuf};

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
use crate::prover::tree::{self, Plan, Planned, StampedPatch, Tree};
use crate::source::checksums::Checksums;
use crate::source::locked::{Locked, packages};
use crate::source::registry::{self, Comparison};
use crate::source::resolve::{
    ANOTHER_REGISTRY, FETCH, architectures, out_of_a_changed_package, out_of_a_missing_program,
    out_of_a_wrong_lock_file, out_of_a_wrong_manifest, out_of_missing_packages, replacement,
    unresolved_manifest,
};
use paired::address::without_credentials;
use paired::cargo::{configured_in, out_of_a_wrong_configuration};
use paired::error::Failure;
use paired::exit::print_with_hint;
use paired::files::dir::Dir;
use paired::files::plain;
use paired::files::replace;
use paired::show::report::{self, Output};
use paired::terminal::{print_json, print_line, shown, spinner};

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
/// Cargo runs the programs that its configuration in the workspace names. With --without-cargo no program is run there, and the
/// manifests and the lock file say whether the trees are used. A package that cargo's cache lacks is fetched by cargo in its home
/// folder. The lock file's checksums have to be those that were reviewed, as with --verify. Cargo's configuration in the workspace is
/// not read: `paths` in it go unseen, and a `[patch]` is seen in the lock file alone.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo p3 status --manifest-path ../prover/Cargo.toml
  cargo p3 status --verify --manifest-path ../prover/Cargo.toml
  cargo p3 status --without-cargo --manifest-path ../prover/Cargo.toml")]
pub struct Args {
    /// Run no program in the workspace: compare the manifests, the lock file and the trees alone.
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

#[derive(Default, Serialize)]
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
    /// The patches that change no build for the architectures that cargo's configuration builds for, and why.
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
    /// Packages of registries that are on no reviewed list, whose checksums cargo alone compares.
    unknown: usize,
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
    /// Tells whether that was reviewed with the patches.
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
        let stamp = &planned.stamp;
        let (package, version) = (&stamp.package, &stamp.version);
        let objection = registry::objection(patches, package, version, &stamp.checksum)?;
        let mut differences: Vec<_> = objection.into_iter().collect();
        if let Some(tree) = tree {
            differences.extend(planned.differences(tree)?);
        }
        Ok(Self {
            checksum: stamp.checksum.clone(),
            reviewed: registry::reviewed(patches, package, version)?.is_some(),
            vendored: planned.vendored.clone(),
            commit: stamp.commit.clone(),
            folder: stamp.folder.clone(),
            patches: stamp.patches.clone(),
            differences,
        })
    }
}

/// A workspace, and what `status` is asked about it.
struct Workspace<'a> {
    args: &'a Args,
    patches: &'a Patches,
    catalog: &'a Catalog,
    manifest: &'a Manifest,
    /// With `--without-cargo`: the manifests of the workspace's packages but for the root's.
    others: &'a [PathBuf],
    /// The text of the lock file.
    lock: &'a str,
}

/// The packages of a workspace: by cargo, where it may run, and by the lock file.
struct Packages {
    /// Cargo's graph, or its error; `None` with `--without-cargo`.
    graph: Option<Result<Metadata, String>>,
    locked: Vec<Locked>,
}

const APPLY_AGAIN: &str = "`cargo p3 apply` without names applies them again";
const REMOVE: &str = "`cargo p3 remove` takes the patches out";

pub fn run(args: &Args, patches: &Patches) -> Result<()> {
    let path = &args.downstream.manifest_path;
    let (manifest, patches, others) = if args.without_cargo {
        let manifest = Manifest::load_by_itself(path)?;
        let others = manifest.others(path)?;
        // A member need not lie below the root.
        let folders = others.iter().filter_map(|manifest| manifest.parent());
        let folders = folders.chain([manifest.root()]);
        let patches = patches.apart()?.trusting_nothing_in(folders)?;
        (manifest, patches, others)
    } else {
        let manifest = Manifest::load(path)?;
        let patches = patches.at_work_in(manifest.root());
        (manifest, patches, Vec::new())
    };
    let looked_at = plain::read(&manifest.path).ok();
    let patches = &patches;
    let lock = manifest.lock()?;
    if lock.is_empty() && (args.without_cargo || args.published_lock.is_some()) {
        let what = format!("{}: no Cargo.lock beside it", shown(&manifest.path));
        return Err(Failure::input(what)
            .hint("--without-cargo and --published-lock look at a workspace that has been built")
            .into());
    }
    if let Some(path) = &args.published_lock {
        write_published_lock(path, args, &manifest, patches)?;
    }
    let catalog = Catalog::load(patches)?;
    let workspace = Workspace {
        args,
        patches,
        catalog: &catalog,
        manifest: &manifest,
        others: &others,
        lock: &lock,
    };
    let result = match &manifest.stanza {
        None => workspace.unpatched(),
        Some(stanza) => workspace.patched(stanza),
    };
    // An `apply` or a `remove` beside this one replaces the manifest.
    if result.is_err() && plain::read(&manifest.path).ok() != looked_at {
        let what = format!("{}: changed meanwhile", shown(&manifest.path));
        return Err(Failure::environment(what)
            .hint("run `status` again, when no other command is at work there")
            .into());
    }
    result
}

fn write_published_lock(
    path: &Path,
    args: &Args,
    manifest: &Manifest,
    patches: &Patches,
) -> Result<()> {
    replace::check(path)?;
    let own = report::assert_unread(path, &manifest.inputs(&args.downstream.manifest_path)?);
    if path.ends_with("Cargo.toml") || own.is_err() {
        let what = format!(
            "--published-lock {}: a file that cargo or this tool reads",
            shown(path)
        );
        return Err(Failure::input(what)
            .hint("name another file, such as published.lock")
            .into());
    }
    Output::Lock.assert_replaces(path)?;
    let lock = manifest.published_lock(patches)?;
    replace::files(&[(path.to_owned(), lock.into_bytes())])
}

impl Workspace<'_> {
    /// Shows a workspace that nothing is applied to.
    fn unpatched(&self) -> Result<()> {
        let graph = self.graph()?;
        let known = graph.as_ref().and_then(|graph| graph.as_ref().ok());
        let (lock, mut objection) = self.compare_lock(known)?;
        let mut status = Status {
            lock,
            ..self.outline()?
        };
        match graph {
            None => {}
            Some(Ok(graph)) => {
                match choice::applicable(self.catalog, self.manifest, &graph, None, &[], false) {
                    Ok((_, choice)) => status.available = choice.names,
                    Err(error) => {
                        let what = format!("`apply` would not work here: {error}");
                        print_with_hint("note", &what, &error, as_called);
                    }
                }
            }
            Some(Err(error)) => {
                let root = self.manifest.root();
                let hint = out_of_missing_packages(root, &error);
                let hint = hint.as_deref().unwrap_or(match error.contains("--locked") {
                    true => FETCH,
                    false => "`cargo metadata` in that folder shows the whole message",
                });
                let what = "cannot tell what `apply` would do";
                let failure = unresolved_manifest(root, what, &error, hint);
                if self.args.verify {
                    objection = objection.or(Some(failure));
                } else {
                    let hint = failure.hint.unwrap_or_default();
                    print_line("note", &format!("{}; {hint}", failure.message));
                }
            }
        }
        status.print(self.args.json, true)?;
        objection.map_or(Ok(()), |objection| Err(objection.into()))
    }

    /// Compares the trees of a workspace with those that its patches give.
    fn patched(&self, stanza: &Stanza) -> Result<()> {
        let (args, catalog) = (self.args, self.catalog);
        let progress = spinner("comparing trees");
        catalog.assert_recorded(&stanza.names)?;
        let (base, names) = catalog.resolve(Some(&stanza.base), &stanza.names)?;
        let is_used = |package: &str| stanza.overrides.contains_key(package);
        let plan = tree::plan(catalog, &base, &names, false, is_used)?.complete()?;
        let packages = Packages {
            graph: self.graph()?,
            locked: packages(self.lock)?,
        };
        let trees = (self.trees(stanza).zip(stanza.overrides.values()))
            .map(|(tree, place)| self.compare_tree(tree, place, &plan, &packages))
            .collect::<Result<_>>()?;
        let objection = self.objection(stanza, &plan, &packages)?;
        let (lock, unreviewed) = self.compare_lock(packages.graph())?;
        let patched = stanza.overrides.keys();
        let other_releases = (packages.graph())
            .map(|graph| graph::other_releases(graph, patched.clone(), &stanza.base));
        let newer = match stanza.git {
            None => choice::newer(patched, &stanza.base)?,
            Some(_) => BTreeMap::new(),
        };
        let newer = newer.into_iter();
        let hash = catalog.sha256(&base, &names)?;
        // The configuration of a cargo that may not run, or cannot, names no target.
        let architectures = match packages.graph() {
            Some(_) => architectures(self.manifest.root())?,
            None => vec![ARCH.to_owned()],
        };
        let is_built_in = || {
            let built_in = Catalog::load(&self.patches.built_in());
            let built_in = built_in.and_then(|built_in| built_in.sha256(&base, &names));
            built_in.is_ok_and(|built_in| built_in == hash)
        };
        let status = Status {
            base: Some(stanza.base.clone()),
            source: stanza.git.as_ref().map(|git| git.source.to_string()),
            patches: stanza.names.clone(),
            built_in: args.verify.then(is_built_in),
            patches_sha256: Some(hash),
            inert: catalog.inert(&stanza.base, &names, &architectures)?,
            trees,
            other_releases: other_releases.unwrap_or_default(),
            newer_releases: newer
                .map(|(release, packages)| format!("{release} of {}", packages.join(", ")))
                .collect(),
            lock,
            ..self.outline()?
        };
        progress.finish_and_clear();
        status.print(args.json, packages.error().is_none())?;
        if status.holds() && objection.is_none() && unreviewed.is_none() {
            return Ok(());
        }
        Err(self
            .refusal(stanza, &status, &packages, objection, unreviewed)
            .into())
    }

    /// Asks cargo for the graph, unless it may not run.
    fn graph(&self) -> Result<Option<Result<Metadata, String>>> {
        match self.args.without_cargo {
            true => Ok(None),
            false => self.manifest.resolve_locked().map(Some),
        }
    }

    /// Returns the part of the status that has nothing to do with patches.
    fn outline(&self) -> Result<Status> {
        Ok(Status {
            manifest: self.manifest.path.to_string_lossy().into_owned(),
            inside_block: self.manifest.moved.clone(),
            replacement: match self.args.verify {
                true => replacement(self.manifest.root())?,
                false => None,
            },
            ..Status::default()
        })
    }

    /// Lists the trees that the stanza names.
    fn trees(&self, stanza: &Stanza) -> impl Iterator<Item = Tree> {
        let tree = |(package, place): (&String, &String)| Tree {
            package: package.clone(),
            version: stanza.base.clone(),
            path: self.manifest.root().join(place),
        };
        stanza.overrides.iter().map(tree)
    }

    /// Compares a tree on disk with the planned one.
    fn compare_tree(
        &self,
        tree: Tree,
        place: &str,
        plan: &Plan,
        packages: &Packages,
    ) -> Result<TreeStatus> {
        let mut planned = plan.trees.iter();
        let planned = planned.find(|planned| planned.stamp.package == tree.package);
        let folder = self.manifest.dir()?.folder(place)?;
        let state = match (&folder, planned) {
            (None, _) => "missing",
            (_, Some(planned)) if !tree.path.ends_with(&planned.place) => "outdated",
            (Some(folder), Some(planned)) if planned.equals(folder)? => "intact",
            (_, Some(_)) => "changed",
            (_, None) => "outdated",
        };
        let made_from = planned.filter(|_| self.args.verify);
        let made_from =
            made_from.map(|planned| Provenance::new(self.patches, planned, folder.as_ref()));
        Ok(TreeStatus {
            path: place.to_owned(),
            state,
            used: packages.use_tree(&tree),
            made_from: made_from.transpose()?,
            package: tree.package,
        })
    }

    /// Finds the first reason for which a build does not take the patches as recorded, though each tree may be intact.
    fn objection(
        &self,
        stanza: &Stanza,
        plan: &Plan,
        packages: &Packages,
    ) -> Result<Option<Failure>> {
        let (base, overrides) = (&stanza.base, &stanza.overrides);
        let manifest = self.manifest;
        let patched = (plan.trees.iter()).map(|planned| planned.stamp.package.as_str());
        let patched: BTreeSet<_> = patched.chain(plan.missing().map(String::as_str)).collect();
        if self.args.without_cargo {
            let recorded = overrides.keys().map(String::as_str);
            let named = recorded.chain(patched.iter().copied());
            if let Err(error) = manifest.assert_unpatched_by_itself(named, stanza.git.as_ref()) {
                return error.downcast::<Failure>().map(Some);
            }
        }
        let graph = packages.graph();
        let twice = |package| graph::assert_one_copy(graph?, package, base).err();
        if let Some(twice) = overrides.keys().find_map(|package| twice(package)) {
            return Ok(Some(twice));
        }
        let is_lost =
            |package: &&&str| !overrides.contains_key(**package) && packages.has(package, base);
        if let Some(package) = patched.iter().find(is_lost) {
            let what = format!(
                "the p3-patches block does not override {package}, which they change and the workspace has in {base}"
            );
            return Ok(Some(Failure::check(what).hint(APPLY_AGAIN)));
        }
        let Some(git) = &stanza.git else {
            return Ok(None);
        };
        let moved = manifest.commit_moved(git, self.lock)?;
        let (None, Some(graph)) = (&moved, graph) else {
            return Ok(moved);
        };
        if let Err(other) = git.source.assert_pinned(&manifest.path, graph) {
            return Ok(Some(other));
        }
        if !self.args.verify {
            return Ok(None);
        }
        let checkout = Checkout::at(git.source.clone(), graph)?;
        match checkout.assert_release(self.patches, base) {
            Ok(()) => Ok(graph::assert_no_published(graph, &git.source, base).err()),
            Err(error) => error.downcast::<Failure>().map(Some),
        }
    }

    /// Returns the failure for patches that are not in effect as recorded, or of which that cannot be told.
    fn refusal(
        &self,
        stanza: &Stanza,
        status: &Status,
        packages: &Packages,
        objection: Option<Failure>,
        unreviewed: Option<Failure>,
    ) -> Failure {
        let path = &shown(&status.manifest);
        let what = format!("{path}: the patches are not in effect as recorded");
        if let Some(Failure { message, hint, .. }) = objection {
            let message = message
                .strip_prefix(&format!("{path}: "))
                .unwrap_or(&message);
            let failure = Failure::check(format!("{what}: {}", message));
            return failure.hint(hint.unwrap_or_default());
        }
        let is_intact = status.trees.iter().all(|tree| tree.state == "intact");
        if let Some(unreviewed) = unreviewed.filter(|_| is_intact) {
            return unreviewed;
        }
        if is_intact && status.trees.iter().all(|tree| tree.used) {
            return self.changed_checksum();
        }
        if let Some(error) = packages.error() {
            let root = self.manifest.root();
            let unknown = format!("{path}: cannot tell whether the patches are in effect: {error}");
            let what = format!("{what}: {error}");
            return if let Some(hint) = out_of_a_missing_program(error) {
                Failure::environment(unknown).hint(hint)
            } else if let Some(hint) = out_of_a_wrong_configuration(root, error) {
                Failure::input(unknown).hint(hint)
            } else if let Some(hint) = out_of_a_wrong_manifest(error).filter(|_| is_intact) {
                Failure::input(unknown).hint(hint)
            } else if let Some(hint) = out_of_a_wrong_lock_file(root, error) {
                Failure::check(what).hint(hint)
            } else if let Some(hint) = out_of_missing_packages(root, error).filter(|_| is_intact) {
                Failure::environment(unknown).hint(hint)
            } else if is_intact && error.contains("--locked") {
                Failure::check(what).hint("`cargo fetch` in that folder brings the lock file up to date with the manifest")
            } else if is_intact {
                // To apply them again would end at the same error.
                Failure::check(what).hint("`cargo metadata` in that folder shows the whole message")
            } else {
                Failure::check(what).hint(APPLY_AGAIN)
            };
        }
        let mut trees = self.trees(stanza);
        if trees.any(|tree| packages.has_other_release(&tree)) {
            let hint = format!("{REMOVE}, then `apply` goes by what the workspace has");
            Failure::check(what).hint(hint)
        } else if is_intact
            && !stanza
                .overrides
                .keys()
                .any(|package| packages.need(package))
        {
            Failure::check(format!("{what}: no package here needs what they patch")).hint(REMOVE)
        } else {
            Failure::check(what).hint(APPLY_AGAIN)
        }
    }

    /// Compares the lock file with the reviewed checksums where that is asked for, and looks for packages of Plonky3's that come from
    /// elsewhere: in the graph or, where it is not known, in the lock file. Returns the objection besides.
    fn compare_lock(
        &self,
        graph: Option<&Metadata>,
    ) -> Result<(Option<LockStatus>, Option<Failure>)> {
        if !self.args.verify && !self.args.without_cargo {
            return Ok((None, None));
        }
        let Comparison {
            mut differences,
            unreviewed,
            unlocked,
            elsewhere,
            same,
            unknown,
        } = registry::compare_locks(self.patches, self.lock)?;
        let manifest = self.manifest;
        let git = manifest
            .stanza
            .as_ref()
            .and_then(|stanza| stanza.git.as_ref());
        let git = git.map(|git| &git.source);
        let foreign = match graph {
            Some(graph) => graph::foreign(self.patches, graph, &manifest.named_trees(), git)?,
            None => self.foreign(&elsewhere, git)?,
        };
        let path = shown(&manifest.path);
        let refuse = |what: &str, hint: &str| Failure::check(format!("{path}: {what}")).hint(hint);
        let objection = if !differences.is_empty() {
            Some(self.changed_checksum())
        } else if let Some(what) = foreign.first() {
            let hint = match configured_in(manifest.root()) {
                Some(files) => format!(
                    "a path, a repository or a `[patch]` of the manifest or of cargo's configuration comes before the registry; {files}"
                ),
                None => "a path, a repository, a `[patch]` or a `[replace]` of the manifest comes before the registry".to_owned(),
            };
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
        let lock = LockStatus {
            differences,
            same,
            unknown,
        };
        Ok((Some(lock), objection))
    }

    /// Lists the packages of Plonky3's that come from elsewhere, as [`graph::foreign`] does, by the manifest and the lock file: from the
    /// packages `elsewhere` that the lock file has from no registry, those from trees and from `git` are taken out.
    fn foreign(&self, elsewhere: &[Locked], git: Option<&GitSource>) -> Result<Vec<String>> {
        let is_tree = |locked: &Locked| {
            let is_of = |stanza: &Stanza| {
                stanza.base == locked.version && stanza.overrides.contains_key(&locked.name)
            };
            locked.source.is_empty() && self.manifest.stanza.as_ref().is_some_and(is_of)
        };
        let elsewhere: Vec<_> = elsewhere.iter().filter(|locked| !is_tree(locked)).collect();
        let shown = |locked: &&Locked| {
            let from = match &*locked.source {
                "" => "a path".to_owned(),
                source => without_credentials(source),
            };
            graph::in_place_of_crates_io(&locked.to_string(), &from)
        };
        let is_foreign = |locked: &&&Locked| {
            let locked = GitSource::parse(&locked.source);
            !git.is_some_and(|git| locked.is_some_and(|locked| git.is_locked_to(&locked)))
        };
        let locked: Vec<_> = elsewhere.iter().filter(is_foreign).collect();
        let mut foreign: Vec<_> = locked.iter().copied().map(shown).collect();
        // Cargo has not written yet to the lock file what the manifest says by now.
        let reviewed = Checksums::load(self.patches)?;
        let redirected = self.manifest.redirected()?.into_iter();
        for (name, place) in redirected.chain(self.manifest.redirected_by(self.others)?) {
            let asked = GitSource::parse(&place);
            if reviewed.knows(&name)
                && locked.iter().all(|locked| locked.name != name)
                && !git.is_some_and(|git| asked.is_some_and(|asked| asked.asks_for(git)))
            {
                let from = without_credentials(place.trim_end_matches('#'));
                foreign.push(graph::in_place_of_crates_io(&name, &from));
            }
        }
        Ok(foreign)
    }

    /// Returns the failure for a checksum that is not the reviewed one.
    fn changed_checksum(&self) -> Failure {
        let path = shown(&self.manifest.path);
        let what = format!("{path}: a checksum is not the one that was reviewed with the patches");
        Failure::check(what).hint(match self.args.without_cargo {
            true => ANOTHER_REGISTRY.to_owned(),
            false => out_of_a_changed_package(self.manifest.root()),
        })
    }
}

impl Packages {
    fn graph(&self) -> Option<&Metadata> {
        self.graph.as_ref()?.as_ref().ok()
    }

    /// Returns the error of cargo's in place of a graph.
    fn error(&self) -> Option<&str> {
        self.graph.as_ref()?.as_ref().err().map(String::as_str)
    }

    /// Lists the packages of that name in the lock file.
    fn locked(&self, name: &str) -> impl Iterator<Item = &Locked> {
        self.locked.iter().filter(move |locked| locked.name == name)
    }

    /// Tells whether a package is there in a release.
    fn has(&self, name: &str, release: &str) -> bool {
        match &self.graph {
            Some(graph) => {
                (graph.as_ref()).is_ok_and(|graph| graph::has_release(graph, name, release))
            }
            None => self.locked(name).any(|locked| locked.version == release),
        }
    }

    /// Tells whether a package is there in whatever release.
    fn need(&self, name: &str) -> bool {
        match &self.graph {
            Some(graph) => graph.as_ref().is_ok_and(|graph| graph::has(graph, name)),
            None => self.locked(name).next().is_some(),
        }
    }

    /// Tells whether a tree is what is built, and the only copy of its package in that release.
    fn use_tree(&self, tree: &Tree) -> bool {
        let Tree {
            package, version, ..
        } = tree;
        match &self.graph {
            Some(Ok(graph)) => {
                graph::usage(graph, tree) == Use::Used
                    && graph::assert_one_copy(graph, package, version).is_ok()
            }
            Some(Err(_)) => false,
            None => {
                let copies = self
                    .locked(package)
                    .filter(|locked| locked.version == *version);
                // A package from a path has no source.
                matches!(*copies.collect::<Vec<_>>(), [copy] if copy.source.is_empty())
            }
        }
    }

    /// Tells whether the graph takes another release in place of a tree.
    fn has_other_release(&self, tree: &Tree) -> bool {
        let Some(Use::Bypassed(found)) = self.graph().map(|graph| graph::usage(graph, tree)) else {
            return false;
        };
        found.iter().any(|(version, _)| *version != tree.version)
    }
}

impl Status {
    /// Tells whether each tree is intact and used, and made from what was reviewed.
    fn holds(&self) -> bool {
        self.trees.iter().all(|tree| {
            let made_from = tree.made_from.as_ref();
            tree.state == "intact"
                && tree.used
                && made_from.is_none_or(|made_from| made_from.differences.is_empty())
        })
    }

    /// Prints the status. Whether a tree is used is not known where there should be a graph and is none.
    fn print(&self, as_json: bool, is_known: bool) -> Result<()> {
        if as_json {
            print_json(self);
            return Ok(());
        }
        match &self.base {
            Some(base) => self.print_patches(base, is_known),
            None => {
                println!("{}: no patches applied", shown(&self.manifest));
                if !self.available.is_empty() {
                    println!("`apply` would apply {}", self.available.join(", "));
                }
            }
        }
        self.print_provenance();
        Ok(())
    }

    fn print_patches(&self, base: &str, is_known: bool) {
        println!(
            "{}: Plonky3 {base} with {}",
            shown(&self.manifest),
            self.patches.join(", ")
        );
        if let Some(hash) = &self.patches_sha256 {
            let built_in = match self.built_in {
                None => "",
                Some(true) => ", those built into this tool",
                Some(false) => ", not those built into this tool",
            };
            println!("patches {hash}{built_in}");
        }
        if let Some(source) = &self.source {
            println!("in place of {}", shown(source));
        }
        for (name, reason) in &self.inert {
            println!("{name}: {reason}");
        }
        for other in &self.other_releases {
            println!("{}", shown(other));
        }
        for newer in &self.newer_releases {
            println!("{newer} is out; `cargo update` keeps {base} while it is patched");
        }
        for moved in &self.inside_block {
            println!("yours, inside the block: {moved}; `apply` and `remove` move it out");
        }
        let mut table = Table::new();
        table
            .load_style(presets::NOTHING)
            .set_header(["package", "tree", "state", "used"]);
        for tree in &self.trees {
            let used = match tree.used {
                true => "yes",
                false if is_known => "no",
                false => "unknown",
            };
            table.add_row([&tree.package, &tree.path, tree.state, used]);
        }
        println!("{}", table.trim_fmt());
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
                println!("  files from {}, by its list of checksums", shown(vendored));
            }
            println!("  commit {}, folder {}", made_from.commit, made_from.folder);
            for StampedPatch { name, sha256 } in &made_from.patches {
                println!("  patch {name} {sha256}");
            }
            for difference in &made_from.differences {
                println!("  differs: {}", shown(difference));
            }
        }
        if let Some(replacement) = &self.replacement {
            println!("\n{}", shown(replacement));
        }
        if let Some(LockStatus {
            differences,
            same,
            unknown,
        }) = &self.lock
        {
            println!(
                "\nCargo.lock\n  {same} packages have the checksums that were reviewed with the patches"
            );
            if *unknown > 0 {
                println!(
                    "  on no list here, so that cargo alone compares them with the registry that it asks: {unknown}"
                );
            }
            for difference in differences {
                println!("  differs: {}", shown(difference));
            }
        }
    }
}
