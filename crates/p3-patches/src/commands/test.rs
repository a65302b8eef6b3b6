//! `test`: every test there is, in stages.

use std::env;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::ValueEnum;
use globset::Glob;

use super::spinner;
use crate::build::with_rustflags;
use crate::error::Failure;
use crate::interrupt;
use crate::isa::Isa;
use crate::project::Project;
use crate::series::Series;
use crate::source::cargo;
use crate::upstream::Suites;

const AARCH64: &str = "aarch64-unknown-linux-gnu";
const EMULATOR: &str = "qemu-aarch64-static";
const CROSS_LINKER: &str = "aarch64-linux-gnu-gcc";

/// Run every test there is.
///
/// Formatting, lints, the workspace's tests; for each instruction set that this CPU has, the kernels' tests, upstream's
/// own suites on patched packages, and the comparison of outputs with Plonky3 as published. On x86-64, NEON runs under
/// emulation where qemu and a cross linker are there. What cannot run here is skipped by name.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo p3 test
  cargo p3 test --require x86-64-v3
  cargo p3 test --only 'kernels/*' --only check")]
pub struct Args {
    /// Fail, instead of skipping, where this instruction set cannot be tested; may be given several times.
    #[arg(long, value_enum, value_name = "ISA")]
    require: Vec<Isa>,
    /// Stages to run, by glob over their names; may be given several times [default: all].
    #[arg(long, value_name = "GLOB")]
    only: Vec<String>,
}

struct Stage {
    name: String,
    work: Work,
}

enum Work {
    /// A command of cargo's, on this workspace.
    Cargo(&'static [&'static str]),
    /// `cargo p3 check`.
    Check,
    /// The tests of the optimizations' crates.
    Kernels(Isa),
    /// Upstream's suites on patched packages.
    Upstream { isa: Isa, parallel: bool },
    /// Outputs of the patched worker against those of the published one.
    Outputs(Isa),
    /// A program that a machine may lack, and its arguments.
    Lint(&'static str, &'static [&'static str]),
}

enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
}

pub fn run(args: &Args, project: &Project) -> Result<()> {
    let stages = selected(&args.only)?;
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for stage in &stages {
        let started = Instant::now();
        let progress = spinner(stage.name.clone());
        let outcome = stage.run(project, &args.require)?;
        progress.finish_and_clear();
        let time = humantime::format_duration(Duration::from_secs(started.elapsed().as_secs()));
        let name = &stage.name;
        match outcome {
            Outcome::Passed => {
                passed += 1;
                println!("ok    {name}{} ({time})", stage.label());
            }
            Outcome::Failed(why) => {
                failed += 1;
                println!("FAIL  {name}{} ({time})", stage.label());
                eprintln!("{why}");
            }
            Outcome::Skipped(why) => {
                skipped += 1;
                println!("skip  {name}: {why}");
            }
        }
    }
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    if failed > 0 {
        return Err(
            Failure::check(format!("{failed} of {} stages failed", stages.len()))
                .hint("`--only STAGE` runs one again")
                .into(),
        );
    }
    Ok(())
}

/// All stages, what fails soonest first.
fn stages() -> Vec<Stage> {
    let stage = |name: &str, work| Stage {
        name: name.to_owned(),
        work,
    };
    let mut stages = vec![
        stage("format", Work::Cargo(&["fmt", "--all", "--check"])),
        stage("actionlint", Work::Lint("actionlint", &[])),
        stage(
            "shellcheck",
            Work::Lint(
                "shellcheck",
                &[
                    ".ci/run",
                    "ci/ab.sh",
                    "ci/apt.sh",
                    "ci/check.sh",
                    "ci/isa.sh",
                    "ci/overlay.sh",
                    "ci/test.sh",
                    "ci/tools.sh",
                ],
            ),
        ),
        stage("check", Work::Check),
        stage(
            "clippy",
            Work::Cargo(&[
                "clippy",
                "--locked",
                "--workspace",
                "--all-targets",
                "--",
                "-D",
                "warnings",
            ]),
        ),
        stage(
            "workspace",
            Work::Cargo(&["test", "--quiet", "--locked", "--workspace"]),
        ),
    ];
    let isas = || {
        let isas = Isa::value_variants().iter().copied();
        // `native` is one of the others, or close to one; on aarch64 so is `generic`, since Rust's targets have NEON.
        let repeats =
            |isa| isa == Isa::Native || (cfg!(target_arch = "aarch64") && isa == Isa::Generic);
        isas.filter(move |isa| !repeats(*isa))
    };
    stages.extend(isas().map(|isa| stage(&format!("kernels/{isa}"), Work::Kernels(isa))));
    stages.extend(isas().map(|isa| stage(&format!("outputs/{isa}"), Work::Outputs(isa))));
    for isa in isas() {
        let work = |parallel| Work::Upstream { isa, parallel };
        stages.push(stage(&format!("upstream/{isa}"), work(false)));
        // What is emulated is one package, which does not come in two kinds.
        if !emulated(isa) {
            stages.push(stage(&format!("upstream/{isa}/parallel"), work(true)));
        }
    }
    stages
}

fn selected(patterns: &[String]) -> Result<Vec<Stage>> {
    let mut stages = stages();
    if patterns.is_empty() {
        return Ok(stages);
    }
    let mut globs = Vec::new();
    for pattern in patterns {
        let glob = Glob::new(pattern)
            .map_err(|error| Failure::input(format!("--only {pattern}: {}", error.kind())))?
            .compile_matcher();
        if !stages.iter().any(|stage| glob.is_match(&stage.name)) {
            let names: Vec<_> = stages.iter().map(|stage| stage.name.as_str()).collect();
            return Err(Failure::input(format!("--only {pattern}: no such stage"))
                .hint(format!("there are {}", names.join(", ")))
                .into());
        }
        globs.push(glob);
    }
    stages.retain(|stage| globs.iter().any(|glob| glob.is_match(&stage.name)));
    Ok(stages)
}

impl Stage {
    fn isa(&self) -> Option<Isa> {
        match self.work {
            Work::Kernels(isa) | Work::Upstream { isa, .. } | Work::Outputs(isa) => Some(isa),
            Work::Cargo(_) | Work::Check | Work::Lint(..) => None,
        }
    }

    /// What a reader has to know to take the result for no more than it is.
    fn label(&self) -> &'static str {
        if self.isa().is_some_and(emulated) {
            ", under emulation"
        } else {
            ""
        }
    }

    fn run(&self, project: &Project, required: &[Isa]) -> Result<Outcome> {
        if let Some(what) = self.missing() {
            let required = self.isa().is_some_and(|isa| required.contains(&isa));
            return Ok(if required {
                Outcome::Failed(format!("{what}, but is required"))
            } else {
                Outcome::Skipped(what)
            });
        }
        let mut command = match self.command(project) {
            Ok(command) => command,
            Err(error) => {
                interrupt::check()?;
                return Ok(Outcome::Failed(format!("{error:#}")));
            }
        };
        let output = interrupt::output(&mut command)?;
        Ok(if output.status.success() {
            Outcome::Passed
        } else {
            let text = [output.stdout, output.stderr].concat();
            Outcome::Failed(String::from_utf8_lossy(&text).into_owned())
        })
    }

    /// What this machine lacks to run the stage.
    fn missing(&self) -> Option<String> {
        match self.work {
            Work::Cargo(_) | Work::Check => None,
            Work::Kernels(isa) | Work::Upstream { isa, .. } if emulated(isa) => None,
            Work::Kernels(isa) | Work::Upstream { isa, .. } | Work::Outputs(isa) => {
                isa.check().err().map(|refused| refused.message)
            }
            Work::Lint(program, _) => {
                (!runs(program)).then(|| format!("no {program} on this machine"))
            }
        }
    }

    fn command(&self, project: &Project) -> Result<Command> {
        let mut command = match self.work {
            Work::Cargo(args) => in_folder(cargo(), &project.root, args),
            Work::Lint(program, args) => in_folder(Command::new(program), &project.root, args),
            Work::Check => own(project, &["check"])?,
            Work::Outputs(isa) => own(
                project,
                &["ab", "--outputs-only", "--isa", &isa.to_string()],
            )?,
            Work::Kernels(isa) => {
                let mut test = cargo_test(project, &project.root, isa);
                // The optimizer inlines vectors into registers, with the checks for overflow still in.
                test.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
                test.args(["--package", "p3-patches-testing"]);
                for name in Series::load(project)?.names() {
                    test.args(["--package", name]);
                }
                test
            }
            Work::Upstream { isa, parallel } => {
                let series = Series::load(project)?;
                let names: Vec<String> = series.names().map(str::to_owned).collect();
                let suites = Suites::lay_out(project, &series.base(None)?, &names)?;
                // Unoptimized, these run for seconds; optimized, they compile for minutes. The outputs of optimized
                // packages are compared by `outputs/`.
                let mut test = cargo_test(project, &suites.root, isa);
                if emulated(isa) {
                    // The rest is the same on every ISA, and an emulator takes its time.
                    test.args(["--package", "p3-goldilocks", "--lib", "poseidon2"]);
                } else {
                    test.arg("--workspace");
                }
                if parallel {
                    test.arg("--features").arg(suites.parallel.join(","));
                }
                test
            }
        };
        // Nobody runs a debugger on these, and its data takes time to write and to link.
        command.env("CARGO_PROFILE_DEV_DEBUG", "false");
        Ok(command)
    }
}

fn in_folder(mut command: Command, folder: &Path, args: &[&str]) -> Command {
    command.current_dir(folder).args(args);
    command
}

/// This tool, as a process of its own.
fn own(project: &Project, args: &[&str]) -> Result<Command> {
    let tool = env::current_exe().context("cannot tell where this tool is")?;
    Ok(in_folder(Command::new(tool), &project.root, args))
}

/// `cargo test` in `folder` for `isa`.
fn cargo_test(project: &Project, folder: &Path, isa: Isa) -> Command {
    let mut test = in_folder(
        cargo(),
        folder,
        &["test", "--quiet", "--locked", "--target-dir"],
    );
    test.arg(
        project
            .root
            .join("target/p3")
            .join(isa.to_string())
            .join("test"),
    );
    with_rustflags(&mut test, isa);
    if emulated(isa) {
        test.args(["--target", AARCH64])
            .env(
                "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER",
                CROSS_LINKER,
            )
            .env(
                "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER",
                format!("{EMULATOR} -cpu cortex-a76 -L /usr/aarch64-linux-gnu"),
            );
    }
    test
}

/// Whether `isa` is another architecture's, for which this machine has a toolchain and an emulator.
fn emulated(isa: Isa) -> bool {
    let libraries = || {
        let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let args = ["--print", "target-libdir", "--target", AARCH64];
        let output = Command::new(rustc).args(args).output().ok()?;
        let path = String::from_utf8(output.stdout).ok()?;
        Path::new(path.trim_end()).is_dir().then_some(())
    };
    isa == Isa::Neon
        && isa.check().is_err()
        && runs(EMULATOR)
        && runs(CROSS_LINKER)
        && libraries().is_some()
}

/// Whether a program is there and can be started.
fn runs(program: &str) -> bool {
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| output.status.success())
}
