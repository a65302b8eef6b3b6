//! `p3-patches`: optimizations of Plonky3 as patches, for the owners of provers. Applies them to a prover's workspace, measures
//! its programs with and without them, and takes them out again.
//!
//! The rooms, in the order in which one builds on those before it; each says at its top what goes in and comes out:
//!
//! - [`project`] finds the folder of the patches, in a checkout or in the executable.
//! - [`source`] reads Plonky3 as published, and the versions that workspaces resolve to.
//! - [`catalog`] has the patches: their order, headers, diffs, places in a file and recorded effects.
//! - [`prover`] writes trees of patched packages and points a prover's workspace at them.
//! - [`overlay`] writes patched packages for a repository.
//! - [`commands`] has a file for each subcommand; [`cli`] has the command line.
//!
//! The library is the maintainers' tool's, too. Programs are built, run and compared by `paired`.
//!
//! Data goes to stdout, progress and notes to stderr. Exit codes: 0 done, 1 a check failed, 2 usage, 3 input
//! refused, 4 the surroundings do not allow it, 130 interrupted.

#![allow(missing_docs)] // the library is no one's but this repository's
#![cfg_attr(not(test), deny(unused_crate_dependencies))]

pub mod catalog;
pub mod cli;
pub mod commands;
#[cfg(any(fuzzing, test))]
pub mod fuzz_harness;
mod maintainers;
pub mod overlay;
pub mod project;
pub mod prover;
pub mod source;

use std::process::ExitCode;

use anyhow::Result;
use paired::exit;

use cli::{Cli, GROUPS};
use commands::{as_called, called};
pub use project::Embedded;
use project::Patches;

/// Runs the tool on the command line's arguments.
pub fn main(embedded: Embedded) -> ExitCode {
    if let Some(ended) = exit::other_part().or_else(maintainers::run) {
        return ended;
    }
    let cli = cli::from_command_line::<Cli>(&GROUPS, called());
    exit::run(|| run(cli, embedded), as_called)
}

fn run(cli: Cli, embedded: Embedded) -> Result<()> {
    let patches = Patches::locate(embedded, cli.place.root()?, cli.place.patches)?;
    cli.command.run(&patches)
}
