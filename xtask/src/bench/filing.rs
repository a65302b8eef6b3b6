//! Files measurements as records.

use std::collections::BTreeMap;
use std::mem;
use std::path::Path;

use anyhow::{Context, Result};

use crate::bench::record::{
    self, Head, LOADED, file_name, files, files_of, machine, now, plan, read, read_head,
};
use crate::project::Project;
use p3_patches::catalog::difference::Difference;
use p3_patches::prover::locked_dir::LockedDir;
use paired::error::Failure;
use paired::files::dir::Dir;
use paired::run::sample::Run;
use paired::show::report::Report;
use paired::stats::row::{Row, round4};

/// Where measurements are filed, under the time at which they began.
pub struct Filing<'a> {
    project: &'a Project,
    /// Times sort as text.
    time: String,
    /// Tells whether a loaded machine's rows are filed, too.
    loaded: bool,
}

impl<'a> Filing<'a> {
    /// Refuses a time before that of a record: the newest one is shown, which this would not be.
    pub fn new(project: &'a Project, loaded: bool) -> Result<Self> {
        let time = now();
        let mut latest = None;
        for file in files(&project.root)? {
            let (head, _) = read_head(&project.root, &file)?;
            latest = latest.max(Some((head.time, file)));
        }
        match latest {
            Some((last, file)) if last > time => Err(Failure::environment(format!(
                "{file}: recorded after now, which is {time} by this machine's clock"
            ))
            .hint("set the clock, or remove that file if the clock was wrong when it was recorded")
            .into()),
            _ => Ok(Self {
                project,
                time,
                loaded,
            }),
        }
    }

    /// Returns a measurement of what `stem` names, whose `executables` have these hashes by instruction set and side.
    pub fn of(
        self,
        triple: &str,
        stem: String,
        executables: BTreeMap<String, BTreeMap<String, String>>,
    ) -> Measurement<'a> {
        Measurement {
            filing: self,
            triple: triple.to_owned(),
            stem,
            executables,
        }
    }
}

/// A measurement whose samples are filed, and filed again once more of its rows are whole.
pub struct Measurement<'a> {
    filing: Filing<'a>,
    triple: String,
    /// The patches, as [`record::file_stem`] or [`record::bench_stem`] has them.
    stem: String,
    executables: BTreeMap<String, BTreeMap<String, String>>,
}

impl Measurement<'_> {
    /// Adds the executables of an instruction set, whose hashes are by side.
    pub fn add(&mut self, isa: String, executables: BTreeMap<String, String>) {
        self.executables.insert(isa, executables);
    }

    /// Files the samples of each ISA as `benches/record/RELEASE/TRIPLE-ISA/STEM/TIME-CPU.csv`. Until all are written they are in
    /// `beside`.
    ///
    /// Rows of a loaded machine are left out, unless they were asked for: a record stays, and tables show it. A record that is
    /// a `part` of what was asked for may be filed again, with more rows.
    pub fn file(
        &self,
        beside: &LockedDir,
        report: &Report<Difference>,
        runs: &[Run],
        part: bool,
    ) -> Result<Filed> {
        let Self {
            filing,
            triple,
            stem,
            executables,
        } = self;
        let project = filing.project;
        let catalog = &project.catalog;
        let [candidate, baseline] = [&report.subject.patches, &report.subject.baseline_patches]
            .map(|names| catalog.codes(&report.subject.base, names));
        let (candidate, baseline) = (candidate?, baseline?);
        let patches_sha256 = catalog.sha256(&report.subject.base, &report.subject.patches)?;
        let root = Dir::open(&project.root)?;
        let mut filed = Filed::default();
        let mut contents = Vec::new();
        for runs in runs.chunk_by(|a, b| a.isa == b.isa) {
            let isa = &runs[0].isa;
            let executables = executables.get(isa);
            let executables = executables.context("an instruction set without executables")?;
            let (seeds, pairs) = plan(runs);
            let mut head = Head {
                command: report.command.clone(),
                time: filing.time.clone(),
                release: report.subject.base.clone(),
                seeds,
                pairs,
                patches_sha256: patches_sha256.clone(),
                part,
                machine: report.machine.with_isa(isa),
                loaded: BTreeMap::new(),
                workers: executables.clone(),
                patches: candidate.clone(),
                baseline_patches: baseline.clone(),
            };
            let machine = machine(&report.subject.base, triple, isa);
            let rows = report.rows.iter().filter(|row| row.isa == *isa);
            head.loaded = loaded_rows(&project.root, &machine, &head, rows)?;
            let mut runs = runs.to_vec();
            if !filing.loaded {
                for (row, ratio) in mem::take(&mut head.loaded) {
                    runs.retain(|run| run.workload != row);
                    filed.refused.push((format!("{row} for {isa}"), ratio));
                }
                if runs.is_empty() {
                    continue;
                }
            }
            let name = file_name(&filing.time, &head.machine.cpu);
            let file = format!("{machine}/{stem}/{name}.csv");
            let text = record::text(&file, &head, &runs)?;
            contents.push((root.place(&file)?, text.into_bytes()));
            filed.files.insert(isa.clone(), file);
        }
        beside.replace_all(contents)?;
        Ok(filed)
    }
}

/// Returns the rows whose baseline took more than [`LOADED`] times the least median of a record in the folder `machine` with the
/// same CPU, compiler and baseline, with this ratio. A baseline whose patches had another text then is another one.
pub(super) fn loaded_rows<'r>(
    root: &Path,
    machine: &str,
    head: &Head,
    rows: impl IntoIterator<Item = &'r Row>,
) -> Result<BTreeMap<String, f64>> {
    // A bench's short times are in nanoseconds.
    let time = |row: &Row| match &*row.unit {
        "ns" => row.baseline / 1e6,
        _ => row.baseline,
    };
    let mut least = BTreeMap::<String, f64>::new();
    for file in files_of(root, machine)? {
        let (other, runs) = read(root, &file)?;
        if other.machine == head.machine && other.baseline_patches == head.baseline_patches {
            for row in record::rows(&file, &runs)? {
                let time = time(&row);
                let least = least.entry(row.workload).or_insert(time);
                *least = least.min(time);
            }
        }
    }
    let mut loaded = BTreeMap::new();
    for row in rows {
        let ratio = least.get(&row.workload).map(|least| time(row) / least);
        if let Some(ratio) = ratio.filter(|ratio| *ratio > LOADED) {
            loaded.insert(row.workload.clone(), round4(ratio));
        }
    }
    Ok(loaded)
}

/// The outcome of [`Measurement::file`].
#[derive(Default)]
pub struct Filed {
    /// By ISA, below the project's root.
    pub files: BTreeMap<String, String>,
    /// Rows of a loaded machine, with what their baseline took to what it had taken before.
    pub(super) refused: Vec<(String, f64)>,
}

impl Filed {
    /// Names the rows that were left out, if there are any.
    pub fn refused(&self) -> Result<(), Failure> {
        let rows = self.refused.iter();
        let rows = rows.map(|(row, ratio)| format!("{row} ({ratio:.2} times)"));
        let rows = rows.collect::<Vec<_>>();
        if rows.is_empty() {
            return Ok(());
        }
        Err(Failure::environment(format!(
            "not recorded, since the baseline took more than {LOADED} times what it took in its fastest record: {}",
            rows.join(", ")
        ))
        .hint("measure these when the machine is idle; --loaded records them all the same, and tables say so"))
    }
}
