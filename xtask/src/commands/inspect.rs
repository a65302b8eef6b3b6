//! `inspect`: what is compiled and executed, with patches and without.

use crate::project::Project;
use anyhow::Result;

use super::{constant_time, count, memory, preflight, threads};

/// Look at what is executed: its instructions, its memory, its threads, its kernels, and whether data shows in it.
#[derive(clap::Subcommand)]
pub enum Mode {
    Count(count::Args),
    Memory(memory::Args),
    Threads(threads::Args),
    Kernels(preflight::Args),
    ConstantTime(constant_time::Args),
}

pub fn run(mode: Mode, project: &Project) -> Result<()> {
    match mode {
        Mode::Count(args) => count::run(args, project),
        Mode::Memory(args) => memory::run(&args, project),
        Mode::Threads(args) => threads::run(&args, project),
        Mode::Kernels(args) => preflight::run(&args, project),
        Mode::ConstantTime(args) => constant_time::run(&args, project),
    }
}
