//! `count`: the instructions that Plonky3 with patches and Plonky3 as published execute, under emulation.

use std::collections::{BTreeMap, HashMap};
use std::io::{IsTerminal, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use tempfile::TempDir;

use super::spinner;
use crate::build::{Builder, Candidate, Target, Toolchain};
use crate::callgrind::Callgrind;
use crate::code::Architecture;
use crate::emulation::{self, CORTEX_A76, Emulator};
use crate::error::Failure;
use crate::isa::Isa;
use crate::model::{Estimate, Models, OLDEST};
use crate::pairs::Workers;
use crate::pairs::protocol::{Reply, Request, UnitInfo};
use crate::project::Project;
use crate::report;
use crate::series::Series;
use crate::trace;

/// Count the instructions of Plonky3 with patches and of Plonky3 as published.
///
/// Runs both workers in an emulator that lists each instruction, or on x86-64 in valgrind, which counts them. The counts
/// are exact: a unit's are what a run that repeats it once more executes beyond one that does not, and the tool fails
/// unless that is one repetition and nothing else. Cycles are what llvm-mca's models of some cores make of the listed
/// instructions; nothing is timed, and a count does not say how instructions overlap. Outputs are compared first.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo p3 count --isa neon
  cargo p3 count batched-permute --isa neon --json count.json
  cargo p3 count batched-permute --isa x86-64-v3
  cargo p3 count batched-permute --isa neon --target-cpu neoverse-v2
  cargo p3 count neon-dispatch-fix --isa neon --cfg 'p3_goldilocks_packed_w8=\"fused\"'")]
pub struct Args {
    /// Patches to count together; none means all of the series.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Instruction set to build for: neon or x86-64-v3. Valgrind has no AVX-512.
    #[arg(long, value_enum, value_name = "ISA", default_value = "neon")]
    isa: Isa,
    /// The core that NEON is compiled for, by rustc's name for it; `generic` is rustc's own default.
    #[arg(long, value_name = "CPU", default_value = CORTEX_A76)]
    target_cpu: String,
    /// A cfg that a patch asks for, as rustc takes it; may be given several times.
    #[arg(long, value_name = "SPEC")]
    cfg: Vec<String>,
    /// Write the counts to FILE.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Run these two executables as they are.
    #[arg(long, num_args = 2, value_names = ["BASELINE", "CANDIDATE"], hide = true)]
    workers: Option<Vec<PathBuf>>,
}

/// What `--json` writes. Other programs read it: a change of meaning is a new `schema`.
#[derive(Serialize)]
struct Report {
    schema: u32,
    base: String,
    patches: Vec<String>,
    isa: String,
    rustc: String,
    rustflags: String,
    emulator: String,
    emulated_cpu: String,
    /// The version whose models the cycles come from, if there are any.
    llvm_mca: Option<String>,
    units: Vec<Unit>,
}

#[derive(Serialize)]
struct Unit {
    unit: String,
    /// What the table divides by.
    leaves: usize,
    baseline: Count,
    candidate: Count,
}

/// One repetition of a unit.
#[derive(Serialize)]
struct Count {
    instructions: usize,
    /// By core.
    model_cycles: BTreeMap<&'static str, u64>,
}

pub fn run(args: Args, project: &Project) -> Result<()> {
    let machine = match args.isa {
        Isa::Neon => Machine::emulated(&args.target_cpu)?,
        Isa::V3 => {
            args.isa.check()?;
            Machine::Callgrind(Callgrind::find()?)
        }
        other => {
            return Err(Failure::input(format!(
                "--isa {other}: instructions are counted for neon and x86-64-v3; valgrind has no AVX-512"
            ))
            .hint("`cargo p3 ab` measures times on what this CPU runs")
            .into());
        }
    };
    let series = Series::load(&project.patches)?;
    let (base, patches) = series.chosen(&project.patches, None, &args.names)?;
    let mut target = match args.isa {
        Isa::Neon => Target::emulated(&args.target_cpu),
        isa => Target::counted(isa),
    };
    target.set_cfgs(&args.cfg);
    let mut report = Report {
        schema: 1,
        base,
        patches,
        isa: args.isa.to_string(),
        rustc: Toolchain::query()?.version,
        rustflags: target.rustflags.clone(),
        emulator: machine.version().to_owned(),
        emulated_cpu: machine.cpu().to_owned(),
        llvm_mca: machine.models().map(|models| models.version.clone()),
        units: Vec::new(),
    };

    let (workers, _lock) = workers(&args, project, &report, target)?;
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{}", header(&report))?;
    report.units = Counter::new(machine)?.all(&workers)?;
    writeln!(stdout, "{}", table(&report.units, stdout.is_terminal()))?;
    if let Some(path) = &args.json {
        report::write_json(path, &report)?;
    }
    Ok(())
}

/// The executables as given, or else built, with the lock on the folder that they were built in.
fn workers<'a>(
    args: &Args,
    project: &'a Project,
    report: &Report,
    target: Target,
) -> Result<(Workers, Option<Builder<'a>>)> {
    if let Some([baseline, candidate]) = args.workers.as_deref() {
        let given = Workers {
            baseline: baseline.clone(),
            candidate: candidate.clone(),
        };
        return Ok((given, None));
    }
    if args.isa == Isa::Neon {
        emulation::require()?;
        emulation::check_target_cpu(&args.target_cpu)?;
    }
    let bar = spinner(format!("building the workers for {}", target.name));
    let builder = Builder::new(project, &report.base, &report.patches, Candidate::Patched)?;
    let workers = builder.build(target)?;
    bar.finish_and_clear();
    Ok((workers, Some(builder)))
}

/// What executes the workers.
enum Machine {
    /// Lists each instruction, for the models to read.
    Emulated(Emulator, Option<Models>),
    /// Counts them.
    Callgrind(Callgrind),
}

impl Machine {
    fn emulated(target_cpu: &str) -> Result<Self> {
        Ok(Self::Emulated(Emulator::find(target_cpu)?, Models::find()))
    }

    fn version(&self) -> &str {
        match self {
            Self::Emulated(emulator, _) => &emulator.version,
            Self::Callgrind(callgrind) => &callgrind.version,
        }
    }

    fn cpu(&self) -> &str {
        match self {
            Self::Emulated(emulator, _) => &emulator.cpu,
            Self::Callgrind(_) => "this CPU without AVX-512",
        }
    }

    fn models(&self) -> Option<&Models> {
        match self {
            Self::Emulated(_, models) => models.as_ref(),
            Self::Callgrind(_) => None,
        }
    }
}

/// Counts, and asks the models.
struct Counter {
    machine: Machine,
    scratch: TempDir,
}

/// One of the executables, with the text of its instructions where there are models to read it.
struct Side<'a> {
    name: &'static str,
    executable: &'a Path,
    texts: Option<HashMap<u64, String>>,
}

impl Counter {
    fn new(machine: Machine) -> Result<Self> {
        Ok(Self {
            machine,
            scratch: tempfile::tempdir().context("cannot create a temporary folder")?,
        })
    }

    /// Counts every unit that the workers have, on both sides.
    fn all(&self, workers: &Workers) -> Result<Vec<Unit>> {
        let baseline = self.side("baseline", &workers.baseline)?;
        let candidate = self.side("candidate", &workers.candidate)?;
        let bar = spinner("");
        let mut units = Vec::new();
        for UnitInfo { name, leaves } in self.listed(&baseline)? {
            let mut digest = None;
            let mut count = |side: &Side<'_>| {
                bar.set_message(format!("{name}, {}", side.name));
                self.count(&name, side, &mut digest)
            };
            let (baseline, candidate) = (count(&baseline)?, count(&candidate)?);
            units.push(Unit {
                unit: name,
                leaves,
                baseline,
                candidate,
            });
        }
        bar.finish_and_clear();
        Ok(units)
    }

    fn side<'a>(&self, name: &'static str, executable: &'a Path) -> Result<Side<'a>> {
        let texts = self
            .machine
            .models()
            .map(|models| models.disassemble(Architecture::Aarch64, executable));
        Ok(Side {
            name,
            executable,
            texts: texts.transpose()?,
        })
    }

    fn listed(&self, side: &Side<'_>) -> Result<Vec<UnitInfo>> {
        let reply = match &self.machine {
            Machine::Emulated(emulator, _) => emulator.trace(side.executable, &Request::Units)?.0,
            Machine::Callgrind(callgrind) => callgrind.count(side.executable, &Request::Units)?.0,
        };
        match reply {
            Reply::Units(units) => Ok(units),
            other => Err(side.confused(&other)),
        }
    }

    /// One unit on one side. All runs of a unit have to return the same `digest`.
    fn count(&self, unit: &str, side: &Side<'_>, digest: &mut Option<String>) -> Result<Count> {
        let request = |times| Request::Repeat {
            unit: unit.to_owned(),
            times,
        };
        let mut check = |reply: Reply| {
            let Reply::Repeated { digest: returned } = reply else {
                return Err(side.confused(&reply));
            };
            let expected = digest.get_or_insert_with(|| returned.clone());
            if *expected != returned {
                return Err(Failure::check(format!(
                    "{unit}: the {}'s outputs differ from the baseline's (digest {returned} for {expected})",
                    side.name
                ))
                .hint("nothing is counted where outputs differ")
                .into());
            }
            Ok(())
        };
        let emulator = match &self.machine {
            Machine::Emulated(emulator, _) => emulator,
            Machine::Callgrind(callgrind) => {
                let run = |times| {
                    let (reply, count) = callgrind.count(side.executable, &request(times))?;
                    check(reply)?;
                    Ok(count)
                };
                return counted(unit, side, run);
            }
        };
        let mut run = |times| {
            let (reply, executed) = emulator.trace(side.executable, &request(times))?;
            check(reply)?;
            Ok::<_, anyhow::Error>(executed)
        };
        let (fewer, more) = (run(trace::FEWER)?, run(trace::FEWER + 1)?);
        let sequence = trace::unit(&fewer, &more).ok_or_else(|| {
            Failure::check(format!(
                "{unit}: the {}'s runs of {} and {} repetitions differ by more than one repetition ({} and {} \
                 instructions)",
                side.name,
                trace::FEWER,
                trace::FEWER + 1,
                fewer.len(),
                more.len()
            ))
            .hint("a unit has to execute the same instructions whenever it is repeated")
        })?;
        Ok(Count {
            instructions: sequence.len(),
            model_cycles: self.model_cycles(unit, side, sequence)?,
        })
    }

    fn model_cycles(
        &self,
        unit: &str,
        side: &Side<'_>,
        sequence: &[u64],
    ) -> Result<BTreeMap<&'static str, u64>> {
        let (Some(models), Some(texts)) = (self.machine.models(), &side.texts) else {
            return Ok(BTreeMap::new());
        };
        let path = self.scratch.path().join("unit.s");
        models.write(&path, [sequence], texts)?;
        let mut cycles = BTreeMap::new();
        for (core, estimates) in models.estimates(Architecture::Aarch64, &path, 1) {
            let estimates = estimates?;
            let Estimate {
                cycles: modelled,
                instructions,
                ..
            } = estimates
                .sequences
                .get(&0)
                .with_context(|| format!("llvm-mca knows none of {unit} on {core}"))?;
            let left_out = sequence.len() - instructions;
            if left_out > sequence.len() / 1000 {
                let side = side.name;
                eprintln!(
                    "note: {unit}, {side}: {core}'s model knows nothing of {left_out} instructions"
                );
            }
            cycles.insert(core, *modelled);
        }
        Ok(cycles)
    }
}

/// A unit's instructions where runs only say how many they executed: what each of two more repetitions adds.
fn counted(
    unit: &str,
    side: &Side<'_>,
    mut run: impl FnMut(usize) -> Result<u64>,
) -> Result<Count> {
    let [first, second, third] = [0, 1, 2].map(|more| run(trace::FEWER + more));
    let (first, second, third) = (first?, second?, third?);
    match (second.checked_sub(first), third.checked_sub(second)) {
        (Some(one), Some(other)) if one == other => Ok(Count {
            instructions: one as usize,
            model_cycles: BTreeMap::new(),
        }),
        _ => Err(Failure::check(format!(
            "{unit}: the {}'s runs of {}, {} and {} repetitions are not apart by as many instructions ({first}, {second} \
             and {third})",
            side.name,
            trace::FEWER,
            trace::FEWER + 1,
            trace::FEWER + 2
        ))
        .hint("a unit has to execute the same instructions whenever it is repeated")
        .into()),
    }
}

impl Side<'_> {
    fn confused(&self, reply: &Reply) -> anyhow::Error {
        Failure::check(format!(
            "{} worker: gave an answer to another question: {reply:?}",
            self.name
        ))
        .into()
    }
}

fn header(report: &Report) -> String {
    let cycles = report.llvm_mca.as_ref().map_or_else(
        || {
            if report.isa != Isa::Neon.to_string() {
                return "cycles: none; a count does not say how instructions overlap".into();
            }
            format!("cycles: none, without an llvm-mca of LLVM {OLDEST} or later on this machine")
        },
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
         {emulator}, as {emulated_cpu}\n{cycles}"
    )
}

/// A line for the instructions of each unit, and one for each core's model.
fn table(units: &[Unit], terminal: bool) -> String {
    let mut table = Table::new();
    table.load_style(if terminal {
        presets::UTF8_HORIZONTAL_ONLY
    } else {
        presets::NOTHING
    });
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
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt()
}
