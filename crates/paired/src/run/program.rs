//! A user's program: the cargo command that runs it, the executables that cargo builds for it, and their runs.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use cargo_metadata::cargo_platform::Cfg;
use cargo_metadata::{Artifact, Message, Metadata, TargetKind};
use tempfile::TempPath;
use wait4::Wait4;

use crate::cargo::{
    self, COLOR, Toolchain, cargo_error, cargo_in, configuration, configuration_with_origins,
    incremental, rustc_in,
};
use crate::error::Failure;
use crate::files::claimed::{self, Claimed};
use crate::files::plain;
use crate::interrupt::{self, Group};
use crate::run::input::Input;
use crate::run::launch::{self, Launch};
use crate::run::resident::{self, Moment};
use crate::run::rustflags::Rustflags;
use crate::run::sample::Side;
use crate::terminal::{print_lines, shown};

/// The variable for the folder of cargo's intermediate files.
const BUILD_DIR: &str = "CARGO_BUILD_BUILD_DIR";

/// The variable for the folders in which the loader finds libraries. Cargo adds to it for a program that it runs.
const LOADER_PATH: &str = if cfg!(target_os = "macos") {
    "DYLD_FALLBACK_LIBRARY_PATH"
} else {
    "LD_LIBRARY_PATH"
};

/// The variable for the folder of criterion's figures.
const CRITERION_HOME: &str = "CRITERION_HOME";

/// The arguments of a `cargo` command that runs a program.
pub struct CommandLine {
    subcommand: Subcommand,
    options: Vec<String>,
    /// The arguments of the program.
    args: Vec<String>,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Subcommand {
    Run,
    Bench,
    Test,
}

/// The options that a comparison gives cargo, which takes each once.
const OWN: [&str; 3] = ["--manifest-path", "--target-dir", "--message-format"];

impl CommandLine {
    /// Reads the words `run OPTIONS -- ARGS`, or `bench` or `test` in place of `run`. Fails for any other subcommand.
    ///
    /// # Panics
    ///
    /// Panics without words.
    pub fn parse(words: &[String]) -> Result<Self, Failure> {
        let (subcommand, rest) = words.split_first().expect("clap asks for a word");
        let subcommand = match &**subcommand {
            "run" | "r" => Subcommand::Run,
            "bench" => Subcommand::Bench,
            "test" | "t" => Subcommand::Test,
            other => {
                return Err(Failure::usage(format!(
                    "{other}: not a subcommand with which cargo runs a program"
                ))
                .hint("give run, bench or test, as in `-- run --release --bin prove -- ARGS`"));
            }
        };
        let mut parts = rest.splitn(2, |word| word == "--");
        let mut part = || parts.next().unwrap_or_default().to_vec();
        let command = Self {
            subcommand,
            options: part(),
            args: part(),
        };
        if let Some(option) = command.given(&OWN).first() {
            return Err(Failure::usage(format!(
                "{option}: behind `--`, where the comparison has its own"
            ))
            .hint("leave it out there; --manifest-path may stand before `--`"));
        }
        Ok(command)
    }

    /// Tells whether the subcommand is `bench`.
    pub fn is_bench(&self) -> bool {
        self.subcommand == Subcommand::Bench
    }

    /// Returns the options among `names` that the command has, with their values, as they were typed.
    fn given(&self, names: &[&str]) -> Vec<&str> {
        let mut given = Vec::new();
        let mut words = self.options.iter().map(String::as_str);
        while let Some(word) = words.next() {
            if names.contains(&word) {
                given.push(word);
                given.extend(words.next());
            } else if word
                .split_once('=')
                .is_some_and(|(name, _)| names.contains(&name))
            {
                given.push(word);
            }
        }
        given
    }

    /// Returns the values of an option, in their order.
    fn values<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s str> {
        let words = self.given(&[name]).into_iter();
        words.filter(move |word| *word != name).map(move |word| {
            let value = word.strip_prefix(name);
            value
                .and_then(|value| value.strip_prefix('='))
                .unwrap_or(word)
        })
    }
}

/// A package whose sources the candidate takes from another folder than the baseline.
pub struct Replaced {
    /// The package's name.
    pub package: String,
    /// The folder of its manifest.
    pub path: PathBuf,
}

/// The folders and the command from which both executables are built.
pub struct Builder<'a> {
    /// The folder of the manifest, in which cargo is started and finds its configuration.
    pub folder: &'a Path,
    /// The cargo command of the user.
    pub command: &'a CommandLine,
    /// The folder above the target folders, one for each side.
    pub target: &'a Path,
}

impl Builder<'_> {
    /// Returns the values of the command's `--config` options, with the paths of files made absolute.
    pub fn configs(&self) -> Vec<String> {
        let absolute = |value: &str| {
            let file = self.folder.join(value);
            let is_file = !value.is_empty() && file.exists();
            is_file.then(|| file.to_string_lossy().into_owned())
        };
        let values = self.command.values("--config");
        values
            .map(|value| absolute(value).unwrap_or_else(|| value.to_owned()))
            .collect()
    }

    /// Builds one side with the values `overrides` of `--config`, and finds out how cargo runs the program.
    ///
    /// `patched` names the packages that the overrides replace, none for the baseline; `metadata` is the workspace's. Fails where
    /// the side does not build, where the command runs no program or several, or a program that uses no patched package.
    pub fn build(
        &self,
        side: Side,
        patched: &[Replaced],
        overrides: &[String],
        metadata: &Metadata,
    ) -> Result<Program> {
        // Names of equal length: paths become part of the executables, and would move code in them.
        let folder = match side {
            Side::Candidate => "cand",
            Side::Baseline | Side::Control => "base",
        };
        // Both sides share the build folder, so packages that no patch changes are compiled once.
        let [target, build] = [folder, "build"].map(|folder| self.target.join(folder));
        // Cargo compiles path packages incrementally where their profile says so, but never packages of a registry.
        let alike = ["dev", "release"]
            .map(|profile| format!("profile.{profile}.package.\"*\".incremental=false"));
        let configs = overrides.iter().chain(&alike);
        let configs: Vec<_> = configs.flat_map(|value| ["--config", value]).collect();
        let is_incremental = incremental(self.folder, &self.configs())?.is_some();
        let cargo = |words: &[&str]| {
            let mut cargo = self.cargo();
            cargo
                .args(words)
                .args(["--manifest-path", "Cargo.toml"])
                .args(&self.command.options)
                .args(&configs)
                .arg("--target-dir")
                .arg(&target)
                .env(BUILD_DIR, &build);
            if is_incremental {
                cargo.env("CARGO_INCREMENTAL", "0");
            }
            cargo
        };
        let (builds, runs): (&[&str], _) = match self.command.subcommand {
            Subcommand::Run => (&["build"], "run"),
            Subcommand::Bench => (&["bench", "--no-run"], "bench"),
            Subcommand::Test => (&["test", "--no-run"], "test"),
        };
        let mut built = cargo(builds);
        let built = interrupt::output(built.args(["--message-format", "json-render-diagnostics"]))?;
        if !built.status.success() {
            let stderr = String::from_utf8_lossy(&built.stderr);
            print_lines(stderr.lines());
            let side = side.name();
            let error = cargo_error(&stderr);
            if let Some(features) = cargo::features_to_enable(&stderr) {
                let hint = format!("add {features} to the cargo command");
                return Err(Failure::input(error).hint(hint).into());
            }
            if cargo::is_full(&stderr) {
                let what = format!("the {side} cannot be built: no space left on the disk");
                let hint = "make room on the disk of the target folder, or of TMPDIR";
                return Err(Failure::environment(what).hint(hint).into());
            }
            let hint = match patched {
                [] => (self.rustflags()?.missed()).unwrap_or_else(|| {
                    "the baseline is the program without the patches; give a cargo command behind `--` that works without this tool".to_owned()
                }),
                _ if self.rustflags()?.denies_lints() => "the flags here deny lints, and cargo keeps these from packages of a registry, not from patched ones; leave `-D` and `--deny` out".to_owned(),
                _ => "it builds without the patches; name fewer of them to find the one that breaks the build".to_owned(),
            };
            return Err(
                Failure::check(format!("the {side} does not build: {error}"))
                    .hint(hint)
                    .into(),
            );
        }
        let mut artifacts = Vec::new();
        let mut searched = BTreeSet::new();
        for message in Message::parse_stream(&*built.stdout) {
            match message? {
                Message::CompilerArtifact(artifact) => artifacts.push(artifact),
                Message::BuildScriptExecuted(script) => {
                    // A path may stand behind its kind, as in `native=PATH`.
                    let paths = script.linked_paths.iter();
                    let paths = paths
                        .filter_map(|path| path.as_str().find('/').map(|at| &path.as_str()[at..]));
                    searched.extend(paths.map(PathBuf::from));
                }
                _ => {}
            }
        }
        let is_of = |replaced: &Replaced, artifact: &Artifact| {
            artifact.manifest_path.as_std_path() == replaced.path.join("Cargo.toml")
        };
        let linked =
            |replaced: &Replaced| artifacts.iter().any(|artifact| is_of(replaced, artifact));
        if !patched.is_empty() && !patched.iter().any(linked) {
            let packages = patched.iter().map(|replaced| replaced.package.as_str());
            let packages = packages.collect::<Vec<_>>().join(", ");
            return Err(Failure::input(format!(
                "the program is built without any patched package ({packages})"
            ))
            .hint("give a command that runs a program of the workspace with one of these packages")
            .into());
        }
        let programs = self.programs(&artifacts, metadata)?;
        let executable = |artifact: &Artifact| {
            let path = artifact.executable.as_ref();
            path.expect("programs have one").as_std_path().to_owned()
        };
        let first = executable(programs[0]);
        let triple = match triple(&first, [&target, &build]) {
            Some(triple) => triple.to_owned(),
            None => self.toolchain()?.host,
        };
        let runners = configuration_with_origins(self.folder, "target", &self.configs())?;
        let mut run = cargo(&[runs]);
        // Cargo would write the lock file again where another program has edited it during the build.
        if self.command.given(&["--locked", "--frozen"]).is_empty() {
            run.arg("--locked");
        }
        run.arg("--config")
            .arg(launch::recorded(&runners, &triple)?)
            .arg("--")
            .args(&self.command.args);
        let ran = interrupt::output(&mut run)?;
        let Some(launch) = Launch::read(&ran.stdout) else {
            if programs.len() > 1 {
                return Err(several(&programs).into());
            }
            let error = cargo_error(&String::from_utf8_lossy(&ran.stderr));
            let what = format!("cargo does not start the program that it has built: {error}");
            let failure = Failure::environment(what);
            return Err(match error.contains("--locked") {
                true => failure
                    .hint("another program has edited that file; run this again once it has ended"),
                false => failure,
            }
            .into());
        };
        let mut ran = programs.into_iter();
        let Some(artifact) = ran.find(|of| executable(of).ends_with(&launch.program)) else {
            bail!(
                "cargo runs {}, which its build did not list",
                shown(&launch.program)
            );
        };
        let package = artifact.package_id.repr.clone();
        let key = format!("target.{triple}.runner");
        let own = configuration_with_origins(self.folder, &key, &self.configs())?;
        let runner = match launch::of_triple(&own, &triple) {
            Some(runner) => Some(runner),
            None => launch::of_cfg(&runners, || self.cfg(&package))?,
        };
        let runner = runner.map(|runner| launch::words(runner, self.folder));
        let mut environment = launch.environment;
        // The build has values of this tool's.
        for name in [BUILD_DIR, COLOR.0] {
            environment.retain(|(set, _)| set != name);
            environment.extend(env::var_os(name).map(|own| (name.into(), own)));
        }
        // Cargo adds folders of build scripts to the loader's path only where they lie below the target folder.
        searched.retain(|path| path.starts_with(&build));
        if let Some((_, loaded)) = environment.iter_mut().find(|(name, _)| name == LOADER_PATH) {
            let paths = searched.into_iter().chain(env::split_paths(loaded));
            *loaded = env::join_paths(paths).context("cannot write the loader's path")?;
        }
        Ok(Program {
            name: shown(&artifact.target.name),
            executable: executable(artifact),
            started_as: executable(artifact),
            runner: runner.unwrap_or_default(),
            args: launch.args,
            folder: match self.command.subcommand {
                Subcommand::Run => env::current_dir().context("cannot tell the current folder")?,
                Subcommand::Bench | Subcommand::Test => launch.folder,
            },
            environment,
            package,
        })
    }

    /// Returns the programs among the artifacts. Cargo chooses among several for `run`, but would start every test and bench.
    fn programs<'a>(
        &self,
        artifacts: &'a [Artifact],
        metadata: &Metadata,
    ) -> Result<Vec<&'a Artifact>, Failure> {
        let tests = self.command.subcommand != Subcommand::Run;
        // A build of tests also builds the programs that the tests start.
        let is_program = |artifact: &&Artifact| {
            artifact.executable.is_some()
                && artifact.profile.test == tests
                && !artifact.target.kind.contains(&TargetKind::CustomBuild)
        };
        let programs: Vec<_> = artifacts.iter().filter(is_program).collect();
        match programs[..] {
            [] => {
                let members = metadata.workspace_packages().into_iter();
                let mut targets = members.flat_map(|member| &member.targets);
                let hint = match targets.find(|target| !target.required_features.is_empty()) {
                    Some(off) => format!(
                        "cargo builds `{}` only with `--features {}`",
                        shown(&off.name),
                        off.required_features.join(",")
                    ),
                    None => NAME_ONE.to_owned(),
                };
                Err(Failure::input("the command line builds no program to run").hint(hint))
            }
            [_, _, ..] if tests => Err(several(&programs)),
            _ => Ok(programs),
        }
    }

    /// Returns the target features that the program is built with; none where cargo cannot print them. Fails where cargo cannot
    /// be started.
    pub fn features(&self, program: &Program) -> Result<BTreeSet<String>> {
        let cfg = self.cfg(&program.package)?.into_iter();
        let features = cfg.filter_map(|cfg| match cfg {
            Cfg::KeyPair(key, value) if key.as_str() == "target_feature" => Some(value),
            _ => None,
        });
        Ok(features.collect())
    }

    /// Asks cargo for the `cfg` values of a package.
    fn cfg(&self, package: &str) -> Result<Vec<Cfg>> {
        let mut rustc = self.cargo();
        rustc
            .args(["-Z", "unstable-options", "rustc", "--print", "cfg"])
            .args(["--manifest-path", "Cargo.toml"])
            .args(["--package", package])
            .args(
                self.command
                    .given(&["--config", "--profile", "--target", "-Z"]),
            )
            // The option is unstable.
            .env("RUSTC_BOOTSTRAP", "1");
        let printed = interrupt::output(&mut rustc)?.stdout;
        let printed = String::from_utf8_lossy(&printed);
        Ok(printed
            .lines()
            .filter_map(|line| line.parse().ok())
            .collect())
    }

    /// Reads the compiler flags of the build from the environment and from cargo's configuration. Fails where cargo cannot read
    /// it.
    pub fn rustflags(&self) -> Result<Rustflags> {
        let configs = self.configs();
        let configured = || configuration(self.folder, "build.target", &configs);
        let target = match self.command.values("--target").last() {
            Some(target) => target.to_owned(),
            None => match configured()?.as_str() {
                Some(target) => target.to_owned(),
                None => self.toolchain()?.host,
            },
        };
        Rustflags::read(rustc_in(self.folder), self.folder, &configs, &target)
    }

    fn cargo(&self) -> Command {
        let mut command = cargo_in(self.folder);
        without_own_variables(&mut command);
        command
    }

    /// Asks the compiler that cargo uses in the folder for its version and host. Fails where it cannot be run.
    pub fn toolchain(&self) -> Result<Toolchain> {
        Toolchain::of(rustc_in(self.folder))
    }
}

/// The hint for a command that runs no program, or several.
const NAME_ONE: &str = "name one with `--bin`, `--example`, `--bench` or `--test`";

fn several(programs: &[&Artifact]) -> Failure {
    let names = programs.iter().map(|artifact| shown(&artifact.target.name));
    let names: Vec<_> = names.collect::<BTreeSet<_>>().into_iter().collect();
    let names = names.join(", ");
    Failure::input(format!("the command line builds several programs: {names}")).hint(NAME_ONE)
}

/// Returns the triple in the path of an executable below one of `folders`, `TRIPLE/PROFILE/..`. Cargo has it there for
/// `--target`.
fn triple<'a>(executable: &'a Path, folders: [&Path; 2]) -> Option<&'a str> {
    let below = folders
        .iter()
        .find_map(|folder| executable.strip_prefix(folder).ok())?;
    let parts: Vec<_> = below
        .iter()
        .map(|part| part.to_str())
        .collect::<Option<_>>()?;
    match parts[..] {
        [_profile, "deps" | "examples" | "build", _, ..] | [_profile, _] => None,
        [triple, _profile, ..] => Some(triple),
        _ => None,
    }
}

/// Removes the variables that cargo has set for this tool, as `cargo run` does, and would not set for the user's program.
fn without_own_variables(command: &mut Command) {
    for (name, _) in env::vars_os() {
        let is_own = |name: &str| {
            ["CARGO_MANIFEST_", "CARGO_PKG_"]
                .iter()
                .any(|start| name.starts_with(start))
        };
        if name.to_str().is_some_and(is_own) {
            command.env_remove(name);
        }
    }
    let executable = env::current_exe().unwrap_or_default();
    if let Some((folder, paths)) = executable.parent().zip(env::var_os(LOADER_PATH)) {
        let others = env::split_paths(&paths).filter(|path| !path.starts_with(folder));
        match env::join_paths(others) {
            Ok(others) if !others.is_empty() => command.env(LOADER_PATH, others),
            _ => command.env_remove(LOADER_PATH),
        };
    }
}

/// An executable, with the arguments, folder, environment and runner of its runs.
#[derive(Clone)]
pub struct Program {
    /// The name of cargo's target.
    pub name: String,
    /// The path of the executable.
    pub executable: PathBuf,
    /// The first argument: the path by which cargo would have started the program.
    started_as: PathBuf,
    /// The words of the runner, which come before the executable; none without a runner.
    runner: Vec<OsString>,
    args: Vec<OsString>,
    /// The folder in which the program runs: for benches and tests, that of their package.
    pub(crate) folder: PathBuf,
    environment: Vec<(OsString, OsString)>,
    /// The package's ID, for `--package`.
    package: String,
}

/// The cost and the output of one run.
pub(crate) struct Done {
    pub(crate) status: ExitStatus,
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    /// The peak of its resident memory, in KiB, where the system tells it.
    pub(crate) peak_kib: Option<u64>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl Program {
    /// Copies the executable to a file beside it, where programs find files of their own. The copy is removed with the second
    /// value.
    pub(crate) fn copied(&self) -> Result<(Self, Claimed<TempPath>)> {
        let from = &self.executable;
        let unwritable = || format!("cannot copy {}", shown(from));
        let folder = from.parent().unwrap_or(Path::new("."));
        let copy = Claimed::new(folder, ".p3-copy-", |made| {
            Ok(made.tempfile_in(folder)?.into_temp_path())
        });
        let copy = copy.with_context(unwritable)?;
        plain::copy(from, &copy.made).with_context(unwritable)?;
        let executable = copy.made.to_path_buf();
        let program = Self {
            executable,
            ..self.clone()
        };
        Ok((program, copy))
    }

    /// Runs the program to its end, with `figures` as criterion's folder. Fails where the program cannot be started, and after an
    /// interrupt, which ends it. An exit code other than 0 is no error.
    ///
    /// The process's memory is noted in `moments`, if there are some. The system takes time for the answers, so such a run is not measured.
    pub(crate) fn run(
        &self,
        input: &Input,
        figures: Option<&Path>,
        mut moments: Option<&mut Vec<Moment>>,
    ) -> Result<Done> {
        interrupt::check()?;
        // Files, since a pipe would have to be read, on a core that the program may use.
        let (stdout, stderr) = (claimed::file()?, claimed::file()?);
        let mut command = match self.runner.split_first() {
            Some((runner, args)) => {
                let mut command = Command::new(runner);
                command.args(args).arg(&self.executable);
                command
            }
            None => {
                let mut command = Command::new(&self.executable);
                command.arg0(&self.started_as);
                command
            }
        };
        command
            .args(&self.args)
            .current_dir(&self.folder)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .envs(figures.map(|folder| (CRITERION_HOME, folder)))
            .stdin(input.again()?)
            .stdout(stdout.try_clone()?)
            .stderr(stderr.try_clone()?);
        let own_peak = resident::kib("self", "VmHWM").unwrap_or(0);
        let start = Instant::now();
        let mut process = Group::start(&mut command)?;
        let id = process.0.id();
        let (sender, ended) = mpsc::channel();
        thread::spawn(move || {
            interrupt::wait_for_end(id);
            // After an interrupt, the receiver is gone.
            let _ = sender.send(start.elapsed());
        });
        let wall = loop {
            let mut wait = Duration::from_millis(100);
            if let Some(moments) = &mut moments
                && let Some(kib) = resident::kib(&id.to_string(), "VmRSS")
            {
                let printed = [stdout.metadata()?.len(), stderr.metadata()?.len()];
                let at = start.elapsed();
                moments.push(Moment { at, kib, printed });
                wait = resident::wait(at);
            }
            match ended.recv_timeout(wait) {
                Ok(wall) => break wall,
                Err(RecvTimeoutError::Disconnected) => unreachable!("the thread sends first"),
                Err(RecvTimeoutError::Timeout) => interrupt::check_on(id, &command)?,
            }
        };
        let used = process.reap(Child::wait4)?;
        interrupt::check()?;
        let peak_kib = used.rusage.maxrss / 1024;
        Ok(Done {
            status: used.status,
            wall,
            cpu: used.rusage.utime + used.rusage.stime,
            // A new process counts the memory of its parent until it becomes the program.
            peak_kib: (peak_kib > own_peak).then_some(peak_kib),
            stdout: contents(stdout)?,
            stderr: contents(stderr)?,
        })
    }
}

/// Reads a file from its start, after it was written through other handles.
pub(crate) fn contents(mut file: fs::File) -> io::Result<Vec<u8>> {
    use io::{Read, Seek};
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_with_their_values() {
        let words = "run --config a.b=1 --configured x --target=t --config=c=2 -- --config d";
        let words: Vec<_> = words.split(' ').map(str::to_owned).collect();
        let command = CommandLine::parse(&words).unwrap();
        let values: Vec<_> = command.values("--config").collect();
        assert_eq!(values, ["a.b=1", "c=2"]);
        assert_eq!(command.values("--target").next(), Some("t"));
        let given = command.given(&["--config", "--target"]);
        assert_eq!(given, ["--config", "a.b=1", "--target=t", "--config=c=2"]);
    }

    #[test]
    fn a_platform_stands_before_the_profile() {
        for (path, expected) in [
            ("base/release/prove", None),
            ("base/release/examples/prove", None),
            ("build/release/deps/prove-0", None),
            ("build/release/build/prover/0/out/prove", None),
            (
                "base/x86_64-unknown-linux-musl/release/prove",
                Some("x86_64-unknown-linux-musl"),
            ),
            ("build/custom/debug/deps/prove-0", Some("custom")),
            ("elsewhere/custom/debug/prove", None),
        ] {
            let folders = ["base", "build"].map(Path::new);
            assert_eq!(triple(Path::new(path), folders), expected, "{path}");
        }
    }
}
