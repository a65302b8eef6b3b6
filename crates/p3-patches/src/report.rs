//! Results: the rows of a comparison, as a table, JSON and CSV.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use comfy_table::{CellAlignment, Table, presets};
use serde::{Deserialize, Serialize};

use crate::error::Failure;
use crate::pairs::{Run, Side};
use crate::replace;
use crate::stats::{Ratio, Verdict, median};
use crate::tree;

/// The output of `--json`. Other programs read it: a change of meaning is a new `schema`.
#[derive(Clone, Deserialize, Serialize)]
pub struct Report {
    pub schema: u32,
    /// As it was typed. Older reports have none.
    #[serde(default)]
    pub command: String,
    pub base: String,
    /// The patches that the baseline has, too; none where that is the release as published.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baseline_patches: Vec<String>,
    /// The candidate's.
    pub patches: Vec<String>,
    /// Whether the candidate got the patches and then had them reversed.
    #[serde(default)]
    pub reverted: bool,
    pub machine: Machine,
    pub rows: Vec<Row>,
}

/// The patches that are not `below`, which a comparison is about.
pub fn own<'a>(patches: &'a [String], below: &[String]) -> Vec<&'a str> {
    let own = patches.iter().filter(|name| !below.contains(name));
    own.map(String::as_str).collect()
}

/// Where and how the numbers were made.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Machine {
    pub cpu: String,
    pub cores: usize,
    pub rustc: String,
    pub rustflags: String,
}

/// One workload on one ISA.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Row {
    pub workload: String,
    pub isa: String,
    pub unit: String,
    /// Medians.
    pub baseline: f64,
    pub candidate: f64,
    /// Candidate to baseline, paired.
    pub ratio: f64,
    pub ci95: [f64; 2],
    /// Baseline to baseline, paired in the same rounds.
    pub aa_ratio: f64,
    pub aa_ci95: [f64; 2],
    pub pairs: usize,
    /// Candidate to baseline: the most memory that any of their processes had resident after as many runs, where the
    /// system tells.
    pub memory_ratio: Option<f64>,
    /// The share of hashing, where the samples tell and there is any.
    #[serde(default)]
    pub hashing: Option<Hashing>,
    /// Always true: a row whose outputs differ has no times and is never made.
    pub outputs_equal: bool,
    pub verdict: Verdict,
}

/// The part of a workload in which Merkle trees are built.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Hashing {
    /// Of the baseline's time.
    pub share: f64,
    /// Candidate to baseline, paired.
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
    /// How much of it is one unit.
    scale: f64,
}

impl Quantity {
    pub const WALL: Self = Self {
        of: |run| run.wall_ns,
        unit: "ms",
        scale: 1e6,
    };
    pub const CPU: Self = Self {
        of: |run| run.cpu_ns,
        unit: "ms",
        scale: 1e6,
    };
    pub const MEMORY: Self = Self {
        of: |run| run.peak_kib.unwrap_or_default(),
        unit: "MiB",
        scale: 1024.0,
    };
}

/// Candidate and control of one round against its baseline, as logarithms of ratios.
struct Pair {
    candidate: f64,
    control: f64,
}

impl Row {
    /// Evaluates the samples of one workload on one ISA.
    pub fn new(runs: &[Run]) -> Result<Self> {
        Self::of(runs, &Quantity::WALL)
    }

    /// As [`Self::new`], for another quantity than wall time.
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
            outputs_equal: true,
            verdict: candidate.verdict(&control),
        })
    }

    pub fn effect(&self) -> Ratio {
        let [low, high] = self.ci95;
        Ratio {
            value: self.ratio,
            low,
            high,
        }
    }

    pub fn control(&self) -> Ratio {
        let [low, high] = self.aa_ci95;
        Ratio {
            value: self.aa_ratio,
            low,
            high,
        }
    }

    /// The ratio, the control and how many pairs they are from, as a table has them.
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

    /// One row per workload and ISA, in the order of their first samples.
    pub fn all(runs: &[Run]) -> Result<Vec<Self>> {
        runs.chunk_by(|a, b| (&a.workload, &a.isa) == (&b.workload, &b.isa))
            .map(Self::new)
            .collect()
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

/// The rounds, by seed and number, less those in which a run was disturbed, unless more than half were or those of one seed
/// would be left. The gate goes by the scheduler's evidence, never by how a time compares with others, and drops both sides
/// alike.
pub fn calm_rounds(runs: &[Run]) -> BTreeMap<(u64, usize), Vec<&Run>> {
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
            // The candidate's runs lie symmetrically between the two of the baseline, so a steady drift cancels.
            candidate: mean(&[Side::Candidate])? - mean(&[Side::Baseline, Side::Control])?,
            control: mean(&[Side::Control])? - mean(&[Side::Baseline])?,
        })
    }
}

/// Enough for any ratio or time that can be measured, and short enough to read in the JSON.
pub fn round4(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// A table with rules between the columns on a terminal, plain where another program may read it.
pub fn empty_table(terminal: bool) -> Table {
    let mut table = Table::new();
    table.load_style(if terminal {
        presets::UTF8_HORIZONTAL_ONLY
    } else {
        presets::NOTHING
    });
    table
}

/// The candidate's process makes two runs where one of the baseline's makes one, and what a run leaves of the heap in
/// pieces adds to the next: its later half is not comparable.
fn memory_ratio(runs: &[Run]) -> Option<f64> {
    let mut runs_of = BTreeMap::new();
    for run in runs {
        let of_process: &mut Vec<_> = runs_of.entry((run.seed, run.side)).or_default();
        of_process.push(run.peak_kib?);
    }
    let peak = |of: fn(Side) -> bool| {
        let of_side = runs_of.iter().filter(|((_, side), _)| of(*side));
        let peaks = of_side.flat_map(|(&(seed, _), peaks)| {
            let comparable = runs_of.get(&(seed, Side::Control)).map_or(0, Vec::len);
            peaks.iter().take(comparable)
        });
        peaks.max().map(|kib| *kib as f64)
    };
    let candidate = peak(|side| side == Side::Candidate)?;
    let baseline = peak(|side| side != Side::Candidate)?;
    Some(round4(candidate / baseline))
}

/// The rows as text.
pub fn table(rows: &[Row], terminal: bool) -> String {
    let mut table = empty_table(terminal);
    table.set_header([
        "workload",
        "isa",
        "baseline ms",
        "candidate ms",
        "ratio",
        "95 %",
        "A/A",
        "A/A 95 %",
        "pairs",
        "memory",
        "verdict",
    ]);
    for row in rows {
        let [ratio, interval, control, control_interval, pairs] = row.figures();
        table.add_row([
            row.workload.clone(),
            row.isa.clone(),
            format!("{:.3}", row.baseline),
            format!("{:.3}", row.candidate),
            ratio,
            interval,
            control,
            control_interval,
            pairs,
            row.memory_ratio
                .map_or_else(|| "-".into(), |ratio| format!("{ratio:.3}")),
            verdict_name(row.verdict).into(),
        ]);
    }
    for column in table.column_iter_mut().skip(2).take(8) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt()
}

pub fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::NoChange => "no change",
    }
}

/// Refuses a file whose folder is missing: better than after an hour of measuring.
pub fn check_folder(path: &Path) -> Result<(), Failure> {
    match path.parent() {
        Some(folder) if folder != Path::new("") && !folder.is_dir() => {
            let folder = folder.display();
            Err(Failure::environment(format!("{folder}: no such folder")))
        }
        _ => Ok(()),
    }
}

/// Writes what `--json` asks for, and raw samples beside it.
pub fn write(path: &Path, report: &impl Serialize, runs: Option<&[Run]>) -> Result<()> {
    let mut files = vec![(path.to_owned(), tree::json(report))];
    if let Some(runs) = runs {
        files.push((path.with_extension("csv"), csv(runs)?));
    }
    replace::files(&files)
}

impl Report {
    pub const SCHEMA: u32 = 1;

    /// Reads what `ab --json` wrote.
    pub fn read(path: &Path) -> Result<Self> {
        let refused = |why: String| Failure::input(format!("{}: {why}", path.display()));
        let text = fs::read(path).map_err(|error| refused(error.to_string()))?;
        let report: Self = serde_json::from_slice(&text).map_err(|error| {
            refused(error.to_string()).hint("`cargo p3 ab --json FILE` writes such a file")
        })?;
        if report.schema != Self::SCHEMA {
            return Err(refused(format!("schema {}", report.schema))
                .hint(format!("this tool reads schema {}", Self::SCHEMA))
                .into());
        }
        for row in &report.rows {
            let figures = [row.ratio, row.aa_ratio].into_iter();
            let mut figures = figures.chain(row.ci95).chain(row.aa_ci95);
            // What no machine measures would have scales without end.
            if !figures.all(|ratio| (1e-6..=1e6).contains(&ratio)) {
                return Err(refused(format!("{}: no ratio", row.workload)).into());
            }
        }
        Ok(report)
    }
}

/// Raw samples as a file has them.
pub fn csv(runs: &[Run]) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for run in runs {
        writer.serialize(run)?;
    }
    Ok(writer.into_inner()?)
}

/// Reads what [`csv`] has written, below comments or without.
pub fn parse_csv(text: &str) -> Result<Vec<Run>> {
    let mut reader = csv::ReaderBuilder::new();
    let mut reader = reader.comment(Some(b'#')).from_reader(text.as_bytes());
    Ok(reader.deserialize().collect::<Result<_, _>>()?)
}

/// Reads a file of samples.
pub fn read_csv(path: &Path) -> Result<Vec<Run>> {
    let unreadable = || format!("cannot read {}", path.display());
    parse_csv(&fs::read_to_string(path).with_context(unreadable)?).with_context(unreadable)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Five seeds of two rounds: a baseline of 10 ms that drifts by 1 % per run, and a candidate `ratio` times that.
    pub fn runs(ratio: f64) -> Vec<Run> {
        let mut runs = Vec::new();
        let mut clock = 1e7;
        for round in 0..10 {
            for side in [
                Side::Baseline,
                Side::Candidate,
                Side::Candidate,
                Side::Control,
            ] {
                clock *= 1.01;
                let wall = if side == Side::Candidate {
                    clock * ratio
                } else {
                    clock
                };
                runs.push(Run {
                    workload: "merkle-commit/x/2^4".into(),
                    isa: "x86-64-v3".into(),
                    threads: 1,
                    seed: round as u64 / 2,
                    round,
                    side,
                    wall_ns: wall as u64,
                    cpu_ns: wall as u64,
                    peak_kib: None,
                    hashing_ns: None,
                });
            }
        }
        runs
    }

    /// A report of `runs` with the patches `a` and `b`, on a CPU of this name.
    pub fn report(cpu: &str, runs: &[Run]) -> Report {
        Report {
            schema: Report::SCHEMA,
            command: "cargo p3 ab a".into(),
            base: "0.8.0".into(),
            baseline_patches: Vec::new(),
            patches: vec!["a".into(), "b".into()],
            reverted: false,
            machine: Machine {
                cpu: cpu.into(),
                cores: 2,
                rustc: "rustc 1.95.0".into(),
                rustflags: String::new(),
            },
            rows: Row::all(runs).unwrap(),
        }
    }

    #[test]
    fn a_steady_drift_cancels() {
        let row = Row::new(&runs(0.8)).unwrap();
        assert_eq!((row.ratio, row.ci95, row.pairs), (0.8, [0.8, 0.8], 10));
        assert_eq!(row.aa_ratio, 1.0303);
        assert_eq!(row.verdict, Verdict::Faster);
    }

    #[test]
    fn the_largest_process_of_each_side_is_its_memory() {
        let mut runs = runs(0.8);
        assert_eq!(Row::new(&runs).unwrap().memory_ratio, None);
        for (run, kib) in runs.iter_mut().zip(1000..) {
            let candidate = u64::from(run.side == Side::Candidate);
            run.peak_kib = Some(kib + 500 * candidate);
        }
        // Two rounds are a seed. The candidate's first two runs in the last seed are those of its first round, runs 33 and 34.
        let memory = Row::new(&runs).unwrap().memory_ratio;
        assert_eq!(memory, Some(round4(1534.0 / 1039.0)));
    }

    #[test]
    fn a_round_without_a_control_is_no_evidence() {
        let mut runs = runs(0.8);
        runs.pop();
        let error = Row::new(&runs).unwrap_err();
        assert!(format!("{error:#}").contains("round 9"), "{error:#}");
    }

    #[test]
    fn rounds_that_shared_their_core_are_left_out_while_they_are_few() {
        let disturb = |runs: &mut [Run]| runs.iter_mut().for_each(|run| run.wall_ns *= 3);
        let mut runs = runs(0.8);
        // The candidate's runs of round 0, then of all rounds up to 4, then one more.
        disturb(&mut runs[1..3]);
        assert_eq!(Row::new(&runs).unwrap().pairs, 9);
        for round in 1..5 {
            disturb(&mut runs[4 * round + 1..4 * round + 3]);
        }
        let row = Row::new(&runs).unwrap();
        assert_eq!((row.pairs, row.ratio), (5, 0.8));
        disturb(&mut runs[21..23]);
        assert_eq!(Row::new(&runs).unwrap().pairs, 10);
    }

    #[test]
    fn samples_survive_the_csv() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("samples.csv");
        let runs = runs(0.9);
        fs::write(&path, csv(&runs).unwrap()).unwrap();
        assert_eq!(read_csv(&path).unwrap(), runs);
    }
}
