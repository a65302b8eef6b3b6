//! `p3-patches`: optimizations of Plonky3 as patches. Applies them to a prover's workspace, checks and measures
//! them, and exports them for upstream.
//!
//! The rooms, in the order in which one builds on those before it; each says at its top what goes in and comes out:
//!
//! - `files` writes files in one step, below a folder that no link leads out of.
//! - `registry` reads Plonky3 as published, and the versions that workspaces resolve to.
//! - `series` has the patches: their order, headers, diffs, and places in a file.
//! - `prover` writes trees of patched packages and points a prover's workspace at them.
//! - `upstream` lays out upstream's suites and lints on patched packages.
//! - `measure` builds two workers, runs them in pairs, and files the samples as records.
//! - `inspect` disassembles, counts and models what was built.
//! - `publish` turns records into tables, figures and a page.
//! - `stages` has the tests that `test` runs.
//! - `commands` has a file for each subcommand; `cli` has the command line.
//!
//! Beside them stand `project`, which finds the patches in a checkout or in the executable, and what wraps one thing of the
//! surroundings: `cargo`, `git`, `isa`, `emulation`, `interrupt`, `terminal`, `error`, `address`, `escape`.
//!
//! Data goes to stdout, progress and notes to stderr. Exit codes: 0 done, 1 a check failed, 2 usage, 3 input
//! refused, 4 the surroundings do not allow it, 130 interrupted.

mod address;
mod cargo;
mod cli;
mod commands;
mod emulation;
mod error;
mod escape;
mod files;
#[cfg(any(fuzzing, test))]
pub mod fuzz_harness;
mod git;
mod inspect;
mod interrupt;
mod isa;
mod measure;
mod project;
mod prover;
mod publish;
mod registry;
mod series;
mod stages;
mod terminal;
mod upstream;

use std::any::Any;
use std::io::{self, Write as _};
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use anyhow::Result;
use cli::{Cli, Command, as_called};
use commands::{
    ab, apply, check, constant_time, count, drift, edit, export, list, overlay, phases, preflight,
    refresh, remove, status, test, r#try,
};
use error::{Failure, Kind};
use interrupt::Interrupted;
pub use project::Embedded;
use project::Patches;
use terminal::print_line;

/// Runs the tool on the command line's arguments.
pub fn main(embedded: Embedded) -> ExitCode {
    if let Some(ended) = measure::launch::record().or_else(interrupt::guard) {
        return ended;
    }
    let cli = Cli::from_command_line();
    let report_panic = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if unprinted(panic.payload()).is_none() {
            report_panic(panic);
        }
    }));
    let payload = match panic::catch_unwind(AssertUnwindSafe(|| run(cli, embedded))) {
        Ok(Ok(())) => return ExitCode::SUCCESS,
        Ok(Err(error)) => return report(&error),
        Err(payload) => payload,
    };
    match unprinted(&*payload) {
        // Nobody reads any more, as in `| head`.
        Some(why) if why.contains("Broken pipe") => ExitCode::SUCCESS,
        Some(why) => {
            let _ = writeln!(io::stderr(), "error: {why}");
            ExitCode::from(Kind::Environment.code())
        }
        None => panic::resume_unwind(payload),
    }
}

/// Returns the message of the panic by which `println!` and `eprintln!` say that they cannot write. Guards on the stack have done
/// their work.
fn unprinted(payload: &dyn Any) -> Option<&str> {
    let message = payload.downcast_ref::<String>()?;
    message
        .starts_with("failed printing to std")
        .then_some(message)
}

fn run(cli: Cli, embedded: Embedded) -> Result<()> {
    let _guarded = interrupt::install()?;
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
        Command::ConstantTime(args) => constant_time::run(&args, &patches.into_project()?),
        Command::Test(args) => test::run(&args, &patches.into_project()?),
    }
}

/// Prints what went wrong and gives the exit code that goes with it.
fn report(error: &anyhow::Error) -> ExitCode {
    print_line("error", &format!("{error:#}"));
    if error.is::<Interrupted>() {
        return ExitCode::from(interrupt::CODE);
    }
    let failure = Failure::behind(error);
    if let Some(hint) = failure.and_then(|failure| failure.hint.as_ref()) {
        print_line("hint", &as_called(hint));
    }
    ExitCode::from(
        failure
            .map_or_else(|| unforeseen(error), |failure| failure.kind)
            .code(),
    )
}

/// Returns the kind of an error that no module foresaw: an operation of the system failed, or refused what it was given, such as a
/// pipe in place of a file.
fn unforeseen(error: &anyhow::Error) -> Kind {
    let causes = error.chain().filter_map(|cause| cause.downcast_ref());
    let is_input = |cause: &io::Error| {
        [io::ErrorKind::InvalidData, io::ErrorKind::InvalidInput].contains(&cause.kind())
    };
    match causes.into_iter().any(is_input) {
        true => Kind::Input,
        false => Kind::Environment,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    /// Each room may use those before it.
    const ROOMS: [&str; 10] = [
        "files", "registry", "series", "prover", "upstream", "measure", "inspect", "publish",
        "stages", "commands",
    ];

    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }

    #[test]
    fn rooms_use_only_those_before_them() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut read = 0;
        for (at, room) in ROOMS.iter().enumerate() {
            let mut files = Vec::new();
            sources(&root.join(room), &mut files);
            for file in files {
                let text = fs::read_to_string(&file).unwrap();
                for later in &ROOMS[at + 1..] {
                    let uses = text.contains(&format!("crate::{later}"));
                    assert!(!uses, "{} uses {later}", file.display());
                }
                read += 1;
            }
        }
        assert!(read > ROOMS.len());
    }

    /// What is quoted is escaped where it is printed, and not before: escaped twice, it would be another text.
    #[test]
    fn control_characters_are_escaped_in_one_place() {
        let mut files = Vec::new();
        sources(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
            &mut files,
        );
        files.retain(|file| !file.ends_with("src/lib.rs"));
        let escapes = |file: &&PathBuf| fs::read_to_string(file).unwrap().contains(".escape_");
        let found: Vec<_> = files.iter().filter(escapes).collect();
        assert!(
            found.len() == 1 && found[0].ends_with("src/terminal.rs"),
            "{found:?}"
        );
    }

    /// Other children would outlive the tool.
    #[test]
    fn children_are_started_in_one_place() {
        let mut files = Vec::new();
        sources(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
            &mut files,
        );
        files.retain(|file| !file.ends_with("src/lib.rs"));
        let starts = |file: &PathBuf| {
            let text = fs::read_to_string(file).unwrap();
            [".spawn()", ".output()", ".status()"].map(|start| text.matches(start).count())
        };
        let found = files.iter().filter(|file| starts(file) != [0; 3]);
        let found: Vec<_> = found
            .map(|file| (file.file_name().unwrap(), starts(file)))
            .collect();
        assert_eq!(found, [("interrupt.rs".as_ref(), [1, 0, 0])]);
    }
}
