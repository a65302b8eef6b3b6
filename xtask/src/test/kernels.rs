//! Stages of the optimizations' crates: lints and tests for an instruction set, Miri, instructions that go wrong.

use std::ffi::OsStr;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Result, bail};
use walkdir::WalkDir;

use super::{
    Need, ONE_ISA, Work, bochs, cargo_for, in_folder, is_emulated, lacks, lacks_cpu, lacks_isa,
    runs_in_bochs, succeed,
};
use crate::metadata::Metadata;
use crate::project::Project;
use paired::cargo::with_rustflags;
use paired::interrupt;
use paired::isa::Isa;

/// Lints of the optimizations' crates and benches: what is compiled for an instruction set, the workspace's lints do not
/// see.
pub struct Clippy(pub Isa);

impl Work for Clippy {
    fn need(&self) -> Option<Need> {
        Some(Need::Isa(self.0))
    }

    fn missing(&self, _: &Project) -> Option<String> {
        // Nothing that is compiled for the instruction set runs.
        if cfg!(target_arch = "x86_64") && !self.0.is_foreign() {
            return None;
        }
        lacks_isa(self.0)
    }

    fn run(&self, project: &Project) -> Result<()> {
        let mut clippy = cargo_for(self.0, "clippy", project, &project.root)?;
        add_kernels(&mut clippy, project)?;
        if self.0 == Isa::V3 {
            // The benches have the same text for all vectors, and need as much again to be checked.
            clippy.args(["--package", "p3-bench"]);
        }
        clippy.args(["--all-targets", "--", "-D", "warnings"]);
        succeed(clippy).map(drop)
    }
}

/// The tests of the optimizations' crates: all of them, or those that make each instruction go wrong.
pub struct Kernels {
    pub isa: Isa,
    pub mutated: bool,
}

/// The tests that make instructions go wrong. Under Bochs, too, they print the list that differs.
const INSTRUCTIONS_TESTS: &str = "each_wrong_instruction";

impl Kernels {
    fn runs_in_bochs(&self, project: &Project) -> bool {
        runs_in_bochs(self.isa, project)
    }
}

impl Work for Kernels {
    fn need(&self) -> Option<Need> {
        Some(Need::Isa(self.isa))
    }

    fn missing(&self, project: &Project) -> Option<String> {
        lacks_cpu(self.isa, project)
    }

    fn is_emulated(&self, project: &Project) -> bool {
        is_emulated(self.isa) || self.runs_in_bochs(project)
    }

    fn run(&self, project: &Project) -> Result<()> {
        let mut test = cargo_for(self.isa, "test", project, &project.root)?;
        let mut flags = self.isa.rustflags().to_string();
        if self.mutated {
            flags += " --cfg mutated";
            with_rustflags(&mut test, &flags);
            for (name, metadata) in Metadata::of_kernels(project)? {
                if metadata.has_instructions(self.isa) {
                    test.args(["--package", &name]);
                }
            }
            test.arg("--lib");
        } else {
            add_kernels(&mut test, project)?;
            // Examples in the documentation are the same for all; `docs` runs them.
            test.args(["--lib", "--tests"]);
        }
        if self.mutated || self.is_emulated(project) {
            // An emulator takes its time: vectors are inlined into registers, with the checks for overflow still in.
            test.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
        }
        if !self.runs_in_bochs(project) {
            if self.mutated {
                test.args(["--", INSTRUCTIONS_TESTS]);
            }
            return succeed(test).map(drop);
        }
        // Bochs runs the tests that compute on vectors. Tests of integers and intervals, and some that take minutes, run on every
        // other instruction set.
        bochs::build_for(&mut test, &flags);
        let arguments = |manifest: &Path| {
            if self.mutated {
                return Ok(INSTRUCTIONS_TESTS.to_owned());
            }
            let skips = Metadata::load(manifest)?.bochs_options();
            Ok(format!("--test-threads 1{skips}"))
        };
        let built = bochs::executables(&succeed(test)?.stdout, arguments)?;
        let read = if self.mutated {
            sources(project)?
        } else {
            Vec::new()
        };
        bochs::run(&project.root, &built, &read)
    }
}

/// Z3's proofs of the kernels' operations, which are ignored among the tests: the programs are those of [`Kernels`].
pub struct Proofs;

impl Work for Proofs {
    fn need(&self) -> Option<Need> {
        Some(Need::Z3)
    }

    fn missing(&self, _: &Project) -> Option<String> {
        lacks("z3").or_else(|| lacks_isa(ONE_ISA))
    }

    fn run(&self, project: &Project) -> Result<()> {
        let mut prove = cargo_for(ONE_ISA, "test", project, &project.root)?;
        add_kernels(&mut prove, project)?;
        prove.args(["--lib", "--", "--ignored", "smt"]);
        succeed(prove).map(drop)
    }
}

/// Names the optimizations' crates, and what their tests share.
fn add_kernels(command: &mut Command, project: &Project) -> Result<()> {
    command.args(["--package", "p3-patches-testing"]);
    for name in project.catalog.names() {
        command.args(["--package", name]);
    }
    Ok(())
}

/// Returns the sources and snapshots of the optimizations' crates: reports of instructions show the lines that they are on.
fn sources(project: &Project) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    // Links are to crates that are read where they lie.
    for entry in WalkDir::new(project.root.join("crates")) {
        let entry = entry?;
        let extension = entry.path().extension().and_then(OsStr::to_str);
        if entry.file_type().is_file() && matches!(extension, Some("rs" | "snap")) {
            files.push(entry.into_path());
        }
    }
    Ok(files)
}

/// A few of the kernels' tests, under Miri.
pub struct Miri(pub Isa);

/// Where `rust-toolchain.toml` names the compiler that has Miri.
const MIRI: &str = "crates/testing/miri";

impl Miri {
    /// Cargo with Miri, of the compiler that [`MIRI`] pins. Cargo's variable would override it.
    fn cargo(project: &Project) -> Command {
        let mut cargo = in_folder(Command::new("cargo"), &project.root.join(MIRI), &["miri"]);
        cargo.env_remove("RUSTUP_TOOLCHAIN");
        cargo
    }

    /// `cargo miri test` of these packages.
    fn test(&self, project: &Project, packages: &[&str]) -> Command {
        let mut miri = Self::cargo(project);
        miri.args(["test", "--locked", "--lib", "--manifest-path"]);
        miri.arg(project.root.join("Cargo.toml"));
        miri.arg("--target-dir");
        miri.arg(project.root.join(format!("target/p3/{}/miri", self.0)));
        miri.args(packages.iter().flat_map(|name| ["--package", name]));
        with_rustflags(&mut miri, self.0.rustflags());
        // Proptest reads the environment. Where pointers may point takes a while to check; only tiled-dft's could alias, and
        // they run weekly.
        miri.env(
            "MIRIFLAGS",
            match self.0 {
                Isa::V4Ifma => "-Zmiri-disable-isolation -Zmiri-disable-stacked-borrows",
                _ => "-Zmiri-disable-isolation",
            },
        );
        miri
    }
}

impl Work for Miri {
    fn need(&self) -> Option<Need> {
        Some(Need::Miri)
    }

    fn missing(&self, project: &Project) -> Option<String> {
        let output = interrupt::output(Self::cargo(project).arg("--version"));
        let there = output.is_ok_and(|output| output.status.success());
        (!there).then(|| format!("no Miri on this machine, as {MIRI} names it"))
    }

    /// Runs the tests package by package, on every core: Miri keeps one busy.
    fn run(&self, project: &Project) -> Result<()> {
        let mut kernels = Metadata::of_kernels(project)?;
        kernels.retain(|(_, metadata)| metadata.miri(self.0).next().is_some());
        let packages = kernels.iter().map(|(name, _)| name.as_str());
        let mut build = self.test(project, &packages.collect::<Vec<_>>());
        build.arg("--no-run");
        succeed(build)?;

        let queue = Mutex::new(kernels);
        let run = || -> Result<()> {
            let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop();
            while let Some((package, metadata)) = next() {
                let mut test = self.test(project, &[&package]);
                test.args(["--", "--exact", "--test-threads", "1"]);
                test.args(metadata.miri(self.0));
                let output = succeed(test)?;
                let text = String::from_utf8_lossy(&output.stdout);
                let passed = |name: &str| text.contains(&format!("test {name} ... ok\n"));
                if let Some(name) = metadata.miri(self.0).find(|name| !passed(name)) {
                    bail!("{package}: {name} did not run\n{text}");
                }
            }
            Ok(())
        };
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        thread::scope(|scope| {
            let runs = (0..cores).map(|_| scope.spawn(run)).collect::<Vec<_>>();
            let mut results = runs.into_iter().map(|run| run.join().expect("no panic"));
            results.try_for_each(|result| result)
        })
    }
}
