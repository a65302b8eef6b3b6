//! `p3-patches`: optimizations of Plonky3 as patches. Applies them to a prover's workspace, checks and measures
//! them, and exports them for upstream.
//!
//! The modules are the stations of a pipeline, in order:
//!
//! - Patches: `project` finds them in a checkout or, outside one, in the executable; `series` names them, `patch` reads
//!   one, `source` has the registry's tarballs, `tree` writes patched packages.
//! - A prover: `manifest` points its workspace at the trees, and `git_source` one that has Plonky3 from git; `choice` finds
//!   the patches for its graph, and `effects` the recorded effect of each.
//! - Upstream: `upstream` has its own suites, `lints` its other checks; `dependents` has the
//!   published provers of others.
//! - Measuring: `build` makes two workers, `pairs` runs them, `stats` judges the samples, `report` has the rows,
//!   `breakdown` a permutation's phases, `saving` the share of a proof that a patch saves. For a user's program `program`
//!   builds it and runs it, `spans` reads its phases, `trial` runs the two in pairs.
//! - Files: `dir` reaches what is below a folder without following links, `replace` has files take their place in one step.
//! - Publishing: `record` files and finds samples, `results` and `summary` make tables of them, `figure` draws rows, `page`
//!   writes the report.
//! - Counting: `emulation` or `stepping` runs a worker, `tracer` finds the instructions of one unit, `model` times them by
//!   llvm-mca, `code` reads functions; `bochs` runs tests of AVX-512 where the CPU has none.
//!
//! Each subcommand is a file in `commands/`.
//!
//! Data goes to stdout, progress and notes to stderr. Exit codes: 0 done, 1 a check failed, 2 usage, 3 input
//! refused, 4 the surroundings do not allow it, 130 interrupted.

mod bochs;
mod breakdown;
mod build;
mod choice;
mod code;
mod commands;
mod dependents;
mod dir;
mod effects;
mod emulation;
mod error;
mod figure;
mod git;
mod git_source;
#[cfg(any(fuzzing, test))]
pub mod hostile;
mod interrupt;
mod isa;
mod lints;
mod lock;
mod manifest;
mod model;
mod page;
mod pairs;
mod patch;
mod program;
mod project;
mod record;
mod replace;
mod report;
mod results;
mod saving;
mod series;
mod source;
mod spans;
mod stats;
mod stepping;
mod summary;
mod tracer;
mod tree;
mod trial;
mod upstream;

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, mem};

use anyhow::Result;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use commands::{
    ab, apply, check, count, drift, edit, export, list, overlay, phases, preflight, refresh,
    remove, shape, status, test, r#try,
};
use error::{Failure, Kind};
use interrupt::Interrupted;
pub use project::Embedded;
use project::Patches;

/// How the tool is called in a checkout; `.cargo/config.toml` has the alias.
const ALIAS: &str = "cargo p3";

/// Optimizations of Plonky3 as patches: apply them, check them, measure them, send them upstream.
#[derive(Parser)]
#[command(name = "p3-patches", version)]
struct Cli {
    /// Work in the checkout that the current folder is in, with its patches. Cargo's alias in a checkout says this.
    #[arg(long, global = true, hide = true, conflicts_with = "project")]
    checkout: bool,
    /// A checkout of this tool's repository to work in, with its patches [default: the patches in the executable].
    #[arg(long, global = true, value_name = "DIR")]
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
    Overlay(overlay::Args),
    Check(check::Args),
    Drift(drift::Args),
    Edit(edit::Args),
    Refresh(refresh::Args),
    Export(export::Args),
    Ab(ab::Args),
    Try(r#try::Args),
    Phases(phases::Args),
    Count(count::Args),
    Report(commands::report::Args),
    Preflight(preflight::Args),
    Shape(shape::Args),
    Test(test::Args),
}

/// Runs the tool on the command line's arguments.
pub fn main(embedded: Embedded) -> ExitCode {
    let mut command = Cli::command().bin_name(called());
    for subcommand in command.get_subcommands_mut() {
        if let Some(help) = subcommand.get_after_help().map(ToString::to_string) {
            *subcommand = mem::take(subcommand).after_help(as_called(&help));
        }
    }
    let cli = Cli::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit());
    let report_panic = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if !nobody_reads(panic.payload()) {
            report_panic(panic);
        }
    }));
    match panic::catch_unwind(AssertUnwindSafe(|| run(cli, embedded))) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => report(&error),
        Err(payload) if nobody_reads(&*payload) => ExitCode::SUCCESS,
        Err(payload) => panic::resume_unwind(payload),
    }
}

/// Whether it is the panic of `println!` behind which nobody reads any more, as in `| head`. There is nothing to report,
/// and nobody to report it to; guards on the stack have done their work.
fn nobody_reads(payload: &dyn Any) -> bool {
    let message = payload.downcast_ref::<String>();
    message.is_some_and(|text| text.starts_with("failed printing to stdout: Broken pipe"))
}

fn run(cli: Cli, embedded: Embedded) -> Result<()> {
    interrupt::install()?;
    let root = match cli.project {
        None if cli.checkout => Some(project::checkout()?),
        named => named,
    };
    let patches = Patches::locate(embedded, root, cli.patches)?;
    match cli.command {
        Command::List(args) => list::run(&args, &patches),
        Command::Apply(args) => apply::run(&args, &patches),
        Command::Remove(args) => remove::run(&args, &patches),
        Command::Status(args) => status::run(&args, &patches),
        Command::Overlay(args) => overlay::run(&args, &patches),
        Command::Check(args) => check::run(&args, &patches.into_project()?),
        Command::Drift(args) => drift::run(&args, &patches.into_project()?),
        Command::Edit(args) => edit::run(&args, &patches.into_project()?),
        Command::Refresh(args) => refresh::run(&args, &patches.into_project()?),
        Command::Export(args) => export::run(&args, &patches.into_project()?),
        Command::Try(args) => r#try::run(&args, &patches),
        Command::Ab(args) => ab::run(args, &patches.into_project()?),
        Command::Phases(args) => phases::run(&args, &patches.into_project()?),
        Command::Count(args) => count::run(args, &patches.into_project()?),
        Command::Report(args) => commands::report::run(&args, &patches.into_project()?),
        Command::Preflight(args) => preflight::run(&args, &patches.into_project()?),
        Command::Shape(args) => shape::run(&args, &patches.into_project()?),
        Command::Test(args) => test::run(&args, &patches.into_project()?),
    }
}

/// The command that runs this tool: the alias of the checkout under cargo, which sets this variable, else its own name.
fn called() -> &'static str {
    if env::var_os("CARGO").is_some() {
        ALIAS
    } else {
        env!("CARGO_PKG_NAME")
    }
}

/// A text that names commands by the alias, as they are called.
fn as_called(text: &str) -> String {
    text.replace(ALIAS, called())
}

/// Prints what went wrong and gives the exit code that goes with it.
fn report(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {error:#}");
    if error.is::<Interrupted>() {
        return ExitCode::from(130);
    }
    let failure = Failure::behind(error);
    if let Some(hint) = failure.and_then(|failure| failure.hint.as_ref()) {
        eprintln!("hint: {}", as_called(hint));
    }
    // What no module foresaw is an operation of the system that failed.
    ExitCode::from(
        failure
            .map_or(Kind::Environment, |failure| failure.kind)
            .code(),
    )
}
