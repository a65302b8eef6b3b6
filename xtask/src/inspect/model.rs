//! The time that sequences of instructions take by LLVM's models of some cores.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::Command;
use std::thread;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::inspect::code::Architecture;
use paired::error::Failure;
use paired::interrupt;
use paired::terminal::shown;

impl Architecture {
    /// Returns the cores whose models are told apart from older ones. `cortex-a76` is not among them: LLVM has it as a
    /// Cortex-A57.
    pub fn cores(self) -> Vec<String> {
        let cores: &[&str] = match self {
            Self::X86_64 => &[
                "znver4",
                "znver5",
                "sapphirerapids",
                "icelake-server",
                "skylake-avx512",
            ],
            Self::Aarch64 => &["neoverse-n1", "neoverse-v1", "neoverse-v2"],
        };
        cores.iter().map(|core| (*core).to_owned()).collect()
    }

    const fn triple(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-linux-gnu",
            Self::Aarch64 => "aarch64-linux-gnu",
        }
    }
}

/// The first release of LLVM that has a model of each of [`Architecture::cores`] and can leave out what a model does not know.
pub const OLDEST: u32 = 19;

/// Returns the beginning of the mnemonics that a core lacks, though its model takes them for instructions like others.
pub fn lacking(core: &str) -> Option<&'static str> {
    // IFMA came with the next one.
    (core == "skylake-avx512").then_some("vpmadd52")
}

/// llvm-mca, and the disassembler of the same release, whose text it reads.
pub struct Models {
    pub version: String,
    /// The end of the programs' names, `-19` or nothing.
    suffix: String,
}

/// A model's cycles for a sequence.
pub struct Estimate {
    /// The cycles of all passes.
    pub cycles: u64,
    /// The number of instructions of one pass that the model has figures for; it leaves out the others.
    pub instructions: usize,
    /// The cycles of one pass if no instruction waited for another's result.
    pub bound: f64,
    /// The micro-operations of one pass.
    pub micro_ops: u64,
}

/// A model's cycles for all sequences of a file.
pub struct Estimates {
    /// The estimates by the number of the sequence.
    pub sequences: HashMap<usize, Estimate>,
    /// The model's names of the core's units. Cores with the same units are one model by two names.
    pub units: Vec<String>,
}

/// The part of llvm-mca's output that is read.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Listing {
    code_regions: Vec<Region>,
    target_info: TargetInfo,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Region {
    name: String,
    summary_view: Summary,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Summary {
    #[serde(rename = "BlockRThroughput")]
    bound: f64,
    /// The instructions of all passes; `micro_ops` is of all passes, too.
    instructions: u64,
    iterations: u64,
    total_cycles: u64,
    #[serde(rename = "TotaluOps")]
    micro_ops: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TargetInfo {
    resources: Vec<String>,
}

impl Models {
    /// Returns the newest there is, if there is one new enough.
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

    /// Returns the text of each instruction of an executable, by address.
    pub fn disassemble(
        &self,
        architecture: Architecture,
        executable: &Path,
    ) -> Result<HashMap<u64, String>> {
        let program = format!("llvm-objdump{}", self.suffix);
        let mut command = Command::new(&program);
        command
            .args(["--disassemble", "--no-show-raw-insn"])
            .arg(executable);
        let listing = succeed(&mut command)?;
        let parse = |line| parse(architecture, line);
        Ok(listing.lines().filter_map(parse).collect())
    }

    /// Writes sequences, each as one straight line where it is not empty, for [`Models::estimate`].
    pub fn write<'a>(
        &self,
        path: &Path,
        sequences: impl IntoIterator<Item = &'a [u64]>,
        texts: &HashMap<u64, String>,
    ) -> Result<()> {
        let unwritable = || format!("cannot write {}", shown(path));
        let mut file = BufWriter::new(File::create(path).with_context(unwritable)?);
        for (number, sequence) in sequences.into_iter().enumerate() {
            if sequence.is_empty() {
                continue;
            }
            writeln!(file, "# LLVM-MCA-BEGIN {number}").with_context(unwritable)?;
            for address in sequence {
                let text = texts.get(address).ok_or_else(|| {
                    Failure::check(format!("{address:#x}: not in the disassembly"))
                })?;
                writeln!(file, "{text}").with_context(unwritable)?;
            }
            writeln!(file, "# LLVM-MCA-END").with_context(unwritable)?;
        }
        file.flush().with_context(unwritable)
    }

    /// Returns each core's model of the sequences that [`Models::write`] wrote, or the reason why there is none.
    pub fn estimates<'a>(
        &self,
        architecture: Architecture,
        cores: &'a [String],
        assembly: &Path,
        passes: u64,
    ) -> Vec<(&'a str, Result<Estimates>)> {
        thread::scope(|scope| {
            let start = |core: &'a String| {
                let estimate = move || self.estimate(architecture, core, assembly, passes);
                (core.as_str(), scope.spawn(estimate))
            };
            let started: Vec<_> = cores.iter().map(start).collect();
            started
                .into_iter()
                .map(|(core, thread)| (core, thread.join().expect("estimating does not panic")))
                .collect()
        })
    }

    /// So many passes over each sequence, on a `core` whose caches and branches never miss.
    fn estimate(
        &self,
        architecture: Architecture,
        core: &str,
        assembly: &Path,
        passes: u64,
    ) -> Result<Estimates> {
        let mut command = Command::new(format!("llvm-mca{}", self.suffix));
        command
            .arg(format!("-mtriple={}", architecture.triple()))
            .arg(format!("-mcpu={core}"))
            .arg(format!("-iterations={passes}"))
            .args(["-instruction-info=false", "-resource-pressure=false"])
            .args(["-skip-unsupported-instructions=lack-sched", "-json"])
            .arg(assembly);
        let listing: Listing = serde_json::from_str(&succeed(&mut command)?)
            .context("llvm-mca printed no listing of instructions")?;
        let estimate = |region: Region| -> Result<(usize, Estimate)> {
            let summary = region.summary_view;
            let number = region.name.parse().context("a sequence without a number")?;
            let estimate = Estimate {
                cycles: summary.total_cycles,
                instructions: (summary.instructions / summary.iterations) as usize,
                bound: summary.bound,
                micro_ops: summary.micro_ops / summary.iterations,
            };
            Ok((number, estimate))
        };
        Ok(Estimates {
            sequences: listing
                .code_regions
                .into_iter()
                .map(estimate)
                .collect::<Result<_>>()?,
            units: listing.target_info.resources,
        })
    }
}

/// Returns the version that a program of LLVM's says it has.
fn version(program: &str) -> Option<String> {
    let output = interrupt::output(Command::new(program).arg("--version")).ok()?;
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
            shown(command.get_program()),
            stderr.lines().next().unwrap_or("failed")
        ))
        .into());
    }
    String::from_utf8(output.stdout).context("a listing that is no UTF-8")
}

/// Address and text of a line of a disassembly, `  ADDRESS: \tMNEMONIC\tOPERANDS`.
fn parse(architecture: Architecture, line: &str) -> Option<(u64, String)> {
    let (address, text) = line.split_once(':')?;
    let address = u64::from_str_radix(address.trim_start(), 16).ok()?;
    Some((address, straightened(architecture, text.trim_start())))
}

/// Rewrites an instruction for a straight line, in which each one leads to the next.
///
/// A model charges 100 cycles for a call, since it cannot see what comes between. A call becomes a branch, and so does a return:
/// its load of the address delays nothing on a core that predicts it. Every target becomes a name, since the assembler takes no
/// number for one.
fn straightened(architecture: Architecture, text: &str) -> String {
    let (comment, branch) = match architecture {
        Architecture::X86_64 => ("#", "jmp"),
        Architecture::Aarch64 => ("//", "b"),
    };
    let text = text.split(comment).next().unwrap_or(text).trim_end();
    // A prefix stands before two tabs. That of a branch, `rep` or `bnd` (shown as `repne`), takes no time.
    let text = match text.split_once("\t\t") {
        Some((_, branch))
            if ["call", "j", "ret"]
                .iter()
                .any(|start| branch.starts_with(start)) =>
        {
            branch
        }
        _ => text,
    };
    let (mnemonic, operands) = text.split_once('\t').unwrap_or((text, ""));
    if leads_elsewhere(architecture, mnemonic) {
        return format!("{branch}\ttarget");
    }
    let operands: Vec<&str> = operands
        .split(", ")
        .map(|operand| {
            // In parentheses stands what an x86 adds to the number.
            if operand.starts_with("0x") && !operand.contains('(') {
                "target"
            } else {
                operand
            }
        })
        .collect();
    format!("{mnemonic}\t{}", operands.join(", "))
}

/// Tells whether an instruction is a call, a return or a jump without a condition, in any of the forms that llvm-objdump prints.
fn leads_elsewhere(architecture: Architecture, mnemonic: &str) -> bool {
    match architecture {
        Architecture::X86_64 => {
            let near = mnemonic.strip_prefix('l').unwrap_or(mnemonic);
            ["call", "jmp", "ret", "iret"]
                .into_iter()
                .filter_map(|stem| near.strip_prefix(stem))
                .any(|size| ["", "w", "l", "q"].contains(&size))
        }
        Architecture::Aarch64 => {
            // With pointer authentication, by either key, and with zero or a register as the modifier.
            const AUTHENTICATED: [&str; 5] = ["", "aa", "ab", "aaz", "abz"];
            let authenticated = |stem| {
                let rest = mnemonic.strip_prefix(stem);
                rest.is_some_and(|rest| AUTHENTICATED.contains(&rest))
            };
            mnemonic == "bl"
                || ["blr", "br", "ret"].into_iter().any(authenticated)
                || ["retaasppc", "retabsppc"].contains(&mnemonic)
        }
    }
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
            ("  4002cc:      \tret\tx1", "b\ttarget"),
            ("  4002cc:      \tretaa", "b\ttarget"),
            ("  4002cc:      \tretab", "b\ttarget"),
            ("  4002cc:      \tretaasppc\t0x40be04 <f>", "b\ttarget"),
            ("  4002cc:      \tblr\tx1", "b\ttarget"),
            ("  4002cc:      \tblraa\tx1, x2", "b\ttarget"),
            ("  4002cc:      \tblrabz\tx1", "b\ttarget"),
            ("  4002cc:      \tbr\tx1", "b\ttarget"),
            ("  4002cc:      \tbrab\tx1, x2", "b\ttarget"),
            ("  4002cc:      \tbraaz\tx1", "b\ttarget"),
            ("  4002cc:      \tbrk\t#0x1", "brk\t#0x1"),
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
            assert_eq!(parse(Architecture::Aarch64, line).unwrap().1, text);
        }
        let parse = |line| parse(Architecture::Aarch64, line);
        assert_eq!(parse("  40be10:      \tnop").unwrap().0, 0x40_be10);
        assert!(parse("000000000040bdc0 <_start>:").is_none());
        assert!(parse("worker:\tfile format elf64-littleaarch64").is_none());
    }

    #[test]
    fn an_x86s_addresses_are_no_targets() {
        for (line, text) in [
            (
                "  23ff0:      \tvpaddq\t0x20(%rsp), %ymm0, %ymm1",
                "vpaddq\t0x20(%rsp), %ymm0, %ymm1",
            ),
            (
                "  23ff0:      \tvmovdqa\t0x1f(%rip), %ymm0 # 0x24010 <_ZN1fE>",
                "vmovdqa\t0x1f(%rip), %ymm0",
            ),
            ("  23ff0:      \tjne\t0x24010 <_ZN1fE+0x10>", "jne\ttarget"),
            ("  23ff0:      \tcallq\t*0x20(%rax)", "jmp\ttarget"),
            ("  23ff0:      \tretq", "jmp\ttarget"),
            ("  23ff0:      \tretq\t$0x8", "jmp\ttarget"),
            ("  23ff0:      \tretw", "jmp\ttarget"),
            ("  23ff0:      \tlretq", "jmp\ttarget"),
            ("  23ff0:      \tiretq", "jmp\ttarget"),
            ("  23ff0:      \trep\t\tretq", "jmp\ttarget"),
            ("  23ff0:      \trepne\t\tretq", "jmp\ttarget"),
            (
                "  23ff0:      \trepne\t\tcallq\t0x10 <f+0x10>",
                "jmp\ttarget",
            ),
            ("  23ff0:      \trepne\t\tjmpq\t*%rax", "jmp\ttarget"),
            ("  23ff0:      \trepne\t\tjne\t0x68 <f+0x68>", "jne\ttarget"),
            ("  23ff0:      \tlcalll\t*(%rax)", "jmp\ttarget"),
            ("  23ff0:      \tljmpl\t*(%rax)", "jmp\ttarget"),
            (
                "  23ff0:      \trep\t\tstosq\t%rax, %es:(%rdi)",
                "rep\t\tstosq\t%rax, %es:(%rdi)",
            ),
            ("  23ff0:      \tmovl\t$0x10, %eax", "movl\t$0x10, %eax"),
        ] {
            assert_eq!(parse(Architecture::X86_64, line).unwrap().1, text);
        }
    }
}
