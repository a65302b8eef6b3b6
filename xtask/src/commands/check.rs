//! `check`: what must hold for every patch before it is merged.

use anyhow::Result;

use crate::author::checks::{self, Finding};
use crate::author::lints::{self, Outcome};
use crate::project::Project;
use paired::error::Failure;
use paired::terminal::{print_json, spinner};

/// Check that patches, crates and benches agree, and that every patch applies.
///
/// Names agree across crates/, patches/series and benches/; each package that is patched has a checksum; the fields of each
/// header are there and true; each patch applies exactly to every release it names, alone and in series order, and has no second
/// text that does the same; a kernel's text stands in the crate alone, and each file there is named by a patch; an export gives
/// the same text twice; the tables and figures are those of the records. Everything is checked; the exit code is 1 if anything
/// failed.
///
/// With --upstream-lints, upstream's own checks run instead, on patched packages in upstream's layout: its formatting, its
/// lints and rustdoc's for each instruction set, a target without a standard library, its suites with and without the feature
/// `parallel`. What the packages as published have too does not count.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo p3 check --json
  cargo p3 check --upstream-lints batched-permute")]
pub struct Args {
    /// Print JSON.
    #[arg(long, conflicts_with = "upstream_lints")]
    json: bool,
    /// Run upstream's own checks; these take a while.
    #[arg(long)]
    upstream_lints: bool,
    /// Patches to run them on, with what these need [default: all, on top of each other].
    #[arg(value_name = "NAME", requires = "upstream_lints")]
    names: Vec<String>,
}

pub fn run(args: &Args, project: &Project) -> Result<()> {
    if args.upstream_lints {
        return upstream_lints(args, project);
    }
    let progress = spinner("checking");
    let started = |check: &str| progress.set_message(check);
    let findings = checks::run(project, started)?;
    progress.finish_and_clear();

    if args.json {
        print_json(&findings);
    } else {
        for Finding {
            check,
            problem,
            hint,
        } in &findings
        {
            match problem {
                None => println!("ok    {check}"),
                Some(problem) => println!("FAIL  {check}: {}", problem.replace('\n', "\n      ")),
            }
            if let Some(hint) = hint {
                println!("      hint: {hint}");
            }
        }
    }
    match findings
        .iter()
        .filter(|finding| finding.problem.is_some())
        .count()
    {
        0 => Ok(()),
        failed => {
            Err(Failure::check(format!("{failed} of {} checks failed", findings.len())).into())
        }
    }
}

/// Upstream's own checks of the patches for the newest release that has them all, a preview too: their exports are for that one.
fn upstream_lints(args: &Args, project: &Project) -> Result<()> {
    let newest = project.catalog.newest_base_of_all(&args.names);
    let (base, names) = project.catalog.chosen(newest.as_deref(), &args.names)?;
    println!("Plonky3 {base} with {}", names.join(", "));
    let progress = spinner("upstream's checks");
    let mut failed = 0;
    lints::run(project, &base, &names, |check, outcome| {
        let lines = match outcome {
            Outcome::Skipped(missing) => format!("skip  {check}: {missing}"),
            Outcome::Ran {
                published,
                patched,
                new,
            } => {
                let published =
                    published.map_or(String::new(), |count| format!(", {count} as published"));
                let state = if new.is_empty() { "ok  " } else { "FAIL" };
                failed += usize::from(!new.is_empty());
                let new = new.iter().map(|finding| format!("\n      {finding}"));
                format!(
                    "{state}  {check}: {patched} found{published}{}",
                    new.collect::<String>()
                )
            }
        };
        progress.bar.suspend(|| println!("{lines}"));
    })?;
    progress.finish_and_clear();
    match failed {
        0 => Ok(()),
        _ => Err(Failure::check(format!(
            "{failed} of upstream's checks find more than in {base}"
        ))
        .hint("repair it with `cargo p3 edit` and `cargo p3 refresh`")
        .into()),
    }
}
