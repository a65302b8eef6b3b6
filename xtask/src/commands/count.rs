//! `count`: the instructions that Plonky3 with patches and Plonky3 as published execute, under emulation.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write as _};
use std::path::PathBuf;

use anyhow::Result;
use clap::{Arg, ArgAction};
use serde::Serialize;

use super::compared::{Compared, measured};
use crate::bench::build::{Builder, Purpose, Target};
use crate::bench::counts::{Counts, SCHEMA};
use crate::bench::record;
use crate::commands::glob;
use crate::emulation::{self, CORTEX_A76};
use crate::inspect::emulator::Emulator;
use crate::inspect::model::{Models, OLDEST};
use crate::inspect::tracer::{Count, Machine, Traced, Tracer};
use crate::project::Project;
use p3_patches::catalog::difference::Difference;
use paired::cargo::Toolchain;
use paired::error::Failure;
use paired::files::contents::json;
use paired::files::replace;
use paired::isa::Isa;
use paired::run::pairs::Workers;
use paired::run::protocol::UnitInfo;
use paired::show::report;
use paired::terminal::{shown, spinner};

/// Count the instructions of Plonky3, with patches and without.
///
/// Lists each instruction that both workers execute: NEON in an emulator, x86-64 step by step on this CPU. The counts are
/// exact: a unit's are what a run that repeats it once more executes beyond one that does not, and the tool fails unless
/// that is one repetition and nothing else. Cycles are what llvm-mca's models of some cores make of the listed
/// instructions; nothing is timed, and a count does not say how instructions overlap. Outputs are compared first.
#[derive(clap::Args)]
#[command(
    mut_arg("isa", one_isa),
    after_help = "Examples:
  cargo p3 inspect count --isa neon
  cargo p3 inspect count batched-permute --isa neon --json count.json
  cargo p3 inspect count batched-permute --isa x86-64-v3
  cargo p3 inspect count batched-permute --isa neon --target-cpu neoverse-v2
  cargo p3 inspect count neon-dispatch-fix --isa neon --cfg 'p3_goldilocks_packed_w8=\"fused\"'"
)]
pub struct Args {
    #[command(flatten)]
    compared: Compared,
    /// The core that NEON is compiled for, by rustc's name for it; `generic` is rustc's own default.
    #[arg(long, value_name = "CPU", default_value = CORTEX_A76)]
    target_cpu: String,
    /// A cfg that a patch asks for, as rustc takes it; may be given several times.
    #[arg(long, value_name = "SPEC", value_parser = cfg)]
    cfg: Vec<String>,
    /// Units to count, by glob over their names; may be given several times [default: all].
    #[arg(long, value_name = "GLOB")]
    unit: Vec<String>,
    /// A first look: workers that are built in a tenth of the time, in which functions have fewer callers, so that more is inlined
    /// than in a prover.
    #[arg(long, conflicts_with = "record")]
    quick: bool,
    /// Fail unless the candidate executes fewer instructions in every unit.
    #[arg(long)]
    fewer: bool,
    /// Write the counts to FILE.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// File the counts under benches/record.
    #[arg(long, conflicts_with_all = ["unit", "workers"])]
    record: bool,
}

/// The output of `--json`. Other programs read it: a change of meaning is a new `schema`.
#[derive(Serialize)]
struct Report {
    schema: u32,
    /// The command, as it was typed.
    command: String,
    /// When the counting began, in UTC.
    time: String,
    base: String,
    patches: Vec<String>,
    /// The SHA-256 of the patches with their kernels, as `apply` prints it.
    patches_sha256: String,
    /// The hash of each patch's code, by which a record is found to be out of date.
    code: BTreeMap<String, String>,
    isa: String,
    rustc: String,
    rustflags: String,
    emulator: String,
    emulated_cpu: String,
    /// The version whose models the cycles come from, if there are any.
    llvm_mca: Option<String>,
    units: Vec<Unit>,
}

/// A unit on both sides.
#[derive(Serialize)]
struct Unit {
    unit: String,
    /// The table divides by this.
    leaves: usize,
    baseline: Count,
    candidate: Count,
}

/// A report is of one instruction set.
fn one_isa(isa: Arg) -> Arg {
    isa.action(ArgAction::Set)
        .default_value("neon")
        .help("Instruction set to build for: neon, or what this CPU has of x86-64")
}

pub fn run(args: Args, project: &Project) -> Result<()> {
    let inputs = args.compared.inputs(project);
    report::check_outputs(args.json.as_deref(), false, None, &inputs)?;
    let isa = args.compared.isa[0];
    let (machine, mut target) = match isa {
        Isa::Neon => (
            Machine::Emulated(Emulator::find(&args.target_cpu)?),
            Target::emulated(&args.target_cpu),
        ),
        isa => {
            isa.check()?;
            (Machine::Stepped, isa.into())
        }
    };
    let globs = args.unit.iter().map(|pattern| glob("--unit", pattern));
    let globs = globs.collect::<Result<Vec<_>, _>>()?;
    let difference = args.compared.chosen(project)?;
    let Difference { base, patches, .. } = difference.clone();
    target.set_cfgs(&args.cfg);
    let models = Models::find();
    let mut report = Report {
        schema: SCHEMA,
        command: measured()?,
        time: record::now(),
        patches_sha256: project.catalog.sha256(&base, &patches)?,
        code: project.catalog.codes(&base, &patches)?,
        base,
        patches,
        isa: isa.to_string(),
        rustc: Toolchain::query()?.version,
        rustflags: target.rustflags.clone(),
        emulator: machine.version().to_owned(),
        emulated_cpu: machine.cpu().to_owned(),
        llvm_mca: models.as_ref().map(|models| models.version.clone()),
        units: Vec::new(),
    };

    let (workers, _lock) = workers(&args, project, &difference, target)?;
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{}", header(&report))?;
    let cores = machine.architecture().cores();
    let tracer = Tracer::new(machine, models, cores)?;
    let named = |unit: &UnitInfo| globs.iter().any(|glob| glob.is_match(&unit.name));
    let wanted = |unit: &UnitInfo| globs.is_empty() || named(unit);
    let executables = [
        ("baseline", &*workers.baseline),
        ("candidate", &*workers.candidate),
    ];
    for Traced { unit, counts } in tracer.all(&executables, wanted)? {
        let [baseline, candidate] = <[Count; 2]>::try_from(counts).expect("one of each");
        report.units.push(Unit {
            unit: unit.name,
            leaves: unit.leaves,
            baseline,
            candidate,
        });
    }
    if report.units.is_empty() {
        return Err(Failure::input("no unit has such a name")
            .hint("without --unit, all are counted")
            .into());
    }
    if let Some(path) = &args.json {
        report::write(path, &report, None)?;
    }
    if args.record {
        file(&args, project, &report)?;
    }
    // Last, since it may fail: the counts are in the files by now.
    println!("{}", table(&report.units, stdout.is_terminal()));
    if args.fewer {
        refuse_more(&report.units)?;
    }
    Ok(())
}

/// Files the counts where [`counts::counts`] finds them.
fn file(args: &Args, project: &Project, report: &Report) -> Result<()> {
    let Report {
        base,
        isa,
        time,
        emulated_cpu,
        ..
    } = report;
    let triple = match args.compared.isa[0] {
        Isa::Neon => emulation::TRIPLE.to_owned(),
        _ => Toolchain::query()?.host,
    };
    let folder = project
        .root
        .join(record::machine(base, &triple, isa))
        .join(record::file_stem(&args.compared.names, &[]));
    let name = record::file_name(time, emulated_cpu);
    let file = folder.join(format!("{name}.json"));
    let counts = json(report);
    Counts::read(&counts)
        .map_err(|why| Failure::check(format!("{}: not recorded: {why}", shown(&file))))?;
    replace::files_below(&[&project.root], &[(file, counts)])
}

/// Names the units that do not execute fewer instructions.
fn refuse_more(units: &[Unit]) -> Result<()> {
    let not_fewer = |unit: &&Unit| unit.candidate.instructions >= unit.baseline.instructions;
    let named: Vec<String> = (units.iter().filter(not_fewer))
        .map(|unit| {
            let (baseline, candidate) = (&unit.baseline, &unit.candidate);
            let (before, now) = (baseline.instructions, candidate.instructions);
            format!("{} ({before}, now {now})", unit.unit)
        })
        .collect();
    if named.is_empty() {
        return Ok(());
    }
    let named = named.join(", ");
    Err(Failure::check(format!(
        "{named}: the candidate executes no fewer instructions"
    ))
    .into())
}

/// Returns the executables as given, or else built, with the lock on the folder that they were built in.
fn workers<'a>(
    args: &Args,
    project: &'a Project,
    difference: &Difference,
    target: Target,
) -> Result<(Workers, Option<Builder<'a>>)> {
    if let Some([baseline, candidate]) = args.compared.workers.as_deref() {
        let given = Workers {
            baseline: baseline.clone(),
            candidate: candidate.clone(),
        };
        return Ok((given, None));
    }
    if args.compared.isa[0] == Isa::Neon {
        emulation::require()?;
        emulation::check_target_cpu(&args.target_cpu)?;
    }
    let bar = spinner("");
    bar.announce(format!("building the workers for {}", target.name));
    let builder = Builder::new(project, difference, Purpose::of_a_look(args.quick))?;
    let workers = builder.build(target)?;
    bar.finish_and_clear();
    Ok((workers, Some(builder)))
}

fn header(report: &Report) -> String {
    let cycles = report.llvm_mca.as_ref().map_or_else(
        || format!("cycles: none, without an llvm-mca of LLVM {OLDEST} or later on this machine"),
        |version| format!("cycles: llvm-mca {version}'s models of the cores, not measured"),
    );
    let Report {
        base,
        patches,
        rustc,
        rustflags,
        emulator,
        emulated_cpu,
        ..
    } = report;
    let patches = patches.join(" ");
    format!(
        "{rustc}\nrustflags {rustflags}\nbase {base}, patches {patches}\n\
         instructions: one permutation, or one leaf of a commitment and its share of the tree, executed under\n  \
         {emulator}, as {emulated_cpu}\n{cycles}\na count does not say how instructions overlap"
    )
}

/// Returns a line for the instructions of each unit, and one for each core's model.
fn table(units: &[Unit], terminal: bool) -> String {
    let mut table = report::empty_table(terminal);
    table.set_header(["unit", "figure", "baseline", "candidate", "ratio"]);
    for unit in units {
        let mut add = |figure: String, baseline: f64, candidate: f64| {
            let leaves = unit.leaves as f64;
            table.add_row([
                unit.unit.clone(),
                figure,
                format!("{:.0}", baseline / leaves),
                format!("{:.0}", candidate / leaves),
                format!("{:.3}", candidate / baseline),
            ]);
        };
        let Unit {
            leaves,
            baseline,
            candidate,
            ..
        } = unit;
        let per = if *leaves > 1 { " per leaf" } else { "" };
        add(
            format!("instructions{per}"),
            baseline.instructions as f64,
            candidate.instructions as f64,
        );
        for (core, cycles) in &baseline.model_cycles {
            add(
                format!("cycles{per}, {core} model"),
                *cycles as f64,
                candidate.model_cycles[core] as f64,
            );
        }
    }
    report::formatted(table, 2..)
}

/// Reads a cfg that the compiler's flags can hold, which are split at blanks.
fn cfg(spec: &str) -> Result<String, String> {
    if spec.is_empty() || spec.contains(char::is_whitespace) {
        return Err("a cfg is one word, such as `name` or `name=\"value\"`".to_owned());
    }
    Ok(spec.to_owned())
}
