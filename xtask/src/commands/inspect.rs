//! `inspect`: the compiled code, with patches and without, without a clock.

use crate::project::Project;
use anyhow::Result;

use super::{constant_time, count, preflight};

/// Look at the compiled code: its instructions, its kernels, and whether data shows in what is executed.
#[derive(clap::Subcommand)]
pub enum Mode {
    Count(count::Args),
    Kernels(preflight::Args),
    ConstantTime(constant_time::Args),
}

pub fn run(mode: Mode, project: &Project) -> Result<()> {
    match mode {
        Mode::Count(args) => count::run(args, project),
        Mode::Kernels(args) => preflight::run(&args, project),
        Mode::ConstantTime(args) => constant_time::run(&args, project),
    }
}
