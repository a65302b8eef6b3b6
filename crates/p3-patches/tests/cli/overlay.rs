//! `overlay`: the folder, and a prover that takes it from a git repository.

use std::fs;
use std::process::Command;

use insta::assert_snapshot;

use crate::fixture::{Fixture, MANIFEST, assert_ended, files, git, write};

#[test]
fn the_same_patches_give_the_same_bytes() {
    let fixture = Fixture::new();
    let run = fixture.run(&["overlay", "--out", "one"]);
    assert_snapshot!("overlay", run);
    fixture.succeed(&["overlay", "--out", "deeper/two", "demo", "stacked"]);
    let one = files(&fixture.prover().join("one"));
    assert!(one == files(&fixture.prover().join("deeper/two")));

    // The packages are those that `apply` writes.
    fixture.succeed(&["apply", "stacked"]);
    for package in ["p3-goldilocks", "p3-symmetric"] {
        let overlaid = files(&fixture.prover().join("one").join(package));
        assert!(overlaid == files(&fixture.tree(package)), "{package}");
    }

    // The tarballs and the patches stand for themselves; their hashes change with these only.
    let text = |file: &str| String::from_utf8(one[file].clone()).unwrap();
    assert_snapshot!("overlay_readme", text("README.md"));
    assert_snapshot!("overlay_provenance", text("provenance.json"));
    let license = text("LICENSE-MIT");
    assert!(license.starts_with("Copyright (c) 2025 The Plonky3 Authors\nCopyright (c) "));
    assert!(text("LICENSE-APACHE").contains("Version 2.0"));
}

/// The lines of the overlay's README, in a prover's manifest: its graph has the packages of the repository.
#[test]
fn a_prover_names_the_repository() {
    let fixture = Fixture::new();
    fixture.succeed(&["overlay", "--out", "../overlay"]);
    let overlay = fixture.path().join("overlay");
    for args in [
        &["init", "--quiet", "--initial-branch", "plonky3-0.8.0"][..],
        &["add", "--all", "--force"],
        &["commit", "--quiet", "--message", "overlay"],
    ] {
        git(&overlay, args);
    }
    let readme = fs::read_to_string(overlay.join("README.md")).unwrap();
    let (_, lines) = readme.split_once("```toml\n").unwrap();
    let (lines, _) = lines.split_once("```").unwrap();
    let url = format!("file://{}", overlay.display());
    fixture.set_manifest(&format!("{MANIFEST}\n{}", lines.replace("URL", &url)));

    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1"])
        .current_dir(fixture.prover())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&metadata.stderr);
    assert!(metadata.status.success(), "{stderr}");
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    for name in ["p3-goldilocks", "p3-symmetric"] {
        let sources = packages
            .iter()
            .filter(|package| package["name"] == name)
            .map(|package| package["source"].as_str().unwrap())
            .collect::<Vec<_>>();
        let expected = format!("git+{url}?branch=plonky3-0.8.0#");
        assert!(
            sources.len() == 1 && sources[0].starts_with(&expected),
            "{sources:?}"
        );
    }
    assert!(!stderr.contains("unused"), "{stderr}");
}

#[test]
fn an_overlay_is_replaced_and_its_repository_kept() {
    let fixture = Fixture::new();
    let overlay = fixture.prover().join("overlay");
    fs::create_dir(&overlay).unwrap();
    git(&overlay, &["init", "--quiet"]);
    fixture.succeed(&["overlay", "--out", "overlay", "stacked"]);
    let stacked = files(&overlay);
    write(&overlay.join("p3-goldilocks/src/stray.rs"), "");
    fixture.succeed(&["overlay", "--out", "overlay", "demo"]);
    let demo = files(&overlay);
    assert!(!demo.contains_key("p3-goldilocks/src/stray.rs"));
    assert!(demo != stacked);
    fixture.succeed(&["overlay", "--out", "overlay", "stacked"]);
    assert!(files(&overlay) == stacked);
    assert_eq!(git(&overlay, &["log", "--all"]), "");
    assert!(overlay.join(".git/HEAD").exists());
    assert_eq!(fixture.leftovers(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn an_overlay_of_no_patch_is_refused() {
    let fixture = Fixture::new();
    write(&fixture.project().join("patches/series"), "# None.\n");
    let run = fixture.run(&["overlay", "--out", "overlay"]);
    assert_ended(
        &run,
        3,
        "no patch is for Plonky3 0.8.0\nhint: patches/series",
    );
    assert!(!fixture.prover().join("overlay").exists());
    let run = fixture.run(&["apply"]);
    assert_ended(&run, 3, "Cargo.toml: there are no patches to apply\n");
}

#[test]
fn a_folder_of_somebody_else_is_refused() {
    let fixture = Fixture::new();
    let refused = |what: &str| {
        let run = fixture.run(&["overlay", "--out", "overlay"]);
        assert_ended(&run, 3, what);
    };
    let overlay = fixture.prover().join("overlay");
    write(&overlay.join("notes.txt"), "mine");
    refused("[DIR]/prover/overlay: not empty, and no overlay\nhint: ");
    write(&overlay.join("provenance.json"), "{\"tool\": \"another\"}");
    refused("not empty, and no overlay");
    fs::remove_dir_all(&overlay).unwrap();

    let written = fixture.succeed(&["overlay", "--out", "https://u:s3cr3t@h/x"]);
    assert!(written.contains("/https:/h/x: Plonky3 0.8.0"), "{written}");
    fixture.succeed(&["overlay", "--out", "overlay"]);
    write(&overlay.join("notes.txt"), "mine");
    refused("an overlay, but notes.txt is no part of it");
    assert_eq!(fs::read(overlay.join("notes.txt")).unwrap(), b"mine");
    let forged = overlay.join("a\nhint: forged");
    fs::rename(overlay.join("notes.txt"), &forged).unwrap();
    refused("an overlay, but a\\nhint: forged is no part of it");

    // A patch that does not apply leaves the folder as it was.
    fs::remove_file(forged).unwrap();
    let before = files(&overlay);
    let patch = fs::read_to_string(fixture.patch("demo")).unwrap();
    let broken = patch.replace(" extern crate alloc;", " extern crate std;");
    write(&fixture.patch("demo"), &broken);
    refused("does not apply");
    assert!(files(&overlay) == before);
}

#[test]
fn a_name_that_is_too_long_is_told_from_a_full_disk() {
    let fixture = Fixture::new();
    let printed = fixture.run(&["overlay", "--out", &"x".repeat(300)]);
    assert!(printed.starts_with("exit 4\n"), "{printed}");
    assert!(
        printed.ends_with("\nhint: choose a shorter name\n"),
        "{printed}"
    );
}

/// Each run has the folder for itself, from before it looks at it to its end.
#[test]
fn a_second_overlay_is_turned_away() {
    let fixture = Fixture::new();
    let out = fixture.prover().join("overlay");
    let overlay = ["overlay", "--out", "overlay", "demo"];
    for before in ["not there", "an overlay"] {
        fs::create_dir_all(&out).unwrap();
        let there = files(&out);
        let other = fs::File::open(&out).unwrap();
        other.try_lock().unwrap();
        let said = "error: [DIR]/prover/overlay: another run is at work here\nhint: ";
        assert_ended(&fixture.run(&overlay), 4, said);
        assert_eq!(files(&out), there, "{before}");
        drop(other);
        fixture.succeed(&overlay);
    }
}
