//! Builds the worker from one source, on Plonky3 as published and on trees.

use std::fs;
use std::mem;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use cargo_metadata::Message;
use cargo_metadata::semver::Version;
use toml_edit::{Array, DocumentMut, Item, Table, value};

use crate::emulation;
use crate::project::Project;
use p3_patches::catalog::difference::Difference;
use p3_patches::prover::graph;
use p3_patches::prover::locked_dir::LockedDir;
use p3_patches::prover::tree::{self, Tree};
use p3_patches::source::lock::Seed;
use paired::cargo::{cargo, cargo_error, with_rustflags};
use paired::error::Failure;
use paired::files::changed::write_changed;
use paired::files::plain;
use paired::interrupt;
use paired::isa::Isa;
use paired::run::pairs::{Workers, assert_different};
use paired::run::sample::Side;
use paired::terminal::{print_lines, shown};

/// The purpose of workers, which says how much of them is compiled.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Purpose {
    /// To be measured: with all rows, as users compile Plonky3.
    Measurement,
    /// To compare outputs soon: without whole proofs, which are half of what is compiled. The baseline is optimized less, since
    /// its outputs do not depend on that.
    Outputs,
    /// For a first look at permutations and extension fields: with their rows and the units only, a tenth of what is compiled.
    Arithmetic,
}

impl Purpose {
    /// For the commands that look at compiled code.
    pub fn of_a_look(quick: bool) -> Self {
        if quick {
            Self::Arithmetic
        } else {
            Self::Measurement
        }
    }

    /// Returns the worker's features for rows that it does without.
    fn left_out(self) -> &'static [&'static str] {
        match self {
            Self::Measurement => &[],
            Self::Outputs => &["proofs"],
            Self::Arithmetic => &["components", "proofs"],
        }
    }
}

/// The instruction set or core that a worker is built for.
pub struct Target {
    /// The folder that it is built in, and what messages call it.
    pub name: String,
    pub rustflags: String,
    /// For another architecture than this machine's.
    foreign: bool,
}

impl From<Isa> for Target {
    fn from(isa: Isa) -> Self {
        Self {
            name: isa.to_string(),
            rustflags: isa.rustflags().into(),
            foreign: false,
        }
    }
}

/// Links the C library into an executable.
const CRT_STATIC: &str = "-C target-feature=+crt-static";

/// The flags of an executable that needs no library of the machine that it runs on; none where the system has no such executables.
pub const PORTABLE: &str = if cfg!(target_os = "linux") {
    CRT_STATIC
} else {
    ""
};

impl Target {
    /// An instruction set on a machine with whatever C library.
    pub fn portable(isa: Isa) -> Self {
        Self {
            name: format!("{isa}-portable"),
            rustflags: format!("{} {PORTABLE}", isa.rustflags()),
            foreign: false,
        }
    }

    /// NEON as the compiler uses it for `cpu`, with the C library linked in: a count covers what that executes too, and
    /// one executable has the text of every instruction.
    pub fn emulated(cpu: &str) -> Self {
        let neon = Isa::Neon.rustflags();
        Self {
            name: format!("{}-{cpu}", Isa::Neon),
            rustflags: format!("{neon} -C target-cpu={cpu} {CRT_STATIC}"),
            foreign: true,
        }
    }

    /// Compiles with what patches ask for.
    pub fn set_cfgs(&mut self, cfgs: &[String]) {
        for cfg in cfgs {
            self.rustflags += " --cfg ";
            self.rustflags += cfg;
        }
    }
}

/// Where workers are built, below the project's root.
pub const FOLDER: &str = "target/p3";

/// Builds workers in [`FOLDER`], which is locked against a second run.
pub struct Builder<'a> {
    project: &'a Project,
    dir: PathBuf,
    /// The baseline's trees in place of the registry's packages; none, except for a step.
    below: Vec<Tree>,
    trees: Vec<Tree>,
    /// The versions that both workers resolve to.
    seed: Seed,
    /// Tells whether the candidate has had the patches: what is left of the gain is an artefact of the measurement.
    reverted: bool,
    purpose: Purpose,
    folder: LockedDir,
}

impl<'a> Builder<'a> {
    /// Writes the trees of both sides and a copy of the worker's package to build from.
    ///
    /// The package is copied because cargo would record the overrides in this repository's own lock file.
    pub fn new(project: &'a Project, difference: &Difference, purpose: Purpose) -> Result<Self> {
        let Difference {
            base,
            baseline_patches,
            patches,
            reverted,
        } = difference;
        let dir = project.root.join(FOLDER);
        let folder = LockedDir::lock(&dir)?;
        let trees = |names: &[String], reverted| match names {
            [] => Ok(Vec::new()),
            names => tree::materialize(&project.catalog, base, names, reverted, &folder),
        };
        let mut builder = Self {
            project,
            dir,
            below: trees(baseline_patches, false)?,
            trees: trees(patches, *reverted)?,
            seed: Seed::new(project.patches(), base)?,
            reverted: *reverted,
            purpose,
            folder,
        };
        builder.copy_package(base)?;
        Ok(builder)
    }

    /// Ends the work; returns the folder in which it was built, with its lock.
    pub fn into_folder(self) -> LockedDir {
        self.folder
    }

    /// Builds the worker on Plonky3 as published, or on what a step stacks on.
    pub fn baseline(&self, target: &Target) -> Result<PathBuf> {
        let folder = if self.below.is_empty() {
            "base"
        } else {
            "need"
        };
        self.worker(target, Side::Baseline, folder, &self.below)
    }

    /// Builds both workers for `target`.
    pub fn build(&self, target: impl Into<Target>) -> Result<Workers> {
        let target = target.into();
        // Names of equal length: the paths that end up in the executables move nothing in them.
        let baseline = self.baseline(&target)?;
        let folder = if self.reverted { "undo" } else { "cand" };
        let candidate = self.worker(&target, Side::Candidate, folder, &self.trees)?;
        if self.purpose != Purpose::Outputs {
            assert_different(
                &target.name,
                [&baseline, &candidate],
                "does the patch touch code that a workload of benches/ runs on this ISA?",
            )?;
        }
        Ok(Workers {
            baseline,
            candidate,
        })
    }

    /// Returns arguments by which cargo optimizes the own package of the worker less, and with it the generic code of Plonky3.
    fn optimization(&self, side: Side) -> &'static [&'static str] {
        match (self.purpose, side) {
            (Purpose::Outputs, Side::Baseline) => {
                &["--config", "profile.release.package.p3-bench.opt-level=1"]
            }
            _ => &[],
        }
    }

    fn package(&self) -> PathBuf {
        self.dir.join("worker")
    }

    /// Writes `benches/` as a workspace of its own, without the micro-benches and what only they need, and with the
    /// worker's Plonky3 pinned to `base`, and without the rows for later releases, or those that its purpose leaves out.
    fn copy_package(&mut self, base: &str) -> Result<()> {
        let package = self.package();
        let root = &self.project.root;

        let mut workspace = read_manifest(&root.join("Cargo.toml"))?;
        workspace["workspace"]["members"] = Array::from_iter(["benches"]).into();
        if let Some(pins) = workspace["workspace"]["dependencies"].as_table_like_mut() {
            for (name, pin) in pins.iter_mut() {
                if name.starts_with("p3-") {
                    *pin = format!("={base}").into();
                }
            }
        }
        write_changed(
            &package.join("Cargo.toml"),
            workspace.to_string().as_bytes(),
        )?;

        let mut manifest = read_manifest(&root.join("benches/Cargo.toml"))?;
        manifest.remove("dev-dependencies");
        manifest.remove("bench");
        without_later(&mut manifest, &Version::parse(base)?)?;
        for feature in self.purpose.left_out() {
            leave_out(&mut manifest, feature)?;
        }
        let dependencies = manifest["dependencies"].as_table_like().into_iter();
        let dependencies = dependencies.flat_map(|table| table.iter().map(|(name, _)| name));
        let plonky3 = dependencies.filter(|name| name.starts_with("p3-"));
        self.seed.add_published(self.project.patches(), plonky3)?;
        write_changed(
            &package.join("benches/Cargo.toml"),
            manifest.to_string().as_bytes(),
        )?;

        let sources = root.join("benches/src");
        let unreadable = || format!("cannot read {}", shown(&sources));
        for entry in fs::read_dir(&sources).with_context(unreadable)? {
            let source = entry.with_context(unreadable)?.path();
            let name = source.file_name().expect("an entry of a folder");
            let contents =
                plain::read(&source).with_context(|| format!("cannot read {}", shown(&source)))?;
            write_changed(&package.join("benches/src").join(name), &contents)?;
        }
        Ok(())
    }

    /// Builds one worker with the `trees` in place of the registry's packages, and proves that it has them.
    fn worker(&self, target: &Target, side: Side, folder: &str, trees: &[Tree]) -> Result<PathBuf> {
        let package = self.package();
        let overrides = graph::overrides(trees, None);
        let configs: Vec<&str> = overrides
            .iter()
            .flat_map(|value| ["--config", value])
            .collect();
        graph::assert_overrides_used(&self.seed.resolve(&package, &configs)?, trees)?;

        let mut build = cargo();
        build
            .args(["build", "--release", "--locked", "--offline"])
            .args(["--package", "p3-bench", "--bin", "worker"])
            .args(["--message-format", "json-render-diagnostics"])
            .args(configs)
            .args(self.optimization(side))
            // From here, so that no configuration of the folder the user is in applies.
            .current_dir(&package)
            .arg("--target-dir")
            .arg(self.dir.join(&target.name).join(folder))
            // Packages that no patch reaches are compiled once.
            .env("CARGO_BUILD_BUILD_DIR", self.dir.join("build"));
        if target.foreign {
            emulation::cross(&mut build);
        } else {
            // A target that is named keeps its flags from build scripts and macros, which run here: this CPU need not be able to
            // run what it builds for another one. They are also compiled once for all instruction sets.
            build.args(["--target", "host-tuple"]);
        }
        let what = format!("{}: the {}", target.name, side.name());
        let (executable, manifests) = built(&mut build, &target.rustflags, &what)?;
        let unused = |tree: &&Tree| !manifests.contains(&tree.path.join("Cargo.toml"));
        match trees.iter().find(unused) {
            Some(tree) => Err(Failure::check(format!(
                "{}: the {} was built without this tree",
                shown(&tree.path),
                side.name()
            ))
            .into()),
            None => Ok(executable),
        }
    }
}

/// The name of this tool's package and executable.
pub const TOOL: &str = env!("CARGO_PKG_NAME");

/// Builds this tool as an executable that needs no library.
pub fn portable_tool(project: &Project) -> Result<PathBuf> {
    let mut build = cargo();
    build
        .args(["build", "--locked", "--package", TOOL, "--bin", TOOL])
        .args(["--message-format", "json-render-diagnostics"])
        .args(["--config", "profile.dev.debug=false"])
        .args(["--target", "host-tuple", "--target-dir"])
        .arg(project.root.join(FOLDER).join("portable"))
        .current_dir(&project.root);
    Ok(built(&mut build, PORTABLE, "the tool")?.0)
}

/// Runs a build of cargo with these flags; returns the executable and the manifests of the packages that went into it. `what` names it.
fn built(build: &mut Command, rustflags: &str, what: &str) -> Result<(PathBuf, Vec<PathBuf>)> {
    let output = interrupt::output(with_rustflags(build, rustflags))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        print_lines(stderr.lines());
        let error = cargo_error(&stderr);
        let failure = Failure::check(format!("{what} does not compile: {error}"));
        let lacks_library = rustflags.contains(CRT_STATIC) && stderr.contains("cannot find -l");
        return Err(match lacks_library {
            true => failure.hint("install the C library's archive: libc6-dev has it on Debian, glibc-static on Fedora"),
            false => failure,
        }
        .into());
    }
    let mut executable = None;
    let mut manifests = Vec::new();
    for message in Message::parse_stream(&*output.stdout) {
        if let Message::CompilerArtifact(artifact) = message? {
            manifests.push(artifact.manifest_path.into_std_path_buf());
            executable = artifact.executable.or(executable);
        }
    }
    let executable = executable.with_context(|| format!("{what}: cargo built no executable"))?;
    Ok((executable.into_std_path_buf(), manifests))
}

/// Takes the features `since-MAJOR-MINOR` of later releases than `base` out of the worker's manifest, and the packages that
/// they name: cargo would look up optional ones too, and an older release need not have them.
fn without_later(manifest: &mut DocumentMut, base: &Version) -> Result<()> {
    let mut later = Vec::new();
    let features = manifest.get_mut("features").and_then(Item::as_table_mut);
    for (feature, named) in features.into_iter().flat_map(Table::iter_mut) {
        let Some(since) = feature.strip_prefix("since-") else {
            continue;
        };
        let since = Version::parse(&format!("{}.0", since.replace('-', ".")))?;
        if (base.major, base.minor) < (since.major, since.minor) {
            later.push((feature.to_owned(), mem::replace(named, value(Array::new()))));
        }
    }
    for (feature, named) in later {
        leave_out(manifest, &feature)?;
        let dependencies = manifest["dependencies"].as_table_mut();
        let dependencies = dependencies.context("no dependencies")?;
        for named in named.as_array().into_iter().flatten() {
            let package = named.as_str().and_then(|named| named.strip_prefix("dep:"));
            dependencies.remove(package.context("a feature names another feature")?);
        }
    }
    Ok(())
}

/// Takes a feature out of the default ones.
fn leave_out(manifest: &mut DocumentMut, feature: &str) -> Result<()> {
    let default = manifest["features"]["default"].as_array_mut();
    let default = default.context("no default features")?;
    default.retain(|other| other.as_str() != Some(feature));
    Ok(())
}

fn read_manifest(path: &Path) -> Result<DocumentMut> {
    let text =
        plain::read_to_string(path).with_context(|| format!("cannot read {}", shown(path)))?;
    text.parse()
        .with_context(|| format!("cannot parse {}", shown(path)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn an_older_release_gets_no_package_that_it_may_lack() {
        let manifest = "[features]\ndefault = [\"since-0-5\", \"since-0-8\"]\nsince-0-5 = [\"dep:p3-new\"]\n\
             since-0-8 = [\"dep:p3-newer\"]\n\n[dependencies]\np3-new = { workspace = true, optional = true }\n\
             p3-newer = { workspace = true, optional = true }\np3-old.workspace = true\nrand = \"1\"\n";
        let without_later = |base: &str| -> toml::Table {
            let mut manifest = manifest.parse().unwrap();
            without_later(&mut manifest, &Version::parse(base).unwrap()).unwrap();
            toml::from_str(&manifest.to_string()).unwrap()
        };
        let all: toml::Table = toml::from_str(manifest).unwrap();
        for base in ["0.8.0", "0.8.1", "0.9.0-rc.2"] {
            assert_eq!(without_later(base), all, "{base}");
        }
        let middle = toml::toml! {
            [features]
            default = ["since-0-5"]
            since-0-5 = ["dep:p3-new"]
            since-0-8 = []
            [dependencies]
            p3-new = { workspace = true, optional = true }
            p3-old.workspace = true
            rand = "1"
        };
        for base in ["0.5.4", "0.7.0"] {
            assert_eq!(without_later(base), middle, "{base}");
        }
        let oldest = toml::toml! {
            [features]
            default = []
            since-0-5 = []
            since-0-8 = []
            [dependencies]
            p3-old.workspace = true
            rand = "1"
        };
        assert_eq!(without_later("0.4.3"), oldest);
    }

    /// A package that is dropped for older releases is one that a feature names, so that a build with it lacks nothing.
    #[test]
    fn the_worker_has_the_features() {
        let benches = Path::new(env!("CARGO_MANIFEST_DIR")).join("../benches/Cargo.toml");
        let manifest = read_manifest(&benches).unwrap();
        let features = manifest["features"].as_table().unwrap();
        let since = (features.iter()).filter(|(feature, _)| feature.starts_with("since-"));
        let named = since.flat_map(|(_, named)| named.as_array().unwrap());
        let named = named.filter_map(|name| Some(name.as_str()?.to_owned()));
        let dependencies = manifest["dependencies"].as_table_like().unwrap();
        let optional = dependencies
            .iter()
            .filter(|(_, dependency)| dependency.get("optional").is_some())
            .map(|(name, _)| format!("dep:{name}"));
        assert_eq!(
            named.collect::<BTreeSet<_>>(),
            optional.collect::<BTreeSet<_>>()
        );
        for purpose in [Purpose::Outputs, Purpose::Arithmetic] {
            for feature in purpose.left_out() {
                assert!(features.contains_key(feature), "{feature}");
            }
        }
    }
}
