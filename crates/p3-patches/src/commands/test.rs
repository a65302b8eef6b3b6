//! `test`: every test there is, in stages.

use std::env;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::ValueEnum;
use clap::builder::PossibleValue;

use super::{glob, spinner};
use crate::bochs;
use crate::build::{Toolchain, with_rustflags};
use crate::dependents::{self, Dependent};
use crate::emulation;
use crate::error::Failure;
use crate::interrupt;
use crate::isa::Isa;
use crate::patch::Patch;
use crate::project::Project;
use crate::series::Series;
use crate::source::cargo;
use crate::upstream::Suites;

/// Run every test there is.
///
/// Formatting, lock files, lints, what the workspace depends on, the known answers computed again, the workspace's tests, the
/// tool built from its package, z3's proofs of the kernels' operations; for each instruction set that this CPU has, the
/// kernels' tests, upstream's own suites on patched packages, and the comparison of outputs with Plonky3 as published. The
/// example's prover makes the same proofs with the patches and without, and `try` measures both. Published provers of others
/// pass their own tests, and make the same proofs, with the patches and without; all but one of them run only where `--only`
/// asks for them. Permutations, Merkle trees and the tool's reading of patches are fuzzed, half a minute each, where
/// cargo-fuzz is there.
/// On x86-64, NEON runs under emulation where qemu and a cross linker are there, and so do the kernels' tests on AVX-512, where
/// the CPU has none, Bochs is there, and `--only` asks for them. A few of the kernels' tests run under Miri, on AVX-512 with
/// IFMA and, where `--only` asks for it, on AVX2. A report's page is looked at in Chromium.
/// Stages that cannot run here are skipped by name.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo p3 test
  cargo p3 test --require x86-64-v3 --require z3
  cargo p3 test --only 'kernels/*' --only check
  cargo p3 test --only 'dependents/*'")]
pub struct Args {
    /// Fail, instead of skipping, where what runs on this instruction set, or needs this thing, cannot run; may be given
    /// several times.
    #[arg(long, value_enum, value_name = "WHAT")]
    require: Vec<Need>,
    /// Stages to run, by glob over their names; may be given several times [default: all].
    #[arg(long, value_name = "GLOB")]
    only: Vec<String>,
}

/// Something that a stage needs and a machine may lack.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Need {
    Isa(Isa),
    Z3,
    Fuzz,
    Sandbox,
    Browser,
    Miri,
}

impl ValueEnum for Need {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self::Isa(Isa::Generic),
            Self::Isa(Isa::V3),
            Self::Isa(Isa::V4),
            Self::Isa(Isa::V4Ifma),
            Self::Isa(Isa::Native),
            Self::Isa(Isa::Neon),
            Self::Z3,
            Self::Fuzz,
            Self::Sandbox,
            Self::Browser,
            Self::Miri,
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let thing = |name, help| Some(PossibleValue::new(name).help(help));
        match self {
            Self::Isa(isa) => isa.to_possible_value(),
            Self::Z3 => thing("z3", "The solver of the proofs"),
            Self::Fuzz => thing("fuzz", "cargo-fuzz and a C++ compiler"),
            Self::Sandbox => thing("sandbox", "User namespaces"),
            Self::Browser => thing("browser", "Chromium"),
            Self::Miri => thing(
                "miri",
                "The compiler that crates/testing/miri pins, with Miri",
            ),
        }
    }
}

struct Stage {
    name: String,
    work: Work,
    /// Whether it only runs where it is asked for.
    weekly: bool,
}

enum Work {
    /// A command of cargo's, on this workspace.
    Cargo(&'static [&'static str]),
    /// `cargo p3 check`.
    Check,
    /// Lints of the optimizations' crates and benches: what is compiled for an instruction set, the workspace's lints do not
    /// see.
    Clippy(Isa),
    /// The tests of the optimizations' crates.
    Kernels(Isa),
    /// A few of the kernels' tests, under Miri.
    Miri(Isa),
    /// The kernels' tests, which have to notice each instruction of AVX2 that goes wrong.
    Instructions,
    /// Upstream's suites on the packages of a release, patched.
    Upstream {
        isa: Isa,
        base: String,
        parallel: bool,
    },
    /// Upstream's suites on the packages that depend on patched ones.
    Cone { isa: Isa, parallel: bool },
    /// Outputs of the patched worker against those of the published one.
    Outputs { isa: Isa, base: String },
    /// Tests that run what a cross compiler makes in the emulator.
    Emulator,
    /// The example's prover, without patches and with all of them.
    Prover,
    /// A prover that others have published, without patches and with all of them.
    Dependent {
        isa: Isa,
        dependent: &'static Dependent,
    },
    /// A fuzz target, for half a minute.
    Fuzz(&'static str),
    /// Tests that look at a report's page in this program.
    Browser(Option<&'static str>),
    /// `cargo p3 count`, which fails unless its counts are exact and fall, and outputs are equal.
    Count(Isa),
    /// `cargo p3 shape`, on the workers that `Outputs` has built.
    Shape(Isa),
    /// z3's proofs of the kernels' operations.
    Proofs,
    /// A program that a machine may lack, and its arguments.
    Lint(&'static str, &'static [&'static str]),
    /// `cargo deny` on the workspace of this manifest, and what it checks.
    Deny(&'static str, &'static [&'static str]),
    /// Tests that make file systems read-only or full, in namespaces of their own.
    Sandbox,
}

/// Of the kernels' tests, those that run under Bochs: what computes on vectors. Mutations and bounds are of integers and of
/// intervals, `portable` lanes are no vectors, and other numbers of partial rounds are a minute of Poseidon1's constants; they
/// run on every other instruction set. The audit steps through the code for a minute, to count; it runs where the CPU has
/// AVX-512.
const BOCHS_TESTS: &str = "--test-threads 1 --skip mutation::tests --skip tests::mutations:: \
    --skip tests::bounds:: --skip portable --skip any_number_of_partial_rounds --skip tests::audit::";

/// Of the kernels' tests, those that Miri runs: every operation next to its carries, permutations of few rounds, every lane, width
/// and size of a group. It takes a millisecond for an instruction, and lacks assembly, of which Plonky3's scalar products over
/// Goldilocks and packed products over 31-bit fields are made.
const MIRI_TESTS: [&str; 17] = [
    "poseidon1_packed::tests::fold_holds_at_its_bounds",
    "poseidon1_packed::tests::normalized_halves_stay_within_their_bounds",
    "poseidon1_packed::tests::unreduced_products_stay_within_their_bounds",
    "poseidon2_fused::tests::add_modulo_corrects_once_up_to_its_bound",
    "poseidon2_fused::tests::products_are_exact",
    "poseidon2_fused::tests::reductions_and_divisions_hold_at_their_bounds",
    "tests::a_pass_over_edges_is_exact",
    "tests::divisions_are_those_of_the_lanes",
    "tests::edges_beside_each_other",
    "tests::packed::differences_borrow_where_they_have_to",
    "tests::packed::few_butterflies_are_exact",
    "tests::packed::few_rounds_match_the_paper",
    "tests::packed::few_sums_are_exact",
    "tests::packed::folds_are_canonical_next_to_carries",
    "tests::packed::signed_products_are_exact",
    "tests::packed_matrices_match_the_paper",
    "tests::rows_of_edges_are_exact",
];

/// And these, which are there with IFMA.
const MIRI_IFMA_TESTS: [&str; 2] = [
    "tests::few_rounds_of_packed_states_match_the_paper",
    "tests::packed::few_products_are_exact",
];

/// The optimizations with kernels for x86-64 of their own.
const X86_KERNELS: [&str; 10] = [
    "ifma-butterflies",
    "ifma-permute",
    "lazy-dot-products",
    "monty-dot-products",
    "monty-paired-diagonal",
    "packed-mds-karatsuba",
    "packed-poseidon2",
    "packed-product",
    "prepared-twiddles",
    "quintic-single-product",
];

/// Where `rust-toolchain.toml` names the compiler that has Miri.
const MIRI: &str = "crates/testing/miri";

/// Workspaces of their own.
const EXAMPLE: &str = "examples/prover/Cargo.toml";
const FUZZ: &str = "fuzz/Cargo.toml";

const DENY: &str = "cargo-deny";

/// The check of `cargo deny` that needs a database, which is fetched.
const ADVISORIES: &[&str] = &["advisories"];

/// The checks of `cargo deny` that read the packages only.
const SOURCES: &[&str] = &["bans", "licenses", "sources"];

/// Chromium's names, by who packages it.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
}

pub fn run(args: &Args, project: &Project) -> Result<()> {
    let stages = selected(stages(project)?, &args.only)?;
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for stage in &stages {
        let started = Instant::now();
        let progress = spinner(stage.name.clone());
        let outcome = if args.only.is_empty() && stage.weekly {
            Outcome::Skipped("runs weekly, and where `--only` asks for it".to_owned())
        } else {
            stage.run(project, &args.require)?
        };
        progress.finish_and_clear();
        let time = humantime::format_duration(Duration::from_secs(started.elapsed().as_secs()));
        let name = &stage.name;
        match outcome {
            Outcome::Passed => {
                passed += 1;
                println!("ok    {name}{} ({time})", stage.label(project));
            }
            Outcome::Failed(why) => {
                failed += 1;
                println!("FAIL  {name}{} ({time})", stage.label(project));
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

/// The instruction set for what is tested on one: code that depends on the feature `parallel`, and is the same for all, and the
/// provers of others, which compile for minutes.
const ONE_ISA: Isa = if cfg!(target_arch = "aarch64") {
    Isa::Neon
} else {
    Isa::V3
};

/// All stages, what fails soonest first.
///
/// An expensive stage runs where it can find something. The feature `parallel` switches code on that is the same for all
/// instruction sets, so the suites run with it on AVX2 or NEON, and without it where there are no vectors or the widest ones.
/// AVX-512 with IFMA, where a patch and the CPU have it, runs suites and outputs in place of AVX-512 without it, whose other
/// kernels have tests of their own.
/// Patches for older releases have the kernels of the newest, which change vectors of x86-64 most: there AVX2 is compared with
/// the release as published, and upstream's suites run on AVX2 and AVX-512.
fn stages(project: &Project) -> Result<Vec<Stage>> {
    let series = Series::load(&project.patches)?;
    let newest = series.base(None)?;
    let uses_ifma = |base: &str| -> Result<bool> {
        let names = series.ported(&project.patches, base);
        let patches = (names.iter()).map(|name| Patch::load(&project.patches, base, name));
        let patches = patches.collect::<Result<Vec<_>>>()?;
        Ok(patches
            .iter()
            .any(|patch| patch.diff().contains("avx512ifma")))
    };
    let ifma = uses_ifma(&newest)?;
    let stage = |name: &str, work| Stage {
        name: name.to_owned(),
        work,
        weekly: false,
    };
    let mut stages = vec![
        stage("format", Work::Cargo(&["fmt", "--all", "--check"])),
        stage(
            "format/prover",
            Work::Cargo(&["fmt", "--check", "--manifest-path", EXAMPLE]),
        ),
        stage(
            "format/fuzz",
            Work::Cargo(&["fmt", "--check", "--manifest-path", FUZZ]),
        ),
        stage(
            "lock/prover",
            Work::Cargo(&["fetch", "--quiet", "--locked", "--manifest-path", EXAMPLE]),
        ),
        stage(
            "lock/fuzz",
            Work::Cargo(&["fetch", "--quiet", "--locked", "--manifest-path", FUZZ]),
        ),
        stage(
            "format/dependents",
            Work::Lint(
                "rustfmt",
                &[
                    "--check",
                    "--edition",
                    "2024",
                    "examples/dependents/miden-crypto-0.28.1.rs",
                    "examples/dependents/miden-lifted-stark-0.28.1.rs",
                    "examples/dependents/miden-lifted-stark-1.0.0-rc.0.rs",
                    "examples/dependents/openvm-stark-sdk-2.0.1.rs",
                ],
            ),
        ),
        stage("actionlint", Work::Lint("actionlint", &[])),
        stage(
            "shellcheck",
            Work::Lint(
                "shellcheck",
                &[
                    ".ci/run",
                    "ci/ab.sh",
                    "ci/action.sh",
                    "ci/apt.sh",
                    "ci/browser.sh",
                    "ci/cargo-fuzz.sh",
                    "ci/check.sh",
                    "ci/deny.sh",
                    "ci/drift.sh",
                    "ci/fuzz.sh",
                    "ci/isa.sh",
                    "ci/lints.sh",
                    "ci/miri.sh",
                    "ci/overlay.sh",
                    "ci/publish.sh",
                    "ci/test.sh",
                    "ci/tools.sh",
                    "crates/testing/smt/prove",
                ],
            ),
        ),
        stage(
            "known-answers",
            Work::Lint(
                "python3",
                &["crates/testing/reference/poseidon.py", "--check"],
            ),
        ),
        stage("check", Work::Check),
        stage("deny", Work::Deny("Cargo.toml", SOURCES)),
        stage("deny/prover", Work::Deny(EXAMPLE, SOURCES)),
        stage("advisories", Work::Deny("Cargo.toml", ADVISORIES)),
        stage("advisories/prover", Work::Deny(EXAMPLE, ADVISORIES)),
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
        // Cargo builds what it has packed.
        stage(
            "package",
            Work::Cargo(&[
                "package",
                "--quiet",
                "--locked",
                "--allow-dirty",
                "--package",
                "p3-patches",
            ]),
        ),
    ];
    let isas = || {
        let isas = Isa::value_variants().iter().copied();
        // `native` is one of the others, or close to one; on aarch64 so is `generic`, since Rust's targets have NEON.
        let repeats =
            |isa| isa == Isa::Native || (cfg!(target_arch = "aarch64") && isa == Isa::Generic);
        isas.filter(move |isa| !repeats(*isa))
    };
    stages.push(stage("smt", Work::Proofs));
    stages.push(stage("emulator", Work::Emulator));
    stages.push(stage("sandbox", Work::Sandbox));
    let browser = BROWSERS.into_iter().find(|name| emulation::runs(name));
    stages.push(stage("browser", Work::Browser(browser)));
    let vectors = isas().filter(|isa| *isa != Isa::Generic);
    stages.extend(vectors.map(|isa| stage(&format!("clippy/{isa}"), Work::Clippy(isa))));
    stages.extend(isas().map(|isa| Stage {
        name: format!("kernels/{isa}"),
        work: Work::Kernels(isa),
        // `workspace` has run them without vectors. Bochs takes minutes; Miri runs a few of these in every run.
        weekly: isa == Isa::Generic
            || [Isa::V4, Isa::V4Ifma].contains(&isa) && isa.check().is_err(),
    }));
    if cfg!(target_arch = "x86_64") {
        // The kernels of AVX-512 are compiled with IFMA too, and there is a CPU for those of AVX2.
        for isa in [Isa::V4Ifma, Isa::V3] {
            stages.push(Stage {
                name: format!("miri/{isa}"),
                work: Work::Miri(isa),
                weekly: isa == Isa::V3,
            });
        }
    }
    stages.push(Stage {
        name: format!("instructions/{}", Isa::V3),
        work: Work::Instructions,
        weekly: true,
    });
    let outputs = |isa, base: &str| Work::Outputs {
        isa,
        base: base.to_owned(),
    };
    let upstream = |isa, base: &str, parallel| Work::Upstream {
        isa,
        base: base.to_owned(),
        parallel,
    };
    let distinct = || isas().filter(|isa| *isa != Isa::V4Ifma || ifma);
    let covered = |isa| isa == Isa::V4 && ifma && Isa::V4Ifma.check().is_ok();
    for isa in distinct() {
        stages.push(Stage {
            name: format!("outputs/{isa}"),
            work: outputs(isa, &newest),
            weekly: covered(isa),
        });
        if [Isa::V3, Isa::V4, Isa::V4Ifma].contains(&isa) {
            stages.push(Stage {
                name: format!("shape/{isa}"),
                work: Work::Shape(isa),
                weekly: covered(isa),
            });
        }
    }
    for isa in [Isa::V3, Isa::Neon] {
        stages.push(Stage {
            name: format!("count/{isa}"),
            work: Work::Count(isa),
            // The emulator logs each instruction, which takes it minutes.
            weekly: isa.is_foreign(),
        });
    }
    stages.push(stage("prover", Work::Prover));
    stages.extend(dependents::ALL.iter().map(|dependent| Stage {
        name: format!("dependents/{dependent}"),
        work: Work::Dependent {
            isa: ONE_ISA,
            dependent,
        },
        weekly: dependent.weekly,
    }));
    for target in ["permutation", "dft", "merkle", "patch"] {
        stages.push(stage(&format!("fuzz/{target}"), Work::Fuzz(target)));
    }
    for isa in distinct() {
        let name = format!("upstream/{isa}");
        stages.push(Stage {
            name: name.clone(),
            work: upstream(isa, &newest, false),
            weekly: covered(isa) || isa == Isa::V3,
        });
        if isa == ONE_ISA {
            let name = format!("{name}/parallel");
            stages.push(stage(&name, upstream(isa, &newest, true)));
        }
    }
    for isa in distinct().filter(|isa| !isa.is_foreign()) {
        for (parallel, suffix) in [(false, ""), (true, "/parallel")] {
            // The packages of the cone are as published, and compile for minutes.
            stages.push(Stage {
                name: format!("cone/{isa}{suffix}"),
                work: Work::Cone { isa, parallel },
                weekly: true,
            });
        }
    }
    let oldest = series.bases.first().map(ToString::to_string);
    for base in series.bases.iter().map(ToString::to_string) {
        if base != newest {
            let avx512 = if uses_ifma(&base)? {
                Isa::V4Ifma
            } else {
                Isa::V4
            };
            // Between the newest and the oldest release there is little that neither shows; a preview has few users.
            let stage = |kind, isa, work| Stage {
                name: format!("{kind}/{isa}/{base}"),
                work,
                weekly: Some(&base) != oldest.as_ref(),
            };
            stages.push(stage("outputs", Isa::V3, outputs(Isa::V3, &base)));
            for isa in [Isa::V3, avx512] {
                stages.push(stage("upstream", isa, upstream(isa, &base, false)));
            }
        }
    }
    Ok(stages)
}

fn selected(mut stages: Vec<Stage>, patterns: &[String]) -> Result<Vec<Stage>> {
    if patterns.is_empty() {
        return Ok(stages);
    }
    let mut globs = Vec::new();
    for pattern in patterns {
        let glob = glob("--only", pattern)?;
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
        match self.need()? {
            Need::Isa(isa) => Some(isa),
            Need::Z3 | Need::Fuzz | Need::Sandbox | Need::Browser | Need::Miri => None,
        }
    }

    fn need(&self) -> Option<Need> {
        match self.work {
            Work::Clippy(isa)
            | Work::Kernels(isa)
            | Work::Upstream { isa, .. }
            | Work::Cone { isa, .. }
            | Work::Outputs { isa, .. }
            | Work::Dependent { isa, .. }
            | Work::Shape(isa) => Some(Need::Isa(isa)),
            Work::Instructions => Some(Need::Isa(Isa::V3)),
            Work::Proofs => Some(Need::Z3),
            Work::Fuzz(_) => Some(Need::Fuzz),
            Work::Sandbox => Some(Need::Sandbox),
            Work::Browser(_) => Some(Need::Browser),
            Work::Miri(_) => Some(Need::Miri),
            Work::Cargo(_)
            | Work::Check
            | Work::Emulator
            | Work::Prover
            | Work::Count(_)
            | Work::Lint(..)
            | Work::Deny(..) => None,
        }
    }

    /// A remark that keeps the result from being taken for more than it is.
    fn label(&self, project: &Project) -> &'static str {
        let linted = matches!(self.work, Work::Clippy(_));
        if !linted && self.isa().is_some_and(emulated) || self.runs_in_bochs(project) {
            ", under emulation"
        } else {
            ""
        }
    }

    fn run(&self, project: &Project, required: &[Need]) -> Result<Outcome> {
        if let Some(what) = self.missing(project) {
            let required = self.need().is_some_and(|need| required.contains(&need));
            return Ok(if required {
                Outcome::Failed(format!("{what}, but is required"))
            } else {
                Outcome::Skipped(what)
            });
        }
        let mut command = match self.command(project) {
            Ok(Some(command)) => command,
            Ok(None) => return Ok(Outcome::Passed),
            Err(error) => {
                interrupt::check()?;
                return Ok(Outcome::Failed(format!("{error:#}")));
            }
        };
        let output = interrupt::output(&mut command)?;
        if !output.status.success() {
            let text = [output.stdout, output.stderr].concat();
            return Ok(Outcome::Failed(String::from_utf8_lossy(&text).into_owned()));
        }
        if let Work::Miri(isa) = self.work {
            let text = String::from_utf8_lossy(&output.stdout);
            let passed = |name: &str| text.contains(&format!("test {name} ... ok\n"));
            if let Some(name) = miri_tests(isa).find(|name| !passed(name)) {
                return Ok(Outcome::Failed(format!("{name} did not run\n{text}")));
            }
        }
        if self.runs_in_bochs(project) {
            let built = bochs::executables(&output.stdout)?;
            if let Err(error) = bochs::run(&project.root, &built, BOCHS_TESTS) {
                interrupt::check()?;
                return Ok(Outcome::Failed(format!("{error:#}")));
            }
        }
        Ok(Outcome::Passed)
    }

    /// Whether it is for AVX-512, which this CPU lacks and Bochs is there for.
    fn runs_in_bochs(&self, project: &Project) -> bool {
        let Work::Kernels(isa @ (Isa::V4 | Isa::V4Ifma)) = self.work else {
            return false;
        };
        isa.check().is_err() && bochs::missing(&project.root).is_none()
    }

    /// The first thing that this machine lacks to run the stage.
    fn missing(&self, project: &Project) -> Option<String> {
        match self.work {
            Work::Cargo(_) | Work::Check | Work::Prover | Work::Browser(Some(_)) => None,
            Work::Browser(None) => Some(format!("no {} on this machine", BROWSERS.join(", no "))),
            Work::Emulator | Work::Count(Isa::Neon) => {
                emulation::missing().map(|what| format!("{what} on this machine"))
            }
            // Nothing that is compiled for the instruction set runs.
            Work::Clippy(isa) if cfg!(target_arch = "x86_64") && !isa.is_foreign() => None,
            Work::Clippy(isa) | Work::Kernels(isa) | Work::Upstream { isa, .. }
                if emulated(isa) =>
            {
                None
            }
            Work::Kernels(_) if self.runs_in_bochs(project) => None,
            Work::Clippy(isa)
            | Work::Kernels(isa)
            | Work::Upstream { isa, .. }
            | Work::Cone { isa, .. }
            | Work::Outputs { isa, .. }
            | Work::Dependent { isa, .. }
            | Work::Shape(isa)
            | Work::Count(isa) => isa.check().err().map(|refused| refused.message),
            Work::Instructions => Isa::V3.check().err().map(|refused| refused.message),
            Work::Miri(_) => lacks_miri(project),
            Work::Proofs => lacks("z3"),
            Work::Lint(program, _) => lacks(program),
            Work::Deny(_, ADVISORIES) => lacks(DENY).or_else(no_advisories),
            Work::Deny(..) => lacks(DENY),
            Work::Sandbox => no_namespaces(),
            // libFuzzer is written in C++.
            Work::Fuzz(_) => lacks("cargo-fuzz").or_else(|| lacks("c++")),
        }
    }

    /// The command that decides about the stage, where it is not decided on the way there.
    fn command(&self, project: &Project) -> Result<Option<Command>> {
        let mut command = match &self.work {
            Work::Cargo(args) => in_folder(cargo(), &project.root, args),
            Work::Lint(program, args) => in_folder(Command::new(program), &project.root, args),
            Work::Proofs => in_folder(Command::new("crates/testing/smt/prove"), &project.root, &[]),
            Work::Check => own(project, &["check"])?,
            // Those whose counts have to fall; a trace, and models that read it, take their time. In the emulator a width is
            // enough to see them work. On this CPU every instruction is a stop of the process, and what prepares Poseidon1's
            // constants would take minutes.
            Work::Count(isa) => {
                let units: &[_] = if *isa == Isa::Neon {
                    &["permute/poseidon2-w8", "permute-many/poseidon2-w8/*"]
                } else {
                    &["permute-many/poseidon2-w{8,12}/x4"]
                };
                let isa = isa.to_string();
                let mut args = vec!["count", "--isa", &isa, "--fewer"];
                args.extend(units.iter().flat_map(|unit| ["--unit", unit]));
                own(project, &args)?
            }
            Work::Shape(isa) => own(project, &["shape", "--isa", &isa.to_string()])?,
            Work::Deny(manifest, checks) => {
                let args = ["--offline", "--locked", "--config", "deny.toml"];
                let mut deny = in_folder(Command::new(DENY), &project.root, &args);
                deny.args(["--manifest-path", manifest, "check"]);
                deny.args(*checks);
                deny
            }
            Work::Emulator => ignored(project, "count"),
            Work::Sandbox => ignored(project, "cli"),
            Work::Prover => ignored(project, "prover"),
            Work::Dependent { isa, dependent } => {
                dependent.test(*isa, project)?;
                return Ok(None);
            }
            Work::Fuzz(target) => {
                let mut test = ignored(project, "fuzz");
                test.args(["--exact", target]);
                test
            }
            Work::Browser(program) => {
                let mut test = ignored(project, "report");
                test.env("CHROMIUM", program.unwrap_or_default());
                test
            }
            Work::Outputs { isa, base } => own(
                project,
                &[
                    "ab",
                    "--outputs-only",
                    "--base",
                    base,
                    "--isa",
                    &isa.to_string(),
                ],
            )?,
            Work::Clippy(isa) => {
                let mut clippy = cargo_for(*isa, "clippy", project, &project.root);
                if !emulated(*isa) {
                    // With a target, the flags are not those of build scripts.
                    clippy.args(["--target", &Toolchain::query()?.host]);
                }
                add_kernels(&mut clippy, project)?;
                clippy.args(["--package", "p3-bench"]);
                clippy.args(["--all-targets", "--", "-D", "warnings"]);
                clippy
            }
            Work::Instructions => {
                let mut test = cargo_for(Isa::V3, "test", project, &project.root);
                with_rustflags(&mut test, &format!("{} --cfg struck", Isa::V3.rustflags()));
                test.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
                for name in X86_KERNELS.iter().filter(|name| !name.starts_with("ifma-")) {
                    test.args(["--package", name]);
                }
                test.args(["--lib", "--", "each_wrong_instruction"]);
                test
            }
            Work::Miri(isa) => {
                let mut miri = cargo_miri(project);
                miri.args(["test", "--locked", "--manifest-path"]);
                miri.arg(project.root.join("Cargo.toml"));
                miri.arg("--target-dir");
                miri.arg(project.root.join(format!("target/p3/{isa}/miri")));
                for name in X86_KERNELS {
                    miri.args(["--package", name]);
                }
                miri.args(["--lib", "--", "--exact", "--test-threads", "1"]);
                miri.args(miri_tests(*isa));
                with_rustflags(&mut miri, isa.rustflags());
                // The kernels have no pointers that could alias, and proptest reads the environment.
                miri.env(
                    "MIRIFLAGS",
                    "-Zmiri-disable-stacked-borrows -Zmiri-disable-isolation",
                );
                miri
            }
            Work::Kernels(isa) => {
                let mut test = cargo_for(*isa, "test", project, &project.root);
                // The optimizer inlines vectors into registers, with the checks for overflow still in.
                test.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
                if self.runs_in_bochs(project) {
                    bochs::build_for(&mut test, isa.rustflags());
                }
                add_kernels(&mut test, project)?;
                test
            }
            Work::Upstream {
                isa,
                base,
                parallel,
            } => {
                let series = Series::load(&project.patches)?;
                let names = series.ported(&project.patches, base);
                let suites = Suites::lay_out(project, base, &names)?;
                // Unoptimized, these run for seconds; optimized, they compile for minutes. The outputs of optimized
                // packages are compared by `outputs/`.
                let mut test = cargo_for(*isa, "test", project, &suites.root);
                if emulated(*isa) {
                    // The rest is the same on every ISA, and an emulator takes its time.
                    test.args(["--package", "p3-goldilocks", "--lib"]);
                    test.args(["--", "aarch64_neon", "poseidon"]);
                } else {
                    test.arg("--workspace");
                    // Examples and tests in the documentation are the same for all, and each is compiled by itself.
                    if (*isa, *parallel) != (ONE_ISA, true) || *base != series.base(None)? {
                        test.args(["--lib", "--tests"]);
                    }
                }
                if *parallel {
                    test.arg("--features").arg(suites.parallel.join(","));
                }
                test
            }
            Work::Cone { isa, parallel } => {
                let series = Series::load(&project.patches)?;
                let base = series.base(None)?;
                let names = series.ported(&project.patches, &base);
                let suites = Suites::lay_out_cone(project, &base, &names)?;
                let mut test = cargo_for(*isa, "test", project, &suites.root);
                for package in &suites.cone {
                    test.args(["--package", package]);
                }
                test.args(["--lib", "--tests"]);
                if *parallel {
                    let features = suites.cone.iter().map(|name| format!("{name}/parallel"));
                    let features = features.filter(|feature| suites.parallel.contains(feature));
                    test.arg("--features")
                        .arg(features.collect::<Vec<_>>().join(","));
                }
                test
            }
        };
        // Nobody runs a debugger on these, and its data takes time to write and to link.
        command.env("CARGO_PROFILE_DEV_DEBUG", "false");
        Ok(Some(command))
    }
}

fn miri_tests(isa: Isa) -> impl Iterator<Item = &'static str> {
    let ifma = (isa == Isa::V4Ifma).then_some(MIRI_IFMA_TESTS);
    MIRI_TESTS.into_iter().chain(ifma.into_iter().flatten())
}

/// Cargo with Miri, of the compiler that [`MIRI`] pins. Cargo's variable would override it.
fn cargo_miri(project: &Project) -> Command {
    let mut cargo = in_folder(Command::new("cargo"), &project.root.join(MIRI), &["miri"]);
    cargo.env_remove("RUSTUP_TOOLCHAIN");
    cargo
}

fn lacks_miri(project: &Project) -> Option<String> {
    let output = cargo_miri(project).arg("--version").output();
    let there = output.is_ok_and(|output| output.status.success());
    (!there).then(|| format!("no Miri on this machine, as {MIRI} names it"))
}

fn lacks(program: &str) -> Option<String> {
    (!emulation::runs(program)).then(|| format!("no {program} on this machine"))
}

/// Why there is no database of advisories, if there is none that is up to date.
fn no_advisories() -> Option<String> {
    let fetched = interrupt::output(Command::new(DENY).args(["fetch", "db"]));
    match fetched {
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let why = stderr.lines().rfind(|line| !line.trim().is_empty());
            let why = why.unwrap_or("no message").trim();
            Some(format!(
                "the database of advisories cannot be fetched: {why}"
            ))
        }
        Err(error) => Some(error.to_string()),
    }
}

/// Why there are no namespaces for whoever runs this.
fn no_namespaces() -> Option<String> {
    let unshare = ["--user", "--map-root-user", "--mount", "--net", "true"];
    let output = Command::new("unshare").args(unshare).output();
    let made = output.is_ok_and(|output| output.status.success());
    (!made).then(|| "no user namespaces on this machine".to_owned())
}

fn in_folder(mut command: Command, folder: &Path, args: &[&str]) -> Command {
    command.current_dir(folder).args(args);
    command
}

/// Tests that are ignored where nobody asks for them; of the workspace, which the stage of that name has built.
fn ignored(project: &Project, test: &str) -> Command {
    let mut command = in_folder(cargo(), &project.root, &["test", "--quiet", "--locked"]);
    command.args(["--workspace", "--test", test, "--", "--ignored"]);
    command
}

/// This tool, as a process of its own.
fn own(project: &Project, args: &[&str]) -> Result<Command> {
    let tool = env::current_exe().context("cannot tell where this tool is")?;
    let args = [&["--checkout"], args].concat();
    Ok(in_folder(Command::new(tool), &project.root, &args))
}

/// Names the optimizations' crates, and what their tests share.
fn add_kernels(command: &mut Command, project: &Project) -> Result<()> {
    command.args(["--package", "p3-patches-testing"]);
    for name in Series::load(&project.patches)?.names() {
        command.args(["--package", name]);
    }
    Ok(())
}

/// `cargo`'s `subcommand` in `folder` for `isa`, with its builds beside those of the other instruction sets.
fn cargo_for(isa: Isa, subcommand: &str, project: &Project, folder: &Path) -> Command {
    let target = project.root.join("target/p3").join(isa.to_string());
    let mut command = in_folder(
        cargo(),
        folder,
        &[subcommand, "--quiet", "--locked", "--target-dir"],
    );
    command.arg(target.join("test"));
    with_rustflags(&mut command, isa.rustflags());
    if emulated(isa) {
        emulation::cross(&mut command);
        emulation::run_under(&mut command);
    }
    command
}

/// Whether `isa` is another architecture's, for which this machine has a toolchain and an emulator.
fn emulated(isa: Isa) -> bool {
    isa.is_foreign() && emulation::missing().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn previews_and_releases_between_the_newest_and_the_oldest_wait_for_the_week() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let project = Project::at(&root);
        let series = Series::load(&project.patches).unwrap();
        let newest = series.base(None).unwrap();
        let stages = stages(&project).unwrap();
        let weekly = |base: &str| {
            let name = format!("outputs/{}/{base}", Isa::V3);
            let stage = stages.iter().find(|stage| stage.name == name);
            stage.map(|stage| stage.weekly)
        };
        let mut bases = series.bases.iter().map(ToString::to_string);
        let oldest = bases.next().expect("two releases at least");
        assert_eq!(weekly(&oldest), Some(false));
        for base in bases {
            let expected = (base != newest).then_some(true);
            assert_eq!(weekly(&base), expected, "{base}");
        }
    }
}
