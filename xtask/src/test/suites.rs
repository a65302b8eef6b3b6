//! Stages of patched packages: upstream's suites, equal outputs, counts of instructions, no dependence on data.

use anyhow::Result;

use super::{
    Need, ONE_ISA, Work, bochs, cargo_for, is_emulated, lacks_cpu, lacks_isa, own, runs_in_bochs,
    succeed,
};
use crate::emulation;
use crate::project::Project;
use crate::test::upstream::Suites;
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
        for folder in ["goldilocks", "dft", "koala-bear"] {
            // An older release has fewer patches.
            if suites.root.join(folder).is_dir() {
                test.args(["--package", &format!("p3-{folder}")]);
            }
        }
        test.args(["--lib", "--tests"]);
        let built = bochs::executables(&succeed(test)?.stdout, |_| Ok(TESTS.to_owned()))?;
        bochs::run(&project.root, &built, &[])
    }
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
