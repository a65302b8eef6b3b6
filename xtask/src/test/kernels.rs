//! Stages of the optimizations' crates: lints and tests for an instruction set, Miri, instructions that go wrong.

use std::ffi::OsStr;
use std::num::NonZero;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Result, bail};
use walkdir::WalkDir;

use super::{
    Need, ONE_ISA, Work, bochs, cargo_for, in_folder, is_emulated, lacks, lacks_cpu, lacks_isa,
    runs_in_bochs, succeed,
};
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

/// The tests of the optimizations' crates.
pub struct Kernels(pub Isa);

/// Of the kernels' tests, those that run under Bochs: what computes on vectors. Mutations and bounds are of integers and of
/// intervals, `portable` lanes are no vectors, and other numbers of partial rounds are a minute of Poseidon1's constants; they
/// run on every other instruction set. The audit steps through the code for a minute, to count; it runs where the CPU has
/// AVX-512. Bochs 2.7 leaves a vector of 512 bits as it is where it has to shift it by 64 or more, so that instructions are
/// compared with a CPU's only.
const BOCHS_TESTS: &str = "--test-threads 1 --skip mutation::tests --skip tests::mutations:: \
    --skip tests::bounds:: --skip portable --skip any_number_of_partial_rounds --skip tests::audit:: \
    --skip instructions_are_those_of_the_cpu";

impl Work for Kernels {
    fn need(&self) -> Option<Need> {
        Some(Need::Isa(self.0))
    }

    fn missing(&self, project: &Project) -> Option<String> {
        lacks_cpu(self.0, project)
    }

    fn is_emulated(&self, project: &Project) -> bool {
        is_emulated(self.0) || runs_in_bochs(self.0, project)
    }

    fn run(&self, project: &Project) -> Result<()> {
        let in_bochs = runs_in_bochs(self.0, project);
        let mut test = cargo_for(self.0, "test", project, &project.root)?;
        if self.is_emulated(project) {
            // An emulator takes its time: vectors are inlined into registers, with the checks for overflow still in.
            test.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
        }
        if in_bochs {
            bochs::build_for(&mut test, self.0.rustflags());
        }
        add_kernels(&mut test, project)?;
        // Examples in the documentation are the same for all; `docs` runs them.
        test.args(["--lib", "--tests"]);
        let output = succeed(test)?;
        if in_bochs {
            let built = bochs::executables(&output.stdout)?;
            bochs::run(&project.root, &built, BOCHS_TESTS, &[])?;
        }
        Ok(())
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

/// The optimizations with kernels for x86-64 of their own.
const X86_KERNELS: [&str; 11] = [
    "ifma-butterflies",
    "ifma-permute",
    "lazy-dot-products",
    "monty-dot-products",
    "monty-paired-diagonal",
    "monty-poseidon1",
    "packed-mds-karatsuba",
    "packed-poseidon2",
    "packed-product",
    "prepared-twiddles",
    "quintic-single-product",
];

/// Of these, those with instructions of AVX2.
const AVX2_KERNELS: [&str; 7] = [
    "monty-dot-products",
    "monty-paired-diagonal",
    "monty-poseidon1",
    "packed-mds-karatsuba",
    "packed-poseidon2",
    "prepared-twiddles",
    "quintic-single-product",
];

/// The optimizations with kernels for NEON of their own.
const NEON_KERNELS: [&str; 1] = ["neon-batched-permute"];

/// The kernels' tests, which have to notice each instruction that goes wrong.
pub struct Instructions(pub Isa);

/// Of the kernels' tests, those that make instructions go wrong. Under Bochs, too, they print the list that differs.
const INSTRUCTIONS_TESTS: &str = "each_wrong_instruction";

impl Work for Instructions {
    fn need(&self) -> Option<Need> {
        Some(Need::Isa(self.0))
    }

    fn missing(&self, project: &Project) -> Option<String> {
        lacks_cpu(self.0, project)
    }

    fn is_emulated(&self, project: &Project) -> bool {
        is_emulated(self.0) || runs_in_bochs(self.0, project)
    }

    fn run(&self, project: &Project) -> Result<()> {
        let in_bochs = runs_in_bochs(self.0, project);
        let mut test = cargo_for(self.0, "test", project, &project.root)?;
        let flags = format!("{} --cfg mutated", self.0.rustflags());
        with_rustflags(&mut test, &flags);
        test.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
        let kernels: &[_] = match self.0 {
            Isa::Neon => &NEON_KERNELS,
            Isa::V3 => &AVX2_KERNELS,
            _ => &X86_KERNELS,
        };
        test.args(kernels.iter().flat_map(|name| ["--package", name]));
        test.arg("--lib");
        if !in_bochs {
            test.args(["--", INSTRUCTIONS_TESTS]);
            return succeed(test).map(drop);
        }
        bochs::build_for(&mut test, &flags);
        let built = bochs::executables(&succeed(test)?.stdout)?;
        bochs::run(
            &project.root,
            &built,
            INSTRUCTIONS_TESTS,
            &sources(project)?,
        )
    }
}

/// The sources and snapshots of the optimizations' crates: reports of instructions show the lines that they are on.
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

/// Of the kernels' tests, those that Miri runs: every operation next to its carries, permutations of few rounds, every lane, width
/// and size of a group, tiles of a few rows. It takes a millisecond for an instruction, and lacks assembly, of which Plonky3's
/// scalar products over Goldilocks are made, and on AVX-512 packed products over 31-bit fields.
const MIRI_TESTS: [&str; 19] = [
    "poseidon1_packed::tests::fold_holds_at_its_bounds",
    "poseidon1_packed::tests::normalized_halves_stay_within_their_bounds",
    "poseidon1_packed::tests::unreduced_products_stay_within_their_bounds",
    "poseidon2_fused::tests::add_modulo_corrects_once_up_to_its_bound",
    "poseidon2_fused::tests::products_are_exact",
    "poseidon2_fused::tests::reductions_and_divisions_hold_at_their_bounds",
    "tests::a_pass_over_edges_is_exact",
    "tests::divisions_are_those_of_the_lanes",
    "tests::edges_beside_each_other",
    "tests::matrices_of_edges_are_exact",
    "tests::packed::differences_borrow_where_they_have_to",
    "tests::packed::few_butterflies_are_exact",
    "tests::packed::few_rounds_match_the_paper",
    "tests::packed::few_sums_are_exact",
    "tests::packed::folds_are_canonical_next_to_carries",
    "tests::packed::signed_products_are_exact",
    "tests::packed_matrices_match_the_paper",
    "tests::rows_of_edges_are_exact",
    "tests::small::small_matrices_of_whole_vectors",
];

/// And these, which are there with IFMA.
const MIRI_IFMA_TESTS: [&str; 2] = [
    "tests::few_rounds_of_packed_states_match_the_paper",
    "tests::packed::few_products_are_exact",
];

/// And these, whose products are assembly on AVX-512.
const MIRI_AVX2_TESTS: [&str; 2] = [
    "network::tests::agrees_with_the_definition_baby_bear",
    "tests::small::small_matrices_there_and_back",
];

/// An optimization whose kernel is the same everywhere, with pointers into memory that it does not fill.
const UNFILLED_MEMORY: &str = "tiled-dft";

/// Where `rust-toolchain.toml` names the compiler that has Miri.
const MIRI: &str = "crates/testing/miri";

impl Miri {
    fn tests(&self) -> impl Iterator<Item = &'static str> {
        let more = if self.0 == Isa::V4Ifma {
            MIRI_IFMA_TESTS
        } else {
            MIRI_AVX2_TESTS
        };
        MIRI_TESTS.into_iter().chain(more)
    }

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
        let packages = X86_KERNELS.into_iter().chain([UNFILLED_MEMORY]);
        let packages = packages.collect::<Vec<_>>();
        let mut build = self.test(project, &packages);
        build.arg("--no-run");
        succeed(build)?;

        let queue = Mutex::new(packages);
        let run = || -> Result<String> {
            let mut printed = String::new();
            let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop();
            while let Some(package) = next() {
                let mut test = self.test(project, &[package]);
                test.args(["--", "--exact", "--test-threads", "1"]);
                test.args(self.tests());
                printed += &String::from_utf8_lossy(&succeed(test)?.stdout);
            }
            Ok(printed)
        };
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let text = thread::scope(|scope| {
            let runs = (0..cores).map(|_| scope.spawn(run)).collect::<Vec<_>>();
            let printed = runs.into_iter().map(|run| run.join().expect("no panic"));
            printed.collect::<Result<String>>()
        })?;
        let passed = |name: &str| text.contains(&format!("test {name} ... ok\n"));
        if let Some(name) = self.tests().find(|name| !passed(name)) {
            bail!("{name} did not run\n{text}");
        }
        Ok(())
    }
}
