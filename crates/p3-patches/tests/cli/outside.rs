//! Outside a checkout: the patches are those that the executable carries.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use insta::assert_snapshot;

use crate::fixture::{DEMO, Fixture, MANIFEST, assert_ended, repository, write};

/// The tool as `cargo install` leaves it, run in the prover's folder: no checkout is named or above, and no cargo started it.
fn installed(fixture: &Fixture, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_p3-patches"));
    command
        .args(args)
        .current_dir(fixture.prover())
        .env_remove("CARGO")
        .env("CARGO_NET_OFFLINE", "true");
    command.output().unwrap()
}

/// Runs the tool as [`installed`] does, and returns what it prints; the run has to succeed.
#[track_caller]
fn succeed(fixture: &Fixture, args: &[&str]) -> String {
    let output = installed(fixture, args);
    assert!(
        output.status.success(),
        "{args:?}: {}",
        fixture.transcript(&output)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// The patches of this repository's series, in order.
fn series() -> Vec<String> {
    let series = fs::read_to_string(repository().join("patches/series")).unwrap();
    let entries = series.lines().map(|line| line.split('#').next().unwrap());
    let names = entries.filter_map(|entry| entry.split_whitespace().next());
    names.map(str::to_owned).collect()
}

/// All patches are listed, applied, compared and removed, and the trees are those that a checkout writes.
#[test]
fn a_prover_needs_no_checkout() {
    let fixture = Fixture::new();
    let packages = ["p3-merkle-tree", "p3-baby-bear", "p3-koala-bear"];
    let dependencies = packages.map(|package| format!("{package} = \"0.8\"\n"));
    let manifest = MANIFEST.to_owned() + &dependencies.concat();
    fixture.set_manifest(&manifest);
    fixture.relock();
    let lock = fixture.lock();
    let series = series();

    let listed = succeed(&fixture, &["list", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let names = listed.as_array().unwrap().iter();
    let names = names.map(|patch| patch["name"].as_str().unwrap());
    assert_eq!(names.collect::<Vec<_>>(), series);

    let is_for_the_prover = |name: &&str| {
        let patch = format!("patches/0.8.0/{name}.patch");
        repository().join(patch).is_file()
    };
    let names = series.iter().map(String::as_str).filter(is_for_the_prover);
    let apply = ["apply"].into_iter().chain(names).collect::<Vec<_>>();
    succeed(&fixture, &apply);
    succeed(&fixture, &["status"]);
    let applied = fixture.manifest();
    assert_ne!(applied, manifest);

    // The names of the trees, in the manifest, are hashes over the packages and the patches.
    let project = ["--project", repository().to_str().unwrap()];
    succeed(&fixture, &[&project[..], &["status"]].concat());
    succeed(&fixture, &[&project[..], &apply[..]].concat());
    assert_eq!(fixture.manifest(), applied);

    succeed(&fixture, &["remove"]);
    assert_eq!(fixture.manifest(), manifest);
    assert_eq!(fixture.lock(), lock);
    assert!(!fixture.prover().join(".p3-patches").exists());
}

/// A folder above the prover with patches of its own: the executable's are taken, and the others are none of its business.
#[test]
fn patches_in_a_folder_above_are_not_taken() {
    let fixture = Fixture::new();
    let apply = ["apply", "packed-poseidon2", "--base", "0.8.0"];
    succeed(&fixture, &apply);
    let (applied, lock) = fixture.state();
    succeed(&fixture, &["remove"]);
    let above = fixture.prover().parent().unwrap().to_owned();
    let hostile = fs::read_to_string(repository().join("patches/series")).unwrap();
    for series in [hostile.as_str(), "quilt.patch -p1\n"] {
        fs::create_dir_all(above.join("patches/0.8.0")).unwrap();
        fs::write(above.join("patches/series"), series).unwrap();
        fs::write(above.join("patches/0.8.0/packed-poseidon2.patch"), DEMO).unwrap();
        fs::write(above.join("Cargo.lock"), "version = 4\n").unwrap();
        succeed(&fixture, &apply);
        assert_eq!(fixture.state(), (applied.clone(), lock.clone()));
        let status = succeed(&fixture, &["status", "--verify"]);
        assert!(status.contains("intact"), "{status}");
        assert!(
            status.contains(", those built into this tool\n"),
            "{status}"
        );
        succeed(&fixture, &["remove"]);
    }
    // With the option that cargo's alias adds, they are.
    let taken = installed(&fixture, &["--checkout", "list"]);
    let transcript = fixture.transcript(&taken);
    assert!(transcript.contains("patches/series"), "{transcript}");
    fs::remove_dir_all(above.join("patches")).unwrap();
    let none = installed(&fixture, &["--checkout", "list"]);
    assert_snapshot!("no_checkout", fixture.transcript(&none));
}

#[test]
fn another_folder_of_patches_needs_no_checkout() {
    let fixture = Fixture::new();
    let patches = fixture.project().join("patches");
    let patches = ["--patches", patches.to_str().unwrap()];
    succeed(&fixture, &[&patches[..], &["apply", "demo"]].concat());
    assert!(fixture.manifest().contains("with demo"));
    succeed(&fixture, &[&patches[..], &["status"]].concat());
    // The folder has the patches, which the executable does not carry.
    let status = installed(&fixture, &["status"]);
    assert_snapshot!("status_without_the_folder", fixture.transcript(&status));
    fs::write(fixture.patch("demo"), DEMO.replace("---\n", "")).unwrap();
    let broken = installed(&fixture, &[&patches[..], &["apply"]].concat());
    assert_snapshot!("a_broken_patch_outside", fixture.transcript(&broken));
    succeed(&fixture, &["remove"]);
    assert_eq!(fixture.manifest(), MANIFEST);
}

/// Help and hints name the tool as it was called.
#[test]
fn an_installed_tool_goes_by_its_own_name() {
    let fixture = Fixture::new();
    let help = succeed(&fixture, &["apply", "--help"]);
    assert!(help.contains("Usage: p3-patches apply"), "{help}");
    assert!(
        help.contains("\n  p3-patches apply batched-permute"),
        "{help}"
    );
    assert!(!help.contains("cargo p3"), "{help}");
    let applied = succeed(&fixture, &["apply", "--verbose"]);
    assert!(applied.contains("\n  packed-poseidon2: "), "{applied}");
    fs::remove_dir_all(fixture.prover().join(".p3-patches")).unwrap();
    let status = fixture.transcript(&installed(&fixture, &["status"]));
    assert!(
        status.contains("hint: `p3-patches apply` without names"),
        "{status}"
    );
    let help = fixture.succeed(&["apply", "--help"]);
    assert!(help.contains("Usage: cargo p3 apply"), "{help}");
    assert!(
        help.contains("\n  cargo p3 apply batched-permute"),
        "{help}"
    );
}

/// A device that takes nothing.
#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let fixture = Fixture::new();
    let full = || {
        std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap()
    };
    let printed = fixture.command(&["list"]).stdout(full()).output().unwrap();
    let why = "error: failed printing to stdout: No space left on device (os error 28)\n";
    assert_eq!(String::from_utf8_lossy(&printed.stderr), why);
    assert_eq!(printed.status.code(), Some(4));
    let refused = fixture
        .command(&["status", "--manifest-path", "nothing/Cargo.toml"])
        .stderr(full())
        .status();
    assert_eq!(refused.unwrap().code(), Some(3));
}

/// The maintainers' commands are another tool's, which a checkout has.
#[test]
fn a_maintainers_command_is_unknown() {
    let fixture = Fixture::new();
    let ab = installed(&fixture, &["ab", "batched-permute"]);
    let stderr = String::from_utf8(ab.stderr).unwrap();
    assert_eq!(ab.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("unrecognized subcommand 'ab'"), "{stderr}");
}

/// Outside a checkout, an overlay obeys the configuration in cargo's own folder alone.
#[test]
fn an_overlay_obeys_no_configuration_of_the_current_folder() {
    let fixture = Fixture::new();
    write(
        &fixture.prover().join(".cargo/config.toml"),
        "no configuration",
    );
    let mut installed = Command::new(env!("CARGO_BIN_EXE_p3-patches"));
    let home = fixture.path().join("new-home");
    installed
        .args(["overlay", "--out", "overlay"])
        .current_dir(fixture.prover())
        .env("CARGO_HOME", &home)
        .env("CARGO_NET_OFFLINE", "true");
    let run = fixture.transcript(&installed.output().unwrap());
    assert!(run.starts_with("exit 4\n"), "{run}");
    assert!(
        run.contains("cannot be fetched") && !run.contains("configuration"),
        "{run}"
    );
    write(&home.join("config.toml"), "no configuration");
    let run = fixture.transcript(&installed.output().unwrap());
    let hint = "\nhint: cargo's configuration here is [DIR]/new-home/config.toml, and what these include\n";
    assert_ended(&run, 3, hint);
}

/// Cargo's home may be part of the repository that the workspace is in, which configures cargo then.
#[test]
fn a_home_of_cargos_in_the_repository_is_not_trusted() {
    const NOT_ASKED: &str = " is not in cargo's cache, and cargo is not run in ";
    const ASKED: &str = " is not in cargo's cache and cannot be fetched";
    let fixture = Fixture::new();
    let manifest = MANIFEST.replace("p3-goldilocks", "p3-koala-bear");
    fixture.set_manifest(&manifest);
    fixture.relock();
    succeed(&fixture, &["apply", "monty-paired-diagonal"]);
    let status_of = |manifest: &str, home: &Path| {
        let mut status = Command::new(env!("CARGO_BIN_EXE_p3-patches"));
        status.args(["status", "--without-cargo", "--manifest-path", manifest]);
        status.current_dir(fixture.prover()).env("CARGO_HOME", home);
        status.env("CARGO_NET_OFFLINE", "true");
        fixture.transcript(&status.output().unwrap())
    };
    let refused_of = |manifest: &str, home: &Path, why: &str| {
        let run = status_of(manifest, home);
        assert!(run.starts_with("exit 4\n") && run.contains(why), "{run}");
    };
    let refused = |home: &Path, why: &str| refused_of("Cargo.toml", home, why);
    let inside = fixture.prover().join("home");
    refused(&inside, NOT_ASKED);
    // `status` writes nothing there.
    assert!(!inside.exists());
    let outside = fixture.path().join("home");
    refused(&outside, ASKED);
    fs::create_dir(fixture.path().join(".git")).unwrap();
    refused(&outside, NOT_ASKED);
    // A submodule.
    write(
        &fixture.prover().join(".git"),
        "gitdir: ../.git/modules/prover\n",
    );
    refused(&outside, NOT_ASKED);
    fs::remove_dir(fixture.path().join(".git")).unwrap();
    // A link that is part of the workspace, to a folder that is not.
    let link = fixture.prover().join("link");
    symlink(&outside, &link).unwrap();
    refused(&link, NOT_ASKED);

    // A member beside its root.
    succeed(&fixture, &["remove"]);
    let root = fixture.path().join("root");
    write(
        &root.join("Cargo.toml"),
        "[workspace]\nmembers = [\"../prover\"]\nresolver = \"3\"\n",
    );
    fs::rename(fixture.prover().join("Cargo.lock"), root.join("Cargo.lock")).unwrap();
    fixture.set_manifest(&manifest.replace("[package]\n", "[package]\nworkspace = \"../root\"\n"));
    succeed(&fixture, &["apply", "monty-paired-diagonal"]);
    refused(&inside, NOT_ASKED);
    refused(&root.join("home"), NOT_ASKED);
    refused_of("../root/Cargo.toml", &inside, NOT_ASKED);
    refused(&outside, ASKED);
}

/// A link in place of the root manifest leads to what may be no part of the workspace.
#[test]
fn a_root_manifest_that_is_a_link_is_refused() {
    let fixture = Fixture::new();
    let manifest = fixture.prover().join("Cargo.toml");
    fs::rename(&manifest, fixture.path().join("real.toml")).unwrap();
    symlink("../real.toml", &manifest).unwrap();
    for args in [
        &["status"][..],
        &["status", "--without-cargo"],
        &["apply", "demo"],
        &["remove"],
        &["try", "--", "run"],
    ] {
        let run = fixture.run(args);
        let why = "Cargo.toml: a symbolic link, which is not followed here";
        assert!(run.starts_with("exit 3\n") && run.contains(why), "{run}");
    }
}

#[test]
fn a_home_of_cargos_that_is_a_link_to_nothing_is_named() {
    let fixture = Fixture::new();
    let home = fixture.path().join("home");
    symlink("nothing", &home).unwrap();
    let mut overlay = Command::new(env!("CARGO_BIN_EXE_p3-patches"));
    overlay
        .args(["overlay", "row-prefetch", "--base", "0.8.0", "--out", "out"])
        .current_dir(fixture.prover())
        .env_remove("CARGO")
        .env("CARGO_HOME", &home);
    let run = fixture.transcript(&overlay.output().unwrap());
    let said = "error: [DIR]/home: a symbolic link to nothing\nhint: cargo is asked for packages in that folder";
    assert_ended(&run, 4, said);
}
