//! The row of a report: the figures that the samples of one workload give.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::isa;
use crate::run::sample::{BENCH, ITERATIONS, LONGEST_NS, MOST_KIB, RUN, Run, SPAN, Side, by_row};
use crate::stats::ratio::{Ratio, Verdict, median};
use crate::text;

/// The figures of one workload on one instruction set.
///
/// Ratios are the candidate's quantity divided by the baseline's, from pairs of runs. Figures are rounded to four decimals.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Row {
    /// The name of the workload.
    #[serde(deserialize_with = "text::name")]
    pub workload: String,
    /// The name of the instruction set.
    #[serde(deserialize_with = "isa::name")]
    pub isa: String,
    /// The unit of `baseline` and `candidate`: `ms`, `ns` or `MiB`.
    #[serde(deserialize_with = "text::name")]
    pub unit: String,
    /// The median of the baseline's runs, the control's included.
    pub baseline: f64,
    /// The median of the candidate's runs.
    pub candidate: f64,
    /// The ratio of candidate to baseline.
    pub ratio: f64,
    /// The ends of its 95 % interval.
    pub ci95: [f64; 2],
    /// The ratio of the A/A control: the baseline's copy to the baseline, in the same rounds.
    pub aa_ratio: f64,
    /// The ends of its 95 % interval.
    pub aa_ci95: [f64; 2],
    /// The number of rounds behind the ratios.
    pub pairs: usize,
    /// The candidate's memory divided by the baseline's, each the largest of any process: the most bytes that were allocated at a time
    /// where the worker counts them, else the peak of resident memory after the same number of runs, where the system tells it.
    pub memory_ratio: Option<f64>,
    /// The part of the workload that is hashing, where the samples tell it and it is not zero.
    #[serde(default)]
    pub hashing: Option<Hashing>,
    /// Tells whether the outputs are equal, where they were compared. Never false: a row whose outputs differ has no times, and is
    /// neither made nor read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs_equal: Option<bool>,
    /// The verdict on `ratio`.
    pub verdict: Verdict,
}

/// The part of a workload in which Merkle trees are built.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Hashing {
    /// The share of the baseline's time, 0 to 1.
    pub share: f64,
    /// The ratio of the candidate's time in hashing to the baseline's.
    pub ratio: f64,
}

impl Hashing {
    fn new(runs: &[Run]) -> Result<Option<Self>> {
        if !runs.iter().all(|run| run.hashing_ns > Some(0)) {
            return Ok(None);
        }
        let hashing = |run: &Run| run.hashing_ns.unwrap_or_default();
        let rounds = calm_rounds(runs);
        let baseline = rounds
            .values()
            .flatten()
            .filter(|run| run.side != Side::Candidate);
        let shares = baseline.map(|run| hashing(run) as f64 / run.wall_ns as f64);
        let logs = logs(runs, hashing, |pair| pair.candidate)?;
        Ok(Some(Self {
            share: round4(median(&mut shares.collect::<Vec<_>>())),
            ratio: round4(Ratio::from_logs(&logs).value),
        }))
    }
}

/// A measured quantity of a run.
pub struct Quantity {
    of: fn(&Run) -> u64,
    unit: &'static str,
    /// The value of one `unit`.
    scale: f64,
}

impl Quantity {
    /// The wall-clock time, in milliseconds.
    const WALL: Self = Self {
        of: |run| run.wall_ns,
        unit: "ms",
        scale: 1e6,
    };
    /// The CPU time of all threads, in milliseconds.
    pub const CPU: Self = Self {
        of: |run| run.cpu_ns,
        unit: "ms",
        scale: 1e6,
    };
    /// The peak of resident memory, in MiB.
    pub const MEMORY: Self = Self {
        of: |run| run.peak_kib.unwrap_or_default(),
        unit: "MiB",
        scale: 1024.0,
    };

    /// The time of one iteration of a bench, in nanoseconds. A sample is the time of 1000 iterations.
    const ITERATION: Self = Self {
        of: |run| run.wall_ns,
        unit: "ns",
        scale: ITERATIONS,
    };
    /// The time of one iteration of a bench, in milliseconds.
    const LONG_ITERATION: Self = Self {
        unit: "ms",
        scale: 1e6 * ITERATIONS,
        ..Self::ITERATION
    };
}

/// The logarithms of two ratios in one round: candidate to baseline, and control to baseline.
struct Pair {
    candidate: f64,
    control: f64,
}

impl Row {
    /// Evaluates the wall-clock times of one workload on one instruction set, those of an iteration where the workload is a bench, in
    /// a unit that fits them. Fails without samples, and where a round lacks a side.
    pub fn new(runs: &[Run]) -> Result<Self> {
        const LONG: f64 = 1e6;
        let is_bench = |run: &Run| run.workload.starts_with(BENCH);
        if !runs.first().is_some_and(is_bench) {
            return Self::of(runs, &Quantity::WALL);
        }
        let row = Self::of(runs, &Quantity::ITERATION)?;
        if row.baseline < LONG {
            return Ok(row);
        }
        Self::of(runs, &Quantity::LONG_ITERATION)
    }

    /// Evaluates another quantity of the samples than [`Self::new`] does. Fails also where the quantity is zero in a sample.
    pub fn of(runs: &[Run], quantity: &Quantity) -> Result<Self> {
        let Quantity { of, unit, scale } = *quantity;
        let first = runs.first().context("a row without samples")?;
        let rounds = calm_rounds(runs);
        let candidate = Ratio::from_logs(&logs(runs, of, |pair| pair.candidate)?);
        let control = Ratio::from_logs(&logs(runs, of, |pair| pair.control)?);
        let typical = |side: fn(Side) -> bool| {
            let runs = rounds.values().flatten().filter(|run| side(run.side));
            median(&mut runs.map(|run| of(run) as f64 / scale).collect::<Vec<_>>())
        };
        Ok(Self {
            workload: first.workload.clone(),
            isa: first.isa.clone(),
            unit: unit.into(),
            baseline: round4(typical(|side| side != Side::Candidate)),
            candidate: round4(typical(|side| side == Side::Candidate)),
            ratio: round4(candidate.value),
            ci95: [round4(candidate.low), round4(candidate.high)],
            aa_ratio: round4(control.value),
            aa_ci95: [round4(control.low), round4(control.high)],
            pairs: rounds.len(),
            memory_ratio: memory_ratio(runs),
            hashing: Hashing::new(runs)?,
            outputs_equal: Some(true),
            verdict: candidate.verdict(&control),
        })
    }

    /// Checks that no figure contradicts another one; an error names the figure.
    pub(crate) fn check(&self) -> Result<(), String> {
        let holds = |Ratio { value, low, high }: Ratio| low <= value && value <= high;
        let [effect, control] = [self.effect(), self.control()];
        let figures = [effect, control].map(|Ratio { value, low, high }| [value, low, high]);
        let is_span = self.workload.starts_with(SPAN);
        let most = match &*self.unit {
            "ms" => LONGEST_NS as f64 / 1e6,
            "ns" => LONGEST_NS as f64,
            _ => MOST_KIB as f64 / 1024.0,
        };
        // A short time may be rounded to zero.
        let is_time = |time: f64| (0.0..=most).contains(&time);
        // A span is compared with the run, so both have one unit.
        let units = match is_span || self.workload == format!("{RUN}wall") {
            true => &["ms"][..],
            false => &["ms", "ns", "MiB"],
        };
        let what = if self.outputs_equal == Some(false) {
            "the outputs differ, so that no times can be compared"
        } else if !figures.into_iter().flatten().all(is_ratio)
            || !self.memory_ratio.is_none_or(is_ratio)
        {
            "no ratio"
        } else if !is_time(self.baseline) || !is_time(self.candidate) {
            "no time"
        } else if !units.contains(&&*self.unit) {
            "not the unit in which it is measured"
        } else if !holds(effect) || !holds(control) {
            "a ratio outside of its interval"
        } else if !self.are_medians_near() {
            "the medians contradict the ratio"
        } else if self.pairs == 0 || self.pairs > MOST_PAIRS {
            "no pairs, or more than can be kept"
        } else if !self
            .hashing
            .is_none_or(|of| (0.0..=1.0).contains(&of.share) && is_ratio(of.ratio))
            || !self.has_room_for_hashing()
        {
            "more hashing than it took"
        } else if !self.follows(self.verdict) {
            "the verdict is not that of the figures"
        } else {
            return Ok(());
        };
        Err(format!("{}: {what}", self.workload))
    }

    /// Tells whether the ratio of the medians is near the interval, within a factor of 3. Medians are not paired, so they say no
    /// more.
    fn are_medians_near(&self) -> bool {
        const FACTOR: f64 = 3.0;
        let rounded = |time: f64| [(time - ROUNDED).max(0.0), time + ROUNDED];
        let [baseline, candidate] = [self.baseline, self.candidate].map(rounded);
        let [low, high] = self.ci95;
        candidate[1] * FACTOR >= baseline[0] * low && candidate[0] <= baseline[1] * high * FACTOR
    }

    /// Tells whether the candidate's hashing takes no longer than the candidate. Shares are medians, so 5 % more are allowed.
    fn has_room_for_hashing(&self) -> bool {
        const SLACK: f64 = 1.05;
        let [_, high] = self.ci95;
        self.hashing
            .is_none_or(|of| of.share * of.ratio <= high * SLACK)
    }

    /// Tells whether some figures that are rounded to these have the verdict.
    fn follows(&self, verdict: Verdict) -> bool {
        let widened = |Ratio { value, low, high }: Ratio, by: f64| {
            Ratio::new(value, [(low - by).max(f64::MIN_POSITIVE), high + by])
        };
        let [effect, control] = [self.effect(), self.control()];
        let given = |by| widened(effect, by).verdict(&widened(control, by));
        [-ROUNDED, 0.0, ROUNDED].map(given).contains(&verdict)
    }

    /// Returns the ratio of candidate to baseline.
    pub fn effect(&self) -> Ratio {
        Ratio::new(self.ratio, self.ci95)
    }

    /// Returns the ratio of the A/A control.
    pub fn control(&self) -> Ratio {
        Ratio::new(self.aa_ratio, self.aa_ci95)
    }

    /// Formats the ratio, its interval, the control, its interval and the number of pairs, as cells of a table.
    pub fn figures(&self) -> [String; 5] {
        let interval = |[low, high]: [f64; 2]| format!("{low:.3} {high:.3}");
        [
            format!("{:.3}", self.ratio),
            interval(self.ci95),
            format!("{:.3}", self.aa_ratio),
            interval(self.aa_ci95),
            self.pairs.to_string(),
        ]
    }

    /// Evaluates samples of a file as [`Self::all`] does, and checks each row; an error says which figure is wrong.
    pub fn read(runs: &[Run]) -> Result<Vec<Self>, String> {
        let rows = Self::all(runs).map_err(|error| format!("{error:#}"))?;
        rows.iter().try_for_each(Self::check)?;
        Ok(rows)
    }

    /// Evaluates samples of several workloads, one row for each run of samples with the same workload and instruction set. Fails
    /// as [`Self::new`] does.
    pub fn all(runs: &[Run]) -> Result<Vec<Self>> {
        by_row(runs).map(Self::new).collect()
    }
}

fn logs(runs: &[Run], time: fn(&Run) -> u64, log: fn(&Pair) -> f64) -> Result<Vec<Vec<f64>>> {
    let mut blocks: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for ((seed, round), runs) in &calm_rounds(runs) {
        let workload = &runs[0].workload;
        let pair = Pair::new(runs, time).with_context(|| format!("round {round} of {workload}"))?;
        blocks.entry(*seed).or_default().push(log(&pair));
    }
    Ok(blocks.into_values().collect())
}

/// Returns the number of inputs that a row's ratio is of: those with a round that is not left out.
pub(crate) fn inputs(runs: &[Run]) -> usize {
    let rounds = calm_rounds(runs).into_keys();
    rounds.map(|(seed, _)| seed).collect::<BTreeSet<_>>().len()
}

/// Groups the samples into rounds, by seed and number, and leaves out the rounds with a disturbed run.
///
/// All rounds stay where more than half are disturbed, or where only rounds of one seed would be left. Wall-clock time and CPU
/// time of a run decide whether it is disturbed, never a comparison with other runs, and a round is left out with both sides.
pub(crate) fn calm_rounds(runs: &[Run]) -> BTreeMap<(u64, usize), Vec<&Run>> {
    let mut rounds: BTreeMap<_, Vec<&Run>> = BTreeMap::new();
    for run in runs {
        rounds.entry((run.seed, run.round)).or_default().push(run);
    }
    let calm = |round: &Vec<&Run>| !round.iter().any(|run| run.disturbed());
    let kept = rounds.iter().filter(|(_, round)| calm(round));
    let kept: Vec<u64> = kept.map(|((seed, _), _)| *seed).collect();
    if 2 * kept.len() >= rounds.len() && kept.first() != kept.last() {
        rounds.retain(|_, round| calm(round));
    }
    rounds
}

impl Pair {
    fn new(round: &[&Run], time: fn(&Run) -> u64) -> Result<Self> {
        let mean = |sides: &[Side]| {
            let logs: Vec<f64> = round
                .iter()
                .filter(|run| sides.contains(&run.side))
                .map(|run| (time(run) as f64).ln())
                .collect();
            if logs.is_empty() {
                bail!("has no {sides:?} sample");
            }
            if logs.contains(&f64::NEG_INFINITY) {
                bail!("has a {sides:?} sample that took no time");
            }
            Ok(logs.iter().sum::<f64>() / logs.len() as f64)
        };
        Ok(Self {
            // The candidate's runs lie symmetrically between those of the baseline and the control, so a steady drift cancels.
            candidate: mean(&[Side::Candidate])? - mean(&[Side::Baseline, Side::Control])?,
            control: mean(&[Side::Control])? - mean(&[Side::Baseline])?,
        })
    }
}

/// The most pairs of a row. No machine keeps the samples of more.
const MOST_PAIRS: usize = 1_000_000_000;

/// Tells whether a ratio is one that a machine can measure. Another one would make a figure's scale too long, too.
pub fn is_ratio(ratio: f64) -> bool {
    (1e-6..=1e6).contains(&ratio)
}

/// The most by which [`round4`] changes a value.
const ROUNDED: f64 = 0.5e-4;

/// Rounds to four decimals: enough for any ratio or time that can be measured, and short enough to read in JSON.
pub fn round4(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// Returns the ratio of the largest memory of a candidate's process to that of a baseline's process.
fn memory_ratio(runs: &[Run]) -> Option<f64> {
    let [baseline, candidate] = memories(runs)?;
    Some(round4(candidate / baseline))
}

/// Tells whether the worker counted the bytes that were allocated. The resident memory, which older samples have, is that of the whole
/// process, its inputs among it.
pub fn counts_bytes(runs: &[Run]) -> bool {
    !runs.is_empty() && runs.iter().all(|run| run.live_bytes.is_some())
}

/// Returns the largest memory of a baseline's process and of a candidate's, in bytes: the bytes that were allocated at a time where all
/// samples have these, else the resident memory. Of [`LITTLE`] bytes and fewer there is none: a ratio of a few vectors misleads.
///
/// The candidate's process makes twice as many runs as one of the baseline's, and each run fragments the heap further. So only
/// the first half of its runs is compared.
pub(crate) fn memories(runs: &[Run]) -> Option<[f64; 2]> {
    const KIB: u64 = 1024;
    let counts_live = counts_bytes(runs);
    let mut runs_of = BTreeMap::new();
    for run in runs {
        let of_process: &mut Vec<_> = runs_of.entry((run.seed, run.side)).or_default();
        of_process.push(if counts_live {
            run.live_bytes
        } else {
            run.peak_kib.map(|kib| kib * KIB)
        }?);
    }
    let peak = |of: fn(Side) -> bool| {
        let of_side = runs_of.iter().filter(|((_, side), _)| of(*side));
        let peaks = of_side.flat_map(|(&(seed, _), peaks)| {
            let comparable = runs_of.get(&(seed, Side::Control)).map_or(0, Vec::len);
            peaks.iter().take(comparable)
        });
        peaks.max().map(|most| *most as f64)
    };
    let candidate = peak(|side| side == Side::Candidate)?;
    let baseline = peak(|side| side != Side::Candidate)?;
    let is_little = counts_live && baseline.max(candidate) <= LITTLE;
    (!is_little).then_some([baseline, candidate])
}

/// The bytes of a small cache.
const LITTLE: f64 = 32_768.0;
