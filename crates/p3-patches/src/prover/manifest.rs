//! The downstream workspace: the stanza in its root manifest, its lock file, and the proof that overrides are in use.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{self, Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::Metadata;
use serde::Deserialize;
use toml_edit::{Document, DocumentMut, Item, Key, Table, TableLike};

use crate::project::Patches;
use crate::prover::git_source::{self, Git, GitSource, canonical};
use crate::prover::locked_dir::LockedDir;
use crate::prover::relock::{lock_to_trees, relock};
use crate::prover::restore::Restore;
use crate::prover::stanza::{
    self, BEGIN, Parts, REGISTRY, Stanza, TREES, join, line_at, place_of_tree, split,
};
use crate::prover::tree::Tree;
use crate::prover::workspace;
use crate::source::locked::{self, Locked};
use crate::source::registry::{self, Comparison};
use crate::source::resolve::{self, NETWORK_FIRST};
use paired::address::without_credentials;
use paired::cargo::{self, cargo_in, configuration, configuration_with_origins};
use paired::error::Failure;
use paired::files::dir::{Dir, Place, is_link};
use paired::files::plain;
use paired::interrupt;
use paired::terminal::{print_line, shown};

const LOCK: &str = "Cargo.lock";

/// The root manifest of a downstream workspace.
pub struct Manifest {
    pub path: PathBuf,
    /// The file as it was read.
    pub(super) text: String,
    /// The file without the stanza.
    pub original: String,
    pub stanza: Option<Stanza>,
    /// The headers of tables and the comments that stood inside the stanza, though the tool has not written them.
    pub moved: Vec<String>,
}

impl Manifest {
    /// Reads the root manifest of the workspace that `member` belongs to.
    pub fn load(member: &Path) -> Result<Self> {
        let text = read_toml(member)?;
        // Only the root's `[patch]` counts, and cargo alone knows which manifest that is.
        let locate = ["locate-project", "--workspace", "--manifest-path"];
        // The folder that cargo runs in decides on its toolchain and configuration.
        let path = path::absolute(member).context("cannot tell the current folder")?;
        let folder = path.parent().context("a manifest lies in a folder")?;
        workspace::assert_plain_above(folder)?;
        let mut locating = cargo_in(folder);
        locating.args(locate).arg(&path);
        let output = interrupt::output(&mut locating)?;
        if !output.status.success() {
            let error = cargo::error_of(&output)?;
            let stderr = String::from_utf8_lossy(&output.stderr);
            // rustup knows what to do about a toolchain that is pinned and not installed.
            let help = stderr.lines().find_map(|line| line.strip_prefix("help: "));
            let what = format!("{}: {error}", shown(member));
            if let Some(missing) = cargo::out_of_a_missing_toolchain(&error) {
                return Err(Failure::environment(what)
                    .hint(help.unwrap_or(missing))
                    .into());
            }
            let configured = cargo::out_of_a_wrong_configuration(folder, &error);
            let hint = if let Some(help) = help {
                help
            } else if let Some(configured) = &configured {
                configured
            } else if let Some(toolchain) = cargo::out_of_a_wrong_toolchain(&error) {
                toolchain
            } else if member.is_symlink() {
                "that manifest is a symbolic link, and cargo looks for the package's files beside it: name the file that the link leads to"
            } else if plain::read_to_string(member).is_ok_and(|text| text.contains(BEGIN)) {
                "correct that in the manifest; if it is about an entry of the p3-patches block, delete the block, marks included, and `cargo p3 apply` writes a new one"
            } else if error.contains("believes it's in a workspace") {
                workspace::ADD
            } else {
                resolve::out_of_a_wrong_manifest(&error)
                    .unwrap_or("--manifest-path takes the Cargo.toml of a package or a workspace")
            };
            return Err(Failure::input(what).hint(hint).into());
        }
        // Cargo leaves out the parts of a path that a terminal would obey, where it prints plain text.
        #[derive(Deserialize)]
        struct Located {
            root: PathBuf,
        }
        let located: Located = serde_json::from_slice(&output.stdout)
            .map_err(|error| cargo::unparsed("locate-project", &error))?;
        let manifest = Self::read(&located.root)?;
        manifest.print_disregarded(&path, &text);
        Ok(manifest)
    }

    /// Reads the root manifest of the workspace that `member` belongs to, as [`Self::load`] does, but runs no cargo.
    pub fn load_by_itself(member: &Path) -> Result<Self> {
        let text = read_toml(member)?;
        let path = path::absolute(member).context("cannot tell the current folder")?;
        let path = workspace::normal(&path);
        let root = workspace::root(&path)?;
        if !root.exists() {
            let what = format!("belongs to {}, which is not there", shown(&root));
            return Err(refuse(&path, &what)
                .hint("`package.workspace` names the folder of the workspace's root")
                .into());
        }
        let manifest = Self::read(&root)?;
        workspace::assert_member(&manifest.path, &manifest.own()?, &path)?;
        manifest.print_disregarded(&path, &text);
        Ok(manifest)
    }

    /// Warns the user of the tool's block in the `text` of a member's manifest, which was a root once.
    fn print_disregarded(&self, member: &Path, text: &str) {
        let is_root = fs::canonicalize(member).is_ok_and(|member| member == self.path);
        if !is_root
            && text
                .lines()
                .any(|line| line.trim_start().starts_with(BEGIN))
        {
            let what = format!(
                "{}: cargo disregards the p3-patches block there, since the package belongs to the workspace of {}; delete the block, marks included, and the folder {TREES} beside it",
                shown(member),
                shown(&self.path)
            );
            print_line("warning", &what);
        }
    }

    /// Reads the root manifest of a workspace.
    fn read(path: &Path) -> Result<Self> {
        // A link is no manifest of the folder that it names.
        let path = path::absolute(path).context("cannot tell the current folder")?;
        let root = path.parent().context("a manifest lies in a folder")?;
        let root =
            fs::canonicalize(root).with_context(|| format!("cannot resolve {}", shown(root)))?;
        let path = root.join(path.file_name().context("a manifest has a name")?);
        if path.is_symlink() {
            return Err(is_link(&path).into());
        }
        let text = read_toml(&path)?;
        let Parts {
            original,
            stanza,
            moved,
        } = split(&text).map_err(|what| {
            refuse(&path, &what).hint(
                "move what is yours out of the block, and delete the rest of it, marks included; `cargo p3 apply` writes a new one",
            )
        })?;
        assert_no_trees(&path, &original)?;
        let manifest = Self {
            path,
            text,
            original,
            stanza,
            moved: (moved.iter()).map(shown).collect(),
        };
        assert_merged(&manifest.lock_file(), &manifest.lock()?)?;
        Ok(manifest)
    }

    /// Tells the user which text the next edit of the manifest moves out of the block.
    pub fn print_moved(&self) {
        if !self.moved.is_empty() {
            let moved = self.moved.join(", ");
            let note = format!("moved out of the p3-patches block, since it is yours: {moved}");
            print_line("note", &note);
        }
    }

    /// Returns the workspace's folder.
    pub fn root(&self) -> &Path {
        self.path.parent().expect("a manifest lies in a folder")
    }

    /// Returns the workspace's folder, open.
    pub fn dir(&self) -> Result<Dir> {
        Dir::open(self.root())
    }

    /// Lists the packages of which the manifest, the tool's block apart, names a folder, a repository or another registry than
    /// crates.io: in a `[patch]` or `[replace]`, as a dependency, or for the workspace's members. Each comes with the place, which
    /// is a repository in the notation of lock files.
    pub fn redirected(&self) -> Result<Vec<(String, String)>> {
        let own = self.own()?;
        let entries = workspace::dependencies(&own).chain(workspace::of_root(&own));
        Ok(redirections(entries).collect())
    }

    /// Lists the packages that the manifests `others` of the workspace redirect as dependencies, as [`Self::redirected`] does, also where
    /// one inherits them from a workspace of its own. Cargo takes the other tables from the root manifest alone.
    pub fn redirected_by(&self, others: &[PathBuf]) -> Result<Vec<(String, String)>> {
        let mut found = Vec::new();
        for path in others {
            let manifest: toml::Table = toml::from_str(&read_toml(path)?)?;
            found.extend(redirections(workspace::dependencies(&manifest)));
            let inherited = workspace::inherited(path, &manifest, &self.path)?;
            found.extend(redirections(
                inherited.iter().map(|(name, entry)| (name, entry)),
            ));
        }
        Ok(found)
    }

    /// Lists the manifests of the workspace's packages but for that of its root: of its members, of `member`, and of the packages
    /// that these depend on by paths.
    pub fn others(&self, member: &Path) -> Result<Vec<PathBuf>> {
        let member = path::absolute(member).context("cannot tell the current folder")?;
        let folder = member.parent().context("a manifest lies in a folder")?;
        let folder = fs::canonicalize(folder)
            .with_context(|| format!("cannot resolve {}", shown(folder)))?;
        workspace::others(&self.path, &self.own()?, &folder)
    }

    /// Parses the manifest without the tool's block.
    fn own(&self) -> Result<toml::Table> {
        Ok(toml::from_str(&self.original)?)
    }

    /// Lists the files and folders of the workspace's packages, that of `member` among them, which cargo and this tool read.
    pub fn inputs(&self, member: &Path) -> Result<Vec<PathBuf>> {
        let mut inputs = vec![self.path.clone(), self.lock_file(), self.trees()];
        inputs.extend(inputs_of_a_package(self.root()));
        for manifest in self.others(member)? {
            inputs.extend(inputs_of_a_package(manifest.parent().unwrap_or(&manifest)));
            inputs.push(manifest);
        }
        Ok(inputs)
    }

    /// Returns the folder of trees.
    pub fn trees(&self) -> PathBuf {
        self.root().join(TREES)
    }

    /// Lists the trees that the manifest on disk names by now, or the trees of the loaded manifest where it names none.
    pub fn named_trees(&self) -> Vec<PathBuf> {
        let text = self.dir().and_then(|root| self.place(&root)?.read());
        let text = String::from_utf8(text.ok().flatten().unwrap_or_default());
        let now = text.ok().and_then(|text| split(&text).ok()?.stanza);
        let stanza = now.as_ref().or(self.stanza.as_ref());
        let places = stanza.iter().flat_map(|stanza| stanza.overrides.values());
        places.map(|place| self.root().join(place)).collect()
    }

    /// Returns the workspace's lock file, which need not exist.
    pub fn lock_file(&self) -> PathBuf {
        self.root().join(LOCK)
    }

    /// Reads the manifest's text, which another program may have changed since.
    pub fn current(&self) -> Result<String> {
        let text = self.place(&self.dir()?)?.read()?.unwrap_or_default();
        Ok(String::from_utf8(text).map_err(|_| refuse(&self.path, "not UTF-8 text"))?)
    }

    /// Reads the text of the lock file, which is empty where there is no such file.
    pub fn lock(&self) -> Result<String> {
        let lock = self.dir()?.read(LOCK)?.unwrap_or_default();
        let text = String::from_utf8(lock);
        Ok(text.map_err(|_| refuse(&self.lock_file(), "not UTF-8 text"))?)
    }

    /// Returns the manifest's place in the workspace's folder.
    fn place(&self, root: &Dir) -> Result<Place> {
        root.place(self.path.file_name().unwrap_or_default())
    }

    /// Runs work on the manifest and the lock file. Both are put back as they were where it fails, and where another program has
    /// written one of them since the manifest was read.
    pub fn edit<T>(
        &self,
        folder: &LockedDir,
        work: impl FnOnce([&mut Restore<'_>; 2]) -> Result<T>,
    ) -> Result<T> {
        let mut lock = self.restore_lock(folder)?;
        let text = Some(self.text.clone().into_bytes());
        let mut file = Restore::of(folder, self.place(&self.dir()?)?, text)?;
        let done =
            work([&mut file, &mut lock]).map_err(|error| Restore::reason([&file, &lock], error))?;
        Restore::keep([file, lock])?;
        Ok(done)
    }

    /// Remembers the lock file as it is now, to be put back.
    pub fn restore_lock<'f>(&self, folder: &'f LockedDir) -> Result<Restore<'f>> {
        Restore::new(folder, self.dir()?.place(LOCK)?)
    }

    /// Returns the manifest's text with `stanza` in it.
    pub fn with(&self, stanza: &Stanza) -> Result<String> {
        let document = parse(&self.path, &self.original)?;
        if let Some(patch) = document.get("patch") {
            for registry in stanza.tables().keys() {
                self.assert_open(patch, registry)?;
            }
        }
        let text = join(&self.original, stanza);
        parse(&self.path, &text)?;
        Ok(text)
    }

    /// Lists the profiles that optimize and compile incrementally by cargo's configuration, and not by the manifest alone. The block cannot
    /// except the trees there: a manifest comes after the configuration.
    pub fn configured_incremental(&self) -> Result<Vec<String>> {
        let own = parse(&self.path, &self.original)?;
        let configured = configuration_with_origins(self.root(), "profile", &[])?;
        let mut both = own.clone();
        overlay(both.as_table_mut(), configured.as_table());
        let slow = |document: &DocumentMut| -> BTreeSet<String> {
            let tables = document.get("profile").and_then(Item::as_table_like);
            let names = tables.into_iter().flat_map(|tables| {
                let slow = tables
                    .iter()
                    .filter(|(profile, _)| slows_trees(tables, profile));
                slow.map(|(profile, _)| profile.to_owned())
            });
            names.collect()
        };
        Ok(slow(&both).difference(&slow(&own)).cloned().collect())
    }

    /// Returns the profiles that optimize and compile incrementally, each with the packages of `trees` that the block can except from
    /// that: those which the profile says nothing else of. The registry's packages are never compiled incrementally; path packages are,
    /// and run slower.
    pub fn incremental(&self, trees: &[Tree]) -> Result<BTreeMap<String, BTreeSet<String>>> {
        let document = parse(&self.path, &self.original)?;
        // An inline table cannot be added to.
        let is_open = |item: &Item| item.as_table().is_some_and(|table| !table.is_dotted());
        let profiles = document.get("profile");
        let tables = profiles.and_then(Item::as_table_like);
        let mut found = BTreeMap::new();
        for (profile, item) in tables.into_iter().flat_map(|table| table.iter()) {
            if !tables.is_some_and(|tables| slows_trees(tables, profile)) {
                continue;
            }
            let packages = item.get("package");
            let above = [profiles, Some(item), packages];
            let named = packages.and_then(Item::as_table_like);
            let named = named.into_iter().flat_map(|packages| packages.iter());
            let named: BTreeSet<_> = named.map(|(spec, _)| name_of(spec).to_owned()).collect();
            let mut free: BTreeSet<_> = trees.iter().map(|tree| tree.package.clone()).collect();
            free.retain(|package| {
                above.into_iter().flatten().all(is_open) && !named.contains(package)
            });
            found.insert(profile.to_owned(), free);
        }
        Ok(found)
    }

    /// Refuses a manifest with `[replace]`, beside which cargo allows no `[patch]`.
    pub fn assert_overridable(&self) -> Result<()> {
        let document = parse(&self.path, &self.original)?;
        let replaced = document.get("replace").and_then(Item::as_table_like);
        let Some(replaced) = replaced.filter(|replaced| !replaced.is_empty()) else {
            return Ok(());
        };
        let replaced = replaced.iter().map(|(package, _)| shown(package));
        let replaced = replaced.collect::<Vec<_>>().join(", ");
        let what = format!(
            "replaces {replaced} in `[replace]`, and cargo allows no `[patch]` beside that"
        );
        Err(refuse(&self.path, &what)
            .hint("write those entries in `[patch.crates-io]`, by the package's name alone")
            .into())
    }

    /// Refuses a lock file with a checksum that differs from the one reviewed with the patches. Another registry than crates.io
    /// answered where that file was written. Returns a note on packages of which that version was not reviewed: it may be newer.
    pub fn assert_reviewed(&self, patches: &Patches) -> Result<Option<String>> {
        let compared = registry::compare_locks(patches, &self.lock()?)?;
        let Some(difference) = compared.differences.first() else {
            let unreviewed = compared.unreviewed.join(", ");
            return Ok((!unreviewed.is_empty()).then(|| {
                format!("no checksum was reviewed with the patches of {unreviewed}, in Cargo.lock")
            }));
        };
        Err(refuse(&self.lock_file(), difference)
            .hint(resolve::out_of_a_changed_package(self.root()))
            .into())
    }

    /// Returns notes on packages that the lock file does not take from crates.io with a checksum: nothing says what they were when that
    /// file was written. Cargo writes checksums and sources anew as soon as it is asked for the graph.
    pub fn doubts(&self, patches: &Patches) -> Result<Vec<String>> {
        let Comparison {
            unlocked,
            elsewhere,
            ..
        } = registry::compare_locks(patches, &self.lock()?)?;
        let shown = unlocked.iter().take(5).map(String::as_str);
        let mut shown = shown.collect::<Vec<_>>().join(", ");
        if unlocked.len() > 5 {
            shown += &format!(" and {} more", unlocked.len() - 5);
        }
        let unlocked = (!unlocked.is_empty()).then(|| {
            format!(
                "Cargo.lock had no checksum of {shown}; cargo adds what the registry's index has now"
            )
        });
        let of_registries = elsewhere
            .iter()
            .filter(|package| !package.checksum.is_empty());
        let other = of_registries.map(|package| {
            let source = without_credentials(&package.source);
            format!("Cargo.lock had {package} from another registry, {source}")
        });
        Ok(unlocked.into_iter().chain(other).collect())
    }

    /// Refuses a `[patch]` that no table can be added to below `registry`.
    fn assert_open(&self, patch: &Item, registry: &str) -> Result<()> {
        let mut items = [Some(patch), patch.get(registry)].into_iter().flatten();
        if !items.any(Item::is_inline_table) {
            return Ok(());
        }
        let what = format!("`patch.{registry}` is an inline table, which cannot be added to");
        let hint = format!("write it as a table: `[patch.{}]`", source_key(registry));
        Err(refuse(&self.path, &what).hint(hint).into())
    }

    /// Refuses overrides of the user's own that those of `packages` would take the place of, or that cargo would drop beside them: in
    /// the manifest, and in cargo's configuration in a folder, with the values `configs` of `--config`.
    pub fn assert_unpatched<'p>(
        &self,
        packages: impl Iterator<Item = &'p str>,
        git: Option<&Git>,
        folder: &Path,
        configs: &[String],
    ) -> Result<()> {
        let places = packages.map(|package| (package.to_owned(), String::new()));
        let places = places.collect();
        let tables = stanza::tables(&places, git);
        let own = self.own()?;
        let configured = configuration(folder, "patch", configs)?;
        let configured = serde_json::from_value::<Option<toml::Table>>(configured)?;
        let patches = [
            (
                shown(&self.path),
                own.get("patch").and_then(toml::Value::as_table),
            ),
            (
                format!("cargo's configuration in {}", shown(folder)),
                configured.as_ref(),
            ),
        ];
        for (place, patch) in patches {
            for (key, packages) in patch.into_iter().flatten() {
                let source = patched_source(key, folder, configs)?;
                for (registry, trees) in tables.iter().filter(|(_, trees)| !trees.is_empty()) {
                    if patched_source(registry, folder, configs)? == source {
                        assert_free(&place, key, packages, registry, trees)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Refuses overrides of the user's own as [`Self::assert_unpatched`] does, but reads the manifest alone and runs no cargo.
    pub fn assert_unpatched_by_itself<'p>(
        &self,
        packages: impl Iterator<Item = &'p str>,
        git: Option<&Git>,
    ) -> Result<()> {
        self.assert_overridable()?;
        let places = packages.map(|package| (package.to_owned(), String::new()));
        let places = places.collect();
        let own = self.own()?;
        let patch = own.get("patch").and_then(toml::Value::as_table);
        for (key, packages) in patch.into_iter().flatten() {
            for (registry, trees) in &stanza::tables(&places, git) {
                if address(key) == address(registry) {
                    assert_no_overrides(&shown(&self.path), key, packages, trees)?;
                }
            }
        }
        Ok(())
    }

    /// Points the manifest and the lock file at the stanza's trees; `None` restores both.
    ///
    /// The order is: the lock file regains the sources of packages that no tree stands in for any more, the manifest changes, the
    /// lock file loses the sources of packages that trees stand in for. Whenever this is killed, cargo resolves the two as before or
    /// as after: an override replaces a locked package, while a package that has lost its source is looked up anew.
    pub fn set(
        &self,
        stanza: Option<&Stanza>,
        patches: &Patches,
        folder: &LockedDir,
        [file, lock]: [&mut Restore<'_>; 2],
    ) -> Result<()> {
        let text = match stanza {
            Some(stanza) => self.with(stanza)?,
            None => self.original.clone(),
        };
        self.change_lock(lock, |lock| self.without_trees(lock, stanza, patches))?;
        if self.place(&self.dir()?)?.read()?.as_deref() != Some(text.as_bytes()) {
            folder.dir.sync_all()?;
            file.replace(text.as_bytes())?;
        }
        match stanza {
            Some(Stanza {
                overrides, base, ..
            }) => self.lock_to_trees(lock, overrides.keys(), base),
            None => Ok(()),
        }
    }

    /// Removes the sources of packages that trees stand in for from the lock file, unless there is none.
    pub fn lock_to_trees<'p>(
        &self,
        lock: &mut Restore<'_>,
        packages: impl IntoIterator<Item = &'p String>,
        release: &str,
    ) -> Result<()> {
        let packages = packages.into_iter().map(String::as_str).collect();
        self.change_lock(lock, |lock| lock_to_trees(lock, &packages, release))
    }

    fn change_lock(
        &self,
        lock: &mut Restore<'_>,
        change: impl FnOnce(&str) -> Result<String>,
    ) -> Result<()> {
        let text = self.lock()?;
        let changed = change(&text)?;
        if changed == text {
            return Ok(());
        }
        lock.replace(changed.as_bytes())
    }

    /// Returns the graph of Plonky3's packages from the repository that is recorded, without the patches, which stay in place.
    pub fn graph_from(&self, git: &Git, folder: &LockedDir, patches: &Patches) -> Result<Metadata> {
        let lock = self.lock()?;
        if let Some(refusal) = self.commit_moved(git, &lock)? {
            return Err(refusal.into());
        }
        let lock = self.without_trees(&lock, None, patches)?;
        let packages = locked::packages(&lock)?;
        let from_git = of_repository(&git.source, &packages);
        let mut names: BTreeSet<_> = from_git.map(|(package, _)| package.name.as_str()).collect();
        let recorded = self
            .stanza
            .iter()
            .flat_map(|stanza| stanza.overrides.keys());
        names.extend(recorded.map(String::as_str));
        let lock = (!packages.is_empty()).then_some(lock.as_bytes());
        git_source::graph(&git.source, names, lock, folder)
    }

    /// Returns the refusal of a `lock` file that has packages of the recorded repository at another commit than the patched one.
    pub fn commit_moved(&self, git: &Git, lock: &str) -> Result<Option<Failure>> {
        let mut sources = sources_of(&git.source, lock)?.into_iter();
        let moved = sources.find(|source| source.commit() != git.source.commit());
        let refusal = |moved| {
            let path = shown(&self.path);
            let what = format!(
                "{path}: patched in place of {}, but locked to {moved}",
                git.source
            );
            let hint =
                "`cargo p3 remove` takes the patches out, then `apply` goes by what is locked";
            Failure::input(what).hint(hint)
        };
        Ok(moved.map(refusal))
    }

    /// Returns the lock file's text as it is without the patches.
    pub fn published_lock(&self, patches: &Patches) -> Result<String> {
        self.without_trees(&self.lock()?, None, patches)
    }

    /// Returns the text of the `lock` file without the trees that `stanza` has not.
    fn without_trees(
        &self,
        lock: &str,
        stanza: Option<&Stanza>,
        patches: &Patches,
    ) -> Result<String> {
        let replaced = self.replaced(lock, stanza, patches)?;
        let recorded = self.stanza.iter().chain(stanza);
        let releases: BTreeSet<_> = recorded.map(|stanza| &*stanza.base).collect();
        let own = self.redirected()?;
        let is_tree = |name: &str, version: &str| {
            name.starts_with("p3-")
                && releases.contains(version)
                && !own.iter().any(|(package, _)| package == name)
                && !stanza.is_some_and(|stanza| stanza.overrides.contains_key(name))
        };
        relock(lock, &replaced, is_tree)
    }

    /// Returns the packages in whose place the trees were taken that the `lock` file has and `stanza` has not.
    fn replaced(
        &self,
        lock: &str,
        stanza: Option<&Stanza>,
        patches: &Patches,
    ) -> Result<Vec<Locked>> {
        let locked = locked::packages(lock)?;
        let Some(recorded) = &self.stanza else {
            return self.left_behind(&locked, patches);
        };
        let goes = |package: &&String| {
            let stays = stanza.is_some_and(|stanza| stanza.overrides.contains_key(*package));
            let is_tree = |locked: &Locked| {
                locked.name == **package
                    && locked.version == recorded.base
                    && locked.source.is_empty()
            };
            !stays && locked.iter().any(is_tree)
        };
        let git = match &recorded.git {
            None => None,
            // The packages that no tree stands in for may have moved to another commit since.
            Some(git) => {
                let mut sources = sources_of(&git.source, lock)?.into_iter();
                let moved = sources.find(|source| git.source.asks_for(source));
                let version = locked::version(lock)?;
                Some(moved.unwrap_or_else(|| git.source.in_lock(version)))
            }
        };
        let before = |package: &String| match &git {
            None => registry::locked(patches, package, &recorded.base),
            Some(source) => Ok(Locked {
                name: package.clone(),
                version: recorded.base.clone(),
                source: source.as_written().to_owned(),
                checksum: String::new(),
            }),
        };
        let gone = recorded.overrides.keys().filter(goes);
        gone.map(before).collect()
    }

    /// Returns the packages that a lock file still has from trees, though the manifest names none: after a block was deleted by hand,
    /// or a `try` was killed while it built. They come from the repository that others of their release come from, or from the registry.
    fn left_behind(&self, locked: &[Locked], patches: &Patches) -> Result<Vec<Locked>> {
        let mut found = Vec::new();
        let from_nowhere = locked
            .iter()
            .filter(|locked| locked.source.is_empty() && locked.name.starts_with("p3-"));
        let mut from_nowhere = from_nowhere.peekable();
        if from_nowhere.peek().is_none() {
            return Ok(found);
        }
        // The workspace's own packages have no source either. Where a manifest cannot be read, nothing is known to be left behind.
        let Ok(mut own) = self.own_packages() else {
            return Ok(found);
        };
        own.extend(self.configured_packages());
        for Locked { name, version, .. } in
            from_nowhere.filter(|locked| !own.contains(&locked.name))
        {
            let Some(published) = registry::reviewed(patches, name, version)? else {
                continue;
            };
            let sibling = locked.iter().find(|sibling| {
                let is_of_release = sibling.name.starts_with("p3-") && sibling.version == *version;
                is_of_release && GitSource::parse(&sibling.source).is_some()
            });
            found.push(match sibling {
                None => published,
                Some(sibling) => Locked {
                    source: sibling.source.clone(),
                    checksum: String::new(),
                    ..published
                },
            });
        }
        Ok(found)
    }

    /// Returns the names of the workspace's packages, and of those that its manifests have by a path.
    fn own_packages(&self) -> Result<BTreeSet<String>> {
        let own = self.own()?;
        let mut manifests = vec![own.clone()];
        for path in workspace::others(&self.path, &own, self.root())? {
            manifests.push(toml::from_str(&read_toml(&path)?)?);
        }
        let name = |manifest: &toml::Table| {
            Some(manifest.get("package")?.get("name")?.as_str()?.to_owned())
        };
        Ok(manifests.iter().filter_map(name).collect())
    }

    /// Returns the names of the packages that cargo's configuration overrides; none where cargo cannot read it.
    fn configured_packages(&self) -> BTreeSet<String> {
        let configured = configuration(self.root(), "patch", &[]).unwrap_or_default();
        let patch = serde_json::from_value::<toml::Value>(configured).into_iter();
        let root = patch.map(|patch| ("patch".to_owned(), patch)).collect();
        let entries = redirections(workspace::of_root(&root));
        entries.map(|(package, _)| package).collect()
    }

    /// Restores the sources of packages that a lock file still has from trees, though the manifest names none.
    pub fn restore_left_behind(&self, lock: &mut Restore<'_>, patches: &Patches) -> Result<()> {
        self.change_lock(lock, |lock| self.without_trees(lock, None, patches))
    }

    /// Returns a function that tells whether the lock file, as it is now, has a package.
    pub fn locked(&self) -> impl Fn(&str) -> bool + use<> {
        let locked = self.lock().and_then(|lock| locked::packages(&lock));
        let locked = locked.unwrap_or_default();
        move |package| locked.iter().any(|locked| locked.name == package)
    }

    /// Resolves the workspace's graph with values of cargo's `--config`, and has cargo bring the lock file up to date.
    ///
    /// Cargo is asked to leave the file as it is first. Where it can, each change of the file is another program's.
    pub fn resolve(&self, lock: &mut Restore<'_>, configs: &[String]) -> Result<Metadata> {
        let configs: Vec<&str> = configs
            .iter()
            .flat_map(|value| ["--config", value])
            .collect();
        if self.lock_file().exists() {
            for options in [&["--locked", "--offline"][..], &["--locked"]] {
                match self.metadata(&[options, &configs].concat())? {
                    Ok(graph) => return Ok(graph),
                    Err(error) if resolve::is_unfetched(&error) => {}
                    Err(_) => break,
                }
            }
        }
        lock.during(|| self.resolve_anew(&configs), may_be_cargos)
    }

    /// Resolves the graph, whatever becomes of the lock file.
    fn resolve_anew(&self, configs: &[&str]) -> Result<Metadata> {
        // There is no lock file, or it lacks a version: offline, that would be whatever happens to be cached.
        let graph = resolve::resolve(NETWORK_FIRST, |options| {
            self.metadata(&[options, configs].concat())
        })?;
        graph.or_else(|error| {
            self.assert_readable()?;
            let hint = resolve::out_of_a_replacement(self.root(), &error);
            let hint = hint.as_deref().unwrap_or(
                "`cargo fetch` in that folder brings what cargo's cache lacks from the registry, or shows the whole message",
            );
            let what = format!("{}: cargo cannot resolve the graph", shown(&self.path));
            Err(resolve::unresolved_manifest(self.root(), &what, &error, hint).into())
        })
    }

    /// Proves that cargo can read the workspace's manifests, which takes neither a lock file nor a registry.
    fn assert_readable(&self) -> Result<Metadata> {
        self.metadata(&["--no-deps"])?.map_err(|error| {
            let configured = cargo::out_of_a_wrong_configuration(self.root(), &error);
            let hint = if let Some(configured) = &configured {
                configured
            } else if error.contains(&*self.trees().to_string_lossy()) {
                "where a glob in `members` takes the folder of trees for a member, `exclude = [\".p3-patches\"]` helps"
            } else {
                resolve::out_of_a_wrong_manifest(&error)
                    .unwrap_or("`cargo metadata --no-deps` in that folder shows the whole message")
            };
            refuse(&self.path, &error).hint(hint).into()
        })
    }

    /// Resolves the graph without touching the lock file; an error is cargo's, in one line.
    pub fn resolve_locked(&self) -> Result<Result<Metadata, String>> {
        self.metadata(&["--locked", "--offline"])
    }

    /// Returns the folder in which cargo builds.
    pub fn target_folder(&self) -> Result<PathBuf> {
        let metadata = self.assert_readable()?;
        // Cargo prints the path as it is configured, and compares that of a tree without `..`.
        Ok(workspace::normal(metadata.target_directory.as_std_path()))
    }

    fn metadata(&self, options: &[&str]) -> Result<Result<Metadata, String>> {
        // The trees of the tool's block are path packages, too.
        workspace::assert_plain(&self.path, &toml::from_str(&self.current()?)?)?;
        let path = self.path.to_str().context("a path that is not UTF-8")?;
        let whole = ["--manifest-path", path, "--all-features"];
        resolve::metadata(self.root(), &[&whole, options].concat())
    }
}

/// Writes the values of the table `over` into a table, and tables into its tables.
fn overlay(table: &mut dyn TableLike, over: &dyn TableLike) {
    for (key, item) in over.iter() {
        if let Some(over) = item.as_table_like()
            && let Some(into) = table.get_mut(key).and_then(Item::as_table_like_mut)
        {
            overlay(into, over);
        } else {
            table.insert(key, item.clone());
        }
    }
}

/// Tells whether a profile of the table `profiles` has cargo optimize path packages, and compile them incrementally: because it says so, or
/// because it is `dev` or one of its heirs.
fn slows_trees(profiles: &dyn TableLike, profile: &str) -> bool {
    let mut chain = vec![profile];
    // An heir of itself is refused by cargo.
    while chain.len() <= profiles.len() + 1 {
        let heir = chain[chain.len() - 1];
        let table = profiles.get(heir);
        let named = table
            .and_then(|table| table.get("inherits"))
            .and_then(Item::as_str);
        match (named, heir) {
            (Some(parent), _) => chain.push(parent),
            (None, "test") => chain.push("dev"),
            (None, _) => break,
        }
    }
    let tables = || chain.iter().filter_map(|profile| profiles.get(profile));
    let incremental = |table: &Item| table.get("incremental").and_then(Item::as_bool);
    let is_optimized = |item: &Item| {
        let level = item.get("opt-level");
        level.is_some_and(|level| level.as_integer() != Some(0))
    };
    let packages = |table: &Item| {
        let packages = table.get("package").and_then(Item::as_table_like);
        packages.is_some_and(|packages| packages.iter().any(|(_, item)| is_optimized(item)))
    };
    let all = |table: &Item| {
        let all = table.get("package").and_then(|packages| packages.get("*"));
        all.and_then(incremental)
    };
    if tables().find_map(all) == Some(false) {
        return false;
    }
    match tables().find_map(incremental) {
        Some(incremental) => incremental,
        None => {
            chain.contains(&"dev") && tables().any(|table| is_optimized(table) || packages(table))
        }
    }
}

/// Tells whether cargo may have written the second one of these lock files in place of the first: with each package of the graph or,
/// where it has failed, with other packages than before.
fn may_be_cargos(graph: Result<&Metadata, ()>, locks: [&[u8]; 2]) -> bool {
    let packages = |lock| locked::packages(str::from_utf8(lock).ok()?).ok();
    let [before, Some(now)] = locks.map(packages) else {
        return false;
    };
    let Ok(graph) = graph else {
        return before != Some(now);
    };
    let locked: BTreeSet<_> = (now.iter())
        .map(|package| (&*package.name, &*package.version))
        .collect();
    let mut packages = graph.packages.iter();
    packages.all(|package| locked.contains(&(&*package.name, &*package.version.to_string())))
}

/// Returns the name in a package's specification, which may have a source before the name, and a version behind it.
fn name_of(spec: &str) -> &str {
    let (_, name) = spec.rsplit_once('#').unwrap_or(("", spec));
    name.split(['@', ':']).next().unwrap_or(name)
}

/// Lists the packages that entries of a manifest take from elsewhere than crates.io, each with the place.
fn redirections<'e>(
    entries: impl Iterator<Item = (&'e String, &'e toml::Value)>,
) -> impl Iterator<Item = (String, String)> {
    entries.filter_map(|(key, entry)| {
        let named = entry.get("package").and_then(toml::Value::as_str);
        let name = named.unwrap_or_else(|| name_of(key)).to_owned();
        Some((name, place_of(entry)?))
    })
}

/// Returns the place that an entry of a manifest takes a package from; `None` stands for crates.io.
fn place_of(entry: &toml::Value) -> Option<String> {
    let value = |key: &str| entry.get(key).and_then(toml::Value::as_str);
    if let Some(path) = value("path") {
        return Some(format!("the folder {path}"));
    }
    if let Some(url) = value("git") {
        let pinned = ["branch", "tag", "rev"].into_iter();
        let mut pinned = pinned.filter_map(|key| Some(format!("?{key}={}", value(key)?)));
        return Some(format!("git+{url}{}#", pinned.next().unwrap_or_default()));
    }
    let registry = value("registry").or_else(|| value("registry-index"))?;
    (address(registry) != canonical(INDEX)).then(|| format!("the registry {registry}"))
}

/// The address of crates.io's index. Cargo goes by this one, even where it asks the sparse one.
const INDEX: &str = "https://github.com/rust-lang/crates.io-index";

/// Returns the address of the source that a key of `[patch]` names, where cargo's configuration need not be asked for it.
fn address(key: &str) -> String {
    match canonical(key).as_str() {
        REGISTRY | "sparse+https://index.crates.io" => canonical(INDEX),
        url => url.to_owned(),
    }
}

/// Returns the source that a key of `[patch]` names, in the same words for each spelling that cargo takes for one.
fn patched_source(key: &str, folder: &Path, configs: &[String]) -> Result<String> {
    if key == REGISTRY || key.contains("://") {
        let url = if key == REGISTRY { INDEX } else { key };
        return Ok(canonical(url));
    }
    let index = configuration(
        folder,
        &format!("registries.{}.index", Key::new(key)),
        configs,
    )?;
    Ok(canonical(index.as_str().unwrap_or(key)))
}

/// Refuses a table `[patch.KEY]` that has one of the packages of `trees`, or that cargo does not take beside `[patch.REGISTRY]`.
fn assert_free(
    place: &str,
    key: &str,
    packages: &toml::Value,
    registry: &str,
    trees: &BTreeMap<&str, Table>,
) -> Result<(), Failure> {
    assert_no_overrides(place, key, packages, trees)?;
    if key == registry {
        return Ok(());
    }
    let table = format!("[patch.{}]", source_key(key));
    let taken = format!("[patch.{}]", source_key(registry));
    let what = format!(
        "{place}: `{table}` is of the same source as `{taken}`, and cargo takes one of such tables"
    );
    Err(Failure::input(what).hint(format!("write `{taken}` in place of `{table}`")))
}

/// Refuses a table `[patch.KEY]` that has one of the packages of `trees`.
fn assert_no_overrides(
    place: &str,
    key: &str,
    packages: &toml::Value,
    trees: &BTreeMap<&str, Table>,
) -> Result<(), Failure> {
    let table = format!("[patch.{}]", source_key(key));
    for (name, item) in packages.as_table().into_iter().flatten() {
        // Two patches of one package under two keys are written with `package = ".."`.
        let package = item.get("package").and_then(toml::Value::as_str);
        let package = package.unwrap_or(name);
        if trees.contains_key(package) {
            let from_git = item.get("git").is_some();
            let item = shown(item.to_string());
            let what = format!("{place}: already patches {package} to `{item}`");
            return Err(Failure::input(what).hint(match from_git {
                true => format!(
                    "have the dependencies name the repository, in place of `{table}`; then `apply --source` names it, too"
                ),
                false => format!("remove that entry of `{table}`, or add the change to {package} there"),
            }));
        }
    }
    Ok(())
}

/// Refuses overrides by trees outside of the stanza, such as a merge may leave: nothing would keep their folders.
fn assert_no_trees(path: &Path, original: &str) -> Result<()> {
    let document = parse(path, original)?;
    let registries = document.get("patch").and_then(Item::as_table_like);
    let registries = registries.into_iter().flat_map(|table| table.iter());
    let entries = registries.filter_map(|(_, item)| item.as_table_like());
    for (package, entry) in entries.flat_map(|table| table.iter()) {
        if let Some(place) = place_of_tree(entry) {
            let (package, place) = (shown(package), shown(place));
            let what = format!("overrides {package} by {place}, in a table that is not the tool's");
            return Err(refuse(path, &what)
                .hint("delete that entry, and the p3-patches block if it is empty then; `cargo p3 apply` writes a new one")
                .into());
        }
    }
    Ok(())
}

/// Returns the commits of a repository that the `lock` file has packages of Plonky3 of.
fn sources_of(repository: &GitSource, lock: &str) -> Result<BTreeSet<GitSource>> {
    let packages = locked::packages(lock)?;
    let found = of_repository(repository, &packages);
    Ok(found.map(|(_, source)| source).collect())
}

/// Returns the packages of Plonky3 that a lock file has from a repository, each with its source. Other packages there may be at another
/// commit.
fn of_repository<'l>(
    repository: &GitSource,
    locked: &'l [Locked],
) -> impl Iterator<Item = (&'l Locked, GitSource)> {
    let plonky3 = locked
        .iter()
        .filter(|package| package.name.starts_with("p3-"));
    let sourced = plonky3.filter_map(|package| Some((package, GitSource::parse(&package.source)?)));
    sourced.filter(|(_, source)| source.is_at(repository.url()))
}

/// Returns a registry or repository as a key of `[patch]`.
fn source_key(registry: &str) -> String {
    match registry {
        REGISTRY => registry.to_owned(),
        url => format!("\"{}\"", shown(url)),
    }
}

fn read_toml(path: &Path) -> Result<String> {
    let absolute = path::absolute(path).context("cannot tell the current folder")?;
    if absolute.to_str().is_none() {
        let what = format!("{absolute:?}: cargo takes no path that is not UTF-8");
        return Err(Failure::input(what)
            .hint("give that folder another name")
            .into());
    }
    let bytes = plain::read(path).map_err(|error| workspace::unread(path, &error))?;
    let text = String::from_utf8(bytes).map_err(|_| refuse(path, "not UTF-8 text"))?;
    // Before the parser, which would speak of a key or a duplicate.
    assert_merged(path, &text)?;
    parse(path, &text)?;
    Ok(text)
}

/// Refuses a file with the marks of a merge conflict, and a manifest with two blocks, which a merge may leave.
fn assert_merged(path: &Path, text: &str) -> Result<(), Failure> {
    let lines = || text.lines().zip(1..);
    let conflict = lines().find(|(line, _)| line.starts_with("<<<<<<< "));
    let mut second = lines().filter(|(line, _)| line.trim_start().starts_with(BEGIN));
    for (found, what) in [
        (conflict, "a merge conflict"),
        (second.nth(1), "a second p3-patches block"),
    ] {
        if let Some((_, line)) = found {
            let what = format!("{}:{line}: has {what}", shown(path));
            let hint = match path.ends_with(LOCK) {
                true => "take the lock file of either side; cargo corrects it",
                false => {
                    "settle it, and keep one whole p3-patches block; `cargo p3 apply` then writes what the block records"
                }
            };
            return Err(Failure::input(what).hint(hint));
        }
    }
    Ok(())
}

/// Lists the files and folders of a package that cargo reads beside its manifest.
fn inputs_of_a_package(folder: &Path) -> impl Iterator<Item = PathBuf> {
    const PLACES: [&str; 5] = [
        ".cargo",
        "build.rs",
        "rust-toolchain",
        "rust-toolchain.toml",
        "src",
    ];
    PLACES.into_iter().map(|place| folder.join(place))
}

fn parse(path: &Path, text: &str) -> Result<DocumentMut> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let line = error.span().map_or(1, |span| line_at(text, span.start));
        Failure::input(format!(
            "{}:{line}: {}",
            shown(path),
            error.message().lines().next().unwrap_or_default()
        ))
        .hint("the manifest is not valid TOML")
        .into()
    })
}

/// Returns the place in the first of these manifests that has a requirement for a package: the path, and the line where it is
/// found.
pub(super) fn line_of<P: AsRef<Path>>(manifests: [P; 2], package: &str) -> String {
    let found = manifests.iter().find_map(|path| {
        let text = plain::read_to_string(path.as_ref()).ok()?;
        let document = Document::parse(&*text).ok()?;
        let byte = requirement(document.as_item(), package)?;
        Some(format!("{}:{}", shown(path.as_ref()), line_at(&text, byte)))
    });
    found.unwrap_or_else(|| shown(&manifests[0]))
}

/// Returns the byte at which an item, or a table below it, asks for a package itself, not by way of the workspace.
fn requirement(item: &Item, package: &str) -> Option<usize> {
    let (tables, value) = (item.as_table_like()?, |item: &Item, key| {
        item.as_table_like()?.get(key).cloned()
    });
    tables.iter().find_map(|(key, below)| {
        if !key.ends_with("dependencies") {
            return requirement(below, package);
        }
        let mut entries = below.as_table_like()?.iter();
        let (_, entry) = entries.find(|(name, entry)| {
            let named = value(entry, "package");
            named.as_ref().and_then(Item::as_str).unwrap_or(name) == package
                && value(entry, "workspace").is_none()
        })?;
        Some(entry.span()?.start)
    })
}

fn refuse(path: &Path, what: &str) -> Failure {
    Failure::input(format!("{}: {what}", shown(path)))
}
