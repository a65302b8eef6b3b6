//! Measuring patches: two workers that differ in the patches alone, and records of their samples.
//!
//! In: names of patches and an instruction set. Out: rows, each a ratio with its interval and its A/A control, and records.

pub mod attribution;
pub mod breakdown;
pub mod build;
pub mod built;
pub mod counts;
pub mod curves;
pub mod filing;
pub mod memory;
pub mod record;
pub mod upstream;
