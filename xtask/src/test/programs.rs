//! Stages that run a program on the checkout: cargo, this tool, linters, solvers, fuzzers.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use flate2::read::GzDecoder;

use super::{Need, Work, in_folder, lacks, own, succeed};
use crate::emulation;
use crate::project::Project;
use p3_patches::project::TOOL;
use paired::cargo::cargo;
use paired::files::claimed;
use paired::interrupt;
use paired::terminal::shown;

/// A command of cargo's.
pub struct Cargo(pub &'static [&'static str]);

impl Work for Cargo {
    fn run(&self, project: &Project) -> Result<()> {
        succeed(in_folder(cargo(), &project.root, self.0)).map(drop)
    }
}

/// The tool as it is packed, without the rest of the repository. Cargo would build it, which takes four times as long as to
/// check that nothing is missing.
pub struct Package;

/// The packages that the tool is built from. They have the version of this executable.
const PACKAGES: [&str; 2] = ["paired", TOOL];

impl Work for Package {
    fn run(&self, project: &Project) -> Result<()> {
        let target = project.root.join("target");
        let args = ["package", "--quiet", "--locked", "--allow-dirty"];
        let mut pack = in_folder(cargo(), &project.root, &args);
        pack.arg("--no-verify");
        pack.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
        pack.arg("--target-dir").arg(&target);
        succeed(pack)?;

        // Elsewhere: below this workspace, cargo would miss it among the members.
        let folder = claimed::folder()?;
        let [library, tool] = PACKAGES.map(|package| {
            let package = format!("{package}-{}", env!("CARGO_PKG_VERSION"));
            let packed = target.join(format!("package/{package}.crate"));
            let packed = fs::File::open(&packed)
                .with_context(|| format!("cannot read {}", shown(&packed)))?;
            tar::Archive::new(GzDecoder::new(packed)).unpack(folder.path())?;
            anyhow::Ok(folder.path().join(package))
        });
        // Cargo obeys the configuration of the folder that it runs in. The library is in no registry yet, so that the lock file
        // in the package cannot be kept.
        let args = ["check", "--quiet", "--offline", "--manifest-path"];
        let mut check = in_folder(cargo(), &project.root, &args);
        check.arg(tool?.join("Cargo.toml"));
        let library = toml::Value::String(library?.to_string_lossy().into_owned());
        let library = format!("patch.crates-io.{}.path={library}", PACKAGES[0]);
        check.arg("--config").arg(library);
        check.arg("--target-dir").arg(&target);
        succeed(check).map(drop)
    }
}

/// The tools, checked by the oldest Rust that their manifests promise.
pub struct RustVersion;

impl RustVersion {
    const RUN: [&str; 3] = ["run", env!("CARGO_PKG_RUST_VERSION"), "cargo"];
}

impl Work for RustVersion {
    fn missing(&self, _: &Project) -> Option<String> {
        let [.., version, _] = Self::RUN;
        let is_there = emulation::runs_with("rustup", &[&Self::RUN[..], &["--version"]].concat());
        (!is_there).then(|| format!("no Rust {version} on this machine"))
    }

    fn run(&self, project: &Project) -> Result<()> {
        let args = [
            "check",
            "--quiet",
            "--locked",
            "--target-dir",
            "target/p3/rust-version",
            "--package",
            "paired",
            "--package",
            TOOL,
            "--package",
            "xtask",
        ];
        let mut check = in_folder(Command::new("rustup"), &project.root, &Self::RUN);
        check.args(args);
        succeed(check).map(drop)
    }
}

/// `cargo p3 check`.
pub struct Check;

impl Work for Check {
    fn run(&self, project: &Project) -> Result<()> {
        succeed(own(project, &["check"])?).map(drop)
    }
}

/// A program that a machine may lack, with its arguments, and the files of folders that it reads, by their extension.
pub struct Lint {
    pub program: &'static str,
    pub args: &'static [&'static str],
    pub files: &'static [(&'static str, &'static str)],
}

impl Work for Lint {
    fn missing(&self, _: &Project) -> Option<String> {
        lacks(self.program)
    }

    fn run(&self, project: &Project) -> Result<()> {
        let mut lint = in_folder(Command::new(self.program), &project.root, self.args);
        for (folder, extension) in self.files {
            lint.args(files(project, folder, extension)?);
        }
        succeed(lint).map(drop)
    }
}

/// A Go program beside `crates/testing/reference/poseidon.py`, which compares the known answers with another implementation's.
pub struct Judge(pub &'static str);

impl Work for Judge {
    fn missing(&self, _: &Project) -> Option<String> {
        (!emulation::runs_with("go", &["version"])).then(|| "no go on this machine".to_owned())
    }

    fn run(&self, project: &Project) -> Result<()> {
        let folder = format!("crates/testing/reference/{}", self.0);
        let args = ["run", "-C", &folder, "-mod=readonly", ".", "../../vectors"];
        succeed(in_folder(Command::new("go"), &project.root, &args)).map(drop)
    }
}

/// Returns the files of a folder with this extension, below the project's root.
fn files(project: &Project, folder: &str, extension: &str) -> Result<Vec<String>> {
    let path = project.root.join(folder);
    let entries = fs::read_dir(&path).with_context(|| format!("cannot read {}", shown(&path)))?;
    let mut files = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        if Path::new(&name)
            .extension()
            .is_some_and(|found| found == extension)
        {
            files.push(format!("{folder}/{}", name.to_string_lossy()));
        }
    }
    files.sort();
    Ok(files)
}

/// `cargo deny` on the workspace of this manifest, and what it checks.
pub struct Deny(pub &'static str, pub &'static [&'static str]);

const DENY: &str = "cargo-deny";

/// The check of `cargo deny` that needs a database, which is fetched.
pub const ADVISORIES: &[&str] = &["advisories"];

/// The checks of `cargo deny` that read the packages only.
pub const SOURCES: &[&str] = &["bans", "licenses", "sources"];

impl Work for Deny {
    fn need(&self) -> Option<Need> {
        (self.1 == ADVISORIES).then_some(Need::Advisories)
    }

    fn missing(&self, _: &Project) -> Option<String> {
        let fetched = || (self.1 == ADVISORIES).then(no_advisories).flatten();
        lacks(DENY).or_else(fetched)
    }

    fn run(&self, project: &Project) -> Result<()> {
        let args = ["--offline", "--locked", "--config", "deny.toml"];
        let mut deny = in_folder(Command::new(DENY), &project.root, &args);
        deny.args(["--manifest-path", self.0, "check"]);
        deny.args(self.1);
        succeed(deny).map(drop)
    }
}

/// Says why there is no database of advisories, if there is none that is up to date.
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

/// The packages with integration tests.
const TOOLS: [&str; 2] = [TOOL, env!("CARGO_PKG_NAME")];

/// Integration tests of the tools, which the stage of that name has built; arguments that follow are theirs.
fn integration(project: &Project, test: &str) -> Command {
    let mut command = in_folder(cargo(), &project.root, &["test", "--quiet", "--locked"]);
    command.args(TOOLS.iter().flat_map(|tool| ["--package", tool]));
    command.args(["--test", test, "--"]);
    command
}

/// Integration tests that are ignored where nobody asks for them.
fn ignored(project: &Project, test: &str) -> Command {
    let mut command = integration(project, test);
    command.arg("--ignored");
    command
}

/// The tests that kill the tool, at more moments than in every run.
pub struct Killed;

impl Work for Killed {
    fn run(&self, project: &Project) -> Result<()> {
        let mut test = integration(project, "cli");
        test.arg("killed").env("KILLS", "100");
        succeed(test).map(drop)
    }
}

/// Tests that run what a cross compiler makes in the emulator.
pub struct Emulator;

impl Work for Emulator {
    fn missing(&self, _: &Project) -> Option<String> {
        emulation::missing().map(|what| format!("{what} on this machine"))
    }

    fn run(&self, project: &Project) -> Result<()> {
        succeed(ignored(project, "count")).map(drop)
    }
}

/// Tests that make file systems read-only or full, in namespaces of their own.
pub struct Sandbox;

impl Work for Sandbox {
    fn need(&self) -> Option<Need> {
        Some(Need::Sandbox)
    }

    fn missing(&self, _: &Project) -> Option<String> {
        let unshare = ["--user", "--map-root-user", "--mount", "--net", "true"];
        let output = interrupt::output(Command::new("unshare").args(unshare));
        let made = output.is_ok_and(|output| output.status.success());
        (!made).then(|| "no user namespaces on this machine".to_owned())
    }

    fn run(&self, project: &Project) -> Result<()> {
        succeed(ignored(project, "cli")).map(drop)
    }
}

/// The example's prover, without patches and with all of them.
pub struct Example;

impl Work for Example {
    fn run(&self, project: &Project) -> Result<()> {
        succeed(ignored(project, "example")).map(drop)
    }
}

/// Fuzz targets: one runs while another is built.
pub struct Fuzz(pub &'static [&'static str]);

impl Work for Fuzz {
    fn need(&self) -> Option<Need> {
        Some(Need::Fuzz)
    }

    fn missing(&self, _: &Project) -> Option<String> {
        // libFuzzer is written in C++.
        lacks("cargo-fuzz").or_else(|| lacks("c++"))
    }

    fn run(&self, project: &Project) -> Result<()> {
        let mut test = ignored(project, "fuzz");
        test.arg("--exact").args(self.0);
        let output = succeed(test)?;
        let printed = String::from_utf8_lossy(&output.stdout);
        if !printed.contains(&format!(" {} passed;", self.0.len())) {
            bail!("not all of these fuzz targets ran: {}", self.0.join(", "));
        }
        Ok(())
    }
}

/// Tests that look at a report's page in Chromium.
pub struct Browser;

/// Chromium's names, by who packages it.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

impl Browser {
    fn program() -> Option<&'static str> {
        BROWSERS.into_iter().find(|name| emulation::runs(name))
    }
}

impl Work for Browser {
    fn need(&self) -> Option<Need> {
        Some(Need::Browser)
    }

    fn missing(&self, _: &Project) -> Option<String> {
        let missing = Self::program().is_none();
        missing.then(|| format!("no {} on this machine", BROWSERS.join(", no ")))
    }

    fn run(&self, project: &Project) -> Result<()> {
        let mut test = ignored(project, "report");
        test.env("CHROMIUM", Self::program().unwrap_or_default());
        succeed(test).map(drop)
    }
}
