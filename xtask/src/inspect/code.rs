//! The functions of an executable: their instructions by class, and their loops.

mod aarch64;
pub mod constant_time;
mod graph;
mod x86;

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use serde::Serialize;

use paired::error::Failure;
use paired::files::plain;
use paired::terminal::shown;

/// The architecture of an executable.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Architecture {
    X86_64,
    Aarch64,
}

/// An instruction's purpose. Whether it reads or writes memory is kept apart from it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Class {
    Multiply,
    /// Additions and subtractions.
    Add,
    /// Comparisons, and what makes or uses masks: conditional moves and blends too.
    Compare,
    /// Moves lanes within a vector or between vectors.
    Shuffle,
    Shift,
    Logic,
    /// From a register or a constant to another register, or a plain load or store.
    Move,
    Call,
    Jump,
    Other,
}

impl Class {
    /// By the beginning of a mnemonic, the first that fits.
    fn by_prefix(name: &str, table: &[(&[&str], Self)]) -> Self {
        let fits = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        table
            .iter()
            .find(|(prefixes, _)| fits(prefixes))
            .map_or(Self::Other, |(_, class)| *class)
    }
}

/// Memory that an operand names.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Place {
    /// A fixed distance from the stack pointer, or from a frame pointer where the function has one.
    Frame,
    Elsewhere,
}

/// One decoded instruction.
#[derive(Debug)]
struct Instruction {
    address: u64,
    length: u64,
    class: Class,
    reads: Option<Place>,
    writes: Option<Place>,
    /// Tells whether the instruction reads one value into every lane.
    broadcasts: bool,
    flow: Flow,
}

/// Where control goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Flow {
    Next,
    /// To the target or on to the next instruction.
    Branch(u64),
    Jump(u64),
    /// Out of the function, or nobody knows where.
    Away,
}

/// Instructions by class, and what they do with memory.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Counts {
    pub bytes: usize,
    pub instructions: usize,
    pub multiplies: usize,
    pub adds: usize,
    pub compares: usize,
    pub shuffles: usize,
    pub shifts: usize,
    pub logic: usize,
    pub moves: usize,
    pub calls: usize,
    pub jumps: usize,
    pub other: usize,
    /// Neither broadcasts nor reloads.
    pub loads: usize,
    pub broadcasts: usize,
    pub stores: usize,
    pub reloads: usize,
    pub spills: usize,
}

/// Instructions of a function that are looked at together, in the order of their addresses.
#[derive(Debug)]
pub struct Block {
    pub counts: Counts,
    pub addresses: Vec<u64>,
}

#[derive(Debug)]
pub struct Function {
    pub name: String,
    pub address: u64,
    pub code: Vec<u8>,
    pub all: Counts,
    /// The innermost ones.
    pub loops: Vec<Block>,
    /// The instructions outside all innermost loops.
    pub rest: Block,
}

impl Function {
    /// Tells whether two functions hold the same, as far as this tool looks.
    pub fn equals(&self, other: &Self) -> bool {
        let counts = |function: &Self| -> Vec<Counts> {
            let loops = function.loops.iter().map(|block| block.counts.clone());
            loops.chain([function.all.clone()]).collect()
        };
        counts(self) == counts(other)
    }
}

/// A product of one packed element takes four on x86-64, and two on NEON for two lanes; fewer are the compiler's, for the
/// sizes of slices.
const FEWEST_MULTIPLIES: usize = 4;

/// Returns the kernels of an executable: the functions of `packages` that multiply and run once for a hash, whose paths are
/// `wanted`.
pub fn kernels(
    executable: &Path,
    packages: &BTreeSet<String>,
    wanted: impl Fn(&str) -> bool,
) -> Result<(Architecture, Vec<Function>)> {
    let wanted = |name: &str| belongs(name, packages) && !sets_up(name) && wanted(name);
    let (architecture, mut kernels) = functions(executable, wanted)?;
    kernels.retain(|function| function.all.multiplies >= FEWEST_MULTIPLIES);
    Ok((architecture, kernels))
}

/// Tells whether a function, or the type that it is a method of, is one of the packages'.
fn belongs(function: &str, packages: &BTreeSet<String>) -> bool {
    let of = |package: &String| function.contains(&format!("{}::", package.replace('-', "_")));
    packages.iter().any(of)
}

/// Tells whether a function runs once for a hasher, not once for a hash.
fn sets_up(function: &str) -> bool {
    let method = function.rsplit("::").next().unwrap_or(function);
    ["new", "from", "compute_", "clone", "fmt"]
        .iter()
        .any(|prefix| method.starts_with(prefix))
}

/// Returns the functions of an executable whose demangled names are `wanted`.
fn functions(
    executable: &Path,
    wanted: impl Fn(&str) -> bool,
) -> Result<(Architecture, Vec<Function>)> {
    let shown = shown(executable);
    let bytes = plain::read(executable).with_context(|| format!("cannot read {shown}"))?;
    let refused = |what: &str| Failure::environment(format!("{shown}: {what}"));
    let file = object::File::parse(&*bytes)
        .map_err(|error| refused(&format!("{error}")).hint("only ELF executables are read"))?;
    let architecture = match file.architecture() {
        object::Architecture::X86_64 => Architecture::X86_64,
        object::Architecture::Aarch64 => Architecture::Aarch64,
        other => return Err(refused(&format!("compiled for {other:?}")).into()),
    };
    let mut functions = Vec::new();
    let mut addresses = Vec::new();
    for symbol in file.symbols() {
        let name = symbol.name().unwrap_or_default();
        let name = format!("{:#}", rustc_demangle::demangle(name));
        // The linker gives functions of equal code one address.
        if symbol.kind() != SymbolKind::Text
            || symbol.size() == 0
            || !wanted(&name)
            || addresses.contains(&symbol.address())
        {
            continue;
        }
        let index = symbol.section_index().context("a function in no section")?;
        let section = file.section_by_index(index)?;
        let code = section.data_range(symbol.address(), symbol.size())?;
        let code = code.ok_or_else(|| refused(&format!("{name} lies outside of its section")))?;
        addresses.push(symbol.address());
        functions.push(function(architecture, name, symbol.address(), code));
    }
    Ok((architecture, functions))
}

fn function(architecture: Architecture, name: String, address: u64, code: &[u8]) -> Function {
    let instructions = match architecture {
        Architecture::X86_64 => x86::decode(address, code),
        Architecture::Aarch64 => aarch64::decode(address, code),
    };
    let loops = graph::innermost_loops(&instructions);
    let in_loop = |index: usize| loops.iter().any(|members| members.contains(&index));
    let rest = (0..instructions.len()).filter(|index| !in_loop(*index));
    let block = |members: &mut dyn Iterator<Item = usize>| -> Block {
        let members: Vec<_> = members.map(|index| &instructions[index]).collect();
        Block {
            counts: Counts::of(members.iter().copied()),
            addresses: members
                .iter()
                .map(|instruction| instruction.address)
                .collect(),
        }
    };
    Function {
        name,
        address,
        code: code.to_vec(),
        all: Counts::of(&instructions),
        loops: loops
            .iter()
            .map(|members| block(&mut members.iter().copied()))
            .collect(),
        rest: block(&mut rest.into_iter()),
    }
}

impl Counts {
    fn of<'a>(instructions: impl IntoIterator<Item = &'a Instruction>) -> Self {
        let mut counts = Self::default();
        for instruction in instructions {
            counts.bytes += instruction.length as usize;
            counts.instructions += 1;
            *match instruction.class {
                Class::Multiply => &mut counts.multiplies,
                Class::Add => &mut counts.adds,
                Class::Compare => &mut counts.compares,
                Class::Shuffle => &mut counts.shuffles,
                Class::Shift => &mut counts.shifts,
                Class::Logic => &mut counts.logic,
                Class::Move => &mut counts.moves,
                Class::Call => &mut counts.calls,
                Class::Jump => &mut counts.jumps,
                Class::Other => &mut counts.other,
            } += 1;
            match instruction.reads {
                Some(_) if instruction.broadcasts => counts.broadcasts += 1,
                Some(Place::Frame) => counts.reloads += 1,
                Some(Place::Elsewhere) => counts.loads += 1,
                None => {}
            }
            match instruction.writes {
                Some(Place::Frame) => counts.spills += 1,
                Some(Place::Elsewhere) => counts.stores += 1,
                None => {}
            }
        }
        counts
    }
}

#[cfg(test)]
impl Counts {
    /// Returns the figures about memory that are not zero.
    fn memory(&self) -> String {
        let figures = [
            (self.loads, "loads"),
            (self.broadcasts, "broadcasts"),
            (self.stores, "stores"),
            (self.reloads, "reloads"),
            (self.spills, "spills"),
        ];
        let named = figures.iter().filter(|(count, _)| *count > 0);
        named.map(|(_, name)| *name).collect::<Vec<_>>().join(" ")
    }
}
