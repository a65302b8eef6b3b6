//! `inspect threads` on workers that tell what their spans took, and on some that tell what cannot be.
//!
//! The workers are shell scripts that speak the protocol of `benches/src/protocol.rs`.

#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use tempfile::TempDir;

use stand_in::{checkout, executable};

mod stand_in;

/// A span with its microseconds of wall-clock time and of CPU time.
type Span<'a> = (&'a str, u64, u64);

struct Fixture {
    dir: TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self { dir: checkout() }
    }

    /// A worker with a parallel proof and a row on one thread. Its run takes these times on one thread, and these on two.
    fn worker(&self, name: &str, one: &[Span<'_>], two: &[Span<'_>]) -> PathBuf {
        let spans = |spans: &[Span<'_>]| {
            let spans = spans.iter().map(|(span, wall, cpu)| {
                let names = span.split_terminator('>').map(|name| format!("\"{name}\""));
                let names = names.collect::<Vec<_>>().join(",");
                format!(r#"{{"span":[{names}],"wall_ns":{wall}000,"cpu_ns":{cpu}000}}"#)
            });
            spans.collect::<Vec<_>>().join(",")
        };
        let row = |name, kind, parallel| {
            format!(
                r#"{{"name":"{name}","kind":"{kind}","threads":1,"parallel":{parallel},"quick":false}}"#
            )
        };
        // A run of some microseconds ends before its reply is read: to sleep takes longer.
        let script = format!(
            r#"#!/bin/sh
while read -r request; do
    case "$request" in
        *list*) echo '{{"rows":[{},{}]}}' ;;
        *prepare*)
            case "$request" in *'"threads":2'*) on=2 ;; *) on=1 ;; esac
            echo '{{"ready":{{"proof":false}}}}' ;;
        *watch*)
            sleep 0.01
            case $on in
                2) echo '{{"watched":[{}]}}' ;;
                *) echo '{{"watched":[{}]}}' ;;
            esac ;;
    esac
done
"#,
            row("stark-prove/x", "stark-prove", true),
            row("permute/x", "permute", false),
            spans(two),
            spans(one),
        );
        let path = self.dir.path().join(name);
        executable(&path, &script);
        path
    }

    fn threads(&self, workers: [&Path; 2], threads: &str) -> Command {
        let mut command = Command::cargo_bin("xtask").unwrap();
        command
            .arg("--project")
            .arg(self.dir.path())
            .args([
                "inspect",
                "threads",
                "--isa",
                "generic",
                "--runs",
                "2",
                "--threads",
                threads,
                "--workers",
            ])
            .args(workers)
            .timeout(Duration::from_secs(60));
        command
    }
}

/// Tells whether a row can run on two threads here; where it cannot, that is what the tool says.
fn has_two_cores() -> bool {
    std::thread::available_parallelism().unwrap().get() > 1
}

#[test]
fn spans_stand_by_what_they_lose() {
    let fixture = Fixture::new();
    let one = [
        ("", 100, 100),
        ("prove>commit", 4000, 4000),
        ("prove>reverse", 1000, 1000),
        ("prove>a", 10, 10),
        ("prove>b", 10, 10),
    ];
    let two = [
        ("", 100, 100),
        ("prove>commit", 2000, 4000),
        ("prove>reverse", 1000, 1000),
        ("prove>a", 10, 10),
        ("prove>b", 10, 10),
    ];
    let baseline = fixture.worker("baseline", &one, &two);
    let mended = [
        ("", 100, 100),
        ("prove>commit", 2000, 4000),
        ("prove>reverse", 500, 1000),
    ];
    let candidate = fixture.worker("candidate", &one, &mended);
    let json = fixture.dir.path().join("threads.json");
    let run = |workers| {
        let mut command = fixture.threads(workers, "2");
        command.arg("--json").arg(&json).assert()
    };
    if !has_two_cores() {
        run([&baseline, &candidate])
            .code(3)
            .stderr(contains("this process may use one core"));
        return;
    }
    let shown = run([&baseline, &candidate]).success();
    insta::assert_snapshot!(String::from_utf8(shown.get_output().stdout.clone()).unwrap());
    let json: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    let span = &json["workloads"][0]["candidate"]["several"][1];
    assert_eq!(span["span"], serde_json::json!(["prove", "commit"]));
    assert_eq!([&span["wall_ns"], &span["cpu_ns"]], [2_000_000, 4_000_000]);
}

#[test]
fn times_that_cannot_be_are_refused() {
    if !has_two_cores() {
        eprintln!("not tested: there is one core");
        return;
    }
    let fixture = Fixture::new();
    let honest = [("prove", 100, 100)];
    let baseline = fixture.worker("baseline", &honest, &honest);
    for (spans, complaint) in [
        (
            &[("prove", 100, 100), ("prove", 100, 100)][..],
            "tells twice what [\"prove\"] took",
        ),
        (&[("prove", 1000, 900_000)], "of CPU time in [\"prove\"]"),
        (&[("prove", 60_000_000, 100)], "after it was asked"),
        (
            &[("https://me:secret@host", 100, 100)],
            "with more than the host of an address",
        ),
    ] {
        let candidate = fixture.worker("candidate", spans, spans);
        fixture
            .threads([&baseline, &candidate], "2")
            .assert()
            .code(1)
            .stderr(contains(complaint))
            .stderr(contains("secret").not());
    }
}

#[test]
fn what_cannot_run_on_several_threads_is_refused() {
    let fixture = Fixture::new();
    let worker = fixture.worker("worker", &[], &[]);
    let workers = [&*worker, &worker];
    fixture.threads(workers, "1").assert().code(2);
    fixture
        .threads(workers, "4096")
        .assert()
        .code(3)
        .stderr(contains("error: --threads 4096: this process may use "));
    if has_two_cores() {
        let mut of_one = fixture.threads(workers, "2");
        of_one
            .args(["--workload", "permute/*"])
            .assert()
            .code(3)
            .stderr(contains(
                "error: --threads: no row that is measured uses several",
            ));
    }
}
