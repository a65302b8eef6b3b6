//! `xtask`: the maintainers' tool, which writes, checks, measures, counts and exports the patches of this checkout. It has
//! the users' commands too; `cargo p3` runs it for all others.
//!
//! The rooms, in the order in which one builds on those before it; each says at its top what goes in and comes out:
//!
//! - `bench` builds two workers that differ in the patches, and files their samples as records.
//! - `inspect` disassembles, counts and models what was built.
//! - `report` turns records into tables, figures and a page.
//! - `test` has the tests that `test` runs.
//! - `author` checks patches, lays out upstream's lints and next release on them, and writes their texts for upstream.
//! - `commands` has a file for each subcommand.
//!
//! Beside them, `emulation` knows the emulators.

#![cfg_attr(not(test), deny(unused_crate_dependencies))]

mod author;
mod bench;
mod commands;
#[cfg(test)]
mod documents;
mod emulation;
mod inspect;
mod metadata;
mod project;
mod report;
mod test;

use std::process::ExitCode;

use crate::project::Project;
use anyhow::Result;
use clap::{Parser, Subcommand};
use p3_patches::cli::{self, Group, Place};
use p3_patches::commands::ALIAS;
use paired::error::Failure;
use paired::exit;

use commands::{ab, check, constant_time, count, drift, edit, export, preflight, refresh};

/// Optimizations of Plonky3 as patches: apply them, check them, measure them, send them upstream.
#[derive(Parser)]
#[command(name = "xtask", version)]
struct Cli {
    #[command(flatten)]
    place: Place,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[command(flatten)]
    User(cli::Command),
    Ab(ab::Args),
    #[command(subcommand)]
    Inspect(commands::inspect::Mode),
    Report(commands::report::Args),
    Edit(edit::Args),
    Refresh(refresh::Args),
    Check(check::Args),
    Test(commands::test::Args),
    Export(export::Args),
    // The names of these before they became options and modes.
    #[command(hide = true)]
    Drift(drift::Args),
    #[command(hide = true)]
    Phases(ab::Args),
    #[command(hide = true)]
    Count(count::Args),
    #[command(hide = true)]
    Preflight(preflight::Args),
    #[command(hide = true)]
    ConstantTime(constant_time::Args),
}

/// The groups of the help.
const GROUPS: [Group; 4] = [
    cli::GROUPS[0],
    (
        "Measure",
        &[
            "ab",
            "inspect count",
            "inspect memory",
            "inspect threads",
            "inspect kernels",
            "inspect constant-time",
            "report",
        ],
    ),
    ("Patches", &["edit", "refresh", "check", "test"]),
    ("Upstream", &["export"]),
];

fn main() -> ExitCode {
    if let Some(ended) = exit::other_part() {
        return ended;
    }
    let cli = cli::from_command_line::<Cli>(&GROUPS, ALIAS);
    exit::run(|| run(cli), str::to_owned)
}

fn run(cli: Cli) -> Result<()> {
    let root = cli.place.root()?.ok_or_else(|| {
        Failure::environment("this subcommand needs a checkout of the tool's repository")
            .hint("--project DIR names one, and cargo's alias p3 in a checkout")
    })?;
    let project = &Project::open(root, cli.place.patches)?;
    match cli.command {
        Command::User(command) => command.run(project.patches()),
        Command::Ab(args) => ab::run(args, project),
        Command::Inspect(mode) => commands::inspect::run(mode, project),
        Command::Report(args) => commands::report::run(&args, project),
        Command::Edit(args) => edit::run(&args, project),
        Command::Refresh(args) => refresh::run(&args, project),
        Command::Check(args) => check::run(&args, project),
        Command::Test(args) => commands::test::run(&args, project),
        Command::Export(args) => export::run(&args, project),
        Command::Drift(args) => drift::run(&args, project),
        Command::Phases(mut args) => {
            args.phases = true;
            ab::run(args, project)
        }
        Command::Count(args) => {
            commands::inspect::run(commands::inspect::Mode::Count(args), project)
        }
        Command::Preflight(args) => {
            commands::inspect::run(commands::inspect::Mode::Kernels(args), project)
        }
        Command::ConstantTime(args) => {
            commands::inspect::run(commands::inspect::Mode::ConstantTime(args), project)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        cli::assert_grouped::<Cli>(&GROUPS);
    }

    /// The sources of each crate of a tool, below the repository's root, with its rooms: each may use those before it.
    const CRATES: [(&str, &[&str]); 3] = [
        ("crates/paired/src", &["files", "run", "stats", "show"]),
        (
            "crates/p3-patches/src",
            &[
                "project", "source", "catalog", "prover", "overlay", "commands", "cli",
            ],
        ),
        (
            "xtask/src",
            &["bench", "inspect", "test", "report", "author", "commands"],
        ),
    ];

    fn root() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
    }

    /// Finds the files of a room: its module's, and those below.
    fn sources(folder: &Path, room: &str) -> Vec<PathBuf> {
        let is_of_room = |path: &Path| {
            let mut below = path.strip_prefix(folder).unwrap().components();
            let first = below.next().map(|part| Path::new(part.as_os_str()));
            first.and_then(Path::file_stem) == Some(room.as_ref())
        };
        let all = walkdir::WalkDir::new(folder).into_iter();
        let all = all.map(|entry| entry.unwrap().into_path());
        all.filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
            .filter(|path| room.is_empty() || is_of_room(path))
            .collect()
    }

    #[test]
    fn rooms_use_only_those_before_them() {
        for (folder, rooms) in CRATES {
            for (at, room) in rooms.iter().enumerate() {
                let files = sources(&root().join(folder), room);
                assert!(!files.is_empty(), "{folder}/{room}");
                for file in files {
                    let text = fs::read_to_string(&file).unwrap();
                    for later in &rooms[at + 1..] {
                        let uses = text.contains(&format!("crate::{later}"));
                        assert!(!uses, "{} uses {later}", file.display());
                    }
                }
            }
        }
    }

    /// A path that is shown as it is could have a line break, and end the line that names it.
    #[test]
    fn paths_are_shown_escaped() {
        let files = CRATES.map(|(folder, _)| sources(&root().join(folder), ""));
        for file in files.into_iter().flatten() {
            let text = fs::read_to_string(&file).unwrap();
            let tool = text.split("#[cfg(test)]").next().unwrap();
            assert!(!tool.contains(".display()"), "{file:?}");
        }
    }

    /// A quoted text is escaped where it is printed, and not before: escaped twice, it would be another text.
    #[test]
    fn control_characters_are_escaped_in_one_place() {
        let files = CRATES.map(|(folder, _)| sources(&root().join(folder), ""));
        let files = files.into_iter().flatten();
        let files = files.filter(|file| !file.ends_with("xtask/src/main.rs"));
        let escapes = |file: &PathBuf| fs::read_to_string(file).unwrap().contains(".escape_");
        let found: Vec<_> = files.filter(escapes).collect();
        assert!(
            found.len() == 1 && found[0].ends_with("src/terminal.rs"),
            "{found:?}"
        );
    }

    /// Other children would outlive the tool.
    #[test]
    fn children_are_started_in_one_place() {
        let files = CRATES.map(|(folder, _)| sources(&root().join(folder), ""));
        let starts = |file: &PathBuf| {
            let text = fs::read_to_string(file).unwrap();
            [".spawn()", ".output()", ".status()"].map(|start| text.matches(start).count())
        };
        let mut files: Vec<_> = files.into_iter().flatten().collect();
        files.retain(|file| !file.ends_with("xtask/src/main.rs"));
        let found = files.iter().filter(|file| starts(file) != [0; 3]);
        let found: Vec<_> = found
            .map(|file| (file.file_name().unwrap(), starts(file)))
            .collect();
        assert_eq!(found, [("interrupt.rs".as_ref(), [1, 0, 0])]);
    }
}
