//! git, run so that a user's configuration and hooks change nothing.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use paired::error::Failure;
use paired::files::dir::Temporary;
use paired::files::plain;
use paired::interrupt;
use paired::terminal::shown;

/// Runs git in `dir` and returns what it prints.
pub fn git(dir: &Path, args: &[&str]) -> Result<String> {
    run(dir, None, args)
}

/// A copy of a repository's index. git locks the index that it writes, and a lock that outlives it is removed by hand.
pub struct Index<'d> {
    dir: &'d Path,
    file: PathBuf,
    _in: Temporary,
}

impl<'d> Index<'d> {
    /// Copies that of the repository `dir` into the folder `to`.
    pub fn copy(dir: &'d Path, to: Temporary) -> Result<Self> {
        let index = dir.join(git(dir, &["rev-parse", "--git-path", "index"])?.trim_end());
        let file = to.path().join("index");
        if index.exists() {
            plain::copy(&index, &file).with_context(|| format!("cannot copy {}", shown(&index)))?;
        }
        Ok(Self { dir, file, _in: to })
    }

    /// Runs git in the repository, with this index.
    pub fn git(&self, args: &[&str]) -> Result<String> {
        run(self.dir, Some(&self.file), args)
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

fn run(dir: &Path, index: Option<&Path>, args: &[&str]) -> Result<String> {
    let mut command = command(dir);
    // The repository's own settings change no diff, and run nothing.
    for setting in [
        "core.hooksPath=/dev/null",
        "diff.context=3",
        "diff.interHunkContext=0",
    ] {
        command.args(["-c", setting]);
    }
    command.args(args);
    if let Some(index) = index {
        command.env("GIT_INDEX_FILE", index);
    }
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
