//! The maintainers' commands, as `cargo p3` in a checkout runs them: cargo builds the other tool, `xtask`, and takes this
//! process's place. A user's command so waits for this tool alone to compile.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use anyhow::Result;
use paired::cargo::cargo;
use paired::error::Failure;
use paired::exit;

use crate::cli::GROUPS;
use crate::commands::as_called;
use crate::project;

/// The argument that cargo's alias adds.
const IN_CHECKOUT: &str = "--checkout";

/// Runs the command of the other tool, where one was asked for in a checkout.
pub fn run() -> Option<ExitCode> {
    let args: Vec<_> = env::args_os().skip(1).collect();
    is_theirs(&args).then(|| exit::run(|| hand_over(&args), as_called))
}

/// Tells whether the arguments are of a command that this tool does not have.
fn is_theirs(args: &[OsString]) -> bool {
    let Some((first, args)) = args.split_first() else {
        return false;
    };
    let mut words = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("--patches" | "--project") => drop(args.next()),
            Some("help") => {}
            Some(option) if option.starts_with('-') => {}
            _ => words.push(arg),
        }
    }
    let is_own = |word: &OsString| {
        GROUPS
            .iter()
            .any(|(_, names)| names.iter().any(|name| word == name))
    };
    first == IN_CHECKOUT && words.first().is_some_and(|word| !is_own(word))
}

fn hand_over(args: &[OsString]) -> Result<()> {
    let manifest = project::checkout()?.join("Cargo.toml");
    let mut tool: Command = cargo();
    tool.args(["run", "--quiet", "--package", "xtask", "--manifest-path"])
        .arg(manifest)
        .arg("--")
        .args(args);
    let error = tool.exec();
    Err(Failure::environment(format!("cannot run cargo: {error}")).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_checkout_has_the_other_commands() {
        let is_theirs =
            |args: &str| is_theirs(&args.split(' ').map(OsString::from).collect::<Vec<_>>());
        for theirs in [
            "--checkout ab --quick",
            "--checkout --patches apply check",
            "--checkout help ab",
            "--checkout aply",
        ] {
            assert!(is_theirs(theirs), "{theirs}");
        }
        for own in [
            "--checkout",
            "--checkout --help",
            "--checkout help apply",
            "--checkout apply ab",
            "--checkout --patches ab list",
            "--project x ab",
            "ab",
        ] {
            assert!(!is_theirs(own), "{own}");
        }
    }
}
