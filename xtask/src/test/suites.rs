//! Stages of patched packages: upstream's suites, equal outputs, counts of instructions, no dependence on data.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::Result;

use super::{
    Need, ONE_ISA, Work, bochs, cargo_for, is_emulated, lacks_cpu, lacks_isa, own, runs_in_bochs,
    succeed,
};
use crate::bench::counts::Counts;
use crate::emulation;
use crate::project::Project;
use crate::test::upstream::Suites;
use paired::error::Failure;
use paired::files::claimed;
use paired::interrupt;
use paired::isa::Isa;

/// Upstream's suites on the packages of a release, patched.
pub struct Upstream {
    pub isa: Isa,
    pub base: String,
    pub parallel: bool,
}

/// Its suite takes as long as all others, and patches change a comment there. It runs without `parallel`, on [`ONE_ISA`] alone.
const LONG: &str = "p3-sumcheck";

impl Work for Upstream {
    fn need(&self) -> Option<Need> {
        Some(Need::Isa(self.isa))
    }

    fn missing(&self, project: &Project) -> Option<String> {
        lacks_cpu(self.isa, project)
    }

    fn is_emulated(&self, project: &Project) -> bool {
        is_emulated(self.isa) || runs_in_bochs(self.isa, project)
    }

    fn run(&self, project: &Project) -> Result<()> {
        let names = project.catalog.ported(&self.base);
        let suites = Suites::lay_out(project, &self.base, &names)?;
        if runs_in_bochs(self.isa, project) {
            return self.run_in_bochs(project, &suites);
        }
        // Unoptimized, these run for seconds; optimized, they compile for minutes. The outputs of optimized
        // packages are compared by `outputs/`.
        let mut test = cargo_for(self.isa, "test", project, &suites.root)?;
        if is_emulated(self.isa) {
            // The rest is the same on every ISA, and an emulator takes its time.
            test.args(["--package", "p3-goldilocks", "--lib"]);
            test.args(["--", "aarch64_neon", "poseidon"]);
        } else {
            test.arg("--workspace");
            if (self.isa, self.parallel) != (ONE_ISA, false) {
                test.args(["--exclude", LONG]);
            }
            // Examples and tests in the documentation are the same for all, and each is compiled by itself. They wait for the
            // week, as that stage does.
            if (self.isa, self.parallel) != (ONE_ISA, false)
                || self.base != project.catalog.base(None)?
            {
                test.args(["--lib", "--tests"]);
            }
        }
        if self.parallel {
            let mut features = suites.parallel;
            features.retain(|feature| !feature.starts_with(LONG));
            test.arg("--features").arg(features.join(","));
        }
        succeed(test).map(drop)
    }
}

impl Upstream {
    /// The tests of packages whose code AVX-512 changes: an emulator takes its time.
    fn run_in_bochs(&self, project: &Project, suites: &Suites) -> Result<()> {
        // The tests of constants start Python, which the emulated PC does not have.
        const TESTS: &str = "--test-threads 1 --skip match_generator";

        let mut test = cargo_for(self.isa, "test", project, &suites.root)?;
        test.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
        bochs::build_for(&mut test, self.isa.rustflags());
        for package in with_avx512(project, &self.base)? {
            test.args(["--package", &package]);
        }
        test.args(["--lib", "--tests"]);
        let built = bochs::executables(&succeed(test)?.stdout, |_| Ok(TESTS.to_owned()))?;
        bochs::run(&project.root, &built, &[])
    }
}

/// Returns the packages whose code for AVX-512 patches for `base` add or change.
fn with_avx512(project: &Project, base: &str) -> Result<BTreeSet<String>> {
    let mut packages = BTreeSet::new();
    for name in project.catalog.ported(base) {
        let patch = project.catalog.patch(base, &name)?;
        for file in patch.diff().split("\ndiff --git a/").skip(1) {
            let folder = file.split('/').next().unwrap_or_default();
            if file.contains("avx512") {
                packages.insert(format!("p3-{folder}"));
            }
        }
    }
    Ok(packages)
}

/// Upstream's suites on the packages that depend on patched ones.
pub struct Dependents {
    pub isa: Isa,
    pub parallel: bool,
}

impl Work for Dependents {
    fn need(&self) -> Option<Need> {
        Some(Need::Isa(self.isa))
    }

    fn missing(&self, _: &Project) -> Option<String> {
        lacks_isa(self.isa)
    }

    fn run(&self, project: &Project) -> Result<()> {
        let base = project.catalog.base(None)?;
        let names = project.catalog.ported(&base);
        let suites = Suites::lay_out_dependents(project, &base, &names)?;
        let mut test = cargo_for(self.isa, "test", project, &suites.root)?;
        for package in &suites.dependents {
            test.args(["--package", package]);
        }
        test.args(["--lib", "--tests"]);
        if self.parallel {
            let features = suites
                .dependents
                .iter()
                .map(|name| format!("{name}/parallel"));
            let features = features.filter(|feature| suites.parallel.contains(feature));
            test.arg("--features")
                .arg(features.collect::<Vec<_>>().join(","));
        }
        succeed(test).map(drop)
    }
}

/// Outputs of the patched worker against those of the published one.
pub struct Outputs {
    pub isa: Isa,
    pub base: String,
    /// Tells whether they are those of all rows, of which the code of whole proofs takes as long to compile as all other.
    pub all: bool,
}

impl Work for Outputs {
    fn need(&self) -> Option<Need> {
        Some(Need::Isa(self.isa))
    }

    fn missing(&self, _: &Project) -> Option<String> {
        self.isa.check().err().map(|refused| refused.message)
    }

    fn run(&self, project: &Project) -> Result<()> {
        let isa = self.isa.to_string();
        let mut args = vec!["ab", "--outputs-only", "--base", &self.base, "--isa", &isa];
        if !self.all {
            args.push("--quick");
        }
        succeed(own(project, &args)?).map(drop)
    }
}

/// `cargo p3 inspect count`, which fails unless its counts are exact and fall, and outputs are equal.
pub struct Count(pub Isa);

impl Work for Count {
    fn missing(&self, _: &Project) -> Option<String> {
        if self.0 == Isa::Neon {
            return emulation::missing().map(|what| format!("{what} on this machine"));
        }
        lacks_isa(self.0)
    }

    fn run(&self, project: &Project) -> Result<()> {
        // Units whose counts have to fall; a trace, and models that read it, take their time. In the emulator a width is
        // enough to see them work. On this CPU every instruction is a stop of the process, and what prepares Poseidon1's
        // constants would take minutes.
        let units: &[_] = if self.0 == Isa::Neon {
            &["permute/poseidon2-w8", "permute-many/poseidon2-w8/*"]
        } else {
            &["permute-many/poseidon2-w8/x4"]
        };
        let isa = self.0.to_string();
        let mut args = vec!["inspect", "count", "--isa", &isa, "--fewer", "--quick"];
        args.extend(units.iter().flat_map(|unit| ["--unit", unit]));
        succeed(own(project, &args)?).map(drop)
    }
}

/// Counts of [`Count`] with one more patch of the series each time: a function that a patch keeps from being inlined elsewhere shows in
/// them.
pub struct Prefixes {
    pub isa: Isa,
    pub base: String,
}

/// Units whose code most patches leave alone, though it is compiled again with each.
const LEFT_ALONE: &str = "dot-*";

/// The share of a unit's instructions that a patch may add to it: spills differ where other code is compiled beside it.
const SLACK: f64 = 1.01;

impl Work for Prefixes {
    fn missing(&self, _: &Project) -> Option<String> {
        lacks_isa(self.isa)
    }

    fn run(&self, project: &Project) -> Result<()> {
        let names = project.catalog.ported(&self.base);
        let scratch = claimed::folder()?;
        let (mut known, mut risen) = (BTreeMap::new(), Vec::new());
        for (count, name) in (1..).zip(&names) {
            interrupt::check()?;
            let counts = self.counts(project, &names[..count], scratch.path())?;
            risen.extend(added(&mut known, counts.instructions(), name));
        }
        if risen.is_empty() {
            return Ok(());
        }
        let risen = risen.join("\n");
        Err(Failure::check(format!("instructions that a patch adds:\n{risen}")).into())
    }
}

/// Names the units of which the patch `name` adds instructions to those `known` so far, or else to Plonky3's as published.
fn added<'c>(
    known: &mut BTreeMap<String, u64>,
    counts: impl Iterator<Item = (&'c str, [u64; 2])>,
    name: &str,
) -> Vec<String> {
    let mut added = Vec::new();
    for (unit, [published, with]) in counts {
        let without = known.insert(unit.to_owned(), with).unwrap_or(published);
        if with as f64 > SLACK * without as f64 {
            added.push(format!("{unit}: {with} with {name}, {without} without"));
        }
    }
    added
}

impl Prefixes {
    /// Counts the instructions with these patches.
    fn counts(&self, project: &Project, names: &[String], scratch: &Path) -> Result<Counts> {
        let isa = self.isa.to_string();
        let file = scratch.join("counts.json");
        let json = file.to_string_lossy();
        let args = ["inspect", "count", "--base", &self.base, "--isa", &isa];
        let args = args
            .into_iter()
            .chain(["--unit", LEFT_ALONE, "--json", &json]);
        let args: Vec<_> = args.chain(names.iter().map(String::as_str)).collect();
        succeed(own(project, &args)?)?;
        let counts = Counts::read(&fs::read(&file)?);
        Ok(counts.map_err(Failure::check)?)
    }
}

/// `cargo p3 inspect constant-time`, on the workers of [`Count`] or those with all rows.
pub struct ConstantTime {
    pub isa: Isa,
    pub all: bool,
}

impl Work for ConstantTime {
    fn need(&self) -> Option<Need> {
        Some(Need::Isa(self.isa))
    }

    fn missing(&self, _: &Project) -> Option<String> {
        // Nothing is executed.
        let refused = self.isa.check_architecture().err();
        refused.map(|refused| refused.message)
    }

    fn run(&self, project: &Project) -> Result<()> {
        let isa = self.isa.to_string();
        let mut args = vec!["inspect", "constant-time", "--isa", &isa];
        if !self.all {
            args.push("--quick");
        }
        succeed(own(project, &args)?).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_that_adds_instructions_to_those_before_it_is_named() {
        let mut known = BTreeMap::new();
        let mut added = |counts: [u64; 2], name| {
            let counts = [
                ("dot-rows/x", [1000, counts[0]]),
                ("dot-rows/y", [1000, counts[1]]),
            ];
            super::added(&mut known, counts.into_iter(), name)
        };
        assert!(added([1010, 500], "first").is_empty());
        let expected = ["dot-rows/y: 506 with second, 500 without"];
        assert_eq!(added([1010, 506], "second"), expected);
        assert_eq!(added([900, 506], "third"), [""; 0]);
        let expected = ["dot-rows/x: 1000 with fourth, 900 without"];
        assert_eq!(added([1000, 506], "fourth"), expected);
    }
}
