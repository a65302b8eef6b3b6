//! A user's program: the command line of cargo's that runs it, the executables that cargo builds for it, and a run of one.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io;
#[cfg(unix)]
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use cargo_metadata::{Artifact, Message, Metadata, TargetKind};
use tempfile::TempPath;
use wait4::Wait4;

use crate::cargo::{self, Toolchain, cargo, cargo_error, configuration, rustc};
use crate::error::Failure;
use crate::interrupt::{self, Group};
use crate::measure::pairs::Side;
use crate::measure::rustflags::Rustflags;
use crate::prover::tree::Tree;

/// The arguments with which `cargo` runs a program.
pub struct CommandLine {
    subcommand: Subcommand,
    options: Vec<String>,
    /// The program's own.
    args: Vec<String>,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Subcommand {
    Run,
    Bench,
    Test,
}

impl CommandLine {
    /// Reads `run OPTIONS -- ARGS`, or `bench`, or `test`.
    pub fn parse(words: &[String]) -> Result<Self, Failure> {
        let (subcommand, rest) = words.split_first().expect("clap asks for a word");
        let subcommand = match &**subcommand {
            "run" | "r" => Subcommand::Run,
            "bench" => Subcommand::Bench,
            "test" | "t" => Subcommand::Test,
            other => {
                return Err(Failure::input(format!(
                    "{other}: no subcommand of cargo's that runs a program"
                ))
                .hint("run, bench or test: `-- run --release --bin prove -- ARGS`"));
            }
        };
        let mut parts = rest.splitn(2, |word| word == "--");
        let mut part = || parts.next().unwrap_or_default().to_vec();
        Ok(Self {
            subcommand,
            options: part(),
            args: part(),
        })
    }

    /// The options among `names` that are given, in the form in which they are, with their values.
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

    /// The values that are given for an option.
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

/// Where and from what both executables are built.
pub struct Builder<'a> {
    /// The folder of the manifest that was named: cargo's configuration is looked up from here.
    pub folder: &'a Path,
    pub command: &'a CommandLine,
    /// The folder of both target folders.
    pub target: &'a Path,
}

impl Builder<'_> {
    /// The values of the command's own `--config`. Files are named from this folder.
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

    /// The setting that makes cargo compile every package that has a path incrementally, whatever the profile says.
    pub fn incremental(&self) -> Result<Option<&'static str>> {
        const VARIABLE: &str = "CARGO_INCREMENTAL";
        const KEY: &str = "build.incremental";
        if let Some(value) = env::var_os(VARIABLE) {
            return Ok((value == "1").then_some(VARIABLE));
        }
        let set = configuration(self.folder, KEY, &self.configs())?;
        Ok((set == true).then_some(KEY))
    }

    /// Builds one side with `overrides`, among them those of the `patched` packages, which the graph `metadata` has.
    pub fn build(
        &self,
        side: Side,
        patched: &[Tree],
        overrides: &[String],
        metadata: &Metadata,
    ) -> Result<Program> {
        // Names of equal length: the paths that end up in the executables move nothing in them.
        let folder = match side {
            Side::Candidate => "cand",
            Side::Baseline | Side::Control => "base",
        };
        let subcommand: &[&str] = match self.command.subcommand {
            Subcommand::Run => &["build"],
            Subcommand::Bench => &["bench", "--no-run"],
            Subcommand::Test => &["test", "--no-run"],
        };
        // Cargo compiles what has a path incrementally, where a profile says so, and what comes from a registry never.
        let alike = ["dev", "release"]
            .map(|profile| format!("profile.{profile}.package.\"*\".incremental=false"));
        let mut build = self.cargo();
        build
            .args(subcommand)
            .args(["--manifest-path", "Cargo.toml"])
            .args(&self.command.options)
            .args(["--message-format", "json-render-diagnostics"])
            .args(
                overrides
                    .iter()
                    .chain(&alike)
                    .flat_map(|value| ["--config", value]),
            )
            .arg("--target-dir")
            .arg(self.target.join(folder))
            // Packages that no patch reaches are compiled once.
            .env("CARGO_BUILD_BUILD_DIR", self.target.join("build"));
        if self.incremental()?.is_some() {
            build.env("CARGO_INCREMENTAL", "0");
        }
        let built = interrupt::output(&mut build)?;
        if !built.status.success() {
            let stderr = String::from_utf8_lossy(&built.stderr);
            eprint!("{stderr}");
            let side = side.name();
            let error = cargo_error(&stderr);
            if let Some(features) = cargo::features_to_enable(&stderr) {
                let hint = format!("give cargo {features} too");
                return Err(Failure::input(error).hint(hint).into());
            }
            let hint = match patched {
                [] => (self.rustflags()?.missed()).unwrap_or_else(|| {
                    "the program has to build without the patches".to_owned()
                }),
                _ => "without the patches it builds; name fewer to find the one that it does not build with".to_owned(),
            };
            return Err(
                Failure::check(format!("the {side} does not build: {error}"))
                    .hint(hint)
                    .into(),
            );
        }
        let mut artifacts = Vec::new();
        for message in Message::parse_stream(&*built.stdout) {
            if let Message::CompilerArtifact(artifact) = message? {
                artifacts.push(artifact);
            }
        }
        let is_of = |tree: &Tree, artifact: &Artifact| {
            artifact.manifest_path.as_std_path() == tree.path.join("Cargo.toml")
        };
        let linked = |tree: &Tree| artifacts.iter().any(|artifact| is_of(tree, artifact));
        if !patched.is_empty() && !patched.iter().any(linked) {
            let packages = patched.iter().map(|tree| tree.package.as_str());
            let packages = packages.collect::<Vec<_>>().join(", ");
            return Err(Failure::input(format!(
                "the program is built without any patched package ({packages})"
            ))
            .hint("name a program of the workspace that uses Plonky3")
            .into());
        }
        self.program(&artifacts, metadata)
    }

    /// The one program among what was built.
    fn program(&self, artifacts: &[Artifact], metadata: &Metadata) -> Result<Program> {
        let tests = self.command.subcommand != Subcommand::Run;
        // Where tests are built, so are the programs that they start.
        let is_program = |artifact: &&Artifact| {
            artifact.executable.is_some()
                && artifact.profile.test == tests
                && !artifact.target.kind.contains(&TargetKind::CustomBuild)
        };
        let mut programs: Vec<_> = artifacts.iter().filter(is_program).collect();
        let is_default = |artifact: &&Artifact| {
            let package = metadata.packages.iter();
            let mut package = package.filter(|package| package.id == artifact.package_id);
            let default = package
                .next()
                .and_then(|package| package.default_run.as_ref());
            default == Some(&artifact.target.name)
        };
        if !tests && programs.len() > 1 && programs.iter().any(is_default) {
            programs.retain(is_default);
        }
        let artifact = match programs[..] {
            [artifact] => artifact,
            [] => {
                let members = metadata.workspace_packages().into_iter();
                let mut targets = members.flat_map(|member| &member.targets);
                let hint = match targets.find(|target| !target.required_features.is_empty()) {
                    Some(off) => format!(
                        "cargo builds `{}` with `--features {}` only",
                        off.name,
                        off.required_features.join(",")
                    ),
                    None => "`--bin`, `--example`, `--bench` or `--test` names one".to_owned(),
                };
                return Err(Failure::input("the command line builds no program to run")
                    .hint(hint)
                    .into());
            }
            [..] => {
                let names = programs
                    .iter()
                    .map(|artifact| artifact.target.name.as_str());
                let names = names
                    .collect::<BTreeSet<_>>()
                    .into_iter()
                    .collect::<Vec<_>>();
                return Err(Failure::input(format!(
                    "the command line builds several programs: {}",
                    names.join(", ")
                ))
                .hint("`--bin`, `--example`, `--bench` or `--test` names one")
                .into());
            }
        };
        let own_folder = artifact.manifest_path.as_std_path().parent();
        let own_folder = own_folder.expect("a manifest lies in a folder").to_owned();
        let mut args = self.command.args.clone();
        if self.command.subcommand == Subcommand::Bench {
            // Tells a harness that it is no test.
            args.push("--bench".to_owned());
        }
        let executable = artifact
            .executable
            .as_ref()
            .expect("has one, by the filter")
            .as_std_path();
        Ok(Program {
            name: artifact.target.name.clone(),
            executable: executable.to_owned(),
            started_as: executable.to_owned(),
            args,
            folder: if tests {
                own_folder.clone()
            } else {
                env::current_dir().context("cannot tell the current folder")?
            },
            package: artifact.package_id.repr.clone(),
            package_folder: own_folder,
        })
    }

    /// The target features that the program is built with, where cargo tells.
    pub fn features(&self, program: &Program) -> Result<BTreeSet<String>> {
        let mut rustc = self.cargo();
        rustc
            .args(["-Z", "unstable-options", "rustc", "--print", "cfg"])
            .args(["--manifest-path", "Cargo.toml"])
            .args(["--package", &program.package])
            .args(
                self.command
                    .given(&["--config", "--profile", "--target", "-Z"]),
            )
            // Printing is not stable yet.
            .env("RUSTC_BOOTSTRAP", "1");
        let printed = interrupt::output(&mut rustc)?.stdout;
        let printed = String::from_utf8_lossy(&printed);
        let quoted = |line: &str| {
            Some(
                line.strip_prefix("target_feature=\"")?
                    .trim_end_matches('"')
                    .to_owned(),
            )
        };
        Ok(printed.lines().filter_map(quoted).collect())
    }

    /// The compiler's flags that cargo takes here.
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
        let mut rustc = in_folder(self.folder, rustc(), "rustc");
        let cfgs = interrupt::output(rustc.args(["--print", "cfg", "--target", &target]))?.stdout;
        Rustflags::read(
            self.folder,
            &configs,
            &target,
            &String::from_utf8_lossy(&cfgs),
        )
    }

    fn cargo(&self) -> Command {
        in_folder(self.folder, cargo(), "cargo")
    }

    /// The compiler of this folder.
    pub fn toolchain(&self) -> Result<Toolchain> {
        Toolchain::of(in_folder(self.folder, rustc(), "rustc"))
    }
}

/// `command` in a folder, or rustup's `proxy` where the folder pins a toolchain: the one of `command` was chosen for the folder
/// that this was started in.
fn in_folder(folder: &Path, command: Command, proxy: &str) -> Command {
    let pins = ["rust-toolchain.toml", "rust-toolchain"];
    let mut above = folder.ancestors();
    let pinned = above.any(|folder| pins.iter().any(|pin| folder.join(pin).exists()));
    let mut command = if pinned { Command::new(proxy) } else { command };
    if pinned {
        command.env_remove("RUSTUP_TOOLCHAIN");
    }
    command.current_dir(folder);
    command
}

/// An executable, and how it is run.
#[derive(Clone)]
pub struct Program {
    pub name: String,
    pub executable: PathBuf,
    /// Its first argument: the path by which cargo would have started it.
    started_as: PathBuf,
    args: Vec<String>,
    /// Where it is run: cargo runs benches and tests in their package's folder.
    pub folder: PathBuf,
    /// As cargo takes it for `--package`.
    package: String,
    package_folder: PathBuf,
}

/// The cost and the output of one run.
pub struct Done {
    pub status: ExitStatus,
    pub wall: Duration,
    pub cpu: Duration,
    /// The most memory that it had resident, where the system tells.
    pub peak_kib: Option<u64>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl Program {
    /// The same program in a file of its own, which lies beside its executable: programs find others there.
    pub fn copied(&self) -> Result<(Self, TempPath)> {
        let from = &self.executable;
        let unwritable = || format!("cannot copy {}", from.display());
        let copy = tempfile::Builder::new()
            .prefix(".copy-")
            .tempfile_in(from.parent().unwrap_or(Path::new(".")))
            .with_context(unwritable)?
            .into_temp_path();
        fs::copy(from, &copy).with_context(unwritable)?;
        let executable = copy.to_path_buf();
        let program = Self {
            executable,
            ..self.clone()
        };
        Ok((program, copy))
    }

    /// Runs it to its end; an interrupt ends it, and all that it has started.
    pub fn run(&self) -> Result<Done> {
        interrupt::check()?;
        // Files: a pipe would have to be read, on a core that the program may want.
        let file = || tempfile::tempfile().context("cannot create a temporary file");
        let (stdout, stderr) = (file()?, file()?);
        let mut command = Command::new(&self.executable);
        #[cfg(unix)]
        command.arg0(&self.started_as);
        command
            .args(&self.args)
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.package_folder)
            .stdin(Stdio::null())
            .stdout(stdout.try_clone()?)
            .stderr(stderr.try_clone()?);
        let own_peak = own_peak_kib();
        let start = Instant::now();
        let mut process = Group::start(&mut command)?;
        let id = process.0.id();
        let (sender, ended) = mpsc::channel();
        thread::spawn(move || {
            let used = process.0.wait4();
            // Nobody listens after an interrupt.
            let _ = sender.send((used, start.elapsed()));
        });
        let (used, wall) = loop {
            match ended.recv_timeout(Duration::from_millis(100)) {
                Ok(ended) => break ended,
                Err(RecvTimeoutError::Disconnected) => unreachable!("the thread sends first"),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = interrupt::check_on(id, &command) {
                        interrupt::end(id);
                        return Err(error);
                    }
                }
            }
        };
        interrupt::check()?;
        let used =
            used.with_context(|| format!("cannot wait for {}", self.executable.display()))?;
        let peak_kib = used.rusage.maxrss / 1024;
        Ok(Done {
            status: used.status,
            wall,
            cpu: used.rusage.utime + used.rusage.stime,
            // Before a process has become the program, it counts the memory of the one that starts it.
            peak_kib: (peak_kib > own_peak).then_some(peak_kib),
            stdout: contents(stdout)?,
            stderr: contents(stderr)?,
        })
    }
}

/// The contents of a file that was written through other handles.
fn contents(mut file: fs::File) -> io::Result<Vec<u8>> {
    use io::{Read, Seek};
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The most memory that this process had resident.
fn own_peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|peak| peak.trim().strip_suffix(" kB"));
    peak.and_then(|peak| peak.parse().ok()).unwrap_or(0)
}
