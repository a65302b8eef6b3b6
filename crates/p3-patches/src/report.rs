//! Results: the rows of a comparison, as a table, JSON, CSV, a record in `benches/record` and the README's table.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use comfy_table::{CellAlignment, Table, presets};
use serde::{Deserialize, Serialize};

use crate::error::Failure;
use crate::isa::Isa;
use crate::pairs::{Run, Side};
use crate::patch::Patch;
use crate::project::Project;
use crate::series::{Entry, Series};
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
    /// Candidate to baseline: the most memory that any of their processes had resident, where the system tells.
    pub memory_ratio: Option<f64>,
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
        let candidate = Ratio::from_logs(&logs(runs, |pair| pair.candidate)?);
        let control = Ratio::from_logs(&logs(runs, |pair| pair.control)?);
        let milliseconds = |of: fn(Side) -> bool| {
            let runs = rounds.values().flatten().filter(|run| of(run.side));
            median(&mut runs.map(|run| run.wall_ns as f64 / 1e6).collect::<Vec<_>>())
        };
        let peak = |of: fn(Side) -> bool| {
            let runs = runs.iter().filter(|run| of(run.side));
            runs.filter_map(|run| run.peak_kib)
                .max()
                .map(|kib| kib as f64)
        };
        let memory_ratio = peak(|side| side == Side::Candidate)
            .zip(peak(|side| side != Side::Candidate))
            .map(|(candidate, baseline)| round4(candidate / baseline));
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
            memory_ratio,
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

    /// One row per workload and ISA, in the order of their first samples.
    pub fn all(runs: &[Run]) -> Result<Vec<Self>> {
        runs.chunk_by(|a, b| (&a.workload, &a.isa) == (&b.workload, &b.isa))
            .map(Self::new)
            .collect()
    }
}

/// A row's paired log-ratios of candidate and baseline, a block for each seed.
pub fn candidate_logs(runs: &[Run]) -> Result<Vec<Vec<f64>>> {
    logs(runs, |pair| pair.candidate)
}

fn logs(runs: &[Run], log: fn(&Pair) -> f64) -> Result<Vec<Vec<f64>>> {
    let mut blocks: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for ((seed, round), runs) in &calm_rounds(runs) {
        let workload = &runs[0].workload;
        let pair = Pair::new(runs).with_context(|| format!("round {round} of {workload}"))?;
        blocks.entry(*seed).or_default().push(log(&pair));
    }
    Ok(blocks.into_values().collect())
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
pub fn round4(value: f64) -> f64 {
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
        "memory",
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

fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::NoChange => "no change",
    }
}

/// Writes what `--json` asks for.
pub fn write_json(path: &Path, report: &impl Serialize) -> Result<()> {
    let json = serde_json::to_string_pretty(report)?;
    fs::write(path, json + "\n").with_context(|| format!("cannot write {}", path.display()))
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

/// Files the samples of each ISA as `benches/record/BASE/TRIPLE-ISA/DATE-CPU/NAME.csv` with `machine.txt` beside. A patch
/// that stacks on others is measured with them and filed under its own name; several are joined by `+`; none are the whole
/// [`SERIES`].
pub fn record(
    project: &Project,
    triple: &str,
    asked: &[String],
    report: &Report,
    runs: &[Run],
) -> Result<()> {
    let Machine {
        cpu, cores, rustc, ..
    } = &report.machine;
    let date = humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string();
    for runs in runs.chunk_by(|a, b| a.isa == b.isa) {
        let isa = &runs[0].isa;
        let dir = project
            .record_dir()
            .join(&report.base)
            .join(format!("{triple}-{isa}"))
            .join(format!("{}-{}", &date[..10], file_name(cpu)));
        fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
        let name = if asked.is_empty() {
            SERIES.to_owned()
        } else {
            asked.join("+")
        };
        write_csv(&dir.join(format!("{name}.csv")), runs)?;
        let rustflags = Isa::from_str(isa, false).map_or("", Isa::rustflags);
        let facts = format!("{CPU}{cpu}\ncores: {cores}\nrustc: {rustc}\nrustflags: {rustflags}\n");
        let path = dir.join(MACHINE);
        fs::write(&path, facts).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Under which all patches together are filed.
const SERIES: &str = "series";

const MACHINE: &str = "machine.txt";
const CPU: &str = "cpu: ";

/// A CPU's name as part of a file's: `AMD EPYC (family 25)` is `amd-epyc-family-25`.
fn file_name(cpu: &str) -> String {
    let plain = cpu.replace("(R)", "").replace("(TM)", "").to_lowercase();
    let words = plain.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("-")
}

/// A recorded `count`, as far as it is shown.
#[derive(Deserialize)]
pub struct Counts {
    emulated_cpu: String,
    rustflags: String,
    units: Vec<CountedUnit>,
}

#[derive(Deserialize)]
struct CountedUnit {
    unit: String,
    baseline: Counted,
    candidate: Counted,
}

#[derive(Deserialize)]
struct Counted {
    instructions: u64,
    /// By core.
    model_cycles: BTreeMap<String, u64>,
}

/// The newest counts of `name` on `base` for each TRIPLE-ISA, and the path of their file below the project's root.
pub fn counts(project: &Project, base: &str, name: &str) -> Result<Vec<(String, Counts)>> {
    let root = project.record_dir().join(base);
    let mut counts = Vec::new();
    for machine in folders(&root)? {
        for run in folders(&root.join(&machine))?.into_iter().rev() {
            let path = root.join(&machine).join(&run).join(format!("{name}.json"));
            let Ok(json) = fs::read(&path) else { continue };
            let read = serde_json::from_slice(&json);
            let shown = format!("benches/record/{base}/{machine}/{run}/{name}.json");
            counts.push((
                shown,
                read.with_context(|| format!("cannot read {}", path.display()))?,
            ));
            break;
        }
    }
    Ok(counts)
}

impl Counts {
    /// Ratios as Markdown: a line per unit, a column for instructions and for each core's model.
    pub fn markdown(&self) -> String {
        let ratio =
            |candidate: u64, baseline: u64| format!("{:.3}", candidate as f64 / baseline as f64);
        let cores: BTreeSet<&str> = (self.units.iter())
            .flat_map(|unit| unit.baseline.model_cycles.keys().map(String::as_str))
            .collect();
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        let models = cores.iter().map(|core| format!("cycles, {core} model"));
        let head = ["with / without".to_owned(), "instructions".to_owned()];
        table.set_header(head.into_iter().chain(models));
        for unit in &self.units {
            let (candidate, baseline) = (&unit.candidate, &unit.baseline);
            let cycles = cores.iter().map(|core| {
                let cycles = |counted: &Counted| counted.model_cycles.get(*core).copied();
                let both = cycles(candidate).zip(cycles(baseline));
                both.map_or_else(String::new, |(candidate, baseline)| {
                    ratio(candidate, baseline)
                })
            });
            let head = [
                format!("`{}`", unit.unit),
                ratio(candidate.instructions, baseline.instructions),
            ];
            table.add_row(head.into_iter().chain(cycles));
        }
        format!(
            "Executed by an emulated {}, `{}`; cycles are llvm-mca's models, nothing was timed.\n\n{table}\n",
            self.emulated_cpu, self.rustflags
        )
    }
}

/// The newest recorded comparison of one patch on one CPU with one ISA.
#[derive(Serialize)]
pub struct Record {
    /// Below the project's root, with `/` between the parts.
    dir: String,
    cpu: String,
    pub rows: Vec<Row>,
}

/// The newest record of `name` on `base` for each TRIPLE-ISA and CPU, evaluated anew from its raw samples.
pub fn records(project: &Project, base: &str, name: &str) -> Result<Vec<Record>> {
    let root = project.record_dir().join(base);
    let mut records: Vec<Record> = Vec::new();
    for machine in folders(&root)? {
        let mut cpus = BTreeSet::new();
        for run in folders(&root.join(&machine))?.into_iter().rev() {
            let folder = root.join(&machine).join(&run);
            let csv = folder.join(format!("{name}.csv"));
            if !csv.is_file() {
                continue;
            }
            let facts = folder.join(MACHINE);
            let unreadable = || format!("cannot read {}", facts.display());
            let facts = fs::read_to_string(&facts).with_context(unreadable)?;
            let cpu = facts.lines().find_map(|line| line.strip_prefix(CPU));
            let cpu = cpu.with_context(|| format!("{}: no `{CPU}`", folder.display()))?;
            if cpus.insert(cpu.to_owned()) {
                records.push(Record {
                    dir: format!("benches/record/{base}/{machine}/{run}"),
                    cpu: cpu.to_owned(),
                    rows: Row::all(&read_csv(&csv)?).with_context(|| csv.display().to_string())?,
                });
            }
        }
    }
    Ok(records)
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

/// The workloads that the README shows: what a prover does. Bare permutations and products are in the records.
const SHOWN: [&str; 6] = [
    "merkle-commit/",
    "merkle-commit-2t/",
    "fri-commit/",
    "sumcheck-prove/",
    "whir-prove/",
    "stark-prove/",
];

/// Who reads a table of effects.
#[derive(Clone, Copy, Eq, PartialEq)]
pub enum Reader {
    /// Of this repository: each ratio leads to its samples.
    Here,
    Elsewhere,
}

/// The records of one patch as Markdown: a line per workload and CPU, a column per ISA.
pub fn markdown(records: &[Record], reader: Reader) -> String {
    let mut lines: Vec<(&str, &str)> = Vec::new();
    let mut isas: Vec<&str> = Vec::new();
    for record in records {
        for Row { workload, isa, .. } in &record.rows {
            if !isas.contains(&isa.as_str()) {
                isas.push(isa);
            }
            let line = (workload.as_str(), record.cpu.as_str());
            if SHOWN.iter().any(|shown| workload.starts_with(shown)) && !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    // Lines of one workload side by side, workloads in the order of their first samples.
    let workloads: Vec<&str> = lines.iter().map(|(workload, _)| *workload).collect();
    lines.sort_by_key(|(workload, _)| workloads.iter().position(|known| known == workload));

    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["time with / without", "CPU"].iter().chain(&isas));
    for (workload, cpu) in lines {
        let cell = |isa: &&str| {
            let on_cpu = records.iter().filter(|record| record.cpu == cpu);
            let mut cells = on_cpu.flat_map(|record| {
                let rows = record.rows.iter();
                let rows = rows.filter(|row| row.workload == workload && row.isa == *isa);
                rows.map(|row| markdown_cell(row, &record.dir, reader))
            });
            cells.next().unwrap_or_default()
        };
        let head = [format!("`{workload}`"), cpu.to_owned()];
        table.add_row(head.into_iter().chain(isas.iter().map(cell)));
    }
    table.to_string() + "\n"
}

fn markdown_cell(row: &Row, dir: &str, reader: Reader) -> String {
    let [low, high] = row.ci95;
    let ratio = match reader {
        Reader::Here => format!("[{:.3}]({dir})", row.ratio),
        Reader::Elsewhere => format!("{:.3}", row.ratio),
    };
    let interval = format!("{low:.3} to {high:.3}");
    match row.verdict {
        Verdict::Faster => format!("**{ratio}** ({interval})"),
        Verdict::Slower => format!("{ratio} ({interval}), slower"),
        Verdict::NoChange => format!("{ratio} ({interval}), no change"),
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
        let series = Series::load(project)?;
        for base in series.bases.iter().rev().map(ToString::to_string) {
            let records = records(project, &base, SERIES)?;
            if !records.is_empty() {
                let table = markdown(&records, Reader::Here);
                write!(expected, "\n### All patches, Plonky3 {base}\n\n{table}")?;
            }
        }
        for Entry { name, needs } in &series.entries {
            let with = if needs.is_empty() {
                String::new()
            } else {
                format!(" with {}", needs.join(", "))
            };
            let bases = series.bases.iter().rev().map(ToString::to_string);
            let ported = bases.filter(|base| Patch::path(project, base, name).is_file());
            for (older, base) in ported.enumerate() {
                let (records, counts) = (
                    records(project, &base, name)?,
                    counts(project, &base, name)?,
                );
                let nothing = records.is_empty() && counts.is_empty();
                if older > 0 && nothing {
                    continue;
                }
                write!(expected, "\n### {name}{with}, Plonky3 {base}\n")?;
                if nothing {
                    expected.push_str("\nNot measured yet.\n");
                }
                if !records.is_empty() {
                    write!(expected, "\n{}", markdown(&records, Reader::Here))?;
                }
                for (file, counts) in counts {
                    write!(expected, "\n[Counts]({file}). {}", counts.markdown())?;
                }
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
                    peak_kib: None,
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
    fn the_largest_process_of_each_side_is_its_memory() {
        let mut runs = runs(0.8);
        assert_eq!(Row::new(&runs).unwrap().memory_ratio, None);
        for (run, kib) in runs.iter_mut().zip(1000..) {
            let candidate = u64::from(run.side == Side::Candidate);
            run.peak_kib = Some(kib + 500 * candidate);
        }
        // The last candidate is the 39th run.
        let memory = Row::new(&runs).unwrap().memory_ratio;
        assert_eq!(memory, Some(round4(1538.0 / 1039.0)));
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
    fn a_cpu_names_a_folder() {
        assert_eq!(
            file_name("AMD EPYC (family 25, model 17)"),
            "amd-epyc-family-25-model-17"
        );
        assert_eq!(
            file_name("Intel(R) Xeon(R) Processor @ 2.50GHz"),
            "intel-xeon-processor-2-50ghz"
        );
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
            patches: dir.path().join("patches"),
        };
        let file = |run: &str, name: &str, cpu: &str, ratio| {
            let folder = project.record_dir().join("0.8.0/triple-x86-64-v3");
            let folder = folder.join(run);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(MACHINE), format!("{CPU}{cpu}\ncores: 2\n")).unwrap();
            write_csv(&folder.join(name), &runs(ratio)).unwrap();
        };
        file("2026-01-02-narrow", "quick-sponge.csv", "Narrow", 0.5);
        file("2026-11-01-narrow", "quick-sponge.csv", "Narrow", 0.75);
        file("2026-10-01-wide", "quick-sponge.csv", "Wide", 1.25);
        file("2026-11-02-narrow", "series.csv", "Narrow", 0.25);
        let found = records(&project, "0.8.0", "quick-sponge").unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|record| (record.cpu.as_str(), record.rows.len(), record.rows[0].ratio))
            .collect();
        assert_eq!(found, [("Narrow", 1, 0.75), ("Wide", 1, 1.25)]);
        assert!(records(&project, "0.8.0", "other").unwrap().is_empty());
        assert!(
            records(&project, "0.7.0", "quick-sponge")
                .unwrap()
                .is_empty()
        );

        let counts = r#"{"schema": 1, "emulated_cpu": "cortex-a76", "rustflags": "-C opt", "units": [
            {"unit": "permute/x", "leaves": 1,
             "baseline": {"instructions": 1000, "model_cycles": {"neoverse-n1": 500}},
             "candidate": {"instructions": 900, "model_cycles": {"neoverse-n1": 400}}}]}"#;
        let folder = project
            .record_dir()
            .join("0.8.0/triple-neon/2026-11-01-qemu");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("quick-sponge.json"), counts).unwrap();

        fs::create_dir_all(dir.path().join("patches/0.8.0")).unwrap();
        fs::write(dir.path().join("patches/0.8.0/quick-sponge.patch"), "").unwrap();
        fs::write(dir.path().join("patches/0.8.0/base-layer.patch"), "").unwrap();
        let series = "base-layer\nquick-sponge needs: base-layer\n";
        fs::write(dir.path().join("patches/series"), series).unwrap();
        let path = dir.path().join("README.md");
        fs::write(&path, format!("# Title\n\n{BEGIN}stale\n{END}\n\nRest.\n")).unwrap();
        assert!(Readme::load(&project).unwrap().check().is_err());
        Readme::load(&project).unwrap().write().unwrap();
        Readme::load(&project).unwrap().check().unwrap();
        insta::assert_snapshot!(fs::read_to_string(&path).unwrap());
    }
}
