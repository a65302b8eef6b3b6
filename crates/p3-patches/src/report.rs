//! Results: the rows of a comparison, as a table, JSON, CSV, a record in `benches/record` and the README's table.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use crate::error::Failure;
use crate::isa::Isa;
use crate::pairs::{Run, Side};
use crate::project::Project;
use crate::series::Series;
use crate::stats::{Ratio, Verdict, median};

/// What `--json` writes. Other programs read it: a change of meaning is a new `schema`.
#[derive(Serialize)]
pub struct Report {
    pub schema: u32,
    pub base: String,
    pub patches: Vec<String>,
    pub machine: Machine,
    pub rows: Vec<Row>,
}

/// Where and how the numbers were made.
#[derive(Clone, Serialize)]
pub struct Machine {
    pub cpu: String,
    pub cores: usize,
    pub rustc: String,
    pub rustflags: String,
}

/// One workload on one ISA.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub workload: String,
    pub isa: String,
    pub unit: &'static str,
    /// Median times.
    pub baseline: f64,
    pub candidate: f64,
    /// Candidate to baseline, paired.
    pub ratio: f64,
    pub ci95: [f64; 2],
    /// Baseline to baseline, paired in the same rounds.
    pub aa_ratio: f64,
    pub aa_ci95: [f64; 2],
    pub pairs: usize,
    /// Always true: a row whose outputs differ has no times and is never made.
    pub outputs_equal: bool,
    pub verdict: Verdict,
}

/// Candidate and control of one round against its baseline, as logarithms of ratios.
struct Pair {
    candidate: f64,
    control: f64,
}

impl Row {
    /// Evaluates the samples of one workload on one ISA.
    pub fn new(runs: &[Run]) -> Result<Self> {
        let first = runs.first().context("a row without samples")?;
        let rounds = calm_rounds(runs);
        let mut pairs: BTreeMap<u64, Vec<Pair>> = BTreeMap::new();
        for ((seed, round), runs) in &rounds {
            let pair =
                Pair::new(runs).with_context(|| format!("round {round} of {}", first.workload))?;
            pairs.entry(*seed).or_default().push(pair);
        }
        let ratio = |log: fn(&Pair) -> f64| {
            let blocks: Vec<Vec<f64>> = pairs
                .values()
                .map(|block| block.iter().map(log).collect())
                .collect();
            Ratio::from_logs(&blocks)
        };
        let candidate = ratio(|pair| pair.candidate);
        let control = ratio(|pair| pair.control);
        let milliseconds = |of: fn(Side) -> bool| {
            let runs = rounds.values().flatten().filter(|run| of(run.side));
            median(&mut runs.map(|run| run.wall_ns as f64 / 1e6).collect::<Vec<_>>())
        };
        Ok(Self {
            workload: first.workload.clone(),
            isa: first.isa.clone(),
            unit: "ms",
            baseline: round4(milliseconds(|side| side != Side::Candidate)),
            candidate: round4(milliseconds(|side| side == Side::Candidate)),
            ratio: round4(candidate.value),
            ci95: [round4(candidate.low), round4(candidate.high)],
            aa_ratio: round4(control.value),
            aa_ci95: [round4(control.low), round4(control.high)],
            pairs: rounds.len(),
            outputs_equal: true,
            verdict: candidate.verdict(&control),
        })
    }

    /// One row per workload and ISA, in the order of their first samples.
    pub fn all(runs: &[Run]) -> Result<Vec<Self>> {
        runs.chunk_by(|a, b| (&a.workload, &a.isa) == (&b.workload, &b.isa))
            .map(Self::new)
            .collect()
    }
}

/// The rounds, by seed and number, less those in which a run was disturbed, unless more than half were. The gate goes by
/// the scheduler's evidence, never by how a time compares with others, and drops both sides alike.
fn calm_rounds(runs: &[Run]) -> BTreeMap<(u64, usize), Vec<&Run>> {
    let mut rounds: BTreeMap<_, Vec<&Run>> = BTreeMap::new();
    for run in runs {
        rounds.entry((run.seed, run.round)).or_default().push(run);
    }
    let calm = |round: &Vec<&Run>| !round.iter().any(|run| run.disturbed());
    if 2 * rounds.values().filter(|round| calm(round)).count() >= rounds.len() {
        rounds.retain(|_, round| calm(round));
    }
    rounds
}

impl Pair {
    fn new(round: &[&Run]) -> Result<Self> {
        let mean = |sides: &[Side]| {
            let logs: Vec<f64> = round
                .iter()
                .filter(|run| sides.contains(&run.side))
                .map(|run| (run.wall_ns as f64).ln())
                .collect();
            if logs.is_empty() {
                bail!("has no {sides:?} sample");
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
fn round4(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// The rows as text: with rules between the columns on a terminal, plain where another program may read it.
pub fn table(rows: &[Row], terminal: bool) -> String {
    let mut table = Table::new();
    table.load_style(if terminal {
        presets::UTF8_HORIZONTAL_ONLY
    } else {
        presets::NOTHING
    });
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
        "verdict",
    ]);
    let interval = |[low, high]: [f64; 2]| format!("{low:.3} {high:.3}");
    for row in rows {
        table.add_row([
            row.workload.clone(),
            row.isa.clone(),
            format!("{:.3}", row.baseline),
            format!("{:.3}", row.candidate),
            format!("{:.3}", row.ratio),
            interval(row.ci95),
            format!("{:.3}", row.aa_ratio),
            interval(row.aa_ci95),
            row.pairs.to_string(),
            verdict_name(row.verdict).into(),
        ]);
    }
    for column in table.column_iter_mut().skip(2).take(7) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt()
}

fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::NoChange => "no change",
    }
}

/// Writes raw samples.
pub fn write_csv(path: &Path, runs: &[Run]) -> Result<()> {
    let unwritable = || format!("cannot write {}", path.display());
    let mut writer = csv::Writer::from_path(path).with_context(unwritable)?;
    for run in runs {
        writer.serialize(run).with_context(unwritable)?;
    }
    writer.flush().with_context(unwritable)
}

fn read_csv(path: &Path) -> Result<Vec<Run>> {
    let unreadable = || format!("cannot read {}", path.display());
    let mut reader = csv::Reader::from_path(path).with_context(unreadable)?;
    reader
        .deserialize()
        .collect::<Result<_, _>>()
        .with_context(unreadable)
}

/// Files the samples of one ISA as `benches/record/TRIPLE-ISA/DATE/NAME.csv` with `machine.txt` beside.
pub fn record(project: &Project, triple: &str, report: &Report, runs: &[Run]) -> Result<()> {
    let date = humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string();
    for runs in runs.chunk_by(|a, b| a.isa == b.isa) {
        let isa = &runs[0].isa;
        let dir = project
            .record_dir()
            .join(format!("{triple}-{isa}"))
            .join(&date[..10]);
        fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
        write_csv(&dir.join(format!("{}.csv", report.patches.join("+"))), runs)?;
        let Machine {
            cpu, cores, rustc, ..
        } = &report.machine;
        let rustflags = Isa::from_str(isa, false).map_or("", Isa::rustflags);
        let facts = format!(
            "base: {}\ncpu: {cpu}\ncores: {cores}\nrustc: {rustc}\nrustflags: {rustflags}\n",
            report.base
        );
        let path = dir.join("machine.txt");
        fs::write(&path, facts).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// The newest recorded comparison of one patch on one kind of machine.
pub struct Record {
    /// Below the project's root, with `/` between the parts.
    pub dir: String,
    pub rows: Vec<Row>,
}

/// The newest record of `name` for each TRIPLE-ISA, evaluated anew from its raw samples.
pub fn records(project: &Project, name: &str) -> Result<Vec<Record>> {
    let root = project.record_dir();
    let mut records = Vec::new();
    for machine in folders(&root)? {
        for date in folders(&root.join(&machine))?.into_iter().rev() {
            let csv = root.join(&machine).join(&date).join(format!("{name}.csv"));
            if csv.is_file() {
                let rows = Row::all(&read_csv(&csv)?).with_context(|| csv.display().to_string())?;
                records.push(Record {
                    dir: format!("benches/record/{machine}/{date}"),
                    rows,
                });
                break;
            }
        }
    }
    Ok(records)
}

/// All rows of [`records`].
pub fn recorded_effect(project: &Project, name: &str) -> Result<Vec<Row>> {
    let records = records(project, name)?;
    Ok(records.into_iter().flat_map(|record| record.rows).collect())
}

/// Names of the folders in `dir`, sorted; none where there is no such folder.
fn folders(dir: &Path) -> Result<Vec<String>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", dir.display())),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read {}", dir.display()))?;
        if entry.file_type()?.is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// The workloads that the README shows: what a prover does. Bare permutations are in the records.
const SHOWN: [&str; 4] = [
    "merkle-commit/",
    "merkle-commit-2t/",
    "fri-commit/",
    "stark-prove/",
];

impl Record {
    /// A column's title for readers elsewhere.
    pub fn isa(&self) -> String {
        self.rows
            .first()
            .map_or_else(String::new, |row| row.isa.clone())
    }

    /// A column's title for readers of this repository: it leads to the samples.
    pub fn link(&self) -> String {
        format!("[{}]({})", self.isa(), self.dir)
    }
}

/// The rows of one patch as Markdown: a line per workload, a column per kind of machine.
pub fn markdown(records: &[Record], title: fn(&Record) -> String) -> String {
    let mut workloads: Vec<&str> = Vec::new();
    for row in records.iter().flat_map(|record| &record.rows) {
        let shown = SHOWN
            .iter()
            .any(|workload| row.workload.starts_with(workload));
        if shown && !workloads.contains(&row.workload.as_str()) {
            workloads.push(&row.workload);
        }
    }
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    let titles = records.iter().map(title);
    table.set_header(std::iter::once("time with / without".into()).chain(titles));
    for workload in workloads {
        let cells = records.iter().map(|record| {
            let row = record.rows.iter().find(|row| row.workload == workload);
            row.map_or_else(String::new, markdown_cell)
        });
        table.add_row(std::iter::once(format!("`{workload}`")).chain(cells));
    }
    table.to_string() + "\n"
}

fn markdown_cell(row: &Row) -> String {
    let [low, high] = row.ci95;
    let ratio = format!("{:.3} ({low:.3} to {high:.3})", row.ratio);
    match row.verdict {
        Verdict::Faster => format!("**{ratio}**"),
        Verdict::Slower => format!("{ratio}, slower"),
        Verdict::NoChange => format!("{ratio}, no change"),
    }
}

const BEGIN: &str = "<!-- p3:effects:begin, written by `cargo p3 list --readme` -->\n";
const END: &str = "<!-- p3:effects:end -->";

/// The README as it is, and as it should be by the records.
pub struct Readme {
    path: PathBuf,
    text: String,
    expected: String,
}

impl Readme {
    pub fn load(project: &Project) -> Result<Self> {
        let path = project.root.join("README.md");
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let (before, rest) = text.split_once(BEGIN).ok_or_else(|| {
            Failure::input(format!("{}: no line {}", path.display(), BEGIN.trim()))
        })?;
        let (_, after) = rest
            .split_once(END)
            .ok_or_else(|| Failure::input(format!("{}: no line {END}", path.display())))?;
        let mut expected = format!("{before}{BEGIN}");
        for name in Series::load(project)?.names() {
            let records = records(project, name)?;
            write!(expected, "\n### {name}\n\n")?;
            if records.is_empty() {
                expected.push_str("Not measured yet.\n");
            } else {
                expected.push_str(&markdown(&records, Record::link));
            }
        }
        write!(expected, "\n{END}{after}")?;
        Ok(Self {
            path,
            text,
            expected,
        })
    }

    /// Fails where the table is not what the records say.
    pub fn check(&self) -> Result<()> {
        if self.text == self.expected {
            return Ok(());
        }
        let path = self.path.display();
        Err(Failure::check(format!(
            "{path}: the table of effects is not what benches/record says"
        ))
        .hint("`cargo p3 list --readme` writes it")
        .into())
    }

    /// Writes the table.
    pub fn write(&self) -> Result<()> {
        fs::write(&self.path, &self.expected)
            .with_context(|| format!("cannot write {}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five seeds of two rounds: a baseline of 10 ms that drifts by 1 % per run, and a candidate `ratio` times that.
    fn runs(ratio: f64) -> Vec<Run> {
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
                });
            }
        }
        runs
    }

    #[test]
    fn a_steady_drift_cancels() {
        let row = Row::new(&runs(0.8)).unwrap();
        assert_eq!((row.ratio, row.ci95, row.pairs), (0.8, [0.8, 0.8], 10));
        assert_eq!(row.aa_ratio, 1.0303);
        assert_eq!(row.verdict, Verdict::Faster);
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
        write_csv(&path, &runs).unwrap();
        assert_eq!(read_csv(&path).unwrap(), runs);
    }

    #[test]
    fn records_are_found_by_the_newest_date_and_shown() {
        let dir = tempfile::tempdir().unwrap();
        let project = Project {
            root: dir.path().to_owned(),
        };
        for (date, ratio) in [("2026-01-02", 0.5), ("2026-11-01", 0.75)] {
            let folder = project.record_dir().join("triple-x86-64-v3").join(date);
            fs::create_dir_all(&folder).unwrap();
            write_csv(&folder.join("quick-sponge.csv"), &runs(ratio)).unwrap();
        }
        let rows = recorded_effect(&project, "quick-sponge").unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].ratio, 0.75);
        assert!(recorded_effect(&project, "other").unwrap().is_empty());

        fs::create_dir(dir.path().join("patches")).unwrap();
        fs::write(dir.path().join("patches/series"), "quick-sponge\n").unwrap();
        let path = dir.path().join("README.md");
        fs::write(&path, format!("# Title\n\n{BEGIN}stale\n{END}\n\nRest.\n")).unwrap();
        assert!(Readme::load(&project).unwrap().check().is_err());
        Readme::load(&project).unwrap().write().unwrap();
        Readme::load(&project).unwrap().check().unwrap();
        insta::assert_snapshot!(fs::read_to_string(&path).unwrap());
    }
}
