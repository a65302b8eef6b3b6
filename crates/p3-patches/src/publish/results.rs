//! Results: the sections of a report, from the records or from one run, as tables in Markdown; and the parts of documents that
//! show the records.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use anyhow::Result;

use crate::measure::counts::{Counts, counts};
use crate::measure::pairs::Run;
use crate::measure::protocol::Kind;
use crate::measure::record::{RECORDS, Record, SERIES, records, step_records};
use crate::measure::report::{self, Report};
use crate::measure::row::Row;
use crate::measure::stats::Verdict;
use crate::measure::{attribution, trial};
use crate::project::Project;
use crate::publish::markdown::{Links, markdown};
use crate::series::patch::Patch;
use crate::series::{Entry, Series};

/// A report's heading: certain patches on one release, wherever they were measured.
pub struct Section {
    pub title: String,
    pub records: Vec<Record>,
    pub counts: Vec<Counts>,
    /// Where the figure of this is, below the project's root.
    pub(super) figure: Option<String>,
    /// The patch that this is the record of, and the release; none where it is of several patches.
    pub patch: Option<(String, String)>,
    /// Whether the baseline has what the patch needs.
    pub step: bool,
}

/// A row, and the record that it is from.
#[derive(Clone, Copy)]
pub struct Line<'a> {
    pub record: &'a Record,
    pub row: &'a Row,
    /// The samples, in the order in which they were taken.
    pub runs: &'a [Run],
}

/// All rows; those of one workload are neighbours, and workloads are in the order of their first samples.
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

/// The workloads that a prover consists of. Bare permutations and products are in the records and on the page.
const PROVER: [Kind; 7] = [
    Kind::MerkleCommit,
    Kind::Lde,
    Kind::FriCommit,
    Kind::Open,
    Kind::SumcheckProve,
    Kind::WhirProve,
    Kind::StarkProve,
];

impl Line<'_> {
    /// Whether this is what a prover does.
    pub fn of_prover(&self) -> bool {
        let workload = &self.row.workload;
        let of_trial = [trial::RUN, trial::SPAN];
        PROVER.contains(&Kind::of(workload))
            || of_trial.iter().any(|start| workload.starts_with(start))
    }

    /// Whether the machine was loaded when this was measured.
    pub fn loaded(&self) -> bool {
        self.record.loaded.contains_key(&self.row.workload)
    }
}

/// The row that gains most: of the present text and of a prover's workload, if there is one that gains.
pub fn best<'a>(lines: impl IntoIterator<Item = Line<'a>>) -> Option<Line<'a>> {
    let rank = |line: &Line<'_>| {
        let gains = line.row.verdict == Verdict::Faster;
        (line.record.outdated, !gains, !line.of_prover())
    };
    lines.into_iter().min_by(|a, b| {
        let order = rank(a).cmp(&rank(b));
        order.then(a.row.ratio.total_cmp(&b.row.ratio))
    })
}

impl Report {
    /// This report as a section, with its samples and, where these were filed, the file of each ISA.
    pub fn into_section(self, runs: &[Run], files: &BTreeMap<String, String>) -> Section {
        let title = self.title();
        // There are few of them: what is read names one that is known.
        let mut isas: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !isas.contains(&&*row.isa) {
                isas.push(&row.isa);
            }
        }
        let record = |isa: &str| Record {
            file: files.get(isa).cloned(),
            machine: self.machine.with_isa(isa),
            outdated: false,
            loaded: BTreeMap::new(),
            rows: (self.rows.iter().filter(|row| row.isa == isa).cloned()).collect(),
            runs: (runs.iter().filter(|run| run.isa == isa).cloned()).collect(),
            command: self.command.clone(),
        };
        Section {
            title,
            records: isas.into_iter().map(record).collect(),
            counts: Vec::new(),
            figure: None,
            patch: None,
            step: false,
        }
    }

    pub fn title(&self) -> String {
        let below = &self.baseline_patches;
        let patches = match &*report::own(&self.patches, below) {
            [] => "no patches".to_owned(),
            [name] => (*name).to_owned(),
            names => format!("{} together", names.join(", ")),
        };
        let on = match &**below {
            [] => String::new(),
            below => format!(" on {}", below.join(", ")),
        };
        let reversed = if self.reverted { ", reversed" } else { "" };
        format!("{patches}{on}{reversed}, Plonky3 {}", self.base)
    }
}

/// The sections of all records in `benches/record`: all patches together first, then each in the order of the series, as a step before
/// the stack that it is the top of.
pub fn recorded(project: &Project) -> Result<Vec<Section>> {
    let series = Series::load(&project.patches)?;
    let newest_first = || series.bases.iter().rev().map(ToString::to_string);
    let mut sections = Vec::new();
    for base in newest_first() {
        let records = records(&project.root, &project.patches, &series, &base, SERIES)?;
        if !records.is_empty() {
            sections.push(Section {
                title: format!("All patches, Plonky3 {base}"),
                records,
                counts: Vec::new(),
                figure: Some(format!("{RECORDS}/{base}/{SERIES}.svg")),
                patch: None,
                step: false,
            });
        }
    }
    for Entry { name, needs } in &series.entries {
        let with = if needs.is_empty() {
            String::new()
        } else {
            format!(" with {}", needs.join(", "))
        };
        let ported = newest_first().filter(|base| Patch::exists(&project.patches, base, name));
        let default = series.default_base_of(&project.patches, name)?;
        for base in ported {
            let step = step_records(project, &series, &base, name)?;
            if !step.is_empty() {
                sections.push(Section {
                    title: format!("{name} on {}, Plonky3 {base}", needs.join(", ")),
                    records: step,
                    counts: Vec::new(),
                    figure: None,
                    patch: Some((name.clone(), base.clone())),
                    step: true,
                });
            }
            let is_default = base == default;
            let section = Section {
                title: format!("{name}{with}, Plonky3 {base}"),
                records: records(&project.root, &project.patches, &series, &base, name)?,
                counts: counts(&project.root, &project.patches, &series, &base, name)?,
                figure: None,
                patch: Some((name.clone(), base)),
                step: false,
            };
            if is_default || !section.is_empty() {
                sections.push(section);
            }
        }
    }
    Ok(sections)
}

impl Section {
    /// Whether this is a record of the patch `name`.
    pub fn is_of(&self, name: &str) -> bool {
        (self.patch.as_ref()).is_some_and(|(patch, _)| patch == name)
    }

    fn is_empty(&self) -> bool {
        self.records.is_empty() && self.counts.is_empty()
    }
}

impl Section {
    /// Tables of these lines, of what a proof saves and of counts.
    pub(super) fn body(&self, lines: &[Line<'_>], links: &mut Links) -> Result<String> {
        let mut text = String::new();
        if self.is_empty() {
            text.push_str("\nNot measured yet.\n");
        }
        if !lines.is_empty() {
            write!(text, "\n{}", markdown(lines, Some(links)))?;
        }
        if let Some(savings) = attribution::markdown(&self.records) {
            write!(text, "\n{savings}")?;
        }
        for counts in &self.counts {
            let file = format!("{}{}", links.up, counts.file);
            write!(text, "\n[Counts]({file}). {}", counts.markdown())?;
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::report::tests::{report, runs};

    #[test]
    fn a_record_has_the_flags_and_the_rows_of_its_own_isa() {
        let mut runs = [runs(0.8), runs(0.9)].concat();
        for run in &mut runs[40..] {
            run.isa = "x86-64-v4".into();
        }
        let mut report = report("Narrow", &runs);
        report.machine.rustflags = "x86-64-v4: -C four; x86-64-v3: -C three".into();
        let files = BTreeMap::from([("x86-64-v4".to_owned(), "benches/record/x.csv".to_owned())]);
        let section = report.into_section(&runs, &files);
        assert_eq!(section.title, "a, b together, Plonky3 0.8.0");
        let seen: Vec<_> = (section.records.iter())
            .map(|record| (&*record.machine.rustflags, record.file.as_deref()))
            .collect();
        assert_eq!(
            seen,
            [
                ("-C three", None),
                ("-C four", Some("benches/record/x.csv"))
            ]
        );
        let lines = lines(&section.records);
        let ratios: Vec<f64> = lines.iter().map(|line| line.row.ratio).collect();
        assert_eq!(ratios, [0.8, 0.9]);
        assert_eq!([lines[0].runs, lines[1].runs], [&runs[..40], &runs[40..]]);
    }
}
