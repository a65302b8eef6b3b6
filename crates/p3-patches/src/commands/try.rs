//! `try`: the user's own program with patches and without.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::{IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result};
use cargo_metadata::Metadata;
use clap::builder::{PathBufValueParser, TypedValueParser as _};

use super::{Downstream, MOST_RUNS, Source};
use crate::catalog::Catalog;
use crate::catalog::difference::Difference;
use crate::project::Patches;
use crate::prover::choice::{self, Choice};
use crate::prover::git_source::Checkout;
use crate::prover::graph::{self, Use};
use crate::prover::locked_dir::LockedDir;
use crate::prover::manifest::Manifest;
use crate::prover::restore::{Restore, changed};
use crate::prover::tree::{self, Tree};
use crate::source::locked::packages;
use crate::source::resolve::architectures;
use paired::address::without_credentials;
use paired::cargo::incremental;
use paired::error::Failure;
use paired::isa::Isa;
use paired::run::input::Input;
use paired::run::pairs::assert_different;
use paired::run::program::{Builder, CommandLine, Program, Replaced};
use paired::run::sample::{BENCH, RUN, Run, SPAN, Side};
use paired::run::trial::{Output, Trial};
use paired::show::machine::{self, Machine};
use paired::show::page;
use paired::show::report::{self, Report};
use paired::show::section::Section;
use paired::stats::ratio::Verdict;
use paired::stats::row::{Quantity, Row};
use paired::terminal::{Progress, measuring, print_line, shown, spinner};

/// Measure your own program with patches and without.
///
/// Builds it twice, in folders of its own below the workspace's target folder, and runs both in pairs as `ab` does. The
/// manifest and the lock file stay as they are. Cargo is called in the manifest's folder, so that the program is built with
/// the flags and the profile that it always has, and started with the runner and the environment that cargo gives it; it runs
/// in the current folder, benches and tests in their package's. Standard input is read once, and each run gets the same bytes.
///
/// A bench runs for a fixed time, so its own figures are compared: those of criterion, or of the standard library's
/// `#[bench]`. One that reports neither is refused; as an example or a binary, it is compared by its whole runs.
///
/// Where patches are applied to the workspace, they are measured, or the NAMEs in their place, against the packages as published.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo p3 try --manifest-path ../prover/Cargo.toml -- run --release -- prove 1000000
  cargo p3 try batched-permute --phases --same a.proof -- run --release --bin prove -- --out a.proof
  cargo p3 try --setup 'rm -rf cache' --reps 20 -- bench --bench prove")]
pub struct Args {
    /// Patches to measure together; none means those that are applied, else those that `apply` would choose.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// The Plonky3 release to patch [default: as recorded, else the one that the workspace is locked to].
    #[arg(long, value_name = "VERSION")]
    base: Option<String>,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    downstream: Downstream,
    /// Pairs of runs, at least 2.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(2..=MOST_RUNS))]
    reps: u64,
    /// Output that must be equal on both sides: `stdout`, or a file that the program writes; may be given several times.
    #[arg(long, value_name = "OUTPUT", value_parser = PathBufValueParser::new().map(|name| Output::from(name.as_os_str())))]
    same: Vec<Output>,
    /// A shell command to run before each run, which is not measured; what it leaves in the background ends with that run.
    #[arg(long, value_name = "COMMAND")]
    setup: Option<String>,
    /// Compare the tracing spans that the program prints, where they take 1 % of a run or more.
    #[arg(long)]
    phases: bool,
    /// Write the rows to FILE, and the raw samples beside it as CSV.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the rows and the samples to FILE as a page to look at, which loads nothing.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Keep the command and the compiler's flags in the files of --json and --html, which lack them otherwise: either may hold
    /// secrets.
    #[arg(long)]
    show_flags: bool,
    /// Cargo's subcommand for the program: run, bench or test, with its options and, after another `--`, the program's
    /// arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub fn run(args: &Args, patches: &Patches) -> Result<()> {
    let command = CommandLine::parse(&args.command)?;
    if args.phases && command.is_bench() {
        return Err(
            Failure::usage("--phases: a bench is compared by its own figures")
                .hint("spans are those of a program: `-- run ..`")
                .into(),
        );
    }
    let typed = super::typed()?;
    let input = Input::read()?;
    let manifest = Manifest::load(&args.downstream.manifest_path)?;
    let target = manifest.target_folder()?.join("p3-try");
    let inputs = inputs(args, patches, &manifest, &target)?;
    report::check_outputs(args.json.as_deref(), true, args.html.as_deref(), &inputs)?;
    let catalog = Catalog::load(patches)?;
    catalog.select(&args.names)?;
    let folder = LockedDir::lock(&target)?;
    let progress = spinner("resolving the graph");
    let member = &args.downstream.manifest_path;
    let member =
        fs::canonicalize(member).with_context(|| format!("cannot resolve {}", shown(member)))?;
    let builder = Builder {
        folder: member.parent().expect("a manifest lies in a folder"),
        command: &command,
        target: &target,
    };
    if let Some(setting) = incremental(builder.folder, &builder.configs())? {
        let note = format!(
            "{setting} has cargo compile what is patched incrementally, and what is published not; both builds are without it"
        );
        print_line("note", &note);
    }
    // `apply` and `remove` write to the lock file, too.
    let prover = LockedDir::lock(&manifest.trees())?;
    let manifest = Manifest::load(&manifest.path)?;
    let folders = [&folder, &prover];
    let chosen = choose(args, &catalog, &manifest, folders, &builder);
    let built = chosen.and_then(|chosen| {
        let built = build(&builder, &manifest, &prover, &chosen, &progress)?;
        Ok((chosen, built))
    });
    let cleaned = tree::keep_only(prover, &manifest.named_trees());
    let (chosen, [baseline, candidate]) = built?;
    cleaned?;
    assert_different(
        &baseline.name,
        [&baseline.executable, &candidate.executable],
        "the program has none of the code that these patches change",
    )?;
    let features = builder.features(&baseline)?;
    let rustflags = builder.rustflags()?;
    progress.finish_and_clear();

    let trial = Trial {
        baseline,
        candidate,
        isa: Isa::with_features(&features),
        setup: args.setup.as_deref(),
        same: &args.same,
        input,
        phases: args.phases,
        bench: command.is_bench(),
    };
    let machine = Machine {
        cpu: machine::cpu(),
        cores: thread::available_parallelism().map_or(1, usize::from),
        rustc: builder.toolchain()?.version,
        rustflags: match args.show_flags {
            true => without_credentials(&rustflags.flags.join(" ")),
            false => String::new(),
        },
    };
    machine.check().map_err(|why| {
        Failure::input(why).hint("--show-flags keeps flags that are on one line, and not too long")
    })?;
    let mut stdout = std::io::stdout().lock();
    writeln!(
        stdout,
        "{}, {} cores, {}\nbase {}, patches {}, built for {}\n{}: {} pairs of 4 runs, in the order ABBA",
        machine.cpu,
        machine.cores,
        machine.rustc,
        chosen.base,
        chosen.names.join(" "),
        trial.isa,
        trial.baseline.name,
        args.reps
    )?;
    if trial.isa == Isa::Generic {
        let command = rustflags.for_this_cpu();
        let kept = match &*rustflags.flags {
            [] => String::new(),
            flags => format!(", beside the flags {}", flags.join(" ")),
        };
        let note = format!("built for the least CPU; after `{command}` packed kernels work{kept}");
        print_line("note", &note);
    }
    let pairs = args.reps as usize;
    let bar = measuring(Trial::len(pairs), "runs");
    bar.announce(format!("measuring {}", trial.baseline.name));
    let samples = trial.measure(pairs, || bar.inc())?;
    bar.finish_and_clear();

    let terminal = stdout.is_terminal();
    let (mut rows, mut tables) = if command.is_bench() {
        let rows = samples.parts.iter().map(|runs| Row::new(runs));
        let rows = rows.collect::<Result<Vec<_>>>()?;
        let table = report::part_table("bench", BENCH, &rows, terminal);
        (rows, table)
    } else {
        let rows = whole(&samples.runs)?;
        let phases = phases(&samples.parts, &rows[0])?;
        let mut tables = report::part_table("run", RUN, &rows, terminal);
        if args.phases && phases.is_empty() {
            tables += "\n\nno span takes 1 % of a run";
        } else if args.phases {
            tables += &format!(
                "\n\n{}",
                report::part_table("span", SPAN, &phases, terminal)
            );
            // The spans of the table above.
            let shown: HashSet<_> = phases
                .iter()
                .filter_map(|row| row.workload.strip_prefix(SPAN))
                .collect();
            let mut resident = samples.resident;
            resident.retain(|(span, _)| shown.contains(&**span));
            if !resident.is_empty() {
                let table = report::memory_table(&resident, &[], terminal);
                tables += &format!(
                    "\n\nthe most that is resident while a span is open, in one run of each\n{table}"
                );
            }
        }
        (rows.into_iter().chain(phases).collect(), tables)
    };
    if args.same.is_empty() {
        rows.iter_mut().for_each(|row| row.outputs_equal = None);
    } else {
        let same: Vec<_> = args.same.iter().map(Output::to_string).collect();
        tables += &format!("\nequal in every run: {}", same.join(", "));
    }
    let mut report = Report {
        schema: Report::<Difference>::SCHEMA,
        command: match args.show_flags {
            true => typed,
            false => String::new(),
        },
        subject: Difference {
            base: chosen.base,
            baseline_patches: Vec::new(),
            patches: chosen.names,
            reverted: false,
        },
        machine,
        rows,
    };
    if args.json.is_some() || args.html.is_some() {
        report = report.checked()?;
    }
    let mut runs = samples.runs;
    runs.extend(samples.parts.into_iter().flatten());
    if let Some(path) = &args.json {
        report::write(path, &report, Some(&runs))?;
    }
    if let Some(path) = &args.html {
        let title = format!("{} with patches", trial.baseline.name);
        let sampled = |row: &Row| runs.iter().any(|run| run.workload == row.workload);
        let rows = report
            .rows
            .iter()
            .filter(|row| sampled(row))
            .cloned()
            .collect();
        let heading = report.subject.title();
        let records = Report { rows, ..report }.records(&runs, &BTreeMap::new());
        let section = Section {
            title: &heading,
            records: &records,
            folded: None,
            tables: Vec::new(),
        };
        page::write(patches.root(), path, &title, &[section])?;
    }
    let kept = chosen.trees.iter().chain(&chosen.published);
    let kept: Vec<_> = kept.map(|tree| tree.path.clone()).collect();
    tree::keep_only(folder, &kept)?;
    // Last, since it may fail: the figures are in the files by now.
    println!("{tables}");
    Ok(())
}

/// Lists the files and folders that the build reads, the `target` folder from which it removes what it has no use for, and the
/// files that the command line names besides.
fn inputs(
    args: &Args,
    patches: &Patches,
    manifest: &Manifest,
    target: &Path,
) -> Result<Vec<PathBuf>> {
    let member = &args.downstream.manifest_path;
    let folder = member.parent().unwrap_or(Path::new(""));
    let mut inputs = patches.inputs();
    inputs.extend(manifest.inputs(member)?);
    inputs.push(target.to_owned());
    for output in &args.same {
        if let Output::File(path) = output {
            // A bench runs in its package's folder.
            inputs.extend([path.clone(), folder.join(path)]);
        }
    }
    let words = args.command.iter();
    let named = words.map(|word| word.split_once('=').map_or(&**word, |(_, value)| value));
    inputs.extend(named.map(PathBuf::from).filter(|path| path.is_file()));
    Ok(inputs)
}

/// The patches to measure, and the packages that stand in for the workspace's on each side.
struct Chosen {
    base: String,
    names: Vec<String>,
    /// The manifest's and the lock file's contents.
    files: [String; 2],
    trees: Vec<Tree>,
    /// Where patches are applied to the workspace: their packages as published.
    published: Vec<Tree>,
    /// Values of cargo's `--config`.
    baseline: Vec<String>,
    candidate: Vec<String>,
}

/// Chooses the patches, and writes the trees that the prover's graph has a use for. Cargo may write to the lock file what it
/// finds, which is put back.
///
/// The manifest stays as it is even where patches are applied: an override on the command line comes before the manifest's, so
/// that packages as published take the place of patched ones.
fn choose(
    args: &Args,
    catalog: &Catalog,
    manifest: &Manifest,
    [folder, prover]: [&LockedDir; 2],
    builder: &Builder<'_>,
) -> Result<Chosen> {
    let catalog = &catalog.at_work_in(manifest.root());
    let patches = &catalog.patches;
    let files = files(manifest)?;
    let doubts = manifest.doubts(patches)?;
    let mut restore = manifest.restore_lock(prover)?;
    let url = args.source.url(manifest)?;
    let configs = &builder.configs();
    let mut resolve = |trees: &[Tree], overrides: &[String]| {
        resolve(
            manifest,
            &mut restore,
            trees,
            &[configs, overrides].concat(),
        )
    };
    let (graph, published) = match &manifest.stanza {
        None => (resolve(&[], &[])?, Vec::new()),
        Some(stanza) => {
            let packages = stanza.overrides.keys();
            let published =
                tree::published(patches, &stanza.base, packages)?.write(folder, false)?;
            let graph = match &stanza.git {
                None => resolve(&published, &graph::overrides(&published, None))?,
                Some(git) => manifest.graph_from(git, folder, patches)?,
            };
            (graph, published)
        }
    };
    let base = args.base.as_deref();
    let names = &args.names;
    let (base, Choice { names, .. }) = match &manifest.stanza {
        None => {
            let from_git = url.is_some();
            choice::applicable(catalog, manifest, &graph, base, names, from_git)?
        }
        Some(stanza) => {
            let base = base.or(Some(&stanza.base));
            let asked = if names.is_empty() {
                catalog.assert_recorded(&stanza.names)?;
                &stanza.names
            } else {
                names
            };
            choice::chosen(catalog, &manifest.path, &graph, base, asked)?
        }
    };
    for note in manifest.assert_reviewed(patches)?.into_iter().chain(doubts) {
        print_line("note", &note);
    }
    if !args.names.is_empty() || manifest.stanza.is_some() {
        catalog.refuse_inert(&base, &names, &architectures(manifest.root())?)?;
    }
    let rev = args.source.rev.as_deref();
    let find = |url| Checkout::find(&manifest.path, &graph, url, rev);
    let checkout = url.map(find).transpose()?;
    if let Some(checkout) = &checkout {
        checkout.assert_release(patches, &base)?;
    }
    let is_used = |package: &str| graph::has(&graph, package);
    let plan = tree::plan(catalog, &base, &names, false, is_used)?.complete()?;
    let mut trees = plan.write(folder, false)?;
    let absent = trees.extract_if(.., |tree| graph::usage(&graph, tree) == Use::Absent);
    let mut absent: Vec<_> = absent.map(|tree| tree.package).collect();
    absent.extend(plan.missing().cloned());
    if trees.is_empty() {
        let absent = absent.iter().map(String::as_str);
        return Err(choice::nothing_to_patch(&manifest.path, absent).into());
    }
    let overrides = |trees: &[Tree]| {
        let git = checkout
            .as_ref()
            .map(|checkout| checkout.replaced_by(trees));
        let packages = trees.iter().map(|tree| &*tree.package);
        manifest.assert_unpatched(packages, git.as_ref(), builder.folder, configs)?;
        anyhow::Ok(graph::overrides(trees, git.as_ref()))
    };
    let is_patched = |package: &str| trees.iter().any(|tree| tree.package == package);
    let unpatched = published.iter().filter(|tree| !is_patched(&tree.package));
    let replaced: Vec<_> = trees.iter().chain(unpatched).cloned().collect();
    let (baseline, candidate) = (overrides(&published)?, overrides(&replaced)?);
    let graph = resolve(&replaced, &candidate)?;
    graph::assert_in_place(&manifest.path, &graph, &replaced, checkout.as_ref())?;
    let paths: Vec<_> = replaced.iter().map(|tree| tree.path.clone()).collect();
    let git = checkout.as_ref().map(|checkout| &checkout.source);
    for note in graph::foreign(patches, &graph, &paths, git)? {
        print_line("note", &note);
    }
    Ok(Chosen {
        base,
        names,
        files,
        trees,
        published,
        baseline,
        candidate,
    })
}

/// Resolves the graph with values of cargo's `--config` that put the trees in place, and brings the lock file up to date.
fn resolve(
    manifest: &Manifest,
    lock: &mut Restore<'_>,
    trees: &[Tree],
    configs: &[String],
) -> Result<Metadata> {
    if let [tree, ..] = trees {
        let packages = trees.iter().map(|tree| &tree.package);
        manifest.lock_to_trees(lock, packages, &tree.version)?;
    }
    manifest.resolve(lock, configs)
}

/// Builds the program on Plonky3 as published and on the trees.
fn build(
    builder: &Builder<'_>,
    manifest: &Manifest,
    prover: &LockedDir,
    chosen: &Chosen,
    progress: &Progress,
) -> Result<[Program; 2]> {
    let side = |side: Side, patched: &[Tree], overrides: &[String]| {
        progress.announce(format!("building the {}", side.name()));
        let mut restore = manifest.restore_lock(prover)?;
        chosen.assert_current(manifest, true)?;
        // Where the user says `--locked`, the lock file has to have the trees.
        let configs = [&builder.configs(), overrides].concat();
        let graph = resolve(manifest, &mut restore, patched, &configs)?;
        let replaced = patched.iter().map(|tree| Replaced {
            package: tree.package.clone(),
            path: tree.path.clone(),
        });
        let locked = packages(&manifest.lock()?)?;
        let replaced: Vec<_> = replaced.collect();
        let built = builder.build(side, &replaced, overrides, &graph);
        // Without the manifest, cargo builds neither side.
        chosen.assert_current(manifest, false)?;
        let built = built?;
        // A file with other packages may be the one that cargo has read.
        match packages(&manifest.lock()?) {
            Ok(now) if now == locked => anyhow::Ok(built),
            _ => Err(changed(&manifest.lock_file()).into()),
        }
    };
    let programs = [
        side(Side::Baseline, &[], &chosen.baseline)?,
        side(Side::Candidate, &chosen.trees, &chosen.candidate)?,
    ];
    // The lock file is no part of what is built from here on.
    chosen.assert_current(manifest, false)?;
    Ok(programs)
}

/// Reads the manifest and the lock file.
fn files(manifest: &Manifest) -> Result<[String; 2]> {
    Ok([manifest.current()?, manifest.lock()?])
}

impl Chosen {
    /// Refuses another manifest, and another lock file where that is to be `locked` to: two builds with other dependencies or
    /// profiles cannot be compared.
    fn assert_current(&self, manifest: &Manifest, locked: bool) -> Result<()> {
        let paths = [manifest.path.clone(), manifest.lock_file()];
        let now = files(manifest)?;
        let paths = &paths[..if locked { 2 } else { 1 }];
        let mut pairs = paths.iter().zip(self.files.iter().zip(&now));
        match pairs.find(|(_, (chosen, now))| chosen != now) {
            Some((path, _)) => Err(changed(path).into()),
            None => Ok(()),
        }
    }
}

/// The rows of the table that compare whole runs.
fn whole(runs: &[Run]) -> Result<Vec<Row>> {
    let mut rows = vec![Row::new(runs)?];
    let mut add = |name: &str, quantity: &Quantity| {
        let row = Row::of(runs, quantity)?;
        rows.push(Row {
            workload: format!("{RUN}{name}"),
            memory_ratio: None,
            ..row
        });
        anyhow::Ok(())
    };
    add("CPU", &Quantity::CPU)?;
    if runs.iter().all(|run| run.peak_kib.is_some()) {
        add("memory", &Quantity::MEMORY)?;
    }
    Ok(rows)
}

/// The spans that take a part of the `run` that is worth a row; those that got slower come first.
fn phases(spans: &[Vec<Run>], run: &Row) -> Result<Vec<Row>> {
    const LEAST: f64 = 0.01;
    let rows = spans.iter().map(|runs| Row::new(runs));
    let mut rows = rows.collect::<Result<Vec<_>>>()?;
    rows.retain(|row| {
        row.baseline >= LEAST * run.baseline || row.candidate >= LEAST * run.candidate
    });
    rows.sort_by_key(|row| row.verdict != Verdict::Slower);
    Ok(rows)
}
