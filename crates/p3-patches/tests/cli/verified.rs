//! `status --verify`: what each tree is made from, and who has to agree about that.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use insta::assert_snapshot;

use crate::fixture::{Fixture, assert_ended, cargo_home, write};

#[test]
fn trees_are_traced_to_tarballs_and_patches() {
    let fixture = Fixture::new();
    fixture.succeed(&["apply", "stacked"]);
    assert_snapshot!("verified", fixture.run(&["status", "--verify"]));

    // The JSON has the same. Without --verify it has neither.
    let json = fixture.succeed(&["status", "--verify", "--json"]);
    assert!(json.contains("\"made_from\": {\n"), "{json}");
    let plain = fixture.succeed(&["status", "--json"]);
    assert!(
        !plain.contains("made_from") && !plain.contains("\"lock\""),
        "{plain}"
    );
}

#[test]
fn files_that_differ_are_named() {
    let fixture = Fixture::new();
    fixture.succeed(&["apply", "demo"]);
    let tree = fixture.tree("p3-goldilocks");
    let lib = fs::read_to_string(tree.join("src/lib.rs")).unwrap();
    write(&tree.join("src/lib.rs"), &format!("{lib}\n"));
    write(&tree.join("src/deep/stray.rs"), "");
    fs::remove_file(tree.join("src/mds.rs")).unwrap();
    let stamp = fs::read_to_string(tree.join(".p3-stamp.json")).unwrap();
    write(
        &tree.join(".p3-stamp.json"),
        &stamp.replace("demo", "other"),
    );
    let run = fixture.run(&["status", "--verify"]);
    assert!(run.starts_with("exit 1\n"), "{run}");
    let differences = "  differs: .p3-stamp.json differs\n  differs: src/deep/stray.rs is no part of it\n  \
                       differs: src/lib.rs differs\n  differs: src/mds.rs is not there\n";
    assert!(run.contains(differences), "{run}");
}

/// A cargo home with another tarball of p3-goldilocks, and a reviewed checksum that is that one's: both
/// agree, and so does everything that is made from them.
#[test]
fn the_index_is_asked_for_what_was_reviewed() {
    let fixture = Fixture::new();
    let home = fixture.path().join("cargo-home");
    let real = cargo_home().join("registry");
    fs::create_dir_all(home.join("registry")).unwrap();
    symlink(real.join("index"), home.join("registry/index")).unwrap();
    let only = |dir: PathBuf| {
        let mut entries = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        entries.find(|path| path.join("p3-goldilocks-0.8.0.crate").is_file())
    };
    let tarballs = only(real.join("cache")).unwrap();
    let cache = home
        .join("registry/cache")
        .join(tarballs.file_name().unwrap());
    fs::create_dir_all(&cache).unwrap();
    for entry in fs::read_dir(&tarballs).unwrap() {
        let path = entry.unwrap().path();
        symlink(&path, cache.join(path.file_name().unwrap())).unwrap();
    }
    let forged = cache.join("p3-goldilocks-0.8.0.crate");
    let mut bytes = fs::read(&forged).unwrap();
    bytes.extend(b"more");
    fs::remove_file(&forged).unwrap();
    fs::write(&forged, &bytes).unwrap();

    let run = |args: &[&str]| {
        let mut command = fixture.command(args);
        fixture.transcript(&command.env("CARGO_HOME", &home).output().unwrap())
    };
    // The lock file does not name the package while it is patched.
    fixture.succeed(&["apply", "demo"]);
    let refused = run(&["apply", "demo"]);
    assert!(refused.starts_with("exit 3\n"), "{refused}");
    let hint = "\nhint: delete that file; cargo will fetch it again\n";
    assert!(refused.contains(hint), "{refused}");
    let checksum = |line: &str| {
        let (_, checksum) = refused.split_once(line).unwrap();
        checksum.trim_start()[..64].to_owned()
    };
    let (published, found) = (checksum("expected:"), checksum("found:"));
    let text = fs::read_to_string(fixture.checksums()).unwrap();
    write(&fixture.checksums(), &text.replace(&published, &found));

    let applied = run(&["apply", "demo"]);
    assert!(applied.starts_with("exit 0\n"), "{applied}");
    let status = run(&["status"]);
    assert!(status.starts_with("exit 0\n"), "{status}");
    let verified = run(&["status", "--verify"]);
    let expected = format!("  differs: the tarball, by the registry's index {published}\n");
    assert_ended(&verified, 1, &expected);
}

/// A package that no patch touches: the workspace's lock file and the reviewed checksums name different tarballs.
#[test]
fn the_workspaces_lock_file_has_to_agree() {
    let fixture = Fixture::new();
    let lock = fixture.project().join("Cargo.lock");
    let reviewed = fs::read_to_string(fixture.checksums()).unwrap();
    let locked = fs::read_to_string(&lock).unwrap();
    let (before, _) = reviewed.split_once("  p3-field-0.8.0.crate").unwrap();
    let (_, field) = before.rsplit_once('\n').unwrap();
    let (_, entry) = locked.split_once("name = \"num-bigint\"").unwrap();
    let (_, entry) = entry.split_once("checksum = \"").unwrap();
    let other = "0".repeat(64);
    let write_both = |replaced: &str| {
        write(&fixture.checksums(), &reviewed.replace(replaced, &other));
        write(&lock, &locked.replace(replaced, &other));
    };
    for (package, checksum) in [("p3-field 0.8.0", field), ("num-bigint", &entry[..64])] {
        write_both(checksum);
        let before = fixture.state();
        let run = fixture.run(&["apply", "demo"]);
        assert!(run.starts_with("exit 3\n"), "{run}");
        let expected =
            format!("is locked with checksum {checksum}; the reviewed one is {other}\nhint: ");
        assert!(run.contains(package) && run.contains(&expected), "{run}");
        assert_eq!(fixture.state(), before);

        write_both("no checksum");
        fixture.succeed(&["apply", "demo"]);
        write_both(checksum);
        fixture.succeed(&["status"]);
        let run = fixture.run(&["status", "--verify"]);
        assert!(run.starts_with("exit 1\n"), "{run}");
        let expected = format!("is locked with checksum {checksum}; the reviewed one is {other}\n");
        assert!(run.contains(&expected), "{run}");
        fixture.succeed(&["remove"]);
    }
}
