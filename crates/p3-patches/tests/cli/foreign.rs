//! Packages of Plonky3's that a prover takes from a place of its own, and lock files that do not have what was reviewed.

use std::fs;
use std::path::Path;

use toml_edit::DocumentMut;

use crate::fixture::{Fixture, MANIFEST, assert_ended, files, published, write};

/// Copies the files of a package as published, and changes one.
pub fn change(package: &str, to: &Path) {
    for (file, bytes) in files(&published(package)) {
        let text = String::from_utf8_lossy(&bytes);
        write(&to.join(&file), &text);
    }
    // A member of the workspace would need these.
    let manifest = to.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let mut document: DocumentMut = text.parse().unwrap();
    document.remove("dev-dependencies");
    write(&manifest, &document.to_string());
    let lib = to.join("src/lib.rs");
    let text = fs::read_to_string(&lib).unwrap();
    write(&lib, &(text + "\n// changed\n"));
}

const RESOLVE: [&str; 4] = ["metadata", "--offline", "--format-version", "1"];

/// A changed package with the release's version, by each way that cargo has: in its configuration, and in the prover's manifest.
#[test]
fn a_package_from_a_place_of_the_users_is_told_of() {
    const PLACE: &str = "ev/p3-util";
    let fixture = Fixture::new();
    let published = fixture.lock();
    change("p3-util-0.8.0", &fixture.prover().join(PLACE));
    let beside = "p3-util = { path = \"ev/p3-util\" }\n";
    let patch = |entry: &str| format!("\n[patch.crates-io]\n{entry}");
    for (config, dependency, tables) in [
        ("paths = [\"ev/p3-util\"]\n", "", ""),
        (&*patch(beside), "", ""),
        ("", "", &*patch(beside)),
        (
            "",
            "",
            &patch("mine = { package = \"p3-util\", path = \"ev/p3-util\" }\n"),
        ),
        (
            "",
            "",
            &(patch(beside) + "\n[workspace]\nmembers = [\"ev/p3-util\"]\n"),
        ),
        ("", beside, ""),
        (
            "",
            "mine = { package = \"p3-util\", path = \"ev/p3-util\" }\n",
            "",
        ),
        // Cargo takes what lies in a workspace's folder for its member.
        ("", beside, "\n[workspace]\n"),
    ] {
        let way = format!("{config}{dependency}{tables}");
        write(&fixture.prover().join(".cargo/config.toml"), config);
        fixture.set_manifest(&format!("{MANIFEST}{dependency}{tables}"));
        write(&fixture.prover().join("Cargo.lock"), &published);
        fixture.cargo(&RESOLVE);
        // It is no tree that a deleted block has left behind.
        fixture.run(&["status", "--published-lock", "published.lock"]);
        let published_lock = fixture.prover().join("published.lock");
        let published_lock = fs::read_to_string(published_lock).unwrap();
        assert_eq!(published_lock, fixture.lock(), "{way}");
        let expected = format!(
            "p3-util 0.8.0 comes from [DIR]/prover/{PLACE}/Cargo.toml, in place of crates.io\n"
        );
        let verified = || {
            let run = fixture.run(&["status", "--verify"]);
            assert!(run.starts_with("exit 1\n"), "{way}: {run}");
            let difference = format!("  differs: {expected}");
            assert!(run.contains(&difference), "{way}: {run}");
            let error = format!("\nerror: [DIR]/prover/Cargo.toml: {expected}hint: ");
            assert!(run.contains(&error), "{way}: {run}");
        };
        let unseen = config.starts_with("paths");
        let code = if unseen { "exit 0\n" } else { "exit 1\n" };
        let by_itself = || {
            let run = fixture.run(&["status", "--without-cargo"]);
            assert!(run.starts_with(code), "{way}: {run}");
            let difference = "differs: p3-util 0.8.0 comes from a path, in place of crates.io\n";
            assert_eq!(run.contains(difference), !unseen, "{way}: {run}");
        };
        verified();
        by_itself();
        let applied = fixture.succeed(&["apply", "demo"]);
        let note = format!("\nnote: {expected}");
        assert!(applied.contains(&note), "{way}: {applied}");
        verified();
        by_itself();
    }
}

/// Beside the trees, where cargo alone is sent.
#[test]
fn a_package_beside_the_trees_is_none_of_them() {
    let fixture = Fixture::new();
    fixture.succeed(&["apply", "demo"]);
    change(
        "p3-util-0.8.0",
        &fixture.prover().join(".p3-patches/0.8.0/p3-util"),
    );
    let config = fixture.prover().join(".cargo/config.toml");
    write(&config, "paths = [\".p3-patches/0.8.0/p3-util\"]\n");
    fixture.cargo(&RESOLVE);
    let run = fixture.run(&["status", "--verify"]);
    assert_ended(&run, 1, "  differs: p3-util 0.8.0 comes from ");
}

/// With patches and without, and where no program runs.
#[test]
fn a_lock_file_with_another_checksum_is_told_of() {
    let fixture = Fixture::new();
    let wrong = "0".repeat(64);
    let break_util = || {
        let lock = fixture.lock();
        let (before, after) = lock.split_once("name = \"p3-util\"").unwrap();
        let (between, after) = after.split_once("checksum = \"").unwrap();
        let broken = format!(
            "{before}name = \"p3-util\"{between}checksum = \"{wrong}{}",
            &after[64..]
        );
        write(&fixture.prover().join("Cargo.lock"), &broken);
        lock
    };
    for patches in [&[][..], &["demo"]] {
        if !patches.is_empty() {
            fixture.succeed(&[&["apply"], patches].concat());
        }
        for option in ["--verify", "--without-cargo"] {
            fixture.succeed(&["status", option]);
            let lock = break_util();
            let run = fixture.run(&["status", option]);
            assert!(run.starts_with("exit 1\n"), "{option}: {run}");
            let difference = format!(
                "\n  differs: p3-util 0.8.0 is locked with checksum {wrong}; the reviewed one is "
            );
            assert!(run.contains(&difference), "{option}: {run}");
            write(&fixture.prover().join("Cargo.lock"), &lock);
        }
    }
}

/// The mode that runs no program goes by the manifest, too, since cargo has not brought the lock file up to date.
#[test]
fn a_manifest_that_the_lock_file_does_not_know_yet() {
    let fixture = Fixture::new();
    fixture.succeed(&["apply", "demo"]);
    let applied = fixture.manifest();
    let status = ["status", "--without-cargo"];
    fixture.succeed(&status);
    let index = "[patch.\"https://github.com/rust-lang/crates.io-index\"]\n";
    for (from, to) in [
        (
            "\n[dependencies]\n",
            "\n[dependencies]\nmine = { package = \"p3-util\", path = \"ev\" }\n",
        ),
        (
            "\n[dependencies]\n",
            "\n[target.'cfg(unix)'.dependencies]\np3-util = { git = \"file:///ev\" }\n\n[dependencies]\n",
        ),
        (
            "\n[dependencies]\n",
            &format!("\n{index}p3-util = {{ path = \"ev\" }}\n\n[dependencies]\n"),
        ),
    ] {
        fixture.set_manifest(&applied.replacen(from, to, 1));
        let run = fixture.run(&status);
        assert!(run.starts_with("exit 1\n"), "{to}: {run}");
        assert!(
            run.contains("  differs: p3-util comes from "),
            "{to}: {run}"
        );
    }
}

/// Each spelling by which cargo takes a package from elsewhere, though the lock file does not say so yet.
#[test]
fn each_redirection_is_told_of() {
    const DEPENDENCIES: &str = "\n[dependencies]\n";
    let fixture = Fixture::new();
    let status = ["status", "--without-cargo"];
    let from =
        |place: &str| format!("  differs: p3-util comes from {place}, in place of crates.io\n");
    let tables = [
        "[replace]\n\"p3-util:0.8.0\" = { path = \"ev\" }",
        "[replace]\n\"p3-util@0.8.0\" = { path = \"ev\" }",
        "[replace]\n\"https://github.com/rust-lang/crates.io-index#p3-util@0.8.0\" = { path = \"ev\" }",
        "[replace.\"https://github.com/rust-lang/crates.io-index#p3-util:0.8.0\"]\npath = \"ev\"",
        "[build_dependencies]\np3-util = { path = \"ev\" }",
        "[dev_dependencies]\np3-util = { path = \"ev\" }",
        "[target.\"cfg(unix)\".dev_dependencies]\np3-util.path = \"ev\"",
        "[target.x.build_dependencies]\nmine = { package = \"p3-util\", path = \"ev\" }",
    ];
    let registries = [
        "[patch.crates-io]\np3-util = { version = \"0.8.0\", registry = \"ev\" }",
        "[patch.crates-io]\np3-util = { version = \"0.8.0\", registry-index = \"ev\" }",
        "[workspace.dependencies]\np3-util = { version = \"0.8.0\", registry = \"ev\" }",
        "[build-dependencies]\np3-util = { version = \"0.8.0\", registry = \"ev\" }",
    ];
    let tables = tables.map(|table| (table, from("the folder ev")));
    let registries = registries.map(|table| (table, from("the registry ev")));
    for (table, differs) in tables.into_iter().chain(registries) {
        let table = format!("\n{table}\n{DEPENDENCIES}");
        let older = MANIFEST.replace("2024", "2021");
        fixture.set_manifest(&older.replacen(DEPENDENCIES, &table, 1));
        let run = fixture.run(&status);
        assert!(run.starts_with("exit 1\n"), "{table}: {run}");
        assert!(run.contains(&differs), "{table}: {run}");
    }
    // By each name of its own, crates.io is the registry.
    for own in [
        "registry = \"crates-io\"",
        "registry-index = \"https://github.com/rust-lang/crates.io-index\"",
        "registry-index = \"sparse+https://index.crates.io/\"",
    ] {
        let entry = format!("p3-goldilocks = {{ version = \"0.8\", {own} }}");
        fixture.set_manifest(&MANIFEST.replace("p3-goldilocks = \"0.8\"", &entry));
        fixture.succeed(&status);
    }
}
