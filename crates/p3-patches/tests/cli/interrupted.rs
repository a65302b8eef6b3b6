//! Runs that are stopped: by Ctrl-C, by kill -9, by another run. A stand-in for cargo holds a run at a known moment.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use insta::assert_snapshot;

use crate::fixture::{Fixture, MANIFEST, write};
use crate::killer::script;

/// A run that waits where cargo is about to resolve the graph: trees are written, the manifest is replaced.
struct Held {
    child: Child,
    gate: PathBuf,
}

impl Held {
    fn start(fixture: &Fixture, args: &[&str]) -> Self {
        let gate = fixture.path().join("gate");
        let cargo = fixture.path().join("cargo");
        write(&gate.with_extension("before"), &fixture.manifest());
        let text = format!(
            "if [ \"$1\" = metadata ] && ! cmp -s Cargo.toml {gate}.before; then\n  touch {gate}.reached\n  \
             while [ ! -e {gate}.open ]; do sleep 0.02; done\nfi\nexec {} \"$@\"\n",
            env!("CARGO"),
            gate = gate.display()
        );
        script(&cargo, &text);
        let child = fixture
            .command(args)
            .env("CARGO", &cargo)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let start = Instant::now();
        while !gate.with_extension("reached").exists() {
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "the run never asked cargo for the graph"
            );
            thread::sleep(Duration::from_millis(5));
        }
        Self { child, gate }
    }

    fn open(&self) {
        write(&self.gate.with_extension("open"), "");
    }

    fn signal(&self, signal: &str) {
        let status = Command::new("kill")
            .args([signal, &self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(status.success());
    }
}

#[test]
fn ctrl_c_restores_everything() {
    let fixture = Fixture::new();
    let lock = fixture.lock();
    let held = Held::start(&fixture, &["apply", "demo"]);
    assert_ne!(
        fixture.manifest(),
        MANIFEST,
        "held before the manifest was replaced"
    );
    held.signal("-INT");
    let output = held.child.wait_with_output().unwrap();
    assert_snapshot!("ctrl_c", fixture.transcript(&output));
    assert_eq!(fixture.state(), (MANIFEST.to_owned(), lock));
    assert!(fixture.leftovers().is_empty());
    fixture.succeed(&["apply", "demo"]);
}

#[test]
fn a_terminated_remove_leaves_the_patches_applied() {
    let fixture = Fixture::new();
    fixture.succeed(&["apply", "demo"]);
    let applied = fixture.state();
    let held = Held::start(&fixture, &["remove"]);
    held.signal("-TERM");
    assert_eq!(
        held.child.wait_with_output().unwrap().status.code(),
        Some(130)
    );
    assert_eq!(fixture.state(), applied);
    fixture.succeed(&["status"]);
}

#[test]
fn a_second_run_is_turned_away() {
    let fixture = Fixture::new();
    let held = Held::start(&fixture, &["apply", "demo"]);
    let manifest = fixture.manifest();
    assert_snapshot!("a_second_run", fixture.run(&["apply", "stacked"]));
    assert!(fixture.run(&["remove"]).starts_with("exit 4\n"));
    assert_eq!(fixture.manifest(), manifest);
    held.open();
    assert!(held.child.wait_with_output().unwrap().status.success());
    fixture.succeed(&["status"]);
}

#[test]
fn a_try_is_turned_away_while_patches_are_applied() {
    let fixture = Fixture::new();
    let held = Held::start(&fixture, &["apply", "demo"]);
    let mut trial = fixture.command(&["try", "demo", "--", "run"]);
    let output = trial.stdin(Stdio::null()).output().unwrap();
    let transcript = fixture.transcript(&output);
    let expected = "exit 4\n--- stdout\n--- stderr\nerror: [DIR]/prover/.p3-patches: another run is at work here\n";
    assert!(transcript.starts_with(expected), "{transcript}");
    held.open();
    assert!(held.child.wait_with_output().unwrap().status.success());
    fixture.succeed(&["status"]);
}

/// A run takes back only its own text, and its trees stay while a manifest names them.
#[test]
fn what_changes_meanwhile_stays() {
    let fixture = Fixture::new();
    let lock = fixture.lock();
    let held = Held::start(&fixture, &["apply", "demo"]);
    let edited = format!("{}\n# mine\n", fixture.manifest());
    fixture.set_manifest(&edited);
    held.signal("-INT");
    let output = held.child.wait_with_output().unwrap();
    assert_snapshot!("changed_meanwhile", fixture.transcript(&output));
    assert_eq!(fixture.state(), (edited, lock));
    assert!(fixture.resolves());
    fixture.succeed(&["apply"]);
    fixture.succeed(&["status"]);
    assert!(fixture.manifest().contains("\n# mine\n"));
}

/// Killed where the manifest has just been replaced.
#[test]
fn kill_9_after_the_manifest_leaves_the_new_state() {
    let fixture = Fixture::new();
    let held = Held::start(&fixture, &["apply", "demo"]);
    held.signal("-KILL");
    held.open();
    held.child.wait_with_output().unwrap();
    assert!(fixture.resolves());
    fixture.succeed(&["apply"]);
    fixture.succeed(&["status"]);
    fixture.succeed(&["remove"]);
    assert_eq!(fixture.manifest(), MANIFEST);
}

/// Killed at moments spread over the whole run, on the way from nothing to `demo` and from `demo` to `stacked`.
#[test]
fn kill_9_leaves_the_old_or_the_new_state() {
    const MOMENTS: u32 = 4;
    let fixture = Fixture::new();
    let states = [None, Some("demo"), Some("stacked")].map(|name| {
        name.map(|name| fixture.succeed(&["apply", name]));
        fixture.manifest()
    });
    let mut seen = Vec::new();
    for (from, name) in [(0, "demo"), (1, "stacked")] {
        let prepare = || match from {
            0 if fixture.manifest() != MANIFEST => drop(fixture.succeed(&["remove"])),
            0 => {}
            _ => drop(fixture.succeed(&["apply", "demo"])),
        };
        prepare();
        let start = Instant::now();
        fixture.succeed(&["apply", name]);
        let duration = start.elapsed();
        for moment in 0..MOMENTS {
            prepare();
            let mut child = fixture
                .command(&["apply", name])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            thread::sleep(duration * moment / MOMENTS);
            child.kill().unwrap();
            child.wait().unwrap();
            let manifest = fixture.manifest();
            let state = states.iter().position(|state| *state == manifest);
            assert!(
                state == Some(from) || state == Some(from + 1),
                "moment {moment}: {manifest}"
            );
            assert!(
                fixture.resolves(),
                "moment {moment}: the manifest names a tree that is not there"
            );
            seen.push(state);
            fixture.succeed(&["apply", name]);
            fixture.succeed(&["status"]);
            assert!(fixture.leftovers().is_empty());
        }
    }
    println!("states found: {seen:?}");
}
