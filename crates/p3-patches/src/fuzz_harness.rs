//! One patch, from its text to a tree on disk and back: what the fuzz target `patch` runs, and the tests of what it found.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use walkdir::WalkDir;

use crate::catalog::patch::{Addition, END, Patch};
use crate::catalog::stack::Stack;
use crate::prover::tree;
use crate::source::package::Package;
use paired::files::dir::Dir;

/// The header of a diff that comes without one.
const HEADER: &str = "\
Title: perf(demo): less
Packages: p3-demo
Bases: 0.8.0
Risk: low
Forwarded: not yet
Applied-Upstream: no

Why.
---
";

/// The text of every kernel.
const KERNEL: &str = "//! A kernel.\n\nno line end";

/// The package that patches are tried on, by file.
const FILES: [(&str, &str); 4] = [
    ("Cargo.toml", "[package]\nname = \"p3-demo\"\n"),
    ("src/lib.rs", "mod a;\n\nmod b;\n\nmod c;\n"),
    ("src/a.rs", "one\ntwo\none\ntwo\nthree\n"),
    ("src/b.rs", "no line end"),
];

/// Parses a patch, applies it, writes the tree to a temporary folder, and takes the patch back. A text without the line
/// between header and diff is taken for a diff.
///
/// # Panics
///
/// If a file is not where the tree is, a manifest has changed, or the patch applied where it says and cannot be taken back.
pub fn run(text: &[u8]) -> Result<()> {
    let text = str::from_utf8(text)?;
    let text = if text.contains("\n---\n") {
        text.to_owned()
    } else {
        format!("{HEADER}{text}{END}")
    };
    let kernel = |_: &str| Ok(Some(KERNEL.as_bytes().into()));
    let patch = Patch::parse("hostile", "hostile.patch", &text, kernel)?;
    for kernels in [&patch.header.kernels[..], &[]] {
        let ported = patch.text("0.6.3", kernels);
        let ported = Patch::parse("hostile", "ported.patch", &ported, kernel)?;
        assert!(ported.header.bases.contains(&"0.6.3".to_owned()));
        assert_eq!(ported.header.title, patch.header.title);
        assert_eq!(ported.header.kernels, kernels);
        assert_eq!(ported.diff(), patch.diff());
    }
    let _ = (patch.header.merged(), patch.header.inert(&["aarch64"]));
    for Addition { place, .. } in patch.additions() {
        assert!(!place.split('/').any(|part| part == ".."), "{place}");
    }
    for file in &patch.files {
        let _ = file.spots(FILES[2].1);
    }

    let published = files();
    let mut stack = Stack::new(vec![Package {
        name: "p3-demo".to_owned(),
        version: "0.8.0".to_owned(),
        folder: "demo".to_owned(),
        commit: String::new(),
        checksum: String::new(),
        vendored: None,
        files: published.clone(),
    }]);
    stack.apply(&patch)?;
    let files = &stack.packages[0].files;
    assert_eq!(files["Cargo.toml"], published["Cargo.toml"]);

    let sandbox = tempfile::tempdir()?;
    let trees = sandbox.path().join("trees");
    let folder = Dir::create(&trees)?.create_folder("tree")?;
    tree::write_files(&folder, files).expect("files that can be written");
    let found = below(sandbox.path())?;
    let expected = files
        .iter()
        .map(|(path, contents)| (format!("trees/tree/{path}"), contents.clone()));
    assert_eq!(found, expected.collect(), "the sandbox");

    stack.take_back(&patch)?;
    assert_eq!(stack.packages[0].files, published);
    Ok(())
}

fn files() -> BTreeMap<String, Vec<u8>> {
    let owned = |(path, text): (&str, &str)| (path.to_owned(), text.as_bytes().to_vec());
    FILES.map(owned).into()
}

/// Returns every file below `folder`, by its path from there. What is neither a file nor a folder has no contents.
fn below(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut found = BTreeMap::new();
    for entry in WalkDir::new(folder) {
        let entry = entry?;
        let kind = entry.file_type();
        if kind.is_dir() {
            continue;
        }
        let path = entry.path().strip_prefix(folder).expect("found below it");
        let contents = if kind.is_file() {
            fs::read(entry.path())?
        } else {
            Vec::new()
        };
        let path = path.to_str().context("not UTF-8")?;
        found.insert(path.to_owned(), contents);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the diff of a file of [`FILES`].
    fn modify(file: &str, hunks: &str) -> String {
        let path = format!("demo/src/{file}");
        format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n{hunks}")
    }

    fn create(path: &str, hunks: &str) -> String {
        format!(
            "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n{hunks}"
        )
    }

    #[track_caller]
    fn refused(text: &str, why: &str) {
        let error = format!("{:#}", run(text.as_bytes()).unwrap_err());
        assert!(error.contains(why), "{error}");
    }

    #[test]
    fn there_and_back() {
        run(modify("a.rs", "@@ -4,2 +4,2 @@\n two\n-three\n+3\n").as_bytes()).unwrap();
        run(create("demo/src/d.rs", "@@ -0,0 +1 @@\n+d\n").as_bytes()).unwrap();
        let end = "-no line end\n\\ No newline at end of file\n+line end\n";
        run(modify("b.rs", &format!("@@ -1 +1 @@\n{end}")).as_bytes()).unwrap();
    }

    /// The kernel has no line end, and goes into the diff and out of it.
    #[test]
    fn a_kernel_there_and_back() {
        let field = "p3-demo\nKernels: demo/src/avx2/d.rs\n";
        let header = HEADER.replace("p3-demo\n", field);
        let hunk = modify("a.rs", "@@ -5 +5 @@\n-three\n+3\n");
        run([&header, &hunk, END].concat().as_bytes()).unwrap();
        let twice = create("demo/src/avx2/d.rs", "@@ -0,0 +1 @@\n+d\n");
        refused(&[&header, &twice, END].concat(), "which the diff has too");
        let outside = header.replace("src/avx2", "src/..");
        refused(&[&outside, &hunk, END].concat(), "the path leaves the tree");
    }

    #[test]
    fn a_new_file_with_old_lines() {
        let why = "hunk 1 has lines of a file that is not there";
        refused(&create("demo/src/d.rs", "@@ -1 +1,2 @@\n one\n+d\n"), why);
        refused(&create("demo/src/d.rs", "@@ -7,0 +8 @@\n+d\n"), why);
    }

    #[test]
    fn numbers_that_contradict_each_other() {
        let why = "of the new one, which cannot be";
        for header in [
            "-3 +1",
            "-0 +0",
            "-5 +6",
            "-9223372036854775809 +9223372036854775809",
            "-18446744073709551614 +18446744073709551614",
        ] {
            let hunk = format!("@@ {header} @@\n-three\n+3\n");
            refused(&modify("a.rs", &hunk), why);
        }
    }

    #[test]
    fn a_line_far_beyond_the_file() {
        let hunk = "@@ -9223372036854775808 +9223372036854775808 @@\n-three\n+3\n";
        run(modify("a.rs", hunk).as_bytes()).unwrap();
    }

    #[test]
    fn lines_after_one_that_does_not_end() {
        let end = "\\ No newline at end of file\n";
        let hunk = format!("@@ -4 +4,2 @@\n+2\n{end} two\n");
        refused(&modify("a.rs", &hunk), "goes on after the end of a file");
        let hunk = format!("@@ -2 +2 @@\n-two\n+2\n{end}");
        refused(&modify("a.rs", &hunk), "does not apply");
        let hunk = "@@ -1,0 +2 @@\n+more\n";
        refused(&modify("b.rs", hunk), "hunk 1 differs at line 1");
    }

    #[test]
    fn a_file_below_a_file() {
        let why = "one is the other's folder";
        refused(&create("demo/src/a.rs/x", "@@ -0,0 +1 @@\n+x\n"), why);
        refused(&create("demo/src", "@@ -0,0 +1 @@\n+x\n"), why);
    }

    #[test]
    fn a_manifest_on_a_file_system_without_case() {
        let why = "manifests are never patched";
        refused(&create("demo/cargo.toml", "@@ -0,0 +1 @@\n+x\n"), why);
    }

    #[test]
    fn a_path_that_no_file_system_takes() {
        let path = format!("demo/{}", "x".repeat(255));
        refused(
            &create(&path, "@@ -0,0 +1 @@\n+x\n"),
            "the path is too long",
        );
    }

    #[test]
    fn a_title_that_looks_like_a_field() {
        let hunk = modify("a.rs", "@@ -5 +5 @@\n-three\n+3\n");
        let header = HEADER.replace("perf(demo): less", "Bases: 0.8.0");
        run([&header, &hunk, END].concat().as_bytes()).unwrap();
    }
}
