//! Samples for the tests of modules that read or show samples.

use std::collections::BTreeMap;

use crate::run::sample::{Run, Side};
use crate::show::machine::Machine;
use crate::show::section::{Record, Source};
use crate::stats::row::Row;

/// Returns a record of rows and their samples that is in no file.
pub fn record(cpu: &str, rows: Vec<Row>, runs: Vec<Run>) -> Record {
    Record {
        sources: vec![Source {
            file: None,
            command: String::new(),
            rows: rows.clone(),
        }],
        machine: Machine {
            cpu: cpu.to_owned(),
            cores: 1,
            rustc: String::new(),
            rustflags: String::new(),
        },
        outdated: false,
        loaded: BTreeMap::new(),
        rows,
        runs,
    }
}

/// Returns samples of five seeds with two rounds each: a baseline of 10 ms that drifts by 1 % per run, and a candidate of `ratio`
/// times that.
pub fn runs(ratio: f64) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut clock = 1e7;
    for round in 0..10 {
        for side in [
            Side::Baseline,
            Side::Candidate,
            Side::Candidate,
            Side::Control,
        ] {
            clock *= 1.01;
            let wall = if side == Side::Candidate {
                clock * ratio
            } else {
                clock
            };
            runs.push(Run {
                workload: "merkle-commit/x/2^4".into(),
                isa: "x86-64-v3".into(),
                threads: 1,
                seed: round as u64 / 2,
                round,
                side,
                wall_ns: wall as u64,
                cpu_ns: wall as u64,
                peak_kib: None,
                live_bytes: None,
                hashing_ns: None,
            });
        }
    }
    runs
}
