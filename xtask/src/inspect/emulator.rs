//! An emulator of aarch64 that runs a worker and logs each instruction that it executes.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::emulation::{CORTEX_A76, EMULATOR, HINT, runs, stdout};
use paired::error::Failure;
use paired::interrupt::{self, Group};
use paired::run::protocol::{Reply, Request};
use paired::run::worker::reply;
use paired::terminal::shown;

/// An emulator that logs every instruction that it executes.
pub struct Emulator {
    pub version: String,
    pub cpu: String,
    /// The option that makes each instruction a translated block of its own; its name changed with version 8.1.
    single: &'static str,
}

impl Emulator {
    /// Finds the emulator, and picks the core that it emulates for executables made for `target_cpu`.
    pub fn find(target_cpu: &str) -> Result<Self> {
        if !runs(EMULATOR) {
            return Err(
                Failure::environment(format!("no {EMULATOR} on this machine"))
                    .hint(HINT)
                    .into(),
            );
        }
        let ask = |argument: &[&str]| stdout(Command::new(EMULATOR).args(argument));
        let version = ask(&["--version"])?;
        let cpus = ask(&["-cpu", "help"])?;
        let cpu = emulated_cpu(target_cpu, &cpus);
        let single = if ask(&["-h"])?.contains("-one-insn-per-tb") {
            "-one-insn-per-tb"
        } else {
            "-singlestep"
        };
        Ok(Self {
            version: version.lines().next().unwrap_or_default().to_owned(),
            cpu,
            single,
        })
    }

    /// Sends one request to `worker`, and returns its reply with the address of each instruction that it executed, in order.
    pub fn trace(&self, worker: &Path, request: &Request) -> Result<(Reply, Vec<u64>)> {
        let mut process = Group::start(
            Command::new(EMULATOR)
                .args(["-cpu", &self.cpu, self.single, "-d", "exec,nochain"])
                .arg(worker)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped()),
        )?;
        let child = &mut process.0;
        let mut stdin = child.stdin.take().expect("stdin is piped");
        let log = child.stderr.take().expect("stderr is piped");
        let stdout = child.stdout.take().expect("stdout is piped");
        // A worker that does not read it has died, which its status will say. The end of the input ends the worker.
        let _ = writeln!(stdin, "{}", serde_json::to_string(request)?);
        drop(stdin);

        let mut addresses = Vec::new();
        let mut complaint = String::new();
        let mut log = BufReader::new(log);
        let mut line = Vec::new();
        while log.read_until(b'\n', &mut line)? > 0 {
            match executed(&line) {
                Some(address) => addresses.push(address),
                None => complaint += &String::from_utf8_lossy(&line),
            }
            line.clear();
            if addresses.len().is_multiple_of(1 << 16) {
                interrupt::check()?;
            }
        }
        let mut text = String::new();
        // One line, which fits the pipe while the log is being read.
        BufReader::new(stdout).read_to_string(&mut text)?;
        let status = child.wait()?;
        interrupt::check()?;

        if !status.success() || !complaint.is_empty() {
            let worker = shown(worker);
            return Err(Failure::check(format!(
                "{worker}: ended with {status} under {EMULATOR} -cpu {}: {}",
                self.cpu,
                complaint.trim_end()
            ))
            .into());
        }
        Ok((reply(worker, &text)?, addresses))
    }
}

/// Returns the emulator's option for executables made for `target_cpu`: that core where `known` lists it, else all extensions
/// with that core's length of vectors, on which counts depend. What runs on any core has [`CORTEX_A76`].
fn emulated_cpu(target_cpu: &str, known: &str) -> String {
    if target_cpu == "generic" {
        return CORTEX_A76.to_owned();
    }
    if known.split_whitespace().any(|cpu| cpu == target_cpu) {
        return target_cpu.to_owned();
    }
    // The emulator's own default is 64, and most cores that have SVE have vectors as long as NEON's.
    let bytes = match target_cpu {
        "a64fx" => 64,
        "neoverse-v1" | "fujitsu-monaka" => 32,
        _ => 16,
    };
    format!("max,sve-default-vector-length={bytes}")
}

/// Returns the address in a line of the log, `Trace CPU: HOST [BASE/ADDRESS/FLAGS/..] SYMBOL`; other lines have none.
pub fn executed(line: &[u8]) -> Option<u64> {
    let fields = line.strip_prefix(b"Trace ")?;
    let address = fields.split(|&byte| byte == b'/').nth(1)?;
    u64::from_str_radix(std::str::from_utf8(address).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_that_the_emulator_lacks_keeps_its_length_of_vectors() {
        for (target_cpu, cpu) in [
            ("generic", "cortex-a76"),
            ("neoverse-n1", "neoverse-n1"),
            ("neoverse-v1", "max,sve-default-vector-length=32"),
            ("neoverse-v2", "max,sve-default-vector-length=16"),
            ("neoverse-n2", "max,sve-default-vector-length=16"),
        ] {
            let known = "Available CPUs:\n  cortex-a76\n  max\n  neoverse-n1\n";
            assert_eq!(emulated_cpu(target_cpu, known), cpu);
        }
    }

    #[test]
    fn addresses_are_read_from_the_logs_of_old_and_new_emulators() {
        for (line, address) in [
            (
                "Trace 0: 0x7f62ed200100 [0000000000001001/000000000040bdc0/00000001/00000201] _start\n",
                Some(0x40_bdc0),
            ),
            (
                "Trace 0: 0x7f62ed200100 [00000000/0000005500000b40/01000001/ff000201] \n",
                Some(0x55_0000_0b40),
            ),
            (
                "Stopped execution of TB chain before 0x7f62 [40bdc0] main\n",
                None,
            ),
            ("thread 'main' panicked at 1/40/2\n", None),
            ("Trace 0: cut", None),
        ] {
            assert_eq!(executed(line.as_bytes()), address, "{line}");
        }
    }
}
