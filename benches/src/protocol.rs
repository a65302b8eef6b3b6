//! The messages between driver and worker: one JSON value per line, one reply per request.
//!
//! The file is compiled into both, the worker here and, by a symbolic link, the driver in `crates/p3-patches`, so the two
//! cannot drift.

use std::path::PathBuf;

use serde::de::value::{Error, StrDeserializer};
use serde::{Deserialize, Serialize};

/// A line on the worker's standard input. The end of the input ends the worker.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Lists the rows.
    List,
    /// Pins the process, makes the row's inputs from the seed. Once per process: a process measures one row.
    Prepare { row: String, seed: u64 },
    /// Runs the prepared row once.
    Run,
    /// Writes the last run's outputs to a file.
    Save { path: PathBuf },
    /// Runs the row's verifier on outputs that another worker saved.
    Verify { path: PathBuf },
    /// Lists the units.
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
    /// `KIND/WHAT/SIZE`.
    pub name: String,
    pub kind: Kind,
    /// How many cores the row runs on.
    pub threads: usize,
    /// Part of the first look that `--quick` gives.
    pub quick: bool,
}

/// The kinds of rows that the driver tells apart.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Small and odd inputs, whose outputs are compared; measured on request only.
    Equal,
    /// The rounds of a permutation that are not internal, for `cargo p3 phases`.
    Phase,
    #[serde(alias = "merkle-commit-2t")]
    MerkleCommit,
    Lde,
    FriCommit,
    Open,
    SumcheckProve,
    WhirProve,
    StarkProve,
    #[serde(other)]
    Other,
}

impl Kind {
    /// The kind of the row of this name, by the part before the first `/`.
    pub fn of(row: &str) -> Self {
        let kind = row.split('/').next().unwrap_or_default();
        Self::deserialize(StrDeserializer::<Error>::new(kind)).unwrap_or(Self::Other)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_a_row_is_what_its_name_starts_with() {
        for (row, kind) in [
            ("equal/lde/goldilocks", Kind::Equal),
            ("merkle-commit/poseidon2-w8/2^16x64", Kind::MerkleCommit),
            ("merkle-commit-2t/poseidon2-w8/2^16x64", Kind::MerkleCommit),
            ("lde/goldilocks/2^16x64", Kind::Lde),
            ("lde-small-batch/goldilocks/2^18x8", Kind::Other),
            ("stark-prove", Kind::StarkProve),
            ("", Kind::Other),
        ] {
            assert_eq!(Kind::of(row), kind, "{row}");
        }
    }
}
