//! Compares the speed of two builds of a program in pairs of runs, and reports the ratio of their times with a 95 % interval.
//!
//! One time says little: the clock of a core, its caches and other programs change it from run to run. Three habits make two
//! builds comparable:
//!
//! - The *baseline* and the *candidate* run in pairs, in the order ABBA, so that a steady drift cancels in the ratio of a pair.
//! - Processes are restarted, from copies of the executables: where a process happens to lie in memory is noise, not a bias.
//! - The baseline is measured against a copy of itself in the same rounds. This A/A control shows how far from 1 a ratio gets
//!   with no change at all. A candidate is called faster or slower only where its interval lies farther from 1 than that.
//!
//! The library has three parts:
//!
//! - [`run`] builds the programs, runs them in pairs, and checks that their outputs are equal.
//! - [`stats`] turns the samples into a ratio with its interval, and compares the ratio with the control.
//! - [`show`] prints a table, writes JSON and CSV, and draws a page.
//!
//! The other modules serve these three: [`interrupt`] starts child processes that end with their parent, [`files`] writes
//! files whole or not at all, [`cargo`] runs cargo, [`isa`] names instruction sets, [`text`], [`terminal`], [`escape`] and
//! [`address`] clean text of others before it is shown, [`error`] has failures with a hint, and [`exit`] their exit codes.
//!
//! # Examples
//!
//! Samples in CSV become a row, with the verdict on it. Five restarts (`seed`) of one round ABBA each:
//!
//! ```
//! use paired::show::report::{parse_csv, table};
//! use paired::stats::ratio::Verdict;
//! use paired::stats::row::Row;
//!
//! let mut samples = "workload,isa,threads,seed,round,side,wall_ns,cpu_ns\n".to_owned();
//! for seed in 0..5 {
//!     for (side, ns) in [("baseline", 1000), ("candidate", 800), ("candidate", 800), ("control", 1000)] {
//!         samples += &format!("sort/2^16,generic,1,{seed},{seed},{side},{ns},{ns}\n");
//!     }
//! }
//! let rows = Row::read(&parse_csv(&samples)?)?;
//! assert_eq!((rows[0].ratio, rows[0].verdict), (0.8, Verdict::Faster));
//! println!("{}", table(&rows, false));
//! # Ok::<(), String>(())
//! ```
//!
//! A tool that measures calls [`exit::other_part`] before anything else, since the library starts the tool's own executable
//! again as the guard of its child processes. The two executables here are workers, which answer [`run::protocol::Request`]s:
//!
//! ```no_run
//! use std::process::ExitCode;
//! use std::time::Duration;
//!
//! use paired::isa::Isa;
//! use paired::run::pairs::{Plan, Workers, measure, rows};
//! use paired::show::report::table;
//! use paired::stats::row::Row;
//!
//! fn main() -> ExitCode {
//!     if let Some(ended) = paired::exit::other_part() {
//!         return ended;
//!     }
//!     paired::exit::run(compare, |hint| hint.to_owned())
//! }
//!
//! fn compare() -> anyhow::Result<()> {
//!     let workers = Workers { baseline: "base/worker".into(), candidate: "cand/worker".into() };
//!     let plan = Plan { seeds: 5, reps: 4, timeout: Duration::from_secs(60) };
//!     let copies = workers.copies(plan.seeds)?;
//!     for row in rows(&workers.baseline, plan.timeout)? {
//!         let runs = measure(&copies, &row, Isa::Native, &plan, |_| Ok(()))?;
//!         println!("{}", table(&[Row::new(&runs)?], true));
//!     }
//!     Ok(())
//! }
//! ```

#![cfg_attr(not(test), deny(unused_crate_dependencies))]

pub mod address;
pub mod cargo;
mod environment;
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
pub mod text;
