//! `inspect memory`: which spans of a run hold the memory where the most is allocated, with patches and without.

use std::path::{Path, PathBuf};

use anyhow::Result;
use indexmap::IndexMap;

use super::compared::{Compared, named};
use super::inspected::{Inspected, SEED, TIMEOUT, Workload};
use crate::project::Project;
use paired::error::Failure;
use paired::run::pairs;
use paired::run::protocol::{Holding, Kind, RowInfo};
use paired::run::spans;
use paired::show::report;
use paired::terminal::Progress;

/// Show which spans of a run hold the memory where the most is allocated, with patches and without.
///
/// Runs each workload once on each side, in a process that counts every block that is allocated, and names Plonky3's tracing spans that
/// have made what is allocated at the peak. A span is without the spans inside of it. The counts are exact, and the same in each run.
/// Workloads run on one core. A block that grows counts with its new size only, as in the column `memory` of `ab`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo p3 inspect memory
  cargo p3 inspect memory leafless-trees --workload 'stark-prove/bits/2^14x2'
  cargo p3 inspect memory --isa x86-64-v3 --workload 'stark-prove/keccak-air/*' --json memory.json")]
pub struct Args {
    #[command(flatten)]
    compared: Compared,
    /// Workloads to look at, by glob over their names; may be given several times [default: proofs of STARKs].
    #[arg(long, value_name = "GLOB")]
    workload: Vec<String>,
    /// Write the figures to FILE.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The part of the baseline's peak below which spans are shown as one.
const SMALL: f64 = 0.01;

pub fn run(args: &Args, project: &Project) -> Result<()> {
    let select = |rows: &[RowInfo]| selected(rows, args);
    let inspected = Inspected::new(&args.compared, project, args.json.as_deref(), select)?;
    let holding = |executable: &Path, side, row: &RowInfo, bar: &Progress| {
        let holding = pairs::holding(executable, side, row, SEED, TIMEOUT);
        bar.inc();
        holding
    };
    inspected.report(None, (1, "runs"), holding, shown)
}

/// Returns the rows that patterns name, else the proofs of STARKs. Spans are entered by one thread.
fn selected(rows: &[RowInfo], args: &Args) -> Result<Vec<RowInfo>, Failure> {
    let is_shown = |row: &RowInfo| row.threads == 1 && row.kind != Kind::Phase;
    if !args.workload.is_empty() {
        return named(rows, &args.workload, |row, pattern| {
            is_shown(row) && (row.kind != Kind::Equal || Kind::of(pattern) == row.kind)
        });
    }
    let proofs = (rows.iter()).filter(|row| is_shown(row) && row.kind == Kind::StarkProve);
    let proofs: Vec<_> = proofs.cloned().collect();
    match proofs.is_empty() {
        true => Err(
            Failure::check("the workers have no proof of a STARK to run")
                .hint("--workload names other rows"),
        ),
        false => Ok(proofs),
    }
}

/// Returns what stands above the table, and the table: the spans in the order in which the runs enter them.
fn shown(workload: &Workload<Holding>, terminal: bool) -> String {
    let sides = [&workload.baseline, &workload.candidate];
    let mut spans: IndexMap<&[String], [i64; 2]> = IndexMap::new();
    for (side, holding) in sides.into_iter().enumerate() {
        for held in &holding.held {
            spans.entry(&held.span).or_default()[side] = held.bytes;
        }
    }
    let spans = spans.into_iter().map(|(span, bytes)| (path(span), bytes));
    let least = (workload.baseline.live_bytes as f64 * SMALL) as u64;
    let is_small =
        |(_, bytes): &(_, [i64; 2])| bytes.iter().all(|bytes| bytes.unsigned_abs() < least);
    let (small, large): (Vec<_>, Vec<_>) = spans.partition(is_small);
    let mut rest = Vec::new();
    if !small.is_empty() {
        let sum = |side: usize| small.iter().map(|(_, bytes)| bytes[side]).sum();
        rest.push((format!("{} below 1 %", small.len()), [sum(0), sum(1)]));
    }
    let all = sides.map(|holding| holding.live_bytes as i64);
    rest.push((ALL.to_owned(), all));
    let table = report::memory_table(&large, &rest, terminal);

    let [baseline, candidate] = sides.map(|holding| path(&holding.peak_in));
    let peak = match baseline == candidate {
        true => format!("the peak is in {baseline}"),
        false => {
            format!("the baseline's peak is in {baseline}\nthe candidate's peak is in {candidate}")
        }
    };
    let Workload { workload, isa, .. } = workload;
    format!("{workload}, {isa}\n{peak}\n{table}")
}

/// The row of what was allocated in no span.
const OUTSIDE: &str = "outside of all spans";

/// The row of the sum.
pub(super) const ALL: &str = "all";

/// Returns the names of a span and of those around it as tables have them.
pub(super) fn path(span: &[String]) -> String {
    if span.is_empty() {
        return OUTSIDE.to_owned();
    }
    // A name that reads as something else stands in quotes.
    let is_ambiguous = |name: &str| name.contains(spans::IN) || [OUTSIDE, ALL].contains(&name);
    let names = span.iter().map(|name| match is_ambiguous(name) {
        true => format!("{name:?}"),
        false => name.clone(),
    });
    names.collect::<Vec<_>>().join(spans::IN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names that no span of Plonky3's has, which would read as another row.
    #[test]
    fn paths_are_distinct() {
        let path = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
            path(&names)
        };
        assert_eq!(path(&[]), "outside of all spans");
        assert_eq!(path(&["a", "b"]), "a > b");
        assert_eq!(path(&["a > b"]), "\"a > b\"");
        assert_eq!(path(&["all"]), "\"all\"");
        assert_eq!(path(&["outside of all spans"]), "\"outside of all spans\"");
    }
}
