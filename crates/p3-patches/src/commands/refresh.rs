//! `refresh`: the patch file and the kernel files, from what `edit` opened.

use std::fs;

use anyhow::{Context, Result};

use super::edit::Repository;
use crate::error::Failure;
use crate::git::git;
use crate::manifest::TREES;
use crate::patch::{self, Direction, Patch};
use crate::project::Project;
use crate::series::Series;
use crate::tree::{self, Folder};

/// Write a patch, and its crate's kernel files, from the repository that `edit` has opened.
///
/// Everything that differs from the tag `base/RELEASE` becomes the patch, committed or not. The patch's header stays.
/// The crate's kernel files are those of the newest release that the patch has been ported to.
#[derive(clap::Args)]
#[command(after_help = "Example: cargo p3 refresh batched-permute")]
pub struct Args {
    /// The patch to write.
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    repository: Repository,
}

pub fn run(args: &Args, project: &Project) -> Result<()> {
    let series = Series::load(&project.patches)?;
    series.entry(&args.name)?;
    let dir = args.repository.path(project, &args.name);
    let not_opened = || {
        Failure::input(format!("{}: no repository opened by `edit`", dir.display()))
            .hint(format!("`cargo p3 edit {}` opens one", args.name))
    };
    // Without this, git would look for a repository further up.
    if !dir.join(".git").exists() {
        return Err(not_opened().into());
    }
    let tags = git(&dir, &["tag", "--list", "base/*"])?;
    let tag = tags.lines().next().ok_or_else(not_opened)?;
    let base = tag.strip_prefix("base/").expect("listed by that prefix");
    let asked = std::slice::from_ref(&args.name);
    let (_, names) = series.resolve(&project.patches, Some(base), asked)?;

    git(&dir, &["add", "--all"])?;
    let options = [
        "--cached",
        "--no-color",
        "--no-ext-diff",
        "--no-renames",
        "--full-index",
    ];
    let diff = git(&dir, &[&["diff"], &options[..], &[tag]].concat())?;
    let old = Patch::load(&project.patches, base, &args.name)?;
    let path = Patch::path(base, &args.name);
    let text = format!("{}{diff}{}", old.preamble, patch::END);
    let new = Patch::parse(&args.name, &project.patches.shown(&path), &text)
        .with_context(|| format!("what {} holds is no patch", dir.display()))?;

    // The text must do from a tarball what was done by hand in the repository.
    let stack = (names.iter().filter(|name| **name != args.name))
        .map(|name| Patch::load(&project.patches, base, name))
        .chain([Ok(new.clone())])
        .collect::<Result<Vec<_>>>()?;
    let mut packages = tree::baseline(&project.patches, base, &stack)?;
    for patch in &stack {
        patch.apply(&mut packages, Direction::Forward)?;
    }

    let folder = Folder::lock(&project.root.join(TREES))?;
    folder.replace(&project.patches_dir.join(path), text.as_bytes())?;
    println!("{}", new.shown);
    if base != series.newest_base_of(&project.patches, &args.name)? {
        return Ok(());
    }
    let src = project.crates_dir().join(&args.name).join("src");
    for (file, contents) in new.kernels() {
        let path = src.join(file);
        let parent = path.parent().expect("a file in a folder");
        fs::create_dir_all(parent)
            .with_context(|| format!("cannot create {}", parent.display()))?;
        folder.replace(&path, contents.as_bytes())?;
        println!("{}", project.relative(&path));
    }
    Ok(())
}
