//! Measuring: two executables that differ in the patches alone, run in pairs, and statistics of their samples.
//!
//! In: names of patches and an instruction set. Out: rows, each a ratio with its interval and its A/A control, and records.

pub mod attribution;
pub mod breakdown;
pub mod build;
pub mod built;
pub mod counts;
pub mod figures;
pub mod filing;
pub mod input;
pub mod launch;
pub mod pairs;
pub mod program;
pub mod protocol;
pub mod record;
pub mod report;
pub mod row;
pub mod rustflags;
pub mod spans;
pub mod stats;
pub mod trial;
pub mod worker;
