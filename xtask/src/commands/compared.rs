//! The arguments of the commands that build workers, the workers that they ask for, and measurements of these.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::builder::{PathBufValueParser, TypedValueParser as _};

use crate::bench::build::{Builder, Candidate, Purpose};
use crate::bench::built::without;
use crate::commands::glob;
use crate::project::Project;
use p3_patches::catalog::difference::Difference;
use p3_patches::commands::{joined, typed};
use paired::error::Failure;
use paired::isa::Isa;
use paired::run::pairs::{self, Plan, Workers};
use paired::run::protocol::RowInfo;
use paired::run::sample::Run;
use paired::show::machine::Machine;
use paired::show::report::Report;
use paired::stats::row::Row;
use paired::terminal::{measuring, spinner};

/// Returns the command as it was typed, for a record: without the files that it writes, and without the place of the checkout, which are
/// no part of what is measured.
pub fn measured() -> Result<String> {
    let words = without(&typed()?, &["--json", "--html", "--project"]);
    Ok(joined(&words))
}

/// The default number of inputs of a row.
pub const SEEDS: u64 = 10;

/// Plonky3 with patches and Plonky3 without, compiled for instruction sets.
#[derive(clap::Args)]
pub struct Compared {
    /// Patches to apply together; none means all that have been ported to the release.
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// The Plonky3 release [default: the newest that has patches].
    #[arg(long, value_name = "VERSION")]
    pub base: Option<String>,
    /// Instruction set to build for; may be given several times [default: native].
    #[arg(long, value_enum, value_name = "ISA")]
    pub isa: Vec<Isa>,
    /// Run these two executables as they are.
    #[arg(long, num_args = 2, value_names = ["BASELINE", "CANDIDATE"], hide = true,
        value_parser = PathBufValueParser::new().map(in_folder))]
    pub workers: Option<Vec<PathBuf>>,
}

/// Adds the current folder to a bare name, which the system would look up in `PATH`.
fn in_folder(executable: PathBuf) -> PathBuf {
    match executable.parent() {
        Some(folder) if folder == Path::new("") => Path::new(".").join(executable),
        _ => executable,
    }
}

impl Compared {
    /// Returns the release, and the patches in the order of the series.
    pub fn chosen(&self, project: &Project) -> Result<(String, Vec<String>)> {
        project.catalog.chosen(self.base.as_deref(), &self.names)
    }

    pub fn isas(&self) -> &[Isa] {
        match &*self.isa {
            [] => &[Isa::Native],
            asked => asked,
        }
    }

    /// Lists the files and folders that a comparison reads.
    pub fn inputs(&self, project: &Project) -> Vec<PathBuf> {
        let given = self.workers.iter().flatten().cloned();
        project
            .patches()
            .inputs()
            .into_iter()
            .chain(given)
            .collect()
    }

    /// Returns the executables as given, or else built with `patches`.
    pub fn executables<'a>(
        &self,
        project: &'a Project,
        (base, patches): (&str, &[String]),
        isas: &[Isa],
        purpose: Purpose,
    ) -> Result<Executables<'a>> {
        if let Some(given) = self.workers.as_deref() {
            return Ok(Executables::given(given, isas));
        }
        let builder = Builder::new(project, base, patches, Candidate::Patched, purpose)?;
        Executables::build(builder, isas)
    }
}

/// The workers for each ISA, and their builder, whose lock keeps other runs away.
pub struct Executables<'a> {
    pub workers: Vec<(Isa, Workers)>,
    pub builder: Option<Builder<'a>>,
}

impl<'a> Executables<'a> {
    /// Returns a baseline and a candidate as they are.
    pub fn given(executables: &[PathBuf], isas: &[Isa]) -> Self {
        let given = Workers {
            baseline: executables[0].clone(),
            candidate: executables[1].clone(),
        };
        let given = isas.iter().map(|&isa| (isa, given.clone()));
        Self {
            workers: given.collect(),
            builder: None,
        }
    }

    pub fn build(builder: Builder<'a>, isas: &[Isa]) -> Result<Self> {
        let bar = spinner("");
        let build = |&isa: &Isa| {
            bar.announce(format!("building the workers for {isa}"));
            Ok((isa, builder.build(isa)?))
        };
        let workers = isas.iter().map(build).collect::<Result<_>>()?;
        bar.finish_and_clear();
        Ok(Self {
            workers,
            builder: Some(builder),
        })
    }
}

/// Returns the instruction sets asked for, each once; refuses those that this CPU cannot run.
pub fn runnable(asked: &[Isa]) -> Result<Vec<Isa>> {
    each_once(asked, Isa::check)
}

pub fn each_once(asked: &[Isa], check: fn(Isa) -> Result<(), Failure>) -> Result<Vec<Isa>> {
    let mut isas: Vec<Isa> = Vec::new();
    for &isa in asked {
        check(isa)?;
        if !isas.contains(&isa) {
            isas.push(isa);
        }
    }
    Ok(isas)
}

/// Returns the rows that the patterns of `--workload` name, each once. A pattern names a row only where `is_meant` says so.
pub fn named(
    rows: &[RowInfo],
    patterns: &[String],
    is_meant: impl Fn(&RowInfo, &str) -> bool,
) -> Result<Vec<RowInfo>, Failure> {
    let mut wanted = vec![false; rows.len()];
    for pattern in patterns {
        let glob = glob("--workload", pattern)?;
        let is_named = |row: &RowInfo| is_meant(row, pattern) && glob.is_match(&row.name);
        let named: Vec<bool> = rows.iter().map(is_named).collect();
        if !named.contains(&true) {
            return Err(unknown_workload(pattern, rows));
        }
        wanted = (wanted.iter().zip(named))
            .map(|(wanted, named)| *wanted || named)
            .collect();
    }
    let wanted = rows.iter().zip(wanted).filter(|(_, wanted)| *wanted);
    Ok(wanted.map(|(row, _)| row.clone()).collect())
}

fn unknown_workload(pattern: &str, rows: &[RowInfo]) -> Failure {
    let mut nearest: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let likeness = |name: &str| strsim::jaro_winkler(pattern, name);
    nearest.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)));
    nearest.truncate(3);
    Failure::input(format!("--workload {pattern}: no such row"))
        .hint(format!("the nearest are {}", nearest.join(", ")))
}

pub fn measure(workers: &[(Isa, Workers)], rows: &[RowInfo], plan: &Plan) -> Result<Vec<Run>> {
    let per_row = plan.seeds * plan.reps as u64;
    let bar = measuring(per_row * (rows.len() * workers.len()) as u64, "pairs");
    let mut runs = Vec::new();
    for (isa, workers) in workers {
        let copies = workers.copies(plan.seeds)?;
        for row in rows {
            bar.set_message(format!("{isa} {}", row.name));
            runs.extend(pairs::measure(&copies, row, *isa, plan, || bar.inc())?);
        }
    }
    bar.finish_and_clear();
    Ok(runs)
}

/// Lists the variables with compiler flags that are set.
pub fn set_rustflags() -> impl Iterator<Item = &'static str> {
    ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"]
        .into_iter()
        .filter(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Returns the release and the patches of both sides, as a line above a table names them.
pub fn sides(difference: &Difference) -> String {
    let base = &difference.base;
    let with = match &*difference.baseline_patches {
        [] => String::new(),
        below => format!(" with {}", below.join(" ")),
    };
    let patches = if difference.reverted {
        "reverted"
    } else {
        "patches"
    };
    format!(
        "base {base}{with}, {patches} {}",
        difference.own().join(" ")
    )
}

/// Returns the report of runs; an error where its figures contradict themselves.
pub fn report(
    command: String,
    subject: Difference,
    machine: Machine,
    runs: &[Run],
) -> Result<Report<Difference>> {
    let report = Report {
        schema: Report::<Difference>::SCHEMA,
        command,
        subject,
        machine,
        rows: Row::all(runs)?,
    };
    report.check().map_err(|why| {
        Failure::check(why).hint("no file is written of figures that contradict themselves")
    })?;
    Ok(report)
}

pub fn header(machine: &Machine) -> String {
    let Machine {
        cpu,
        cores,
        rustc,
        rustflags,
    } = machine;
    let replaced: String = set_rustflags()
        .map(|name| format!(", in place of {name}"))
        .collect();
    format!("{cpu}, {cores} cores, {rustc}\nrustflags {rustflags}{replaced}")
}
