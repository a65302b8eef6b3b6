//! Results: the sections of a report, from the records or from one run, as tables in Markdown; and the parts of documents that
//! show the records.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::slice;

use anyhow::Result;
use cargo_metadata::semver::Version;

use crate::bench::attribution;
use crate::bench::counts::{Counts, counts};
use crate::bench::curves;
use crate::bench::record::{RECORDS, SERIES, bench_records, file_stem, records, step_records};
use crate::project::Project;
use crate::report::markdown::{Links, markdown, section_table};
use p3_patches::catalog::Entry;
use p3_patches::catalog::difference::Difference;
use paired::run::protocol::Kind;
use paired::run::sample::{RUN, Run, SPAN};
use paired::show::report::Report;
use paired::show::section::{self, Folded, Line, Record};
use paired::stats::ratio::Verdict;
use paired::stats::row::Row;

/// A report's heading: certain patches on one release, wherever they were measured.
pub struct Section {
    pub title: String,
    /// The release of Plonky3.
    pub release: String,
    pub records: Vec<Record>,
    pub counts: Vec<Counts>,
    /// The patch that this is the record of; none where it is of several patches.
    pub patch: Option<String>,
    /// Tells whether the patch alone is measured: the baseline has what it needs, or it needs nothing.
    pub alone: bool,
}

/// The workloads that a prover consists of, in the order in which a reader needs them. Bare permutations and products are in the records
/// and on the page.
pub const PROVER: [Kind; 7] = [
    Kind::StarkProve,
    Kind::WhirProve,
    Kind::MerkleCommit,
    Kind::Lde,
    Kind::Open,
    Kind::FriCommit,
    Kind::SumcheckProve,
];

/// Tells whether a row is of what a prover does.
pub fn is_of_prover(row: &Row) -> bool {
    let of_trial = [RUN, SPAN];
    PROVER.contains(&Kind::of(&row.workload))
        || of_trial.iter().any(|start| row.workload.starts_with(start))
}

/// Tells whether a row is the whole proof of a STARK.
pub(super) fn is_proof(row: &Row) -> bool {
    Kind::of(&row.workload) == Kind::StarkProve
}

/// Returns the row that gains most: of the present text and of a prover's workload, where there is one, whether it gains or not. A
/// product that takes a third of the time says nothing of a proof.
pub fn best<'a>(lines: impl IntoIterator<Item = Line<'a>>) -> Option<Line<'a>> {
    let rank = |line: &Line<'_>| {
        let gains = line.row.verdict == Verdict::Faster;
        let old = line.record.outdated;
        (old, line.loaded(), !is_of_prover(line.row), !gains)
    };
    lines.into_iter().min_by(|a, b| {
        let order = rank(a).cmp(&rank(b));
        order.then(a.row.ratio.total_cmp(&b.row.ratio))
    })
}

/// Returns a report as a section, with its samples and, where these were filed, the file of each ISA.
pub fn section(
    report: &Report<Difference>,
    runs: &[Run],
    files: &BTreeMap<String, String>,
) -> Section {
    Section {
        title: report.subject.title(),
        release: report.subject.base.clone(),
        records: report.records(runs, files),
        counts: Vec::new(),
        patch: None,
        alone: false,
    }
}

/// Returns the sections of all records in `benches/record`: all patches together first, then each in the order of the series, as
/// a step before the stack that it is the top of.
pub fn recorded(project: &Project) -> Result<Vec<Section>> {
    let newest_first = || project.catalog.bases.iter().rev().map(ToString::to_string);
    let mut sections = Vec::new();
    for base in newest_first() {
        let records = records(project, &base, SERIES)?;
        if !records.is_empty() {
            sections.push(Section {
                title: format!("All patches, Plonky3 {base}"),
                release: base,
                records,
                counts: Vec::new(),
                patch: None,
                alone: false,
            });
        }
    }
    for Entry { name, needs } in &project.catalog.entries {
        let needs = needs.join(", ");
        let with = match &*needs {
            "" => String::new(),
            needs => format!(" with {needs}"),
        };
        let default = project.catalog.default_base_of(name)?;
        for base in newest_first().filter(|base| project.catalog.has(base, name)) {
            let release = Version::parse(&base)?;
            let asked = slice::from_ref(name);
            let below = project.catalog.below(&release, asked)?;
            let section = |title: String, records| Section {
                title: format!("{name}{title}, Plonky3 {base}"),
                release: base.clone(),
                records,
                counts: Vec::new(),
                patch: Some(name.clone()),
                alone: false,
            };
            let steps = step_records(project, &base, name)?;
            let folder = format!("/{}/", file_stem(asked, &below));
            let mut files = steps.iter().flat_map(|record| &record.sources);
            let is_on_needs = files.any(|source| {
                let file = source.file.as_ref();
                file.is_some_and(|file| file.contains(&folder))
            });
            let on = match is_on_needs {
                true => format!(" on {needs}"),
                false => " on others".to_owned(),
            };
            let benches = bench_records(project, &base, name)?;
            let step = Section {
                alone: true,
                ..section(on, steps)
            };
            let bench = section(", upstream's benches".to_owned(), benches);
            let stack = Section {
                counts: counts(project, &base, name)?,
                alone: below.is_empty(),
                ..section(with.clone(), records(project, &base, name)?)
            };
            let is_default = base == default;
            sections.extend([step, bench].into_iter().filter(|found| !found.is_empty()));
            sections.extend(Some(stack).filter(|found| is_default || !found.is_empty()));
        }
    }
    Ok(sections)
}

/// Returns the tables below the rows of records: what a prover saves, and curves.
pub fn tables(records: &[Record]) -> Vec<section::Table> {
    (attribution::table(records).into_iter())
        .chain(curves::tables(records))
        .collect()
}

impl Section {
    /// Tells whether this is a record of the patch `name`.
    pub fn is_of(&self, name: &str) -> bool {
        self.patch.as_deref() == Some(name)
    }

    fn is_empty(&self) -> bool {
        self.records.is_empty() && self.counts.is_empty()
    }

    /// Returns the title and the place, below the project's root, of the figure of whole proofs with all patches.
    pub(super) fn proofs_figure(&self) -> Option<(String, String)> {
        let mut rows = self.records.iter().flat_map(|record| &record.rows);
        let is_drawn = self.patch.is_none() && rows.any(is_proof);
        let title = format!("{}: whole proofs", self.title);
        is_drawn.then(|| (title, format!("{RECORDS}/{}/{SERIES}.svg", self.release)))
    }

    /// Returns the title and the place of the figure of curves by threads and by sizes, which is drawn where there are some.
    pub(super) fn curves_figure(&self) -> Option<(String, String)> {
        let title = format!("{}: by threads and sizes", self.title);
        let place = format!("{RECORDS}/{}/{SERIES}-curves.svg", self.release);
        self.patch.is_none().then_some((title, place))
    }

    /// Returns the section as a page shows it.
    pub fn shown(&self) -> section::Section<'_> {
        section::Section {
            title: &self.title,
            records: &self.records,
            folded: Some(Folded {
                title: "Permutations and products",
                has: |row| !is_of_prover(row),
            }),
            tables: tables(&self.records),
        }
    }

    /// Tables of these lines, of what a proof saves and of counts.
    pub(super) fn body(&self, lines: &[Line<'_>], links: &mut Links) -> Result<String> {
        let mut text = String::new();
        if self.is_empty() {
            text.push_str("\nNot measured yet.\n");
        }
        if !lines.is_empty() {
            write!(text, "\n{}", markdown(lines, Some(links)))?;
        }
        for table in tables(&self.records) {
            write!(text, "\n{}", section_table(&table))?;
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
    use crate::bench::record::tests::report;
    use paired::testing::runs;

    #[test]
    fn a_record_has_the_flags_and_the_rows_of_its_own_isa() {
        let mut runs = [runs(0.8), runs(0.9)].concat();
        for run in &mut runs[40..] {
            run.isa = "x86-64-v4".into();
        }
        let mut report = report("Narrow", &runs);
        report.machine.rustflags = "x86-64-v4: -C four; x86-64-v3: -C three".into();
        let files = BTreeMap::from([("x86-64-v4".to_owned(), "benches/record/x.csv".to_owned())]);
        let section = section(&report, &runs, &files);
        assert_eq!(section.title, "a, b together, Plonky3 0.8.0");
        let seen: Vec<_> = (section.records.iter())
            .map(|record| {
                (
                    &*record.machine.rustflags,
                    record.sources[0].file.as_deref(),
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("-C three", None),
                ("-C four", Some("benches/record/x.csv"))
            ]
        );
        let lines = section::lines(&section.records);
        let ratios: Vec<f64> = lines.iter().map(|line| line.row.ratio).collect();
        assert_eq!(ratios, [0.8, 0.9]);
        assert_eq!([lines[0].runs, lines[1].runs], [&runs[..40], &runs[40..]]);
    }

    #[test]
    fn a_row_of_a_prover_goes_before_a_product_that_gains_more() {
        let mut samples = [runs(0.25), runs(1.0), runs(0.9)].concat();
        for (at, run) in samples.iter_mut().enumerate() {
            let names = ["quartic-mul-packed/x", "stark-prove/x", "lde/x"];
            run.workload = names[at / 40].into();
        }
        let records = report("Narrow", &samples).records(&samples, &BTreeMap::new());
        let lines = section::lines(&records);
        let best_of = |lines: &[Line<'_>]| best(lines.iter().copied()).unwrap().row.ratio;
        assert_eq!(best_of(&lines), 0.9);
        assert_eq!(best_of(&lines[..2]), 1.0);
        assert_eq!(best_of(&lines[..1]), 0.25);
        let mut loaded = records;
        loaded[0].loaded.insert("lde/x".into(), 1.3);
        assert_eq!(best_of(&section::lines(&loaded)), 1.0);
    }
}
