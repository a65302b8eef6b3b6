//! git, run so that a user's configuration and hooks change nothing.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::error::Failure;
use crate::interrupt;

/// Runs git in `dir` and returns what it prints.
pub fn git(dir: &Path, args: &[&str]) -> Result<String> {
    let mut command = Command::new("git");
    command.current_dir(dir).args(args);
    // Set inside a hook, these would point git at another repository than `dir`'s.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(variable);
    }
    command.envs([
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
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
            dir.display(),
            stderr.trim()
        ))
        .into());
    }
    String::from_utf8(output.stdout).context("git printed no UTF-8")
}
