//! `apply` without names: the release comes from the lock file, the patches from the graph.

use std::fs;
use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;

use crate::fixture::{DEMO, Fixture, MANIFEST, adds, assert_ended, published, write};

/// Runs `apply`, which has to fail with a line and a hint, and to leave the prover as it was.
#[track_caller]
pub fn refused(fixture: &Fixture) -> String {
    let lock = || fs::read(fixture.prover().join("Cargo.lock")).ok();
    let before = (fixture.manifest(), lock());
    let transcript = fixture.run(&["apply"]);
    let (_, stderr) = transcript.split_once("--- stderr\n").unwrap();
    let lines = stderr.lines().collect::<Vec<_>>();
    assert!(lines[0].starts_with("error: "), "{transcript}");
    assert!(lines[1].starts_with("hint: "), "{transcript}");
    assert_eq!(lines.len(), 2, "{transcript}");
    assert!((fixture.manifest(), lock()) == before, "{transcript}");
    assert!(!fixture.prover().join(".p3-patches").is_dir());
    // Without a lock file, `status` has no graph to look at.
    if lock().is_some() {
        let status = fixture.run(&["status"]);
        let error = lines[0].strip_prefix("error: ").unwrap();
        assert!(
            status.contains(error) && status.contains(lines[1]),
            "{status}"
        );
        assert!(!status.contains("`apply` would apply"), "{status}");
    }
    transcript
}

/// A package `name` beside the prover with these dependencies.
pub fn beside(fixture: &Fixture, name: &str, version: &str, dependencies: &str) {
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"{version}\"\n\n[dependencies]\n{dependencies}"
    );
    let folder = fixture.path().join(name);
    write(&folder.join("Cargo.toml"), &manifest);
    write(&folder.join("src/lib.rs"), "");
}

/// A patch that only has a header.
pub fn header(packages: &str, bases: &str) -> String {
    let (header, _) = DEMO.split_once("diff --git").unwrap();
    let header = (header.replace("p3-goldilocks, p3-symmetric", packages))
        .replace("Bases: 0.8.0", &format!("Bases: {bases}"))
        .replace("Kernels: goldilocks/src/demo.rs\n", "");
    format!("{header}-- \np3-patches\n")
}

#[test]
fn patches_are_chosen_with_their_effects_and_the_others_are_named() {
    let fixture = Fixture::new().with_stacked_foreign();
    let patches = fixture.project().join("patches");
    write(
        &patches.join("0.8.0/elsewhere.patch"),
        &header("p3-koala-bear", "0.8.0"),
    );
    write(
        &patches.join("0.4.0/older.patch"),
        &header("p3-util", "0.4.0"),
    );
    write(
        &patches.join("series"),
        "demo\nstacked needs: demo\nelsewhere\nolder\n",
    );
    let available = fixture.succeed(&["status"]);
    assert_snapshot!("available", available);
    assert_snapshot!("unrecorded", fixture.succeed(&["apply"]));
    assert!(
        fixture
            .manifest()
            .contains("# >>> p3-patches: Plonky3 0.8.0 with demo\n")
    );
    fixture.succeed(&["remove"]);

    // The release of the prover before another one, then the newest.
    let mut effects = "patch,release,isa,date,cpu,workload,ratio,verdict,outdated\n".to_owned();
    for isa in [
        "generic",
        "x86-64-v3",
        "x86-64-v4",
        "x86-64-v4+ifma",
        "neon",
    ] {
        for row in [
            format!("demo,0.4.0,{isa},2026-11-04,Other,other,0.5,faster,false\n"),
            format!("demo,0.7.0,{isa},2026-11-02,Older,older,0.6,faster,false\n"),
            format!(
                "demo,0.8.0,{isa},2026-11-03,\"CPU (family 1, model 2)\",hash,0.714,faster,false\n"
            ),
            format!("stacked,0.8.0,{isa},2026-11-05,Stacked,stacked,0.7,faster,true\n"),
        ] {
            effects += &row;
        }
    }
    write(&patches.join("effects.csv"), &effects);
    let applied = fixture.succeed(&["apply"]);
    assert!(
        applied.contains(":\n    hash: demo 0.71\nleft out stacked: "),
        "{applied}"
    );
    let marked = "    hash: demo 0.71\u{2020}\n    \u{2020} of an earlier text of the patch\n";
    let earlier = effects.replace("0.714,faster,false", "0.714,faster,true");
    write(&patches.join("effects.csv"), &earlier);
    let applied = fixture.succeed(&["apply"]);
    assert!(applied.contains(marked), "{applied}");
    write(&patches.join("effects.csv"), &effects);
    let applied = fixture.succeed(&["apply", "--verbose"]);
    let (_, phrase) = applied.split_once("\n  demo: ").unwrap();
    let (phrase, _) = phrase.split_once('\n').unwrap();
    let (before, after) = phrase.split_once("0.8.0, ").unwrap();
    let (isa, after) = after.split_once(", ").unwrap();
    assert_eq!(before, "hash 0.71 (Plonky3 ");
    assert_eq!(after, "CPU (family 1, model 2), 2026-11-03)");
    assert!(effects.contains(&format!(",{isa},")), "{applied}");

    let token = "https://me:s3cr3t@h/";
    write(
        &patches.join("effects.csv"),
        &(effects.replace("hash", token)).replace("CPU (family 1, model 2)", token),
    );
    let listed = fixture.succeed(&["list", "--json"]);
    assert!(
        listed.contains("https://h/") && !listed.contains("s3cr3t"),
        "{listed}"
    );

    for (ratio, why) in [
        ("-1e9", "-1000000000 is no ratio"),
        ("0.0", "0 is no ratio"),
        ("1e300", "is no ratio"),
        ("1.5", "the verdict is not that of the ratio 1.5"),
    ] {
        write(
            &patches.join("effects.csv"),
            &effects.replace("0.714", ratio),
        );
        let refused = fixture.run(&["list"]);
        assert!(
            refused.starts_with("exit 3\n") && refused.contains(why),
            "{refused}"
        );
    }
    write(&patches.join("effects.csv"), "patch\ndemo\n");
    fixture.succeed(&["remove"]);
    let broken = fixture.run(&["apply"]);
    assert_ended(&broken, 3, "error: patches/effects.csv: CSV");
    assert_eq!(fixture.manifest(), MANIFEST);
}

/// The patches that a chosen one needs come along, whatever they touch.
#[test]
fn needs_come_along() {
    let fixture = Fixture::new();
    let text = fs::read_to_string(fixture.patch("demo")).unwrap();
    let end = "-- \np3-patches\n";
    let base = header("p3-koala-bear", "0.8.0");
    let diff = adds("koala-bear/tests/base.rs", "//! Nothing.\n");
    write(
        &fixture.patch("base"),
        &base.replace(end, &format!("{diff}{end}")),
    );
    write(
        &fixture.patch("demo"),
        &text.replace("Risk:", "Needs: base\nRisk:"),
    );
    let series = fixture.project().join("patches/series");
    write(&series, "base\ndemo needs: base\nstacked needs: demo\n");
    let applied = fixture.succeed(&["apply"]);
    assert!(
        applied.contains("applied base, demo, stacked to "),
        "{applied}"
    );
    assert!(!applied.contains("left out"), "{applied}");
}

/// With names and without, the lock file has the release; a build takes what was written with `--locked` and `--offline`.
#[test]
fn the_release_is_that_of_the_lock_file() {
    for args in [&["apply"][..], &["apply", "demo"]] {
        let fixture = Fixture::new().with_older_base();
        let lock = fixture.lock();
        fixture.succeed(args);
        assert!(fixture.manifest().contains("Plonky3 0.4.0 with demo\n"));
        fixture.cargo(&["tree", "--locked", "--offline"]);
        fixture.succeed(&["remove"]);
        assert_eq!(fixture.lock(), lock);
    }
}

/// The hint's command leads to the release.
#[test]
fn a_release_without_patches_that_an_update_leaves() {
    let fixture = Fixture::new().with_older_base();
    fixture.cargo(&["update", "--precise", "0.4.3", "p3-util"]);
    fixture.cargo(&["fetch"]);
    let transcript = refused(&fixture);
    assert_snapshot!(transcript);
    assert_eq!(fixture.run(&["apply", "demo"]), transcript);
    fixture.follow_hint(&transcript);
    fixture.succeed(&["apply"]);
}

#[test]
fn a_release_without_patches_that_the_manifest_asks_for() {
    let fixture = Fixture::new();
    beside(&fixture, "p3-goldilocks", "0.7.0", "");
    fixture.set_manifest(&MANIFEST.replace("\"0.8\"", "{ path = \"../p3-goldilocks\" }"));
    fixture.relock();
    assert_snapshot!(refused(&fixture));
}

#[test]
fn two_releases_are_refused_with_those_who_ask_for_them() {
    let fixture = Fixture::new().with_older_base();
    let older = fixture.manifest();
    let both = older.replace(
        "p3-util",
        "old = { path = \"../old\" }\np3-goldilocks = \"0.8\"\n#",
    );
    beside(
        &fixture,
        "old",
        "0.1.0",
        "renamed = { package = \"p3-util\", version = \"=0.4.0\" }\n",
    );
    fixture.set_manifest(&both);
    fixture.relock();
    assert_snapshot!("two_releases", refused(&fixture));
    let applied = fixture.succeed(&["apply", "--base", "0.8.0"]);
    assert!(applied.contains("applied demo, stacked to "), "{applied}");
    assert!(!applied.contains("stays unpatched"), "{applied}");
    fixture.succeed(&["status"]);
    fixture.succeed(&["remove"]);

    // The other release of a package that is patched is named with who brings it, whatever is between.
    beside(
        &fixture,
        "old",
        "0.1.0",
        "p3-goldilocks = { package = \"p3-goldilocks\", version = \"0.7\" }\n",
    );
    fixture.relock();
    let unpatched = "p3-goldilocks 0.7.0 stays unpatched: it comes from crates.io, for old 0.1.0\n";
    for names in [&["demo"][..], &[]] {
        let args = [&["apply", "--base", "0.8.0"], names].concat();
        let applied = fixture.succeed(&args);
        assert!(applied.contains(&format!("note: {unpatched}")), "{applied}");
    }
    for args in [&["status"][..], &["apply"]] {
        let run = fixture.succeed(args);
        assert!(run.contains(unpatched), "{run}");
        assert!(run.contains("p3-symmetric 0.7.0 stays unpatched"), "{run}");
    }
    assert!(
        fixture
            .succeed(&["status", "--json"])
            .contains("\"other_releases\": [")
    );
    fixture.succeed(&["remove"]);

    // One of two that cargo takes for compatible is a leftover in the lock file.
    beside(
        &fixture,
        "p3-goldilocks",
        "0.8.1",
        "p3-symmetric = \"0.8\"\n",
    );
    fixture.set_manifest(&MANIFEST.replace("\"0.8\"", "{ path = \"../p3-goldilocks\" }"));
    fixture.relock();
    assert_snapshot!("two_compatible_releases", refused(&fixture));
}

#[test]
fn a_renamed_package_is_found() {
    let fixture = Fixture::new();
    let renamed = "field = { package = \"p3-goldilocks\", version = \"0.8\" }";
    fixture.set_manifest(&MANIFEST.replace("p3-goldilocks = \"0.8\"", renamed));
    write(&fixture.prover().join("src/lib.rs"), "");
    fixture.relock();
    fixture.succeed(&["apply"]);
    fixture.succeed(&["status"]);
}

#[test]
fn plonky3_that_is_not_the_registrys_is_refused() {
    let fixture = Fixture::new();
    let mut transcripts = String::new();
    beside(
        &fixture,
        "p3-goldilocks",
        "0.8.0",
        "p3-symmetric = \"0.8\"\n",
    );
    let config = fixture.prover().join(".cargo/config.toml");
    let by_path = MANIFEST.replace("\"0.8\"", "{ path = \"../p3-goldilocks\" }");
    let patch = "[patch.crates-io]\np3-goldilocks = { path = \"../p3-goldilocks\" }\n";
    for (manifest, settings) in [
        (by_path, ""),
        (format!("{MANIFEST}\n{patch}"), ""),
        (MANIFEST.to_owned(), patch),
    ] {
        fixture.set_manifest(&manifest);
        write(&config, settings);
        fixture.relock();
        transcripts += &refused(&fixture);
    }
    assert_snapshot!(transcripts);
}

/// A fork of one package has no say over patches of others.
#[test]
fn a_package_from_a_path_leaves_out_its_own_patches() {
    let fixture = Fixture::new();
    let patches = fixture.project().join("patches");
    let file = adds("util/src/demo.rs", "//! A file.\n");
    let util =
        header("p3-util", "0.8.0").replace("-- \np3-patches", &format!("{file}-- \np3-patches"));
    write(&patches.join("0.8.0/util.patch"), &util);
    write(&patches.join("series"), "demo\nstacked needs: demo\nutil\n");
    let fork = fixture.path().join("p3-symmetric");
    let copied = Command::new("cp")
        .arg("-r")
        .arg(published("p3-symmetric-0.8.0"))
        .arg(&fork)
        .status();
    assert!(copied.unwrap().success());
    let original =
        format!("{MANIFEST}\n[patch.crates-io]\np3-symmetric = {{ path = \"../p3-symmetric\" }}\n");
    fixture.set_manifest(&original);
    fixture.cargo(&["fetch"]);
    let said =
        "left out demo, stacked: p3-symmetric 0.8.0 is here from [DIR]/p3-symmetric/Cargo.toml\n";
    let status = fixture.succeed(&["status"]);
    assert!(
        status.contains("util") && !status.contains("demo,"),
        "{status}"
    );
    let applied = fixture.succeed(&["apply"]);
    assert!(
        applied.contains("applied util to ") && applied.contains(said),
        "{applied}"
    );
    fixture.succeed(&["status"]);
    fixture.succeed(&["remove"]);
    assert_eq!(fixture.manifest(), original);
    // By name it is what the user asked for.
    assert_ended(
        &fixture.run(&["apply", "demo"]),
        3,
        "already patches p3-symmetric",
    );
}

/// Flags, a target, a folder for builds.
#[test]
fn other_settings_of_cargo_change_nothing() {
    let fixture = Fixture::new();
    let settings = "[build]\ntarget = \"aarch64-unknown-linux-gnu\"\ntarget-dir = \"elsewhere\"\nrustflags = [\"-Ctarget-cpu=native\"]\n\n[net]\noffline = true\n";
    write(&fixture.prover().join(".cargo/config.toml"), settings);
    fixture.succeed(&["apply"]);
    fixture.succeed(&["status"]);
    fixture.succeed(&["remove"]);
    assert_eq!(fixture.manifest(), MANIFEST);
}

#[test]
fn workspaces_in_workspaces() {
    let fixture = Fixture::new();
    let outer = fixture.path().join("Cargo.toml");
    write(
        &outer,
        "[workspace]\nmembers = [\"other\"]\nresolver = \"3\"\n",
    );
    beside(&fixture, "other", "0.1.0", "");
    assert_snapshot!(refused(&fixture));
    // A workspace of its own.
    fixture.set_manifest(&format!("{MANIFEST}\n[workspace]\n"));
    fixture.succeed(&["apply"]);
    fixture.succeed(&["status"]);
    assert!(!fs::read_to_string(&outer).unwrap().contains("p3-patches"));
}

/// Nothing is left of the lock file that cargo made up to answer.
#[test]
fn a_prover_without_a_lock_file() {
    let fixture = Fixture::new();
    fixture.set_manifest("[package]\nname = \"prover\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    fs::remove_file(fixture.prover().join("Cargo.lock")).unwrap();
    assert_snapshot!(refused(&fixture));
}

/// The prover has Plonky3, but nothing that a patch for its release touches.
#[test]
fn nothing_to_choose() {
    let fixture = Fixture::new().with_older_base();
    write(
        &fixture.patch("demo"),
        &fs::read_to_string(fixture.patch("demo")).unwrap(),
    );
    fixture.set_manifest(&MANIFEST.replace("p3-goldilocks", "p3-util"));
    write(&fixture.prover().join("src/lib.rs"), "");
    fixture.relock();
    assert_snapshot!(refused(&fixture));
}

/// Cargo leaves characters that a terminal obeys out of what it prints as text: `a` and an escape sequence and `b` becomes `ab`.
#[test]
fn a_folder_that_a_terminal_would_obey_is_the_one_that_is_changed() {
    let fixture = Fixture::new();
    let odd = fixture.path().join("a\u{1b}[31mb\n'\" \u{7}");
    fs::rename(fixture.prover(), &odd).unwrap();
    for sibling in ["ab", "ab\n'\" "] {
        let sibling = fixture.path().join(sibling);
        for file in ["Cargo.toml", "Cargo.lock", "src/lib.rs"] {
            write(
                &sibling.join(file),
                &fs::read_to_string(odd.join(file)).unwrap(),
            );
        }
    }
    let applied = |folder: &Path| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        manifest.contains(">>> p3-patches")
    };
    for (args, is_applied) in [
        (&["apply", "demo"][..], true),
        (&["status"], true),
        (&["remove"], false),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_p3-patches"));
        command.arg("--project").arg(fixture.project()).args(args);
        command.current_dir(&odd).env("CARGO_NET_OFFLINE", "true");
        let output = command.output().unwrap();
        let printed = fixture.transcript(&output);
        assert!(printed.starts_with("exit 0\n"), "{printed}");
        assert!(!printed.contains(['\u{1b}', '\u{7}']), "{printed}");
        assert_eq!(applied(&odd), is_applied, "{printed}");
        assert!(!applied(&fixture.path().join("ab")), "{printed}");
    }
}

/// Cargo speaks of its arguments there, of which the user has given none.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_whose_name_is_no_text_is_refused_by_its_name() {
    use std::os::unix::ffi::OsStrExt as _;

    let fixture = Fixture::new();
    let odd = fixture.path().join(std::ffi::OsStr::from_bytes(b"a\xffb"));
    fs::rename(fixture.prover(), &odd).unwrap();
    for args in [&["apply", "demo"][..], &["status"], &["remove"]] {
        let mut command = fixture.command(args);
        let printed = fixture.transcript(&command.current_dir(&odd).output().unwrap());
        let said = "/a\\xFFb/Cargo.toml\": cargo takes no path that is not UTF-8\nhint: give ";
        assert_ended(&printed, 3, said);
    }
}
