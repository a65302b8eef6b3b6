//! The arguments of the commands that build workers, the workers that they ask for, and measurements of these.

use std::collections::BTreeMap;
use std::fs;
use std::mem;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::builder::{PathBufValueParser, TypedValueParser as _};

use crate::bench::build::{Builder, Purpose, Target};
use crate::bench::built::without;
use crate::commands::glob;
use crate::project::Project;
use p3_patches::catalog::difference::Difference;
use p3_patches::commands::{joined, typed};
use paired::error::Failure;
use paired::isa::Isa;
use paired::run::pairs::{self, Copies, Plan, Workers};
use paired::run::protocol::RowInfo;
use paired::run::sample::{Run, by_row};
use paired::run::sizes;
use paired::show::machine::Machine;
use paired::show::report::Report;
use paired::stats::row::Row;
use paired::terminal::{Progress, measuring, print_line, spinner};

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
    /// The Plonky3 release [default: the newest that has patches; a preview, such as 0.9.0-rc.2, is taken by name only].
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
    pub fn chosen(&self, project: &Project) -> Result<Difference> {
        let (base, patches) = project.catalog.chosen(self.base.as_deref(), &self.names)?;
        Ok(Difference {
            base,
            baseline_patches: Vec::new(),
            patches,
            reverted: false,
        })
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

    /// Returns the executables as given, or else built.
    pub fn executables<'a>(
        &self,
        project: &'a Project,
        difference: &Difference,
        isas: &[Isa],
        purpose: Purpose,
    ) -> Result<Executables<'a>> {
        if let Some(given) = self.workers.as_deref() {
            return Ok(Executables::given(given, isas));
        }
        let builder = Builder::new(project, difference, purpose)?;
        Executables::build(builder, isas, Target::from)
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

    pub fn build(builder: Builder<'a>, isas: &[Isa], target: fn(Isa) -> Target) -> Result<Self> {
        let bar = spinner("");
        let build = |&isa: &Isa| {
            bar.announce(format!("building the workers for {isa}"));
            Ok((isa, builder.build(target(isa))?))
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

/// Returns those instruction sets that this CPU can run, and names the others in notes; fails where it can run none.
pub fn runnable_of(built: &[Isa]) -> Result<Vec<Isa>> {
    let mut runnable = Vec::new();
    let mut lacking = Ok(());
    for &isa in built {
        match isa.check() {
            Ok(()) => runnable.push(isa),
            Err(failure) => {
                print_line("note", &format!("not measured: {failure}"));
                lacking = Err(failure);
            }
        }
    }
    if runnable.is_empty() {
        lacking?;
    }
    Ok(runnable)
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

/// Fails where this process may use fewer cores than so many threads would have.
pub fn check_threads(threads: usize) -> Result<()> {
    let cores = thread::available_parallelism()?.get();
    if threads <= cores {
        return Ok(());
    }
    let cores = match cores {
        1 => "one core".to_owned(),
        _ => format!("{cores} cores"),
    };
    Err(
        Failure::input(format!("--threads {threads}: this process may use {cores}"))
            .hint("leave out what is more than that, or run it where as many are")
            .into(),
    )
}

/// The error for rows of which none is parallel.
pub fn no_row_is_parallel() -> Failure {
    Failure::input("--threads: no row that is measured uses several")
        .hint("leave --threads out, or name other rows by `--workload`")
}

/// The samples of whole rows, and the rows that were left out.
pub struct Measured {
    pub runs: Vec<Run>,
    /// The rows that were left out, each with its instruction set and the reason.
    pub left_out: Vec<(String, Lacking)>,
}

/// The reason for which a row was left out.
pub enum Lacking {
    /// It would not end in time. Where its first runs told, the time that it takes.
    Time(Option<Duration>),
    /// Its three processes would have more memory than there is: this much, in KiB, by a smaller size of it.
    Memory(u64),
}

impl Lacking {
    pub fn is_time(&self) -> bool {
        matches!(self, Self::Time(_))
    }

    /// Returns the name of a row, with what it takes.
    pub fn beside(&self, row: &str) -> String {
        match self {
            Self::Time(Some(takes)) => format!("{row} (some {})", seconds(*takes)),
            Self::Time(None) => row.to_owned(),
            Self::Memory(kib) => format!("{row} (some {} GiB)", kib.div_ceil(1 << 20)),
        }
    }
}

/// The sizes of families that were measured, and the memory that these took.
#[derive(Default)]
struct Sizes(BTreeMap<String, (u32, u64)>);

impl Sizes {
    /// The processes of a row that are there at a time.
    const PROCESSES: u64 = 3;

    /// Returns the memory that a row takes by a smaller size of it, in KiB, if there is less.
    fn too_large(&self, row: &RowInfo) -> Option<u64> {
        let (family, log_size) = sizes::split(&row.name)?;
        let (smaller, kib) = self.0.get(&family)?;
        let times = 1_u64.checked_shl(log_size.saturating_sub(*smaller));
        let kib = kib
            .saturating_mul(Self::PROCESSES)
            .saturating_mul(times.unwrap_or(u64::MAX));
        available_kib()
            .is_some_and(|available| kib > available)
            .then_some(kib)
    }

    /// Notes the memory of a row.
    fn note(&mut self, row: &RowInfo, runs: &[Run]) {
        let peak = runs.iter().filter_map(|run| run.peak_kib).max();
        if let Some(((family, log_size), kib)) = sizes::split(&row.name).zip(peak) {
            self.0.insert(family, (log_size, kib));
        }
    }
}

/// Returns the memory that this process and those that it starts may still have, in KiB, where the system tells it.
fn available_kib() -> Option<u64> {
    let number = |file: &str| fs::read_to_string(file).ok()?.trim().parse::<u64>().ok();
    let memory = fs::read_to_string("/proc/meminfo").ok()?;
    let free = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let free: u64 = free.trim().strip_suffix(" kB")?.parse().ok()?;
    // A container may have less than the machine.
    let of_group = number("/sys/fs/cgroup/memory.max").zip(number("/sys/fs/cgroup/memory.current"));
    let of_group = of_group.map(|(most, now)| most.saturating_sub(now) / 1024);
    Some(free.min(of_group.unwrap_or(free)))
}

/// Measures rows for each instruction set. `complete` gets all samples so far whenever a row has the last of its own, and others
/// follow.
///
/// With a `budget`, the instruction sets share that time: a row is left out if none is left, or if its first runs tell that it would
/// not end in time. Fails where no row fits.
pub fn measure(
    workers: &[(Isa, Workers)],
    rows: &[RowInfo],
    plan: &Plan,
    budget: Option<Duration>,
    mut complete: impl FnMut(&[Run]) -> Result<()>,
) -> Result<Measured> {
    let bar = measuring(plan.runs() * (rows.len() * workers.len()) as u64, "runs");
    let began = Instant::now();
    let mut measured = Measured {
        runs: Vec::new(),
        left_out: Vec::new(),
    };
    let mut sizes = Sizes::default();
    for (number, (isa, of_isa)) in (1_u32..).zip(workers) {
        let copies = of_isa.copies(plan.seeds)?;
        let end = budget.map(|budget| budget / workers.len() as u32 * number);
        for (index, row) in rows.iter().enumerate() {
            let name = format!("{isa} {}", row.name);
            bar.set_message(name.clone());
            let left = end.map(|end| end.saturating_sub(began.elapsed()));
            match measure_row(&copies, row, *isa, plan, (left, &sizes), &bar)? {
                Err(lacking) => measured.left_out.push((name, lacking)),
                Ok(runs) => {
                    sizes.note(row, &runs);
                    measured.runs.extend(runs);
                    let is_last = index + 1 == rows.len() && number as usize == workers.len();
                    if !is_last {
                        complete(&measured.runs)?;
                    }
                }
            }
        }
    }
    bar.finish_and_clear();
    match budget {
        Some(budget) if measured.runs.is_empty() => Err(no_row_fits(budget, &measured.left_out)),
        _ => Ok(measured),
    }
}

/// Measures a row if it ends in the time that is `left`, and if there is memory for it by the `sizes` before. If not, returns the reason.
fn measure_row(
    copies: &[Copies],
    row: &RowInfo,
    isa: Isa,
    plan: &Plan,
    (left, sizes): (Option<Duration>, &Sizes),
    bar: &Progress,
) -> Result<Result<Vec<Run>, Lacking>> {
    let of = plan.runs();
    let pass_over = |ended| (ended..of).for_each(|_| bar.inc());
    let too_large = sizes.too_large(row).map(Lacking::Memory);
    let too_late = || (left == Some(Duration::ZERO)).then_some(Lacking::Time(None));
    if let Some(lacking) = too_large.or_else(too_late) {
        pass_over(0);
        return Ok(Err(lacking));
    }
    let mut last = Instant::now();
    let mut pace = Pace::default();
    let mut takes = None;
    let runs = pairs::measure(copies, row, isa, plan, |runs| {
        (0..runs).for_each(|_| bar.inc());
        pace.note(runs, mem::replace(&mut last, Instant::now()).elapsed());
        takes = pace.too_long_for(left, plan);
        match takes {
            Some(_) => bail!("{} would not end in time", row.name),
            None => Ok(()),
        }
    });
    if takes.is_some() {
        bar.rename(format!("{isa} {} (left out)", row.name));
        pass_over(pace.ended);
        return Ok(Err(Lacking::Time(takes)));
    }
    runs.map(Ok)
}

/// The time that a row took so far.
#[derive(Default)]
struct Pace {
    /// The number of seeds whose processes are prepared, and the time that this took.
    prepared: (u64, Duration),
    /// The number of runs that have ended.
    ended: u64,
    /// The time of these runs.
    running: Duration,
}

impl Pace {
    /// Notes the time of so many runs. Zero runs stand for a seed that was prepared.
    fn note(&mut self, runs: u64, took: Duration) {
        if runs == 0 {
            self.prepared.0 += 1;
            self.prepared.1 += took;
        } else {
            self.ended += runs;
            self.running += took;
        }
    }

    /// Returns the time that the row takes by what it took so far, where that is more than what was `left` when it began. A row that
    /// has all its runs has ended.
    fn too_long_for(&self, left: Option<Duration>, plan: &Plan) -> Option<Duration> {
        let of = |time: Duration, (done, all): (u64, u64)| match done {
            0 => Duration::ZERO,
            done => time.mul_f64(all as f64 / done as f64),
        };
        let (seeds, preparing) = self.prepared;
        let takes =
            of(preparing, (seeds, plan.seeds)) + of(self.running, (self.ended, plan.runs()));
        (self.ended < plan.runs() && left.is_some_and(|left| takes > left)).then_some(takes)
    }
}

fn no_row_fits(budget: Duration, left_out: &[(String, Lacking)]) -> anyhow::Error {
    let takes = left_out.iter().map(|(_, lacking)| match lacking {
        Lacking::Time(takes) => *takes,
        Lacking::Memory(_) => None,
    });
    let known = takes.flatten().min();
    let least = known.map_or_else(String::new, |takes| {
        format!(": the shortest one that was begun takes {}", seconds(takes))
    });
    let budget = humantime::format_duration(budget);
    Failure::input(format!("--budget {budget}: no row fits{least}"))
        .hint("give it more time, or measure fewer inputs, by `--seeds`, or other rows, by `--workload`")
        .into()
}

/// Writes a time in whole seconds, rounded up.
pub fn seconds(time: Duration) -> String {
    humantime::format_duration(Duration::from_secs(time.as_secs_f64().ceil() as u64)).to_string()
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

/// Returns the samples of the rows whose figures hold, and for each other row the contradiction in its figures.
pub fn plausible(runs: &[Run]) -> (Vec<Run>, Vec<String>) {
    let mut kept = Vec::new();
    let mut wrong = Vec::new();
    for row in by_row(runs) {
        match Row::read(row) {
            Ok(_) => kept.extend_from_slice(row),
            Err(what) => wrong.push(what),
        }
    }
    (kept, wrong)
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
    Ok(report.checked()?)
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

#[cfg(test)]
mod tests {
    use super::*;
    use paired::run::sample::Side;
    use paired::testing::runs;

    #[test]
    fn a_row_has_to_end_in_time() {
        let seconds = Duration::from_secs;
        let left = |start: u64| Some(seconds(100 - start));
        let plan = Plan {
            seeds: 2,
            reps: 1,
            timeout: seconds(1),
        };
        let of = plan.runs();
        // Each run takes a second.
        let after = |start, runs| {
            let mut pace = Pace::default();
            pace.note(runs, seconds(runs));
            pace.too_long_for(left(start), &plan)
        };
        assert_eq!(after(100 - of, 1), None);
        assert_eq!(after(101 - of, 1), Some(seconds(of)));
        assert_eq!(after(101 - of, of - 1), Some(seconds(of)));
        assert_eq!(after(101 - of, of), None);

        // A row's inputs are made once for each seed, not for each run.
        let mut pace = Pace::default();
        pace.note(0, seconds(20));
        assert_eq!(pace.too_long_for(left(60), &plan), None);
        assert_eq!(pace.too_long_for(left(61), &plan), Some(seconds(40)));
        pace.note(1, seconds(1));
        assert_eq!(pace.too_long_for(left(60 - of), &plan), None);
        assert_eq!(
            pace.too_long_for(left(61 - of), &plan),
            Some(seconds(40 + of))
        );
        assert_eq!(pace.too_long_for(None, &plan), None);
    }

    #[test]
    fn a_row_that_contradicts_itself_keeps_no_other_from_its_file() {
        let good = runs(0.5);
        let mut bad = runs(0.5);
        for run in &mut bad {
            run.workload = "lde/x/2^4x1".into();
            if run.side == Side::Candidate {
                run.wall_ns *= 1_000_000_000;
                run.cpu_ns *= 1_000_000_000;
            }
        }
        let (kept, wrong) = plausible(&[bad, good.clone()].concat());
        assert_eq!(kept.len(), good.len());
        assert_eq!(kept[0].workload, good[0].workload);
        let [what] = &wrong[..] else {
            panic!("one row is wrong: {wrong:?}")
        };
        assert!(what.contains("lde/x/2^4x1"), "{what}");
    }
}
