//! `preflight`: what the compiled kernels hold, and what the models of some cores make of it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{IsTerminal, Write as _};
use std::iter::repeat_with;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use comfy_table::{CellAlignment, Table};
use serde::Serialize;

use super::spinner;
use crate::build::{Builder, Candidate, Target, Toolchain};
use crate::code::{self, Architecture, Block, Counts, Function};
use crate::emulation::{self, CORTEX_A76};
use crate::error::Failure;
use crate::interrupt;
use crate::isa::Isa;
use crate::model::{self, Models, OLDEST};
use crate::pairs;
use crate::patch::Patch;
use crate::project::Project;
use crate::report;
use crate::series::Series;
use crate::tracer::{Machine, Traced, Tracer};

/// How often a loop is passed for the model to run evenly.
const LOOP_PASSES: u64 = 20;

/// The most loops of a function that a table shows. `--json` has all.
const SHOWN_LOOPS: usize = 3;

/// A figure's name in the table.
type Figure = (&'static str, fn(&Counts) -> usize);

const FIGURES: [Figure; 16] = [
    ("instructions", |counts| counts.instructions),
    ("multiplies", |counts| counts.multiplies),
    ("adds, subtracts", |counts| counts.adds),
    ("compares, masks", |counts| counts.compares),
    ("shuffles", |counts| counts.shuffles),
    ("shifts", |counts| counts.shifts),
    ("logic", |counts| counts.logic),
    ("moves", |counts| counts.moves),
    ("calls", |counts| counts.calls),
    ("jumps", |counts| counts.jumps),
    ("other", |counts| counts.other),
    ("loads", |counts| counts.loads),
    ("broadcasts", |counts| counts.broadcasts),
    ("stores", |counts| counts.stores),
    ("reloads", |counts| counts.reloads),
    ("spills", |counts| counts.spills),
];

/// Show what the compiled kernels hold: instructions by class, bytes, and cycles as models of cores have them.
///
/// Disassembles the workers. A kernel is a function of the packages that the patches change which
/// multiplies. With patches, those are shown that differ from the ones of Plonky3 as published. Innermost loops and the
/// rest of a function stand apart. `bound` is what llvm-mca says one pass takes where no instruction waits for
/// another's result, `model` what it says one pass takes.
///
/// Where this CPU runs the workers, whole permutations are listed instruction by instruction and timed, and `gap` is
/// the measured time over the bound of LLVM's model of this CPU: below about 1.2 there is nothing left to tune by hand in
/// that shape. A bound is as good as the model.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo p3 preflight batched-permute --isa x86-64-v4 --kernel poseidon2
  cargo p3 preflight --baseline --isa x86-64-v3 --json preflight.json
  cargo p3 preflight neon-umull-reduce --isa neon")]
pub struct Args {
    /// Patches to look at together; none means all of the series.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Look at Plonky3 as published alone, before a kernel is written.
    #[arg(long)]
    baseline: bool,
    /// Instruction set to build for; may be given several times.
    #[arg(long, value_enum, value_name = "ISA", default_value = "native")]
    isa: Vec<Isa>,
    /// Kernels whose path contains TEXT; may be given several times [default: all].
    #[arg(long, value_name = "TEXT")]
    kernel: Vec<String>,
    /// Write the figures to FILE.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Look at these executables as they are.
    #[arg(long, num_args = 1..=2, value_names = ["BASELINE", "CANDIDATE"], hide = true)]
    workers: Option<Vec<PathBuf>>,
}

/// The output of `--json`. Other programs read it: a change of meaning is a new `schema`.
#[derive(Serialize)]
struct Report {
    schema: u32,
    base: String,
    patches: Vec<String>,
    /// Whose functions are looked at.
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

#[derive(Serialize)]
struct Found {
    /// The size of each core's first-level instruction cache.
    cache_bytes: usize,
    /// Kernels that hold the same on both sides, and are not listed.
    unchanged: usize,
    kernels: Vec<Kernel>,
    /// The models' gaps, each in a sentence.
    notes: BTreeSet<String>,
}

/// A function on both sides, or one of them.
#[derive(Serialize)]
struct Kernel {
    name: String,
    baseline: Option<Held>,
    candidate: Option<Held>,
}

#[derive(Serialize)]
struct Held {
    all: Counts,
    loops: Vec<Modelled>,
    rest: Modelled,
}

/// Instructions, and what the models make of one pass over them.
#[derive(Serialize)]
struct Modelled {
    #[serde(flatten)]
    counts: Counts,
    /// By core.
    cores: BTreeMap<String, Cycles>,
}

#[derive(Clone, Copy, Serialize)]
struct Cycles {
    /// Where no instruction waits for another's result.
    bound: f64,
    /// In a loop, of one pass among many; else of one alone.
    model: f64,
    micro_ops: u64,
}

pub fn run(args: &Args, project: &Project) -> Result<()> {
    if let Some(path) = &args.json {
        report::check_folder(path)?;
    }
    let series = Series::load(&project.patches)?;
    let (base, chosen) = series.chosen(&project.patches, None, &args.names)?;
    let mut packages = BTreeSet::new();
    for name in &chosen {
        packages.extend(Patch::load(&project.patches, &base, name)?.header.packages);
    }
    let models = Models::find();
    let mut report = Report {
        schema: 1,
        base,
        patches: if args.baseline { Vec::new() } else { chosen },
        packages,
        rustc: Toolchain::query()?.version,
        llvm_mca: models.as_ref().map(|models| models.version.clone()),
        isas: Vec::new(),
    };
    let targets = args.isa.iter().map(|isa| Ok((*isa, target(*isa)?)));
    let targets: Vec<(Isa, Target)> = targets.collect::<Result<_>>()?;
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{}", header(&report))?;
    let builder = match args.workers {
        Some(_) => None,
        None => Some(Builder::new(
            project,
            &report.base,
            &report.patches,
            Candidate::Patched,
        )?),
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
        writeln!(stdout, "\n{isa}, rustflags {rustflags}")?;
        write!(stdout, "{}", found.tables(stdout.is_terminal()))?;
        for note in &found.notes {
            eprintln!("note: {isa}: {note}");
        }
        let units = if builder.is_some() && cfg!(target_arch = "x86_64") && isa != Isa::Neon {
            timed(&executables)?
        } else {
            Vec::new()
        };
        if !units.is_empty() {
            writeln!(stdout, "\n{}", gaps(&units, stdout.is_terminal()))?;
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
                measured: report::round4(pairs::cycles(executable, &unit)?),
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
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let cpu = match units.first().and_then(|unit| unit.cpu.as_deref()) {
        Some(cpu) => format!("which LLVM calls {cpu}"),
        None => "which LLVM does not know".to_owned(),
    };
    format!(
        "cycles of one repetition on this CPU, {cpu}; measured: the least of several; gap: measured / bound\n{}",
        table.trim_fmt()
    )
}

/// The target to build for. NEON elsewhere than on aarch64 is built as `count` does it.
fn target(isa: Isa) -> Result<Target> {
    if isa.is_foreign() {
        emulation::require()?;
        return Ok(Target::emulated(CORTEX_A76));
    }
    // Build scripts are compiled for it too, and run.
    isa.check()?;
    Ok(isa.into())
}

/// The executables as given, or else built: the baseline and, unless it is looked at alone, the candidate.
fn executables(args: &Args, builder: Option<&Builder<'_>>, target: Target) -> Result<Vec<PathBuf>> {
    let Some(builder) = builder else {
        return Ok(args.workers.clone().unwrap_or_default());
    };
    let bar = spinner(format!("building the workers for {}", target.name));
    let built = if args.baseline {
        vec![builder.baseline(&target)?]
    } else {
        let workers = builder.build(target)?;
        vec![workers.baseline, workers.candidate]
    };
    bar.finish_and_clear();
    Ok(built)
}

/// The kernels that differ between the executables, or those of the first where it is the only one.
fn compare(
    executables: &[PathBuf],
    packages: &BTreeSet<String>,
    wanted: &dyn Fn(&str) -> bool,
    models: Option<&Models>,
) -> Result<Found> {
    let load = |(name, executable)| Side::load(name, executable, packages, wanted);
    let sides = ["baseline", "candidate"].into_iter().zip(executables);
    let mut sides = sides.map(load).collect::<Result<Vec<_>>>()?;
    let cache_bytes = cache_bytes(sides[0].architecture);
    if sides.iter().all(|side| side.kernels.is_empty()) {
        return Err(Failure::input("no kernel has such a path")
            .hint("without --kernel, all kernels are shown")
            .into());
    }
    let mut unchanged = 0;
    if let [baseline, candidate] = &mut sides[..] {
        unchanged = baseline.drop_what_equals(candidate);
    }
    let mut notes = BTreeSet::new();
    let mut by_name: BTreeMap<String, [Vec<Held>; 2]> = BTreeMap::new();
    for (number, side) in sides.into_iter().enumerate() {
        for (name, held) in side.held(models, &mut notes)? {
            by_name.entry(name).or_default()[number].push(held);
        }
    }
    let mut kernels = Vec::new();
    for (name, mut sides) in by_name {
        // Instances of one generic function have one name. What they compute decides how often they multiply, and changes
        // less than their size does.
        for side in &mut sides {
            side.sort_by_key(|held| Reverse((held.all.multiplies, held.all.bytes)));
        }
        let [baseline, candidate] = sides.map(Vec::into_iter);
        let longer = baseline.len().max(candidate.len());
        let pad = |side: std::vec::IntoIter<Held>| side.map(Some).chain(repeat_with(|| None));
        let pairs = pad(baseline).zip(pad(candidate)).take(longer);
        kernels.extend(pairs.map(|(baseline, candidate)| Kernel {
            name: name.clone(),
            baseline,
            candidate,
        }));
    }
    kernels.sort_by_key(|kernel| Reverse(kernel.bytes()));
    Ok(Found {
        cache_bytes,
        unchanged,
        kernels,
        notes,
    })
}

/// The kernels of one executable.
struct Side<'a> {
    name: &'static str,
    executable: &'a Path,
    architecture: Architecture,
    kernels: Vec<Function>,
}

impl<'a> Side<'a> {
    fn load(
        name: &'static str,
        executable: &'a PathBuf,
        packages: &BTreeSet<String>,
        wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Self> {
        let (architecture, kernels) = code::kernels(executable, packages, wanted)?;
        Ok(Self {
            name,
            executable,
            architecture,
            kernels,
        })
    }

    /// Drops what both hold; returns how many kernels that are.
    fn drop_what_equals(&mut self, other: &mut Self) -> usize {
        let before = self.kernels.len();
        self.kernels.retain(|kernel| {
            let twin = other.kernels.iter().position(|other| kernel.equals(other));
            twin.map(|twin| other.kernels.swap_remove(twin)).is_none()
        });
        before - self.kernels.len()
    }

    /// The kernels by name, with what the models make of them. What these leave out is added to `notes`.
    fn held(
        self,
        models: Option<&Models>,
        notes: &mut BTreeSet<String>,
    ) -> Result<Vec<(String, Held)>> {
        let texts = match models {
            Some(models) => models.disassemble(self.architecture, self.executable)?,
            None => HashMap::new(),
        };
        let models = models.map(|models| (models, &texts));
        let loops = self.kernels.iter().flat_map(|kernel| &kernel.loops);
        let loops = self.modelled(loops.collect(), LOOP_PASSES, models, notes)?;
        let rests = self.kernels.iter().map(|kernel| &kernel.rest);
        let rests = self.modelled(rests.collect(), 1, models, notes)?;
        let (mut loops, mut rests) = (loops.into_iter(), rests.into_iter());
        let held = |kernel: Function| {
            let held = Held {
                all: kernel.all,
                loops: loops.by_ref().take(kernel.loops.len()).collect(),
                rest: rests.next().expect("every kernel has one"),
            };
            (kernel.name, held)
        };
        Ok(self.kernels.into_iter().map(held).collect())
    }

    fn modelled(
        &self,
        blocks: Vec<&Block>,
        passes: u64,
        models: Option<(&Models, &HashMap<u64, String>)>,
        notes: &mut BTreeSet<String>,
    ) -> Result<Vec<Modelled>> {
        let modelled = |block: &&Block| Modelled {
            counts: block.counts.clone(),
            cores: BTreeMap::new(),
        };
        let mut modelled: Vec<Modelled> = blocks.iter().map(modelled).collect();
        let some = blocks.iter().any(|block| !block.addresses.is_empty());
        let Some((models, texts)) = models.filter(|_| some) else {
            return Ok(modelled);
        };
        let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
        let assembly = folder.path().join("kernels.s");
        let sequences = blocks.iter().map(|block| &block.addresses[..]);
        models.write(&assembly, sequences, texts)?;
        let mut known: Vec<(&str, Vec<String>)> = Vec::new();
        let cores = self.architecture.cores();
        for (core, estimates) in models.estimates(self.architecture, &cores, &assembly, passes) {
            let estimates = match estimates {
                Ok(estimates) => estimates,
                Err(error) => {
                    interrupt::check()?;
                    notes.insert(format!("{core}, {}: no figures: {error:#}", self.name));
                    continue;
                }
            };
            if let Some((twin, _)) = known.iter().find(|(_, units)| *units == estimates.units) {
                notes.insert(format!(
                    "{core}: llvm-mca {} has no model of it and uses {twin}'s",
                    models.version
                ));
            }
            let lacking = model::lacking(core);
            let lacks =
                |address: &u64| lacking.is_some_and(|start| texts[address].starts_with(start));
            let mut left_out = 0;
            for (number, (block, modelled)) in blocks.iter().zip(&mut modelled).enumerate() {
                if block.addresses.iter().any(lacks) {
                    notes.insert(format!(
                        "{core}: cannot run all kernels of the {}",
                        self.name
                    ));
                    continue;
                }
                let estimate = estimates.sequences.get(&number);
                let taken_in = estimate.map_or(0, |estimate| estimate.instructions);
                left_out += block.addresses.len() - taken_in;
                modelled.cores.extend(estimate.map(|estimate| {
                    let cycles = Cycles {
                        bound: report::round4(estimate.bound),
                        model: report::round4(estimate.cycles as f64 / passes as f64),
                        micro_ops: estimate.micro_ops,
                    };
                    (core.to_owned(), cycles)
                }));
            }
            if left_out > 0 {
                notes.insert(format!(
                    "{core}, {}: its model leaves out {left_out} instructions",
                    self.name
                ));
            }
            known.push((core, estimates.units));
        }
        Ok(modelled)
    }
}

impl Kernel {
    fn bytes(&self) -> usize {
        let sides = [&self.baseline, &self.candidate].into_iter().flatten();
        sides.map(|held| held.all.bytes).max().unwrap_or(0)
    }

    /// A line for each figure, and for each side columns for all of it, its largest loops and the rest.
    fn table(&self, cache_bytes: usize, terminal: bool) -> Table {
        let mut table = report::empty_table(terminal);
        let columns: Vec<Column<'_>> =
            [("baseline", &self.baseline), ("candidate", &self.candidate)]
                .into_iter()
                .flat_map(|(side, held)| held.iter().flat_map(move |held| held.columns(side)))
                .collect();
        let headings = columns.iter().map(|column| column.heading.clone());
        table.set_header([String::new()].into_iter().chain(headings));
        let mut add = |figure: &str, cells: Vec<String>| {
            if cells.iter().any(|cell| !matches!(cell.as_str(), "" | "0")) {
                table.add_row([figure.to_owned()].into_iter().chain(cells));
            }
        };
        let bytes = |column: &Column<'_>| {
            let bytes = column.counts.bytes;
            format!("{bytes} ({} %)", 100 * bytes / cache_bytes)
        };
        add(
            &format!("bytes (of {} KiB)", cache_bytes >> 10),
            columns.iter().map(bytes).collect(),
        );
        for (figure, count) in FIGURES {
            let cell = |column: &Column<'_>| count(column.counts).to_string();
            add(figure, columns.iter().map(cell).collect());
        }
        let modelled = columns.iter().filter_map(|column| column.cores);
        let cores: BTreeSet<&str> = modelled
            .flat_map(|cores| cores.keys().map(String::as_str))
            .collect();
        for core in cores {
            let cell = |column: &Column<'_>| {
                let cycles = column.cores.and_then(|cores| cores.get(core));
                cycles.map_or_else(String::new, |cycles| {
                    format!("{:.0}/{:.0}", cycles.bound, cycles.model)
                })
            };
            add(
                &format!("{core}, bound/model"),
                columns.iter().map(cell).collect(),
            );
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table
    }

    /// Loops that a core has to decode anew in each pass.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        for (side, held) in [("baseline", &self.baseline), ("candidate", &self.candidate)] {
            let loops = held.iter().flat_map(Held::shown_loops);
            for (number, modelled) in loops {
                let exceeded = modelled.cores.iter().filter_map(|(core, cycles)| {
                    let size = micro_op_cache(core).filter(|size| cycles.micro_ops > *size)?;
                    Some(format!("{core} ({} of {size})", cycles.micro_ops))
                });
                let exceeded: Vec<String> = exceeded.collect();
                if !exceeded.is_empty() {
                    remarks.push(format!(
                        "{side}, loop {}: more micro-operations than are kept decoded on {}",
                        number + 1,
                        exceeded.join(", ")
                    ));
                }
            }
        }
        remarks
    }
}

/// A column of a kernel's table.
struct Column<'a> {
    heading: String,
    counts: &'a Counts,
    cores: Option<&'a BTreeMap<String, Cycles>>,
}

impl Held {
    fn columns(&self, side: &str) -> Vec<Column<'_>> {
        if self.loops.is_empty() {
            return vec![self.rest.column(side, "all")];
        }
        let mut columns = vec![Column {
            heading: format!("{side}\nall"),
            counts: &self.all,
            cores: None,
        }];
        let loops = self.shown_loops().into_iter();
        columns.extend(
            loops.map(|(number, block)| block.column(side, &format!("loop {}", number + 1))),
        );
        columns.push(self.rest.column(side, "rest"));
        columns
    }

    /// The largest loops, by their numbers.
    fn shown_loops(&self) -> Vec<(usize, &Modelled)> {
        let mut loops: Vec<_> = self.loops.iter().enumerate().collect();
        loops.sort_by_key(|(_, modelled)| Reverse(modelled.counts.bytes));
        loops.truncate(SHOWN_LOOPS);
        loops.sort_by_key(|(number, _)| *number);
        loops
    }
}

impl Modelled {
    fn column(&self, side: &str, what: &str) -> Column<'_> {
        Column {
            heading: format!("{side}\n{what}"),
            counts: &self.counts,
            cores: Some(&self.cores),
        }
    }
}

impl Found {
    fn tables(&self, terminal: bool) -> String {
        let mut text = String::new();
        for kernel in &self.kernels {
            let table = kernel.table(self.cache_bytes, terminal);
            text += &format!("\n{}\n{}\n", kernel.name, table.trim_fmt());
            for remark in kernel.remarks() {
                text += &format!("{remark}\n");
            }
        }
        if self.unchanged > 0 {
            text += &format!(
                "\nkernels that hold the same on both sides, not shown: {}\n",
                self.unchanged
            );
        }
        text
    }
}

/// The first-level instruction cache of the cores that have models.
const fn cache_bytes(architecture: Architecture) -> usize {
    match architecture {
        Architecture::X86_64 => 32 << 10,
        Architecture::Aarch64 => 64 << 10,
    }
}

/// How many micro-operations a core keeps decoded. Intel's optimization manual and AMD's guides have these; so have Arm's
/// for the two of its cores that keep any.
fn micro_op_cache(core: &str) -> Option<u64> {
    match core {
        "znver4" => Some(6912),
        "znver5" => Some(6144),
        "sapphirerapids" => Some(4096),
        "icelake-server" => Some(2304),
        "skylake-avx512" => Some(1536),
        "neoverse-v1" => Some(3072),
        "neoverse-v2" => Some(1536),
        _ => None,
    }
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
