//! The messages between driver and worker: one JSON value per line, one reply per request.
//!
//! The file is compiled into both, the worker here and, by a symbolic link, the driver in `crates/p3-patches`, so the two
//! cannot drift.

use std::path::PathBuf;

use serde::de::Error as _;
use serde::de::value::{Error, StrDeserializer};
use serde::{Deserialize, Deserializer, Serialize};

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
        #[serde(deserialize_with = "name")]
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
    #[serde(deserialize_with = "name")]
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
    /// The rounds of a permutation that are not internal, for `cargo p3 ab --phases`.
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
    #[serde(deserialize_with = "name")]
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
    #[serde(deserialize_with = "name")]
    pub digest: String,
}

/// The most bytes of a name. A longer one is no name, and breaks tables.
const LONGEST_NAME: usize = 4096;

/// Reads a name that others wrote and that is printed: text without control characters, on one line.
pub fn name<'de, D: Deserializer<'de>>(text: D) -> Result<String, D::Error> {
    let name = String::deserialize(text)?;
    if name.contains(is_control) {
        return Err(D::Error::custom(format_args!(
            "{name:?} has a control character"
        )));
    }
    if name.len() > LONGEST_NAME {
        return Err(D::Error::custom(format_args!(
            "a name is longer than {LONGEST_NAME} bytes"
        )));
    }
    Ok(name)
}

/// Whether a character ends a line, controls a terminal, turns text around or is not seen.
pub fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{feff}')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
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

    #[test]
    fn names_are_of_one_line() {
        let reply = |name: &str| {
            let unit = UnitInfo {
                name: name.to_owned(),
                leaves: 1,
            };
            let reply = serde_json::to_string(&Reply::Units(vec![unit])).unwrap();
            serde_json::from_str::<Reply>(&reply).map_err(|error| error.to_string())
        };
        reply("lde/é/2^16x64 > a").unwrap();
        reply(&"a".repeat(LONGEST_NAME)).unwrap();
        assert!(
            reply(&"a".repeat(LONGEST_NAME + 1))
                .unwrap_err()
                .contains("longer")
        );
        for name in [
            "a\nb",
            "a\u{1b}[2Jb",
            "a\u{202e}b",
            "a\u{2028}b",
            "a\u{61c}b",
            "a\u{200b}",
            "\u{85}",
        ] {
            let refused = reply(name).unwrap_err();
            assert!(
                refused.starts_with(&format!("{name:?} has a control character")),
                "{refused}"
            );
        }
    }
}
