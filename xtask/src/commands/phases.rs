//! `ab --phases`: a permutation's phases alone, added up, and as a whole, with patches and without.

use std::env::consts::ARCH;
use std::io::{IsTerminal, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;

use super::compared::{Compared, Executables, SEEDS, header, measure, runnable};
use crate::bench::breakdown::{Breakdown, Rows};
use crate::bench::build::Purpose;
use crate::project::Project;
use p3_patches::commands::MOST_RUNS;
use paired::cargo::Toolchain;
use paired::run::pairs::{self, Plan};
use paired::run::protocol::RowInfo;
use paired::show::machine::Machine;
use paired::show::report;

/// Measure the phases of Poseidon2, with patches and without.
///
/// Times the permutation without its internal rounds and with them, in a loop on its own result, in pairs as `ab` does; the
/// difference is the internal rounds. Beside them stand a batch of states and a commitment. Where the commitment's ratio
/// disagrees with the permutation's by more than their intervals, a line says at which step.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo p3 ab --phases batched-permute
  cargo p3 ab --phases batched-permute --isa x86-64-v3 --isa x86-64-v4 --json phases.json")]
pub struct Args {
    #[command(flatten)]
    pub(super) compared: Compared,
    /// Write the figures to FILE, and the raw samples beside it as CSV.
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Inputs, each with processes of its own, at least 2.
    #[arg(long, value_name = "N", default_value_t = SEEDS, value_parser = clap::value_parser!(u64).range(2..=MOST_RUNS))]
    pub(super) seeds: u64,
    /// Pairs per input.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=MOST_RUNS))]
    pub(super) reps: u64,
}

/// The output of `--json`. Other programs read it: a change of meaning is a new `schema`.
#[derive(Serialize)]
struct Report {
    schema: u32,
    base: String,
    patches: Vec<String>,
    machine: Machine,
    permutations: Vec<Breakdown>,
}

pub fn run(args: &Args, project: &Project) -> Result<()> {
    let inputs = args.compared.inputs(project);
    report::check_outputs(args.json.as_deref(), true, None, &inputs)?;
    let isas = runnable(args.compared.isas())?;
    let (base, patches) = args.compared.chosen(project)?;
    project
        .catalog
        .refuse_inert(&base, &args.compared.names, &[ARCH])?;
    let machine = Machine::here(&Toolchain::query()?, &isas, "");
    let Executables {
        workers,
        builder: _builder,
    } = (args.compared).executables(project, (&base, &patches), &isas, Purpose::Measurement)?;
    let plan = Plan {
        seeds: args.seeds,
        reps: args.reps as usize,
        timeout: Duration::from_secs(300),
    };
    let permutations = Rows::all(&pairs::rows(&workers[0].1.baseline, plan.timeout)?)?;

    let mut stdout = std::io::stdout().lock();
    writeln!(
        stdout,
        "{}\nbase {base}, patches {}, {} seeds x {} pairs of 8 runs, in the order ABBAABBA",
        header(&machine),
        patches.join(" "),
        plan.seeds,
        plan.reps,
    )?;
    let rows: Vec<RowInfo> = permutations.iter().flat_map(Rows::iter).cloned().collect();
    let runs = measure(&workers, &rows, &plan, None, |_| Ok(()))?.runs;
    let mut report = Report {
        schema: 2,
        base,
        patches,
        machine,
        permutations: Vec::new(),
    };
    for runs in runs.chunk_by(|a, b| a.isa == b.isa) {
        for rows in &permutations {
            report.permutations.push(Breakdown::new(rows, runs)?);
        }
    }
    if let Some(path) = &args.json {
        report::write(path, &report, Some(&runs))?;
    }
    // Last, since it may fail: the figures are in the files by now.
    for breakdown in &report.permutations {
        println!("\n{}", breakdown.table(stdout.is_terminal()));
        if let Some(remark) = &breakdown.remark {
            println!("{remark}");
        }
    }
    Ok(())
}
