//! The checkout that a command works in: what it has to have, and what another folder of patches changes.

use std::fs;
use std::process::{Command, Output};

use insta::assert_snapshot;

use crate::fixture::{DEMO, FOREIGN, Fixture, in_diff, write};
use crate::killer::script;

/// Runs the tool in the prover's folder, where no checkout is named.
fn without_checkout(fixture: &Fixture, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command
        .args(args)
        .current_dir(fixture.prover())
        .env_remove("CARGO");
    command.output().unwrap()
}

/// Commands that need crates, benches or records say so, and do nothing.
#[test]
fn every_subcommand_needs_a_checkout() {
    let fixture = Fixture::new();
    let ab = without_checkout(&fixture, &["ab"]);
    assert_snapshot!("ab_outside", fixture.transcript(&ab));
    let name = "batched-permute";
    for args in [
        &["check"][..],
        &["drift"],
        &["edit", name],
        &["refresh", name],
        &["export", name, "--out", "out"],
        &["ab", "--phases", name],
        &["count", "--isa", "neon"],
        &["report"],
        &["preflight", name, "--isa", "neon"],
        &["test"],
        &["list"],
    ] {
        assert_eq!(without_checkout(&fixture, args), ab, "{args:?}");
    }
    let mut left = fs::read_dir(fixture.prover())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect::<Vec<_>>();
    left.sort();
    assert_eq!(left, ["Cargo.lock", "Cargo.toml", "src"]);
}

/// A patch for another architecture does nothing here, and every command says so.
#[test]
fn a_patch_for_another_architecture_is_inert() {
    let fixture = Fixture::new().with_crates().with_stacked_foreign();
    let reason = format!("{FOREIGN} only, inert on {} builds", std::env::consts::ARCH);
    fixture.succeed(&["report"]);
    fixture.succeed(&["check"]);
    assert!(fixture.succeed(&["list"]).contains(&reason));
    let listed = fixture.succeed(&["list", "--json"]);
    assert!(
        listed.contains(&format!("\"inert\": \"{reason}\"")),
        "{listed}"
    );

    let applied = fixture.succeed(&["apply", "stacked"]);
    assert!(
        applied.contains(&format!("note: stacked: {reason}\n")),
        "{applied}"
    );
    let status = fixture.succeed(&["status"]);
    assert!(
        status.contains(&format!("\nstacked: {reason}\n")),
        "{status}"
    );
    let status = fixture.succeed(&["status", "--json"]);
    assert!(
        status.contains(&format!("\"stacked\": \"{reason}\"")),
        "{status}"
    );

    let refused = fixture.run(&["ab", "stacked"]);
    assert!(
        refused.starts_with(&format!(
            "exit 3\n--- stdout\n--- stderr\nerror: stacked: {reason}\nhint: "
        )),
        "{refused}"
    );
    // With another patch there is something to measure; this run ends where the worker's sources are missing.
    let noted = fixture.run(&["ab", "demo", "stacked"]);
    assert!(
        noted.contains(&format!(
            "note: stacked: {reason}\nerror: cannot read [DIR]/project/Cargo.toml"
        )),
        "{noted}"
    );
}

#[test]
fn another_folder_of_patches_stands_in_for_the_series() {
    let fixture = Fixture::new();
    let ladder = fixture.project().join("crates/demo/ladder");
    fs::create_dir_all(ladder.join("0.8.0")).unwrap();
    fs::write(ladder.join("series"), "rung\n").unwrap();
    let rung = ladder.join("0.8.0/rung.patch");
    fs::write(&rung, DEMO).unwrap();
    let list = ["list", "--patches", ladder.to_str().unwrap()];
    let refused = fixture.run(&list);
    let no_kernel =
        "`Kernels:` names goldilocks/src/demo.rs, but there is no crates/rung/src/demo.rs\n";
    assert!(refused.contains(no_kernel), "{refused}");

    // No crates are beside that folder, so the diffs have all that its patches add.
    fs::write(&rung, in_diff(DEMO)).unwrap();
    let listed = fixture.succeed(&list);
    assert!(
        listed.contains("rung") && !listed.contains("demo"),
        "{listed}"
    );
    assert!(!fixture.succeed(&["list"]).contains("rung"));
    let nowhere = fixture.run(&["list", "--patches", "nowhere"]);
    assert!(nowhere.contains("nowhere: no such folder"), "{nowhere}");

    let variants = ["--patches", ladder.to_str().unwrap()];
    fixture.succeed(&[&["edit", "rung"], &variants[..]].concat());
    fixture.succeed(&[&["refresh", "rung"], &variants[..]].concat());
    let text = fs::read_to_string(&rung).unwrap();
    assert!(text.contains("+/// Twice `x`."), "{text}");
    assert!(!fixture.project().join("crates/rung").exists());
}

/// The environment names hooks and settings of git's, as inside `git -c`. An edited copy is the same, and no hook runs.
#[test]
fn the_environment_changes_no_repository_and_no_patch() {
    let fixture = Fixture::new().with_crates();
    fixture.succeed(&["edit", "demo"]);
    fixture.succeed(&["refresh", "demo"]);
    let before = fs::read_to_string(fixture.patch("demo")).unwrap();
    fs::remove_dir_all(fixture.project().join(".p3-patches/edit/demo")).unwrap();
    let hooks = fixture.path().join("template/hooks");
    fs::create_dir_all(&hooks).unwrap();
    let ran = fixture.path().join("ran");
    script(
        &hooks.join("pre-commit"),
        &format!("touch '{}'\n", ran.display()),
    );
    for args in [["edit", "demo"], ["refresh", "demo"]] {
        let mut command = fixture.command(&args);
        command.envs([
            (
                "GIT_TEMPLATE_DIR",
                fixture.path().join("template").as_os_str(),
            ),
            (
                "GIT_OBJECT_DIRECTORY",
                fixture.path().join("objects").as_os_str(),
            ),
        ]);
        command.envs([
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "core.hooksPath"),
            ("GIT_CONFIG_VALUE_0", hooks.to_str().unwrap()),
            ("GIT_DIFF_OPTS", "-u0"),
            ("GIT_DEFAULT_HASH", "sha256"),
        ]);
        let run = fixture.transcript(&command.output().unwrap());
        assert!(run.starts_with("exit 0\n"), "{run}");
    }
    assert_eq!(fs::read_to_string(fixture.patch("demo")).unwrap(), before);
    assert!(!fixture.path().join("objects").exists());

    // The settings of the opened repository.
    let opened = fixture.project().join(".p3-patches/edit/demo");
    let program = hooks.join("pre-commit");
    let settings = format!(
        "[core]\nfsmonitor = {program}\nhooksPath = {hooks}\n[filter \"f\"]\nclean = {program}\n[diff \"d\"]\ntextconv = {program}\n\
         [diff]\nnoprefix = true\ncontext = 0\nalgorithm = patience\nsuppressBlankEmpty = true\nindentHeuristic = false\n",
        program = program.display(),
        hooks = hooks.display(),
    );
    let config = opened.join(".git/config");
    let own = fs::read_to_string(&config).unwrap();
    write(&config, &(own + &settings));
    write(&opened.join(".git/info/attributes"), "* filter=f diff=d\n");
    write(&opened.join(".git/info/exclude"), "mine\n");
    write(&opened.join("mine"), "");
    fixture.succeed(&["refresh", "demo"]);
    assert_eq!(fs::read_to_string(fixture.patch("demo")).unwrap(), before);
    assert!(!ran.exists());
}

/// A patch that a release contains is refused for it and for later ones by every command that applies patches, and is there for
/// older ones.
#[test]
fn a_patch_that_the_release_contains() {
    let fixture = Fixture::new().with_crates().with_older_base();
    let merged = |patch: &str| patch.replace("Applied-Upstream: no", "Applied-Upstream: 0.7.0");
    let older = fixture.project().join("patches/0.4.0/demo.patch");
    write(&older, &merged(&fs::read_to_string(&older).unwrap()));
    let newer = fs::read_to_string(fixture.patch("demo")).unwrap();
    write(&fixture.patch("demo"), &merged(&newer));
    let refused = fixture.run(&["apply", "demo", "--base", "0.8.0"]);
    assert_snapshot!("a_merged_patch_with_a_file", refused);
    let checked = fixture.run(&["check"]);
    for check in ["demo: applies to 0.8.0", "the series applies to 0.8.0"] {
        let failed = format!("FAIL  {check}: demo: Plonky3 0.8.0 contains this change");
        assert!(checked.contains(&failed), "{checked}");
    }

    fs::remove_file(fixture.patch("demo")).unwrap();
    let refused = fixture.run(&["apply", "demo", "--base", "0.8.0"]);
    assert_snapshot!("a_merged_patch", refused);
    for args in [
        &["ab", "demo", "--base", "0.8.0"][..],
        &["edit", "demo", "--base", "0.8.0"],
        &["export", "demo", "--base", "0.8.0", "--out", "out"],
    ] {
        assert_eq!(fixture.run(args), refused, "{args:?}");
    }
    // For a release that no patch is left for, too.
    let refused = fixture.run(&["apply", "demo", "--base", "0.9.0"]);
    assert!(
        refused.contains("error: demo: Plonky3 0.9.0 contains this change"),
        "{refused}"
    );
    let listed = fixture.succeed(&["list", "--json"]);
    assert!(
        listed.contains("\"applied_upstream\": \"0.7.0\""),
        "{listed}"
    );
    // The prover is locked to 0.4.0.
    fixture.succeed(&["apply", "demo", "--base", "0.4.0"]);
    fixture.succeed(&["status"]);
    fixture.succeed(&["remove"]);
    fixture.cargo(&["update", "--precise", "0.4.3", "p3-util"]);
    fixture.cargo(&["fetch"]);
    write(
        &older,
        &merged(&fs::read_to_string(&older).unwrap()).replace("0.7.0", "0.4.2"),
    );
    let refused = fixture.run(&["apply", "demo", "--base", "0.4.0"]);
    assert!(
        refused.contains(
            "error: demo: Plonky3 0.4.3 contains this change, which was merged in 0.4.2\n"
        ),
        "{refused}"
    );
}

/// A folder has files, and a file has none.
#[test]
fn a_file_in_place_of_a_folder() {
    let fixture = Fixture::new().with_crates();
    let file = fixture.path().join("file");
    write(&file, "");
    let file = file.to_str().unwrap();
    let below = format!("{file}/below");
    for args in [
        &["overlay", "demo", "--out", file][..],
        &["overlay", "demo", "--out", &below],
        &["export", "demo", "--out", file],
        &["ab", "demo", "--isa", "generic", "--build-only", &below],
        &["apply", "demo", "--manifest-path", &below],
        &["ab", "--built", file],
        &["list", "--patches", file],
    ] {
        let run = fixture.run(args);
        let complaint = "exit 3\n--- stdout\n--- stderr\nerror: [DIR]/file";
        assert!(run.starts_with(complaint), "{args:?}: {run}");
    }
}
