//! The messages between driver and worker: one JSON value per line, one reply per request.
//!
//! The file is compiled into both, the worker in `benches` and, by a symbolic link, the driver in `crates/paired`, so that they
//! cannot differ.

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
    /// Lists the families of rows that there are of all sizes.
    Families,
    /// Pins the process, makes the row's inputs from the seed. Once per process: a process measures one row.
    Prepare {
        /// The name of the row.
        row: String,
        /// The seed of the inputs.
        seed: u64,
        /// The number of threads, each on a core of its own: 1, or more where the row is parallel.
        #[serde(deserialize_with = "threads")]
        threads: usize,
    },
    /// Runs the prepared row once.
    Run,
    /// Runs the prepared row once, the process's only run, and tells which spans hold the memory. The row runs on one core.
    Hold,
    /// Runs the prepared row once, and tells the time of each span. A process that has been told to watch does not `run`.
    Watch,
    /// Writes the last run's outputs to a file.
    Save {
        /// The path of the file.
        path: PathBuf,
    },
    /// Runs the row's verifier on outputs that another worker saved.
    Verify {
        /// The path of the file.
        path: PathBuf,
    },
    /// Lists the units.
    Units,
    /// Repeats a unit, without reading a clock.
    Repeat {
        /// The name of the unit.
        unit: String,
        /// The number of repetitions.
        times: usize,
    },
    /// Times a unit against a chain of instructions whose cycles are known.
    Time {
        /// The name of the unit.
        unit: String,
        /// The number of repetitions in a timed run.
        times: usize,
    },
}

/// A line on the worker's standard output.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The reply to `list` and to `families`. The name of a family has [`SIZE`] in the place of the size.
    Rows(Vec<RowInfo>),
    /// The reply to `prepare`.
    Ready {
        /// Tells whether the outputs are a proof, which can be saved and verified.
        proof: bool,
    },
    /// The reply to `run`.
    Sample(Sample),
    /// The reply to `hold`.
    Held(Holding),
    /// The reply to `watch`: the spans that took any time, each without those inside of it.
    Watched(Vec<Busy>),
    /// The reply to `save`.
    Saved,
    /// The reply to `verify`, where the verifier accepts the outputs.
    Accepted,
    /// The reply to `units`.
    Units(Vec<UnitInfo>),
    /// The reply to `repeat`.
    Repeated {
        /// The SHA-256 of the unit's outputs, in hexadecimal.
        #[serde(deserialize_with = "name")]
        digest: String,
    },
    /// The reply to `time`.
    Timed(Timed),
    /// The reply to a request that failed: the error's text.
    Error(String),
}

/// The shortest times of several runs, in nanoseconds.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Timed {
    /// The time of one repetition of the unit.
    pub unit_ns: f64,
    /// The time of one cycle of the core meanwhile.
    pub cycle_ns: f64,
}

/// A row of a worker, as the driver lists it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct RowInfo {
    /// The name of the row, `KIND/WHAT/SIZE`.
    #[serde(deserialize_with = "name")]
    pub name: String,
    /// The kind of the row.
    pub kind: Kind,
    /// The number of threads that the row runs on: 1 in a worker's list.
    #[serde(deserialize_with = "threads")]
    pub threads: usize,
    /// Tells whether more threads share the work.
    #[serde(default)]
    pub parallel: bool,
    /// Tells whether `--quick` includes the row.
    pub quick: bool,
}

/// The size of a family's rows, in its name: a row of 2^16 rows has `2^16` there.
pub const SIZE: &str = "2^N";

/// The largest logarithm of a size. No machine has the memory for more.
pub const MOST_LOG_SIZE: u32 = 40;

/// The kinds of rows that the driver tells apart.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Small and odd inputs, whose outputs are compared; measured on request only.
    Equal,
    /// The external rounds of a permutation, for `cargo p3 ab --phases`.
    Phase,
    /// The commitment to matrices with a Merkle tree.
    #[serde(alias = "merkle-commit-2t")]
    MerkleCommit,
    /// The low-degree extension of a matrix.
    Lde,
    /// The commit phase of FRI.
    FriCommit,
    /// The opening of a commitment.
    Open,
    /// The prover of sumcheck.
    SumcheckProve,
    /// The prover of WHIR.
    WhirProve,
    /// The prover of a STARK.
    StarkProve,
    /// Any other kind.
    #[serde(other)]
    Other,
}

impl Kind {
    /// Returns the kind of the row of this name, by the part before the first `/`.
    pub fn of(row: &str) -> Self {
        let kind = row.split('/').next().unwrap_or_default();
        Self::deserialize(StrDeserializer::<Error>::new(kind)).unwrap_or(Self::Other)
    }
}

/// A unit of work whose instructions can be counted.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct UnitInfo {
    /// The name of the unit, `WORKLOAD/WHAT/SIZE`.
    #[serde(deserialize_with = "name")]
    pub name: String,
    /// The leaves of a tree, by whose number its counts are divided; 1 for any other unit.
    #[serde(deserialize_with = "leaves")]
    pub leaves: usize,
}

/// The times, memory and outputs of one run.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Sample {
    /// The wall-clock time, in nanoseconds.
    pub wall_ns: u64,
    /// The CPU time of all threads of the process, in nanoseconds.
    pub cpu_ns: u64,
    /// The peak of the process's resident memory so far, in KiB, where the system tells it.
    #[serde(default)]
    pub peak_kib: Option<u64>,
    /// The most bytes that the process's first run had allocated at a time, where the worker counts them.
    #[serde(default)]
    pub live_bytes: Option<u64>,
    /// The part of `wall_ns` inside the spans in which upstream builds Merkle trees.
    #[serde(default)]
    pub hashing_ns: Option<u64>,
    /// The SHA-256 of all outputs, in hexadecimal.
    #[serde(deserialize_with = "name")]
    pub digest: String,
}

/// The time of a run in one span, without the spans inside of it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Busy {
    /// The names of the span and of those around it, the outermost first; none for what is outside of all.
    #[serde(deserialize_with = "path")]
    pub span: Vec<String>,
    /// The wall-clock time, in nanoseconds.
    pub wall_ns: u64,
    /// The CPU time of all threads of the process meanwhile, in nanoseconds.
    pub cpu_ns: u64,
}

/// The memory of a run where the most is allocated.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Holding {
    /// The bytes that are allocated.
    pub live_bytes: u64,
    /// The span that the run is in.
    #[serde(deserialize_with = "path")]
    pub peak_in: Vec<String>,
    /// The spans that hold these bytes, each once.
    pub held: Vec<Held>,
}

/// The part of a run's memory that one span has allocated, without the spans inside of it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Held {
    /// The names of the span and of those around it, the outermost first; none for what is outside of all.
    #[serde(deserialize_with = "path")]
    pub span: Vec<String>,
    /// The bytes. Outside of all spans, these may be less than none: the run gives back what was allocated before.
    pub bytes: i64,
}

/// Deserializes the names of spans.
fn path<'de, D: Deserializer<'de>>(names: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    struct Name(#[serde(deserialize_with = "name")] String);
    let names = Vec::<Name>::deserialize(names)?;
    Ok(names.into_iter().map(|Name(name)| name).collect())
}

/// The most bytes of a name. A longer one would break tables.
pub const LONGEST_NAME: usize = 4096;

/// Deserializes a name that is printed later: text that [`check_line`] allows, with a character to see.
pub fn name<'de, D: Deserializer<'de>>(text: D) -> Result<String, D::Error> {
    let name = String::deserialize(text)?;
    check_line(&name).map_err(D::Error::custom)?;
    match name.trim() {
        "" => Err(D::Error::custom(format_args!("{name:?} is no name"))),
        _ => Ok(name),
    }
}

/// Checks that a text is on one line, without control characters, and has 4096 bytes at most; an error says what is wrong.
pub fn check_line(text: &str) -> Result<(), String> {
    if text.len() > LONGEST_NAME {
        return Err(format!("longer than {LONGEST_NAME} bytes"));
    }
    if text.contains(is_control) {
        return Err(format!("{text:?} has a control character"));
    }
    Ok(())
}

/// The most threads of a row, and cores of a machine. No machine has more.
pub const MOST_THREADS: usize = 4096;

fn threads<'de, D: Deserializer<'de>>(number: D) -> Result<usize, D::Error> {
    match usize::deserialize(number)? {
        number @ 1..=MOST_THREADS => Ok(number),
        number => Err(D::Error::custom(format_args!("a row on {number} threads"))),
    }
}

fn leaves<'de, D: Deserializer<'de>>(number: D) -> Result<usize, D::Error> {
    match usize::deserialize(number)? {
        0 => Err(D::Error::custom("a unit without leaves")),
        number => Ok(number),
    }
}

/// Tells whether a character ends a line, controls a terminal, reverses the direction of text or is invisible.
pub fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{feff}')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        // Fillers of syllables, and the Braille cell without a dot.
        || matches!(c, '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}')
        // Variation selectors, marks of annotations and of notation, tags.
        || matches!(c, '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{fff0}'..='\u{fffb}')
        || matches!(c, '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
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
    fn rows_have_threads_and_units_leaves() {
        let row = |threads: &str| {
            let row = format!(r#"{{"name":"a","kind":"lde","threads":{threads},"quick":true}}"#);
            serde_json::from_str::<RowInfo>(&row).map_err(|error| error.to_string())
        };
        row("1").unwrap();
        row("4096").unwrap();
        for threads in ["0", "4097", "18446744073709551615"] {
            let refused = row(threads).unwrap_err();
            let expected = format!("a row on {threads} threads");
            assert!(refused.starts_with(&expected), "{refused}");
        }
        serde_json::from_str::<UnitInfo>(r#"{"name":"a","leaves":1}"#).unwrap();
        serde_json::from_str::<UnitInfo>(r#"{"name":"a","leaves":0}"#).unwrap_err();
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
        for name in ["", "  ", "\u{a0}"] {
            let refused = reply(name).unwrap_err();
            let expected = format!("{name:?} is no name");
            assert!(refused.starts_with(&expected), "{refused}");
        }
        for name in [
            "a\nb",
            "a\u{1b}[2Jb",
            "a\u{202e}b",
            "a\u{2028}b",
            "a\u{61c}b",
            "a\u{200b}",
            "\u{85}",
            "a\u{3164}",
            "a\u{115f}\u{1160}b",
            "a\u{fff9}b\u{fffb}",
            "a\u{fe0f}",
            "a\u{e0041}",
            "a\u{e0100}",
        ] {
            let refused = reply(name).unwrap_err();
            assert!(
                refused.starts_with(&format!("{name:?} has a control character")),
                "{refused}"
            );
        }
    }
}
