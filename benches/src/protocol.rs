//! The messages between driver and worker: one JSON value per line, one reply per request.
//!
//! The file is compiled into both, the worker here and, by a symbolic link, the driver in `crates/p3-patches`, so the two
//! cannot drift.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A line on the worker's standard input. The end of the input ends the worker.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Which rows there are.
    List,
    /// Pins the process, makes the row's inputs from the seed. Once per process: a process measures one row.
    Prepare { row: String, seed: u64 },
    /// Runs the prepared row once.
    Run,
    /// Writes the last run's outputs to a file.
    Save { path: PathBuf },
    /// Runs the row's verifier on outputs that another worker saved.
    Verify { path: PathBuf },
    /// Which units there are.
    Units,
    /// Repeats a unit so many times, without a look at a clock.
    Repeat { unit: String, times: usize },
    /// Times a unit against a chain of instructions whose cycles are known, in runs of so many repetitions.
    Time { unit: String, times: usize },
}

/// A line on the worker's standard output.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    Rows(Vec<RowInfo>),
    /// `proof`: the outputs are a proof, so that `save` and `verify` make sense.
    Ready {
        proof: bool,
    },
    Sample(Sample),
    Saved,
    Accepted,
    Units(Vec<UnitInfo>),
    Repeated {
        digest: String,
    },
    Timed(Timed),
    Error(String),
}

/// The least time of several runs.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Timed {
    /// Of one repetition.
    pub unit_ns: f64,
    /// Of one cycle of the core, while it was at this.
    pub cycle_ns: f64,
}

/// A row as the driver needs to know it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct RowInfo {
    /// `WORKLOAD/WHAT/SIZE`.
    pub name: String,
    /// How many cores the row runs on.
    pub threads: usize,
    /// Part of the first look that `--quick` gives.
    pub quick: bool,
}

/// A unit of work whose instructions can be counted.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct UnitInfo {
    /// `WORKLOAD/WHAT/SIZE`.
    pub name: String,
    /// Leaves of a tree, by which its counts are divided; 1 for everything else.
    pub leaves: usize,
}

/// One run.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Sample {
    pub wall_ns: u64,
    /// CPU time of the whole process, all threads.
    pub cpu_ns: u64,
    /// The most memory that the process has had resident so far, in KiB, where the system tells.
    #[serde(default)]
    pub peak_kib: Option<u64>,
    /// Of `wall_ns`, the time inside the spans in which upstream builds Merkle trees.
    #[serde(default)]
    pub hashing_ns: Option<u64>,
    /// SHA-256 of all outputs, in hexadecimal.
    pub digest: String,
}
