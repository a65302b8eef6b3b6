//! The command line: its commands in groups, and their help.

use std::env;
use std::fmt::Write as _;
use std::mem;
use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::commands::{
    ab, apply, check, constant_time, count, drift, edit, export, list, overlay, phases, preflight,
    refresh, remove, report, status, test, r#try,
};

/// How the tool is called in a checkout; `.cargo/config.toml` has the alias.
const ALIAS: &str = "cargo p3";

/// Optimizations of Plonky3 as patches: apply them, check them, measure them, send them upstream.
#[derive(Parser)]
#[command(name = "p3-patches", version)]
pub struct Cli {
    /// Work in the checkout that the current folder is in, with its patches. Cargo's alias in a checkout says this.
    #[arg(long, global = true, hide = true, conflicts_with = "project")]
    pub checkout: bool,
    /// A checkout of this tool's repository to work in, with its patches [default: the patches in the executable].
    #[arg(long, global = true, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// Another folder with a series and its patches: variants of an optimization that are measured but not shipped.
    #[arg(long, global = true, value_name = "DIR")]
    pub patches: Option<PathBuf>,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
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
    Report(report::Args),
    Preflight(preflight::Args),
    ConstantTime(constant_time::Args),
    Test(test::Args),
}

/// The groups of the help, each with its commands in the order in which a user meets them.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Your prover",
        &["list", "apply", "status", "try", "remove", "overlay"],
    ),
    (
        "Measure",
        &[
            "ab",
            "phases",
            "count",
            "preflight",
            "constant-time",
            "report",
        ],
    ),
    ("Patches", &["edit", "refresh", "check", "test"]),
    ("Upstream", &["drift", "export"]),
];

/// Where the help breaks lines, whatever the terminal's width.
const WIDTH: usize = 100;

impl Cli {
    /// Reads the arguments of this process; leaves it where they ask for help or cannot be read.
    pub fn from_command_line() -> Self {
        let matches = command(called()).get_matches();
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }
}

/// The command line's description, with `name` in examples.
fn command(name: &'static str) -> clap::Command {
    let mut command = Cli::command().bin_name(name).max_term_width(WIDTH);
    for subcommand in command.get_subcommands_mut() {
        if let Some(help) = subcommand.get_after_help().map(ToString::to_string) {
            *subcommand = mem::take(subcommand).after_help(help.replace(ALIAS, name));
        }
    }
    let listed = grouped(&command);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{listed}Options:\n{{options}}"
    ))
}

/// The commands by group, each with the first sentence about it.
fn grouped(command: &clap::Command) -> String {
    let names = GROUPS.iter().flat_map(|(_, names)| *names);
    let width = names.map(|name| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (group, names) in GROUPS {
        let _ = writeln!(text, "{group}:");
        for name in names {
            let about = command
                .find_subcommand(name)
                .and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {name:width$}  {about}");
        }
        text.push('\n');
    }
    text
}

/// The help of every command as Markdown, by group.
pub fn manual() -> String {
    // Options of every command stand once, in the help of the tool itself.
    let mut command = command(ALIAS).term_width(WIDTH);
    for everywhere in ["project", "patches"] {
        command = command.mut_arg(everywhere, |arg| arg.hide(true));
    }
    command = command.disable_help_flag(true);
    command.build();
    let mut text = String::new();
    for (group, names) in GROUPS {
        let _ = write!(text, "\n### {group}\n");
        for name in names {
            let help = command
                .find_subcommand_mut(name)
                .map(clap::Command::render_long_help);
            let help = help.map(|help| help.to_string()).unwrap_or_default();
            let lines = help.lines().map(str::trim_end).collect::<Vec<_>>();
            let _ = write!(
                text,
                "\n#### {name}\n\n```text\n{}\n```\n",
                lines.join("\n").trim_end()
            );
        }
    }
    text
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
pub fn as_called(text: &str) -> String {
    text.replace(ALIAS, called())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let grouped = GROUPS.iter().flat_map(|(_, names)| names.iter().copied());
        let grouped: Vec<_> = grouped.collect();
        let command = Cli::command();
        let there = command.get_subcommands().map(clap::Command::get_name);
        let there: BTreeSet<_> = there.collect();
        assert_eq!(grouped.len(), there.len());
        assert_eq!(grouped.into_iter().collect::<BTreeSet<_>>(), there);
    }
}
