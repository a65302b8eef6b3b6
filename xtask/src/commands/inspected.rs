//! The modes of `inspect` that run workers and tell what each workload does on both sides.

use std::env::consts::ARCH;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;

use super::compared::{Compared, Executables, measured, runnable};
use crate::bench::build::Purpose;
use crate::project::Project;
use paired::error::Failure;
use paired::run::pairs;
use paired::run::protocol::RowInfo;
use paired::run::sample::Side;
use paired::show::report;
use paired::terminal::{Progress, measuring};

/// The time after which a worker is given up.
pub const TIMEOUT: Duration = Duration::from_secs(300);

/// The seed of the inputs.
pub const SEED: u64 = 1;

/// A comparison whose runs are looked at: its workers, the rows to run, and the file for the figures.
pub struct Inspected<'a> {
    base: String,
    patches: Vec<String>,
    executables: Executables<'a>,
    rows: Vec<RowInfo>,
    json: Option<PathBuf>,
}

/// The output of `--json`. Other programs read it: a change of meaning is a new `schema`.
#[derive(Serialize)]
struct Report<S> {
    schema: u32,
    /// The command, as it was typed.
    command: String,
    base: String,
    patches: Vec<String>,
    /// The number of threads, where workloads run on several.
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<usize>,
    workloads: Vec<Workload<S>>,
}

/// A workload on both sides.
#[derive(Serialize)]
pub struct Workload<S> {
    pub workload: String,
    pub isa: String,
    pub baseline: S,
    pub candidate: S,
}

impl<'a> Inspected<'a> {
    /// Builds all of the workers, and lists the rows that `select` takes of theirs. Before that, fails where `json` cannot be written.
    pub fn new(
        compared: &Compared,
        project: &'a Project,
        json: Option<&Path>,
        select: impl FnOnce(&[RowInfo]) -> Result<Vec<RowInfo>, Failure>,
    ) -> Result<Self> {
        report::check_outputs(json, false, None, &compared.inputs(project))?;
        let isas = runnable(compared.isas())?;
        let difference = compared.chosen(project)?;
        (project.catalog).refuse_inert(&difference.base, &compared.names, &[ARCH])?;
        let purpose = Purpose::Measurement;
        let executables = compared.executables(project, &difference, &isas, purpose)?;
        let (_, workers) = &executables.workers[0];
        let rows = select(&pairs::rows(&workers.baseline, TIMEOUT)?)?;
        Ok(Self {
            base: difference.base,
            patches: difference.patches,
            executables,
            rows,
            json: json.map(Path::to_owned),
        })
    }

    /// Looks at each row on each side, in so many steps each, whose noun is in the plural; writes the figures, and prints the workloads as
    /// `shown` has them, for a terminal or not.
    pub fn report<S: Serialize>(
        self,
        threads: Option<usize>,
        (steps, noun): (u64, &'static str),
        look: impl Fn(&Path, Side, &RowInfo, &Progress) -> Result<S>,
        shown: impl Fn(&Workload<S>, bool) -> String,
    ) -> Result<()> {
        let mut report = Report {
            schema: 1,
            command: measured()?,
            base: self.base,
            patches: self.patches,
            threads,
            workloads: Vec::new(),
        };
        let workers = &self.executables.workers;
        let bar = measuring(2 * steps * (self.rows.len() * workers.len()) as u64, noun);
        for (isa, workers) in workers {
            for row in &self.rows {
                bar.set_message(format!("{isa} {}", row.name));
                report.workloads.push(Workload {
                    workload: row.name.clone(),
                    isa: isa.to_string(),
                    baseline: look(&workers.baseline, Side::Baseline, row, &bar)?,
                    candidate: look(&workers.candidate, Side::Candidate, row, &bar)?,
                });
            }
        }
        bar.finish_and_clear();
        if let Some(path) = &self.json {
            report::write(path, &report, None)?;
        }
        // Last, since it may fail: the figures are in the file by now.
        println!("base {}, patches {}", report.base, report.patches.join(" "));
        let terminal = std::io::stdout().is_terminal();
        for workload in &report.workloads {
            println!("\n{}", shown(workload, terminal));
        }
        Ok(())
    }
}
