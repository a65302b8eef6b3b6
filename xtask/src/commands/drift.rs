//! `refresh --dry-run`: the patches on a newer release than the one that they are for.

use anyhow::Result;
use cargo_metadata::semver::Version;

use crate::author::drift::{self, Builds};
use crate::project::Project;
use p3_patches::catalog::stack::Stack;
use p3_patches::prover::tree;
use p3_patches::source::checksums::Checksums;
use p3_patches::source::index;
use paired::error::Failure;
use paired::interrupt;
use paired::terminal::spinner;

/// Show what of the patches a newer release has moved.
///
/// Each patch is applied to that release, on top of the patches that it needs: its text for the release, where there is one, else
/// its newest. For each file it is printed which hunks stand elsewhere, and which ones fit nowhere and what has changed there. What
/// applies is compiled, for each instruction set. Exits with 1 if a patch does not apply or does not compile.
#[derive(clap::Args)]
#[command(after_help = "Example: cargo p3 refresh --onto 0.9.0 --dry-run")]
pub struct Args {
    /// The Plonky3 release to try the patches on [default: the newest there is, previews included].
    #[arg(long, value_name = "VERSION")]
    pub to: Option<Version>,
    /// Run upstream's suites of the patched packages too, for this CPU.
    #[arg(long)]
    pub test: bool,
}

/// The packages of both releases.
struct Releases {
    base: String,
    to: String,
    then: Stack,
    now: Stack,
}

pub fn run(args: &Args, project: &Project) -> Result<()> {
    let base = project.catalog.base(None)?;
    let names = project.catalog.ported(&base);
    let load = |name: &String| project.catalog.patch(&base, name);
    let patches = names.iter().map(load).collect::<Result<Vec<_>>>()?;
    let packages = patches.iter().flat_map(|patch| &patch.header.packages);
    let to = match (&args.to, packages.min()) {
        (Some(to), _) => to.clone(),
        (None, Some(package)) => {
            let is_known = Checksums::load(project.patches())?.knows(package);
            index::newest(&project.root, package, is_known)?
        }
        (None, None) => return Ok(()),
    };
    let to_text = to.to_string();
    // A patch with a text for that release is tried with it.
    let ported = names
        .iter()
        .filter(|name| project.catalog.has(&to_text, name))
        .map(|name| project.catalog.patch(&to_text, name))
        .collect::<Result<Vec<_>>>()?;
    let progress = spinner(format!("fetching Plonky3 {to}"));
    let releases = Releases {
        then: Stack::new(tree::baseline(project.patches(), &base, &patches)?),
        now: Stack::new(tree::baseline(
            project.patches(),
            &to_text,
            &[patches.as_slice(), &ported].concat(),
        )?),
        base,
        to: to_text,
    };
    let builds = Builds::new(project, &releases.to, args.test)?;
    println!("Plonky3 {to}, patches for {}", releases.base);
    let mut drifted = Vec::new();
    for patch in &patches {
        interrupt::check()?;
        let name = &patch.name;
        progress.set_message(name.clone());
        if let Some(release) = project.catalog.merged(&to, name)? {
            progress
                .bar
                .suspend(|| println!("ok    {name}: merged in {release}"));
            continue;
        }
        let asked = std::slice::from_ref(name);
        let (_, stack) = project.catalog.resolve(Some(&releases.base), asked)?;
        let (mut then, mut now) = (releases.then.clone(), releases.now.clone());
        let mut moved = Vec::new();
        for patch in (patches.iter()).filter(|patch| stack.contains(&patch.name)) {
            let own = ported.iter().find(|ported| ported.name == patch.name);
            moved = match own {
                Some(own) => {
                    then.apply(patch)?;
                    now.apply(own)?;
                    Vec::new()
                }
                None => drift::carry(patch, &releases.base, &mut then, &mut now)?,
            };
        }
        let need = stack.iter().find(|need| drifted.contains(*need));
        let outcome = if moved.iter().any(|file| !file.problems.is_empty()) {
            Err("does not apply".to_owned())
        } else if let Some(need) = need {
            Err(format!("needs {need}, which has drifted"))
        } else {
            builds.outcome(patch, &now.packages, &releases.now.packages)?
        };
        let mut report = match &outcome {
            Ok(what) => format!("ok    {name}: {what}\n"),
            Err(what) => format!("FAIL  {name}: {what}\n"),
        };
        for file in &moved {
            report += &file.describe();
        }
        progress.bar.suspend(|| print!("{report}"));
        drifted.extend(outcome.is_err().then(|| name.clone()));
    }
    progress.finish_and_clear();
    if drifted.is_empty() {
        return Ok(());
    }
    let count = format!("{} of {} patches", drifted.len(), patches.len());
    Err(
        Failure::check(format!("{count} do not hold on Plonky3 {to}"))
            .hint(format!(
                "`cargo p3 refresh {} --onto {to}` merges one",
                drifted[0]
            ))
            .into(),
    )
}
