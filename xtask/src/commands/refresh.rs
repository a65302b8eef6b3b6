//! `refresh`: the patch file and the kernel files, from what `edit` opened.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::semver::Version;

use super::drift;
use super::edit::{Repository, not_opened};
use crate::author::checks;
use crate::author::git::{Index, git};
use crate::project::Project;
use p3_patches::catalog::Catalog;
use p3_patches::catalog::patch::{self, Addition, Patch};
use p3_patches::catalog::stack::Stack;
use p3_patches::project::CHECKSUMS;
use p3_patches::prover::locked_dir::LockedDir;
use p3_patches::prover::restore::Restore;
use p3_patches::prover::stanza::TREES;
use p3_patches::prover::tree;
use p3_patches::source::checksums::Checksums;
use paired::error::Failure;
use paired::files::dir::Dir;
use paired::files::replace;
use paired::terminal::{shown, spinner};

/// Write a patch and its crate's kernel files from the repository that `edit` has opened.
///
/// Everything that differs from the tag `base/RELEASE` becomes the patch, committed or not. The patch's header stays, but for
/// the field `Kernels`: for the newest release that the patch has been ported to, that has the new files below a package's
/// `src/`, and their text goes into the crate. For an older release it has those that are the same there; the others
/// are added by its diff.
///
/// With --onto, the patch is merged into another release first, in a repository as `edit` opens one. What cannot be merged
/// is left there between conflict markers, and no patch is written before they are gone. A text for an older release is
/// deleted where the new one does the same there. Without a NAME, all patches are merged in turn, up to the first conflict;
/// the same command goes on after it.
///
/// With --dry-run, nothing is written. Each patch is applied to the release that --onto names, on top of the patches that it needs:
/// its text for that release, where there is one, else its newest. Exits with 1 if a patch does not apply or does not compile.
///
/// With --checksums, patches/SHA256SUMS is written in place of a patch: the registry's index says which packages each release
/// that there are patches for has, and with which checksums. What is there already has to be what the index says.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo p3 refresh batched-permute
  cargo p3 refresh batched-permute --onto 0.9.0
  cargo p3 refresh --onto 0.9.0
  cargo p3 refresh --onto 0.9.0 --dry-run
  cargo p3 refresh --checksums")]
pub struct Args {
    /// The patch to write [default: with --onto, all that have not been ported to that release].
    #[arg(value_name = "NAME", required_unless_present_any = ["onto", "dry_run", "checksums"])]
    name: Option<String>,
    /// The Plonky3 release to merge the patch into.
    #[arg(long, value_name = "VERSION")]
    onto: Option<Version>,
    /// Write nothing: show which hunks stand elsewhere in that release, which ones fit nowhere, and what has changed there; compile what
    /// applies, for each instruction set. Without --onto, the release is the newest of the registry, previews included.
    #[arg(long, conflicts_with_all = ["name", "dir", "checksums"])]
    dry_run: bool,
    /// With --dry-run, run upstream's suites of the patched packages too, for this CPU.
    #[arg(long, requires = "dry_run")]
    test: bool,
    /// Add the checksums of Plonky3's packages, also of these, which no known one needs.
    #[arg(long, value_name = "PACKAGE", num_args = 0.., conflicts_with_all = ["name", "onto", "dir"])]
    checksums: Option<Vec<String>>,
    #[command(flatten)]
    repository: Repository,
}

pub fn run(args: &Args, project: &Project) -> Result<()> {
    if args.dry_run {
        let (to, test) = (args.onto.clone(), args.test);
        return drift::run(&drift::Args { to, test }, project);
    }
    let catalog = &project.catalog;
    if let Some(packages) = &args.checksums {
        return write_checksums(packages, project, catalog);
    }
    let names = match (&args.name, &args.onto) {
        (Some(name), _) => vec![catalog.entry(name)?.name.clone()],
        (None, Some(onto)) => unported(onto, project, catalog)?,
        (None, None) => unreachable!("clap requires a name, --onto, --dry-run or --checksums"),
    };
    for name in names {
        // The first patch that is ported makes the release one of the series'.
        let catalog = &Catalog::load(project.patches())?;
        if let Some(onto) = &args.onto {
            merge(&name, onto, &args.repository, project, catalog)?;
        }
        let dir = args.repository.opened(project, &name)?;
        write(&name, &dir, project, catalog)?;
    }
    Ok(())
}

/// Adds the checksums of the releases that there are patches for.
fn write_checksums(packages: &[String], project: &Project, catalog: &Catalog) -> Result<()> {
    let progress = spinner("asking the registry");
    let packages = catalog
        .packages()?
        .into_iter()
        .chain(packages.iter().cloned());
    let present = Checksums::load(project.patches())?;
    let updated = Checksums::update(project.patches(), &project.root, &catalog.bases, packages)?;
    let file = project.root.join("patches").join(CHECKSUMS);
    replace::files_below(&[&project.root], &[(file, updated.text().into_bytes())])?;
    progress.finish_and_clear();
    for (name, release) in updated.added(&present) {
        println!("{name} {release}");
    }
    Ok(())
}

/// Returns the patches that are neither ported to the release `onto` nor contained in it, in series order.
fn unported(onto: &Version, _project: &Project, catalog: &Catalog) -> Result<Vec<String>> {
    let mut unported = Vec::new();
    for name in catalog.names() {
        let ported = catalog.has(&onto.to_string(), name);
        if !ported && catalog.merged(onto, name)?.is_none() {
            unported.push(name.to_owned());
        }
    }
    Ok(unported)
}

/// Opens a repository with the patch merged into the release `onto`: the patch for its newest release, and what it needs
/// there, then `onto`, and what the patch needs there. Fails where something is left to be resolved by hand.
fn merge(
    name: &str,
    onto: &Version,
    repository: &Repository,
    project: &Project,
    catalog: &Catalog,
) -> Result<()> {
    let patches = project.patches();
    let dir = repository.path(project, name);
    catalog.refuse_merged(onto, &[name.to_owned()])?;
    let to = onto.to_string();
    if catalog.has(&to, name) {
        return Err(
            Failure::input(format!("{name} has been ported to Plonky3 {onto} already"))
                .hint(format!("`cargo p3 edit {name} --base {onto}` opens it"))
                .into(),
        );
    }
    let base = catalog.newest_base_of(name)?;
    let load = |base: &str, name: &str| catalog.patch(base, name);
    let (_, names) = catalog.resolve(Some(&base), &[name.to_owned()])?;
    let stack = names.iter().map(|name| load(&base, name));
    let stack = stack.collect::<Result<Vec<_>>>()?;
    let needs = catalog.needs(onto, name)?;
    let needs = needs.iter().map(|name| load(&to, name));
    let needs = needs.collect::<Result<Vec<_>>>()?;
    let patch = stack.last().expect("a selection of one patch");
    let mut then = Stack::new(tree::baseline(patches, &base, &stack)?);
    let both = [needs.as_slice(), &stack].concat();
    let mut now = Stack::new(tree::baseline(patches, &to, &both)?);

    let progress = spinner(format!("writing {}", shown(&dir)));
    let opening = repository.open(project, name)?;
    opening.release(&base, &then)?;
    for patch in &stack {
        opening.patch(patch, &mut then)?;
    }
    let picked = opening.git(&["rev-parse", "HEAD"])?;
    opening.release(&to, &now)?;
    for need in &needs {
        opening.patch(need, &mut now)?;
    }
    opening.tag(&to)?;
    // The lines that both sides began with tell what either has changed.
    opening.git(&["config", "merge.conflictStyle", "diff3"])?;
    let merged = opening.git(&["cherry-pick", "--no-commit", picked.trim()]);
    let conflicts = opening.git(&["diff", "--name-only", "--diff-filter=U"])?;
    if conflicts.is_empty() {
        merged?;
    }
    opening.finish()?;
    progress.finish_and_clear();
    if conflicts.is_empty() {
        return Ok(());
    }
    println!("{}", dir.to_string_lossy());
    let conflicts = conflicts.lines().collect::<Vec<_>>();
    Err(Failure::check(format!(
        "{}: the patch for Plonky3 {base} and Plonky3 {onto} conflict in {}",
        patch.name,
        conflicts.join(", ")
    ))
    .hint(format!(
        "resolve them in {}, then `cargo p3 refresh {name}{}` writes the patch",
        shown(&dir),
        repository.option()
    ))
    .into())
}

/// Refuses what a merge has left to be resolved in the repository `dir`.
fn refuse_conflicts(dir: &Path, index: &Index<'_>, published: &str) -> Result<()> {
    // Where one side has deleted what the other one has changed, there is no marker.
    for line in index
        .git(&["status", "--porcelain", "--untracked-files=no"])?
        .lines()
    {
        let (state, file) = line.split_at(3);
        if ["DD ", "AU ", "UD ", "UA ", "DU "].contains(&state) {
            let what = format!("{file}: one side of the merge has deleted this file");
            return Err(Failure::input(what)
                .hint(format!("in {}, `git add` or `git rm` it", shown(dir)))
                .into());
        }
    }
    index.git(&["add", "--all"])?;
    let changed = index.git(&[
        "diff",
        "--cached",
        "--name-only",
        "--diff-filter=d",
        published,
    ])?;
    let repository = Dir::open(dir)?;
    for file in changed.lines() {
        let text = repository.read(file).ok().flatten();
        let Some(text) = text else {
            continue;
        };
        let Ok(text) = String::from_utf8(text) else {
            let what = format!("{file}: not UTF-8 text");
            return Err(Failure::input(what)
                .hint(format!(
                    "a patch is text: correct the file in {}",
                    shown(dir)
                ))
                .into());
        };
        let is_marker = |line: &str| {
            ["<<<<<<< ", "||||||| ", ">>>>>>> "]
                .iter()
                .any(|marker| line.starts_with(marker))
        };
        if let Some(line) = text.lines().position(is_marker) {
            let what = format!("{file}:{}: a conflict marker", line + 1);
            return Err(Failure::input(what)
                .hint(format!("resolve the conflict in {}", shown(dir)))
                .into());
        }
    }
    Ok(())
}

/// Writes the patch and the kernel files from the repository `dir`.
fn write(name: &str, dir: &Path, project: &Project, catalog: &Catalog) -> Result<()> {
    let tags = git(dir, &["tag", "--list", "base/*"])?;
    let tag = tags.lines().next().ok_or_else(|| not_opened(dir, name))?;
    let base = tag.strip_prefix("base/").expect("listed by that prefix");
    let release = Version::parse(base)?;
    catalog.refuse_merged(&release, &[name.to_owned()])?;
    let needs = catalog.needs(&release, name)?;

    let folder = LockedDir::lock(&project.root.join(TREES))?;
    let index = Index::copy(dir, folder.dir.temporary()?)?;
    let published = git(dir, &["rev-parse", &format!("{tag}^{{tree}}")])?;
    let published = published.trim_end();
    refuse_conflicts(dir, &index, published)?;
    let options = [
        "--cached",
        "--no-color",
        "--no-ext-diff",
        "--no-renames",
        "--full-index",
    ];
    let diff = index.git(&[&["diff"], &options[..], &[published]].concat())?;
    if diff.is_empty() {
        let what = format!("{}: nothing differs from the tag {tag}", shown(dir));
        return Err(Failure::input(what)
            .hint("edit the files there; a patch that changes nothing is deleted by hand")
            .into());
    }
    // A patch that was merged into another release begins with the header that it has for its newest one.
    let newest = catalog.newest_base_of(name)?;
    let ported = catalog.has(base, name);
    let old = catalog.patch(if ported { base } else { &newest }, name)?;
    let path = Patch::path(base, name);
    let text = format!("{}{diff}{}", old.preamble_for(base, &[]), patch::END);
    let kernel = |place: &str| project.patches().kernel(name, place);
    let new = Patch::parse(name, &project.patches().shown(&path), &text, kernel)
        .with_context(|| format!("what {} holds is no patch", shown(dir)))?;

    // The text must do from a tarball what was done by hand in the repository.
    let stack = (needs.iter())
        .map(|need| catalog.patch(base, need))
        .chain([Ok(new.clone())])
        .collect::<Result<Vec<_>>>()?;
    Stack::of(tree::baseline(project.patches(), base, &stack)?, &stack)?;

    // The crate has the kernels of the newest release. One that is the same for an older one stands there, too.
    let crates = (project.patches().crates()).filter(|crates| crates.is_dir());
    let is_newest = release >= Version::parse(&newest)?;
    let mut kernels = Vec::new();
    let mut changed = BTreeMap::new();
    for Addition {
        path, place, text, ..
    } in new.additions()
    {
        let same = (kernel(place)?).is_some_and(|own| *own == *text.as_bytes());
        if crates.is_some() && (is_newest || same) {
            kernels.push(path.to_owned());
        }
        if crates.is_some() && is_newest && !same {
            changed.insert(place, text);
        }
    }
    let text = new.text(base, &kernels);
    let kernel = |place: &str| {
        let added = new.additions().find(|added| added.place == place);
        Ok(added.map(|added| added.text.into_bytes().into()))
    };
    Patch::parse(name, &new.shown, &text, kernel)?;
    let mut files = vec![(project.patches_dir.join(path), text.into_bytes())];
    // The other texts name the same releases, and keep the kernels that a port changes.
    for other in catalog.bases.iter().map(ToString::to_string) {
        let path = Patch::path(&other, name);
        if ported || !project.patches().has(&path) {
            continue;
        }
        let old = catalog.patch(&other, name)?;
        let kernels = (old.additions())
            .filter(|added| added.is_kernel && !changed.contains_key(added.place))
            .map(|kernel| kernel.path.to_owned())
            .collect::<Vec<_>>();
        let text = old.text(base, &kernels);
        files.push((project.patches_dir.join(path), text.into_bytes()));
    }
    if let Some(crates) = crates {
        let src = crates.join(name).join("src");
        let kernel = |(place, text): (&str, String)| (src.join(place), text.into_bytes());
        files.extend(changed.into_iter().map(kernel));
    }
    // The folder of the crates is beside that of the patches.
    let root = Dir::open(
        project
            .patches_dir
            .parent()
            .context("a folder in a folder")?,
    )?;
    let place = |path: &Path| root.place(path.strip_prefix(root.path())?);
    let restores = files
        .iter()
        .map(|(path, _)| Restore::new(&folder, place(path)?));
    let mut restores = restores.collect::<Result<Vec<_>>>()?;
    for (restore, (_, text)) in restores.iter_mut().zip(&files) {
        restore.replace(text)?;
    }
    Restore::keep(restores)?;
    let has_text = |base: &String| project.patches().has(&Patch::path(base, name));
    let older = catalog.bases.iter().rev().filter(|base| **base < release);
    if !ported
        && let Some(older) = older.map(ToString::to_string).find(has_text)
        && checks::does_the_same(&Catalog::load(project.patches())?, &older, base, name)?
    {
        let path = project.patches_dir.join(Patch::path(&older, name));
        place(&path)?.remove()?;
        files.retain(|(written, _)| *written != path);
    }
    for (path, _) in &files {
        println!("{}", project.relative(path));
    }
    Ok(())
}
