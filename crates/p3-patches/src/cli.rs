//! The command line: its commands in groups, and their help.

use std::fmt::Write as _;
use std::mem;
use std::path::PathBuf;

use anyhow::Result;
use clap::error::ContextValue;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::commands::{ALIAS, apply, list, overlay, remove, status, r#try};
use crate::project::{Patches, checkout};
use paired::terminal::shown;

/// Optimizations of Plonky3 as patches: apply them to a prover's workspace, measure them there, take them out.
#[derive(Parser)]
#[command(
    name = "p3-patches",
    version,
    after_help = "In a checkout of this tool's repository, `cargo p3` runs the maintainers' commands too: `cargo xtask --help` lists them."
)]
pub struct Cli {
    #[command(flatten)]
    pub place: Place,
    #[command(subcommand)]
    pub command: Command,
}

/// The place that the patches are taken from.
#[derive(clap::Args)]
pub struct Place {
    /// Work in the checkout that the current folder is in, with its patches. Cargo's alias in a checkout says this.
    #[arg(long, global = true, hide = true, conflicts_with = "project")]
    pub checkout: bool,
    /// A checkout of this tool's repository to work in, with its patches [default: the patches in the executable].
    #[arg(long, global = true, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// Another folder with a series and its patches: variants of an optimization that are measured but not shipped.
    #[arg(long, global = true, value_name = "DIR")]
    pub patches: Option<PathBuf>,
}

impl Place {
    /// Returns the root of the checkout that the arguments name.
    pub fn root(&self) -> Result<Option<PathBuf>> {
        match &self.project {
            None if self.checkout => Ok(Some(checkout()?)),
            named => Ok(named.clone()),
        }
    }
}

#[derive(Subcommand)]
pub enum Command {
    List(list::Args),
    Apply(apply::Args),
    Remove(remove::Args),
    Status(status::Args),
    Overlay(overlay::Args),
    Try(r#try::Args),
}

impl Command {
    /// Runs the command with these patches.
    pub fn run(&self, patches: &Patches) -> Result<()> {
        match self {
            Self::List(args) => list::run(args, patches),
            Self::Apply(args) => apply::run(args, patches),
            Self::Remove(args) => remove::run(args, patches),
            Self::Status(args) => status::run(args, patches),
            Self::Overlay(args) => overlay::run(args, patches),
            Self::Try(args) => r#try::run(args, patches),
        }
    }
}

/// A group of the help: its title, and its commands in the order in which a user meets them. A mode of a command has the command's
/// name before its own.
pub type Group = (&'static str, &'static [&'static str]);

/// The groups of the help.
pub const GROUPS: [Group; 1] = [(
    "Your prover",
    &["list", "apply", "status", "try", "remove", "overlay"],
)];

/// Where the help breaks lines, whatever the terminal's width.
const WIDTH: usize = 100;

/// Reads the arguments of this process, whose tool is `called` that; leaves it where they ask for help or cannot be read.
pub fn from_command_line<C: CommandFactory + FromArgMatches>(
    groups: &[Group],
    called: &'static str,
) -> C {
    let matches = command::<C>(groups, called)
        .try_get_matches()
        .unwrap_or_else(|error| escaped(error).exit());
    C::from_arg_matches(&matches).unwrap_or_else(|error| escaped(error).exit())
}

/// Writes the arguments that an error quotes as [`shown`] does.
fn escaped(mut error: clap::Error) -> clap::Error {
    let quoted = error.context().map(|(kind, value)| (kind, value.clone()));
    for (kind, value) in quoted.collect::<Vec<_>>() {
        let value = match value {
            ContextValue::String(text) => ContextValue::String(shown(text)),
            ContextValue::Strings(texts) => {
                ContextValue::Strings(texts.iter().map(shown).collect())
            }
            // Suggestions, each on a line.
            ContextValue::StyledStrs(texts) => {
                let texts = texts.iter().map(|text| shown(text.to_string()).into());
                ContextValue::StyledStrs(texts.collect())
            }
            other => other,
        };
        error.insert(kind, value);
    }
    error
}

/// Describes a command line with grouped commands, and with `name` in examples.
fn command<C: CommandFactory>(groups: &[Group], name: &'static str) -> clap::Command {
    let mut command = C::command().bin_name(name).max_term_width(WIDTH);
    for subcommand in command.get_subcommands_mut() {
        if let Some(help) = subcommand.get_after_help().map(ToString::to_string) {
            *subcommand = mem::take(subcommand).after_help(help.replace(ALIAS, name));
        }
    }
    let listed = grouped(&command, groups);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{listed}Options:\n{{options}}{{after-help}}"
    ))
}

/// Lists the commands by group, each with the first sentence about it.
fn grouped(command: &clap::Command, groups: &[Group]) -> String {
    let names = groups.iter().flat_map(|(_, names)| *names);
    let width = names.map(|name| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (group, names) in groups {
        let _ = writeln!(text, "{group}:");
        for name in *names {
            let mut words = name.split(' ');
            let named = words.try_fold(command, |command, word| command.find_subcommand(word));
            let about = named.and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {name:width$}  {about}");
        }
        text.push('\n');
    }
    text
}

/// Checks that every command is in one group.
///
/// # Panics
///
/// If a command is in none or in two.
#[doc(hidden)]
pub fn assert_grouped<C: CommandFactory>(groups: &[Group]) {
    let mut grouped: Vec<_> = groups
        .iter()
        .flat_map(|(_, names)| names.iter().copied())
        .collect();
    let command = C::command();
    let is_shown = |command: &&clap::Command| !command.is_hide_set();
    let mut there = Vec::new();
    for command in command.get_subcommands().filter(is_shown) {
        let name = command.get_name();
        let modes = command.get_subcommands();
        there.extend(modes.map(|mode| format!("{name} {}", mode.get_name())));
        if !command.has_subcommands() {
            there.push(name.to_owned());
        }
    }
    grouped.sort_unstable();
    there.sort_unstable();
    assert_eq!(grouped, there);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        assert_grouped::<Cli>(&GROUPS);
    }
}
