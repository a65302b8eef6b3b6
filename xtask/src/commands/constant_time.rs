//! `constant-time`: whether the compiled kernels branch on data, or address memory by it.

use std::io::Write as _;

use anyhow::Result;

use super::compared::{Compared, Executables, each_once};
use crate::bench::build::Purpose;
use crate::inspect::code::{self, Architecture, Function, constant_time};
use crate::project::Project;
use paired::error::Failure;
use paired::isa::Isa;
use paired::terminal::spinner;

/// Check that what the compiled kernels execute does not depend on the data.
///
/// Disassembles the worker with the patches and follows what vectors load through each function that permutes states, over
/// all its paths. Exits with 1 if one of them branches on it, or addresses memory by it. Functions that multiply elements in
/// integer registers are counted apart: upstream's product of single elements branches on a borrow. Nothing is executed, so that
/// any instruction set of x86-64 can be named.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo p3 inspect constant-time
  cargo p3 inspect constant-time packed-poseidon2 --isa x86-64-v3 --isa x86-64-v4")]
pub struct Args {
    #[command(flatten)]
    compared: Compared,
    /// A first look: a worker with permutations and extension fields only, which is built in a tenth of the time.
    #[arg(long)]
    quick: bool,
}

pub fn run(args: &Args, project: &Project) -> Result<()> {
    let isas = each_once(args.compared.isas(), Isa::check_architecture)?;
    let difference = args.compared.chosen(project)?;
    let packages = (project.catalog).packages_of(&difference.base, &difference.patches)?;
    let purpose = Purpose::of_a_look(args.quick);
    let Executables {
        workers,
        builder: _builder,
    } = (args.compared).executables(project, &difference, &isas, purpose)?;

    let mut stdout = std::io::stdout().lock();
    let mut depending = 0;
    for (isa, workers) in &workers {
        let bar = spinner(format!("looking at {isa}"));
        let (architecture, kernels) = code::kernels(&workers.candidate, &packages, permutes)?;
        if architecture != Architecture::X86_64 {
            return Err(Failure::environment(format!(
                "{isa}: constant time is checked on x86-64 alone"
            ))
            .into());
        }
        let (scalar, vectors): (Vec<_>, Vec<_>) = (kernels.iter())
            .map(|kernel| (kernel, constant_time::examine(kernel.address, &kernel.code)))
            .partition(|(_, examined)| examined.multiplies_scalars);
        bar.finish_and_clear();
        if vectors.is_empty() {
            return Err(
                Failure::check(format!("{isa}: the worker has no permutation of vectors")).into(),
            );
        }
        let depends: Vec<_> = vectors
            .iter()
            .filter(|(_, examined)| !examined.dependences.is_empty())
            .collect();
        for (kernel, examined) in &depends {
            for dependence in &examined.dependences {
                writeln!(stdout, "{isa}: {}", told(kernel, dependence))?;
            }
        }
        depending += depends.len();
        writeln!(
            stdout,
            "{isa}: {} of {} permutations of vectors depend on data in what they execute; {} more are of single elements",
            depends.len(),
            vectors.len(),
            scalar.len()
        )?;
    }
    if depending == 0 {
        return Ok(());
    }
    Err(Failure::check(format!(
        "{depending} permutations branch on data, or address memory by it"
    ))
    .hint("an address above is one in `objdump --disassemble` of the worker")
    .into())
}

/// Tells whether a function's states come as a slice. What takes them from iterators has these in its frame, where pointers
/// cannot be told from elements.
fn permutes(function: &str) -> bool {
    let method = function.rsplit("::").next().unwrap_or(function);
    method.starts_with("permute") || method.ends_with("_rounds") || method == "apply"
}

fn told(kernel: &Function, dependence: &constant_time::Dependence) -> String {
    let what = match dependence.kind {
        constant_time::Kind::Branch => "branches on data",
        constant_time::Kind::Address => "addresses memory by data",
        constant_time::Kind::Jump => "jumps to code that is not followed",
    };
    format!("{:#x} {what}, in {}", dependence.instruction, kernel.name)
}
