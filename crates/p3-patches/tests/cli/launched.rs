//! `try` with cargo itself: the program is started as `cargo run` starts it.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::fixture::{Fixture, MANIFEST, write};

/// A package of Plonky3 without dependencies, so that the program compiles in no time.
const PATCH: &str = "\
Title: perf(maybe-rayon): say yes
Packages: p3-maybe-rayon
Bases: 0.8.0
Risk: low
Forwarded: not yet
Applied-Upstream: no

Stands for an optimization.
---
diff --git a/maybe-rayon/src/lib.rs b/maybe-rayon/src/lib.rs
--- a/maybe-rayon/src/lib.rs
+++ b/maybe-rayon/src/lib.rs
@@ -14,3 +14,3 @@
 /// one-worker Rayon pool, unlike a check of the current worker count.
-pub const PARALLEL_ENABLED: bool = cfg!(feature = \"parallel\");
+pub const PARALLEL_ENABLED: bool = true;
 
-- 
p3-patches
";

const CONFIGURATION: &str = r#"
[env]
FORCED = { value = "by the configuration", force = true }
KEPT = "by the configuration"
HERE = { value = "data", relative = true }

[target.'cfg(not(unix))']
runner = "none"

[target.'cfg(unix)']
runner = ["./below.sh", "a word"]
"#;

const BELOW: &str = "#!/bin/sh\nBELOW=$1; export BELOW; shift; exec \"$@\"\n";

/// Adds a folder to those that the loader searches.
const BUILD_SCRIPT: &str = r#"
fn main() {
    println!("cargo::rustc-link-search=native={}", std::env::var("OUT_DIR").unwrap());
    println!("cargo::rustc-env=FROM_BUILD_SCRIPT=1");
}
"#;

/// Tells what it was started with, by the side that it is.
const MAIN: &str = r#"
fn main() {
    std::thread::sleep(std::time::Duration::from_millis(20));
    let args = std::env::args().skip(1).enumerate();
    let args = args.map(|(at, word)| (at.to_string(), word));
    let lines = std::env::vars().chain(args);
    let lines: String = lines.map(|(name, value)| format!("{name}={value}\n")).collect();
    std::fs::write(format!("told.{}", p3_maybe_rayon::PARALLEL_ENABLED), lines).unwrap();
}
"#;

fn told(path: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().filter_map(|line| line.split_once('='));
    let lines = lines.map(|(name, value)| (name.to_owned(), value.to_owned()));
    lines.collect()
}

#[test]
fn the_program_is_started_as_by_cargo() {
    let fixture = Fixture::new();
    write(&fixture.patch("demo"), PATCH);
    fixture.set_manifest(&MANIFEST.replace("p3-goldilocks", "p3-maybe-rayon"));
    let prover = fs::canonicalize(fixture.prover()).unwrap();
    for (path, text) in [
        ("src/lib.rs", ""),
        ("src/main.rs", MAIN),
        ("build.rs", BUILD_SCRIPT),
        (".cargo/config.toml", CONFIGURATION),
        ("below.sh", BELOW),
    ] {
        write(&prover.join(path), text);
    }
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(prover.join("below.sh"), executable).unwrap();
    fixture.relock();
    let line = ["run", "--quiet", "--bin", "prover", "--", "a b", "--", "c"];
    let settings = [
        ("FORCED", "mine"),
        ("KEPT", "mine"),
        ("CARGO", env!("CARGO")),
    ];

    // Called by `cargo run`, the tool has a loader's path that the prover's owner has not.
    let tool = Path::new(env!("CARGO_BIN_EXE_p3-patches"))
        .parent()
        .unwrap();
    let loader = env::join_paths([&tool.join("deps"), tool]).unwrap();
    let args = [&["try", "demo", "--reps", "2", "--"][..], &line].concat();
    let mut command = fixture.command(&args);
    command.envs(settings).env("LD_LIBRARY_PATH", loader);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", fixture.transcript(&output));
    let [mut tried, candidate] =
        ["false", "true"].map(|side| told(&prover.join(format!("told.{side}"))));

    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(line)
        .current_dir(&prover)
        .envs(settings)
        .env("CARGO_NET_OFFLINE", "true")
        .env_remove("CARGO_BUILD_BUILD_DIR")
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("LD_LIBRARY_PATH");
    assert!(cargo.status().unwrap().success());
    let ran = told(&prover.join("told.false"));
    // `try` builds into two folders.
    for value in tried.values_mut() {
        *value = value
            .replace("target/p3-try/base/", "target/")
            .replace("target/p3-try/build/", "target/");
    }
    let build_dir = tried.remove("CARGO_BUILD_BUILD_DIR");
    assert!(build_dir.is_some_and(|own| !own.contains("p3-try")));
    // Names alone: a log of CI is no place for an environment.
    let names: BTreeSet<_> = tried.keys().chain(ran.keys()).collect();
    let differing = names
        .into_iter()
        .filter(|name| tried.get(*name) != ran.get(*name));
    let differing: Vec<_> = differing.collect();
    assert!(differing.is_empty(), "{differing:?}");

    let loader = &ran["LD_LIBRARY_PATH"];
    assert!(loader.contains("target/debug/build/prover-"), "{loader}");
    for (name, value) in [
        ("0", "a b"),
        ("1", "--"),
        ("2", "c"),
        ("FORCED", "by the configuration"),
        ("KEPT", "mine"),
        ("HERE", prover.join("data").to_str().unwrap()),
        ("BELOW", "a word"),
        ("FROM_BUILD_SCRIPT", "1"),
        ("CARGO_PKG_NAME", "prover"),
    ] {
        assert_eq!(tried[name], value);
        assert_eq!(candidate[name], value);
    }
}

/// Edits that another program makes while the candidate is compiled, by cargo's own rules of when it writes the file again.
#[test]
fn an_edit_of_the_lock_file_during_a_build_stays() {
    let fixture = Fixture::new();
    write(&fixture.patch("demo"), PATCH);
    let manifest = MANIFEST.replace("p3-goldilocks", "p3-maybe-rayon");
    // The build script runs again where a package that it needs is another one.
    fixture.set_manifest(&(manifest + "\n[build-dependencies]\np3-maybe-rayon = \"0.8\"\n"));
    let prover = fixture.prover();
    write(&prover.join("src/lib.rs"), "");
    write(&prover.join("src/main.rs"), MAIN);
    fixture.relock();
    let lock = fixture.lock();
    let own = "name = \"prover\"\nversion = \"0.1.0\"";
    for (code, edited) in [
        ("exit 0\n", "lock + \"# edited\\n\""),
        (
            "exit 4\n",
            "lock.replace(\"prover\\\"\\nversion = \\\"0.1.0\", \"prover\\\"\\nversion = \\\"0.1.1\")",
        ),
    ] {
        // The candidate's lock file has no source of the patched package.
        let script = format!(
            r##"fn main() {{
                println!("cargo::rerun-if-changed=build.rs");
                let lock = std::fs::read_to_string("Cargo.lock").unwrap();
                let (_, package) = lock.split_once("\"p3-maybe-rayon\"\n").unwrap();
                if !package.split("\n\n").next().unwrap().contains("source = ") {{
                    std::fs::write("Cargo.lock", {edited}).unwrap();
                }}
            }}"##
        );
        write(&prover.join("build.rs"), &script);
        write(&prover.join("Cargo.lock"), &lock);
        let run = fixture.run(&["try", "demo", "--reps", "2", "--", "run"]);
        assert!(run.starts_with(code), "{edited}: {run}");
        let warning = "warning: [DIR]/prover/Cargo.lock was changed by another program, and is left as it is; ";
        assert!(run.contains(warning), "{edited}: {run}");
        let left = fixture.lock();
        let is_edited = left.ends_with("# edited\n") || !left.contains(own);
        assert!(is_edited, "{edited}: {left}");
    }
}
