use std::collections::{BTreeMap, BTreeSet};
use std::env::consts::ARCH;
use std::io::{IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{mem, thread};

use anyhow::Result;
use cargo_metadata::semver::Version;
use clap::{Parser, Subcommand};

use super::compared::{
    self, Compared, Executables, Lacking, Measured, SEEDS, check_threads, each_once, header,
    measure, measured, named, no_row_is_parallel, runnable, runnable_of, sides,
};
use super::report::TITLE;
use super::upstream_bench;
use crate::bench::breakdown::{Breakdown, Rows};
use crate::bench::build::{self, Builder, Purpose, TOOL, Target};
use crate::bench::built::{self, Built, Named, Subject};
use crate::bench::filing::{Filed, Filing};
use crate::bench::memory::{self, Live};
use crate::bench::record::file_stem;
use crate::bench::upstream::Bench;
use crate::project::Project;
use crate::report::markdown::{meanings, section_table};
use crate::report::results::{self, PROVER};
use p3_patches::catalog::difference::Difference;
use p3_patches::cli::Place;
use p3_patches::commands::MOST_RUNS;
use p3_patches::prover::locked_dir::LockedDir;
use paired::cargo::Toolchain;
use paired::error::Failure;
use paired::interrupt;
use paired::isa::Isa;
use paired::run::pairs::{self, Plan, Workers};
use paired::run::protocol::{Kind, MOST_LOG_SIZE, MOST_THREADS, RowInfo};
use paired::run::sample::Run;
use paired::run::{sizes, threads};
use paired::show::machine::Machine;
use paired::show::page;
use paired::show::report::{self, Report};
use paired::stats::ratio::Verdict;
use paired::stats::row::Row;
use paired::terminal::{measuring, print_line, shown, spinner};

/// The default number of inputs of a row with `--quick`.
pub const QUICK: u64 = 5;

/// Measure Plonky3 with patches against Plonky3 as published or, with --step, with nothing but what the patches need.
///
/// Builds one worker twice, runs both in pairs, checks that their outputs are equal and prints one table.
/// A ratio below 1 is a gain; "faster" and "slower" are said only where the 95 % interval of the ratio excludes 1
/// by more than a baseline measured against itself (A/A) does.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo p3 ab batched-permute
  cargo p3 ab batched-permute --quick
  cargo p3 ab batched-permute --phases
  cargo p3 ab ifma-permute --step
  cargo p3 ab batched-permute --isa x86-64-v3 --isa x86-64-v4 --workload 'merkle-commit/*' --json ab.json
  cargo p3 ab batched-permute --revert --workload 'merkle-commit/poseidon2-w8/*'
  cargo p3 ab batched-permute --isa x86-64-v3 --build-only built
  built/xtask --checkout ab --built built --record")]
pub struct Args {
    #[command(flatten)]
    compared: Compared,
    /// Measure the patches alone: the baseline has what they need, too.
    #[arg(long, requires = "names", conflicts_with = "revert")]
    step: bool,
    /// Build the workers for another machine, whatever this CPU can run, put them and this tool into DIR, and measure nothing. On Linux
    /// all of them have the C library linked in.
    #[arg(long, value_name = "DIR", requires = "isa", conflicts_with_all = [
        "built", "workload", "quick", "outputs_only", "revert", "json", "html", "record", "seeds", "reps", "timeout", "workers",
    ])]
    build_only: Option<PathBuf>,
    /// Measure the workers that --build-only has put into DIR, in a checkout of the same patches, on all instruction sets that are
    /// there and that this CPU can run, unless --isa names some; needs no cargo.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["names", "step", "base", "revert", "workers"])]
    built: Option<PathBuf>,
    /// Rows to measure, by glob over their names; may be given several times [default: all].
    #[arg(long, value_name = "GLOB")]
    workload: Vec<String>,
    /// A first look: fewer rows and fewer pairs; no whole proofs, where only outputs are compared.
    #[arg(long)]
    quick: bool,
    /// Compare outputs on small and odd inputs, measure no time. With all patches of a release that benches/memory.csv has, the memory
    /// is compared with it; --record writes it.
    #[arg(long, conflicts_with_all = ["revert", "json", "html", "seeds", "reps"])]
    outputs_only: bool,
    /// Confirm: the candidate gets the patches and then has them reversed; fails unless every change vanishes.
    #[arg(long, conflicts_with = "record")]
    revert: bool,
    /// Write the rows to FILE, and the raw samples beside it as CSV.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the rows and the samples to FILE as a page to look at, which loads nothing.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// File the raw samples under benches/record, without rows whose baseline took more than 1.15 times its fastest record's. Each row
    /// is filed once it is measured: a run that is cut off leaves a record of its whole rows.
    #[arg(long, conflicts_with_all = ["quick", "workers"])]
    record: bool,
    /// File the rows of a loaded machine, too; tables say so.
    #[arg(long, requires = "record")]
    loaded: bool,
    /// Inputs, each with processes of its own, at least 2 [default: 10, or 5 with --quick].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..=MOST_RUNS))]
    seeds: Option<u64>,
    /// Measure the phases of Poseidon2: each permutation without its internal rounds and with them, a batch of states and a
    /// commitment. Where the commitment's ratio disagrees with the permutation's, a line says at which step.
    #[arg(long, conflicts_with_all = ["quick", "workload", "outputs_only", "build_only", "record"])]
    pub phases: bool,
    /// Measure a bench of upstream's own, PACKAGE/BENCH or PACKAGE/BENCH/FILTER, on Plonky3 with the patches against Plonky3 with what
    /// they need; --seeds is the number of pairs [default: 5].
    #[arg(long, value_name = "BENCH", requires = "names", conflicts_with_all = [
        "phases", "quick", "workload", "outputs_only", "step", "revert", "build_only", "built", "json", "html", "workers", "reps", "timeout",
    ])]
    bench: Option<Bench>,
    /// Threads that a row runs on, each on a core of its own, such as `1,2,4`: a row for each number, and the speed-up against one. Rows
    /// that use one thread are measured on one.
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1",
        value_parser = clap::value_parser!(u16).range(1..=MOST_THREADS as i64), conflicts_with_all = [
        "build_only", "outputs_only", "phases", "bench",
    ])]
    threads: Vec<u16>,
    /// Logarithms of numbers of rows, such as `14,16,18`: each workload that there is of all sizes is measured at these, as far as the
    /// memory allows, with the cost of an element by size. `--workload` names such workloads, with `2^N` for the size.
    #[arg(long, value_name = "LOG", value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_LOG_SIZE)), conflicts_with_all = [
        "build_only", "outputs_only", "phases", "bench", "quick",
    ])]
    sizes: Vec<u32>,
    /// Pairs per input. More seeds tell more: a process has its own luck with the layout of memory.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=MOST_RUNS))]
    reps: u64,
    /// Measure for about so long, such as `10m`, after the workers are built: proofs first, then commitments, extensions and openings,
    /// then the rest. Only whole rows, and none that would not end in time; the instruction sets share it.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, conflicts_with_all = [
        "build_only", "outputs_only", "phases", "bench",
    ])]
    budget: Option<Duration>,
    /// Seconds after which a worker that gives no answer is given up.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
}

pub fn run(args: Args, project: &Project) -> Result<()> {
    if let Some(bench) = &args.bench {
        let filing = (args.record)
            .then(|| Filing::new(project, args.loaded))
            .transpose()?;
        return upstream_bench::run(
            bench,
            &args.compared,
            args.seeds,
            filing,
            measured()?,
            project,
        );
    }
    if let Some(dir) = &args.build_only {
        return build_only(&args, project, dir);
    }
    let mut inputs = args.compared.inputs(project);
    inputs.extend(args.built.iter().flat_map(|dir| built::inputs(dir)));
    report::check_outputs(args.json.as_deref(), true, args.html.as_deref(), &inputs)?;
    refuse_other_memory(&args)?;
    let numbers = numbers_of_threads(&args)?;
    let typed = measured()?;
    let filing = (args.record && !args.outputs_only)
        .then(|| Filing::new(project, args.loaded))
        .transpose()?;
    let copies;
    let (isas, command, subject, executables, rustflags) = match &args.built {
        Some(dir) => {
            let built = Built::read(dir, project, of_build)?;
            let asked = &args.compared.isa;
            let isas = built.isas(asked)?;
            let isas = match asked.is_empty() {
                true => runnable_of(&isas)?,
                false => runnable(&isas)?,
            };
            let command = built.command(&typed, &isas);
            copies = built.copies(dir, &isas)?;
            let workers = copies.iter().map(|(isa, copies)| (*isa, copies.workers()));
            let executables = Executables {
                workers: workers.collect(),
                builder: None,
            };
            (isas, command, built.subject, executables, built.rustflags)
        }
        None => {
            let isas = runnable(args.compared.isas())?;
            let subject = subject(&args, project)?;
            let executables = executables(&args, project, &subject, &isas, Target::from)?;
            (isas, typed, subject, executables, String::new())
        }
    };
    let Executables { workers, builder } = executables;
    let Subject {
        difference,
        asked,
        toolchain,
    } = subject;
    let machine = Machine::here(&toolchain, &isas, &rustflags);
    let timeout = Duration::from_secs(args.timeout);
    let rows = selected(&workers[0].1.baseline, &args)?;
    if numbers != [1] && !args.outputs_only && !rows.iter().any(|row| row.parallel) {
        return Err(no_row_is_parallel().into());
    }
    let mut rows = threads::on(&rows, &numbers);
    if args.budget.is_some() {
        let urgency = |kind| PROVER.iter().position(|first| *first == kind);
        rows.sort_by_key(|row| urgency(row.kind).unwrap_or(PROVER.len()));
    }

    if args.outputs_only {
        return compare_outputs(&args, &workers, &rows, &difference, project);
    }

    let plan = Plan {
        seeds: (args.seeds).unwrap_or(if args.quick { QUICK } else { SEEDS }),
        reps: args.reps as usize,
        timeout,
    };
    let mut stdout = std::io::stdout().lock();
    writeln!(
        stdout,
        "{}\n{}, {} seeds x {} pairs of 8 runs, in the order ABBAABBA",
        header(&machine),
        sides(&difference),
        plan.seeds,
        plan.reps,
    )?;
    let measurement = filing.map(|filing| {
        let hash = |(isa, workers): &(Isa, Workers)| Ok((isa.to_string(), workers.sha256()?));
        let hashes = workers.iter().map(hash).collect::<Result<_>>()?;
        let stem = file_stem(&asked, &difference.baseline_patches);
        anyhow::Ok(filing.of(&toolchain.host, stem, hashes))
    });
    let measurement = measurement.transpose()?;
    // The lock of the folder that they were built in, if any, keeps other runs away.
    let folder = builder.map(Builder::into_folder);
    let report_of = |runs: &[Run]| {
        let (command, difference) = (command.clone(), difference.clone());
        compared::report(command, difference, machine.clone(), runs)
    };
    let mut filed = Filed::default();
    let mut file = |report: &Report<Difference>, runs: &[Run], part: bool| -> Result<()> {
        let Some(measurement) = &measurement else {
            return Ok(());
        };
        let waited;
        let folder = match &folder {
            Some(folder) => folder,
            // Others may measure here at the same time, with other cores.
            None => {
                waited = LockedDir::wait(&project.root.join(build::FOLDER))?;
                &waited
            }
        };
        filed = measurement.file(folder, report, runs, part)?;
        Ok(())
    };
    let mut is_unfiled = false;
    let complete = |runs: &[Run]| {
        let (runs, _) = compared::plausible(runs);
        let filed = match args.record && !runs.is_empty() {
            true => report_of(&runs).and_then(|report| file(&report, &runs, true)),
            false => Ok(()),
        };
        // The next row may be filed, and so may all in the end. What was measured is shown in any case.
        if let Err(error) = filed
            && !mem::replace(&mut is_unfiled, true)
        {
            print_line("warning", &format!("not recorded so far: {error:#}"));
        }
        interrupt::check()
    };
    let measured = measure(&workers, &rows, &plan, args.budget, complete);
    let Measured { runs, left_out } = match measured {
        Ok(measured) => measured,
        Err(error) => {
            for file in filed.files.values() {
                print_line("note", &format!("{file} has the rows that were whole"));
            }
            return Err(error);
        }
    };
    let (runs, wrong) = match compared::plausible(&runs) {
        (kept, wrong) if !kept.is_empty() => (kept, wrong),
        // The report says what is wrong.
        _ => (runs, Vec::new()),
    };
    let report = report_of(&runs)?;
    // Each file is tried, and the figures are shown, whatever cannot be written.
    let mut written = file(&report, &runs, !left_out.is_empty() || !wrong.is_empty());
    note_left_out(&left_out);
    for what in &wrong {
        print_line(
            "warning",
            &format!("left out, since its figures contradict themselves: {what}"),
        );
    }
    let disturbed = runs.iter().filter(|run| run.disturbed()).count();
    if disturbed > 0 {
        eprintln!(
            "note: {disturbed} of {} runs shared their core with something else",
            runs.len()
        );
    }
    if let Some(path) = &args.json {
        written = written.and(report::write(path, &report, Some(&runs)));
    }
    let section = results::section(&report, &runs, &filed.files);
    if let Some(path) = &args.html {
        let root = Some(&*project.root);
        written = written.and(page::write(root, path, TITLE, &[section.shown()]));
    }
    // Last, since it may fail: the figures are in the files by now.
    println!("{}", report::table(&report.rows, stdout.is_terminal()));
    let tables = results::tables(&section.records);
    let tables: Vec<_> = tables.iter().map(section_table).collect();
    for table in &tables {
        println!("\n{table}");
    }
    print!("{}", meanings(&tables.concat()));
    if args.phases {
        let permutations = Rows::all(&rows)?;
        for runs in runs.chunk_by(|a, b| a.isa == b.isa) {
            for rows in &permutations {
                let breakdown = Breakdown::new(rows, runs)?;
                println!("\n{}", breakdown.table(stdout.is_terminal()));
                if let Some(remark) = &breakdown.remark {
                    println!("{remark}");
                }
            }
        }
    }
    if let Some(note) = of_compiler(&report.rows) {
        print_line("note", &note);
    }
    written?;
    if args.revert {
        confirm_reverted(&report.rows)?;
    }
    Ok(filed.refused()?)
}

/// Names the rows that were left out, by the reason.
fn note_left_out(left_out: &[(String, Lacking)]) {
    for (what, is_time) in [("time", true), ("memory", false)] {
        let of = left_out
            .iter()
            .filter(|(_, lacking)| lacking.is_time() == is_time);
        let of: Vec<_> = of.map(|(row, lacking)| lacking.beside(row)).collect();
        if !of.is_empty() {
            let rows = first_ones(of);
            print_line("note", &format!("left out, for want of {what}: {rows}"));
        }
    }
}

/// Lists the first names, and the number of the others where these are more than one.
fn first_ones(mut names: Vec<String>) -> String {
    const NAMED: usize = 10;
    if let others @ 2.. = names.len().saturating_sub(NAMED) {
        names.truncate(NAMED);
        names.push(format!("and {others} others"));
    }
    names.join(", ")
}

/// A command line that can be nothing but `ab`.
#[derive(Parser)]
struct Typed {
    #[command(flatten)]
    _place: Place,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Ab(Box<Args>),
}

/// Reads the words of a command that has built workers for another machine, if they are that.
fn of_build(words: &[String]) -> Option<Named> {
    let words = words.strip_prefix(&["cargo".to_owned()])?;
    if words.first()? != "p3" {
        return None;
    }
    let Command::Ab(args) = Typed::try_parse_from(words).ok()?.command;
    args.build_only?;
    Some(Named {
        patches: args.compared.names,
        base: args.compared.base,
        is_step: args.step,
    })
}

/// Returns the numbers of threads to run parallel rows on, each once, from the least. Where outputs are compared, these are one, and two
/// if there are two cores. Fails where there are fewer cores than threads.
fn numbers_of_threads(args: &Args) -> Result<Vec<usize>> {
    let cores = thread::available_parallelism()?.get();
    if args.outputs_only {
        if cores == 1 {
            print_line(
                "note",
                "outputs on two threads are not compared: there is one core",
            );
        }
        return Ok((1..=cores.min(2)).collect());
    }
    let numbers: BTreeSet<usize> = args.threads.iter().map(|&number| number.into()).collect();
    numbers.last().map_or(Ok(()), |&most| check_threads(most))?;
    Ok(numbers.into_iter().collect())
}

/// Builds the workers for another machine.
fn build_only(args: &Args, project: &Project, dir: &Path) -> Result<()> {
    let command = measured()?;
    let isas = each_once(&args.compared.isa, Isa::check_portable)?;
    let folder = built::Folder::create(dir)?;
    let subject = subject(args, project)?;
    // Until they are copied, no other run may build there.
    let built = executables(args, project, &subject, &isas, Target::portable)?;
    let bar = spinner("building this tool");
    let tool = build::portable_tool(project)?;
    bar.finish_and_clear();
    folder.fill(command, subject, project, &built.workers, &tool)?;
    let (tool, dir) = (dir.join(TOOL), shown(dir));
    println!(
        "workers in {dir}; copy that folder and a checkout of these patches to the machine, and there, in the checkout:\n  {} \
         --checkout ab --built {dir}",
        shown(&tool)
    );
    Ok(())
}

/// Returns the comparison that the arguments ask for, with the compiler that is here.
fn subject(args: &Args, project: &Project) -> Result<Subject> {
    let mut difference = args.compared.chosen(project)?;
    let names = &args.compared.names;
    let asked = match &**names {
        [] => &difference.patches,
        _ => names,
    };
    project
        .catalog
        .refuse_inert(&difference.base, asked, &[ARCH])?;
    if args.step {
        difference.baseline_patches = stacked_on(project, &difference.base, names)?;
    }
    difference.reverted = args.revert;
    Ok(Subject {
        difference,
        asked: names.clone(),
        toolchain: Toolchain::query()?,
    })
}

/// Returns the patches that those `asked` for stack on; an error if there are none.
fn stacked_on(project: &Project, base: &str, asked: &[String]) -> Result<Vec<String>> {
    let below = project.catalog.below(&Version::parse(base)?, asked)?;
    if below.is_empty() {
        let asked = asked.join(" ");
        return Err(Failure::input(format!(
            "--step: {asked} needs no other patch on Plonky3 {base}"
        ))
        .hint("leave --step out")
        .into());
    }
    Ok(below)
}

/// Returns the executables as given, or else built.
fn executables<'a>(
    args: &Args,
    project: &'a Project,
    subject: &Subject,
    isas: &[Isa],
    target: fn(Isa) -> Target,
) -> Result<Executables<'a>> {
    if let Some(given) = args.compared.workers.as_deref() {
        return Ok(Executables::given(given, isas));
    }
    let purpose = if args.outputs_only && args.quick {
        Purpose::Outputs
    } else {
        Purpose::Measurement
    };
    let builder = Builder::new(project, &subject.difference, purpose)?;
    if !args.workload.is_empty() {
        // The baseline is at hand, or is needed anyway; a mistyped row need not wait for the candidate.
        let bar = spinner("listing the rows");
        let baseline = builder.baseline(&target(isas[0]))?;
        selected(&baseline, args)?;
        bar.finish_and_clear();
    }
    Executables::build(builder, isas, target)
}

/// Returns the rows of the baseline's worker to run: those that a pattern names, else those of the mode; of the sizes asked for, if any
/// are.
fn selected(baseline: &Path, args: &Args) -> Result<Vec<RowInfo>> {
    let timeout = Duration::from_secs(args.timeout);
    if args.phases {
        let permutations = Rows::all(&pairs::rows(baseline, timeout)?)?;
        return Ok(permutations.iter().flat_map(Rows::iter).cloned().collect());
    }
    if !args.sizes.is_empty() {
        let families = pairs::families(baseline, timeout)?;
        let families = match args.workload.is_empty() {
            true => families,
            false => named(&families, &args.workload, |_, _| true)?,
        };
        let log_sizes: BTreeSet<u32> = args.sizes.iter().copied().collect();
        return Ok(sizes::on(&families, &Vec::from_iter(log_sizes)));
    }
    let rows = &pairs::rows(baseline, timeout)?;
    let of_mode = |row: &RowInfo| {
        (row.kind == Kind::Equal) == args.outputs_only
            && row.kind != Kind::Phase
            && (row.quick || !args.quick || args.outputs_only)
    };
    if args.workload.is_empty() {
        let rows: Vec<RowInfo> = rows.iter().filter(|row| of_mode(row)).cloned().collect();
        return match rows.is_empty() {
            true => Err(Failure::check("the workers have no row to run")
                .hint("--quick and --outputs-only run fewer rows; --workload names others")
                .into()),
            false => Ok(rows),
        };
    }
    Ok(named(rows, &args.workload, |row, pattern| {
        // A pattern for all rows means those of the mode.
        args.outputs_only
            || ![Kind::Equal, Kind::Phase].contains(&row.kind)
            || Kind::of(pattern) == row.kind
    })?)
}

/// Compares the outputs of the rows for each instruction set. With all patches of a release the memory is compared with what
/// benches/memory.csv has or, where it is recorded, written to it.
fn compare_outputs(
    args: &Args,
    workers: &[(Isa, Workers)],
    rows: &[RowInfo],
    difference: &Difference,
    project: &Project,
) -> Result<()> {
    const SEED: u64 = 1;
    let Difference { base, patches, .. } = difference;
    let is_series = *patches == project.catalog.chosen(Some(base), &[])?.1;
    for (isa, workers) in workers {
        let bar = measuring(rows.len() as u64, "rows");
        let mut counted = BTreeMap::new();
        for row in rows {
            bar.set_message(format!("comparing {isa} {}", row.name));
            let live = workers.compare_outputs(row, SEED, Duration::from_secs(args.timeout))?;
            // How much threads hold at a time is another number in each run.
            if let Some([baseline, candidate]) = live.filter(|_| row.threads == 1) {
                let live = Live {
                    baseline,
                    candidate,
                };
                counted.insert(row.name.clone(), live);
            }
            bar.inc();
        }
        bar.finish_and_clear();
        println!("{isa}: equal outputs in {} rows", rows.len());
        if args.record {
            memory::record(project, base, &counted)?;
        } else if is_series {
            memory::check(project, base, &counted)?;
        }
    }
    Ok(())
}

/// Refuses to record the memory of some patches, or of several instruction sets: the file has one figure of a row.
fn refuse_other_memory(args: &Args) -> Result<(), Failure> {
    let is_one = args.compared.isa.len() <= 1 && args.compared.names.is_empty();
    if is_one || !(args.outputs_only && args.record) {
        return Ok(());
    }
    let what = "--outputs-only --record: the memory that is recorded is of all patches, on one instruction set";
    Err(Failure::usage(what).hint("leave the names of patches out, and give --isa once"))
}

/// Says of slower rows that the compiler may be to blame, and how to find out; nothing where no row is slower. Nothing here knows
/// which rows run code of the patches: a package that is patched has other code, too.
fn of_compiler(rows: &[Row]) -> Option<String> {
    let slower = rows.iter().filter(|row| row.verdict == Verdict::Slower);
    let mut slower: Vec<&str> = slower.map(|row| &*row.workload).collect();
    slower.dedup();
    (!slower.is_empty()).then(|| {
        format!(
            "slower: {}; a row that runs no code of the patches is slower by the compiler, which divides a changed package into 16 \
             units in another way; the same command after `export {ONE_UNIT}`, with `--workload` for the row, builds both sides \
             in one unit",
            slower.join(", ")
        )
    })
}

/// The variable that has cargo compile each package in one unit.
const ONE_UNIT: &str = "CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1";

/// With the patches reversed nothing may be left of the gain.
fn confirm_reverted(rows: &[Row]) -> Result<()> {
    let changed: Vec<String> = rows
        .iter()
        .filter(|row| row.verdict != Verdict::NoChange)
        .map(|row| format!("{} on {} ({:.3})", row.workload, row.isa, row.ratio))
        .collect();
    if changed.is_empty() {
        return Ok(());
    }
    Err(Failure::check(format!(
        "with the patches reversed these still differ: {}",
        changed.join(", ")
    ))
    .hint("the difference is not the patch's: see known bias in benches/METHODOLOGY.md")
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_are_counted() {
        let listed = |of: usize| first_ones((1..=of).map(|name| name.to_string()).collect());
        assert_eq!(listed(2), "1, 2");
        assert!(listed(11).ends_with(", 9, 10, 11"));
        assert!(listed(12).ends_with(", 9, 10, and 2 others"));
    }
}
