//! Paths for cargo in the environment, which a child resolves as this process does.

use std::env;
use std::path::{self, PathBuf};
use std::process::Command;

/// The variables that name a folder for cargo or rustup.
const FOLDERS: [&str; 4] = [
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "RUSTUP_HOME",
];

/// The variables that name a program for cargo, and the one that names cargo itself.
const PROGRAMS: [&str; 4] = ["CARGO", "RUSTC", "RUSTC_WORKSPACE_WRAPPER", "RUSTC_WRAPPER"];

/// Makes the relative paths in the environment of `command` absolute, those of `PATH` among them, so that they start in this
/// process's folder, whatever folder the command runs in.
pub(crate) fn settle_paths(command: &mut Command) {
    let set = |command: &Command, name| command.get_envs().any(|(key, _)| key == name);
    if !set(command, "PATH")
        && let Some(path) = env::var_os("PATH")
        && env::split_paths(&path).any(|folder| folder.is_relative())
        && let Ok(here) = env::current_dir()
        && let Ok(absolute) =
            env::join_paths(env::split_paths(&path).map(|folder| here.join(folder)))
    {
        command.env("PATH", absolute);
    }
    for name in FOLDERS.into_iter().chain(PROGRAMS) {
        if !set(command, name)
            && let Some(path) = from_here(name)
        {
            command.env(name, path);
        }
    }
}

/// Returns the path in an environment variable as an absolute path, and `None` where it is unset or empty. The name of a program
/// without a folder stays as it is, for `PATH`.
pub(crate) fn from_here(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env::var_os(name).filter(|path| !path.is_empty())?);
    let is_looked_up = PROGRAMS.contains(&name) && path.components().count() == 1;
    if is_looked_up {
        return Some(path);
    }
    Some(path::absolute(&path).unwrap_or(path))
}
