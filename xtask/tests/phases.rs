//! `ab --phases` on workers whose commitments gain as the permutation does, by the batch, or that have no phases.
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

/// Rows and how many microseconds each takes in the baseline.
const ROWS: [(&str, u64); 4] = [
    ("phase/p/external", 5000),
    ("permute-chain/p", 9900),
    ("permute-many/p", 8000),
    ("merkle-commit/p/2^4", 20000),
];

struct Fixture {
    dir: TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self { dir: checkout() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A worker whose rows take these times, and return digests of their names. It waits for as long: a reply that comes
    /// earlier is refused.
    fn worker(&self, name: &str, rows: &[(&str, u64)]) -> PathBuf {
        let listed: Vec<String> = rows
            .iter()
            .map(|(name, _)| {
                let kind = name.split('/').next().unwrap();
                format!(r#"{{"name":"{name}","kind":"{kind}","threads":1,"quick":false}}"#)
            })
            .collect();
        let cases: String = rows
            .iter()
            .map(|(name, time)| {
                format!(
                    "*'\"{name}\"'*) row={name} time={time}000 nap={nap} ;;\n",
                    nap = *time as f64 / 1e6
                )
            })
            .collect();
        let script = format!(
            r#"#!/bin/sh
while read -r request; do
    case "$request" in
        *list*) echo '{{"rows":[{listed}]}}' ;;
        *prepare*)
            case "$request" in
            {cases} esac
            echo '{{"ready":{{"proof":false}}}}' ;;
        *run*) sleep $nap; echo '{{"sample":{{"wall_ns":'$time',"cpu_ns":'$time',"digest":"'$row'"}}}}' ;;
    esac
done
"#,
            listed = listed.join(",")
        );
        let path = self.path(name);
        executable(&path, &script);
        path
    }

    /// The baseline, with every time multiplied by its row's factor.
    fn candidate(&self, factors: [f64; 4]) -> PathBuf {
        let rows: Vec<(&str, u64)> = ROWS
            .into_iter()
            .zip(factors)
            .map(|((name, time), factor)| (name, (time as f64 * factor) as u64))
            .collect();
        self.worker("candidate", &rows)
    }

    fn phases(&self, baseline: &Path, candidate: &Path) -> Command {
        let mut command = Command::cargo_bin("xtask").unwrap();
        command
            .arg("--project")
            .arg(self.dir.path())
            .args(["ab", "--phases", "--seeds", "2", "--workers"])
            .args([baseline, candidate])
            .timeout(Duration::from_secs(60));
        command
    }

    /// The output below the lines about the machine.
    fn printed(&self, candidate: &Path) -> String {
        let output = self
            .phases(&self.worker("baseline", &ROWS), candidate)
            .assert()
            .success();
        let stdout = String::from_utf8(output.get_output().stdout.clone()).unwrap();
        // Below the table of all rows.
        let (_, printed) = stdout.split_once("\n\n").unwrap();
        printed.to_owned()
    }
}

#[test]
fn a_commitment_that_gains_as_the_permutation_does() {
    let fixture = Fixture::new();
    let candidate = fixture.candidate([0.9, 0.8, 0.8, 0.8]);
    insta::assert_snapshot!(fixture.printed(&candidate));
}

#[test]
fn a_commitment_that_gains_by_the_batch() {
    let fixture = Fixture::new();
    let candidate = fixture.candidate([1.0, 0.9, 0.7, 0.7]);
    insta::assert_snapshot!(fixture.printed(&candidate));
}

#[test]
fn no_time_is_reported_for_a_phase_whose_outputs_differ() {
    let fixture = Fixture::new();
    // The digest is the row's name, and this row takes another's.
    let liar = fs::read_to_string(fixture.candidate([1.0; 4])).unwrap();
    let liar = liar.replace("row=phase/p/external", "row=phase/p/other");
    fs::write(fixture.path("candidate"), liar).unwrap();
    fixture
        .phases(
            &fixture.worker("baseline", &ROWS),
            &fixture.path("candidate"),
        )
        .assert()
        .code(1)
        .stdout(contains("ratio").not())
        .stderr(contains(
            "error: phase/p/external, seed 1: the candidate's outputs differ",
        ));
}

#[test]
fn a_worker_without_phases_is_refused() {
    let fixture = Fixture::new();
    for (rows, complaint) in [
        (&ROWS[1..], "the worker has no phases"),
        (&ROWS[..1], "the worker has no row permute-chain/p"),
    ] {
        let worker = fixture.worker("worker", rows);
        fixture
            .phases(&worker, &worker)
            .assert()
            .code(1)
            .stderr(contains(complaint));
    }
}

#[test]
fn an_instruction_set_that_the_cpu_lacks_is_refused_by_name() {
    let fixture = Fixture::new();
    let worker = fixture.worker("worker", &ROWS);
    let foreign = if cfg!(target_arch = "x86_64") {
        "neon"
    } else {
        "x86-64-v3"
    };
    fixture
        .phases(&worker, &worker)
        .args(["--isa", foreign])
        .assert()
        .code(3)
        .stdout("")
        .stderr(contains(format!("error: {foreign}: this CPU lacks ")));
}
