//! A patch on a newer release than the one that it is for: where its hunks stand now, and whether it compiles.

use std::fmt::Write as _;
use std::ops::Range;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use diffy::Line;

use crate::author::lints::{self, Finding};
use crate::emulation;
use crate::project::Project;
use crate::test::upstream::{self as suites, Suites};
use p3_patches::catalog::diff::{Change, FilePatch};
use p3_patches::catalog::patch::Patch;
use p3_patches::catalog::placement::{Misfit, Spot, offsets};
use p3_patches::catalog::stack::Stack;
use p3_patches::source::lock::Seed;
use p3_patches::source::package::Package;
use paired::cargo::{Toolchain, cargo, with_rustflags};
use paired::files::changed::write_changed;
use paired::interrupt;
use paired::isa::Isa;
use paired::terminal::print_line;

/// Lines of a difference that are shown; what changed more than that is read in the sources.
const SHOWN: usize = 40;

/// Where the hunks of one file stand now.
pub struct Moved {
    path: String,
    /// The hunks that stand elsewhere, and how far away.
    offsets: Vec<(usize, isize)>,
    /// Why the others have no place, and what is there now.
    pub problems: Vec<String>,
}

/// Applies `patch` to `then`, the release that it is for, and as far as it goes to `now`; what both already hold is the
/// patches that it needs.
pub fn carry(patch: &Patch, base: &str, then: &mut Stack, now: &mut Stack) -> Result<Vec<Moved>> {
    let mut files = Vec::new();
    for file in &patch.files {
        let before = then.text(patch, file)?.unwrap_or_default();
        let found = now.text(patch, file)?;
        let creates = file.change == Change::Create;
        let mut moved = Moved {
            path: file.path.clone(),
            offsets: Vec::new(),
            problems: Vec::new(),
        };
        match found {
            Some(_) if creates => moved
                .problems
                .push("the release has such a file".to_owned()),
            found => {
                let here = if found.is_some() || creates {
                    now.place(patch, file)?
                } else {
                    file.spots("")
                };
                moved.offsets = offsets(here.iter().flatten());
                let (package, _) = now.owner(patch, file)?;
                let found = found.as_deref().or(creates.then_some(""));
                moved.problems = problems(file, base, &before, found, here, &now.packages[package]);
            }
        }
        files.push(moved);
    }
    then.apply(patch)?;
    Ok(files)
}

/// Says why hunks of `file` that have a place in `before` have none in `found`, what `package` has in its place.
fn problems(
    file: &FilePatch,
    base: &str,
    before: &str,
    found: Option<&str>,
    here: Vec<Result<Spot, Misfit>>,
    package: &Package,
) -> Vec<String> {
    let there = file.spots(before);
    let count = here.len();
    let mut problems = Vec::new();
    if found.is_none() {
        problems.push("the file is gone".to_owned());
    }
    for (there, here) in there.into_iter().zip(here) {
        let (Ok(Spot { hunk, lines, .. }), Err(misfit)) = (there, here) else {
            continue;
        };
        let (first, last) = (lines.start + 1, lines.end);
        let which = format!("hunk {hunk} of {count}: lines {first} to {last} of {base}");
        let old = before.split_inclusive('\n').skip(lines.start);
        let old = old.take(lines.len()).collect::<String>();
        let changes = found.map(|found| differences(before, found, &lines));
        problems.push(if changes.as_ref().is_some_and(String::is_empty) {
            misfit.describe(&format!("of {count} hunks"))
        } else if let Some(place) = stands_in(&old, package) {
            format!("{which} are now in {place}")
        } else if let Some(changes) = changes {
            format!("{which} have changed\n{changes}")
        } else {
            format!("{which} are in no other file")
        });
    }
    problems
}

/// Returns the file and the line at which the lines `old` stand in `package`.
fn stands_in(old: &str, package: &Package) -> Option<String> {
    package.files.iter().find_map(|(path, contents)| {
        let text = str::from_utf8(contents).ok()?;
        let (before, _) = text.split_once(old)?;
        let line = before.lines().count() + 1;
        let whole = before.is_empty() || before.ends_with('\n');
        whole.then(|| format!("{}/{path}, from line {line} on", package.folder))
    })
}

/// Tells how `found` differs from `before` in these lines of the latter, counted from 0.
fn differences(before: &str, found: &str, lines: &Range<usize>) -> String {
    let diff = diffy::DiffOptions::new()
        .set_context_len(0)
        .create_patch(before, found);
    let mut shown = Vec::new();
    for hunk in diff.hunks() {
        let (start, len) = (hunk.old_range().start(), hunk.old_range().len());
        // An empty range names the line before it, and touches these lines where it is between two of them.
        let touches = match len {
            0 => lines.start < start && start < lines.end,
            _ => start - 1 < lines.end && lines.start < start - 1 + len,
        };
        if !touches {
            continue;
        }
        shown.push(format!("@@ -{} +{} @@", hunk.old_range(), hunk.new_range()));
        let mut at = start.saturating_sub(1);
        for line in hunk.lines() {
            match line {
                Line::Insert(line) => shown.push(format!("+{}", line.trim_end())),
                Line::Context(line) | Line::Delete(line) => {
                    if lines.contains(&at) {
                        shown.push(format!("-{}", line.trim_end()));
                    }
                    at += 1;
                }
            }
        }
    }
    if let Some(more @ 1..) = shown.len().checked_sub(SHOWN) {
        shown.truncate(SHOWN);
        shown.push(format!("[.. {more} lines more]"));
    }
    shown.join("\n")
}

impl Moved {
    /// Returns a line for the file, and what has changed below it.
    pub fn describe(&self) -> String {
        let mut lines = Vec::new();
        let offsets = (self.offsets.iter())
            .map(|(hunk, offset)| format!("{hunk} ({offset:+})"))
            .collect::<Vec<_>>();
        if !offsets.is_empty() {
            lines.push(format!("at an offset: hunk {}", offsets.join(", ")));
        }
        lines.extend(self.problems.iter().cloned());
        if lines.is_empty() {
            lines.push("applies".to_owned());
        }
        let mut report = String::new();
        for line in lines {
            writeln!(
                report,
                "      {}: {}",
                self.path,
                line.replace('\n', "\n        ")
            )
            .expect("writing to a string");
        }
        report
    }
}

/// Compiles and tests patched packages.
pub struct Builds<'p> {
    project: &'p Project,
    /// The release.
    to: &'p str,
    dir: PathBuf,
    host: String,
    isas: Vec<Isa>,
    test: bool,
}

impl<'p> Builds<'p> {
    pub fn new(project: &'p Project, to: &'p str, test: bool) -> Result<Self> {
        let isas = if cfg!(target_arch = "aarch64") {
            vec![Isa::Neon]
        } else if emulation::has_rust(emulation::TRIPLE) {
            vec![Isa::V3, Isa::V4, Isa::V4Ifma, Isa::Neon]
        } else {
            let triple = emulation::TRIPLE;
            eprintln!("note: nothing is compiled for neon: no Rust for {triple}");
            vec![Isa::V3, Isa::V4, Isa::V4Ifma]
        };
        Ok(Self {
            project,
            to,
            dir: project.root.join("target/p3/drift").join(to),
            host: Toolchain::query()?.host,
            isas,
            test,
        })
    }

    /// Returns the instruction sets whose builds a patch changes.
    fn isas(&self, patch: &Patch) -> impl Iterator<Item = Isa> {
        (self.isas.iter().copied()).filter(|isa| patch.header.changes(*isa))
    }

    /// Says what `packages`, which have `patch`, do; as an error, the first failure that the packages as `published` do not share.
    pub fn outcome(
        &self,
        patch: &Patch,
        packages: &[Package],
        published: &[Package],
    ) -> Result<Result<String, String>> {
        let mut compiles = Vec::new();
        for isa in self.isas(patch) {
            let Some(error) = self.check(isa, packages)? else {
                compiles.push(isa.to_string());
                continue;
            };
            match self.check(isa, published)? {
                None => return Ok(Err(format!("does not compile for {isa}: {error}"))),
                Some(error) => {
                    let release = self.to;
                    let note = format!(
                        "Plonky3 {release} as published does not compile for {isa}: {error}"
                    );
                    print_line("note", &note);
                }
            }
        }
        let mut said = match &*compiles {
            [] => "applies; compiles nowhere, as published".to_owned(),
            isas => format!("applies; compiles for {}", isas.join(", ")),
        };
        if self.test {
            let failed = self.suites(patch, packages)?;
            said += match failed.is_empty() {
                true => "; suites pass",
                false => match lints::new(self.suites(patch, published)?, failed).first() {
                    Some(test) => return Ok(Err(format!("upstream's suites fail: {test}"))),
                    None => "; suites fail in what fails as published, too",
                },
            };
        }
        Ok(Ok(said))
    }

    /// Returns the compiler's errors about `packages`; none where they compile.
    fn check(&self, isa: Isa, packages: &[Package]) -> Result<Option<String>> {
        let root = self.dir.join("check");
        let mut manifest =
            "[package]\nname = \"drift\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
                            [workspace]\n\n[dependencies]\n"
                .to_owned();
        let mut overrides = "\n[patch.crates-io]\n".to_owned();
        let mut seed = Seed::new(self.project.patches(), self.to)?;
        for package in packages {
            seed.add(package)?;
            let Package {
                name,
                folder,
                files,
                ..
            } = package;
            // Beside the workspace: what is below it would be a part of it.
            suites::write(
                &self.dir.join("packages").join(folder),
                files,
                &files["Cargo.toml"],
            )?;
            manifest += &format!("{name} = \"={}\"\n", self.to);
            overrides += &format!("{name} = {{ path = \"../packages/{folder}\" }}\n");
        }
        write_changed(&root.join("Cargo.toml"), (manifest + &overrides).as_bytes())?;
        write_changed(&root.join("src/lib.rs"), b"")?;
        seed.resolve(&root, &[])?;

        let mut check = cargo();
        check.args(["check", "--quiet", "--locked", "--target-dir"]);
        check.arg(self.dir.join("target"));
        check.current_dir(&root);
        // Build scripts run here, whatever this CPU lacks of the instruction set.
        check.arg("--target").arg(if isa.is_foreign() {
            emulation::TRIPLE
        } else {
            &self.host
        });
        failed(with_rustflags(&mut check, isa.rustflags()))
    }

    /// Returns the tests that fail of upstream's suites on the packages that `patch` touches.
    fn suites(&self, patch: &Patch, packages: &[Package]) -> Result<Vec<Finding>> {
        let root = self.dir.join("suites");
        let suites = Suites::write(self.project, root, self.to, packages)?;
        let mut test = cargo();
        test.args([
            "test",
            "--no-fail-fast",
            "--locked",
            "--lib",
            "--tests",
            "--target-dir",
        ]);
        test.arg(self.dir.join("target"));
        for package in &patch.header.packages {
            test.args(["--package", package]);
        }
        test.current_dir(&suites.root);
        test.env("CARGO_PROFILE_DEV_DEBUG", "false");
        lints::failed_tests(with_rustflags(&mut test, Isa::Native.rustflags()))
    }
}

/// Runs cargo; the first error that is printed, and where it is.
fn failed(command: &mut Command) -> Result<Option<String>> {
    let output = interrupt::output(command)?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let mut lines = stderr.lines().skip_while(|line| !line.starts_with("error"));
    let error = lines.next().unwrap_or("no message from cargo");
    let place = lines.find_map(|line| line.trim_start().strip_prefix("--> "));
    let error = match place {
        Some(place) => format!("{error}, at {place}"),
        None => error.to_owned(),
    };
    Ok((!output.status.success()).then_some(error))
}
