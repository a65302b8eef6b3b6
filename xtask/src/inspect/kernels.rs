//! The kernels of two executables side by side: instructions by class, bytes, cycles as models of cores have them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::iter::repeat_with;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;

use crate::inspect::code::{self, Architecture, Block, Counts, Function};
use crate::inspect::model::{self, Models};
use paired::error::Failure;
use paired::files::claimed;
use paired::interrupt;
use paired::show::report;
use paired::stats::row;

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

#[derive(Serialize)]
pub struct Found {
    /// The size of each core's first-level instruction cache.
    cache_bytes: usize,
    /// Kernels that hold the same on both sides, and are not listed.
    unchanged: usize,
    kernels: Vec<Kernel>,
    /// The models' gaps, each in a sentence.
    pub notes: BTreeSet<String>,
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

/// Returns the kernels that differ between the executables, or those of the first where it is the only one.
pub fn compare(
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

    /// Returns the kernels by name, with what the models make of them. What these leave out is added to `notes`.
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
        let folder = claimed::folder()?;
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
                        bound: row::round4(estimate.bound),
                        model: row::round4(estimate.cycles as f64 / passes as f64),
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

    /// Returns a line for each figure, and for each side columns for all of it, its largest loops and the rest.
    fn table(&self, cache_bytes: usize, terminal: bool) -> String {
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
        report::formatted(table, 1..)
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

    /// Returns the largest loops, by their numbers.
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
    pub fn tables(&self, terminal: bool) -> String {
        let mut text = String::new();
        for kernel in &self.kernels {
            let table = kernel.table(self.cache_bytes, terminal);
            text += &format!("\n{}\n{table}\n", kernel.name);
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

/// Returns the first-level instruction cache of the cores that have models.
const fn cache_bytes(architecture: Architecture) -> usize {
    match architecture {
        Architecture::X86_64 => 32 << 10,
        Architecture::Aarch64 => 64 << 10,
    }
}

/// Tells how many micro-operations a core keeps decoded. Intel's optimization manual and AMD's guides have these; so have Arm's
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
