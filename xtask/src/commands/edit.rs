//! `edit`: a patch as a git repository in upstream's layout.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::author::git::git;
use crate::project::Project;
use p3_patches::catalog::patch::Patch;
use p3_patches::catalog::stack::Stack;
use p3_patches::prover::tree;
use p3_patches::source::package::Package;
use paired::error::Failure;
use paired::files::dir::{Dir, Place, Temporary, is_link};
use paired::terminal::{shown, spinner};

/// Open a patch as a git repository in upstream's layout.
///
/// The first commit is the release as published; the patches that this one needs follow, up to the tag
/// `base/RELEASE`; then comes the patch. The packages build and test each other in there. `refresh` turns whatever
/// differs from the tag back into the patch.
#[derive(clap::Args)]
#[command(after_help = "Example: cargo p3 edit batched-permute")]
pub struct Args {
    /// The patch to edit.
    #[arg(value_name = "NAME")]
    name: String,
    /// The Plonky3 release to edit it for [default: the newest that it has been ported to].
    #[arg(long, value_name = "VERSION")]
    base: Option<String>,
    #[command(flatten)]
    repository: Repository,
}

/// Where the repository is; `edit` and `refresh` agree on it.
#[derive(clap::Args)]
pub struct Repository {
    /// The repository's folder [default: .p3-patches/edit/NAME in this checkout].
    #[arg(long, value_name = "DIR", requires = "name")]
    dir: Option<PathBuf>,
}

/// Where they are in this checkout.
const REPOSITORIES: &str = ".p3-patches/edit";

impl Repository {
    pub fn path(&self, project: &Project, name: &str) -> PathBuf {
        (self.dir.clone()).unwrap_or_else(|| project.root.join(REPOSITORIES).join(name))
    }

    /// Returns the folder of the repository, which `edit` has opened. Fails where a symbolic link is in the way, below this
    /// checkout or in place of `.git`.
    pub fn opened(&self, project: &Project, name: &str) -> Result<PathBuf> {
        let path = self.path(project, name);
        if self.dir.is_none() {
            Dir::open(&project.root)?.folder(Path::new(REPOSITORIES).join(name))?;
        }
        let git = path.join(".git");
        // Without this, git would look for a repository further up.
        match git.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => Err(is_link(&git).into()),
            Ok(_) => Ok(path),
            Err(_) => Err(not_opened(&path, name).into()),
        }
    }

    /// Returns the option that names the repository's folder in a command, with the blank before it, or nothing.
    pub fn option(&self) -> String {
        let dir = self.dir.as_ref();
        dir.map_or_else(String::new, |dir| format!(" --dir {}", shown(dir)))
    }

    /// Returns an empty repository, which is to become the one of `name`.
    pub fn open(&self, project: &Project, name: &str) -> Result<WorkRepo> {
        let path = self.path(project, name);
        if path.symlink_metadata().is_ok() {
            return Err(exists(&path).into());
        }
        let parent = match &self.dir {
            None => Dir::open(&project.root)?.create_folder(REPOSITORIES)?,
            Some(dir) => {
                let dir = std::path::absolute(dir)?;
                Dir::create(
                    dir.parent()
                        .context("the repository needs a parent folder")?,
                )?
            }
        };
        WorkRepo::new(parent.place(path.file_name().unwrap_or_default())?, &parent)
    }
}

pub fn run(args: &Args, project: &Project) -> Result<()> {
    project.catalog.entry(&args.name)?;
    let base = match &args.base {
        Some(base) => base.clone(),
        None => project.catalog.newest_base_of(&args.name)?,
    };
    let asked = std::slice::from_ref(&args.name);
    let (base, names) = project.catalog.resolve(Some(&base), asked)?;
    let dir = args.repository.path(project, &args.name);
    let load = |name: &String| project.catalog.patch(&base, name);
    let patches = names.iter().map(load).collect::<Result<Vec<_>>>()?;
    let mut stack = Stack::new(tree::baseline(project.patches(), &base, &patches)?);

    let progress = spinner(format!("writing {}", shown(&dir)));
    let opening = args.repository.open(project, &args.name)?;
    opening.release(&base, &stack)?;
    for patch in &patches {
        if patch.name == args.name {
            opening.tag(&base)?;
        }
        opening.patch(patch, &mut stack)?;
    }
    opening.finish()?;
    progress.finish_and_clear();
    println!("{}", dir.to_string_lossy());
    Ok(())
}

/// Returns the failure for a folder without a repository of `edit`'s.
pub fn not_opened(dir: &Path, name: &str) -> Failure {
    Failure::input(format!("{}: no repository opened by `edit`", shown(dir)))
        .hint(format!("`cargo p3 edit {name}` opens one"))
}

fn exists(path: &Path) -> Failure {
    Failure::input(format!("{}: exists already", shown(path)))
        .hint("go on there, or delete it once `refresh` has read it")
}

/// Its name until then.
const REPOSITORY: &str = "repository";

/// A repository that is being written. It gets its name once it is whole.
pub struct WorkRepo {
    unfinished: Temporary,
    place: Place,
}

impl WorkRepo {
    /// Returns an empty repository, which is to be at `place`, in `parent`.
    fn new(place: Place, parent: &Dir) -> Result<Self> {
        let opening = Self {
            unfinished: parent.temporary()?,
            place,
        };
        fs::create_dir(opening.path())?;
        opening.git(&["init", "--quiet"])?;
        opening.git(&["config", "core.autocrlf", "false"])?;
        fs::write(opening.path().join(".gitignore"), "/target\n/Cargo.lock\n")?;
        Ok(opening)
    }

    fn path(&self) -> PathBuf {
        self.unfinished.folder().path().join(REPOSITORY)
    }

    pub fn git(&self, args: &[&str]) -> Result<String> {
        git(&self.path(), args)
    }

    /// Commits a release as published, in place of what is there.
    pub fn release(&self, base: &str, published: &Stack) -> Result<()> {
        let packages = &published.packages;
        fs::write(self.path().join("Cargo.toml"), workspace(packages))?;
        self.commit(packages, &format!("Plonky3 {base}"))
    }

    /// Applies a patch and commits it.
    pub fn patch(&self, patch: &Patch, stack: &mut Stack) -> Result<()> {
        for note in stack.apply(patch)? {
            eprintln!("note: {note}");
        }
        let message = format!("{}\n\n{}", patch.header.title, patch.header.body);
        self.commit(&stack.packages, &message)
    }

    /// Says that the patch is what differs from here.
    pub fn tag(&self, base: &str) -> Result<()> {
        self.git(&["tag", &format!("base/{base}")]).map(drop)
    }

    /// Gives the repository its name. Fails where another run, or the user, has put something there meanwhile.
    pub fn finish(self) -> Result<()> {
        let unfinished = self.unfinished.folder();
        match unfinished.put_new(REPOSITORY.as_ref(), &self.place)? {
            true => Ok(()),
            false => Err(exists(&self.place.path()).into()),
        }
    }

    /// Makes the repository's packages equal to these and commits the difference, empty or not.
    fn commit(&self, packages: &[Package], message: &str) -> Result<()> {
        for package in packages {
            let folder = self.path().join(&package.folder);
            if folder.exists() {
                fs::remove_dir_all(&folder)?;
            }
            for (name, contents) in &package.files {
                let file = folder.join(name);
                fs::create_dir_all(file.parent().expect("a file in a folder"))?;
                fs::write(&file, contents)
                    .with_context(|| format!("cannot write {}", shown(&file)))?;
            }
        }
        self.git(&["add", "--all", "--force"])?;
        let commit = ["commit", "--quiet", "--allow-empty", "--message", message];
        self.git(&commit).map(drop)
    }
}

/// Returns a manifest that lets the packages, as published, use each other.
fn workspace(packages: &[Package]) -> String {
    let mut members = String::new();
    let mut overrides = String::new();
    for Package { name, folder, .. } in packages {
        writeln!(members, "    \"{folder}\",").expect("writing to a string");
        writeln!(overrides, "{name} = {{ path = \"{folder}\" }}").expect("writing to a string");
    }
    format!(
        "[workspace]\nresolver = \"3\"\nmembers = [\n{members}]\n\n[patch.crates-io]\n{overrides}"
    )
}
