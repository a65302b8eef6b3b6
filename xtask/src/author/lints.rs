//! Upstream's own checks on patched packages, beside what they say of the packages as published.
//!
//! A newer compiler finds more in a release than the one that it was made with, so what counts is what the patches add.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use cargo_metadata::Message;
use cargo_metadata::diagnostic::{Diagnostic, DiagnosticLevel};

use crate::emulation;
use crate::project::Project;
use crate::test::upstream::Suites;
use p3_patches::catalog::patch::Patch;
use p3_patches::catalog::stack::Stack;
use p3_patches::prover::tree;
use p3_patches::source::package::Package;
use paired::cargo::{Toolchain, cargo, with_rustflags};
use paired::error::Failure;
use paired::interrupt;
use paired::isa::Isa;

/// The settings of `rustfmt.toml` in the root of upstream's repository; tarballs of packages lack it. Its options need a nightly
/// rustfmt. The last one is this tool's: files are named one by one.
const RUSTFMT: &str =
    "group_imports=StdExternalCrate,imports_granularity=Module,skip_children=true";

/// A target without a standard library, which upstream's packages are to build for.
const NO_STD: &str = "thumbv7em-none-eabi";

/// One thing that a check has found.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Finding {
    /// The file, below the workspace's root; empty where a check names none.
    pub file: String,
    pub what: String,
    /// 0 where a check names no line. Lines move from tree to tree, so two findings are compared without.
    pub line: usize,
}

/// The result of a check of packages as published and of patched ones.
pub enum Outcome {
    Ran {
        /// Absent where the release is taken to pass.
        published: Option<usize>,
        patched: usize,
        /// The findings in `patched` that are not among the others.
        new: Vec<Finding>,
    },
    /// The thing that this machine lacks, and how to get it.
    Skipped(String),
}

/// A check of upstream's.
enum Check {
    /// The format of the files that patches change.
    Format(Vec<String>),
    /// Clippy with the lints of upstream's workspace, which the packages' manifests have.
    Clippy(Isa),
    Doc(Isa),
    NoStd,
    Tests {
        parallel: bool,
    },
}

/// Runs upstream's checks on the patches `names` (in series order, with what they need), and gives each one's name and what
/// came of it to `report`.
pub fn run(
    project: &Project,
    base: &str,
    names: &[String],
    mut report: impl FnMut(&str, Outcome),
) -> Result<()> {
    let load = |name: &String| project.catalog.patch(base, name);
    let patches = names.iter().map(load).collect::<Result<Vec<_>>>()?;
    let published = tree::baseline(project.patches(), base, &patches)?;
    let patched = Stack::of(published.clone(), &patches)?.packages;
    let root = project.root.join("target/p3/lints").join(base);
    let host = Toolchain::query()?.host;

    let mut checks = vec![Check::Format(sources(&patches, &patched))];
    checks.extend(isas(&patches).map(Check::Clippy));
    checks.extend(isas(&patches).map(Check::Doc));
    checks.push(Check::NoStd);
    checks.extend([false, true].map(|parallel| Check::Tests { parallel }));

    // Cargo compiles again what has changed: the packages change once.
    let mut before = Vec::new();
    let suites = Suites::write(project, root.clone(), base, &published)?;
    for check in &checks {
        interrupt::check()?;
        let skipped = matches!(check, Check::Tests { .. }) || check.missing().is_some();
        before.push(if skipped {
            None
        } else {
            Some(check.run(&suites, &host)?)
        });
    }
    let suites = Suites::write(project, root, base, &patched)?;
    for (check, before) in checks.iter().zip(before) {
        interrupt::check()?;
        let name = check.to_string();
        if let Some(missing) = check.missing() {
            report(&name, Outcome::Skipped(missing));
            continue;
        }
        let after = check.run(&suites, &host)?;
        let outcome = Outcome::Ran {
            published: before.as_ref().map(Vec::len),
            patched: after.len(),
            new: new(before.unwrap_or_default(), after),
        };
        report(&name, outcome);
    }
    Ok(())
}

/// Returns the instruction sets whose builds the patches change.
fn isas(patches: &[Patch]) -> impl Iterator<Item = Isa> {
    let all = if cfg!(target_arch = "aarch64") {
        vec![Isa::Neon]
    } else {
        vec![Isa::V3, Isa::V4, Isa::V4Ifma, Isa::Neon]
    };
    let changes = |isa: &Isa| patches.iter().any(|patch| patch.header.changes(*isa));
    let isas: Vec<_> = all.into_iter().filter(changes).collect();
    isas.into_iter()
}

/// Returns the sources that the patches change or add, in upstream's paths.
fn sources(patches: &[Patch], packages: &[Package]) -> Vec<String> {
    let files = patches.iter().flat_map(|patch| &patch.files);
    let mut paths = files
        .map(|file| file.path.clone())
        .filter(|path| path.ends_with(".rs"))
        .filter(|path| {
            packages.iter().any(|package| {
                (package.inside(path)).is_some_and(|inside| package.files.contains_key(inside))
            })
        })
        .collect::<Vec<_>>();
    paths.sort();
    paths.dedup();
    paths
}

/// Returns the findings of `after` that `before` does not have: where the same is found more often in a file, the last ones.
pub(super) fn new(before: Vec<Finding>, after: Vec<Finding>) -> Vec<Finding> {
    let mut known = BTreeMap::new();
    for Finding { file, what, .. } in before {
        *known.entry((file, what)).or_insert(0) += 1;
    }
    let is_new = |finding: &Finding| {
        let key = (finding.file.clone(), finding.what.clone());
        match known.get_mut(&key) {
            Some(left @ 1..) => {
                *left -= 1;
                false
            }
            _ => true,
        }
    };
    let mut after = after;
    after.sort();
    after.into_iter().filter(is_new).collect()
}

impl Check {
    /// Returns the thing that this machine lacks, and how to get it.
    fn missing(&self) -> Option<String> {
        let no_rust = |target: &str| {
            (!emulation::has_rust(target))
                .then(|| format!("no Rust for {target}; `rustup target add {target}` installs it"))
        };
        match self {
            Self::Format(_) => {
                let output = interrupt::output(nightly_rustfmt().arg("--version"));
                let there = output.is_ok_and(|output| output.status.success());
                (!there).then(|| {
                    "no nightly rustfmt; `rustup toolchain install nightly --profile minimal --component rustfmt` \
                     installs it"
                        .to_owned()
                })
            }
            Self::Clippy(isa) | Self::Doc(isa) if isa.is_foreign() => no_rust(emulation::TRIPLE),
            Self::NoStd => no_rust(NO_STD),
            Self::Clippy(_) | Self::Doc(_) | Self::Tests { .. } => None,
        }
    }

    /// Runs the check, and returns its findings.
    fn run(&self, suites: &Suites, host: &str) -> Result<Vec<Finding>> {
        let root = &suites.root;
        let mut command = match self {
            Self::Format(files) => return unformatted(root, files),
            Self::Clippy(_) => subcommand(root, &["clippy", "--workspace", "--all-targets"]),
            Self::Doc(_) => subcommand(root, &["doc", "--workspace", "--no-deps"]),
            Self::NoStd => subcommand(root, &["check", "--workspace", "--lib"]),
            Self::Tests { .. } => subcommand(
                root,
                &["test", "--workspace", "--lib", "--tests", "--no-fail-fast"],
            ),
        };
        match self {
            Self::Clippy(isa) | Self::Doc(isa) => {
                // Build scripts run here, whatever this CPU lacks of the instruction set.
                let target = if isa.is_foreign() {
                    emulation::TRIPLE
                } else {
                    host
                };
                command.args(["--target", target]);
                command.env("RUSTDOCFLAGS", isa.rustflags());
                with_rustflags(&mut command, isa.rustflags());
            }
            Self::NoStd => {
                command.args(["--target", NO_STD]);
                with_rustflags(&mut command, "");
            }
            Self::Tests { parallel } => {
                if *parallel {
                    command.arg("--features").arg(suites.parallel.join(","));
                }
                with_rustflags(&mut command, Isa::Native.rustflags());
                return failed_tests(&mut command);
            }
            Self::Format(_) => unreachable!("returned above"),
        }
        command.args(["--message-format", "json"]);
        let output = interrupt::output(&mut command)?;
        let mut findings = diagnostics(&output.stdout)?;
        if !output.status.success() && findings.is_empty() {
            // None of the packages that are looked at fails.
            let stderr = String::from_utf8_lossy(&output.stderr);
            let error = stderr.lines().find(|line| line.starts_with("error"));
            findings.push(Finding {
                file: String::new(),
                what: error.unwrap_or("cargo has failed").to_owned(),
                line: 0,
            });
        }
        Ok(findings)
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format(_) => f.write_str("rustfmt"),
            Self::Clippy(isa) => write!(f, "clippy/{isa}"),
            Self::Doc(isa) => write!(f, "rustdoc/{isa}"),
            Self::NoStd => write!(f, "no_std/{NO_STD}"),
            Self::Tests { parallel: false } => f.write_str("tests"),
            Self::Tests { parallel: true } => f.write_str("tests/parallel"),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&*self.file, self.line) {
            ("", _) => f.write_str(&self.what),
            (file, 0) => write!(f, "{file}: {}", self.what),
            (file, line) => write!(f, "{file}:{line}: {}", self.what),
        }
    }
}

/// Returns the formatter, as rustup has it. Cargo's variable would override the toolchain.
fn nightly_rustfmt() -> Command {
    let mut rustfmt = Command::new("rustup");
    rustfmt.args(["run", "nightly", "rustfmt"]);
    rustfmt.env_remove("RUSTUP_TOOLCHAIN");
    rustfmt
}

/// Returns the files that upstream's formatter would change.
fn unformatted(root: &Path, files: &[String]) -> Result<Vec<Finding>> {
    let there: Vec<_> = (files.iter())
        .filter(|file| root.join(file).is_file())
        .collect();
    if there.is_empty() {
        return Ok(Vec::new());
    }
    let mut rustfmt = nightly_rustfmt();
    rustfmt.args(["--check", "--files-with-diff", "--edition", "2024"]);
    rustfmt.args(["--config", RUSTFMT]).args(there);
    let output = interrupt::output(rustfmt.current_dir(root))?;
    let listed = String::from_utf8(output.stdout).context("rustfmt printed no UTF-8")?;
    // It lists files and fails, or has read none of them.
    if !output.status.success() && listed.is_empty() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let error = stderr.lines().next().unwrap_or("no message");
        return Err(Failure::environment(format!("rustfmt failed: {error}"))
            .hint("`rustup update nightly` brings another one")
            .into());
    }
    let root = root.canonicalize()?;
    let named = listed.lines().map(|line| {
        let path = PathBuf::from(line);
        let file = path.strip_prefix(&root).unwrap_or(&path);
        Finding {
            file: file.to_string_lossy().into_owned(),
            what: "not formatted".to_owned(),
            line: 0,
        }
    });
    Ok(named.collect())
}

/// Returns a subcommand of cargo's in the workspace `root`.
fn subcommand(root: &Path, args: &[&str]) -> Command {
    let mut command = cargo();
    command.args(args).args(["--locked", "--target-dir"]);
    command.arg(root.join("target")).current_dir(root);
    // Nobody runs a debugger on these, and its data takes time to write.
    command.env("CARGO_PROFILE_DEV_DEBUG", "false");
    command
}

/// Returns the warnings and errors among cargo's messages, each once, whatever targets it is found for.
fn diagnostics(messages: &[u8]) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for message in Message::parse_stream(messages) {
        if let Message::CompilerMessage(message) = message? {
            findings.extend(finding(&message.message));
        }
    }
    findings.sort();
    findings.dedup();
    Ok(findings)
}

fn finding(diagnostic: &Diagnostic) -> Option<Finding> {
    let counts = [DiagnosticLevel::Warning, DiagnosticLevel::Error].contains(&diagnostic.level);
    let span = diagnostic.spans.iter().find(|span| span.is_primary);
    // Without a place it is a sum: `3 warnings emitted`.
    let (true, Some(span)) = (counts, span) else {
        return None;
    };
    let code = (diagnostic.code.as_ref()).map_or(String::new(), |code| format!("{}: ", code.code));
    Some(Finding {
        file: span.file_name.clone(),
        what: format!("{code}{}", diagnostic.message),
        line: span.line_start,
    })
}

/// Returns the tests that fail, or why none could be run.
pub(super) fn failed_tests(command: &mut Command) -> Result<Vec<Finding>> {
    let output = interrupt::output(command)?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let mut failed = (stdout.lines())
        .filter(|line| line.starts_with("test ") && line.ends_with(" ... FAILED"))
        .map(str::to_owned)
        .collect::<Vec<_>>();
    if !output.status.success() && failed.is_empty() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let error = stderr.lines().find(|line| line.starts_with("error"));
        failed.push(error.unwrap_or("cargo has failed").to_owned());
    }
    let finding = |what| Finding {
        file: String::new(),
        what,
        line: 0,
    };
    Ok(failed.into_iter().map(finding).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(file: &str, line: usize, what: &str) -> Finding {
        Finding {
            file: file.to_owned(),
            what: what.to_owned(),
            line,
        }
    }

    #[test]
    fn what_the_release_has_too_does_not_count() {
        let before = vec![at("a", 1, "x"), at("a", 5, "x"), at("b", 1, "y")];
        // Moved, found once more, and in another file.
        let after = vec![
            at("a", 11, "x"),
            at("a", 15, "x"),
            at("a", 9, "x"),
            at("c", 1, "y"),
        ];
        assert_eq!(new(before, after), [at("a", 15, "x"), at("c", 1, "y")]);
    }

    /// A lint is found for a library and for its tests; what has no place is a sum of the others.
    #[test]
    fn cargo_messages_are_read() {
        let target = r#"{"kind":["lib"],"crate_types":["lib"],"name":"p3_x","src_path":"/x/src/lib.rs","edition":"2024"}"#;
        let span = r#"{"file_name":"x/src/lib.rs","byte_start":0,"byte_end":1,"line_start":7,"line_end":7,"column_start":1,"column_end":2,"is_primary":true,"text":[],"label":null,"suggested_replacement":null,"suggestion_applicability":null,"expansion":null}"#;
        let message = |level: &str, text: &str, spans: &str| {
            format!(
                r#"{{"reason":"compiler-message","package_id":"x","manifest_path":"/x/Cargo.toml","target":{target},"message":{{"message":"{text}","code":{{"code":"clippy::z","explanation":null}},"level":"{level}","spans":[{spans}],"children":[],"rendered":null}}}}"#
            ) + "\n"
        };
        let lint = message("warning", "a lint", span);
        let messages = [
            &lint,
            &lint,
            &message("warning", "1 warning emitted", ""),
            &message("note", "a note", span),
        ];
        let messages = messages.map(String::as_str).concat();
        let findings = diagnostics(messages.as_bytes()).unwrap();
        assert_eq!(findings, [at("x/src/lib.rs", 7, "clippy::z: a lint")]);
        assert_eq!(findings[0].to_string(), "x/src/lib.rs:7: clippy::z: a lint");
    }
}
