//! `test`: its closing line and exit code. What the stages run is tested by running them.

use std::fs;

use crate::fixture::{DEMO, Fixture, KERNEL, write};

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

/// With nothing on the path, there is no z3, no cargo-fuzz, no browser, no `unshare`, and no cargo-deny.
#[test]
fn a_missing_thing_is_skipped_unless_required() {
    let fixture = Fixture::new();
    let nothing = fixture.project().join("empty");
    fs::create_dir(&nothing).unwrap();
    for (stage, thing) in [
        ("smt", "z3"),
        ("fuzz", "fuzz"),
        ("sandbox", "sandbox"),
        ("browser", "browser"),
        ("advisories", "advisories"),
    ] {
        let run = |args: &[&str]| {
            let mut command = fixture.command(&[&["test", "--only", stage], args].concat());
            fixture.transcript(&command.env("PATH", &nothing).output().unwrap())
        };
        let skipped = run(&[]);
        assert!(skipped.starts_with("exit 0\n"), "{skipped}");
        assert!(
            skipped.contains(&format!("\nskip  {stage}: no ")),
            "{skipped}"
        );

        // Another's absence changes nothing.
        let other = if thing == "z3" { "fuzz" } else { "z3" };
        assert_eq!(run(&["--require", other]), skipped);

        let failed = run(&["--require", other, "--require", thing]);
        assert!(failed.starts_with("exit 1\n"), "{failed}");
        assert!(failed.contains("but is required"), "{failed}");
    }
}

#[test]
fn a_stage_that_is_not_there() {
    let run = Fixture::new().run(&["test", "--only", "outputs/avx"]);
    assert!(run.starts_with("exit 3\n"), "{run}");
    assert!(run.contains("outputs/x86-64-v3"), "{run}");
}

/// On AVX2 an older release is compared with itself, and its suites run there and on AVX-512; on IFMA, as the newest's, where
/// a patch uses it.
#[test]
fn stages_follow_bases_and_patches() {
    let stages = |fixture: &Fixture| fixture.run(&["test", "--only", "none"]);
    let fixture = Fixture::new();
    let one_base = stages(&fixture);
    assert!(one_base.contains("upstream/x86-64-v4,"), "{one_base}");
    assert!(!one_base.contains("upstream/x86-64-v4+ifma"), "{one_base}");
    assert!(!one_base.contains("x86-64-v3/0."), "{one_base}");

    let wiring = DEMO.replace("+mod demo;", "+mod demo; // With avx512ifma.");
    write(&fixture.patch("demo"), &wiring);
    let with_ifma = stages(&fixture);
    assert!(with_ifma.contains("upstream/x86-64-v4+ifma"), "{with_ifma}");

    let fixture = fixture.with_older_base();
    let two_bases = stages(&fixture);
    let older = "outputs/x86-64-v3/0.4.0, upstream/x86-64-v3/0.4.0, upstream/x86-64-v4/0.4.0\n";
    assert!(two_bases.contains(older), "{two_bases}");

    let doubled = "/// Twice `x`, if need be with avx512ifma.";
    write(
        &fixture.kernel(),
        &KERNEL.replace("/// Twice `x`.", doubled),
    );
    let with_ifma = stages(&fixture);
    assert!(
        with_ifma.contains("upstream/x86-64-v4+ifma/0.4.0\n"),
        "{with_ifma}"
    );
}
