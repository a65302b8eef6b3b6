//! drift, and refresh onto another release: p3-util 0.4.0 against 0.4.3, between which lines have moved and changed, and a
//! file is gone.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;

use crate::fixture::{Fixture, KERNEL, adds, assert_ended, write};
use crate::killer::refusing_cargo;

/// A project with these patches of p3-util 0.4.0: name, what it needs, diff.
fn project(patches: &[(&str, &str, &str)]) -> Fixture {
    let fixture = Fixture::new().with_older_base();
    fixture.cargo(&["update", "--precise", "0.4.3", "p3-util"]);
    fixture.cargo(&["fetch"]);
    let folder = fixture.project().join("patches");
    fs::remove_dir_all(folder.join("0.8.0")).unwrap();
    fs::remove_file(folder.join("0.4.0/demo.patch")).unwrap();
    let mut series = String::new();
    for (name, needs, diff) in patches {
        let (needs, field) = match *needs {
            "" => (String::new(), String::new()),
            needs => {
                let field = needs.replace(' ', ", ");
                (format!(" needs: {needs}"), format!("Needs: {field}\n"))
            }
        };
        series += &format!("{name}{needs}\n");
        let text = format!(
            "Title: perf(util): {name}\nPackages: p3-util\nBases: 0.4.0\n{field}Risk: low\nForwarded: not yet\n\
             Applied-Upstream: no\n\nWhy.\n---\n{diff}-- \np3-patches\n"
        );
        write(&folder.join(format!("0.4.0/{name}.patch")), &text);
    }
    write(&folder.join("series"), &series);
    fixture
}

/// A comment that stands four lines further down in 0.4.3.
const OFFSET: &str = "\
diff --git a/util/src/lib.rs b/util/src/lib.rs
--- a/util/src/lib.rs
+++ b/util/src/lib.rs
@@ -219,7 +219,7 @@ unsafe fn reverse_slice_index_bits_chunks<F>(
     lb_chunk_size: usize,
 ) {
     for i in 0..1usize << lb_num_chunks {
-        // `wrapping_shr` handles the silly case when `lb_num_chunks == 0`.
+        // `wrapping_shr` handles the odd case when `lb_num_chunks == 0`.
         let j = i
             .reverse_bits()
             .wrapping_shr(usize::BITS - lb_num_chunks as u32);
";

/// A function of which 0.4.3 has made a `const` one, and a file that has another name there.
const CHANGED: &str = "\
diff --git a/util/src/lib.rs b/util/src/lib.rs
--- a/util/src/lib.rs
+++ b/util/src/lib.rs
@@ -36,7 +36,7 @@ pub fn log2_ceil_u64(n: u64) -> u64 {
 /// Panics if `n` is not a power of two.
 #[must_use]
 #[inline]
-pub fn log2_strict_usize(n: usize) -> usize {
+pub fn log2_strict_usize(n: usize) -> usize { // Exact.
     let res = n.trailing_zeros();
     assert_eq!(n.wrapping_shr(res), 1, \"Not a power of two: {n}\");
     // Tell the optimizer about the semantics of `log2_strict`. i.e. it can replace `n` with
diff --git a/util/src/transpose.rs b/util/src/transpose.rs
--- a/util/src/transpose.rs
+++ b/util/src/transpose.rs
@@ -1,3 +1,4 @@
+// First.
 use core::ptr::{swap, swap_nonoverlapping};
 #[cfg(feature = \"parallel\")]
 use core::sync::atomic::{AtomicPtr, Ordering};
";

#[test]
fn what_has_moved_is_printed() {
    let broken = OFFSET.replace("+        //", "+        let _: u32 = i; //");
    let stacked = OFFSET.replace("odd", "very odd").replace("silly", "odd");
    let fixture = project(&[
        ("offset", "", OFFSET),
        ("changed", "", CHANGED),
        ("stacked", "offset changed", &stacked),
        ("broken", "", &broken),
        ("merged", "", OFFSET),
    ]);
    let merged = fixture.project().join("patches/0.4.0/merged.patch");
    let text = fs::read_to_string(&merged).unwrap();
    write(
        &merged,
        &text.replace("Applied-Upstream: no", "Applied-Upstream: 0.4.2"),
    );
    let drift = fixture.fetching(&["drift", "--to", "0.4.3"]).output();
    let drift = fixture.transcript(&drift.unwrap());
    // The instruction sets depend on the machine.
    let lines = drift.lines().map(|line| {
        let (line, error) = line.split_once(" for x86-64-v3: ").unwrap_or((line, ""));
        let line = line
            .split_once("; compiles for ")
            .map_or(line, |(line, _)| line);
        [line, ": ", error]
            .concat()
            .trim_end_matches(": ")
            .to_owned()
    });
    let lines = lines.filter(|line| !line.starts_with("note: nothing is compiled"));
    assert_snapshot!("drift", lines.collect::<Vec<_>>().join("\n"));

    // A patch that still applies to the newest release, which cargo tells.
    write(&fixture.project().join("patches/series"), "offset\n");
    let cargo = fixture.path().join("cargo");
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = info ]; then\n  case $PWD in */project/*) echo 'version: 0.4.0 (latest 0.4.3)';; esac\nelse\n  exec {} \"$@\"\nfi\n",
        env!("CARGO")
    );
    write(&cargo, &script);
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    let output = fixture.fetching(&["drift"]).env("CARGO", &cargo).output();
    let drift = fixture.transcript(&output.unwrap());
    assert!(
        drift.starts_with("exit 0\n--- stdout\nPlonky3 0.4.3, patches for 0.4.0\nok    offset: applies; compiles for "),
        "{drift}"
    );
}

/// Changes that merge become the patch for the other release; others are left in the repository, between markers.
#[test]
fn a_patch_is_merged_into_another_release() {
    let stacked = OFFSET.replace("odd", "very odd").replace("silly", "odd");
    let fixture = project(&[
        ("offset", "", OFFSET),
        ("changed", "", CHANGED),
        ("stacked", "offset changed", &stacked),
    ]);
    let patch = |release: &str, name: &str| {
        let folder = fixture.project().join("patches").join(release);
        folder.join(format!("{name}.patch"))
    };
    let read = |release: &str, name: &str| fs::read_to_string(patch(release, name)).unwrap();
    let onto = |name: &str| fixture.run(&["refresh", name, "--onto", "0.4.3"]);

    assert_snapshot!("onto_without_needs", onto("stacked"));
    // Without a name, in the order of the series, as far as that goes.
    let merged = fixture.run(&["refresh", "--onto", "0.4.3"]);
    assert_snapshot!("onto_with_conflicts", merged);
    // The new text serves the older release.
    let text = read("0.4.3", "offset");
    assert!(text.contains("\nBases: 0.4.3, 0.4.0\n"), "{text}");
    assert!(text.contains("@@ -223,7 +223,7 @@"));
    assert!(!patch("0.4.0", "offset").exists());
    assert_snapshot!("onto_again", onto("offset"));

    let repository = fixture.project().join(".p3-patches/edit/changed/util/src");
    let lib = repository.join("lib.rs");
    let conflict = fs::read_to_string(&lib).unwrap();
    let (before, rest) = conflict.split_once("<<<<<<< ").unwrap();
    let (_, after) = rest.split_once(">>>>>>> ").unwrap();
    let (_, after) = after.split_once('\n').unwrap();
    assert_snapshot!("refresh_with_markers", fixture.run(&["refresh", "changed"]));
    assert!(!patch("0.4.3", "changed").exists());

    let resolved = "pub const fn log2_strict_usize(n: usize) -> usize { // Exact.\n";
    write(&lib, &format!("{before}{resolved}{after}"));
    fixture.succeed(&["refresh", "changed"]);
    let text = read("0.4.3", "changed");
    // The file that has another name by now, too.
    assert!(
        text.contains("+++ b/util/src/transpose/square.rs\n"),
        "{text}"
    );
    assert!(text.contains("+// First."), "{text}");
    assert!(patch("0.4.0", "changed").exists());
    fixture.succeed(&["refresh", "--onto", "0.4.3"]);
    assert!(!read("0.4.3", "stacked").contains("First"));
    let stack = ["apply", "stacked", "--base", "0.4.3"];
    fixture.succeed(&stack);
}

/// A kernel goes with the patch to another release. What has to change there becomes the crate's, and the text for the release
/// before keeps what it had.
#[test]
fn a_kernel_is_merged_into_another_release() {
    let diff = adds("util/src/demo.rs", KERNEL) + CHANGED;
    let fixture = project(&[("demo", "", &diff)]);
    let patch = |release: &str| {
        let folder = fixture.project().join("patches").join(release);
        fs::read_to_string(folder.join("demo.patch")).unwrap()
    };
    fs::remove_file(fixture.kernel()).unwrap();
    fixture.succeed(&["edit", "demo"]);
    let opened = fixture
        .project()
        .join(".p3-patches/edit/demo/util/src/demo.rs");
    let text = fs::read(&opened).unwrap();
    fs::write(&opened, [&text, &b"\xff"[..]].concat()).unwrap();
    let run = fixture.run(&["refresh", "demo"]);
    let said = "util/src/demo.rs: not UTF-8 text\nhint: ";
    assert!(run.starts_with("exit 3\n") && run.contains(said), "{run}");
    fs::write(&opened, text).unwrap();
    fixture.succeed(&["refresh", "demo"]);
    let named = "Kernels: util/src/demo.rs\n";
    assert!(patch("0.4.0").contains(named) && !patch("0.4.0").contains("twice"));
    assert_eq!(fs::read_to_string(fixture.kernel()).unwrap(), KERNEL);

    fs::remove_dir_all(fixture.project().join(".p3-patches/edit/demo")).unwrap();
    let elsewhere = fixture.run(&["refresh", "demo", "--onto", "0.4.3", "--dir", "elsewhere"]);
    let hint = "hint: resolve them in elsewhere, then `cargo p3 refresh demo --dir elsewhere` writes the patch";
    assert!(elsewhere.contains(hint), "{elsewhere}");
    let conflict = fixture.run(&["refresh", "demo", "--onto", "0.4.3"]);
    assert!(conflict.starts_with("exit 1\n"), "{conflict}");
    let sources = fixture.project().join(".p3-patches/edit/demo/util/src");
    let lib = fs::read_to_string(sources.join("lib.rs")).unwrap();
    let (before, rest) = lib.split_once("<<<<<<< ").unwrap();
    let (_, after) = rest.split_once(">>>>>>> ").unwrap();
    let (_, after) = after.split_once('\n').unwrap();
    let resolved = "pub const fn log2_strict_usize(n: usize) -> usize { // Exact.\n";
    write(
        &sources.join("lib.rs"),
        &format!("{before}{resolved}{after}"),
    );
    let newer = KERNEL.replace("Twice", "Two times");
    write(&sources.join("demo.rs"), &newer);
    fixture.succeed(&["refresh", "demo"]);
    assert!(patch("0.4.3").contains(named) && !patch("0.4.3").contains("wice"));
    assert_eq!(fs::read_to_string(fixture.kernel()).unwrap(), newer);
    assert!(!patch("0.4.0").contains(named));
    assert!(patch("0.4.0").contains("Bases: 0.4.3, 0.4.0\n"));
    assert!(patch("0.4.0").contains(&adds("util/src/demo.rs", KERNEL)));

    for release in ["0.4.0", "0.4.3"] {
        fixture.succeed(&["overlay", "--base", release, "--out", release]);
        let kernel = fixture.prover().join(release).join("p3-util/src/demo.rs");
        let expected = if release == "0.4.0" { KERNEL } else { &newer };
        assert_eq!(fs::read_to_string(kernel).unwrap(), expected);
    }
}

/// The registry has answered: no connection mends that.
#[test]
fn a_release_that_there_is_not() {
    let fixture = Fixture::new().with_crates();
    let cargo = fixture.path().join("cargo");
    let lacking = "failed to select a version for the requirement p3-goldilocks";
    refusing_cargo(&cargo, "metadata", lacking);
    let mut command = fixture.command(&["refresh", "demo", "--onto", "9.9.9"]);
    let run = fixture.transcript(&command.env("CARGO", &cargo).output().unwrap());
    let said = "error: crates.io has no p3-goldilocks 9.9.9: failed to select a version ";
    assert_ended(&run, 3, said);
}
