//! `ab --bench`: a patch by a bench of upstream's own, as its pull request shows it first.

use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::io::IsTerminal;
use std::path::Path;

use anyhow::Result;
use cargo_metadata::Metadata;
use cargo_metadata::semver::Version;

use super::compared::{self, Compared, header, runnable, set_rustflags, sides};
use crate::bench::build;
use crate::bench::filing::{Filed, Filing};
use crate::bench::record::bench_stem;
use crate::bench::upstream::Bench;
use crate::project::Project;
use crate::test::upstream::Suites;
use p3_patches::catalog::difference::Difference;
use p3_patches::catalog::stack::Stack;
use p3_patches::prover::locked_dir::LockedDir;
use p3_patches::prover::tree;
use p3_patches::source::package::Package;
use p3_patches::source::registry;
use paired::cargo::Toolchain;
use paired::error::Failure;
use paired::files::contents::sha256_of_file;
use paired::isa::Isa;
use paired::run::input::Input;
use paired::run::pairs::assert_different;
use paired::run::program::{Builder, CommandLine, Program};
use paired::run::sample::{BENCH, Side};
use paired::run::trial::Trial;
use paired::show::machine::Machine;
use paired::show::report;
use paired::terminal::{measuring, spinner};

/// Pairs of runs without `--seeds`.
const PAIRS: u64 = 5;

/// Criterion's options. Each of a bench's figures is one of [`PAIRS`] and more samples, so that one need not take long. Resamples and
/// plots, which take longer than the measurement, do not change the estimates that are read.
const SHORT: [&str; 9] = [
    "--warm-up-time",
    "0.5",
    "--measurement-time",
    "1",
    "--sample-size",
    "10",
    "--nresamples",
    "1000",
    "--noplot",
];

/// Runs a bench on Plonky3 with the patches and on Plonky3 with what they need, for each instruction set.
pub fn run(
    bench: &Bench,
    compared: &Compared,
    pairs: Option<u64>,
    filing: Option<Filing<'_>>,
    command: String,
    project: &Project,
) -> Result<()> {
    if let Some(name) = set_rustflags().next() {
        let what = format!("--bench: {name} is set, and cargo reads no other flags then");
        return Err(Failure::input(what)
            .hint("unset it; --isa names the instruction set")
            .into());
    }
    let isas = runnable(compared.isas())?;
    let mut difference = compared.chosen(project)?;
    let base = difference.base.clone();
    difference.baseline_patches =
        (project.catalog).below(&Version::parse(&base)?, &compared.names)?;
    (project.catalog).refuse_inert(&base, &difference.patches, &[ARCH])?;
    let toolchain = Toolchain::query()?;
    let machine = Machine::here(&toolchain, &isas, "");
    let pairs = pairs.unwrap_or(PAIRS) as usize;
    println!(
        "{}\n{}, {pairs} pairs of 4 runs, in the order ABBA",
        header(&machine),
        sides(&difference),
    );

    let root = project.root.join(build::FOLDER).join("upstream-benches");
    let folder = LockedDir::lock(&root)?;
    let bar = spinner("laying out the packages");
    let [baseline, candidate] = ["base", "cand"].map(|name| root.join(&base).join(name));
    let graphs = packages(project, &difference, &bench.package)?
        .iter()
        .zip([&baseline, &candidate])
        .map(|(packages, place)| {
            let suites = Suites::write(project, place.clone(), &base, packages)?;
            Ok(suites.graph)
        })
        .collect::<Result<Vec<_>>>()?;
    bar.finish_and_clear();

    let mut measurement = filing.map(|filing| {
        let stem = bench_stem(&compared.names);
        filing.of(&toolchain.host, stem, BTreeMap::new())
    });
    let terminal = std::io::stdout().is_terminal();
    let mut runs = Vec::new();
    let mut filed = Ok(Filed::default());
    for (number, &isa) in (1..).zip(&isas) {
        let built = bench.build(isa, &root, [&baseline, &candidate], &graphs)?;
        let [baseline, candidate] = built;
        assert_different(
            &bench.name,
            [&baseline.executable, &candidate.executable],
            "the bench has none of the code that the patches change",
        )?;
        let hash = |program: &Program| sha256_of_file(&program.executable);
        let hashes = [
            ("baseline", hash(&baseline)?),
            ("candidate", hash(&candidate)?),
        ];
        let hashes = BTreeMap::from(hashes.map(|(side, hash)| (side.to_owned(), hash)));
        if let Some(measurement) = &mut measurement {
            measurement.add(isa.to_string(), hashes);
        }
        let trial = Trial {
            baseline,
            candidate,
            isa,
            setup: None,
            same: &[],
            input: Input::empty()?,
            phases: false,
            bench: true,
        };
        let bar = measuring(Trial::len(pairs), "runs");
        bar.announce(format!("measuring {} for {isa}", bench.name));
        let samples = trial.measure(pairs, || bar.inc())?;
        bar.finish_and_clear();
        runs.extend(samples.parts.into_iter().flatten());
        let (command, difference) = (command.clone(), difference.clone());
        let report = compared::report(command, difference, machine.clone(), &runs)?;
        let rows = report.rows.chunk_by(|a, b| a.isa == b.isa).last();
        println!(
            "{isa}:\n{}",
            report::part_table("bench", BENCH, rows.unwrap_or_default(), terminal)
        );
        // A failure on the next instruction set leaves the record of this one.
        if let Some(measurement) = &measurement {
            filed = measurement.file(&folder, &report, &runs, number < isas.len());
        }
    }
    Ok(filed?.refused()?)
}

/// Returns the packages that the patches touch and the bench's, as they are on each side. Both have the benches of the patches: what
/// the patches add to a bench is measured without them, too.
fn packages(project: &Project, difference: &Difference, bench: &str) -> Result<[Vec<Package>; 2]> {
    let Difference {
        base,
        baseline_patches,
        patches: names,
        ..
    } = difference;
    let load = |name: &String| project.catalog.patch(base, name);
    let patches = names.iter().map(load).collect::<Result<Vec<_>>>()?;
    let mut packages = tree::baseline(project.patches(), base, &patches)?;
    if !packages.iter().any(|package| package.name == bench) {
        packages.push(registry::package(project.patches(), bench, base)?);
    }
    let below = patches
        .iter()
        .filter(|patch| baseline_patches.contains(&patch.name));
    let mut baseline = Stack::of(packages.clone(), below)?.packages;
    let candidate = Stack::of(packages, &patches)?.packages;
    for (package, patched) in baseline.iter_mut().zip(&candidate) {
        package.take_benches(patched);
    }
    Ok([baseline, candidate])
}

impl Bench {
    /// Builds both sides.
    fn build(
        &self,
        isa: Isa,
        root: &Path,
        folders: [&Path; 2],
        graphs: &[Metadata],
    ) -> Result<[Program; 2]> {
        let words = [
            "bench",
            "--package",
            &self.package,
            "--bench",
            &self.name,
            "--",
        ];
        let words = words.into_iter().chain(SHORT).chain(self.filter.as_deref());
        let words: Vec<_> = words.map(str::to_owned).collect();
        let command = CommandLine::parse(&words)?;
        let flags: Vec<_> = isa.rustflags().split_whitespace().collect();
        let flags = format!("build.rustflags={flags:?}");
        let build = |side: Side, folder, graph| {
            let bar = spinner(format!("building the {} for {isa}", side.name()));
            let builder = Builder {
                folder,
                command: &command,
                // A folder for each side: to cargo, the packages of two workspaces that have the same places there are the same.
                target: &root.join(isa.to_string()).join(match side {
                    Side::Candidate => "cand",
                    Side::Baseline | Side::Control => "base",
                }),
            };
            let built = builder.build(side, &[], std::slice::from_ref(&flags), graph);
            bar.finish_and_clear();
            built
        };
        let [baseline, candidate] = folders;
        Ok([
            build(Side::Baseline, baseline, &graphs[0])?,
            build(Side::Candidate, candidate, &graphs[1])?,
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bench_is_named_by_its_package() {
        let parts = |text: &str| {
            let Bench {
                package,
                name,
                filter,
            } = text.parse()?;
            Ok::<_, &str>((package, name, filter.unwrap_or_default()))
        };
        let owned = |parts: [&str; 3]| parts.map(str::to_owned).into();
        assert_eq!(parts("p3-dft/fft"), Ok(owned(["p3-dft", "fft", ""])));
        let filtered = owned(["p3-dft", "fft", "lde/Goldilocks/.*"]);
        assert_eq!(parts("p3-dft/fft/lde/Goldilocks/.*"), Ok(filtered));
        for wrong in [
            "",
            "/",
            "p3-dft",
            "p3-dft/",
            "/fft",
            "p3-dft/--all",
            "--all/fft",
        ] {
            assert!(parts(wrong).is_err(), "{wrong}");
        }
    }
}
