//! Manifests that cargo, formatters and merges edit while patches are applied.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use insta::assert_snapshot;

use crate::fixture::{Fixture, MANIFEST, assert_ended, files, redact_hashes, write};

/// A step of a test: the tool's command, or cargo's.
enum Step {
    Tool(&'static [&'static str]),
    Cargo(&'static [&'static str]),
}

use Step::{Cargo, Tool};

/// The manifest and the lock file after the steps; without the tool's, where a prover does the same unpatched.
fn after(steps: &[Step], patched: bool) -> (String, String) {
    let fixture = Fixture::new();
    for step in steps {
        match step {
            Tool(args) if patched => {
                fixture.succeed(args);
            }
            Tool(_) => {}
            Cargo(args) => fixture.cargo(&[args, &["--offline"][..]].concat()),
        }
    }
    fixture.state()
}

/// Cargo puts a new table behind the last one, which is the block's. The packages are some that Plonky3 brings, so that none has to be fetched.
#[test]
fn tables_that_cargo_adds_stay() {
    let steps = [
        Tool(&["apply", "demo"]),
        Cargo(&["add", "--optional", "serde"]),
        Cargo(&["add", "--dev", "either"]),
        Tool(&["status"]),
        Tool(&["apply", "stacked"]),
        Cargo(&["add", "--build", "paste"]),
        Cargo(&["add", "--dev", "scopeguard"]),
        Tool(&["apply"]),
        Cargo(&["remove", "--dev", "either"]),
        Cargo(&["remove", "serde"]),
        Tool(&["remove"]),
    ];
    let [patched, unpatched] = [true, false].map(|patched| after(&steps, patched));
    assert!(patched.0.contains("[build-dependencies]"), "{}", patched.0);
    assert_eq!(patched, unpatched);
}

#[test]
fn the_user_is_told_what_stays() {
    let fixture = Fixture::new();
    fixture.succeed(&["apply", "demo"]);
    fixture.cargo(&["add", "--offline", "--optional", "serde"]);
    let status = fixture.succeed(&["status"]);
    let said = "yours, inside the block: [features]; `apply` and `remove` move it out\n";
    assert!(status.contains(said), "{status}");
    let said = "\nnote: moved out of the p3-patches block, since it is yours: [features]\n";
    let applied = fixture.succeed(&["apply"]);
    assert!(applied.contains(said), "{applied}");
    assert_snapshot!("moved_out", redact_hashes(&fixture.manifest()));
    let again = fixture.succeed(&["apply"]);
    assert!(!again.contains("moved out"), "{again}");

    fixture.cargo(&["add", "--offline", "--dev", "either"]);
    let removed = fixture.succeed(&["remove"]);
    let said = said.replace("[features]", "[dev-dependencies]");
    assert!(removed.contains(&said), "{removed}");
}

/// The tool guesses nothing where an edit leaves no whole block.
#[test]
fn a_damaged_block_is_refused_by_line() {
    let fixture = Fixture::new();
    fixture.succeed(&["apply", "demo"]);
    let applied = fixture.manifest();
    let end = "# <<< p3-patches\n";
    let (_, block) = applied.split_once("\n# >>>").unwrap();
    let path = block.lines().find(|line| line.starts_with("path")).unwrap();
    let inline = format!("[patch.crates-io]\np3-field = {{ {path} }}\n");
    let inline = inline.replace("p3-goldilocks", "p3-field");
    let mut transcripts = String::new();
    for damaged in [
        // A merge that is not settled.
        applied.replace(
            end,
            &format!("<<<<<<< ours\n{end}=======\n{end}>>>>>>> theirs\n"),
        ),
        // Both sides of a merge.
        format!("{applied}\n# >>>{block}"),
        // A key of the user's, in a table of the tool's and behind it.
        applied.replace("path = ", "package = \"x\"\npath = "),
        format!("{applied}version = \"0.8\"\n"),
        // A tree's entry outside of the block.
        applied.replace("\n# >>>", &format!("\n{inline}\n# >>>")),
        applied.replace(end, ""),
    ] {
        fixture.set_manifest(&damaged);
        let lock = fixture.lock();
        for command in ["apply", "remove", "status"] {
            let transcript = fixture.run(&[command]);
            assert!(transcript.starts_with("exit 3\n"), "{transcript}");
            if command == "remove" {
                transcripts += &transcript;
            }
        }
        assert_eq!(fixture.state(), (damaged, lock));
    }
    assert_snapshot!(transcripts);
}

/// Path packages alone are compiled incrementally, and run slower for it.
#[test]
fn trees_are_not_compiled_incrementally() {
    let fixture = Fixture::new();
    let original = fixture.manifest();
    let profiles = "[profile.release]\nincremental = true\n\n[profile.slow]\ninherits = \"dev\"\nincremental = false\n\n\
                    [profile.release.package.\"p3-symmetric@0.8.0\"]\nopt-level = 3\n";
    fixture.set_manifest(&format!("{original}\n{profiles}"));
    // A package that the user has settings of is the user's to settle.
    let said = "profile release has cargo compile patched packages incrementally";
    let applied = fixture.succeed(&["apply", "demo"]);
    assert!(applied.contains(said), "{applied}");
    let applied = fixture.manifest();
    let expected =
        "\n[profile.release.package.p3-goldilocks]\nincremental = false\n# <<< p3-patches\n";
    assert!(applied.ends_with(expected), "{applied}");
    assert_eq!(applied.matches("incremental = false").count(), 2);
    let plan = Command::new(env!("CARGO"))
        .args(["build", "--offline", "--release"])
        .args(["-Z", "unstable-options", "--unit-graph"])
        .current_dir(fixture.prover())
        .env("RUSTC_BOOTSTRAP", "1")
        .env_remove("CARGO_INCREMENTAL")
        .output()
        .unwrap();
    let plan: serde_json::Value = serde_json::from_slice(&plan.stdout).unwrap();
    let is_incremental = |name: &str| {
        let mut units = plan["units"].as_array().unwrap().iter();
        let unit = units.find(|unit| unit["target"]["name"] == name).unwrap();
        unit["profile"]["incremental"] == true
    };
    let incremental = ["prover", "p3_symmetric", "p3_goldilocks"].map(is_incremental);
    assert_eq!(incremental, [true, true, false]);
    fixture.succeed(&["status"]);
    fixture.succeed(&["remove"]);
    assert_eq!(fixture.manifest(), format!("{original}\n{profiles}"));
    let inline = format!("profile.release = {{ incremental = true }}\n{original}");
    fixture.set_manifest(&inline);
    let applied = fixture.succeed(&["apply", "demo"]);
    assert!(applied.contains(said), "{applied}");
    assert!(!fixture.manifest().contains("incremental = false"));
    fixture.succeed(&["remove"]);
    assert_eq!(fixture.manifest(), inline);

    let plain = format!("{original}\n[profile.release]\nincremental = true\n");
    fixture.set_manifest(&plain);
    let applied = fixture.succeed(&["apply", "demo"]);
    assert!(
        applied.contains("; the block excepts the patched ones"),
        "{applied}"
    );
    let mut command = fixture.command(&["apply"]);
    let output = command.env("CARGO_INCREMENTAL", "1").output().unwrap();
    let said = "note: CARGO_INCREMENTAL has cargo compile patched packages incrementally";
    let applied = fixture.transcript(&output);
    assert!(applied.contains(said), "{applied}");

    // The profiles of cargo's configuration add to the manifest's.
    let configured = "[profile.dev]\nopt-level = 3\n\n[profile.slow]\ninherits = \"dev\"\n\n\
                      [profile.fast]\ninherits = \"release\"\n\n[profile.whole]\ninherits = \"dev\"\nincremental = false\n";
    write(&fixture.prover().join(".cargo/config.toml"), configured);
    fixture.set_manifest(&original);
    let applied = fixture.succeed(&["apply", "demo"]);
    let noted = |profile: &str| {
        let said = format!("note: profile {profile} of cargo's configuration has cargo compile");
        applied.contains(&said)
    };
    assert_eq!(
        ["dev", "slow", "fast", "whole"].map(noted),
        [true, true, false, false],
        "{applied}"
    );
}

/// `dev` and its heirs are incremental where they say nothing of it. That matters where they optimize.
#[test]
fn trees_of_optimized_dev_profiles_are_not_compiled_incrementally() {
    let fixture = Fixture::new();
    let original = fixture.manifest();
    for (profiles, excepted) in [
        ("[profile.dev]\nopt-level = 3\n", &["dev"][..]),
        ("[profile.dev.package.\"*\"]\nopt-level = 2\n", &["dev"]),
        ("[profile.test]\nopt-level = \"s\"\n", &["test"]),
        (
            "[profile.fast]\ninherits = \"dev\"\nopt-level = 3\n\n[profile.faster]\ninherits = \"fast\"\n",
            &["fast", "faster"],
        ),
        ("[profile.dev]\nopt-level = 0\n", &[]),
        ("[profile.dev]\nopt-level = 3\nincremental = false\n", &[]),
        (
            "[profile.dev.package.\"*\"]\nopt-level = 3\nincremental = false\n",
            &[],
        ),
        (
            "[profile.fast]\ninherits = \"release\"\nopt-level = 3\n",
            &[],
        ),
    ] {
        let manifest = format!("{original}\n{profiles}");
        fixture.set_manifest(&manifest);
        fixture.succeed(&["apply", "demo"]);
        let applied = fixture.manifest();
        let (_, block) = applied.split_once("# >>> p3-patches").unwrap();
        for profile in ["dev", "test", "fast", "faster"] {
            let exception =
                format!("[profile.{profile}.package.p3-goldilocks]\nincremental = false\n");
            assert_eq!(
                block.contains(&exception),
                excepted.contains(&profile),
                "{applied}"
            );
        }
        fixture.succeed(&["remove"]);
        assert_eq!(fixture.manifest(), manifest);
    }
}

/// Tools that look packages up in a registry read the lock file that a prover without patches has.
#[test]
fn the_lock_file_without_patches_is_written() {
    let fixture = Fixture::new();
    let lock = fixture.lock();
    let published = fixture.path().join("published.lock");
    let args = ["status", "--published-lock", published.to_str().unwrap()];
    fixture.succeed(&args);
    assert_eq!(fs::read_to_string(&published).unwrap(), lock);
    fixture.succeed(&["apply", "demo"]);
    assert_ne!(fixture.lock(), lock);
    fs::remove_file(&published).unwrap();
    fixture.succeed(&args);
    assert_eq!(fs::read_to_string(&published).unwrap(), lock);
    fs::hard_link(
        fixture.prover().join("Cargo.lock"),
        fixture.prover().join("other.lock"),
    )
    .unwrap();
    let tree = fixture.tree("p3-goldilocks").join("src/lib.rs");
    write(&fixture.prover().join(".cargo/config.toml"), "");
    for own in [
        "Cargo.lock",
        "Cargo.toml",
        "other.lock",
        "src/lib.rs",
        ".cargo/config.toml",
        ".p3-patches/.gitignore",
        tree.to_str().unwrap(),
    ] {
        let before = fixture.state();
        let refused = fixture.run(&["status", "--published-lock", own]);
        assert!(refused.starts_with("exit 3\n"), "{refused}");
        assert_eq!(fixture.state(), before);
    }
    // Cargo, rustup and git are configured in folders above and at home, too.
    let home = fixture.home_without("none");
    for folder in [
        "../.cargo",
        "../.rustup",
        "../config/git",
        "../rustup-home",
        ".git",
    ] {
        fs::create_dir_all(fixture.prover().join(folder)).unwrap();
    }
    for other in [
        "../.cargo/config.toml",
        "../.gitconfig",
        "../.rustup/settings.toml",
        "../config/git/config",
        "../rustup-home/settings.toml",
        "../rust-toolchain",
        "rust-toolchain.toml",
        ".git/config",
        "../cargo-home/credentials.toml",
    ] {
        for args in [
            &["status", "--published-lock", other][..],
            &["try", "demo", "--json", other, "--", "run"],
        ] {
            let mut command = fixture.command(args);
            command.env("CARGO_HOME", &home);
            command.env("XDG_CONFIG_HOME", fixture.path().join("config"));
            if other.starts_with("../rustup-home") {
                command.env("RUSTUP_HOME", fixture.path().join("rustup-home"));
            }
            let run = fixture.transcript(&command.output().unwrap());
            assert_ended(&run, 3, other);
            assert!(!fixture.prover().join(other).exists(), "{run}");
        }
    }
    write(&fixture.prover().join("no/folder"), "");
    let nowhere = fixture.run(&["status", "--published-lock", "no/folder/x"]);
    assert!(
        nowhere.contains("error: no/folder: not a folder\nhint: "),
        "{nowhere}"
    );
}

/// A file that a manifest names outside of its folder, or one that has nothing to do with cargo, may be all that there is of it.
#[test]
fn no_output_goes_over_a_file_of_another_kind() {
    let fixture = Fixture::new();
    let build = "edition = \"2024\"\nbuild = \"../beside/build.rs\"\n";
    fixture.set_manifest(&MANIFEST.replace("edition = \"2024\"\n", build));
    write(&fixture.path().join("beside/build.rs"), "fn main() {}\n");
    write(&fixture.path().join("beside/notes.csv"), "mine\n");
    let kept = || files(&fixture.path().join("beside"));
    let before = kept();
    for args in [
        &["status", "--published-lock", "../beside/build.rs"][..],
        &["try", "--json", "../beside/build.rs", "--", "run"],
        &["try", "--html", "../beside/build.rs", "--", "run"],
        &["try", "--json", "../beside/notes.json", "--", "run"],
    ] {
        let run = fixture.run(args);
        assert_ended(&run, 3, "no earlier output of this option\nhint: ");
        assert!(kept() == before, "{args:?}");
    }
    for _ in 0..2 {
        fixture.succeed(&["status", "--published-lock", "../beside/lock"]);
    }
}

/// Manifests and sources of a member, named by a pattern, and of a package that it names by a path.
#[test]
fn no_output_goes_over_what_a_member_has() {
    let fixture = Fixture::new();
    let dependency = "[dependencies]\nb = { path = \"../../b\" }\n";
    for (place, name, more) in [("crates/a", "a", dependency), ("b", "b", "")] {
        let folder = fixture.prover().join(place);
        let text = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\n{more}");
        write(&folder.join("Cargo.toml"), &text);
        write(&folder.join("src/lib.rs"), "");
        write(&folder.join("build.rs"), "fn main() {}");
    }
    fixture.set_manifest(&format!(
        "{MANIFEST}\n[workspace]\nmembers = [\"crates/*\"]\n"
    ));
    fixture.cargo(&["metadata", "--offline", "--format-version", "1"]);
    let kept = || files(&fixture.prover());
    let before = kept();
    let link = "link";
    for place in ["crates/a", "b"] {
        for own in ["Cargo.toml", "src/lib.rs", "build.rs", "src/x.rs"] {
            let own = format!("{place}/{own}");
            let try_it = ["try", "--json", &own, "--", "run"];
            for args in [&["status", "--published-lock", &own][..], &try_it] {
                let run = fixture.run(args);
                assert!(run.starts_with("exit 3\n"), "{args:?}: {run}");
                assert!(kept() == before, "{args:?}");
            }
        }
        // Under another name.
        symlink(format!("{place}/Cargo.toml"), fixture.prover().join(link)).unwrap();
        let run = fixture.run(&["status", "--published-lock", link]);
        fs::remove_file(fixture.prover().join(link)).unwrap();
        assert_ended(&run, 3, "a file that cargo or this tool reads");
        assert!(kept() == before);
    }
    fixture.succeed(&["status", "--published-lock", "crates/a/published.lock"]);
}

/// A link to nothing may stand for a file that cargo reads once it is there, and a pipe would never be read.
#[test]
fn the_lock_file_without_patches_goes_to_no_link_and_no_pipe() {
    let fixture = Fixture::new();
    let published = fixture.prover().join("published.lock");
    let refuses = |what: &str| {
        let mut status = fixture.command(&["status", "--published-lock", "published.lock"]);
        let mut status = status
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        for _ in 0..600 {
            if status.try_wait().unwrap().is_some() {
                break;
            }
            thread::sleep(Duration::from_millis(50));
        }
        // Nothing else ends one that waits for a pipe's reader.
        let _ = status.kill();
        let output = status.wait_with_output().unwrap();
        let run = fixture.transcript(&output);
        assert_ended(&run, 3, &format!("error: published.lock: {what}\nhint: "));
    };
    for target in ["build.rs", "src/bin.rs", "rust-toolchain"] {
        symlink(target, &published).unwrap();
        refuses("a symbolic link to nothing");
        assert!(!fixture.prover().join(target).exists());
        fs::remove_file(&published).unwrap();
    }
    let made = Command::new("mkfifo").arg(&published).status().unwrap();
    assert!(made.success());
    refuses("a pipe");
    fs::remove_file(&published).unwrap();
    // A link to a file stays one.
    write(&fixture.prover().join("other.lock"), "");
    symlink("other.lock", &published).unwrap();
    fixture.succeed(&["status", "--published-lock", "published.lock"]);
    assert!(published.is_symlink());
    assert_eq!(fs::read_to_string(&published).unwrap(), fixture.lock());
}

/// Patches hold a prover at a release; `cargo update` says nothing of newer ones.
#[test]
fn newer_releases_are_named() {
    let fixture = Fixture::new().with_older_base();
    fixture.succeed(&["apply", "demo"]);
    let status = fixture.succeed(&["status"]);
    let said = "\n0.4.3 of p3-util is out; `cargo update` keeps 0.4.0 while it is patched\n";
    assert!(status.contains(said), "{status}");
    assert!(
        !status.contains("0.5.0 of") && !status.contains("-succinct"),
        "{status}"
    );
}

/// The manifest has a dependency that the lock file does not have yet.
#[test]
fn a_lock_file_behind_the_manifest_is_named() {
    let fixture = Fixture::new();
    fixture.succeed(&["apply", "demo"]);
    let dependency = "any 0.8 will do\n";
    let manifest = fixture.manifest();
    fixture.set_manifest(&manifest.replace(dependency, &format!("{dependency}either = \"1\"\n")));
    let status = fixture.run(&["status"]);
    assert_ended(&status, 1, "\nhint: `cargo fetch` in that folder brings");

    // The hint.
    fixture.cargo(&["fetch", "--offline"]);
    fixture.succeed(&["status"]);
}

/// The manifest asks for another release by now.
#[test]
fn a_prover_that_moved_to_another_release_is_told_how_to_go_on() {
    let fixture = Fixture::new().with_older_base();
    fixture.succeed(&["apply", "demo"]);
    let manifest = fixture.manifest();
    let newer = "p3-util = \"0.8\"\np3-goldilocks = \"0.8\"";
    fixture.set_manifest(&manifest.replace("p3-util = \"0.4\"", newer));
    fixture.cargo(&["fetch"]);
    let status = fixture.run(&["status"]);
    assert_ended(
        &status,
        1,
        "\nhint: `cargo p3 remove` takes the patches out, then `apply`",
    );

    // The hint.
    fixture.succeed(&["remove"]);
    fixture.succeed(&["apply"]);
    assert!(fixture.manifest().contains("Plonky3 0.8.0 with demo"));
    fixture.succeed(&["status"]);
}

#[test]
fn a_merge_conflict_in_the_lock_file_is_named() {
    let fixture = Fixture::new();
    fixture.succeed(&["apply", "demo"]);
    let lock = fixture.lock();
    let at = lock.find("[[package]]").unwrap();
    let conflict = format!(
        "{}<<<<<<< ours\n=======\n>>>>>>> theirs\n{}",
        &lock[..at],
        &lock[at..]
    );
    write(&fixture.prover().join("Cargo.lock"), &conflict);
    for command in ["apply", "status", "remove"] {
        let transcript = fixture.run(&[command]);
        let said = "error: [DIR]/prover/Cargo.lock:5: has a merge conflict\nhint: take the lock file of either side";
        assert_ended(&transcript, 3, said);
    }
    // The hint.
    write(&fixture.prover().join("Cargo.lock"), &lock);
    fixture.succeed(&["status"]);
}

/// Where hints tell a user to delete the block.
#[test]
fn a_block_that_was_deleted_leaves_nothing() {
    let fixture = Fixture::new();
    let lock = fixture.lock();
    let manifest = fixture.manifest();
    fixture.succeed(&["apply", "demo"]);
    fixture.set_manifest(&manifest);
    let removed = fixture.succeed(&["remove"]);
    assert!(
        removed.contains("removed what was left of patches beside "),
        "{removed}"
    );
    assert!(!fixture.prover().join(".p3-patches").exists());
    assert_eq!(fixture.lock(), lock);
    assert!(fixture.run(&["remove"]).starts_with("exit 3\n"));

    fixture.succeed(&["apply", "demo"]);
    fixture.set_manifest(&manifest);
    fixture.succeed(&["apply", "demo"]);
    fixture.succeed(&["status"]);
}

/// A package that a tree has stood in for stays at its version, though the registry has a newer one.
#[test]
fn a_block_that_was_deleted_leaves_the_versions() {
    let fixture = Fixture::new().with_older_base();
    let lock = fixture.lock();
    let manifest = fixture.manifest();
    for args in [&["remove"][..], &["apply"]] {
        fixture.succeed(&["apply", "demo"]);
        assert_ne!(fixture.lock(), lock);
        fixture.set_manifest(&manifest);
        fixture.succeed(args);
        if args == ["apply"] {
            fixture.succeed(&["status"]);
            fixture.succeed(&["remove"]);
        }
        assert_eq!(fixture.lock(), lock);
    }
}

/// The head of what a lock file has of an override that nothing uses.
const UNUSED: &str = "[[patch.unused]]";

/// The prover needs no package of Plonky3's any more.
#[test]
fn patches_that_nothing_needs_are_named() {
    let fixture = Fixture::new();
    fixture.succeed(&["apply", "demo"]);
    write(&fixture.prover().join("src/lib.rs"), "");
    fixture.cargo(&["remove", "p3-goldilocks", "--offline"]);
    fixture.cargo(&["fetch", "--offline"]);
    let status = fixture.run(&["status"]);
    let said =
        ": no package here needs what they patch\nhint: `cargo p3 remove` takes the patches out\n";
    assert_ended(&status, 1, said);
    let apply = fixture.run(&["apply"]);
    assert!(
        apply.contains("\nhint: `cargo p3 status` says what is applied"),
        "{apply}"
    );

    // The hint.
    assert!(fixture.lock().contains(UNUSED));
    fixture.succeed(&["remove"]);
    fixture.succeed(&["status"]);
    assert!(!fixture.lock().contains(UNUSED));
}

/// The prover needs one of the patched packages no more, which the lock file does not know yet.
#[test]
fn a_tree_that_is_set_aside_leaves_nothing_in_the_lock_file() {
    let fixture = Fixture::new();
    let own = "{ path = \"../own\" }\n";
    for (folder, package) in [("own", "p3-blake3"), ("other", "either")] {
        let text = format!("[package]\nname = \"{package}\"\nversion = \"0.8.0\"\n");
        write(&fixture.path().join(folder).join("Cargo.toml"), &text);
        write(&fixture.path().join(folder).join("src/lib.rs"), "");
    }
    let patches =
        format!("\n[patch.crates-io]\np3-blake3 = {own}either = {{ path = \"../other\" }}\n");
    let before = format!("{MANIFEST}{patches}");
    fixture.set_manifest(&before);
    fixture.succeed(&["apply", "demo"]);
    let manifest = fixture.manifest();
    fixture.set_manifest(&manifest.replace("p3-goldilocks = \"0.8\"", "p3-symmetric = \"0.8\""));
    write(&fixture.prover().join("src/lib.rs"), "");
    let unused = |package: &str| {
        let entry = format!("{UNUSED}\nname = \"{package}\"\nversion = \"0.8.0\"\n");
        fixture.lock().contains(&entry)
    };
    for command in ["apply", "remove"] {
        fixture.succeed(&[command]);
        assert!(!unused("p3-goldilocks"), "{command}: {}", fixture.lock());
        assert!(unused("p3-blake3") && unused("either"), "{command}");
    }
}

/// Every command reads the names of the patches in the block's first line, and prints them.
#[test]
fn names_in_the_block_are_names_of_patches() {
    let fixture = Fixture::new();
    fixture.succeed(&["apply", "demo"]);
    let applied = fixture.manifest();
    for name in [
        "https://u:s3cr3t@h/?t=s3cr3t",
        "demo\u{9b}31m",
        "\u{202e}demo",
    ] {
        fixture.set_manifest(&applied.replace("with demo", &format!("with {name}")));
        let state = fixture.state();
        for args in [
            &["remove"][..],
            &["status"],
            &["apply"],
            &["try", "--", "run"],
        ] {
            let run = fixture.run(args);
            assert_ended(
                &run,
                3,
                "the first line of the p3-patches block has been changed\nhint: ",
            );
            assert!(!run.contains("s3cr3t") && !run.contains(name), "{run}");
        }
        assert_eq!(fixture.state(), state);
    }
}
