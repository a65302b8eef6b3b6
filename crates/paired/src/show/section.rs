//! Parts of a page: the records under one heading, and their rows beside the samples behind them.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::run::pairs::Run;
use crate::show::report::Machine;
use crate::stats::row::Row;

/// A comparison on one machine with one ISA.
#[derive(Serialize)]
pub struct Record {
    /// The file with the samples, if they are filed: below the project's root, with `/` between the parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The machine, with the flags of this ISA.
    #[serde(flatten)]
    pub machine: Machine,
    /// Whether the code that was measured is another one by now.
    pub outdated: bool,
    /// The rows that a loaded machine took, with the ratio of the baseline's time to what it had taken before.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub loaded: BTreeMap<String, f64>,
    /// One row for each workload.
    pub rows: Vec<Row>,
    /// The samples, in the order in which they were taken.
    #[serde(skip)]
    pub runs: Vec<Run>,
    /// The command that measured this.
    #[serde(skip)]
    pub command: String,
}

/// A heading of a page, and what stands below it.
pub struct Section<'a> {
    /// The heading.
    pub title: &'a str,
    /// The comparisons. A section without any is left out.
    pub records: &'a [Record],
    /// The rows that are folded away below the others.
    pub folded: Option<Folded>,
    /// The tables of text below the comparisons.
    pub tables: Vec<Table>,
}

/// Rows that are folded away.
#[derive(Clone, Copy)]
pub struct Folded {
    /// The name of such rows.
    pub title: &'static str,
    /// Tells such a row.
    pub has: fn(&Row) -> bool,
}

/// A table of text below the rows of a section.
pub struct Table {
    /// The title.
    pub title: &'static str,
    /// The explanation above it.
    pub caption: &'static str,
    /// The head of the column that names the lines.
    pub first: &'static str,
    /// The heads of the other columns.
    pub heads: &'static [&'static str],
    /// The lines.
    pub lines: Vec<TableLine>,
}

/// A line of a [`Table`].
pub struct TableLine {
    /// The name in the first column, which is code.
    pub code: String,
    /// The text behind the name.
    pub beside: String,
    /// The text below the name, in small letters.
    pub below: String,
    /// The other columns.
    pub cells: Vec<String>,
}

/// A row, and the record that it is from.
#[derive(Clone, Copy)]
pub struct Line<'a> {
    /// The record.
    pub record: &'a Record,
    /// The row.
    pub row: &'a Row,
    /// The samples, in the order in which they were taken.
    pub runs: &'a [Run],
}

impl Line<'_> {
    /// Whether the machine was loaded when this was measured.
    #[must_use]
    pub fn loaded(&self) -> bool {
        self.record.loaded.contains_key(&self.row.workload)
    }
}

/// Returns all rows; those of one workload are neighbours, and workloads are in the order of their first samples.
#[must_use]
pub fn lines(records: &[Record]) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    for record in records {
        let of = |run: &'_ Run| (run.workload.clone(), run.isa.clone());
        let mut samples = HashMap::new();
        for runs in record
            .runs
            .chunk_by(|a, b| (&a.workload, &a.isa) == (&b.workload, &b.isa))
        {
            samples.entry(of(&runs[0])).or_insert(runs);
        }
        lines.extend(record.rows.iter().map(|row| {
            let runs = samples.get(&(row.workload.clone(), row.isa.clone()));
            let runs = runs.copied().unwrap_or_default();
            Line { record, row, runs }
        }));
    }
    let mut first = HashMap::new();
    for (at, line) in lines.iter().enumerate() {
        first.entry(&*line.row.workload).or_insert(at);
    }
    lines.sort_by_key(|line| first[&*line.row.workload]);
    lines
}
