//! `inspect threads`: which spans of a run use several threads, and which leave them waiting, with patches and without.

use std::path::{Path, PathBuf};
use std::slice;

use anyhow::Result;
use indexmap::IndexMap;
use serde::Serialize;

use super::compared::{Compared, check_threads, named, no_row_is_parallel};
use super::inspected::{Inspected, SEED, TIMEOUT, Workload};
use super::memory::{ALL, path};
use crate::project::Project;
use p3_patches::commands::MOST_RUNS;
use paired::error::Failure;
use paired::run::protocol::{Busy, Kind, MOST_THREADS, RowInfo};
use paired::run::{pairs, threads};
use paired::show::report;
use paired::stats::ratio::median;
use paired::terminal::Progress;

/// Show which spans of a run use several threads, and which leave them waiting, with patches and without.
///
/// Runs each workload on one thread and on several, on each side, and gives the time of Plonky3's tracing spans, the median of some runs. A
/// span is without the spans inside of it. Its speed-up is the time on one thread divided by the time on several, and its threads are
/// the CPU time divided by the wall-clock time: threads that look for work count as busy. What is lost is the time on several threads,
/// times their number, less the time on one; spans stand in the order of what the candidate loses.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo p3 inspect threads --threads 2
  cargo p3 inspect threads tiled-dft --threads 16 --workload 'lde/koala-bear/2^16x256'
  cargo p3 inspect threads --isa x86-64-v3 --threads 8 --workload 'stark-prove/keccak-air' --json threads.json")]
pub struct Args {
    #[command(flatten)]
    compared: Compared,
    /// The number of threads, each on a core of its own.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=MOST_THREADS as i64))]
    threads: u16,
    /// Workloads to look at, by glob over their names; may be given several times [default: proofs of STARKs].
    #[arg(long, value_name = "GLOB")]
    workload: Vec<String>,
    /// Runs of each side and number of threads.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=MOST_RUNS))]
    runs: u64,
    /// Write the figures to FILE.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The spans of one side, each with the median of its times.
#[derive(Serialize)]
struct Sides {
    one: Vec<Busy>,
    several: Vec<Busy>,
}

/// The part of the baseline's time on one thread below which spans are shown as one.
const SMALL: f64 = 0.01;

pub fn run(args: &Args, project: &Project) -> Result<()> {
    let several = usize::from(args.threads);
    check_threads(several)?;
    let select = |rows: &[RowInfo]| selected(rows, args);
    let inspected = Inspected::new(&args.compared, project, args.json.as_deref(), select)?;
    let both = |executable: &Path, side, row: &RowInfo, bar: &Progress| {
        let on = |number| -> Result<Vec<Busy>> {
            let row = &threads::on(slice::from_ref(row), &[number])[0];
            let runs = pairs::watched(executable, side, row, SEED, args.runs as usize, TIMEOUT)?;
            bar.inc();
            Ok(medians(&runs))
        };
        Ok(Sides {
            one: on(1)?,
            several: on(several)?,
        })
    };
    let shown = |workload: &Workload<Sides>, terminal| shown(workload, several, terminal);
    inspected.report(Some(several), (2, "processes"), both, shown)
}

/// Returns the rows that patterns name, else the proofs of STARKs; of these the parallel ones.
fn selected(rows: &[RowInfo], args: &Args) -> Result<Vec<RowInfo>, Failure> {
    let rows = match args.workload.is_empty() {
        true => rows
            .iter()
            .filter(|row| row.kind == Kind::StarkProve)
            .cloned()
            .collect(),
        false => named(rows, &args.workload, |row, pattern| {
            row.kind != Kind::Equal || Kind::of(pattern) == row.kind
        })?,
    };
    let parallel: Vec<_> = rows.into_iter().filter(|row| row.parallel).collect();
    match parallel.is_empty() {
        true => Err(no_row_is_parallel()),
        false => Ok(parallel),
    }
}

/// Returns each span of some runs with the median of its times, in the order in which the runs enter them.
fn medians(runs: &[Vec<Busy>]) -> Vec<Busy> {
    let mut spans: IndexMap<&Vec<String>, [Vec<f64>; 2]> = IndexMap::new();
    for busy in runs.iter().flatten() {
        let [wall, cpu] = spans.entry(&busy.span).or_default();
        wall.push(busy.wall_ns as f64);
        cpu.push(busy.cpu_ns as f64);
    }
    let median_of = |(span, mut times): (&Vec<String>, [Vec<f64>; 2])| {
        let [wall_ns, cpu_ns] = times.each_mut().map(|times| median(times) as u64);
        Busy {
            span: span.clone(),
            wall_ns,
            cpu_ns,
        }
    };
    spans.into_iter().map(median_of).collect()
}

/// The times of one span or of several, in nanoseconds: of the baseline and of the candidate.
#[derive(Clone, Copy, Default)]
struct Times {
    one: [f64; 2],
    several: [f64; 2],
    /// The CPU time on several threads.
    cpu: [f64; 2],
}

impl Times {
    /// Returns what the candidate loses on so many threads.
    fn lost(&self, threads: usize) -> f64 {
        self.several[1] * threads as f64 - self.one[1]
    }

    fn add(&mut self, other: &Self) {
        for side in 0..2 {
            self.one[side] += other.one[side];
            self.several[side] += other.several[side];
            self.cpu[side] += other.cpu[side];
        }
    }

    /// Returns the cells of a line, as [`HEADS`] names them. A quotient by no time is left out.
    fn cells(&self, threads: usize) -> [String; 9] {
        let ms = |ns: f64| format!("{:.2}", ns / 1e6);
        let by = |a: f64, b: f64| match b > 0.0 {
            true => format!("{:.2}", a / b),
            false => String::new(),
        };
        let Self { one, several, cpu } = self;
        [
            ms(one[0]),
            ms(one[1]),
            ms(several[0]),
            ms(several[1]),
            by(one[0], several[0]),
            by(one[1], several[1]),
            by(cpu[0], several[0]),
            by(cpu[1], several[1]),
            ms(self.lost(threads)),
        ]
    }
}

/// The heads of [`Times::cells`], where the number of threads is left out.
const HEADS: [&str; 9] = [
    "ms on 1 without",
    "with",
    "on several without",
    "with",
    "speed-up without",
    "with",
    "threads without",
    "with",
    "lost with",
];

/// Returns what stands above the table, and the table: the spans by what the candidate loses.
fn shown(workload: &Workload<Sides>, threads: usize, terminal: bool) -> String {
    let mut spans: IndexMap<&[String], Times> = IndexMap::new();
    let sides = [&workload.baseline, &workload.candidate];
    for (side, sides) in sides.into_iter().enumerate() {
        for busy in &sides.one {
            spans.entry(&busy.span).or_default().one[side] = busy.wall_ns as f64;
        }
        for busy in &sides.several {
            let times = spans.entry(&busy.span).or_default();
            times.several[side] = busy.wall_ns as f64;
            times.cpu[side] = busy.cpu_ns as f64;
        }
    }
    let spans = spans.into_iter().map(|(span, times)| (path(span), times));
    let spans: Vec<_> = spans.collect();
    let sum = |spans: &[(String, Times)]| {
        let mut sum = Times::default();
        spans.iter().for_each(|(_, times)| sum.add(times));
        sum
    };
    let all = sum(&spans);
    let is_small = |(_, times): &(_, Times)| {
        let most = times
            .one
            .into_iter()
            .chain(times.several)
            .fold(0.0, f64::max);
        most < SMALL * all.one[0]
    };
    let (small, mut large): (Vec<_>, Vec<_>) = spans.into_iter().partition(is_small);
    large.sort_by(|(_, a), (_, b)| b.lost(threads).total_cmp(&a.lost(threads)));
    let cells = |(name, times): (String, Times)| (name, times.cells(threads));
    let mut rest = Vec::new();
    if !small.is_empty() {
        rest.push((format!("{} below 1 %", small.len()), sum(&small)));
    }
    rest.push((ALL.to_owned(), all));
    let [large, rest] = [large, rest].map(|rows| rows.into_iter().map(cells).collect::<Vec<_>>());
    let table = report::span_table(HEADS, &large, &rest, terminal);
    let Workload { workload, isa, .. } = workload;
    format!("{workload}, {isa}, {threads} threads\n{table}")
}
