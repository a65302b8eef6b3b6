//! Measures two programs in pairs of runs: a baseline, a candidate, and the baseline once more as the control.
//!
//! - [`run`] builds the programs, starts them side by side in the order ABBA, and checks that their outputs are equal.
//! - [`stats`] turns the samples into a ratio with its 95 % interval, and compares that with the A/A control.
//! - [`show`] prints a table, writes JSON and CSV, and draws a page.
//!
//! Beside them stand what the three need of the system: [`interrupt`] starts children that end with the tool, [`files`] writes
//! files whole or not at all, [`cargo`] runs cargo, [`isa`] names instruction sets, [`terminal`], [`escape`] and [`address`]
//! keep what others wrote off the terminal, [`error`] has failures with a hint, and [`exit`] their exit codes.

pub mod address;
pub mod cargo;
pub mod error;
pub mod escape;
pub mod exit;
pub mod files;
pub mod interrupt;
pub mod isa;
pub mod run;
pub mod show;
pub mod stats;
pub mod terminal;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
