//! What LLVM's models of some cores say that a sequence of instructions takes.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::error::Failure;
use crate::interrupt;

/// The cores whose models are told apart from older ones. `cortex-a76` is not among them: LLVM has it as a Cortex-A57.
pub const CORES: [&str; 3] = ["neoverse-n1", "neoverse-v1", "neoverse-v2"];

/// The first release of LLVM that has a model of each of the [`CORES`] and leaves out what a model does not know.
pub const OLDEST: u32 = 19;

/// llvm-mca, and the disassembler of the same release, whose text it reads.
pub struct Models {
    pub version: String,
    /// What ends the programs' names, `-19` or nothing.
    suffix: String,
}

/// What a model makes of a sequence.
pub struct Estimate {
    pub cycles: u64,
    /// How many it took in; it leaves out those that it has no figures for.
    pub instructions: usize,
}

impl Models {
    /// The newest there is, if there is one new enough.
    pub fn find() -> Option<Self> {
        let names = (OLDEST..OLDEST + 10).map(|release| format!("-{release}"));
        let found = names.chain([String::new()]).filter_map(|suffix| {
            let mca = version(&format!("llvm-mca{suffix}"))?;
            version(&format!("llvm-objdump{suffix}")).filter(|objdump| *objdump == mca)?;
            let release = mca.split('.').next()?.parse::<u32>().ok()?;
            (release >= OLDEST).then_some((release, mca, suffix))
        });
        let (_, version, suffix) = found.max()?;
        Some(Self { version, suffix })
    }

    /// The text of each instruction of an executable, by address.
    pub fn disassemble(&self, executable: &Path) -> Result<HashMap<u64, String>> {
        let program = format!("llvm-objdump{}", self.suffix);
        let mut command = Command::new(&program);
        command
            .args(["--disassemble", "--no-show-raw-insn"])
            .arg(executable);
        let listing = succeed(&mut command)?;
        Ok(listing.lines().filter_map(parse).collect())
    }

    /// Writes a sequence as one straight line for [`Models::estimate`].
    pub fn write(&self, path: &Path, sequence: &[u64], texts: &HashMap<u64, String>) -> Result<()> {
        let unwritable = || format!("cannot write {}", path.display());
        let mut file = BufWriter::new(File::create(path).with_context(unwritable)?);
        for address in sequence {
            let text = texts.get(address).ok_or_else(|| {
                Failure::check(format!(
                    "{address:#x}: executed, but not in the disassembly"
                ))
            })?;
            writeln!(file, "{text}").with_context(unwritable)?;
        }
        file.flush().with_context(unwritable)
    }

    /// One pass over the file that [`Models::write`] wrote, on a `core` whose caches and branches never miss.
    pub fn estimate(&self, core: &str, assembly: &Path) -> Result<Estimate> {
        let mut command = Command::new(format!("llvm-mca{}", self.suffix));
        command
            .args(["-mtriple=aarch64-linux-gnu", "-iterations=1"])
            .arg(format!("-mcpu={core}"))
            .args(["-instruction-info=false", "-resource-pressure=false"])
            .arg("-skip-unsupported-instructions=lack-sched")
            .arg(assembly);
        let summary = succeed(&mut command)?;
        let figure = |name: &str| -> Result<u64> {
            let line = summary.lines().find_map(|line| line.strip_prefix(name));
            let value = line.and_then(|value| value.trim().parse().ok());
            value.with_context(|| format!("llvm-mca printed no line {name}"))
        };
        Ok(Estimate {
            cycles: figure("Total Cycles:")?,
            instructions: figure("Instructions:")? as usize,
        })
    }
}

/// The version that a program of LLVM's says it has.
fn version(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (_, version) = text.split_once("LLVM version ")?;
    Some(version.split_whitespace().next()?.to_owned())
}

fn succeed(command: &mut Command) -> Result<String> {
    let output = interrupt::output(command)?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::environment(format!(
            "{}: {}",
            command.get_program().display(),
            stderr.lines().next().unwrap_or("failed")
        ))
        .into());
    }
    String::from_utf8(output.stdout).context("a listing that is no UTF-8")
}

/// Address and text of a line of a disassembly, `  ADDRESS: \tMNEMONIC\tOPERANDS`.
fn parse(line: &str) -> Option<(u64, String)> {
    let (address, text) = line.split_once(':')?;
    let address = u64::from_str_radix(address.trim_start(), 16).ok()?;
    Some((address, straightened(text.trim_start())))
}

/// An instruction as it stands in a straight line: it leads nowhere but to the next one.
///
/// A model charges 100 cycles for each call and return, as it cannot see what comes between. These become branches,
/// and every target becomes a name, since the assembler takes no number for one.
fn straightened(text: &str) -> String {
    let text = text.split("//").next().unwrap_or(text).trim_end();
    let (mnemonic, operands) = text.split_once('\t').unwrap_or((text, ""));
    if matches!(mnemonic, "bl" | "blr" | "br" | "ret") {
        return "b\ttarget".into();
    }
    let operands: Vec<&str> = operands
        .split(", ")
        .map(|operand| {
            if operand.starts_with("0x") {
                "target"
            } else {
                operand
            }
        })
        .collect();
    format!("{mnemonic}\t{}", operands.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_disassembly_become_a_straight_line() {
        for (line, text) in [
            (
                "  4002bc:      \tstp\tx29, x30, [sp, #-0x10]!",
                "stp\tx29, x30, [sp, #-0x10]!",
            ),
            ("  4002c4:      \tbl\t0x40be04 <call_weak_fn>", "b\ttarget"),
            ("  4002cc:      \tret", "b\ttarget"),
            (
                "  40be14:      \tcbz\tx0, 0x40be1c <call_weak_fn+0x18>",
                "cbz\tx0, target",
            ),
            (
                "  40be14:      \ttbz\tw0, #0x3, 0x40be1c <f+0x18>",
                "tbz\tw0, #0x3, target",
            ),
            ("  40be10:      \tb.ne\t0x40be1c <f>", "b.ne\ttarget"),
            (
                "  40be10:      \tadrp\tx0, 0x4b4000 <f+0x10>",
                "adrp\tx0, target",
            ),
            (
                "  40be10:      \tmov\tx1, #0x10              // =16",
                "mov\tx1, #0x10",
            ),
            ("  40be10:      \tnop", "nop\t"),
        ] {
            assert_eq!(parse(line).unwrap().1, text);
        }
        assert_eq!(parse("  40be10:      \tnop").unwrap().0, 0x40_be10);
        assert!(parse("000000000040bdc0 <_start>:").is_none());
        assert!(parse("worker:\tfile format elf64-littleaarch64").is_none());
    }
}
