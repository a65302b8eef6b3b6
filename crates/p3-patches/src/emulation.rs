//! NEON on a machine of another architecture: what it takes to build for it, and an emulator that runs what was built
//! and lists each instruction that it executes.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

use crate::build::rustc;
use crate::error::Failure;
use crate::interrupt;
use crate::pairs::protocol::{Reply, Request};

pub const TRIPLE: &str = "aarch64-unknown-linux-gnu";
const EMULATOR: &str = "qemu-aarch64-static";
const LINKER: &str = "aarch64-linux-gnu-gcc";

/// The core that is emulated. The emulator's default has SVE, which the C library would use.
pub const CORTEX_A76: &str = "cortex-a76";

const HINT: &str = "ci/isa.sh installs what is needed, on x86-64 Linux";

/// The first thing that this machine lacks to build for aarch64 and to run the result.
pub fn missing() -> Option<String> {
    if !has_rust(TRIPLE) {
        return Some(format!("no Rust for {TRIPLE}"));
    }
    let lacking = [EMULATOR, LINKER].into_iter().find(|name| !runs(name));
    lacking.map(|name| format!("no {name}"))
}

/// Whether there are libraries to compile for a target with.
pub fn has_rust(target: &str) -> bool {
    let args = ["--print", "target-libdir", "--target", target];
    let libraries = rustc().args(args).output().ok();
    let libraries = libraries.and_then(|output| String::from_utf8(output.stdout).ok());
    libraries.is_some_and(|path| Path::new(path.trim_end()).is_dir())
}

/// Refuses to go on where [`missing`] names something.
pub fn require() -> Result<()> {
    missing().map_or(Ok(()), |what| {
        Err(Failure::environment(format!("{what} on this machine"))
            .hint(HINT)
            .into())
    })
}

/// Whether a program is there and can be started.
pub fn runs(program: &str) -> bool {
    runs_with(program, &["--version"])
}

/// Whether a program is there and ends well with these arguments.
pub fn runs_with(program: &str, arguments: &[&str]) -> bool {
    let output = Command::new(program).args(arguments).output();
    output.is_ok_and(|output| output.status.success())
}

/// Has cargo build for aarch64.
pub fn cross(cargo: &mut Command) {
    cargo
        .args(["--target", TRIPLE])
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER);
}

/// Has cargo run what it builds in the emulator.
pub fn run_under(cargo: &mut Command) {
    cargo.env(
        "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER",
        format!("{EMULATOR} -cpu {CORTEX_A76} -L /usr/aarch64-linux-gnu"),
    );
}

/// Refuses a name that the compiler would only warn about.
pub fn check_target_cpu(cpu: &str) -> Result<()> {
    let args = ["--print", "target-cpus", "--target", TRIPLE];
    let listed = stdout(rustc().args(args))?;
    let mut known = listed
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    if known.any(|name| name == cpu && cpu != "native") {
        return Ok(());
    }
    Err(
        Failure::input(format!("--target-cpu {cpu}: rustc knows no such CPU"))
            .hint(format!(
                "`rustc --print target-cpus --target {TRIPLE}` lists them"
            ))
            .into(),
    )
}

/// An emulator that logs every instruction that it executes.
pub struct Emulator {
    pub version: String,
    pub cpu: String,
    /// The option that makes each instruction a translated block of its own; its name changed with version 8.1.
    single: &'static str,
}

impl Emulator {
    /// For executables that the compiler made for `target_cpu`: that core where the emulator has it, else one with all
    /// extensions that it knows, but the default of [`CORTEX_A76`] for what runs on any core.
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
        let cpu = match target_cpu {
            "generic" => CORTEX_A76,
            known if cpus.split_whitespace().any(|cpu| cpu == known) => known,
            _ => "max",
        };
        let single = if ask(&["-h"])?.contains("-one-insn-per-tb") {
            "-one-insn-per-tb"
        } else {
            "-singlestep"
        };
        Ok(Self {
            version: version.lines().next().unwrap_or_default().to_owned(),
            cpu: cpu.to_owned(),
            single,
        })
    }

    /// Has `worker` answer one request; also returns the address of each instruction that it executed, in order.
    pub fn trace(&self, worker: &Path, request: &Request) -> Result<(Reply, Vec<u64>)> {
        let mut process = Emulated(
            Command::new(EMULATOR)
                .args(["-cpu", &self.cpu, self.single, "-d", "exec,nochain"])
                .arg(worker)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .with_context(|| format!("cannot run {EMULATOR}"))?,
        );
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
            let worker = worker.display();
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

/// A worker's answer, or an error where it gave none.
pub fn reply(worker: &Path, text: &str) -> Result<Reply> {
    let worker = worker.display();
    match serde_json::from_str(text) {
        Ok(Reply::Error(error)) => Err(Failure::check(format!("{worker}: {error}")).into()),
        Ok(reply) => Ok(reply),
        Err(_) => Err(Failure::check(format!(
            "{worker}: printed what is no reply: {}",
            text.chars().take(80).collect::<String>()
        ))
        .into()),
    }
}

/// An emulator's process. It dies with the value.
pub struct Emulated(pub Child);

impl Drop for Emulated {
    fn drop(&mut self) {
        // Fails only for a process that has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The address in a line of the log, `Trace CPU: HOST [BASE/ADDRESS/FLAGS/..] SYMBOL`; other lines have none.
fn executed(line: &[u8]) -> Option<u64> {
    let fields = line.strip_prefix(b"Trace ")?;
    let address = fields.split(|&byte| byte == b'/').nth(1)?;
    u64::from_str_radix(std::str::from_utf8(address).ok()?, 16).ok()
}

fn stdout(command: &mut Command) -> Result<String> {
    let output = interrupt::output(command)?;
    String::from_utf8(output.stdout)
        .with_context(|| format!("{} printed no UTF-8", command.get_program().display()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
