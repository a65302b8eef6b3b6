//! apply, status, remove: what a prover's team does.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;

use crate::fixture::{
    DEMO, FOREIGN, Fixture, KERNEL, LEAST_CPU, MANIFEST, adds, redact_hashes, write,
};

#[test]
fn apply_status_remove() {
    let fixture = Fixture::new();
    let lock = fixture.lock();

    assert_snapshot!("apply", fixture.run(&["apply", "demo"]));
    assert_snapshot!("applied_manifest", redact_hashes(&fixture.manifest()));
    assert_ne!(fixture.lock(), lock);
    assert_snapshot!("status", fixture.run(&["status"]));

    // The prover builds, and with the patched package.
    let check = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--locked", "--message-format", "json"])
        .env(
            "CARGO_TARGET_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("prover"),
        )
        .current_dir(fixture.prover())
        .output()
        .unwrap();
    assert!(
        check.status.success(),
        "{}",
        String::from_utf8_lossy(&check.stderr)
    );
    let tree = fixture.tree("p3-goldilocks");
    let compiled =
        String::from_utf8_lossy(&check.stdout).contains(tree.join("src/lib.rs").to_str().unwrap());
    assert!(compiled, "cargo built another p3-goldilocks");

    fixture.succeed(&["remove"]);
    assert_eq!(fixture.manifest(), MANIFEST);
    assert_eq!(fixture.lock(), lock);
    assert!(!fixture.prover().join(".p3-patches").exists());
    assert_snapshot!("nothing_applied", fixture.run(&["status"]));
}

#[test]
fn names_replace_and_no_names_apply_again() {
    let fixture = Fixture::new();
    fixture.succeed(&["apply", "demo"]);
    let demo = fixture.manifest();
    fixture.succeed(&["apply", "stacked"]);
    let stacked = fixture.manifest();
    assert!(stacked.contains("with demo, stacked"), "{stacked}");
    assert_ne!(demo, stacked);

    // A colleague's clone has the manifest and the lock file, not the trees.
    fs::remove_dir_all(fixture.prover().join(".p3-patches")).unwrap();
    assert_snapshot!("status_without_trees", fixture.run(&["status"]));
    fixture.succeed(&["apply"]);
    assert_eq!(fixture.manifest(), stacked);
    fixture.succeed(&["status"]);

    // Only the trees in use stay.
    fixture.succeed(&["apply", "demo"]);
    assert_eq!(fixture.manifest(), demo);
    assert_eq!(
        fs::read_dir(fixture.prover().join(".p3-patches/0.8.0"))
            .unwrap()
            .count(),
        2
    );
}

#[test]
fn a_tree_that_was_edited_is_noticed_and_rebuilt() {
    let fixture = Fixture::new();
    fixture.succeed(&["apply", "demo"]);
    let tree = fixture.tree("p3-goldilocks");
    let lib = tree.join("src/lib.rs");
    let intact = fs::read_to_string(&lib).unwrap();

    write(&lib, &format!("{intact}\n"));
    assert_snapshot!("status_of_an_edited_tree", fixture.run(&["status"]));
    fixture.succeed(&["apply"]);
    assert_eq!(fs::read_to_string(&lib).unwrap(), intact);

    write(&tree.join("src/stray.rs"), "");
    assert!(fixture.run(&["status"]).starts_with("exit 1\n"));
    fixture.succeed(&["apply"]);
    fixture.succeed(&["status"]);
}

#[test]
fn a_patch_that_changed_since_is_noticed() {
    let fixture = Fixture::new();
    fixture.succeed(&["apply", "demo"]);
    for (file, text) in [
        (fixture.patch("demo"), DEMO.replace("(demo)", "(a demo)")),
        (
            fixture.kernel(),
            KERNEL.replace("Twice `x`", "Two times `x`"),
        ),
    ] {
        write(&file, &text);
        assert!(fixture.run(&["status", "--json"]).contains("\"outdated\""));
        let applied = fixture.succeed(&["apply"]);
        let said = "note: the manifest had recorded other patched sources of p3-goldilocks";
        assert!(applied.contains(said), "{applied}");
        assert!(
            fixture
                .succeed(&["status", "--json"])
                .contains("\"intact\"")
        );
        assert!(!fixture.succeed(&["apply"]).contains(said));
    }
    let kernel = fs::read_to_string(fixture.tree("p3-goldilocks").join("src/demo.rs")).unwrap();
    assert!(kernel.contains("Two times `x`"), "{kernel}");
}

#[test]
fn a_patch_for_this_architecture_is_not_inert() {
    let fixture = Fixture::new();
    let field = format!(
        "Bases: 0.8.0\nArchitectures: {FOREIGN}, {}\n",
        std::env::consts::ARCH
    );
    write(
        &fixture.patch("demo"),
        &DEMO.replace("Bases: 0.8.0\n", &field),
    );
    let applied = fixture.succeed(&["apply", "demo"]);
    assert!(!applied.contains("inert"), "{applied}");
    let status = fixture.succeed(&["status", "--json"]);
    assert!(status.contains("\"inert\": {}"), "{status}");
}

/// Builds for another machine take the patches of its architecture.
#[test]
fn the_target_of_cargos_configuration_chooses_the_patches() {
    let fixture = Fixture::new().with_stacked_foreign();
    let reason = format!("{FOREIGN} only, inert on {} builds", std::env::consts::ARCH);
    let here = fixture.succeed(&["apply"]);
    assert!(here.contains("applied demo to"), "{here}");
    assert!(
        here.contains(&format!("left out stacked: {reason}\n")),
        "{here}"
    );
    fixture.succeed(&["remove"]);

    let config = fixture.prover().join(".cargo/config.toml");
    write(
        &config,
        &format!("[build]\ntarget = \"{FOREIGN}-unknown-linux-gnu\"\n"),
    );
    let there = fixture.succeed(&["apply"]);
    assert!(there.contains("applied demo, stacked to"), "{there}");
    assert!(
        !there.contains("inert") && !there.contains("this CPU"),
        "{there}"
    );
    let status = fixture.succeed(&["status", "--json"]);
    assert!(status.contains("\"inert\": {}"), "{status}");

    // cargo's name for this machine's target.
    write(&config, "[build]\ntarget = [\"host-tuple\"]\n");
    let status = fixture.succeed(&["status"]);
    assert!(
        status.contains(&format!("\nstacked: {reason}\n")),
        "{status}"
    );
}

#[test]
fn the_stanza_goes_to_the_workspace_root() {
    let fixture = Fixture::new();
    let root = fixture.path().join("Cargo.toml");
    let text = "[workspace]\nmembers = [\"prover\"]\nresolver = \"3\"\n";
    write(&root, text);
    fs::rename(
        fixture.prover().join("Cargo.lock"),
        fixture.path().join("Cargo.lock"),
    )
    .unwrap();
    fixture.succeed(&["apply", "demo", "--manifest-path", "Cargo.toml"]);
    assert_eq!(fixture.manifest(), MANIFEST);
    assert!(
        fs::read_to_string(&root)
            .unwrap()
            .contains("[patch.crates-io.p3-goldilocks]")
    );
    fixture.succeed(&["status"]);
    fixture.succeed(&["remove"]);
    assert_eq!(fs::read_to_string(&root).unwrap(), text);
}

#[test]
fn a_package_that_the_prover_lacks_is_left_out() {
    let fixture = Fixture::new();
    fixture.set_manifest(&MANIFEST.replace("p3-goldilocks = \"0.8\"", "p3-symmetric = \"0.8\""));
    write(&fixture.prover().join("src/lib.rs"), "");
    fixture.relock();
    let lock = fixture.lock();
    assert_snapshot!("apply_to_a_part", fixture.run(&["apply", "demo"]));
    assert!(
        !fixture
            .manifest()
            .contains("[patch.crates-io.p3-goldilocks]")
    );
    fixture.succeed(&["status"]);
    fixture.succeed(&["remove"]);
    assert_eq!(fixture.lock(), lock);
}

/// The prover is locked to 0.4.0 of a package of which 0.4.3 is cached too. Left to itself, cargo would lock that.
#[test]
fn remove_keeps_the_locked_release() {
    let fixture = Fixture::new().with_older_base();
    fixture.cargo(&["update", "--precise", "0.4.3", "p3-util"]);
    fixture.cargo(&["fetch"]);
    fixture.cargo(&["update", "--precise", "0.4.0", "p3-util"]);
    let lock = fixture.lock();
    fixture.succeed(&["apply", "demo", "--base", "0.4.0"]);
    fixture.succeed(&["remove"]);
    assert_eq!(fixture.lock(), lock);
}

/// A registry that refuses connections, as opposed to cargo told to stay offline.
#[test]
fn cached_sources_need_no_registry() {
    let fixture = Fixture::new();
    let run = |args: &[&str]| {
        let mut command = fixture.command(args);
        command.env_remove("CARGO_NET_OFFLINE");
        command.envs([
            ("CARGO_HTTP_PROXY", "http://127.0.0.1:9"),
            ("CARGO_NET_RETRY", "0"),
        ]);
        fixture.transcript(&command.output().unwrap())
    };
    for args in [&["apply", "demo"][..], &["status"], &["remove"]] {
        let transcript = run(args);
        assert!(transcript.starts_with("exit 0\n"), "{transcript}");
    }
    // Without the project's lock file, the checksum comes from cargo's copy of the index.
    fs::remove_file(fixture.project().join("Cargo.lock")).unwrap();
    let transcript = run(&["apply", "demo"]);
    assert!(transcript.starts_with("exit 0\n"), "{transcript}");
}

/// A package that the prover does not use is not fetched for the patches that change it too.
#[test]
fn what_a_prover_does_not_use_is_not_fetched() {
    let fixture = Fixture::new();
    let wider = DEMO.replace("p3-symmetric\n", "p3-symmetric, p3-koala-bear\n");
    write(&fixture.patch("demo"), &wider);
    let home = fixture.home_without("p3-koala-bear-");
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    proxy.set_nonblocking(true).unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    let run = |args: &[&str]| {
        let mut command = fixture.command(args);
        command.env_remove("CARGO_NET_OFFLINE");
        command.env("CARGO_HOME", &home);
        command.envs([
            ("CARGO_HTTP_PROXY", &*address),
            ("CARGO_NET_RETRY", "0"),
            ("CARGO_HTTP_TIMEOUT", "1"),
        ]);
        let transcript = fixture.transcript(&command.output().unwrap());
        assert!(transcript.starts_with("exit 0\n"), "{transcript}");
        let asked = proxy.accept().map(|_| ());
        assert_eq!(asked.unwrap_err().kind(), ErrorKind::WouldBlock, "{args:?}");
        transcript
    };
    let applied = run(&["apply"]);
    assert!(
        applied.contains("note: nothing here depends on p3-koala-bear"),
        "{applied}"
    );
    run(&["status"]);
    // A clone has no trees.
    fs::remove_dir_all(fixture.prover().join(".p3-patches")).unwrap();
    run(&["apply"]);
    run(&["status"]);
}

/// The lock file of a clone may lack what its manifest asks for.
#[test]
fn a_package_that_a_lock_file_lacks_is_patched() {
    let fixture = Fixture::new();
    let wider = DEMO.replace("p3-symmetric\n", "p3-symmetric, p3-koala-bear\n");
    let file = adds("koala-bear/src/demo.rs", "//! A file.\n");
    write(
        &fixture.patch("demo"),
        &wider.replace("-- \np3-patches", &format!("{file}-- \np3-patches")),
    );
    fixture.succeed(&["apply", "demo"]);
    let manifest = fixture.manifest();
    let asked = "p3-goldilocks = \"0.8\" # any 0.8 will do\n";
    let with_koala_bear = manifest.replace(asked, &format!("{asked}p3-koala-bear = \"0.8\"\n"));
    fixture.set_manifest(&with_koala_bear);
    fs::remove_dir_all(fixture.prover().join(".p3-patches")).unwrap();
    fixture.succeed(&["apply"]);
    assert!(fixture.tree("p3-koala-bear").join("src/demo.rs").is_file());
    fixture.succeed(&["status"]);
}

#[test]
fn json_has_no_other_text_around_it() {
    let fixture = Fixture::new();
    fixture.succeed(&["apply", "stacked"]);
    for args in [["list", "--json"], ["status", "--json"]] {
        let output = fixture.command(&args).output().unwrap();
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap();
    }
    assert_snapshot!("list", fixture.run(&["list"]));
}

#[test]
fn nobody_has_to_read_to_the_end() {
    let fixture = Fixture::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = fixture.command(&["list"]).stdout(writer).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// Gains are those of packed kernels, which a build for the least CPU does not have.
#[test]
#[cfg(target_arch = "x86_64")]
fn apply_says_how_to_build_for_this_cpu() {
    let fixture = Fixture::new();
    let said = |flags: Option<&str>| {
        let mut apply = fixture.command(&["apply", "demo"]);
        for variable in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"] {
            apply.env_remove(variable);
        }
        apply.envs(flags.map(|flags| ("RUSTFLAGS", flags)));
        let output = apply.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let mut lines = stderr.lines();
        lines
            .find(|line| line.starts_with(LEAST_CPU))
            .map(str::to_owned)
    };
    let command = "`export RUSTFLAGS=\"-C target-cpu=native\"`";
    assert!(said(None).unwrap().contains(command));
    assert_eq!(said(Some("-C target-cpu=native")), None);
}

/// Cargo caps the lints of registry packages, and not those of packages by path.
#[test]
fn denied_lints_reach_patched_packages() {
    let fixture = Fixture::new();
    let said = "the compiler flags here deny lints";
    for (flags, denies) in [
        ("-D warnings", true),
        ("--deny=unused", true),
        ("-W unused", false),
    ] {
        let mut apply = fixture.command(&["apply", "demo"]);
        apply.env_remove("CARGO_ENCODED_RUSTFLAGS");
        let output = apply.env("RUSTFLAGS", flags).output().unwrap();
        let applied = fixture.transcript(&output);
        assert_eq!(applied.contains(said), denies, "{applied}");
    }
    // The patch's function is not used.
    let mut build = Command::new(env!("CARGO"));
    build
        .args(["check", "--offline"])
        .current_dir(fixture.prover());
    let built = build.env("RUSTFLAGS", "-D warnings").output().unwrap();
    let stderr = String::from_utf8_lossy(&built.stderr);
    assert!(
        stderr.contains("function `twice` is never used"),
        "{stderr}"
    );
}

/// Cargo takes a manifest with levels of `cfg(..)` that its parser, which calls itself, cannot take on the stack of a main thread in
/// a build without optimizations.
#[test]
fn a_deep_condition_is_read() {
    let fixture = Fixture::new();
    let deep = format!("cfg({}unix{})", "not(".repeat(6000), ")".repeat(6000));
    let table = format!("\n[target.\"{deep}\".dependencies]\np3-field = \"0.8\"\n");
    fixture.set_manifest(&format!("{MANIFEST}{table}"));
    fixture.relock();
    fixture.succeed(&["apply", "demo"]);
    fixture.succeed(&["status"]);
    fixture.succeed(&["remove"]);
}
