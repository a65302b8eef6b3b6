//! `test`: every test there is, in stages.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::commands::glob;
use crate::project::Project;
use crate::test::{self as stages, Need, Outcome, Pace, Stage};
use paired::error::Failure;
use paired::files::changed::write_changed;
use paired::terminal::{print_lines, spinner};

/// Run every test there is.
///
/// Formatting, lock files, lints, what the workspace depends on, the known answers computed again, the tool's tests, the
/// tool compiled as it is packed, z3's proofs of the kernels' operations; for each instruction set that this CPU has, the
/// kernels' tests, upstream's own suites on patched packages, and the comparison of outputs with Plonky3 as published, whole
/// proofs where `--only` asks for them. The example's prover makes the same proofs with the patches and without, and `try`
/// measures both. Published provers of others pass their own tests, and make the same proofs, with the patches and without,
/// where `--only` asks for them. Permutations and transforms are fuzzed, a quarter of a minute each, where cargo-fuzz is
/// there; Merkle trees and the tool's reading of patches, where `--only` asks for them.
/// On x86-64, NEON runs under emulation where qemu and a cross linker are there, and so do the kernels' tests on AVX-512, where
/// the CPU has none, Bochs is there, and `--only` asks for them; so do those that have to notice wrong instructions. A few of
/// the kernels' tests run under Miri, on AVX-512 with IFMA and, where `--only` asks for it, on AVX2. A report's page is looked
/// at in Chromium.
/// Stages that cannot run here are skipped by name.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo p3 test
  cargo p3 test --quick
  cargo p3 test --require x86-64-v3 --require z3
  cargo p3 test --only 'kernels/*' --only check
  cargo p3 test --only 'provers/*'")]
pub struct Args {
    /// Run what takes a few minutes once everything is built: formatting, lints, `check`, the unit tests of the workspace.
    /// Names the stages that are left out.
    #[arg(long, conflicts_with = "only")]
    quick: bool,
    /// Fail, instead of skipping, where what runs on this instruction set, or needs this thing, cannot run; may be given
    /// several times.
    #[arg(long, value_enum, value_name = "WHAT")]
    require: Vec<Need>,
    /// Stages to run, by glob over their names; may be given several times [default: all].
    #[arg(long, value_name = "GLOB")]
    only: Vec<String>,
}

/// The seconds that each stage took when it last ended well here, 0 where it was skipped; below the project's root.
const TIMES: &str = "target/p3/test-times.json";

pub fn run(args: &Args, project: &Project) -> Result<()> {
    let stages = selected(stages::all(project)?, &args.only)?;
    let runs = |stage: &Stage| match stage.pace {
        Pace::Quick => true,
        Pace::OnlyQuick => args.quick || !args.only.is_empty(),
        Pace::Always => !args.quick,
        Pace::Weekly => !args.only.is_empty(),
    };
    let (stages, left_out): (Vec<_>, Vec<_>) = stages.into_iter().partition(runs);
    let mut times = Times::load(project);
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for (at, stage) in stages.iter().enumerate() {
        let started = Instant::now();
        let progress = spinner("");
        progress.announce(format!(
            "{} of {}: {}{}",
            at + 1,
            stages.len(),
            stage.name,
            times.estimate(&stages[at..])
        ));
        let outcome = stage.run(project, &args.require)?;
        // The line below has its time.
        drop(progress);
        let seconds = started.elapsed().as_secs();
        let time = humantime::format_duration(Duration::from_secs(seconds));
        let name = &stage.name;
        match outcome {
            Outcome::Passed => {
                passed += 1;
                times.set(project, name, seconds)?;
                println!("ok    {name}{} ({time})", stage.label(project));
            }
            Outcome::Failed(why) => {
                failed += 1;
                println!("FAIL  {name}{} ({time})", stage.label(project));
                print_lines(why.lines());
            }
            Outcome::Skipped(why) => {
                skipped += 1;
                times.set(project, name, 0)?;
                println!("skip  {name}: {why}");
            }
        }
    }
    for stage in &left_out {
        skipped += 1;
        let why = match stage.pace {
            Pace::Weekly => "runs weekly, and where `--only` asks for it",
            Pace::OnlyQuick => "another stage has its tests",
            _ => "left out by `--quick`",
        };
        println!("skip  {}: {why}", stage.name);
    }
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    if failed > 0 {
        return Err(
            Failure::check(format!("{failed} of {} stages failed", stages.len()))
                .hint("`--only STAGE` runs one again")
                .into(),
        );
    }
    Ok(())
}

/// How long stages take on this machine.
struct Times(BTreeMap<String, u64>);

impl Times {
    /// None where no stage has passed here, or the file is not as this version writes it.
    fn load(project: &Project) -> Self {
        let text = std::fs::read(project.root.join(TIMES)).unwrap_or_default();
        Self(serde_json::from_slice(&text).unwrap_or_default())
    }

    fn set(&mut self, project: &Project, stage: &str, seconds: u64) -> Result<()> {
        self.0.insert(stage.to_owned(), seconds);
        write_changed(&project.root.join(TIMES), &serde_json::to_vec(&self.0)?)
    }

    /// Returns the time that these take together, where each is known.
    fn estimate(&self, stages: &[Stage]) -> String {
        let times = stages.iter().map(|stage| self.0.get(&stage.name));
        let Some(seconds) = times.sum::<Option<u64>>() else {
            return String::new();
        };
        format!(", {} min left", seconds.div_ceil(60))
    }
}

fn selected(mut stages: Vec<Stage>, patterns: &[String]) -> Result<Vec<Stage>> {
    if patterns.is_empty() {
        return Ok(stages);
    }
    let mut globs = Vec::new();
    for pattern in patterns {
        let glob = glob("--only", pattern)?;
        if !stages.iter().any(|stage| glob.is_match(&stage.name)) {
            let names: Vec<_> = stages.iter().map(|stage| stage.name.as_str()).collect();
            return Err(Failure::input(format!("--only {pattern}: no such stage"))
                .hint(format!("there are {}", names.join(", ")))
                .into());
        }
        globs.push(glob);
    }
    stages.retain(|stage| globs.iter().any(|glob| glob.is_match(&stage.name)));
    Ok(stages)
}
