//! The ways in which the stages of `cargo p3 test` check a patch, as a list for its pull request.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::Deserialize;

use crate::metadata::Metadata;
use crate::project::Project;
use p3_patches::catalog::patch::Patch;
use paired::isa::Isa;
use paired::terminal::shown;

/// The modules of a crate's `src/tests.rs` that check the kernel as a whole, in the order of the list.
const MODULES: [(&str, &str); 4] = [
    (
        "differential",
        "Permutations are compared with the published ones and with those of the paper on plain integers.",
    ),
    (
        "bounds",
        "The kernel runs on intervals instead of numbers: no intermediate value wraps.",
    ),
    (
        "smt",
        "z3 proves operations of the kernel's own text for all inputs, and refutes a broken statement beside\n  each (`cargo p3 test --only smt`).",
    ),
    (
        "mutations",
        "Each operation of the kernel is made to go wrong in turn. A test notices, or the list of survivors\n  says why it \
         changes nothing.",
    ),
];

#[derive(Deserialize)]
struct Fuzz {
    features: BTreeMap<String, Vec<String>>,
}

/// Returns a line of Markdown for each kind of test that the patch has.
pub fn markdown(project: &Project, patch: &Patch, base: &str) -> Result<String> {
    let name = &patch.name;
    let krate = project.crates_dir().join(name);
    let mut lines = Vec::new();
    let own = tests_of(&patch.diff());
    lines.push(match own.is_empty() {
        true => "No test is added: upstream's suites of the patched packages run the changed code."
            .to_owned(),
        false => format!("Tests of this change: {}.", own.join(", ")),
    });
    lines.push(format!(
        "Outside of this change, `cargo p3 test` runs upstream's suites on the patched packages, with and without the feature\n  \
         `parallel`, and compares all outputs with those of Plonky3 {base}, bit for bit."
    ));
    let tests = read(&krate.join("src/tests.rs"))?;
    let has = |module: &str| {
        tests
            .lines()
            .any(|line| line.trim() == format!("mod {module};"))
    };
    lines.extend(
        (MODULES.iter())
            .filter(|(module, _)| has(module))
            .map(|(_, what)| (*what).to_owned()),
    );
    lines.extend(of_metadata(&Metadata::of(project, name)?));
    let fuzz = project.root.join("fuzz/Cargo.toml");
    if fuzz.is_file() {
        let Fuzz { features } = toml::from_str(&read(&fuzz)?).with_context(|| shown(&fuzz))?;
        let uses = |needs: &Vec<String>| needs.iter().any(|need| *need == format!("dep:{name}"));
        let targets = features.iter().filter(|(_, needs)| uses(needs));
        lines.extend(targets.map(|(target, _)| {
            format!("A fuzz target runs the kernel on arbitrary inputs and compares its outputs (`ci/fuzz.sh {target}`).")
        }));
    }
    lines.push(format!(
        "`cargo p3 check --upstream-lints {name}` runs upstream's formatting, its lints and a build without `std`."
    ));
    Ok(lines
        .iter()
        .map(|line| format!("- {line}"))
        .collect::<Vec<_>>()
        .join("\n"))
}

/// Returns the names of the tests that a diff adds, as code.
fn tests_of(diff: &str) -> Vec<String> {
    let added = diff.lines().filter_map(|line| line.strip_prefix('+'));
    let mut is_test = false;
    let mut names = Vec::new();
    for line in added.map(str::trim) {
        is_test |= line == "#[test]";
        if let Some(rest) = line.strip_prefix("fn ").filter(|_| is_test) {
            let name = rest.split(['(', '<']).next().unwrap_or_default();
            names.push(format!("`{name}`"));
            is_test = false;
        }
    }
    names
}

/// Returns lines for the tests that the manifest names.
fn of_metadata(metadata: &Metadata) -> Vec<String> {
    let mut lines = Vec::new();
    let isas = Isa::value_variants().iter();
    let wrong: Vec<_> = isas
        .filter(|isa| metadata.has_instructions(**isa))
        .map(Isa::to_string)
        .collect();
    if !wrong.is_empty() {
        lines.push(format!(
            "Each vector instruction is made to go wrong in turn on {}, and tests notice\n  \
             (`cargo p3 test --only 'instructions/*'`).",
            wrong.join(" and ")
        ));
    }
    let miri: Vec<_> = [Isa::V3, Isa::V4Ifma]
        .into_iter()
        .map(|isa| (metadata.miri(isa).count(), isa))
        .filter(|(tests, _)| *tests > 0)
        .map(|(tests, isa)| match tests {
            1 => format!("one test on {isa}"),
            tests => format!("{tests} tests on {isa}"),
        })
        .collect();
    if !miri.is_empty() {
        lines.push(format!(
            "Miri runs {} (`cargo p3 test --only 'miri/*'`).",
            miri.join(" and ")
        ));
    }
    lines
}

/// Reads a file; one that is not there is empty.
fn read(path: &Path) -> Result<String> {
    if !path.is_file() {
        return Ok(String::new());
    }
    fs::read_to_string(path).with_context(|| shown(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_tests_are_named() {
        let diff = "+    #[test]\n+    fn a() {\n+    fn helper() {\n #[test]\n-    fn b() {\n+    #[test]\n+    #[cfg(x)]\n+    fn c() {\n";
        assert_eq!(tests_of(diff), ["`a`", "`c`"]);
    }

    #[test]
    fn tests_of_a_kernel_are_those_that_its_crate_has() {
        let project = Project::at(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
        let has = |name: &str, kinds: [bool; 6]| {
            let base = project.catalog.newest_base_of(name).unwrap();
            let patch = project.catalog.patch(&base, name).unwrap();
            let text = markdown(&project, &patch, &base).unwrap();
            let found = [
                "intervals",
                "z3 ",
                "operation of",
                "instruction is",
                "Miri ",
                "fuzz target",
            ]
            .map(|kind| text.contains(kind));
            assert_eq!(found, kinds, "{text}");
        };
        has("lazy-dot-products", [true; 6]);
        has(
            "neon-batched-permute",
            [false, false, false, true, false, false],
        );
        has("scalar-width12", [false; 6]);
    }
}
