//! The worker: runs one row of the table when told to, and returns how long it took and what came out.
//!
//! The worker is built twice from this source, on Plonky3 as published and on a patched tree, so it may only use what both have.

// Rows that are left out, and those that an older release lacks, leave their modules without a caller.
#![cfg_attr(
    not(all(feature = "components", feature = "proofs", feature = "since-0-8")),
    allow(dead_code)
)]

#[cfg(feature = "since-0-8")]
mod bits_air;
#[cfg(feature = "since-0-8")]
mod blake3;
#[cfg(feature = "components")]
mod component_rows;
mod dft;
#[cfg(feature = "since-0-8")]
mod dot;
mod extension;
#[cfg(feature = "since-0-8")]
mod fri;
mod hashing;
mod heap;
mod held;
#[cfg(feature = "since-0-6")]
mod keccak;
#[cfg(feature = "since-0-5")]
mod merkle;
#[cfg(feature = "since-0-5")]
mod monty31;
mod permute;
#[cfg(feature = "since-0-8")]
mod phases;
#[cfg(all(feature = "proofs", feature = "since-0-8"))]
mod poseidon2_air;
#[cfg(all(feature = "proofs", feature = "since-0-8"))]
mod proof_rows;
mod protocol;
mod row;
mod rows;
mod spans;
#[cfg(feature = "since-0-8")]
mod stark;
#[cfg(feature = "since-0-8")]
mod sumcheck;
mod timing;
#[cfg(feature = "since-0-8")]
mod units;
mod watched;
#[cfg(feature = "since-0-8")]
mod whir;

use std::any::Any;
use std::io::{self, BufRead, Write};
use std::panic::{self, AssertUnwindSafe};
use std::{fs, process::ExitCode};

use crate::protocol::{Reply, Request, Sample};
use crate::row::{Family, Prepared, Row};
use crate::rows::ROWS;

fn main() -> ExitCode {
    let mut worker = Worker::default();
    let mut stdout = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let reply = line
            .map_err(|error| error.to_string())
            .and_then(|line| {
                serde_json::from_str(&line).map_err(|error| format!("request: {error}"))
            })
            .and_then(|request| {
                // A panic in a kernel under test is a finding about the row, to be reported like any other failure.
                panic::catch_unwind(AssertUnwindSafe(|| worker.answer(request)))
                    .unwrap_or_else(|panic| Err(format!("panicked: {}", panic_message(&*panic))))
            })
            .unwrap_or_else(Reply::Error);
        let line = serde_json::to_string(&reply).expect("replies have no unserializable keys");
        // The driver is gone: nobody is left to tell.
        if writeln!(stdout, "{line}")
            .and_then(|()| stdout.flush())
            .is_err()
        {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// The tables of rows, each with whether more threads share the work of its rows.
const TABLES: &[(&[&[Row]], bool)] = &[
    (ROWS, false),
    #[cfg(feature = "components")]
    (component_rows::ROWS, true),
    #[cfg(all(feature = "proofs", feature = "since-0-8"))]
    (&[proof_rows::ROWS], true),
    #[cfg(all(feature = "proofs", feature = "since-0-8"))]
    (&[proof_rows::SERIAL], false),
];

/// Returns each row, and whether it is parallel.
fn rows() -> impl Iterator<Item = (&'static Row, bool)> {
    let tables = TABLES.iter().copied();
    tables.flat_map(|(table, parallel)| {
        table
            .iter()
            .copied()
            .flatten()
            .map(move |row| (row, parallel))
    })
}

/// The tables of families, whose rows are parallel.
const FAMILIES: &[&[Family]] = &[
    #[cfg(feature = "components")]
    component_rows::FAMILIES,
    #[cfg(all(feature = "proofs", feature = "since-0-8"))]
    proof_rows::FAMILIES,
];

/// Makes the inputs of the row of this name, one of a table or of a family. Fails where there is none, and where it is not parallel
/// and has several `threads`.
fn prepare(name: &str, seed: u64, threads: usize) -> Result<Prepared, String> {
    if let Some((row, parallel)) = rows().find(|(row, _)| row.name == name) {
        if threads > 1 && !parallel {
            return Err(format!("prepare: {name} runs on one thread"));
        }
        timing::confine(threads)?;
        return Ok((row.prepare)(seed));
    }
    let mut families = FAMILIES.iter().copied().flatten();
    let of_family = families.find_map(|family| Some((family, family.log_size_of(name)?)));
    let (family, log_size) = of_family.ok_or_else(|| format!("prepare: no row named {name}"))?;
    timing::confine(threads)?;
    Ok((family.prepare)(seed, log_size))
}

#[derive(Default)]
struct Worker {
    prepared: Option<Prepared>,
    threads: usize,
    outputs: Vec<u8>,
    /// The peak of the first run, which is not timed by the driver.
    live_bytes: Option<u64>,
    /// Tells whether the process has made its only run, and told which spans hold the memory.
    held: bool,
    /// Tells whether the process tells the time of spans.
    watches: bool,
}

impl Worker {
    fn answer(&mut self, request: Request) -> Result<Reply, String> {
        match request {
            Request::List => {
                let rows = rows().map(|(row, parallel)| row.info(parallel));
                Ok(Reply::Rows(rows.collect()))
            }
            Request::Families => {
                let families = FAMILIES.iter().copied().flatten();
                Ok(Reply::Rows(families.map(Family::info).collect()))
            }
            Request::Prepare { row, seed, threads } => {
                if self.prepared.is_some() {
                    return Err("prepare: a worker process measures one row, start another".into());
                }
                self.threads = threads;
                let prepared = self.prepared.insert(prepare(&row, seed, threads)?);
                Ok(Reply::Ready {
                    proof: prepared.verify.is_some(),
                })
            }
            Request::Run => {
                let known = self.live_bytes;
                if self.held || self.watches {
                    return Err("run: the process listens to spans, start another".into());
                }
                hashing::listen();
                let run = &mut self.prepared()?.run;
                let ((timing, outputs), live_bytes) = match known {
                    Some(known) => (run(), known),
                    None => heap::peak_of(run),
                };
                self.live_bytes = Some(live_bytes);
                let threads = self.threads;
                let digest = self.prepared()?.digest(&outputs, threads);
                self.outputs = outputs;
                Ok(Reply::Sample(Sample {
                    wall_ns: timing.wall_ns,
                    cpu_ns: timing.cpu_ns,
                    hashing_ns: Some(timing.hashing_ns),
                    peak_kib: timing::peak_kib(),
                    live_bytes: self.live_bytes,
                    digest,
                }))
            }
            Request::Hold => {
                if self.held || self.watches || self.live_bytes.is_some() {
                    return Err("hold: the process has run, start another".into());
                }
                let run = &mut self.prepared()?.run;
                let ((_, outputs), holding) = held::of(run);
                self.held = true;
                self.outputs = outputs;
                Ok(Reply::Held(holding))
            }
            Request::Watch => {
                if self.held || self.live_bytes.is_some() {
                    return Err("watch: the process has run, start another".into());
                }
                let run = &mut self.prepared()?.run;
                watched::listen();
                let (timing, outputs) = run();
                self.watches = true;
                self.outputs = outputs;
                Ok(Reply::Watched(timing.busy))
            }
            Request::Save { path } => {
                fs::write(&path, &self.outputs)
                    .map_err(|error| format!("{}: {error}", path.display()))?;
                Ok(Reply::Saved)
            }
            Request::Verify { path } => {
                let verify = self
                    .prepared()?
                    .verify
                    .as_ref()
                    .ok_or("verify: this row's outputs are no proof")?;
                let proof =
                    fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                verify(&proof).map(|()| Reply::Accepted)
            }
            #[cfg(feature = "since-0-8")]
            Request::Units => Ok(Reply::Units(
                units::UNITS.iter().map(protocol::UnitInfo::from).collect(),
            )),
            #[cfg(feature = "since-0-8")]
            Request::Repeat { unit, times } => {
                let unit = units::unit_named(&unit)?;
                timing::confine(1)?;
                heap::count_instructions();
                Ok(Reply::Repeated {
                    digest: row::digest(&(unit.repeat)(times)),
                })
            }
            #[cfg(feature = "since-0-8")]
            Request::Time { unit, times } => {
                let unit = units::unit_named(&unit)?;
                timing::confine(1)?;
                Ok(Reply::Timed(units::timed(unit, times)))
            }
            #[cfg(not(feature = "since-0-8"))]
            Request::Units | Request::Repeat { .. } | Request::Time { .. } => {
                Err("the worker has units since 0.8 only".into())
            }
        }
    }

    fn prepared(&mut self) -> Result<&mut Prepared, String> {
        self.prepared
            .as_mut()
            .ok_or_else(|| "no row is prepared".into())
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
