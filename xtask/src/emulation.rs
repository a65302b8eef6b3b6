//! NEON on a machine of another architecture: what it takes to build for it, and an emulator that runs what was built
//! and lists each instruction that it executes.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use paired::cargo::rustc;
use paired::error::Failure;
use paired::interrupt;
use paired::terminal::shown;

pub const TRIPLE: &str = "aarch64-unknown-linux-gnu";

pub const EMULATOR: &str = "qemu-aarch64-static";

const LINKER: &str = "aarch64-linux-gnu-gcc";

/// The core that is emulated. The emulator's default has SVE, which the C library would use.
pub const CORTEX_A76: &str = "cortex-a76";

pub const HINT: &str = "ci/isa.sh installs what is needed, on x86-64 Linux";

/// Returns the first thing that this machine lacks to build for aarch64 and to run the result.
pub fn missing() -> Option<String> {
    if !has_rust(TRIPLE) {
        return Some(format!("no Rust for {TRIPLE}"));
    }
    let lacking = [EMULATOR, LINKER].into_iter().find(|name| !runs(name));
    lacking.map(|name| format!("no {name}"))
}

/// Tells whether there are libraries to compile for a target with.
pub fn has_rust(target: &str) -> bool {
    let args = ["--print", "target-libdir", "--target", target];
    let libraries = interrupt::output(rustc().args(args)).ok();
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

/// Tells whether a program is there and can be started.
pub fn runs(program: &str) -> bool {
    runs_with(program, &["--version"])
}

/// Tells whether a program is there and ends well with these arguments.
pub fn runs_with(program: &str, arguments: &[&str]) -> bool {
    let output = interrupt::output(Command::new(program).args(arguments));
    output.is_ok_and(|output| output.status.success())
}

/// Makes cargo build for aarch64.
pub fn cross(cargo: &mut Command) {
    cargo
        .args(["--target", TRIPLE])
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER);
}

/// Makes cargo run what it builds in the emulator.
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

pub fn stdout(command: &mut Command) -> Result<String> {
    let output = interrupt::output(command)?;
    String::from_utf8(output.stdout)
        .with_context(|| format!("{} printed no UTF-8", shown(command.get_program())))
}
