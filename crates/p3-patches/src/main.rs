//! `p3-patches`: optimizations of Plonky3 as patches. Applies them to a prover's workspace, checks and measures
//! them, and exports them for upstream.
//!
//! The modules are the stations of a pipeline, in order: `series` names the patches, `patch` reads one, `source`
//! has the registry's tarballs, `tree` writes patched packages, `manifest` points a workspace at them; to measure,
//! `build` makes two workers, `pairs` runs them, `stats` judges the samples and `report` has the rows, `breakdown` a
//! permutation's phases; `record` files and finds samples, `figure` draws rows and `page` is the report to look at; to
//! count, `emulation` or `callgrind` runs them, `trace` finds the instructions of one unit and `model` has llvm-mca time
//! these; `code` says what their functions hold. `upstream` has upstream's own suites. Each subcommand is a file in
//! `commands/`.
//!
//! Data goes to stdout, progress and notes to stderr. Exit codes: 0 done, 1 a check failed, 2 usage, 3 input
//! refused, 4 the surroundings do not allow it, 130 interrupted.

mod breakdown;
mod build;
mod callgrind;
mod code;
mod commands;
mod emulation;
mod error;
mod figure;
mod git;
mod interrupt;
mod isa;
mod manifest;
mod model;
mod page;
mod pairs;
mod patch;
mod project;
mod record;
mod report;
mod series;
mod source;
mod stats;
mod trace;
mod tree;
mod upstream;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use commands::{
    ab, apply, check, count, edit, export, list, phases, preflight, refresh, remove, status, test,
};
use error::{Failure, Kind};
use interrupt::Interrupted;
use project::Project;

/// Optimizations of Plonky3 as patches: apply them, check them, measure them, send them upstream.
#[derive(Parser)]
#[command(name = "p3-patches", bin_name = "cargo p3", version)]
struct Cli {
    /// The root of the checkout to work in.
    #[arg(long, global = true, hide = true, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Another folder with a series and its patches: variants of an optimization that are measured but not shipped.
    #[arg(long, global = true, value_name = "DIR")]
    patches: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    List(list::Args),
    Apply(apply::Args),
    Remove(remove::Args),
    Status(status::Args),
    Check(check::Args),
    Edit(edit::Args),
    Refresh(refresh::Args),
    Export(export::Args),
    Ab(ab::Args),
    Phases(phases::Args),
    Count(count::Args),
    Report(commands::report::Args),
    Preflight(preflight::Args),
    Test(test::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report(&error),
    }
}

fn run(cli: Cli) -> Result<()> {
    interrupt::install()?;
    let project = Project::locate(cli.project, cli.patches)?;
    match cli.command {
        Command::List(args) => list::run(&args, &project),
        Command::Apply(args) => apply::run(&args, &project),
        Command::Remove(args) => remove::run(&args, &project),
        Command::Status(args) => status::run(&args, &project),
        Command::Check(args) => check::run(&args, &project),
        Command::Edit(args) => edit::run(&args, &project),
        Command::Refresh(args) => refresh::run(&args, &project),
        Command::Export(args) => export::run(&args, &project),
        Command::Ab(args) => ab::run(args, &project),
        Command::Phases(args) => phases::run(&args, &project),
        Command::Count(args) => count::run(args, &project),
        Command::Report(args) => commands::report::run(&args, &project),
        Command::Preflight(args) => preflight::run(&args, &project),
        Command::Test(args) => test::run(&args, &project),
    }
}

/// Prints what went wrong and gives the exit code that goes with it.
fn report(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {error:#}");
    if error.is::<Interrupted>() {
        return ExitCode::from(130);
    }
    let failure = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<Failure>());
    if let Some(hint) = failure.and_then(|failure| failure.hint.as_ref()) {
        eprintln!("hint: {hint}");
    }
    // What no module foresaw is an operation of the system that failed.
    ExitCode::from(
        failure
            .map_or(Kind::Environment, |failure| failure.kind)
            .code(),
    )
}
