//! The list of stages: which there are, on which instruction set and release each runs, and how often.

use anyhow::Result;
use clap::ValueEnum;

use super::kernels::{Clippy, Kernels, Miri, Proofs};
use super::programs::{
    ADVISORIES, Browser, Cargo, Check, Deny, Emulator, Example, Fuzz, Judge, Killed, Lint, Package,
    RustVersion, SOURCES, Sandbox,
};
use super::suites::{ConstantTime, Count, Dependents, Outputs, Prefixes, Upstream};
use super::{ONE_ISA, Pace, Stage, needs_bochs, provers};
use crate::project::Project;
use p3_patches::project::TOOL;
use paired::isa::Isa;

/// Workspaces of their own.
const EXAMPLE: &str = "examples/prover/Cargo.toml";
const FUZZ: &str = "fuzz/Cargo.toml";
const ZKHASH: &str = "crates/testing/reference/zkhash/Cargo.toml";

/// Lists all stages, what fails soonest first.
///
/// An expensive stage runs where it can find something. The feature `parallel` switches code on that is the same for all
/// instruction sets, so the suites run with it on AVX2 or NEON, and without it on the widest vectors and, weekly, without any.
/// AVX-512 with IFMA, where a patch and the CPU have it, runs suites and outputs in place of AVX-512 without it, whose other
/// kernels have tests of their own. Builds without vectors have the scalar code of the others, and wait for the week.
/// Whole proofs take as long to compile as all other outputs: in every run `example` has one, built for this CPU, and all others
/// are weekly.
/// Patches for older releases have the kernels of the newest, which change vectors of x86-64 most: there AVX2 is compared with
/// the release as published, for the oldest in every run, and upstream's suites run weekly on AVX2 and AVX-512. So do provers
/// of others, which take minutes each.
pub fn all(project: &Project) -> Result<Vec<Stage>> {
    let newest = project.catalog.base(None)?;
    let mut stages = of_the_checkout();
    stages.extend(of_kernels());
    stages.extend(of_the_newest(project, &newest)?);
    for (at, base) in project
        .catalog
        .bases
        .iter()
        .map(ToString::to_string)
        .enumerate()
    {
        if base != newest {
            stages.extend(of_an_older(project, &base, at == 0)?);
        }
    }
    Ok(stages)
}

/// Tells whether a patch for `base` has kernels for AVX-512 with IFMA.
fn uses_ifma(project: &Project, base: &str) -> Result<bool> {
    for name in project.catalog.ported(base) {
        let patch = project.catalog.patch(base, &name)?;
        if patch.diff().contains("avx512ifma") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the instruction sets, each once. `native` is one of the others, or close to one; on aarch64 so is `generic`, since
/// Rust's targets have NEON.
fn isas() -> impl Iterator<Item = Isa> {
    let repeats =
        |isa| isa == Isa::Native || (cfg!(target_arch = "aarch64") && isa == Isa::Generic);
    let isas = Isa::value_variants().iter().copied();
    isas.filter(move |isa| !repeats(*isa))
}

/// Lists the stages that read the checkout, and the tests of the tool and of the workspace's documentation.
fn of_the_checkout() -> Vec<Stage> {
    let quick = |name: &str, args| Stage::new(name, Cargo(args)).at(Pace::Quick);
    let lint = |name: &str, program, args, files| {
        let lint = Lint {
            program,
            args,
            files,
        };
        Stage::new(name, lint).at(Pace::Quick)
    };
    vec![
        quick("format", &["fmt", "--all", "--check"]),
        quick(
            "format/example",
            &["fmt", "--check", "--manifest-path", EXAMPLE],
        ),
        quick("format/fuzz", &["fmt", "--check", "--manifest-path", FUZZ]),
        quick(
            "format/zkhash",
            &["fmt", "--check", "--manifest-path", ZKHASH],
        ),
        lint(
            "format/provers",
            "rustfmt",
            &["--check", "--edition", "2024"],
            &[(provers::PROGRAMS, "rs")],
        ),
        quick(
            "lock/example",
            &["fetch", "--quiet", "--locked", "--manifest-path", EXAMPLE],
        ),
        quick(
            "lock/fuzz",
            &["fetch", "--quiet", "--locked", "--manifest-path", FUZZ],
        ),
        lint("actionlint", "actionlint", &[], &[]),
        lint("shellcheck", "shellcheck", &[".ci/run"], &[("ci", "sh")]),
        lint(
            "known-answers",
            "python3",
            &["crates/testing/reference/poseidon.py", "--check"],
            &[],
        ),
        Stage::new("known-answers/papers", Judge("papers")).at(Pace::Weekly),
        Stage::new("known-answers/gnark-crypto", Judge("gnark-crypto")).at(Pace::Weekly),
        Stage::new(
            "known-answers/zkhash",
            Cargo(&[
                "run",
                "--quiet",
                "--locked",
                "--target-dir",
                "target/p3/zkhash",
                "--manifest-path",
                ZKHASH,
                "--",
                "--check",
                "crates/testing/vectors",
            ]),
        )
        .at(Pace::Weekly),
        Stage::new("check", Check).at(Pace::Quick),
        Stage::new("rust-version", RustVersion),
        Stage::new("deny", Deny("Cargo.toml", SOURCES)),
        Stage::new("deny/example", Deny(EXAMPLE, SOURCES)),
        Stage::new("advisories", Deny("Cargo.toml", ADVISORIES)),
        Stage::new("advisories/example", Deny(EXAMPLE, ADVISORIES)),
        quick(
            "clippy",
            &[
                "clippy",
                "--locked",
                "--workspace",
                "--all-targets",
                "--",
                "-D",
                "warnings",
            ],
        ),
        quick(
            "unit",
            &[
                "test",
                "--quiet",
                "--locked",
                "--workspace",
                "--lib",
                "--bins",
            ],
        )
        .at(Pace::OnlyQuick),
        Stage::new(
            "tool",
            Cargo(&[
                "test",
                "--quiet",
                "--locked",
                "--package",
                "paired",
                "--package",
                TOOL,
                "--package",
                env!("CARGO_PKG_NAME"),
            ]),
        ),
        Stage::new(
            "worker",
            Cargo(&[
                "test",
                "--quiet",
                "--locked",
                "--package",
                "p3-bench",
                "--bins",
                "--tests",
            ]),
        ),
        Stage::new(
            "docs",
            Cargo(&["test", "--quiet", "--locked", "--workspace", "--doc"]),
        )
        .at(Pace::Weekly),
        Stage::new("killed", Killed).at(Pace::Weekly),
        Stage::new("package", Package),
        Stage::new("emulator", Emulator),
        Stage::new("sandbox", Sandbox),
        Stage::new("browser", Browser),
    ]
}

/// Lists the stages of the optimizations' crates, on each instruction set.
fn of_kernels() -> Vec<Stage> {
    let vectors = isas().filter(|isa| *isa != Isa::Generic);
    let mut stages = vectors
        .map(|isa| {
            // Kernels of AVX-512 are compiled with IFMA too, and tests of AVX2 in every run.
            let waits = [Isa::V3, Isa::V4].contains(&isa) || isa.is_foreign();
            Stage::new(format!("clippy/{isa}"), Clippy(isa)).weekly_if(waits)
        })
        .collect::<Vec<_>>();
    let tests = |isa, mutated| Kernels { isa, mutated };
    stages.extend(isas().map(|isa| {
        // Where there are vectors, there is the scalar code too. Bochs takes minutes; Miri runs a few of these in every run.
        Stage::new(format!("kernels/{isa}"), tests(isa, false))
            .weekly_if(isa == Isa::Generic || needs_bochs(isa))
    }));
    stages.push(Stage::new("smt", Proofs));
    if cfg!(target_arch = "x86_64") {
        // There is a CPU for those of AVX2.
        for isa in [Isa::V4Ifma, Isa::V3] {
            stages.push(Stage::new(format!("miri/{isa}"), Miri(isa)).weekly_if(isa == Isa::V3));
        }
    }
    let wrong = isas().filter(|isa| [Isa::V3, Isa::V4Ifma, Isa::Neon].contains(isa));
    stages.extend(
        wrong.map(|isa| {
            Stage::new(format!("instructions/{isa}"), tests(isa, true)).at(Pace::Weekly)
        }),
    );
    stages
}

/// Lists the stages of the newest release with all patches: its outputs, its suites, those who depend on it, and provers.
fn of_the_newest(project: &Project, newest: &str) -> Result<Vec<Stage>> {
    let ifma = uses_ifma(project, newest)?;
    let distinct = || isas().filter(|isa| *isa != Isa::V4Ifma || ifma);
    let is_covered = |isa| isa == Isa::V4 && ifma && Isa::V4Ifma.check().is_ok();
    let base = || newest.to_owned();
    let mut stages = Vec::new();
    for isa in distinct() {
        for all in [false, true] {
            let suffix = if all { "/all" } else { "" };
            let waits = all || is_covered(isa);
            let base = base();
            let stage = Stage::new(format!("outputs/{isa}{suffix}"), Outputs { isa, base, all });
            stages.push(stage.weekly_if(waits || isa == Isa::Generic));
            if [Isa::V3, Isa::V4, Isa::V4Ifma].contains(&isa) {
                let stage = Stage::new(
                    format!("constant-time/{isa}{suffix}"),
                    ConstantTime { isa, all },
                );
                // Code that this CPU cannot run is looked at weekly: its worker takes minutes to compile.
                stages.push(stage.weekly_if(waits || isa.check().is_err()));
            }
        }
    }
    for isa in [Isa::V3, Isa::Neon] {
        // The emulator logs each instruction, which takes it minutes.
        let stage = Stage::new(format!("count/{isa}"), Count(isa));
        stages.push(stage.weekly_if(isa.is_foreign()));
    }
    // Each patch is another worker, which compiles for minutes.
    let prefixes = Prefixes {
        isa: ONE_ISA,
        base: base(),
    };
    stages.push(Stage::new(format!("prefixes/{ONE_ISA}"), prefixes).at(Pace::Weekly));
    stages.push(Stage::new("example", Example));
    let provers = provers::ALL.iter();
    stages.extend(
        provers.map(|prover| Stage::new(format!("provers/{prover}"), prover).at(Pace::Weekly)),
    );
    // The other targets take longer to build than to run, and kernels of permutations are compiled for AVX2.
    let targets: &[&str] = match Isa::V3.check() {
        Ok(()) => &["permutation", "dft"],
        Err(_) => &["dft"],
    };
    stages.push(Stage::new("fuzz", Fuzz(targets)));
    stages.push(Stage::new("fuzz/merkle", Fuzz(&["merkle"])).at(Pace::Weekly));
    stages.push(Stage::new("fuzz/patch", Fuzz(&["patch"])).at(Pace::Weekly));
    for isa in distinct() {
        let upstream = |parallel| Upstream {
            isa,
            base: base(),
            parallel,
        };
        let name = format!("upstream/{isa}");
        let stage = Stage::new(&*name, upstream(false));
        let waits = [Isa::Generic, Isa::V3].contains(&isa) || needs_bochs(isa);
        stages.push(stage.weekly_if(is_covered(isa) || waits));
        if isa == ONE_ISA {
            stages.push(Stage::new(format!("{name}/parallel"), upstream(true)));
        }
    }
    for isa in distinct().filter(|isa| !isa.is_foreign()) {
        for (parallel, suffix) in [(false, ""), (true, "/parallel")] {
            // The packages are as published, and compile for minutes.
            let dependents = Dependents { isa, parallel };
            stages
                .push(Stage::new(format!("dependents/{isa}{suffix}"), dependents).at(Pace::Weekly));
        }
    }
    Ok(stages)
}

/// Lists the stages of a release before the newest with its patches. Between that and the oldest there is little that neither shows; a
/// preview has few users.
fn of_an_older(project: &Project, base: &str, is_oldest: bool) -> Result<Vec<Stage>> {
    let avx512 = if uses_ifma(project, base)? {
        Isa::V4Ifma
    } else {
        Isa::V4
    };
    let outputs = Outputs {
        isa: Isa::V3,
        base: base.to_owned(),
        all: !is_oldest,
    };
    let outputs = Stage::new(format!("outputs/{}/{base}", Isa::V3), outputs);
    let mut stages = vec![outputs.weekly_if(!is_oldest)];
    for isa in [Isa::V3, avx512] {
        let upstream = Upstream {
            isa,
            base: base.to_owned(),
            parallel: false,
        };
        stages.push(Stage::new(format!("upstream/{isa}/{base}"), upstream).at(Pace::Weekly));
    }
    Ok(stages)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Pace;
    use super::*;

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn stages_in_bochs_wait_for_the_week() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let stages = all(&Project::at(&root)).unwrap();
        for name in ["kernels", "upstream"] {
            let name = format!("{name}/{}", Isa::V4Ifma);
            let stage = stages.iter().find(|stage| stage.name == name).unwrap();
            let waits = stage.pace == Pace::Weekly;
            assert_eq!(waits, Isa::V4Ifma.check().is_err(), "{name}");
        }
    }

    /// A stage that runs nowhere finds nothing.
    #[test]
    fn each_weekly_stage_is_in_a_workflow() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let workflow = |name: &str| {
            let path = root.join(".github/workflows").join(name);
            std::fs::read_to_string(path).unwrap()
        };
        let drift = workflow("drift.yml");
        let asked = drift.split("--only ").skip(1).map(|rest| {
            let word = rest.split_whitespace().next().unwrap();
            globset::Glob::new(word.trim_matches('\''))
                .unwrap()
                .compile_matcher()
        });
        let asked: Vec<_> = asked.collect();
        let fuzzed = workflow("fuzz.yml");
        let is_fuzzed = |name: &str| {
            let target = name.strip_prefix("fuzz/");
            target.is_some_and(|target| {
                fuzzed.contains(&format!("{target}]")) || fuzzed.contains(&format!("{target},"))
            })
        };
        let stages = all(&Project::at(&root)).unwrap();
        let weekly = stages.iter().filter(|stage| stage.pace == Pace::Weekly);
        let names = weekly.map(|stage| stage.name.as_str());
        let lost: Vec<_> = names
            .filter(|name| !is_fuzzed(name) && !asked.iter().any(|glob| glob.is_match(name)))
            .collect();
        assert_eq!(lost, Vec::<&str>::new());
    }

    #[test]
    fn previews_and_releases_between_the_newest_and_the_oldest_wait_for_the_week() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let project = Project::at(&root);
        let newest = project.catalog.base(None).unwrap();
        let stages = all(&project).unwrap();
        let pace = |base: &str| {
            let name = format!("outputs/{}/{base}", Isa::V3);
            let stage = stages.iter().find(|stage| stage.name == name);
            stage.map(|stage| stage.pace)
        };
        let mut bases = project.catalog.bases.iter().map(ToString::to_string);
        let oldest = bases.next().expect("two releases at least");
        assert_eq!(pace(&oldest), Some(Pace::Always));
        for base in bases {
            let expected = (base != newest).then_some(Pace::Weekly);
            assert_eq!(pace(&base), expected, "{base}");
        }
    }
}
