//! Runs workers in pairs. `benches/METHODOLOGY.md` gives the reasons for this method.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;
use tempfile::TempDir;

use crate::address::without_credentials;
use crate::error::Failure;
use crate::files::claimed::{self, Claimed};
use crate::files::contents::{no_executable, sha256_of_file};
use crate::files::dir::cannot_write;
use crate::files::plain;
use crate::isa::Isa;
use crate::run::protocol::{Busy, Holding, Reply, Request, RowInfo, SIZE, Sample, Timed};
use crate::run::sample::{ROUND, Run, Side, has_more_cpu, wrong_memory};
use crate::run::threads;
use crate::run::worker::Worker;
use crate::terminal::shown;

/// The number of runs of each process before its first round. They are not measured.
///
/// The first run has page faults and cold caches. Where it frees large blocks, the allocator may give them back to the system and
/// keep such blocks from then on, so that the second run has page faults again and the third one has none. Measured second runs
/// would be two of four of the baseline and the control, and one of four of the candidate: a gain that there is not.
const WARM_UPS: usize = 2;

/// The baseline, the candidate and the control.
const SIDES: u64 = 3;

/// The two workers' executables of one comparison.
#[derive(Clone)]
pub struct Workers {
    /// The path of the baseline's executable.
    pub baseline: PathBuf,
    /// The path of the candidate's executable.
    pub candidate: PathBuf,
}

/// Copies of the executables for one seed, each a file of its own. They are removed when the value is dropped.
///
/// The system chooses the pages of memory that hold a file's code, and the choice lasts while the file is cached. One choice
/// made a loop take 2.6 times as long on an AMD processor of family 26, in every process of that file and in no process of a
/// copy beside it. With one file for all seeds, such a choice is a bias that no figure shows. With a copy for each seed it is
/// noise, which the intervals of the ratio and of the control include.
pub struct Copies {
    _folder: Claimed<TempDir>,
    baseline: PathBuf,
    candidate: PathBuf,
    control: PathBuf,
}

/// The size of a measurement, and the time limit of its workers.
pub struct Plan {
    /// The number of inputs, each measured with processes of its own. One seed alone gives no interval.
    pub seeds: u64,
    /// The number of rounds per seed. A round is one pair, of eight runs.
    pub reps: usize,
    /// The time that a worker may take for a reply.
    pub timeout: Duration,
}

impl Plan {
    /// Returns the number of runs that a row takes, warm-ups included.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.seeds * (WARM_UPS as u64 * SIDES + (ROUND.len() * self.reps) as u64)
    }
}

/// Asks the baseline's worker for its rows; the candidate has the same, from the same source. Fails where the worker does not
/// reply within `timeout`.
pub fn rows(baseline: &Path, timeout: Duration) -> Result<Vec<RowInfo>> {
    listed(baseline, timeout, &Request::List, "rows")
}

/// Asks the baseline's worker for its families of rows, as [`rows`] does for rows. Fails where one has no place for a size, too.
pub fn families(baseline: &Path, timeout: Duration) -> Result<Vec<RowInfo>> {
    let families = listed(baseline, timeout, &Request::Families, "families")?;
    match families.iter().find(|family| !family.name.contains(SIZE)) {
        Some(RowInfo { name, .. }) => Err(Failure::check(format!(
            "baseline worker: lists the family {name}, which has no {SIZE}"
        ))
        .into()),
        None => Ok(families),
    }
}

/// Asks the baseline's worker for a list, and checks its names.
fn listed(
    baseline: &Path,
    timeout: Duration,
    request: &Request,
    what: &str,
) -> Result<Vec<RowInfo>> {
    let mut worker = Worker::start(baseline, Side::Baseline, timeout)?;
    match worker.ask(request)? {
        Reply::Rows(rows) => {
            let names = rows.iter().map(|row| &*row.name);
            check_listed(what, names).map_err(|what| worker.failure(&what))?;
            Ok(rows)
        }
        other => Err(worker.confused(&other)),
    }
}

/// Checks the names of the rows or units that a worker lists: there are some, each once, and none has a user or a token in an
/// address, which no table may show. An error says what is wrong.
pub fn check_listed<'n>(what: &str, names: impl Iterator<Item = &'n str>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for name in names {
        if without_credentials(name) != name {
            return Err(format!(
                "lists {name}, with more than the host of an address"
            ));
        }
        if !seen.insert(name) {
            return Err(format!("lists {name} twice"));
        }
    }
    match seen.is_empty() {
        true => Err(format!("lists no {what}")),
        false => Ok(()),
    }
}

/// Measures the cycles of one repetition of a unit, at the core's clock meanwhile. Fails where the worker fails, or reports times
/// that its runs cannot have taken.
pub fn cycles(executable: &Path, unit: &str) -> Result<f64> {
    /// The repetitions: some milliseconds for a permutation.
    const TIMES: usize = 1 << 11;
    const TIMEOUT: Duration = Duration::from_secs(300);
    let mut worker = Worker::start(executable, Side::Baseline, TIMEOUT)?;
    let request = Request::Time {
        unit: unit.to_owned(),
        times: TIMES,
    };
    let asked = Instant::now();
    match worker.ask(&request)? {
        Reply::Timed(timed) => {
            let cycles = cycles_of(&timed, TIMES, asked.elapsed());
            cycles.map_err(|what| worker.failure(&what))
        }
        other => Err(worker.confused(&other)),
    }
}

/// Returns the cycles of a repetition, of which a run has so many `times`; an error says which time is none.
fn cycles_of(timed: &Timed, times: usize, took: Duration) -> Result<f64, String> {
    let Timed { unit_ns, cycle_ns } = *timed;
    // From 100 GHz to 1 MHz.
    if !(0.01..=1000.0).contains(&cycle_ns) || unit_ns <= 0.0 {
        return Err(format!("reports no time: {timed:?}"));
    }
    if unit_ns * times as f64 > took.as_nanos() as f64 {
        return Err(format!(
            "reports {unit_ns} ns for each of {times} repetitions, {took:?} after it was asked"
        ));
    }
    Ok(unit_ns / cycle_ns)
}

impl Copies {
    /// Returns the copies of the two executables, which are there as long as this value is.
    #[must_use]
    pub fn workers(&self) -> Workers {
        Workers {
            baseline: self.baseline.clone(),
            candidate: self.candidate.clone(),
        }
    }
}

impl Workers {
    /// Copies the executables once for each of `seeds`, below the baseline's folder. Fails where they cannot be written.
    pub fn copies(&self, seeds: u64) -> Result<Vec<Copies>> {
        (0..seeds).map(|_| self.copy()).collect()
    }

    /// Copies the executables, below the baseline's folder. Fails where they cannot be read or written.
    ///
    /// The copies have names of equal length: the path of an executable is on its stack, and moves the rest of it.
    pub fn copy(&self) -> Result<Copies> {
        let folder = self.baseline.parent().unwrap_or(Path::new("."));
        let to = shown(folder);
        let copies = Claimed::new(folder, ".p3-copies-", |made| made.tempdir_in(folder));
        let copies = copies.map_err(|error| cannot_write(folder, &error))?;
        let copy = |executable: &Path, name: &str| -> Result<PathBuf> {
            let copy = copies.made.path().join(name);
            plain::copy(executable, &copy).map_err(|error| {
                let what = format!("cannot copy {} to {to}", shown(executable));
                no_executable(what, error)
            })?;
            Ok(copy)
        };
        Ok(Copies {
            baseline: copy(&self.baseline, "base")?,
            candidate: copy(&self.candidate, "cand")?,
            control: copy(&self.baseline, "ctrl")?,
            _folder: copies,
        })
    }

    /// Returns the SHA-256 of each executable in hexadecimal, by the name of its side. Fails where one cannot be read.
    pub fn sha256(&self) -> Result<BTreeMap<String, String>> {
        let sides = [
            (Side::Baseline, &self.baseline),
            (Side::Candidate, &self.candidate),
        ];
        let hash =
            |(side, path): (Side, &PathBuf)| Ok((side.name().to_owned(), sha256_of_file(path)?));
        sides.into_iter().map(hash).collect()
    }

    /// Runs one row once on each side, without measuring. Fails where the outputs differ, or where a side's verifier refuses a
    /// proof of the other side. Returns the most bytes that baseline and candidate had allocated at a time, where they count them.
    pub fn compare_outputs(
        &self,
        row: &RowInfo,
        seed: u64,
        timeout: Duration,
    ) -> Result<Option<[u64; 2]>> {
        let executables = [&*self.baseline, &self.candidate, &self.baseline];
        let mut trio = Trio::prepare(executables, row, seed, timeout)?;
        let [candidate, baseline] = trio.run_each()?;
        trio.verify()?;
        let live = baseline.live_bytes.zip(candidate.live_bytes);
        Ok(live.map(<[_; 2]>::from))
    }
}

/// Runs a row once in a process of its own, with the inputs of `seed`, and returns what each span holds where the most memory is
/// allocated. Fails where the worker fails, or tells of spans that do not hold all of that.
pub fn holding(
    executable: &Path,
    side: Side,
    row: &RowInfo,
    seed: u64,
    timeout: Duration,
) -> Result<Holding> {
    let (mut worker, _) = start(executable, side, row, seed, timeout)?;
    let holding = match worker.ask(&Request::Hold)? {
        Reply::Held(holding) => holding,
        other => return Err(worker.confused(&other)),
    };
    let checked = check_held(&holding);
    checked.map_err(|what| worker.failure(&what))?;
    Ok(holding)
}

/// Runs a row `runs` times in a process of its own, after the runs that are not counted, and returns the time of each span in each run.
/// Fails where the worker fails, or tells of times that its run cannot have taken.
pub fn watched(
    executable: &Path,
    side: Side,
    row: &RowInfo,
    seed: u64,
    runs: usize,
    timeout: Duration,
) -> Result<Vec<Vec<Busy>>> {
    let (mut worker, _) = start(executable, side, row, seed, timeout)?;
    let mut watched = Vec::new();
    for _ in 0..WARM_UPS + runs {
        let asked = Instant::now();
        match worker.ask(&Request::Watch)? {
            Reply::Watched(spans) => {
                let checked = check_watched(&spans, row.threads, asked.elapsed());
                checked.map_err(|what| worker.failure(&what))?;
                watched.push(spans);
            }
            other => return Err(worker.confused(&other)),
        }
    }
    Ok(watched.split_off(WARM_UPS))
}

/// Checks that spans, each once, took no more time than the run and its threads had, and that no name has a user or a token in an
/// address; an error says what is wrong.
fn check_watched(spans: &[Busy], threads: usize, took: Duration) -> Result<(), String> {
    check_names(spans.iter().map(|busy| &busy.span))?;
    let mut seen = BTreeSet::new();
    let mut sum = 0_u128;
    for Busy {
        span,
        wall_ns,
        cpu_ns,
    } in spans
    {
        if !seen.insert(span) {
            return Err(format!("tells twice what {span:?} took"));
        }
        if has_more_cpu(*cpu_ns, *wall_ns, threads) {
            return Err(format!(
                "reports {cpu_ns} ns of CPU time in {span:?}, of {wall_ns} ns on {threads} threads"
            ));
        }
        sum += u128::from(*wall_ns);
    }
    match sum <= took.as_nanos() {
        true => Ok(()),
        false => Err(format!(
            "reports spans of {sum} ns, {took:?} after it was asked"
        )),
    }
}

/// Starts a worker and prepares a row in it. Returns the worker, and whether the row's outputs are a proof.
fn start(
    executable: &Path,
    side: Side,
    row: &RowInfo,
    seed: u64,
    timeout: Duration,
) -> Result<(Worker, bool)> {
    let mut worker = Worker::start(executable, side, timeout)?;
    let (name, _) = threads::split(&row.name);
    match worker.ask(&Request::Prepare {
        row: name.to_owned(),
        seed,
        threads: row.threads,
    })? {
        Reply::Ready { proof } => Ok((worker, proof)),
        other => Err(worker.confused(&other)),
    }
}

/// Checks that no name of a span has a user or a token in an address; an error says which one does.
fn check_names<'n>(paths: impl Iterator<Item = &'n Vec<String>>) -> Result<(), String> {
    match (paths.flatten()).find(|name| without_credentials(name) != ***name) {
        Some(name) => Err(format!(
            "names the span {}, with more than the host of an address",
            without_credentials(name)
        )),
        None => Ok(()),
    }
}

/// Checks that spans, each once, hold the bytes of the peak, and that no name has a user or a token in an address; an error says what is
/// wrong.
fn check_held(holding: &Holding) -> Result<(), String> {
    let spans = (holding.held.iter()).map(|held| &held.span);
    check_names(spans.chain([&holding.peak_in]))?;
    // An address has fewer bits, and so has the sum of several.
    const MOST: u64 = 1 << 56;
    let bytes = (holding.held.iter()).map(|held| held.bytes.unsigned_abs());
    let mut bytes = bytes.chain([holding.live_bytes]);
    if let Some(bytes) = bytes.find(|bytes| *bytes > MOST) {
        return Err(format!("reports {bytes} bytes of memory"));
    }
    let mut seen = BTreeSet::new();
    let mut sum = 0_i128;
    for held in &holding.held {
        if !seen.insert(&held.span) {
            return Err(format!("tells twice what {:?} holds", held.span));
        }
        // Blocks from before the run may be freed in it, outside of all spans.
        if held.bytes < 0 && !held.span.is_empty() {
            return Err(format!("reports {} bytes in {:?}", held.bytes, held.span));
        }
        sum += i128::from(held.bytes);
    }
    match sum == i128::from(holding.live_bytes) {
        true => Ok(()),
        false => Err(format!(
            "allocated {} bytes, of which its spans hold {sum}",
            holding.live_bytes
        )),
    }
}

/// Measures one row in `plan.reps` rounds for each of `copies`, with a seed each from 1. `progress` is called with the number of runs
/// that have ended since its last call, of [`Plan::runs`] in all, and with none whenever the processes of a seed are prepared; the
/// measurement ends where it fails.
///
/// Returns the samples in the order in which they were taken, eight for each round. Fails where outputs differ, where a worker
/// reports times that its run cannot have taken, crashes or is late, and after an interrupt.
pub fn measure(
    copies: &[Copies],
    row: &RowInfo,
    isa: Isa,
    plan: &Plan,
    mut progress: impl FnMut(u64) -> Result<()>,
) -> Result<Vec<Run>> {
    let mut runs = Vec::new();
    let mut round = 0;
    for (seed, copies) in (1..).zip(copies) {
        let executables = [&*copies.baseline, &copies.candidate, &copies.control];
        let mut trio = Trio::prepare(executables, row, seed, plan.timeout)?;
        progress(0)?;
        for _ in 0..WARM_UPS {
            trio.run_each()?;
            progress(SIDES)?;
        }
        for _ in 0..plan.reps {
            for side in ROUND {
                let Sample {
                    wall_ns,
                    cpu_ns,
                    peak_kib,
                    live_bytes,
                    hashing_ns,
                    digest: _,
                } = trio.run(side)?;
                runs.push(Run {
                    workload: row.name.clone(),
                    isa: isa.to_string(),
                    threads: row.threads,
                    seed,
                    round,
                    side,
                    wall_ns,
                    cpu_ns,
                    peak_kib,
                    live_bytes,
                    hashing_ns,
                });
                progress(1)?;
            }
            round += 1;
        }
        // Not before the rounds: the control verifies nothing, and a verifier leaves the heap of its process in another state.
        trio.verify()?;
    }
    Ok(runs)
}

/// The three processes of one row and seed.
struct Trio<'a> {
    row: &'a RowInfo,
    seed: u64,
    proof: bool,
    digest: Option<String>,
    /// The workers, by [`Side`].
    workers: [Worker; 3],
}

impl<'a> Trio<'a> {
    /// Starts the processes, from the executables of the baseline, the candidate and the control, and prepares the row in each.
    fn prepare(
        [baseline, candidate, control]: [&Path; 3],
        row: &'a RowInfo,
        seed: u64,
        timeout: Duration,
    ) -> Result<Self> {
        let mut is_proof = None;
        let mut start = |executable: &Path, side| {
            let (worker, found) = start(executable, side, row, seed, timeout)?;
            match *is_proof.get_or_insert(found) == found {
                true => Ok(worker),
                false => Err(worker.failure(&format!(
                    "says that its output is {}, unlike the baseline",
                    if found { "a proof" } else { "no proof" }
                ))),
            }
        };
        let workers = [
            start(baseline, Side::Baseline)?,
            start(candidate, Side::Candidate)?,
            start(control, Side::Control)?,
        ];
        Ok(Self {
            row,
            seed,
            proof: is_proof.unwrap_or_default(),
            digest: None,
            workers,
        })
    }

    /// Runs one side once. Fails unless the outputs equal those of every run before.
    fn run(&mut self, side: Side) -> Result<Sample> {
        let threads = self.row.threads;
        let worker = &mut self.workers[side as usize];
        let asked = Instant::now();
        let sample = match worker.ask(&Request::Run)? {
            Reply::Sample(sample) => sample,
            other => return Err(worker.confused(&other)),
        };
        if let Err(what) = plausible(&sample, threads, asked.elapsed()) {
            return Err(worker.failure(&what));
        }
        let expected = self.digest.get_or_insert_with(|| sample.digest.clone());
        if *expected != sample.digest {
            let side = side.name();
            return Err(Failure::check(format!(
                "{}, seed {}: the {side}'s outputs differ from the baseline's (digest {} for {expected})",
                self.row.name, self.seed, sample.digest
            ))
            .hint("no time is reported for a row whose outputs differ")
            .into());
        }
        Ok(sample)
    }

    /// Runs each side once, the baseline last, as the first run of [`ROUND`] requires. Returns the samples of candidate and baseline.
    fn run_each(&mut self) -> Result<[Sample; 2]> {
        self.run(Side::Control)?;
        Ok([self.run(Side::Candidate)?, self.run(Side::Baseline)?])
    }

    /// Fails unless each side's verifier accepts the last proof of the other side, where the outputs are proofs.
    fn verify(&mut self) -> Result<()> {
        if self.proof {
            let folder = claimed::folder()?;
            let path = folder.path().join("proof");
            let [baseline, candidate, _] = &mut self.workers;
            baseline.hand_over(candidate, &path)?;
            candidate.hand_over(baseline, &path)?;
        }
        Ok(())
    }
}

/// Compares a worker's sample with the time that passed on the monotonic clock of this process between request and reply: only
/// times that a run can have taken become figures.
fn plausible(sample: &Sample, threads: usize, took: Duration) -> Result<(), String> {
    let Sample {
        wall_ns,
        cpu_ns,
        peak_kib,
        live_bytes,
        hashing_ns,
        digest: _,
    } = *sample;
    let run = Duration::from_nanos;
    if wall_ns == 0 || cpu_ns == 0 {
        return Err("reports a run that took no time".to_owned());
    }
    if run(wall_ns) > took {
        let run = run(wall_ns);
        return Err(format!(
            "reports a run of {run:?}, {took:?} after it was asked"
        ));
    }
    if has_more_cpu(cpu_ns, wall_ns, threads) {
        let [cpu, wall] = [cpu_ns, wall_ns].map(run);
        return Err(format!(
            "reports {cpu:?} of CPU time, in a run of {wall:?} with threads: {threads}"
        ));
    }
    if hashing_ns.is_some_and(|hashing| hashing > wall_ns) {
        return Err("reports more time in hashing than its run took".to_owned());
    }
    if let Some(wrong) = wrong_memory(peak_kib, live_bytes) {
        return Err(format!("reports a run that {wrong}"));
    }
    Ok(())
}

/// Fails where two `executables` have the same bytes: only one of them should have the patches. The message begins with `name`.
pub fn assert_different(name: &str, executables: [&Path; 2], hint: &'static str) -> Result<()> {
    let [baseline, candidate] = executables;
    if sha256_of_file(baseline)? == sha256_of_file(candidate)? {
        return Err(Failure::check(format!(
            "{name}: baseline and candidate are the same executable"
        ))
        .hint(hint)
        .into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::protocol::Held;

    #[test]
    fn a_unit_takes_no_longer_than_its_worker() {
        let cycles = |unit_ns, cycle_ns| {
            let timed = Timed { unit_ns, cycle_ns };
            cycles_of(&timed, 10, Duration::from_nanos(1000))
        };
        assert_eq!(cycles(100.0, 0.5), Ok(200.0));
        for (unit_ns, cycle_ns, why) in [
            (0.0, 0.5, "reports no time"),
            (-1.0, 0.5, "reports no time"),
            (100.0, 0.0, "reports no time"),
            (100.0, -0.5, "reports no time"),
            (100.0, 1e-300, "reports no time"),
            (100.0, 1e300, "reports no time"),
            (
                101.0,
                0.5,
                "reports 101 ns for each of 10 repetitions, 1µs after",
            ),
        ] {
            let refused = cycles(unit_ns, cycle_ns).unwrap_err();
            assert!(refused.starts_with(why), "{refused}");
        }
    }

    #[test]
    fn spans_hold_the_peak() {
        let held = |span: &str, bytes| Held {
            span: span.split_terminator('/').map(str::to_owned).collect(),
            bytes,
        };
        let holding = |held: &[Held]| Holding {
            live_bytes: 10,
            peak_in: Vec::new(),
            held: held.to_vec(),
        };
        let [outside, outer, inner] = [held("", -2), held("a", 5), held("a/b", 7)];
        let right = [outside.clone(), outer.clone(), inner.clone()];
        assert_eq!(check_held(&holding(&right)), Ok(()));
        let wrong = |held: &[Held]| check_held(&holding(held)).unwrap_err();
        let told = wrong(&[outside.clone(), outer.clone()]);
        assert_eq!(told, "allocated 10 bytes, of which its spans hold 3");
        let told = wrong(&[inner.clone(), inner]);
        assert_eq!(told, r#"tells twice what ["a", "b"] holds"#);
        let told = wrong(&[held("a", 12), held("a/b", -2)]);
        assert_eq!(told, r#"reports -2 bytes in ["a", "b"]"#);
        let told = wrong(&[held("a", i64::MIN), held("b", i64::MAX)]);
        assert_eq!(told, "reports 9223372036854775808 bytes of memory");
        let told = wrong(&[
            outer,
            outside,
            Held {
                span: vec!["https://me:s3cr3t@h".to_owned()],
                bytes: 7,
            },
        ]);
        assert!(
            told.starts_with("names the span https:") && !told.contains("s3cr3t"),
            "{told}"
        );
    }
}
