//! The parts of a page: the records under one heading, and their rows with the samples behind them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use indexmap::IndexMap;
use serde::Serialize;

use crate::run::sample::{Run, by_row};
use crate::show::machine::Machine;
use crate::stats::row::{Row, inputs};

/// A comparison on one machine with one instruction set.
#[derive(Serialize)]
pub struct Record {
    /// The measurements whose samples are pooled here, the newest first.
    pub sources: Vec<Source>,
    /// The machine, with the flags of this ISA.
    #[serde(flatten)]
    pub machine: Machine,
    /// Tells whether the code has changed since it was measured.
    pub outdated: bool,
    /// The names of rows that were measured while the machine was loaded, with the ratio of the baseline's time to its earlier
    /// one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub loaded: BTreeMap<String, f64>,
    /// One row for each workload.
    pub rows: Vec<Row>,
    /// The samples, in the order in which they were taken.
    #[serde(skip)]
    pub runs: Vec<Run>,
}

/// A measurement: a command, and the samples that it took.
#[derive(Serialize)]
pub struct Source {
    /// The file with the samples, relative to the project's root and with `/` between the parts; `None` for samples without a
    /// file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The command.
    #[serde(skip)]
    pub command: String,
    /// One row for each workload that it measured, by its samples alone.
    #[serde(skip)]
    pub rows: Vec<Row>,
}

impl Record {
    /// Returns the measurements that have samples of a row, the newest first.
    pub fn sources_of(&self, row: &Row) -> impl Iterator<Item = &Source> {
        (self.sources.iter()).filter(|source| source.row(&row.workload, &row.isa).is_some())
    }

    /// Returns the files that have samples of a row, the newest first.
    pub fn files_of(&self, row: &Row) -> impl Iterator<Item = &str> {
        (self.sources_of(row)).filter_map(|source| source.file.as_deref())
    }
}

impl Source {
    /// Returns the row of a workload.
    #[must_use]
    pub fn row(&self, workload: &str, isa: &str) -> Option<&Row> {
        (self.rows.iter()).find(|row| (&*row.workload, &*row.isa) == (workload, isa))
    }
}

/// A section of a page: a heading, the comparisons below it, and tables of text.
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

/// A rule for the rows of a section that are folded away.
#[derive(Clone, Copy)]
pub struct Folded {
    /// The name of these rows, in the plural.
    pub title: &'static str,
    /// Returns whether a row is folded away.
    pub has: fn(&Row) -> bool,
}

/// A table of text below the rows of a section.
pub struct Table {
    /// The heading.
    pub title: &'static str,
    /// The explanation between heading and table.
    pub caption: &'static str,
    /// The heads of what names a line: of its code, and of the text below it.
    pub names: [&'static str; 2],
    /// The heads of the other columns.
    pub heads: &'static [&'static str],
    /// The lines of the table.
    pub lines: Vec<TableLine>,
}

/// A line of a [`Table`].
pub struct TableLine {
    /// The name in the first column, shown as code.
    pub code: String,
    /// The text behind the name.
    pub beside: String,
    /// The text below the name, in small type.
    pub below: String,
    /// The cells of the other columns.
    pub cells: Vec<String>,
}

/// Marks a ratio of an earlier text of the code.
pub const OUTDATED: &str = "\u{2020}";

/// Marks a ratio that a loaded machine took.
pub const LOADED: &str = "\u{2021}";

/// Marks a ratio of fewer inputs than [`ENOUGH`].
pub const FEW: &str = "\u{a7}";

/// The number of inputs of a first look.
const ENOUGH: usize = 5;

/// A row with the record that has it.
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
    /// Tells whether the machine was loaded when this was measured.
    #[must_use]
    pub fn loaded(&self) -> bool {
        self.record.loaded.contains_key(&self.row.workload)
    }

    /// Returns the number of inputs that the ratio is of, if these are few. A row without its samples has a pair of each.
    #[must_use]
    pub fn few(&self) -> Option<usize> {
        let inputs = match self.runs {
            [] => self.row.pairs,
            runs => inputs(runs),
        };
        Some(inputs).filter(|inputs| *inputs < ENOUGH)
    }

    /// Returns the marks of the ratio, of [`OUTDATED`], [`LOADED`] and [`FEW`].
    #[must_use]
    pub fn marks(&self) -> String {
        marks([*self])
    }
}

/// Returns the marks of what is made of these rows.
#[must_use]
pub fn marks<'l>(lines: impl IntoIterator<Item = Line<'l>> + Clone) -> String {
    let any = |is: fn(&Line<'_>) -> bool| lines.clone().into_iter().any(|line| is(&line));
    let marks = [
        (any(|line| line.record.outdated), OUTDATED),
        (any(|line| line.loaded()), LOADED),
        (any(|line| line.few().is_some()), FEW),
    ];
    let marks = marks.iter().filter_map(|(is, mark)| is.then_some(*mark));
    marks.collect()
}

/// Returns the rows of all records. Rows of one workload are neighbours, in the order of the record that has most rows, before those that
/// it lacks.
#[must_use]
pub fn lines(records: &[Record]) -> Vec<Line<'_>> {
    // The measurement of most rows has their order; others are of some of them.
    let mut by_rows: Vec<_> = records.iter().collect();
    by_rows.sort_by_key(|record| Reverse(record.rows.len()));
    let rows = by_rows.into_iter().flat_map(|record| &record.rows);
    let mut lines: IndexMap<&str, Vec<Line<'_>>> =
        rows.map(|row| (&*row.workload, Vec::new())).collect();
    for record in records {
        let of = |run: &'_ Run| (run.workload.clone(), run.isa.clone());
        let mut samples = HashMap::new();
        for runs in by_row(&record.runs) {
            samples.entry(of(&runs[0])).or_insert(runs);
        }
        for row in &record.rows {
            let runs = samples.get(&(row.workload.clone(), row.isa.clone()));
            let runs = runs.copied().unwrap_or_default();
            let line = Line { record, row, runs };
            lines.entry(&row.workload).or_default().push(line);
        }
    }
    lines.into_values().flatten().collect()
}
