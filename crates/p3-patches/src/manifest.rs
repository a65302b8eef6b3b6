//! The downstream workspace: the stanza in its root manifest, its lock file, and the proof that overrides are in use.
//!
//! The stanza is a block of text between two marker lines at the end of the manifest. Nothing else in the file is
//! touched, which is how `remove` gives back the manifest byte for byte. Its tables are of the form
//! `[patch.crates-io.NAME]`, which TOML allows beside every other way to write such a table but an inline one.
//!
//! Where a prover has Plonky3 from git, `[patch."URL".NAME]` are the overrides. The trees' manifests ask the registry for
//! their dependencies, so `[patch.crates-io.NAME]` then points these at the tree, or at the prover's own git source: the
//! graph has to hold one copy of each.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::semver::Version;
use cargo_metadata::{Metadata, MetadataCommand, Package};
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use crate::choice;
use crate::dir::{Dir, Place, Staged};
use crate::error::Failure;
use crate::git_source::{self, GitSource, canonical};
use crate::interrupt;
use crate::project::Patches;
use crate::replace;
use crate::source::{self, Locked, cargo, cargo_error};
use crate::tree::{Folder, Tree};

/// The folder of trees, beside the root manifest.
pub const TREES: &str = ".p3-patches";

/// The registry, as a manifest's `[patch]` has it.
const REGISTRY: &str = "crates-io";

const LOCK: &str = "Cargo.lock";

const BEGIN: &str = "# >>> p3-patches: ";
const END: &str = "# <<< p3-patches";
/// Stands between the patches and the git source in the first line.
const IN: &str = " in ";
const NOTICE: &str = "# Written by `cargo p3 apply`, which also re-creates the folders; `cargo p3 remove` takes this out.";

/// The record of the patches applied to a workspace, in its manifest.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Stanza {
    pub base: String,
    pub names: Vec<String>,
    /// Trees by package, relative to the manifest's folder, with `/` between the parts.
    pub overrides: BTreeMap<String, String>,
    /// The repository whose packages they replace, where these are not the registry's.
    pub git: Option<Git>,
}

/// The part of a stanza for Plonky3 from git.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Git {
    pub source: GitSource,
    /// The packages that the trees ask the registry for.
    pub needed: BTreeSet<String>,
}

impl Stanza {
    /// The tables below `[patch]`: by registry or repository, where each package is taken from.
    fn tables(&self) -> BTreeMap<&str, BTreeMap<&str, Table>> {
        let place = |path: &String| Table::from_iter([("path", path)]);
        let trees = (self.overrides.iter()).map(|(package, path)| (package.as_str(), place(path)));
        let Some(Git { source, needed }) = &self.git else {
            return BTreeMap::from([(REGISTRY, trees.collect())]);
        };
        let pinned = [("git", source.url())]
            .into_iter()
            .chain(source.reference());
        let needed = needed.iter().map(|package| {
            let tree = self.overrides.get(package).map(place);
            let table = tree.unwrap_or_else(|| Table::from_iter(pinned.clone()));
            (package.as_str(), table)
        });
        BTreeMap::from([
            (source.url(), trees.collect()),
            (REGISTRY, needed.collect()),
        ])
    }
}

/// The root manifest of a downstream workspace.
pub struct Manifest {
    pub path: PathBuf,
    /// The file without the stanza.
    pub original: String,
    pub stanza: Option<Stanza>,
}

impl Manifest {
    /// Reads the root manifest of the workspace that `member` belongs to.
    pub fn load(member: &Path) -> Result<Self> {
        read_toml(member)?;
        // Only the root's `[patch]` counts, and cargo alone knows which manifest that is.
        let locate = [
            "locate-project",
            "--workspace",
            "--message-format",
            "plain",
            "--manifest-path",
        ];
        let output = interrupt::output(cargo().args(locate).arg(member))?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let error = cargo_error(&stderr);
            // rustup knows what to do about a toolchain that is pinned and not installed.
            let help = stderr.lines().find_map(|line| line.strip_prefix("help: "));
            let hint = if let Some(help) = help {
                help
            } else if error.contains("believes it's in a workspace") {
                "add the package to the `members` or to the `exclude` of that workspace, or give it an empty `[workspace]`"
            } else {
                "--manifest-path takes the Cargo.toml of a package or a workspace"
            };
            return Err(Failure::input(format!("{}: {error}", member.display()))
                .hint(hint)
                .into());
        }
        let path = String::from_utf8(output.stdout)
            .context("cargo located a manifest with a path that is not UTF-8")?;
        let path = Path::new(path.trim_end());
        // A link is no manifest of the folder that it names.
        let root = path.parent().context("a manifest lies in a folder")?;
        let root =
            fs::canonicalize(root).with_context(|| format!("cannot resolve {}", root.display()))?;
        let path = root.join(path.file_name().context("a manifest has a name")?);
        let text = read_toml(&path)?;
        let (original, stanza) = split(&text)
            .map_err(|what| refuse(&path, what).hint("repair or delete the block by hand"))?;
        parse(&path, &original)?;
        Ok(Self {
            path,
            original,
            stanza,
        })
    }

    /// The workspace's folder.
    pub fn root(&self) -> &Path {
        self.path.parent().expect("a manifest lies in a folder")
    }

    /// The workspace's folder, open.
    pub fn dir(&self) -> Result<Dir> {
        Dir::open(self.root())
    }

    /// The folder of trees.
    pub fn trees(&self) -> PathBuf {
        self.root().join(TREES)
    }

    /// The workspace's lock file, which need not exist.
    pub fn lock_file(&self) -> PathBuf {
        self.root().join(LOCK)
    }

    /// The manifest's place in the workspace's folder.
    fn place(&self, root: &Dir) -> Result<Place> {
        root.place(self.path.file_name().unwrap_or_default())
    }

    /// Puts the manifest and the lock file back as they are now, unless they are to be kept.
    pub fn restore(&self, folder: &Folder) -> Result<Restore> {
        let root = self.dir()?;
        Restore::new(folder, [self.place(&root)?, root.place(LOCK)?])
    }

    /// As [`Self::restore`], for the lock file alone.
    pub fn restore_lock(&self, folder: &Folder) -> Result<Restore> {
        Restore::new(folder, [self.dir()?.place(LOCK)?])
    }

    /// The manifest's text with `stanza` in it, if nothing else in the manifest patches the same packages.
    pub fn with(&self, stanza: &Stanza) -> Result<String> {
        let document = parse(&self.path, &self.original)?;
        if let Some(patch) = document.get("patch") {
            for (registry, packages) in stanza.tables() {
                self.assert_free(patch, registry, &packages)?;
            }
        }
        let text = join(&self.original, stanza);
        parse(&self.path, &text)?;
        Ok(text)
    }

    /// Refuses a manifest with overrides of its own for the packages of `trees`: those of a command line would take their
    /// place.
    pub fn assert_unpatched(&self, trees: &[Tree]) -> Result<()> {
        let packages = trees.iter().map(|tree| (&*tree.package, Table::new()));
        match parse(&self.path, &self.original)?.get("patch") {
            Some(patch) => self.assert_free(patch, REGISTRY, &packages.collect()),
            None => Ok(()),
        }
    }

    /// Refuses a `[patch]` that has one of `packages` below `registry`, or cannot be added to.
    fn assert_free(
        &self,
        patch: &Item,
        registry: &str,
        packages: &BTreeMap<&str, Table>,
    ) -> Result<()> {
        let entry = patch.get(registry);
        if [Some(patch), entry]
            .into_iter()
            .flatten()
            .any(Item::is_inline_table)
        {
            return Err(refuse(
                &self.path,
                &format!("`patch.{registry}` is an inline table, which cannot be added to"),
            )
            .hint(format!(
                "write it as a table: `[patch.{}]`",
                shown(registry)
            ))
            .into());
        }
        // A repository has several spellings, which cargo takes for one.
        let same = |key: &str| canonical(key) == canonical(registry);
        let tables = patch
            .as_table_like()
            .into_iter()
            .flat_map(|table| table.iter());
        let entries = tables
            .filter(|(key, _)| same(key))
            .filter_map(|(_, item)| item.as_table_like());
        for (key, item) in entries.flat_map(|table| table.iter()) {
            // Two patches of one package under two keys are written with `package = ".."`.
            let package = item.get("package").and_then(Item::as_str).unwrap_or(key);
            if packages.contains_key(package) {
                return Err(refuse(
                    &self.path,
                    &format!("already patches {package} to `{}`", item.to_string().trim()),
                )
                .hint(format!(
                    "remove that entry of `[patch.{}]`, or add the change to {package} there",
                    shown(registry)
                ))
                .into());
            }
        }
        Ok(())
    }

    /// Has the manifest name the trees of `stanza` or, without one, none, and the lock file with it.
    ///
    /// The lock file first has the sources of what no tree stands in for any more, then the manifest changes, then the lock
    /// file loses the sources of what trees stand in for. Whenever this is killed, cargo makes of the two what it would
    /// make of them before or after: overrides replace what is locked, but what has lost its source is looked up anew.
    pub fn set(&self, stanza: Option<&Stanza>, folder: &Folder, patches: &Patches) -> Result<()> {
        let text = match stanza {
            Some(stanza) => self.with(stanza)?,
            None => self.original.clone(),
        };
        let root = self.dir()?;
        let lock = root.read(LOCK)?.unwrap_or_default();
        let replaced = self.replaced(str::from_utf8(&lock)?, stanza, patches)?;
        let replace_lock = |change: &dyn Fn(&str) -> Result<String>| {
            let Some(lock) = root.read(LOCK)? else {
                return Ok(());
            };
            let lock = String::from_utf8(lock).context("Cargo.lock is no UTF-8 text")?;
            let changed = change(&lock)?;
            if changed == lock {
                return Ok(());
            }
            folder.replace(root.place(LOCK)?, changed.as_bytes())
        };
        replace_lock(&|lock| relock(lock, &replaced))?;
        let manifest = self.place(&root)?;
        if manifest.read()?.as_deref() != Some(text.as_bytes()) {
            folder.sync()?;
            folder.replace(manifest, text.as_bytes())?;
        }
        match stanza {
            Some(stanza) => replace_lock(&|lock| lock_to_trees(lock, stanza)),
            None => Ok(()),
        }
    }

    /// The graph of Plonky3's packages from the repository that is recorded, without the patches, which stay in place.
    pub fn graph_from(&self, git: &Git, folder: &Folder, patches: &Patches) -> Result<Metadata> {
        let lock = self.dir()?.read(LOCK)?.unwrap_or_default();
        let lock = str::from_utf8(&lock)?;
        let lock = relock(lock, &self.replaced(lock, None, patches)?)?;
        let packages = source::packages(&lock)?;
        let from_git = packages.iter().filter_map(|package| {
            let source = GitSource::parse(&package.source)?;
            (source.is_at(git.source.url())).then_some((package, source))
        });
        let mut names = BTreeSet::new();
        for (package, source) in from_git {
            if source.commit() != git.source.commit() {
                let path = self.path.display();
                let what = format!(
                    "{path}: patched in place of {}, but locked to {source}",
                    git.source
                );
                let hint =
                    "`cargo p3 remove` takes the patches out, then `apply` goes by what is locked";
                return Err(Failure::input(what).hint(hint).into());
            }
            names.insert(package.name.as_str());
        }
        let recorded = self
            .stanza
            .iter()
            .flat_map(|stanza| stanza.overrides.keys());
        names.extend(recorded.map(String::as_str));
        let lock = (!packages.is_empty()).then_some(lock.as_bytes());
        git_source::graph(&git.source, names, lock, folder)
    }

    /// The packages in whose place the trees were taken that the `lock` file has and `stanza` has not.
    fn replaced(
        &self,
        lock: &str,
        stanza: Option<&Stanza>,
        patches: &Patches,
    ) -> Result<Vec<Locked>> {
        let Some(recorded) = &self.stanza else {
            return Ok(Vec::new());
        };
        let locked = source::packages(lock)?;
        let goes = |package: &&String| {
            let stays = stanza.is_some_and(|stanza| stanza.overrides.contains_key(*package));
            let is_tree = |locked: &Locked| {
                locked.name == **package
                    && locked.version == recorded.base
                    && locked.source.is_empty()
            };
            !stays && locked.iter().any(is_tree)
        };
        let before = |package: &String| match &recorded.git {
            None => source::locked(patches, package, &recorded.base),
            Some(git) => Ok(Locked {
                name: package.clone(),
                version: recorded.base.clone(),
                source: git.source.to_string(),
                checksum: String::new(),
            }),
        };
        let gone = recorded.overrides.keys().filter(goes);
        gone.map(before).collect()
    }

    /// Whether the lock file has a package.
    pub fn locks(&self, package: &str) -> bool {
        let lock = fs::read_to_string(self.lock_file()).unwrap_or_default();
        lock.contains(&format!("\nname = \"{package}\"\n"))
    }

    /// Resolves the workspace's graph, with cargo's lock file brought up to date.
    pub fn resolve(&self) -> Result<Metadata> {
        self.resolve_with(&[])
    }

    /// As [`Self::resolve`], with values of cargo's `--config`.
    pub fn resolve_with(&self, configs: &[String]) -> Result<Metadata> {
        let configs: Vec<&str> = configs
            .iter()
            .flat_map(|value| ["--config", value])
            .collect();
        // With a lock file nothing has to be looked up; without one, offline would mean whatever happens to be cached.
        let attempts = if self.lock_file().exists() {
            [&["--offline"][..], &[]]
        } else {
            [&[][..], &["--offline"]]
        };
        let mut errors = Vec::new();
        for options in attempts {
            match self.metadata(&[options, &configs].concat())? {
                Ok(metadata) => return Ok(metadata),
                Err(error) => errors.push(error),
            }
        }
        let error = &errors[usize::from(attempts[0] == ["--offline"])];
        let hint = if error.contains(&*self.trees().to_string_lossy()) {
            "where a glob in `members` takes the folder of trees for a member, `exclude = [\".p3-patches\"]` helps"
        } else {
            source::vendoring(error).unwrap_or(
                "`cargo metadata` in that folder shows the whole message; what is not in cargo's cache takes the registry once",
            )
        };
        let path = self.path.display();
        Err(
            Failure::environment(format!("{path}: cargo cannot resolve the graph: {error}"))
                .hint(hint)
                .into(),
        )
    }

    /// Resolves the graph without touching the lock file; an error is cargo's, in one line.
    pub fn resolve_locked(&self) -> Result<Result<Metadata, String>> {
        self.metadata(&["--locked", "--offline"])
    }

    /// The folder in which cargo builds.
    pub fn target_folder(&self) -> Result<PathBuf> {
        match self.metadata(&["--no-deps"])? {
            Ok(metadata) => Ok(metadata.target_directory.into_std_path_buf()),
            Err(error) => {
                let path = self.path.display();
                Err(Failure::input(format!("{path}: {error}")).into())
            }
        }
    }

    fn metadata(&self, options: &[&str]) -> Result<Result<Metadata, String>> {
        let mut command = MetadataCommand::new();
        command
            .manifest_path(&self.path)
            .current_dir(self.root())
            .features(cargo_metadata::CargoOpt::AllFeatures);
        command.other_options(
            options
                .iter()
                .map(|option| (*option).to_owned())
                .collect::<Vec<_>>(),
        );
        let output = interrupt::output(&mut command.cargo_command())?;
        if !output.status.success() {
            return Ok(Err(cargo_error(&String::from_utf8_lossy(&output.stderr))));
        }
        let text = String::from_utf8(output.stdout).context("cargo metadata printed no UTF-8")?;
        Ok(Ok(
            MetadataCommand::parse(text).context("cannot parse what cargo metadata printed")?
        ))
    }
}

/// Puts files back as they were unless [`Restore::keep`] is called: on an error, an interrupt or a panic.
pub struct Restore {
    files: Vec<(Place, Option<Before>)>,
}

/// A file's contents, and a copy of it that is written while there is space for it.
type Before = (Vec<u8>, Staged);

impl Restore {
    /// Remembers files, some of which may not exist.
    pub fn new(folder: &Folder, places: impl IntoIterator<Item = Place>) -> Result<Self> {
        let read = |place: Place| match place.read()? {
            Some(bytes) => {
                let copy = folder.stage(place.again()?, &bytes)?;
                Ok((place, Some((bytes, copy))))
            }
            None => Ok((place, None)),
        };
        Ok(Self {
            files: places.into_iter().map(read).collect::<Result<_>>()?,
        })
    }

    /// Lets the files stand as they are now.
    pub fn keep(mut self) {
        self.files.clear();
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        for (place, before) in self.files.drain(..) {
            let path = place.path();
            let restored = match (before, place.read().ok().flatten()) {
                (Some((before, _)), Some(now)) if before == now => continue,
                // A copy on another file system cannot take the place.
                (Some((before, copy)), _) => copy.put().or_else(|_| {
                    replace::files_below(&[place.folder()], &[(path.clone(), before)])
                }),
                (None, Some(_)) => place.remove(),
                (None, None) => continue,
            };
            if let Err(error) = restored {
                eprintln!(
                    "warning: {} could not be put back: {error:#}",
                    path.display()
                );
            }
        }
    }
}

/// How a graph treats an override.
#[derive(Debug, Eq, PartialEq)]
pub enum Use {
    Used,
    /// The graph has the package, but takes it from elsewhere: version and source of each.
    Bypassed(Vec<(String, String)>),
    /// The graph does not have the package.
    Absent,
}

/// Whether the graph takes `tree`'s package from `tree`.
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

/// Whether a graph has a package, of whatever release.
pub fn has(metadata: &Metadata, name: &str) -> bool {
    metadata.packages.iter().any(|package| package.name == name)
}

/// Where the graph takes a package from.
fn origin(package: &Package) -> String {
    match &package.source {
        Some(source) if source.is_crates_io() => "crates.io".to_owned(),
        Some(source) => source.repr.clone(),
        None => package.manifest_path.to_string(),
    }
}

/// The packages of that name and version in a graph.
fn copies<'m>(metadata: &'m Metadata, name: &str, version: &str) -> Vec<&'m Package> {
    let same = |package: &&Package| package.name == name && package.version.to_string() == version;
    metadata.packages.iter().filter(same).collect()
}

/// Where a graph takes a package from, and for which.
fn shown_copy(metadata: &Metadata, copy: &Package) -> String {
    let users = choice::brought_by(metadata, &[copy]).join(" and ");
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
        "`cargo tree --invert '{id}'` shows who brings it in; the prover has to take Plonky3 from one place"
    )))
}

/// The packages that are patched in another release than `base`, which the graph has too. These stay as they are.
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
                let hint = match git {
                    None => format!(
                        "an override replaces the registry's {package} {version} only; a path, or a `[patch]` of the manifest or of cargo's configuration, comes before it"
                    ),
                    Some(git) => format!(
                        "`cargo p3 apply .. --source {} --rev {}` replaces what comes from there",
                        git.url(),
                        git.reference().map_or(git.commit(), |(_, rev)| rev)
                    ),
                };
                let found = found
                    .into_iter()
                    .map(|(version, source)| format!("{version} from {source}"));
                return Err(Failure::input(format!(
                    "the override of {package} is not used: the graph has {package} {}, and the tree at {} is {version}",
                    found.collect::<Vec<_>>().join(" and "),
                    path.display()
                ))
                .hint(hint)
                .into());
            }
        }
    }
    Ok(())
}

/// The overrides as values of cargo's `--config`, for a build that leaves the manifest alone.
pub fn overrides(trees: &[Tree]) -> Vec<String> {
    let path =
        |tree: &Tree| toml_edit::Value::from(tree.path.to_string_lossy().as_ref()).to_string();
    trees
        .iter()
        .map(|tree| {
            format!(
                "patch.crates-io.{}.path={}",
                tree.package,
                path(tree).trim()
            )
        })
        .collect()
}

/// Appends the stanza, with the file's own line ends.
fn join(original: &str, stanza: &Stanza) -> String {
    let implicit = |mut table: Table| {
        table.set_implicit(true);
        table
    };
    let registries = (stanza.tables().into_iter())
        .map(|(registry, packages)| (registry, implicit(Table::from_iter(packages))));
    let patch = implicit(Table::from_iter(registries));
    let tables = DocumentMut::from(Table::from_iter([("patch", patch)])).to_string();
    let names = stanza.names.join(", ");
    let from = (stanza.git.as_ref()).map_or(String::new(), |git| format!("{IN}{}", git.source));
    let block = format!(
        "\n{BEGIN}Plonky3 {} with {names}{from}\n{NOTICE}\n{}\n{END}\n",
        stanza.base,
        tables.trim()
    );
    let block = if original.contains("\r\n") {
        block.replace('\n', "\r\n")
    } else {
        block
    };
    format!("{original}{block}")
}

/// Takes a manifest apart into the text around the stanza and the stanza.
fn split(text: &str) -> Result<(String, Option<Stanza>), &'static str> {
    let mut at = 0;
    let mut begin = None;
    let mut end = None;
    for line in text.split_inclusive('\n') {
        if line.starts_with(BEGIN) {
            if begin.replace(at).is_some() {
                return Err("two p3-patches blocks");
            }
        } else if line.trim_end() == END && end.replace(at + line.len()).is_some() {
            return Err("two ends of a p3-patches block");
        }
        at += line.len();
    }
    let (begin, end) = match (begin, end) {
        (None, None) => return Ok((text.to_owned(), None)),
        (Some(begin), Some(end)) if begin < end => (begin, end),
        _ => return Err("the p3-patches block has lost its first or its last line"),
    };
    let block = &text[begin..end];
    let (base, names) = (block.lines().next())
        .and_then(|line| line.strip_prefix(BEGIN)?.strip_prefix("Plonky3 "))
        .and_then(|rest| rest.split_once(" with "))
        .ok_or("the first line of the p3-patches block has been changed")?;
    let (names, source) = match names.split_once(IN) {
        None => (names, None),
        Some((names, source)) => {
            let source = GitSource::parse(source.trim_end());
            let source = source.ok_or("the first line of the p3-patches block has been changed")?;
            (names, Some(source))
        }
    };
    let document: DocumentMut = block
        .parse()
        .map_err(|_| "the p3-patches block does not parse")?;
    let below = |registry: &str| document.get("patch")?.get(registry)?.as_table_like();
    let overrides = below(source.as_ref().map_or(REGISTRY, GitSource::url))
        .ok_or("the p3-patches block patches nothing")?;
    let overrides = overrides
        .iter()
        .map(|(package, item)| Some((package.to_owned(), item.get("path")?.as_str()?.to_owned())))
        .collect::<Option<BTreeMap<_, _>>>()
        .ok_or("an entry of the p3-patches block has no path")?;
    // Whoever changes one of them has changed what the block says.
    let is_place = |(package, place): (&String, &String)| {
        let hash = place.strip_prefix(&format!("{TREES}/{base}/{package}-"));
        hash.is_some_and(|hash| hash.len() == 12 && hash.bytes().all(|c| c.is_ascii_hexdigit()))
    };
    if Version::parse(base).is_err() || !overrides.iter().all(is_place) {
        return Err("the p3-patches block names a tree that is none of the release that it names");
    }
    let needed = below(REGISTRY).into_iter().flat_map(|table| table.iter());
    let needed = needed.map(|(package, _)| package.to_owned()).collect();
    let stanza = Stanza {
        base: base.to_owned(),
        names: names.split(", ").map(str::to_owned).collect(),
        overrides,
        git: source.map(|source| Git { source, needed }),
    };

    // The block brought one line break before itself: an empty line, or the end of an unterminated line.
    let before = text[..begin].strip_suffix('\n').unwrap_or(&text[..begin]);
    let before = before.strip_suffix('\r').unwrap_or(before);
    Ok((format!("{before}{}", &text[end..]), Some(stanza)))
}

/// Has the lock file's text name the source of packages that `replaced` were taken in place of. Left to itself, cargo would
/// lock the newest releases that the prover's requirements allow, and what those need in turn.
fn relock(lock: &str, replaced: &[Locked]) -> Result<String> {
    let mut lock: DocumentMut = lock.parse().context("cannot parse Cargo.lock")?;
    let packages = lock
        .get_mut("package")
        .and_then(Item::as_array_of_tables_mut);
    for package in packages.into_iter().flat_map(ArrayOfTables::iter_mut) {
        let field = |name| package.get(name).and_then(Item::as_str).unwrap_or_default();
        let same =
            |locked: &&Locked| locked.name == field("name") && locked.version == field("version");
        let locked = replaced.iter().find(same);
        if let Some(locked) = locked.filter(|_| field("source").is_empty()) {
            package["source"] = value(&locked.source);
            if !locked.checksum.is_empty() {
                package["checksum"] = value(&locked.checksum);
            }
        }
    }
    Ok(lock.to_string())
}

/// Has the lock file's text take the packages of `stanza` from trees, as cargo writes it: without a source. Cargo corrects
/// what is amiss; but it writes the file in place, which a full disk or the end of the process cuts short.
fn lock_to_trees(lock: &str, stanza: &Stanza) -> Result<String> {
    let mut lock: DocumentMut = lock.parse().context("cannot parse Cargo.lock")?;
    let packages = lock
        .get_mut("package")
        .and_then(Item::as_array_of_tables_mut);
    let mut patched = BTreeMap::<_, Vec<_>>::new();
    for package in packages.into_iter().flat_map(ArrayOfTables::iter_mut) {
        let field = |name| package.get(name).and_then(Item::as_str).unwrap_or_default();
        let name = field("name").to_owned();
        if stanza.overrides.contains_key(&name) && field("version") == stanza.base {
            patched.entry(name).or_default().push(package);
        }
    }
    for copies in patched.into_values() {
        // Of two copies, cargo knows which one a tree stands in for.
        if let Ok([package]) = <[_; 1]>::try_from(copies) {
            package.remove("source");
            package.remove("checksum");
        }
    }
    Ok(lock.to_string())
}

/// A registry or repository as a key of `[patch]`.
fn shown(registry: &str) -> String {
    match registry {
        REGISTRY => registry.to_owned(),
        url => format!("\"{url}\""),
    }
}

fn read_toml(path: &Path) -> Result<String> {
    let bytes = fs::read(path).map_err(|error| {
        refuse(path, &format!("cannot be read: {error}"))
            .hint("--manifest-path names a prover's Cargo.toml")
    })?;
    let text = String::from_utf8(bytes).map_err(|_| refuse(path, "not UTF-8 text"))?;
    parse(path, &text)?;
    Ok(text)
}

fn parse(path: &Path, text: &str) -> Result<DocumentMut> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let line = error
            .span()
            .map_or(1, |span| text[..span.start].lines().count().max(1));
        Failure::input(format!(
            "{}:{line}: {}",
            path.display(),
            error.message().lines().next().unwrap_or_default()
        ))
        .hint("the manifest is not valid TOML")
        .into()
    })
}

fn refuse(path: &Path, what: &str) -> Failure {
    Failure::input(format!("{}: {what}", path.display()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every way to write a `[patch]`, and what surrounds one. Each part can follow the ones before it.
    const PARTS: [&str; 5] = [
        "[package] # a comment\nname = \"x\"\n",
        "\n\n# spaced   out\n[dependencies]\np3-field = { version = \"0.8\" }   # trailing\n",
        "[[bin]]\nname = \"b\"\n\n[profile.release]\nlto = \"fat\"\n",
        "  [features]\n  default = [\n    \"a\",\n  ]\n\n\n",
        "# only a comment",
    ];
    const PATCHES: [&str; 7] = [
        "",
        "[patch.crates-io]\nserde = { path = \"../serde\" }\n",
        "[patch.crates-io]\n",
        "[patch.crates-io.serde]\npath = \"../serde\"\n",
        "[patch]\ncrates-io.serde.path = \"../serde\"\n",
        "[patch]\ncrates-io.serde = { path = \"../serde\" }\n[patch.other]\n",
        "[patch.\"https://example.org/index\"]\nserde = { path = \"../serde\" }\n",
    ];

    fn stanza() -> impl Strategy<Value = Stanza> {
        let packages = prop::collection::btree_map("p3-[a-z]{1,8}", "[0-9a-f]{12}", 1..4);
        let names = prop::collection::vec("[a-z0-9-]{1,8}", 1..4);
        (packages, names, prop::option::of(git())).prop_map(|(hashes, names, git)| Stanza {
            base: "0.8.0".to_owned(),
            names,
            overrides: hashes.into_iter().map(tree).collect(),
            git,
        })
    }

    /// A package, and the place of its tree.
    fn tree((package, hash): (String, String)) -> (String, String) {
        let place = format!(".p3-patches/0.8.0/{package}-{hash}");
        (package, place)
    }

    fn git() -> impl Strategy<Value = Git> {
        let source = "git\\+https://[a-z.]{1,8}/[A-Za-z3]{1,8}(\\?(rev|tag|branch)=[a-z0-9.'é-]{1,9})?#[0-9a-f]{8}";
        let needed = prop::collection::btree_set("p3-[a-z]{1,8}", 0..4);
        (source, needed).prop_map(|(source, needed)| Git {
            source: GitSource::parse(&source).expect("a git source"),
            needed,
        })
    }

    fn manifest() -> impl Strategy<Value = String> {
        let parts = prop::sample::subsequence(PARTS.as_slice(), 0..=PARTS.len());
        let patch = prop::sample::select(PATCHES.as_slice());
        (patch, parts, any::<bool>(), any::<bool>()).prop_map(|(patch, parts, crlf, terminated)| {
            let text = format!("{}\n{patch}", parts.join("\n"));
            let text = if terminated {
                text
            } else {
                text.trim_end_matches('\n').to_owned()
            };
            if crlf {
                text.replace('\n', "\r\n")
            } else {
                text
            }
        })
    }

    fn loaded(original: &str) -> Manifest {
        Manifest {
            path: "Cargo.toml".into(),
            original: original.to_owned(),
            stanza: None,
        }
    }

    proptest! {
        #[test]
        fn what_is_joined_splits_byte_for_byte(original in manifest(), stanza in stanza()) {
            let text = loaded(&original).with(&stanza).unwrap();
            let (split_original, split_stanza) = split(&text).unwrap();
            prop_assert_eq!(split_original, original);
            prop_assert_eq!(split_stanza, Some(stanza));
        }

        /// Text that a user adds below the block stays too.
        #[test]
        fn text_after_the_stanza_survives(original in manifest(), stanza in stanza()) {
            let text = loaded(&original).with(&stanza).unwrap() + "[workspace]\n";
            let (split_original, _) = split(&text).unwrap();
            prop_assert_eq!(split_original, original + "[workspace]\n");
        }

        #[test]
        fn overrides_are_toml(path in "[a-z \"'\\\\é]{1,12}") {
            let tree = Tree { package: "p3-field".to_owned(), version: "0.8.0".to_owned(), path: (&path).into() };
            let document: DocumentMut = overrides(&[tree])[0].parse().unwrap();
            prop_assert_eq!(document["patch"]["crates-io"]["p3-field"]["path"].as_str(), Some(&*path));
        }
    }

    #[test]
    fn a_damaged_stanza_is_refused() {
        let stanza = Stanza {
            base: "0.8.0".to_owned(),
            names: vec!["a".to_owned()],
            overrides: BTreeMap::from([tree(("p3-field".into(), "0123456789ab".into()))]),
            git: None,
        };
        let text = join("", &stanza);
        let damages = [
            text.replace(END, "#"),
            text.replace(BEGIN, "#"),
            text.replace("Plonky3 ", ""),
            text.replace("Plonky3 0.8.0", "Plonky3 0.9.9"),
            text.replace("0.8.0", "x"),
            text.replace(".p3-patches", "../.p3-patches"),
            text.replace("p3-field-", "p3-other-"),
            text.replace("path = ", "git = "),
            format!("{text}{text}"),
        ];
        for damage in damages {
            assert!(split(&damage).is_err(), "{damage}");
        }
    }
}
