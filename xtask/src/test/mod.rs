//! The stages of `test`: every test there is, what each needs, and the emulators that some run in.
//!
//! In: a checkout. Out: the list of its [`Stage`]s, each of which runs to an [`Outcome`].

mod bochs;
mod kernels;
mod list;
mod need;
mod programs;
pub mod provers;
mod suites;
pub mod upstream;

use std::path::Path;
use std::process::{Command, Output};

use anyhow::Result;

pub use list::all;
pub use need::Need;

use crate::emulation;
use crate::project::Project;
use paired::cargo::{Toolchain, cargo, with_rustflags};
use paired::interrupt;
use paired::isa::Isa;

/// The instruction set for what is tested on one: code that depends on the feature `parallel`, and is the same for all, and the
/// provers of others, which compile for minutes.
const ONE_ISA: Isa = if cfg!(target_arch = "aarch64") {
    Isa::Neon
} else {
    Isa::V3
};

/// A stage: a name, when it runs, and its work.
pub struct Stage {
    pub name: String,
    pub pace: Pace,
    work: Box<dyn Work>,
}

/// How often a stage runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pace {
    /// In every run, and in those of `--quick`.
    Quick,
    /// In those of `--quick` alone: otherwise another stage has it.
    OnlyQuick,
    /// In every run.
    Always,
    /// Where `--only` asks for it, as the weekly workflow does.
    Weekly,
}

pub enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
}

/// The work of a stage.
trait Work {
    /// Names what `--require` can ask for, if the stage depends on such a thing.
    fn need(&self) -> Option<Need> {
        None
    }

    /// Names the first thing that this machine lacks to run it.
    fn missing(&self, _project: &Project) -> Option<String> {
        None
    }

    /// Tells whether an emulator runs it here, which keeps its result from being taken for a CPU's.
    fn is_emulated(&self, _project: &Project) -> bool {
        false
    }

    /// Runs it; an error is why it fails.
    fn run(&self, project: &Project) -> Result<()>;
}

impl Stage {
    fn new(name: impl Into<String>, work: impl Work + 'static) -> Self {
        Self {
            name: name.into(),
            pace: Pace::Always,
            work: Box::new(work),
        }
    }

    fn at(self, pace: Pace) -> Self {
        Self { pace, ..self }
    }

    fn weekly_if(self, weekly: bool) -> Self {
        if weekly { self.at(Pace::Weekly) } else { self }
    }

    /// Returns a remark that stands behind the stage's name.
    pub fn label(&self, project: &Project) -> &'static str {
        if self.work.is_emulated(project) {
            ", under emulation"
        } else {
            ""
        }
    }

    /// Runs the stage, or skips it where this machine lacks what it needs, which fails where that is `required`.
    pub fn run(&self, project: &Project, required: &[Need]) -> Result<Outcome> {
        if let Some(what) = self.work.missing(project) {
            let required = self
                .work
                .need()
                .is_some_and(|need| required.contains(&need));
            return Ok(if required {
                Outcome::Failed(format!("{what}, but is required"))
            } else {
                Outcome::Skipped(what)
            });
        }
        Ok(match self.work.run(project) {
            Ok(()) => Outcome::Passed,
            Err(error) => {
                interrupt::check()?;
                Outcome::Failed(format!("{error:#}"))
            }
        })
    }
}

/// Runs a command to its end; all that it has printed is the error where it fails.
fn succeed(mut command: Command) -> Result<Output> {
    // Nobody runs a debugger on these, and its data takes time to write and to link.
    command.env("CARGO_PROFILE_DEV_DEBUG", "false");
    let output = interrupt::output(&mut command)?;
    if output.status.success() {
        return Ok(output);
    }
    let text = [output.stdout, output.stderr].concat();
    Err(anyhow::Error::msg(
        String::from_utf8_lossy(&text).into_owned(),
    ))
}

fn in_folder(mut command: Command, folder: &Path, args: &[&str]) -> Command {
    command.current_dir(folder).args(args);
    command
}

/// This tool, as a process of its own: as it runs, though a stage has compiled another one in its place.
fn own(project: &Project, args: &[&str]) -> Result<Command> {
    let tool = interrupt::executable()?;
    let args = [&["--checkout"], args].concat();
    Ok(in_folder(Command::new(tool), &project.root, &args))
}

/// `cargo`'s `subcommand` in `folder` for `isa`. With a target, the flags are not those of macros and build scripts, which all
/// instruction sets have in common.
fn cargo_for(isa: Isa, subcommand: &str, project: &Project, folder: &Path) -> Result<Command> {
    let args = [subcommand, "--quiet", "--locked", "--target-dir"];
    let mut command = in_folder(cargo(), folder, &args);
    command.arg(project.root.join("target/p3/test"));
    with_rustflags(&mut command, isa.rustflags());
    if is_emulated(isa) {
        emulation::cross(&mut command);
        emulation::run_under(&mut command);
    } else {
        command.args(["--target", &Toolchain::query()?.host]);
    }
    Ok(command)
}

/// Tells whether `isa` is another architecture's, for which this machine has a toolchain and an emulator.
fn is_emulated(isa: Isa) -> bool {
    isa.is_foreign() && emulation::missing().is_none()
}

/// Tells whether `isa` is AVX-512, and this CPU lacks it: tests run in Bochs or not at all, and take minutes there.
fn needs_bochs(isa: Isa) -> bool {
    [Isa::V4, Isa::V4Ifma].contains(&isa) && isa.check().is_err()
}

/// Tells whether tests for `isa` run in Bochs.
fn runs_in_bochs(isa: Isa, project: &Project) -> bool {
    needs_bochs(isa) && bochs::missing(&project.root).is_none()
}

/// Says why tests for `isa` can run nowhere here.
fn lacks_cpu(isa: Isa, project: &Project) -> Option<String> {
    if runs_in_bochs(isa, project) {
        return None;
    }
    lacks_isa(isa)
}

/// Says why `isa` cannot run here, neither on this CPU nor under an emulator.
fn lacks_isa(isa: Isa) -> Option<String> {
    if is_emulated(isa) {
        return None;
    }
    isa.check().err().map(|refused| refused.message)
}

fn lacks(program: &str) -> Option<String> {
    (!emulation::runs(program)).then(|| format!("no {program} on this machine"))
}
