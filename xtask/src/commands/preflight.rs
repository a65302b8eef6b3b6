//! `preflight`: what the compiled kernels hold, and what the models of some cores make of it.

use std::collections::BTreeSet;
use std::io::{IsTerminal, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Result;
use cargo_metadata::semver::Version;
use serde::Serialize;

use super::compared::Compared;
use crate::bench::build::{Builder, Purpose, Target};
use crate::emulation::{self, CORTEX_A76};
use crate::inspect::kernels::Found;
use crate::inspect::kernels::compare;
use crate::inspect::model::{Models, OLDEST};
use crate::inspect::tracer::{Machine, Traced, Tracer};
use crate::project::Project;
use paired::cargo::Toolchain;
use paired::isa::Isa;
use paired::run::pairs;
use paired::show::report;
use paired::stats::row;
use paired::terminal::{print_line, spinner};

/// Show what the compiled kernels hold, and cycles as models of cores have them.
///
/// Disassembles the workers. A kernel is a function of the packages that the patches change which
/// multiplies. With patches, those are shown that differ from the ones of Plonky3 as published. Innermost loops and the
/// rest of a function stand apart. `bound` is what llvm-mca says one pass takes where no instruction waits for
/// another's result, `model` what it says one pass takes.
///
/// Where this CPU runs the workers, which `--isa` need not keep to, whole permutations are listed instruction by instruction and timed, and `gap` is
/// the measured time over the bound of LLVM's model of this CPU: below about 1.2 there is nothing left to tune by hand in
/// that shape. A bound is as good as the model.
#[derive(clap::Args)]
#[command(mut_arg("workers", |workers| workers.num_args(1..=2)), after_help = "Examples:
  cargo p3 inspect kernels batched-permute --isa x86-64-v4 --kernel poseidon2
  cargo p3 inspect kernels --baseline --isa x86-64-v3 --json preflight.json
  cargo p3 inspect kernels neon-umull-reduce --isa neon")]
pub struct Args {
    #[command(flatten)]
    compared: Compared,
    /// Look at Plonky3 as published alone, before a kernel is written.
    #[arg(long)]
    baseline: bool,
    /// Kernels whose path contains TEXT; may be given several times [default: all].
    #[arg(long, value_name = "TEXT")]
    kernel: Vec<String>,
    /// Write the figures to FILE.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The output of `--json`. Other programs read it: a change of meaning is a new `schema`.
#[derive(Serialize)]
struct Report {
    schema: u32,
    base: String,
    patches: Vec<String>,
    /// The packages whose functions are looked at.
    packages: BTreeSet<String>,
    rustc: String,
    /// The version whose models the cycles come from, if there are any.
    llvm_mca: Option<String>,
    isas: Vec<OnIsa>,
}

#[derive(Serialize)]
struct OnIsa {
    isa: String,
    rustflags: String,
    #[serde(flatten)]
    found: Found,
    /// None where this CPU cannot run what was built.
    units: Vec<TimedUnit>,
}

/// A unit of the workers in one of the executables, on this CPU.
#[derive(Serialize)]
struct TimedUnit {
    unit: String,
    side: &'static str,
    instructions: usize,
    /// LLVM's name for this CPU; its model has no figures where these are absent.
    cpu: Option<String>,
    bound: Option<f64>,
    model: Option<u64>,
    measured: f64,
}

pub fn run(args: &Args, project: &Project) -> Result<()> {
    let inputs = args.compared.inputs(project);
    report::check_outputs(args.json.as_deref(), false, None, &inputs)?;
    let mut difference = args.compared.chosen(project)?;
    let packages = (project.catalog).packages_of(&difference.base, &difference.patches)?;
    if args.baseline {
        difference.patches.clear();
    }
    let models = Models::find();
    let mut report = Report {
        schema: 1,
        base: difference.base.clone(),
        patches: difference.patches.clone(),
        packages,
        rustc: Toolchain::query()?.version,
        llvm_mca: models.as_ref().map(|models| models.version.clone()),
        isas: Vec::new(),
    };
    let release = Version::parse(&report.base)?;
    let has_units = (release.major, release.minor) >= (0, 8);
    let targets = args
        .compared
        .isas()
        .iter()
        .map(|isa| Ok((*isa, target(*isa)?)));
    let targets: Vec<(Isa, Target)> = targets.collect::<Result<_>>()?;
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{}", header(&report))?;
    let builder = match args.compared.workers {
        Some(_) => None,
        None => Some(Builder::new(project, &difference, Purpose::Measurement)?),
    };
    let wanted = |function: &str| {
        let named = |text: &String| function.contains(text.as_str());
        args.kernel.is_empty() || args.kernel.iter().any(named)
    };
    for (isa, target) in targets {
        let rustflags = target.rustflags.clone();
        let executables = executables(args, builder.as_ref(), target)?;
        let bar = spinner(format!("looking at {isa}"));
        let found = compare(&executables, &report.packages, &wanted, models.as_ref())?;
        bar.finish_and_clear();
        for note in &found.notes {
            print_line("note", &format!("{isa}: {note}"));
        }
        let runs = builder.is_some() && cfg!(target_arch = "x86_64") && isa != Isa::Neon;
        let lacks = isa.check().err().filter(|_| !isa.is_foreign());
        if let Some(lacks) = &lacks {
            eprintln!("note: {lacks}; nothing is timed");
        }
        let runs = runs && lacks.is_none();
        let units = if runs && has_units {
            timed(&executables)?
        } else {
            Vec::new()
        };
        if runs && !has_units {
            eprintln!("note: {isa}: nothing is timed, since the worker has units on 0.8 and later");
        }
        report.isas.push(OnIsa {
            isa: isa.to_string(),
            rustflags,
            found,
            units,
        });
    }
    if let Some(path) = &args.json {
        report::write(path, &report, None)?;
    }
    // Last, since it may fail: what was found is in the file by now.
    let terminal = stdout.is_terminal();
    for on_isa in &report.isas {
        println!("\n{}, rustflags {}", on_isa.isa, on_isa.rustflags);
        print!("{}", on_isa.found.tables(terminal));
        if !on_isa.units.is_empty() {
            println!("\n{}", gaps(&on_isa.units, terminal));
        }
    }
    Ok(())
}

/// Lists the instructions of every permutation, asks the model of this CPU about them, and times them.
fn timed(executables: &[PathBuf]) -> Result<Vec<TimedUnit>> {
    let cpu = Toolchain::native_cpu()?;
    let sides: Vec<(&str, &Path)> = (["baseline", "candidate"].into_iter())
        .zip(executables.iter().map(PathBuf::as_path))
        .collect();
    let cores = cpu.clone().into_iter().collect();
    let tracer = Tracer::new(Machine::Stepped, Models::find(), cores)?;
    let mut timed = Vec::new();
    for Traced { unit, counts } in tracer.all(&sides, |unit| unit.leaves == 1)? {
        for ((side, executable), count) in sides.iter().zip(counts) {
            timed.push(TimedUnit {
                unit: unit.name.clone(),
                side,
                instructions: count.instructions,
                bound: (cpu.as_ref()).and_then(|cpu| count.model_bounds.get(cpu).copied()),
                model: (cpu.as_ref()).and_then(|cpu| count.model_cycles.get(cpu).copied()),
                measured: row::round4(pairs::cycles(executable, &unit.name)?),
                cpu: cpu.clone(),
            });
        }
    }
    Ok(timed)
}

fn gaps(units: &[TimedUnit], terminal: bool) -> String {
    let mut table = report::empty_table(terminal);
    table.set_header([
        "unit",
        "side",
        "instructions",
        "bound",
        "model",
        "measured",
        "gap",
    ]);
    for unit in units {
        let cell = |figure: Option<String>| figure.unwrap_or_else(|| "-".into());
        table.add_row([
            unit.unit.clone(),
            unit.side.to_owned(),
            unit.instructions.to_string(),
            cell(unit.bound.map(|bound| format!("{bound:.0}"))),
            cell(unit.model.map(|cycles| cycles.to_string())),
            format!("{:.0}", unit.measured),
            cell(
                unit.bound
                    .map(|bound| format!("{:.2}", unit.measured / bound)),
            ),
        ]);
    }
    let cpu = match units.first().and_then(|unit| unit.cpu.as_deref()) {
        Some(cpu) => format!("which LLVM calls {cpu}"),
        None => "which LLVM does not know".to_owned(),
    };
    format!(
        "cycles of one repetition on this CPU, {cpu}; measured: the least of several; gap: measured / bound\n{}",
        report::formatted(table, 2..)
    )
}

/// Returns the target to build for. NEON elsewhere than on aarch64 is built as `count` does it.
fn target(isa: Isa) -> Result<Target> {
    if isa.is_foreign() {
        emulation::require()?;
        return Ok(Target::emulated(CORTEX_A76));
    }
    isa.check_architecture()?;
    Ok(isa.into())
}

/// Returns the executables as given, or else built: the baseline and, unless it is looked at alone, the candidate.
fn executables(args: &Args, builder: Option<&Builder<'_>>, target: Target) -> Result<Vec<PathBuf>> {
    let Some(builder) = builder else {
        return Ok(args.compared.workers.clone().unwrap_or_default());
    };
    let bar = spinner("");
    bar.announce(format!("building the workers for {}", target.name));
    let built = if args.baseline {
        vec![builder.baseline(&target)?]
    } else {
        let workers = builder.build(target)?;
        vec![workers.baseline, workers.candidate]
    };
    bar.finish_and_clear();
    Ok(built)
}

fn header(report: &Report) -> String {
    let Report {
        base,
        patches,
        packages,
        rustc,
        ..
    } = report;
    let patches = if patches.is_empty() {
        "no patches".into()
    } else {
        format!("patches {}", patches.join(" "))
    };
    let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
    let cycles = report.llvm_mca.as_ref().map_or_else(
        || format!("cycles: none, without an llvm-mca of LLVM {OLDEST} or later on this machine"),
        |version| {
            format!(
                "cycles of one pass: llvm-mca {version}'s models of the cores, not measured; bound: no instruction waits \
                 for another's result"
            )
        },
    );
    format!(
        "{rustc}\nbase {base}, {patches}\nkernels of {}\n{cycles}",
        packages.join(" ")
    )
}
