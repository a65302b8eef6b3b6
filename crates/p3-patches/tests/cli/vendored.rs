//! Provers that have vendored their crates, on machines where cargo has nothing else: no registry, no cache.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::Value;

use crate::fixture::files;
use crate::fixture::{Fixture, MANIFEST, cargo_home, write};

/// A prover with vendored crates, and an empty home of cargo's.
struct Vendored {
    fixture: Fixture,
    home: PathBuf,
}

impl Vendored {
    fn new(fixture: Fixture) -> Self {
        let home = fixture.path().join("cargo-home");
        fs::create_dir(&home).unwrap();
        vendor(&fixture);
        Self { fixture, home }
    }

    fn run(&self, args: &[&str]) -> String {
        let mut command = self.fixture.command(args);
        let output = command.env("CARGO_HOME", &self.home).output().unwrap();
        self.fixture.transcript(&output)
    }

    #[track_caller]
    fn succeed(&self, args: &[&str]) -> String {
        let run = self.run(args);
        assert!(run.starts_with("exit 0\n"), "{args:?}: {run}");
        run
    }

    /// Runs cargo in the prover's folder.
    #[track_caller]
    fn cargo(&self, args: &[&str]) {
        let output = Command::new(env!("CARGO"))
            .args(args)
            .current_dir(self.fixture.prover())
            .env("CARGO_HOME", &self.home)
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
    }

    /// Configures cargo in the checkout of the patches to take crates from the prover's vendored folder.
    fn configure_checkout(&self) {
        let config = fs::read_to_string(self.fixture.prover().join(".cargo/config.toml")).unwrap();
        let vendor = self.fixture.prover().join("vendor");
        let place = format!("\"{}\"", vendor.display());
        let config = config.replace("\"vendor\"", &place);
        write(&self.fixture.project().join(".cargo/config.toml"), &config);
    }

    /// The vendored folder of p3-goldilocks.
    fn goldilocks(&self) -> PathBuf {
        self.fixture.prover().join("vendor/p3-goldilocks")
    }

    fn state(&self) -> (String, String) {
        self.fixture.state()
    }
}

/// Vendors the prover's crates, and has cargo take them from there.
pub fn vendor(fixture: &Fixture) {
    let config = fixture.prover().join(".cargo/config.toml");
    let _ = fs::remove_file(&config);
    let vendor = Command::new(env!("CARGO"))
        .args(["vendor", "--offline", "--locked"])
        .current_dir(fixture.prover())
        .output()
        .unwrap();
    assert!(vendor.status.success(), "{vendor:?}");
    write(&config, &String::from_utf8(vendor.stdout).unwrap());
}

/// The commands of a prover's team, and a build after them; all of it is as where cargo has tarballs.
#[test]
fn vendored_sources_are_patched_like_tarballs() {
    let prover = Vendored::new(Fixture::new());
    let before = prover.state();
    prover.fixture.succeed(&["apply"]);
    prover.fixture.succeed(&["overlay", "--out", "../overlay"]);
    let trees = files(&prover.fixture.prover().join(".p3-patches"));
    let overlay = files(&prover.fixture.path().join("overlay"));
    let applied = prover.state();
    prover.fixture.succeed(&["remove"]);

    prover.succeed(&["apply", "demo"]);
    assert_snapshot!("verified", prover.succeed(&["status", "--verify"]));
    prover.succeed(&["apply", "stacked"]);
    assert_eq!(prover.state(), applied);
    assert!(files(&prover.fixture.prover().join(".p3-patches")) == trees);
    prover.succeed(&["status"]);
    prover.configure_checkout();
    prover.succeed(&["overlay", "--out", "../vendored-overlay"]);
    assert!(files(&prover.fixture.path().join("vendored-overlay")) == overlay);
    prover.cargo(&["check", "--locked", "--offline"]);

    // A colleague has cloned it.
    fs::remove_dir_all(prover.fixture.prover().join(".p3-patches")).unwrap();
    prover.succeed(&["apply"]);
    assert_eq!(prover.state(), applied);
    prover.succeed(&["remove"]);
    assert_eq!(prover.state(), before);
}

/// Another folder of the same file system, with a link to it and a path in cargo's configuration: what cargo takes.
#[test]
fn vendored_sources_are_those_that_cargo_takes() {
    let prover = Vendored::new(Fixture::new());
    let vendor = prover.fixture.prover().join("vendor");
    let elsewhere = prover.fixture.path().join("crates/of/all");
    fs::create_dir_all(elsewhere.parent().unwrap()).unwrap();
    fs::rename(&vendor, &elsewhere).unwrap();
    symlink(&elsewhere, &vendor).unwrap();
    // From outside the prover's folder, too.
    let manifest = prover.fixture.prover().join("Cargo.toml");
    let manifest = ["--manifest-path", manifest.to_str().unwrap()];
    let run = |command: &str| {
        let mut command = prover
            .fixture
            .command(&[&[command][..], &manifest].concat());
        command.env("CARGO_HOME", &prover.home);
        let output = command.current_dir(&prover.home).output().unwrap();
        let transcript = prover.fixture.transcript(&output);
        assert!(transcript.starts_with("exit 0\n"), "{transcript}");
    };
    run("apply");
    run("status");
    run("remove");
    assert_eq!(prover.fixture.manifest(), MANIFEST);
}

/// The list of a folder has the tarball's checksum, which is known, and one of each file.
#[test]
fn vendored_sources_that_are_not_those_of_the_list_are_refused() {
    let prover = Vendored::new(Fixture::new());
    prover.succeed(&["apply", "demo"]);
    let applied = prover.state();
    let folder = prover.goldilocks();
    let list = folder.join(".cargo-checksum.json");
    let lib = folder.join("src/lib.rs");
    let (listed, published) = (
        fs::read_to_string(&list).unwrap(),
        fs::read_to_string(&lib).unwrap(),
    );
    let list_without = |file: &str| {
        let mut sums: Value = serde_json::from_str(&listed).unwrap();
        sums["files"].as_object_mut().unwrap().remove(file).unwrap();
        write(&list, &sums.to_string());
    };
    let mut transcripts = String::new();
    let mut refused = |what: &str| {
        let [status, apply] = ["status", "apply"].map(|command| prover.run(&[command]));
        assert_eq!(status, apply, "{what}");
        assert!(status.starts_with("exit 3\n"), "{what}: {status}");
        assert_eq!(prover.state(), applied, "{what}");
        transcripts += &format!("# {what}\n{status}");
        write(&list, &listed);
        let _ = fs::remove_file(&lib);
        write(&lib, &published);
    };
    write(&lib, &published.replace("extern crate", "extern  crate"));
    refused("a file");
    fs::remove_file(&lib).unwrap();
    refused("a file less");
    fs::rename(&lib, prover.home.join("lib.rs")).unwrap();
    symlink(prover.home.join("lib.rs"), &lib).unwrap();
    refused("a link");
    let sums: Value = serde_json::from_str(&listed).unwrap();
    let package = sums["package"].as_str().unwrap();
    write(&list, &listed.replace(package, &"0".repeat(64)));
    refused("another tarball");
    write(&list, &listed.replace(&format!("\"{package}\""), "null"));
    refused("from git");
    write(&list, &listed.replace("\"src/lib.rs\"", "\"../lib.rs\""));
    refused("a file outside");
    list_without(".cargo_vcs_info.json");
    refused("by an older cargo");
    list_without("Cargo.toml.orig");
    refused("without the manifest as written");
    assert_snapshot!("refused", transcripts);
    prover.succeed(&["status"]);
    // With a tarball there is no need of them.
    write(&lib, "");
    prover.fixture.succeed(&["status"]);
}

/// A patch spans packages of which the prover has some, and no other ones are vendored.
#[test]
fn a_package_that_is_not_vendored_is_not_needed() {
    let fixture = Fixture::new();
    fixture.set_manifest(&MANIFEST.replace("p3-goldilocks", "p3-symmetric"));
    write(&fixture.prover().join("src/lib.rs"), "");
    fixture.relock();
    let prover = Vendored::new(fixture);
    assert!(!prover.goldilocks().exists());
    let before = prover.state();
    let applied = prover.succeed(&["apply", "demo"]);
    let note = "note: nothing here depends on p3-goldilocks, which the patches change too\n";
    assert!(applied.contains(note), "{applied}");
    prover.succeed(&["status", "--verify"]);
    prover.succeed(&["apply"]);
    // An overlay is for every prover.
    prover.configure_checkout();
    assert_snapshot!("not_vendored", prover.run(&["overlay", "--out", "overlay"]));
    assert!(!prover.fixture.prover().join("overlay").exists());
    prover.succeed(&["remove"]);
    assert_eq!(prover.state(), before);
}

/// `cargo vendor` leaves out what is patched, so there is nothing to make the trees from.
#[test]
fn packages_that_were_vendored_while_they_were_patched_are_missed() {
    let prover = Vendored::new(Fixture::new());
    let before = (prover.fixture.manifest(), prover.fixture.lock());
    prover.succeed(&["apply", "demo"]);
    vendor(&prover.fixture);
    assert!(!prover.goldilocks().exists());
    let applied = prover.state();
    prover.cargo(&["tree", "--locked", "--offline"]);
    let mut transcripts = String::new();
    for args in [&["status"][..], &["apply"]] {
        transcripts += &prover.run(args);
        assert_eq!(prover.state(), applied, "{args:?}");
    }
    // One of the two is not enough.
    let without = prover.run(&["apply"]);
    let tarball = "p3-symmetric-0.8.0.crate";
    let cache = fs::read_dir(cargo_home().join("registry/cache")).unwrap();
    let cache = cache.map(|entry| entry.unwrap().path());
    let caches = cache.filter(|folder| folder.join(tarball).is_file());
    let cached = prover.home.join("registry/cache/any").join(tarball);
    fs::create_dir_all(cached.parent().unwrap()).unwrap();
    fs::copy(caches.last().unwrap().join(tarball), cached).unwrap();
    assert_eq!(prover.run(&["apply"]), without);
    assert_eq!(prover.state(), applied);

    // The packages can be vendored again once no patches are applied.
    transcripts += &prover.run(&["remove"]);
    assert_snapshot!("missed", transcripts);
    assert_eq!(prover.fixture.manifest(), before.0);
    assert_eq!(prover.fixture.lock(), before.1);
}

/// Cargo cannot fetch what the folder of vendored sources lacks.
#[test]
fn a_package_that_is_gone_from_the_vendored_ones_is_not_fetched() {
    let prover = Vendored::new(Fixture::new());
    let lacks = || {
        fs::rename(
            prover.fixture.prover().join("vendor/p3-util"),
            prover.home.join("p3-util"),
        )
        .unwrap();
        let run = prover.run(&["status"]);
        assert!(run.contains("`cargo vendor` leaves out "), "{run}");
        assert!(!run.contains("cargo fetch"), "{run}");
        fs::rename(
            prover.home.join("p3-util"),
            prover.fixture.prover().join("vendor/p3-util"),
        )
        .unwrap();
        run
    };
    assert!(lacks().starts_with("exit 0\n"));
    prover.succeed(&["apply", "demo"]);
    assert!(lacks().starts_with("exit 4\n"));
}

/// A release without a reviewed checksum: its checksum is the one of the list, which cargo compares with the prover's
/// lock file.
#[test]
fn the_list_has_the_checksum_that_no_lock_file_has() {
    let prover = Vendored::new(Fixture::new());
    let before = prover.state();
    write(&prover.fixture.checksums(), "");
    prover.succeed(&["apply", "demo"]);
    let verified = prover.succeed(&["status", "--verify"]);
    let unknown = ", which was not reviewed with the patches\n";
    assert!(verified.contains(unknown), "{verified}");
    prover.succeed(&["remove"]);
    assert_eq!(prover.state(), before);
}
