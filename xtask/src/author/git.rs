//! git, run so that a user's configuration and hooks change nothing.

use std::env;
use std::fs;
use std::path::{self, Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use paired::error::Failure;
use paired::files::dir::Temporary;
use paired::files::plain;
use paired::interrupt;
use paired::terminal::shown;

/// Runs git in `dir` and returns what it prints.
pub fn git(dir: &Path, args: &[&str]) -> Result<String> {
    run(dir, &[], args)
}

/// A copy of a repository's index, in a repository of its own that has the objects and the files of that one, but not its settings, which
/// name programs and change diffs. git locks the index that it writes, and a lock that outlives it is removed by hand.
pub struct Index<'d> {
    dir: &'d Path,
    /// The repository's objects.
    objects: PathBuf,
    copy: Temporary,
}

impl<'d> Index<'d> {
    /// Copies that of the repository `dir` into the folder `to`.
    pub fn copy(dir: &'d Path, to: Temporary) -> Result<Self> {
        let of_git = |path: &str| -> Result<PathBuf> {
            let path = git(dir, &["rev-parse", "--git-path", path])?;
            Ok(path::absolute(dir.join(path.trim_end()))?)
        };
        // The least that git takes for a repository: `git init` does more than a copy needs.
        let cannot = |path: &Path| format!("cannot write {}", shown(path));
        for folder in ["objects", "refs", "info"] {
            let folder = to.folder().path().join(folder);
            fs::create_dir(&folder).with_context(|| cannot(&folder))?;
        }
        let head = to.folder().path().join("HEAD");
        fs::write(&head, "ref: refs/heads/main\n").with_context(|| cannot(&head))?;
        for name in ["index", "info/exclude"] {
            let (from, to) = (of_git(name)?, to.folder().path().join(name));
            if from.exists() {
                plain::copy(&from, &to).with_context(|| format!("cannot copy {}", shown(&from)))?;
            }
        }
        Ok(Self {
            dir,
            objects: of_git("objects")?,
            copy: to,
        })
    }

    /// Runs git on the repository's files, with this index. A commit of the repository's has no name but its hash there.
    pub fn git(&self, args: &[&str]) -> Result<String> {
        let places = [
            ("GIT_DIR", self.copy.folder().path()),
            ("GIT_WORK_TREE", Path::new(".")),
            ("GIT_OBJECT_DIRECTORY", &self.objects),
        ];
        run(self.dir, &places, args)
    }
}

/// Returns the call of git for the repository `dir` and no other one, with settings of its own alone. In the environment stand, inside
/// a hook, another repository, and whatever `git -c` was given.
pub fn command(dir: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(dir);
    let set = env::vars_os().map(|(name, _)| name);
    let git = set.filter(|name| name.as_encoded_bytes().starts_with(b"GIT_"));
    git.for_each(|name| {
        command.env_remove(name);
    });
    command
}

fn run(dir: &Path, places: &[(&str, &Path)], args: &[&str]) -> Result<String> {
    let mut command = command(dir);
    command.args(["-c", "core.hooksPath=/dev/null"]).args(args);
    command.envs(places.iter().copied());
    command.envs([
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_TEMPLATE_DIR", ""),
        ("GIT_AUTHOR_NAME", "p3-patches"),
        ("GIT_AUTHOR_EMAIL", "p3-patches@localhost"),
        ("GIT_COMMITTER_NAME", "p3-patches"),
        ("GIT_COMMITTER_EMAIL", "p3-patches@localhost"),
    ]);
    let output = interrupt::output(&mut command)?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let what = args.first().copied().unwrap_or_default();
        return Err(Failure::environment(format!(
            "{}: git {what} failed: {}",
            shown(dir),
            stderr.trim()
        ))
        .into());
    }
    String::from_utf8(output.stdout).context("git printed no UTF-8")
}
