//! `inspect memory` on workers that tell what their spans hold, and on one whose spans hold less than it has allocated.
//!
//! The workers are shell scripts that speak the protocol of `benches/src/protocol.rs`.

#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::Command;
use predicates::str::contains;
use tempfile::TempDir;

use stand_in::{checkout, executable};

mod stand_in;

const MIB: i64 = 1 << 20;

struct Fixture {
    dir: TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self { dir: checkout() }
    }

    /// A worker with a row on one core and one on two. Its run has allocated so many bytes in `peak_in`, and its spans hold these.
    fn worker(&self, name: &str, live: i64, peak_in: &str, held: &[(&str, i64)]) -> PathBuf {
        let path = |span: &str| {
            let names = span.split_terminator('/').map(|name| format!("\"{name}\""));
            names.collect::<Vec<_>>().join(",")
        };
        let held = (held.iter())
            .map(|(span, bytes)| format!(r#"{{"span":[{}],"bytes":{bytes}}}"#, path(span)))
            .collect::<Vec<_>>();
        let row = |name, threads| {
            format!(
                r#"{{"name":"stark-prove/{name}","kind":"stark-prove","threads":{threads},"quick":false}}"#
            )
        };
        let script = format!(
            r#"#!/bin/sh
while read -r request; do
    case "$request" in
        *list*) echo '{{"rows":[{},{}]}}' ;;
        *prepare*) echo '{{"ready":{{"proof":false}}}}' ;;
        *hold*) echo '{{"held":{{"live_bytes":{live},"peak_in":[{}],"held":[{}]}}}}' ;;
    esac
done
"#,
            row("one", 1),
            row("two", 2),
            path(peak_in),
            held.join(",")
        );
        let path = self.dir.path().join(name);
        executable(&path, &script);
        path
    }

    fn memory(&self, workers: [&Path; 2]) -> Command {
        let mut command = Command::cargo_bin("xtask").unwrap();
        command
            .arg("--project")
            .arg(self.dir.path())
            .args(["inspect", "memory", "--isa", "generic", "--workers"])
            .args(workers)
            .timeout(Duration::from_secs(60));
        command
    }
}

/// The spans in the order of the runs, the small ones as one, and none of the workload on two cores.
#[test]
fn spans_are_shown_with_what_they_hold_at_the_peak() {
    let fixture = Fixture::new();
    let spans = [
        ("", -MIB),
        ("prove/commit/tree", 3 * MIB),
        ("prove/open/tree", 8 * MIB),
        ("prove/small", 512),
        ("prove/less", 512),
    ];
    let baseline = fixture.worker("baseline", 10 * MIB + 1024, "prove/open", &spans);
    let fewer = [
        ("", -MIB),
        ("prove/commit/tree", 3 * MIB / 2),
        ("prove", 4096),
    ];
    let live = MIB / 2 + 4096;
    let candidate = fixture.worker("candidate", live, "prove/commit", &fewer);
    let json = fixture.dir.path().join("memory.json");
    let shown = fixture
        .memory([&baseline, &candidate])
        .arg("--json")
        .arg(&json)
        .assert()
        .success();
    let shown = String::from_utf8(shown.get_output().stdout.clone()).unwrap();
    insta::assert_snapshot!(shown);
    let json: serde_json::Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    let held = &json["workloads"][0]["candidate"]["held"][1];
    assert_eq!(held["bytes"], 3 * MIB / 2);
    assert_eq!(held["span"][2], "tree");
}

#[test]
fn spans_that_do_not_hold_the_peak_are_refused() {
    let fixture = Fixture::new();
    let right = fixture.worker("right", MIB, "prove", &[("prove", MIB)]);
    let wrong = fixture.worker("wrong", MIB, "prove", &[("prove", MIB - 1)]);
    let told = "candidate worker: allocated 1048576 bytes, of which its spans hold 1048575";
    (fixture.memory([&right, &wrong]).assert().code(1)).stderr(contains(told));
    let two = ["--workload", "*/two"];
    let told = "error: --workload */two: no such row\nhint: ";
    let refused = fixture.memory([&right, &right]).args(two).assert();
    refused.code(3).stderr(contains(told));
}
