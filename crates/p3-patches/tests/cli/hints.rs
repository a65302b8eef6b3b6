//! Provers that `apply` refuses: each hint is followed, and leads where it says.

use std::env;
use std::fs;
use std::process::Command;

use insta::assert_snapshot;

use crate::chosen::{beside, header, refused};
use crate::fixture::{Fixture, MANIFEST, assert_ended, write};
use crate::killer::{refusing_cargo, script};

/// A prover with `dependencies`, fetched.
fn with_dependencies(fixture: &Fixture, dependencies: &str) {
    let (package, _) = MANIFEST.split_once("p3-goldilocks").unwrap();
    fixture.set_manifest(&format!("{package}{dependencies}"));
    write(&fixture.prover().join("src/lib.rs"), "");
    fixture.relock();
}

/// Packages of a fork have the names of Plonky3's, and versions that cargo takes for compatible.
#[test]
fn a_fork_is_no_release() {
    let fixture = Fixture::new().with_older_base();
    let fork = "fork = { package = \"p3-util\", version = \"=0.4.3-succinct\" }\n";
    with_dependencies(&fixture, fork);
    assert_snapshot!("a_fork", refused(&fixture));
    let named = fixture.run(&["apply", "demo", "--base", "0.4.0"]);
    assert_snapshot!("a_fork_for_a_release", named);
    // Beside a release, it stays as it is.
    with_dependencies(&fixture, &format!("{fork}p3-goldilocks = \"0.8\"\n"));
    let applied = fixture.succeed(&["apply"]);
    assert!(applied.contains("applied demo, stacked to "), "{applied}");
    fixture.cargo(&["tree", "--locked", "--offline"]);
}

/// A text that cannot be read may be for the prover's release: it is refused by name, and not passed over.
#[test]
fn a_text_that_cannot_be_read_is_not_passed_over() {
    let fixture = Fixture::new().with_older_base();
    let older = fixture.project().join("patches/0.4.0");
    fs::remove_file(older.join("demo.patch")).unwrap();
    let text = fs::read_to_string(fixture.patch("demo")).unwrap();
    write(&fixture.patch("demo"), &text.replace("Risk:", "Peril:"));
    let said = "patches/0.8.0/demo.patch:5: unknown field `Peril:`\n";
    for args in [&["apply"][..], &["apply", "demo"]] {
        assert_ended(&fixture.run(args), 3, said);
    }
    assert_ended(&fixture.run(&["status"]), 0, said);
    // A terminal would obey it.
    write(
        &fixture.patch("demo"),
        &text.replace("Title: perf", "Title: \u{1b}[31mperf"),
    );
    let said = "patches/0.8.0/demo.patch:1: a control character\n";
    assert_ended(&fixture.run(&["apply", "demo"]), 3, said);
    // An exported patch would show it.
    let token = "Title: perf(https://me:s3cr3t@example.invalid)";
    write(&fixture.patch("demo"), &text.replace("Title: perf", token));
    let said = "patches/0.8.0/demo.patch:1: an address with a user, a token or a query\n";
    assert_ended(&fixture.run(&["apply", "demo"]), 3, said);
    // The header names a release that has no folder.
    let packages = "Packages: p3-goldilocks, p3-symmetric\n";
    write(
        &fixture.patch("demo"),
        &text.replace(packages, "Packages: p3-util\n"),
    );
    fs::remove_dir(older).unwrap();
    let said = "patches/0.8.0/demo.patch: is for Plonky3 0.4.0, of which there is no folder";
    assert_ended(&fixture.run(&["apply"]), 3, said);
}

/// The lock file has a package of Plonky3's from another registry, which cargo replaces without a word.
#[test]
fn another_registry_in_the_lock_file_is_named() {
    let fixture = Fixture::new();
    let lock = fixture.lock();
    let (before, package) = lock.split_once("name = \"p3-util\"").unwrap();
    let (_, after) = package.split_once("registry+").unwrap();
    let (_, after) = after.split_once('"').unwrap();
    let edited = format!(
        "{before}name = \"p3-util\"\nversion = \"0.8.0\"\nsource = \"registry+https://me:s3cr3t@mirror.invalid/index\"{after}"
    );
    write(&fixture.prover().join("Cargo.lock"), &edited);
    let status = fixture.run(&["status", "--without-cargo"]);
    let from = "p3-util 0.8.0 comes from registry+https://mirror.invalid/index, in place of";
    assert_ended(&status, 1, from);
    let applied = fixture.run(&["apply", "demo"]);
    let note = "note: Cargo.lock had p3-util 0.8.0 from another registry, registry+https://mirror.invalid/index\n";
    assert!(applied.contains(note), "{applied}");
    for printed in [status, applied] {
        assert!(!printed.contains("s3cr3t"), "{printed}");
    }
    // A version of another crate that no list has, whoever serves it.
    let (before, after) = lock
        .split_once("name = \"paste\"\nversion = \"1.0.15\"")
        .unwrap();
    let newer = format!("{before}name = \"paste\"\nversion = \"1.0.99\"{after}");
    fixture.set_manifest(MANIFEST);
    write(&fixture.prover().join("Cargo.lock"), &newer);
    let status = fixture.succeed(&["status", "--without-cargo"]);
    let counted = "\n  on no list here, so that cargo alone compares them with the registry that it asks: 1\n";
    assert!(status.contains(counted), "{status}");
}

/// One package of another release, of which the patches for the base know nothing.
#[test]
fn a_package_of_another_release() {
    let fixture = Fixture::new();
    beside(&fixture, "p3-air", "0.9.0-rc.2", "");
    let asked = "p3-air = { path = \"../p3-air\" }\n";
    beside(&fixture, "old", "0.1.0", asked);
    let across = header("p3-goldilocks, p3-air", "0.8.0");
    write(&fixture.patch("across"), &across);
    let above = header("p3-goldilocks", "0.8.0").replace("Risk:", "Needs: across\nRisk:");
    write(&fixture.patch("above"), &above);
    let series = fixture.project().join("patches/series");
    let text = fs::read_to_string(&series).unwrap();
    write(&series, &format!("{text}across\nabove needs: across\n"));
    fixture.set_manifest(&format!("{MANIFEST}old = {{ path = \"../old\" }}\n"));
    fixture.relock();

    assert_snapshot!("two_releases", refused(&fixture));
    let named = fixture.run(&["apply", "above", "--base", "0.8.0"]);
    assert_snapshot!("a_patch_for_both", named);
    assert_snapshot!("left_out", fixture.succeed(&["apply", "--base", "0.8.0"]));
    fixture.succeed(&["status"]);
    fixture.succeed(&["remove"]);

    // `try` gets as far as cargo's first build, which this one refuses.
    let cargo = fixture.path().join("cargo");
    refusing_cargo(&cargo, "build", "no");
    for (options, error) in [
        (&[][..], "error: [DIR]/prover/Cargo.toml: has more than one"),
        (
            &["--base", "0.8.0"],
            "error: the baseline does not build: no\n",
        ),
    ] {
        let args = [&["try"], options, &["--", "run"]].concat();
        let mut command = fixture.command(&args);
        let run = fixture.transcript(&command.env("CARGO", &cargo).output().unwrap());
        assert!(run.contains(error), "{run}");
    }
}

/// Several packages go back together, the prover's own of such a name stays, and a pin is named with its line.
#[test]
fn a_pin_is_named_and_packages_go_back_together() {
    let fixture = Fixture::new().with_older_base();
    let acme = "[package]\nname = \"p3-acme\"\nversion = \"0.4.1\"\n\n[dependencies]\np3-util.workspace = true\n";
    write(&fixture.prover().join("acme/Cargo.toml"), acme);
    write(&fixture.prover().join("acme/src/lib.rs"), "");
    with_dependencies(
        &fixture,
        "p3-acme = { path = \"acme\" }\np3-field = \"0.4\"\n\n[workspace]\nmembers = [\"acme\"]\n\n[workspace.dependencies]\np3-util = \"=0.4.3\"\n",
    );
    let transcript = refused(&fixture);
    assert_snapshot!(transcript);
    let manifest = fixture.manifest();
    fixture.set_manifest(&manifest.replace("\"=0.4.3\"", "\"0.4.0\""));
    fixture.follow_hint(&transcript);
    fixture.cargo(&["fetch"]);
    assert!(!fixture.lock().contains("version = \"0.4.3\""));
    let applied = fixture.succeed(&["apply"]);
    assert!(applied.contains("applied demo to "), "{applied}");
}

/// Cargo takes one of two tables for a registry, and none beside `[replace]`.
#[test]
fn tables_that_hide_the_overrides() {
    let fixture = Fixture::new();
    beside(&fixture, "left", "1.0.0", "");
    let path = "{ path = \"../left\" }\n";
    let mut transcripts = String::new();
    for table in [
        format!("[replace]\n\"left:1.0.0\" = {path}"),
        format!("[patch.\"https://github.com/rust-lang/crates.io-index\"]\nleft = {path}"),
    ] {
        fixture.set_manifest(&format!("{MANIFEST}\n{table}"));
        fixture.relock();
        let transcript = refused(&fixture);
        assert_eq!(fixture.run(&["try", "--", "run"]), transcript);
        transcripts += &transcript;
    }
    assert_snapshot!(transcripts);
    // Where both hints lead.
    fixture.set_manifest(&format!("{MANIFEST}\n[patch.crates-io]\nleft = {path}"));
    fixture.relock();
    fixture.succeed(&["apply"]);
}

/// Another registry's package is none of those that the patches are for.
#[test]
fn a_package_of_another_registry() {
    let fixture = Fixture::new();
    let vendored = fixture.prover().join("vendor/p3-goldilocks");
    let package = "[package]\nname = \"p3-goldilocks\"\nversion = \"0.8.0\"\n";
    write(&vendored.join("Cargo.toml"), package);
    write(&vendored.join("src/lib.rs"), "");
    write(&vendored.join(".cargo-checksum.json"), "{\"files\":{}}");
    let config = "[registries.company]\nindex = \"sparse+https://company.invalid/\"\n\n[source.company]\nregistry = \"sparse+https://company.invalid/\"\nreplace-with = \"vendored\"\n\n[source.vendored]\ndirectory = \"vendor\"\n";
    write(&fixture.prover().join(".cargo/config.toml"), config);
    let dependency = "p3-goldilocks = { version = \"0.8\", registry = \"company\" }\n";
    with_dependencies(&fixture, dependency);
    assert_snapshot!(refused(&fixture));
}

/// Manifests are there, but not the files that they name; then one of them is no TOML.
#[test]
fn manifests_of_members() {
    let fixture = Fixture::new();
    let root = "[workspace]\nmembers = [\"member\"]\nresolver = \"3\"\n";
    let member = fixture.prover().join("member");
    fs::remove_dir_all(fixture.prover().join("src")).unwrap();
    write(&member.join("Cargo.toml"), MANIFEST);
    fixture.set_manifest(root);
    let mut transcripts = fixture.run(&["apply"]);
    write(&member.join("src/lib.rs"), "");
    fixture.succeed(&["apply"]);
    fixture.succeed(&["remove"]);

    write(
        &member.join("Cargo.toml"),
        &format!("{MANIFEST}[lib]\nname = \"a\"\nname = \"b\"\n"),
    );
    transcripts += &fixture.run(&["apply"]);
    transcripts += &fixture.run(&["try", "--", "run"]);
    assert_snapshot!(transcripts);
    let mut whole = Command::new(env!("CARGO"));
    let whole = whole.args(["metadata", "--no-deps"]);
    let whole = whole.current_dir(fixture.prover()).output().unwrap();
    let whole = String::from_utf8(whole.stderr).unwrap();
    assert!(whole.contains("11 | name = \"b\"\n"), "{whole}");
}

/// A program that cargo builds with a feature only.
#[test]
fn a_program_behind_a_feature() {
    let fixture = Fixture::new();
    let (package, _) = MANIFEST.split_once("[dependencies]").unwrap();
    // The graph has the dependency, but nothing here is compiled with it.
    let program = "[features]\nbig = []\n\n[[bin]]\nname = \"prove\"\nrequired-features = [\"big\"]\n\n[target.'cfg(any())'.dependencies]\np3-goldilocks = \"0.8\"\n";
    fixture.set_manifest(&format!("{package}{program}"));
    fs::remove_file(fixture.prover().join("src/lib.rs")).unwrap();
    write(&fixture.prover().join("src/bin/prove.rs"), "fn main() {}\n");
    fixture.relock();
    let run = |options: &[&str]| fixture.run(&[&["try", "--", "run"], options].concat());
    let transcripts = run(&["--bin", "prove"]) + &run(&[]);
    // Cargo also says what it waits for.
    let is_refusal = |line: &&str| line.starts_with("error: ") || line.starts_with("hint: ");
    let refusals = transcripts.lines().filter(is_refusal).collect::<Vec<_>>();
    assert_snapshot!(refusals.join("\n"));
    let built = run(&["--bin", "prove", "--features=big"]);
    let compiled = "error: the program is built without any patched package";
    assert!(built.contains(compiled), "{built}");
}

/// Neither a manifest nor a patch is at fault where cargo says nothing.
#[test]
fn a_cargo_that_does_not_answer() {
    let fixture = Fixture::new();
    let cargo = fixture.path().join("cargo");
    for (line, end) in [
        ("exit 1", "exit status: 1"),
        ("kill -9 $$", "signal: 9 (SIGKILL)"),
    ] {
        script(&cargo, line);
        for args in [&["apply", "demo"][..], &["status"]] {
            let output = fixture.command(args).env("CARGO", &cargo).output().unwrap();
            let said = format!("error: cargo has ended without a message: {end}\nhint: ");
            assert_ended(&fixture.transcript(&output), 4, &said);
        }
    }
    script(&cargo, "exit 0");
    let output = (fixture.command(&["status"]).env("CARGO", &cargo).output()).unwrap();
    let said = "/cargo has not printed what `cargo locate-project` does: ";
    assert_ended(&fixture.transcript(&output), 4, said);
}

/// Another command takes the patches out while `status` asks cargo.
#[test]
fn a_status_beside_another_command() {
    let fixture = Fixture::new();
    let before = fixture.path().join("before");
    fs::copy(fixture.prover().join("Cargo.toml"), &before).unwrap();
    fixture.succeed(&["apply", "demo"]);
    let cargo = fixture.path().join("cargo");
    let line = format!(
        "case \"$1\" in metadata) cp '{}' '{}'; rm -rf '{}' ;; esac\nexec '{}' \"$@\"\n",
        before.display(),
        fixture.prover().join("Cargo.toml").display(),
        fixture.prover().join(".p3-patches/0.8.0").display(),
        env!("CARGO")
    );
    script(&cargo, &line);
    let output = (fixture.command(&["status"]).env("CARGO", &cargo).output()).unwrap();
    let said = "error: [DIR]/prover/Cargo.toml: changed meanwhile\nhint: run `status` again";
    assert_ended(&fixture.transcript(&output), 4, said);
}

/// The versions that cargo finds, and what links to what, are those of the mirror.
#[test]
fn a_mirror_without_the_versions_that_the_manifest_asks_for() {
    let fixture = Fixture::new();
    let mirror = fixture.prover().join("mirror");
    fs::create_dir_all(mirror.join("index")).unwrap();
    let config = "[source.crates-io]\nreplace-with = \"mine\"\n\n[source.mine]\nlocal-registry = \"mirror\"\n";
    write(&fixture.prover().join(".cargo/config.toml"), config);
    for args in [&["status"][..], &["status", "--verify"], &["apply"]] {
        let run = fixture.run(args);
        assert!(
            run.contains("crates.io is replaced by \"mine\", in "),
            "{args:?}: {run}"
        );
    }
}

/// A full disk says nothing of the prover or of the patches.
#[test]
fn a_disk_that_is_full() {
    let fixture = Fixture::new();
    let cargo = fixture.path().join("cargo");
    let error = "cannot write lib.rmeta: No space left on device (os error 28)";
    refusing_cargo(&cargo, "build", error);
    let mut command = fixture.command(&["try", "demo", "--", "run"]);
    let run = fixture.transcript(&command.env("CARGO", &cargo).output().unwrap());
    let said = "error: the baseline cannot be built: no space left on the disk\nhint: make room ";
    assert_ended(&run, 4, said);
}

/// A pipe in place of the series is not read.
#[test]
fn a_series_that_is_a_pipe() {
    let fixture = Fixture::new();
    let series = fixture.project().join("patches/series");
    fs::remove_file(&series).unwrap();
    let made = Command::new("mkfifo").arg(&series).status().unwrap();
    assert!(made.success());
    let said = "project/patches/series: not a plain file\n";
    assert_ended(&fixture.run(&["list"]), 3, said);
}

/// A wrapper that cargo cannot run says nothing of the patches, or of cargo's cache.
#[test]
fn a_program_of_cargos_that_is_not_there() {
    let fixture = Fixture::new();
    fixture.succeed(&["apply", "demo"]);
    let configuration = "[build]\nrustc-wrapper = \"/nonexistent/wrapper\"\n";
    write(&fixture.prover().join(".cargo/config.toml"), configuration);
    for args in [&["status"][..], &["status", "--verify"]] {
        let run = fixture.run(args);
        let hint =
            "(os error 2)\nhint: cargo's configuration or the environment names that program";
        assert_ended(&run, 4, hint);
        assert!(
            run.contains("could not execute process `/nonexistent/wrapper "),
            "{run}"
        );
        assert!(
            !run.contains("not in effect") && !run.contains("not in cargo's cache"),
            "{run}"
        );
    }
}

/// A wrapper that says nothing is no lack of the registry.
#[test]
fn a_wrapper_that_says_nothing() {
    let fixture = Fixture::new();
    let mut command = fixture.command(&["apply", "demo"]);
    let output = command.env("RUSTC_WRAPPER", "true").output().unwrap();
    let run = fixture.transcript(&output);
    let said = "hint: cargo's configuration or the environment names that program";
    assert_ended(&run, 4, said);
    assert!(run.contains("didn't have a line for `host:`"), "{run}");
}

/// A default member that is none is the manifest's fault, and not its path's.
#[test]
fn a_default_member_that_is_no_member() {
    let fixture = Fixture::new();
    let manifest = fixture.prover().join("Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let workspace = "\n[workspace]\nmembers = []\ndefault-members = [\"nope\"]\n";
    write(&manifest, &(text + workspace));
    let run = fixture.run(&["apply", "demo"]);
    assert_ended(&run, 3, "hint: correct that in the manifest; ");
    assert!(run.contains("is listed in default-members"), "{run}");
}

/// A variable that a workflow leaves empty says nothing of the manifest, or of the patches in it.
#[test]
fn an_empty_target_directory() {
    let fixture = Fixture::new();
    for (args, name) in [
        (&["apply", "demo"], "CARGO_TARGET_DIR"),
        (&["apply", "demo"], "CARGO_BUILD_TARGET_DIR"),
        (&["status", "--verify"], "CARGO_TARGET_DIR"),
    ] {
        if args[0] == "status" {
            fixture.succeed(&["apply", "demo"]);
        }
        let output = fixture.command(args).env(name, "").output().unwrap();
        let run = fixture.transcript(&output);
        let said =
            "hint: no file configures cargo here: a variable `CARGO_..` of the environment does";
        assert_ended(&run, 3, said);
        assert!(run.contains(" is set to an empty string in "), "{run}");
    }
}

/// A relative path of cargo's starts in the user's folder, as a shell has it, and not in the prover's.
#[test]
fn a_relative_path_of_cargo() {
    let fixture = Fixture::new();
    let mine = fixture.path().join("mine");
    script(
        &mine.join("bin/cargo"),
        &format!("exec '{}' \"$@\"", env!("CARGO")),
    );
    script(
        &fixture.prover().join("bin/cargo"),
        "touch ../foreign; exit 1",
    );
    let path = env::var("PATH").unwrap();
    for (name, value) in [
        ("CARGO", "bin/cargo".to_owned()),
        ("PATH", format!("bin:{path}")),
    ] {
        let manifest = fixture.prover().join("Cargo.toml");
        let mut command = fixture.command(&["status", "--manifest-path"]);
        command.arg(manifest).current_dir(&mine);
        let output = command
            .env_remove("CARGO")
            .env(name, value)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", fixture.transcript(&output));
        assert!(!fixture.path().join("foreign").exists(), "{name}");
    }
}
