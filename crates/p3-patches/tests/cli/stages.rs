//! `test`: its closing line and exit code. What the stages run is tested by running them.

use std::fs;

use crate::fixture::Fixture;

/// An instruction set of another architecture's.
const FOREIGN: &str = if cfg!(target_arch = "aarch64") {
    "x86-64-v3"
} else {
    "neon"
};

#[test]
fn stages_are_counted() {
    let fixture = Fixture::new().with_crates();
    let run = fixture.run(&["test", "--only", "check"]);
    assert!(run.starts_with("exit 0\n"), "{run}");
    assert!(run.contains("\n1 passed, 0 failed, 0 skipped\n"), "{run}");

    fs::remove_file(fixture.project().join("benches/demo.rs")).unwrap();
    let run = fixture.run(&["test", "--only", "check"]);
    assert!(run.starts_with("exit 1\n"), "{run}");
    assert!(run.contains("\n0 passed, 1 failed, 0 skipped\n"), "{run}");
    assert!(run.contains("no benches/demo.rs"), "{run}");
}

#[test]
fn a_missing_isa_is_skipped_unless_required() {
    let fixture = Fixture::new();
    let stage = format!("outputs/{FOREIGN}");
    let run = fixture.run(&["test", "--only", &stage]);
    assert!(run.starts_with("exit 0\n"), "{run}");
    assert!(run.contains("\n0 passed, 0 failed, 1 skipped\n"), "{run}");

    let run = fixture.run(&["test", "--only", &stage, "--require", FOREIGN]);
    assert!(run.starts_with("exit 1\n"), "{run}");
    assert!(run.contains("\n0 passed, 1 failed, 0 skipped\n"), "{run}");
}

#[test]
fn a_stage_that_is_not_there() {
    let run = Fixture::new().run(&["test", "--only", "outputs/avx"]);
    assert!(run.starts_with("exit 3\n"), "{run}");
    assert!(run.contains("outputs/x86-64-v3"), "{run}");
}
