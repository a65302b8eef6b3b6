//! Records: measurements filed in `benches/record`, each in one file that describes itself, and how they are found again.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use cargo_metadata::semver::Version;
use clap::ValueEnum as _;
use indexmap::IndexSet;
use rustix::fs::FileType;
use serde::{Deserialize, Serialize};

use crate::metadata::Metadata;
use crate::project::Project;
use paired::error::Failure;
use paired::files::dir::{Dir, is_link};
use paired::isa::Isa;
use paired::run::sample::Run;
use paired::show::machine::Machine;
use paired::show::report::{csv, parse_csv};
use paired::show::section::{Record, Source};
use paired::stats::row::{Row, is_ratio};
use paired::terminal::shown;
use paired::text;

/// A baseline that takes more than this many times what it took in the fastest record is a loaded machine's.
pub const LOADED: f64 = 1.15;

/// The most by which two machines' clocks may differ.
const CLOCKS: Duration = Duration::from_secs(24 * 60 * 60);

/// Below the project's root.
pub const RECORDS: &str = "benches/record";

/// The name under which all patches together are filed.
pub const SERIES: &str = "series";

/// Stands between a step and what its baseline has. The name of a patch has no dot.
const ON: &str = ".on.";

/// Ends the name of the folder with an upstream bench's records.
const BENCH: &str = ".bench";

/// The lines at the top of a record, as TOML in comments of the CSV: all that the samples do not say themselves.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Head {
    /// The command, as it was typed.
    #[serde(deserialize_with = "text::command")]
    pub command: String,
    /// When the measurement began, in UTC: `2026-11-24T08:09:10.123Z`; of older records, the day.
    #[serde(deserialize_with = "text::line")]
    pub time: String,
    #[serde(deserialize_with = "text::name")]
    pub release: String,
    pub seeds: usize,
    /// The most that a seed has.
    pub pairs: usize,
    /// The SHA-256 of the patches with their kernels, as `apply` prints it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub patches_sha256: String,
    /// Tells whether rows that the command names are missing: the measurement was cut off, or had no time for them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub part: bool,
    pub machine: Machine,
    /// The rows whose baseline took more than 1.15 times what it had taken before, with this ratio.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub loaded: BTreeMap<String, f64>,
    /// The SHA-256 of the two executables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workers: BTreeMap<String, String>,
    /// The candidate's patches, with the hash of each one's code. Records before 2026-11-24 may have none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub patches: BTreeMap<String, String>,
    /// The baseline's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub baseline_patches: BTreeMap<String, String>,
}

impl Head {
    /// Returns the head as comments of a CSV.
    pub(super) fn text(&self) -> Result<String> {
        let mut text = String::new();
        for line in toml::to_string(self)?.lines() {
            text += match line {
                "" => "#",
                _ => "# ",
            };
            text += line;
            text.push('\n');
        }
        Ok(text)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let comments = text.lines().map_while(|line| line.strip_prefix('#'));
        let lines = comments.map(|line| line.strip_prefix(' ').unwrap_or(line));
        let toml = lines.collect::<Vec<_>>().join("\n");
        let head: Self = toml::from_str(&toml).map_err(|error| error.to_string())?;
        head.machine.check()?;
        check_day(&head.time)?;
        let is_sum =
            |sum: &str| sum.len() == 64 && sum.bytes().all(|digit| digit.is_ascii_hexdigit());
        let sum = &head.patches_sha256;
        if !sum.is_empty() && !is_sum(sum) {
            return Err(format!("patches-sha256: {sum:?} is none"));
        }
        if let Some((side, sum)) = head.workers.iter().find(|(_, sum)| !is_sum(sum)) {
            return Err(format!("workers: {side} = {sum:?} is none"));
        }
        if head.workers.len() > head.workers.values().collect::<BTreeSet<_>>().len() {
            return Err("workers: the same executable on both sides".to_owned());
        }
        let is_loaded = |ratio: f64| ratio >= LOADED && is_ratio(ratio);
        match head.loaded.iter().find(|(_, ratio)| !is_loaded(**ratio)) {
            Some((row, ratio)) => Err(format!("{row}: {ratio} is no loaded machine's ratio")),
            None => Ok(head),
        }
    }
}

/// Reads a record: its head, and the text that has its samples too.
pub(super) fn read_head(root: &Path, file: &str) -> Result<(Head, String)> {
    let text = String::from_utf8(contents(root, file)?);
    let text = text.map_err(|_| refuse(file, RECORDER, "not UTF-8 text"))?;
    let head = Head::parse(&text).map_err(|why| refuse(file, RECORDER, &why))?;
    Ok((head, text))
}

/// Reads a record: its head and its samples.
pub(super) fn read(root: &Path, file: &str) -> Result<(Head, Vec<Run>)> {
    let (head, text) = read_head(root, file)?;
    let runs = samples(file, &head, &text).map_err(|why| refuse(file, RECORDER, &why))?;
    Ok((head, runs))
}

fn samples(file: &str, head: &Head, text: &str) -> Result<Vec<Run>, String> {
    let runs = parse_csv(text)?;
    check(file, head, &runs)?;
    Ok(runs)
}

/// Writes a record as text; refuses one that would not be read again, since no other one could be made beside it.
pub(super) fn text(file: &str, head: &Head, runs: &[Run]) -> Result<String> {
    let text = head.text()? + &String::from_utf8(csv(runs)?)?;
    let reads = || Row::read(&samples(file, &Head::parse(&text)?, &text)?);
    reads().map_err(|why| {
        Failure::check(format!("{file}: not recorded: {}", why.trim_end()))
            .hint("measure again; the next command would refuse such a record")
    })?;
    Ok(text)
}

/// Checks that the samples of a record are those of its head and of its folder; an error says what is not.
fn check(file: &str, head: &Head, runs: &[Run]) -> Result<(), String> {
    let below = file.strip_prefix(RECORDS).unwrap_or(file);
    let mut folders = below.split('/').skip(1);
    let [release, machine] = [folders.next(), folders.next()].map(Option::unwrap_or_default);
    if head.release != release {
        let other = &head.release;
        return Err(format!("release: {other}, in the folder of {release}"));
    }
    check_patches(folders.next().unwrap_or_default(), head)?;
    let name = below.rsplit('/').next().unwrap_or_default();
    let own = file_name(&head.time, &head.machine.cpu) + ".csv";
    // The newest record is told by its name.
    if name != own {
        return Err(format!("named {name}, and not {own}"));
    }
    check_time(&head.time)?;
    if runs.is_empty() {
        return Err("no samples".to_owned());
    }
    let is_here = |isa: &str| {
        let triple = machine.strip_suffix(isa);
        triple.is_some_and(|triple| triple.ends_with('-'))
    };
    if let Some(Run { workload, isa, .. }) = runs.iter().find(|run| !is_here(&run.isa)) {
        return Err(format!("{workload}: for {isa}, in the folder of {machine}"));
    }
    let (seeds, pairs) = plan(runs);
    for (name, said, found) in [("seeds", head.seeds, seeds), ("pairs", head.pairs, pairs)] {
        if said != found {
            return Err(format!("{name}: {said}, but the samples are of {found}"));
        }
    }
    let has_samples = |row: &&String| runs.iter().any(|run| run.workload == **row);
    match head.loaded.keys().find(|row| !has_samples(row)) {
        Some(row) => Err(format!("{row}: loaded, but without samples")),
        None => Ok(()),
    }
}

/// The day from which on records have their patches.
pub(super) const FIRST_WITH_PATCHES: &str = "2026-11-24";

/// Checks that a record's patches are those that a folder of this name is for; an error says where they are not.
fn check_patches(stem: &str, head: &Head) -> Result<(), String> {
    if head.patches.is_empty() && head.time.as_str() < FIRST_WITH_PATCHES {
        return Ok(());
    }
    let bench = stem.strip_suffix(BENCH);
    let (asked, below) = match bench {
        Some(asked) => (asked, ""),
        None => stem.split_once(ON).unwrap_or((stem, "")),
    };
    let (patches, baseline) = (&head.patches, &head.baseline_patches);
    let is_own = |name| patches.contains_key(name) && !baseline.contains_key(name);
    let below: BTreeSet<&str> = below.split('+').filter(|name| !name.is_empty()).collect();
    let is_of_baseline = match bench {
        // The folder of a bench does not name what its baseline has.
        Some(_) => baseline.keys().all(|name| patches.contains_key(name)),
        None => baseline.keys().eq(below),
    };
    // The command of the series names no patch.
    let named = head
        .command
        .split_whitespace()
        .skip_while(|word| *word != "ab")
        .nth(1);
    let is_of_all = || !named.is_some_and(|name| head.patches.contains_key(name));
    match is_of_baseline
        && !stem.ends_with(ON)
        && (asked == SERIES && is_of_all() || asked.split('+').all(is_own))
    {
        true => Ok(()),
        false => Err(format!("patches: not those of {stem}")),
    }
}

/// Checks that a measurement's time is one; an error says what it is.
fn check_day(time: &str) -> Result<(), String> {
    match text::is_time(time) {
        true => Ok(()),
        false => Err(format!("time: {time:?} is none")),
    }
}

/// Checks as [`check_day`] does, and that the time is over by this machine's clock.
pub(super) fn check_time(time: &str) -> Result<(), String> {
    check_day(time)?;
    match *time > *text_of(SystemTime::now() + CLOCKS) {
        true => Err(format!(
            "time: {time} is yet to come, by this machine's clock"
        )),
        false => Ok(()),
    }
}

/// Returns the seeds of the samples, and the most pairs that a row has of one.
pub(super) fn plan(runs: &[Run]) -> (usize, usize) {
    let mut rounds = BTreeMap::<(&str, u64), BTreeSet<usize>>::new();
    for run in runs {
        let of_seed = rounds.entry((&run.workload, run.seed)).or_default();
        of_seed.insert(run.round);
    }
    let seeds: BTreeSet<u64> = rounds.keys().map(|(_, seed)| *seed).collect();
    let pairs = rounds.values().map(BTreeSet::len).max();
    (seeds.len(), pairs.unwrap_or(0))
}

/// Evaluates the samples of a record.
pub(super) fn rows(file: &str, runs: &[Run]) -> Result<Vec<Row>, Failure> {
    Row::read(runs).map_err(|why| refuse(file, RECORDER, &why))
}

/// The command that makes records with samples.
const RECORDER: &str = "ab --record";

/// Refuses a record of the command `recorder` by the record's name, with the reason.
pub(super) fn refuse(file: &str, recorder: &str, why: &str) -> Failure {
    let hint = format!(
        "restore that file from git, or delete it; `cargo p3 {recorder}` makes another one"
    );
    Failure::input(format!("{file}: {}", why.trim_end())).hint(hint)
}

/// Reads the file of a record, below `root`; refuses a symbolic link.
pub(super) fn contents(root: &Path, file: &str) -> Result<Vec<u8>> {
    let read = Dir::open(root)?.read(file)?;
    read.with_context(|| format!("cannot read {file}: it is gone"))
}

/// Returns the name that samples are filed under. A patch that stacks on others is measured with them and filed under its own
/// name; several are joined by `+`; none are the whole [`SERIES`]. The name of a step has all that its baseline has:
/// `NAME.on.OTHER+OTHER`.
pub fn file_stem(asked: &[String], below: &[String]) -> String {
    match (asked, below) {
        ([], _) => SERIES.to_owned(),
        (asked, []) => asked.join("+"),
        (asked, below) => format!("{}{ON}{}", asked.join("+"), below.join("+")),
    }
}

/// Returns the name that a bench of upstream's is filed under.
pub fn bench_stem(asked: &[String]) -> String {
    asked.join("+") + BENCH
}

/// Returns the present time, in UTC, as a [`Head`] has it.
pub fn now() -> String {
    text_of(SystemTime::now())
}

fn text_of(time: SystemTime) -> String {
    humantime::format_rfc3339_millis(time).to_string()
}

/// Returns the folder of the records for one target, below the project's root.
pub fn machine(base: &str, triple: &str, isa: &str) -> String {
    format!("{RECORDS}/{base}/{triple}-{isa}")
}

/// Returns the name of a record's file, without its extension. `AMD EPYC (family 25)` is `amd-epyc-family-25` in it.
pub fn file_name(time: &str, cpu: &str) -> String {
    let plain = cpu.replace("(R)", "").replace("(TM)", "").to_lowercase();
    let words = plain.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    format!("{}-{}", time.replace(':', "-"), words.join("-"))
}

/// Returns the records of `name` on `base` with all that it needs, for each TRIPLE-ISA and CPU: those of the patches' present code, then
/// those of earlier code, each with the rows that none before it has, the newest first. Samples of records with the same executables are
/// pooled.
pub fn records(project: &Project, base: &str, name: &str) -> Result<Vec<Record>> {
    let asked = match name {
        SERIES => Vec::new(),
        name => vec![name.to_owned()],
    };
    let (_, names) = project.catalog.chosen(Some(base), &asked)?;
    filed(project, base, name, &names, &[])
}

/// Returns the records of `name` as a step, on a baseline that has the patches which `name` stacks on in `base`. One on other patches
/// counts as outdated: those that it stacked on before.
pub fn step_records(project: &Project, base: &str, name: &str) -> Result<Vec<Record>> {
    filed_above(project, base, name, &format!("{name}{ON}"))
}

/// Returns the records of upstream's benches with `name` and with what it needs alone.
pub fn bench_records(project: &Project, base: &str, name: &str) -> Result<Vec<Record>> {
    filed_above(project, base, name, &bench_stem(&[name.to_owned()]))
}

/// Returns the records of `stem`, whose baseline has what `name` stacks on in `base`.
fn filed_above(project: &Project, base: &str, name: &str, stem: &str) -> Result<Vec<Record>> {
    let asked = [name.to_owned()];
    let below = project.catalog.below(&Version::parse(base)?, &asked)?;
    let (_, names) = project.catalog.chosen(Some(base), &asked)?;
    filed(project, base, stem, &names, &below)
}

/// The hashes of patches' code as it is now.
pub(super) struct Codes {
    codes: BTreeMap<String, String>,
    former: BTreeMap<String, [String; 2]>,
    /// The instruction sets whose builds have no code of a patch, by its name: whatever its code becomes, the same is measured.
    without: BTreeMap<String, Vec<String>>,
}

impl Codes {
    pub(super) fn of(project: &Project, base: &str, names: &[String]) -> Result<Self> {
        let mut without = BTreeMap::new();
        for name in names {
            let header = project.catalog.header(base, name)?;
            let metadata = Metadata::of(project, name)?;
            // A build for whatever CPU may have the code of each patch.
            let isas = (Isa::value_variants().iter())
                .filter(|isa| ![Isa::Generic, Isa::Native].contains(isa))
                .filter(|isa| !metadata.has_code(&header, **isa));
            without.insert(name.clone(), isas.map(Isa::to_string).collect());
        }
        Ok(Self {
            codes: project.catalog.codes(base, names)?,
            former: project.catalog.former_codes(base, names)?,
            without,
        })
    }

    /// Tells whether these are the hashes that a record for `isa` has of the same patches.
    pub(super) fn are(&self, recorded: &BTreeMap<String, String>, isa: &str) -> bool {
        let is = |(name, hash): (&String, &String)| {
            self.without
                .get(name)
                .is_some_and(|isas| isas.iter().any(|other| other == isa))
                || self.codes.get(name) == Some(hash)
                || (self.former.get(name)).is_some_and(|former| former.contains(hash))
        };
        recorded.len() == self.codes.len() && recorded.iter().all(is)
    }
}

/// Returns the records whose folders are `stem` or, where that ends with [`ON`], begin with it, as [`records`] has them.
fn filed(
    project: &Project,
    base: &str,
    stem: &str,
    names: &[String],
    below: &[String],
) -> Result<Vec<Record>> {
    let root = &project.root;
    let mut records: Vec<Record> = Vec::new();
    let release = format!("{RECORDS}/{base}");
    let mut present = None;
    for machine in entries(root, &release, true)? {
        let machine = format!("{release}/{machine}");
        let is_asked =
            |folder: &String| folder == stem || stem.ends_with(ON) && folder.starts_with(stem);
        let mut files = Vec::new();
        for folder in entries(root, &machine, true)?
            .iter()
            .filter(|folder| is_asked(folder))
        {
            let folder = format!("{machine}/{folder}");
            let names = entries(root, &folder, false)?.into_iter();
            let names = names.filter(|name| name.ends_with(".csv"));
            files.extend(names.map(|name| (name, folder.clone())));
        }
        // A name begins with the time.
        files.sort();
        let mut filed = Vec::new();
        for (name, folder) in files.iter().rev() {
            let file = format!("{folder}/{name}");
            let (head, runs) = read(root, &file)?;
            let (candidate, baseline) = match &present {
                Some(present) => present,
                None => present.insert((
                    Codes::of(project, base, names)?,
                    Codes::of(project, base, below)?,
                )),
            };
            let isa = &runs[0].isa;
            let outdated =
                !candidate.are(&head.patches, isa) || !baseline.are(&head.baseline_patches, isa);
            filed.push((outdated, file, head, runs));
        }
        // A row of an earlier text is shown where there is none of the present one.
        filed.sort_by_key(|(outdated, ..)| *outdated);
        let of_machine = records.len();
        let mut workers = Vec::new();
        for (outdated, file, head, mut runs) in filed {
            let is_of_cpu = |at: &usize| records[*at].machine.cpu == head.machine.cpu;
            let of_cpu: Vec<_> = (of_machine..records.len()).filter(is_of_cpu).collect();
            let is_same = |at: &usize| {
                !head.workers.is_empty()
                    && workers[at - of_machine] == head.workers
                    && records[*at].outdated == outdated
            };
            let same = of_cpu.iter().copied().find(is_same);
            // A row is of one pair of executables, the newest that ran it.
            let others = of_cpu.iter().filter(|at| same != Some(**at));
            let elsewhere: BTreeSet<_> = others
                .flat_map(|at| records[*at].rows.iter().map(|row| row.workload.clone()))
                .collect();
            runs.retain(|run| !elsewhere.contains(&run.workload));
            if runs.is_empty() {
                continue;
            }
            let source = Source {
                rows: rows(&file, &runs)?,
                file: Some(file.clone()),
                command: head.command,
            };
            if let Some(known) = same {
                let record = &mut records[known];
                pool(&mut record.runs, runs);
                record.rows = rows(&file, &record.runs)?;
                record.sources.push(source);
                record.loaded.extend(head.loaded);
                continue;
            }
            records.push(Record {
                rows: source.rows.clone(),
                sources: vec![source],
                machine: head.machine,
                outdated,
                loaded: head.loaded,
                runs,
            });
            workers.push(head.workers);
        }
    }
    Ok(records)
}

/// Adds `more` runs of the same executables. Their seeds become others: each stands for processes of its own. Rows are in the order of the
/// side that has more of them.
fn pool(runs: &mut Vec<Run>, more: Vec<Run>) {
    // The measurement of most rows has their order.
    let names =
        |runs: &[Run]| -> IndexSet<_> { runs.iter().map(|run| run.workload.clone()).collect() };
    let mut names = [names(runs), names(&more)];
    names.sort_by_key(|names| Reverse(names.len()));
    let next = runs
        .iter()
        .map(|run| run.seed + 1)
        .max()
        .unwrap_or_default();
    let first = more.iter().map(|run| run.seed).min().unwrap_or_default();
    runs.extend(more.into_iter().map(|run| Run {
        seed: next + run.seed - first,
        ..run
    }));
    let names = names.into_iter().flatten().collect::<IndexSet<_>>();
    runs.sort_by_cached_key(|run| names.get_index_of(&run.workload));
}

/// Returns every record with samples, below `root`.
pub(super) fn files(root: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for base in entries(root, RECORDS, true)? {
        let release = format!("{RECORDS}/{base}");
        for machine in entries(root, &release, true)? {
            files.extend(files_of(root, &format!("{release}/{machine}"))?);
        }
    }
    Ok(files)
}

/// Returns the records with samples in the folder `machine`.
pub(super) fn files_of(root: &Path, machine: &str) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for stem in entries(root, machine, true)? {
        let folder = format!("{machine}/{stem}");
        let names = entries(root, &folder, false)?;
        let records = names.iter().filter(|name| name.ends_with(".csv"));
        files.extend(records.map(|name| format!("{folder}/{name}")));
    }
    Ok(files)
}

/// Returns the names of the folders in `folder` below `root`, or of its files, sorted; none where there is no such folder. A
/// symbolic link there is refused.
pub(super) fn entries(root: &Path, folder: &str, folders: bool) -> Result<Vec<String>> {
    let Some(dir) = Dir::open(root)?.folder(folder)? else {
        return Ok(Vec::new());
    };
    let mut names = Vec::new();
    for (name, kind) in dir.entries()? {
        if kind == FileType::Symlink {
            return Err(is_link(&dir.path().join(name)).into());
        }
        if (kind == FileType::Directory) == folders {
            let name = name.to_string_lossy().into_owned();
            // Documents have links to these.
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
            if !name.chars().all(is_plain) {
                let what = format!("{}: {name:?} is no name of a record", shown(dir.path()));
                return Err(Failure::input(what).hint("rename or delete it").into());
            }
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
pub mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use paired::run::protocol::is_control;
    use paired::run::sample::by_row;
    use proptest::{collection, prelude::*};
    use statrs::distribution::{Binomial, DiscreteCDF};

    use super::*;
    use crate::bench::filing::{self, loaded_rows};
    use p3_patches::catalog::difference::Difference;
    use paired::error::Kind;
    use paired::show::report::Report;
    use paired::testing::runs;

    pub const COUNTS: &str = r#"{"schema": 1, "base": "0.8.0", "isa": "neon", "patches": ["quick-sponge"], "emulated_cpu": "cortex-a76", "rustflags": "-C opt", "units": [
        {"unit": "permute/x", "leaves": 1,
         "baseline": {"instructions": 1000, "model_cycles": {"neoverse-n1": 500}},
         "candidate": {"instructions": 900, "model_cycles": {"neoverse-n1": 400}}}]}"#;

    /// Returns a report of `runs` with the patches `a` and `b`, on a CPU of this name.
    pub fn report(cpu: &str, runs: &[Run]) -> Report<Difference> {
        Report {
            schema: Report::<Difference>::SCHEMA,
            command: "cargo p3 ab a".into(),
            subject: Difference {
                base: "0.8.0".into(),
                baseline_patches: Vec::new(),
                patches: vec!["a".into(), "b".into()],
                reverted: false,
            },
            machine: Machine {
                cpu: cpu.into(),
                cores: 2,
                rustc: "rustc 1.95.0".into(),
                rustflags: String::new(),
            },
            rows: Row::all(runs).unwrap(),
        }
    }

    /// A checkout with the patches `base-layer` and `quick-sponge`, which needs it, and with records.
    pub struct Filed(tempfile::TempDir);

    impl Filed {
        pub fn new() -> Self {
            let filed = Self(tempfile::tempdir().unwrap());
            filed.put(
                "patches/series",
                "base-layer\nquick-sponge needs: base-layer\n",
            );
            filed.patch("base-layer", "", "let x = 1;");
            filed.patch("quick-sponge", "Needs: base-layer\n", "let x = 2;");
            filed
        }

        pub fn root(&self) -> &Path {
            self.0.path()
        }

        pub fn put(&self, path: &str, text: &str) {
            let path = self.root().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        /// Writes the patch `name`, which adds these lines.
        pub fn patch(&self, name: &str, needs: &str, lines: &str) {
            let after = 1 + lines.lines().count();
            let added = (lines.lines())
                .map(|line| format!("+{line}\n"))
                .collect::<String>();
            let text = format!(
                "Title: perf(x): y\nPackages: p3-x\nBases: 0.8.0\n{needs}Risk: low: x\nForwarded: not yet\n\
                 Applied-Upstream: no\n\nWhy.\n---\ndiff --git a/x/src/{name}.rs b/x/src/{name}.rs\n\
                 --- a/x/src/{name}.rs\n+++ b/x/src/{name}.rs\n@@ -1,1 +1,{after} @@\n a\n{added}-- \np3-patches\n"
            );
            self.put(&format!("patches/0.8.0/{name}.patch"), &text);
        }

        /// Adds a bench with this line to the patch `name`, or replaces the one that it has.
        pub fn bench(&self, name: &str, line: &str) {
            let path = format!("patches/0.8.0/{name}.patch");
            let text = fs::read_to_string(self.root().join(&path)).unwrap();
            let of_bench = "diff --git a/x/benches/b.rs b/x/benches/b.rs\n";
            let (own, _) = text
                .split_once(of_bench)
                .or(text.split_once("-- \n"))
                .unwrap();
            let section = format!(
                "{of_bench}--- a/x/benches/b.rs\n+++ b/x/benches/b.rs\n@@ -1,1 +1,2 @@\n a\n+{line}\n"
            );
            self.put(&path, &format!("{own}{section}-- \np3-patches\n"));
        }

        /// Files a record of `stem` from a `day`, whose candidate had `ratio` of the baseline's time, with the present code of `patches`.
        pub fn write(&self, stem: &str, day: &str, cpu: &str, ratio: f64, patches: &[&str]) {
            let project = Project::at(self.root());
            let names: Vec<_> = patches.iter().map(ToString::to_string).collect();
            let below = stem.split_once(ON).map_or("", |(_, below)| below);
            let below: Vec<_> = below
                .split('+')
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect();
            // A patch that is no longer there had code, too.
            let codes = |names: &[String]| {
                let (known, gone): (Vec<_>, Vec<_>) =
                    (names.iter().cloned()).partition(|name| project.catalog.has("0.8.0", name));
                let mut codes = project.catalog.codes("0.8.0", &known).unwrap();
                codes.extend(gone.into_iter().map(|name| (name, String::new())));
                codes
            };
            let head = Head {
                time: day.to_owned(),
                patches: codes(&names),
                baseline_patches: codes(&below),
                ..head(cpu)
            };
            let samples = String::from_utf8(csv(&runs(ratio)).unwrap()).unwrap();
            let name = file_name(day, cpu);
            let path = format!("{RECORDS}/0.8.0/triple-x86-64-v3/{stem}/{name}.csv");
            self.put(&path, &(head.text().unwrap() + &samples));
        }
    }

    fn head(cpu: &str) -> Head {
        Head {
            command: "cargo p3 ab \"x\"".into(),
            time: "2026-11-01T10:00:00Z".into(),
            release: "0.8.0".into(),
            seeds: 5,
            pairs: 2,
            patches_sha256: String::new(),
            part: false,
            machine: Machine {
                cpu: cpu.into(),
                cores: 2,
                rustc: "rustc 1.95.0".into(),
                rustflags: String::new(),
            },
            loaded: BTreeMap::new(),
            workers: BTreeMap::new(),
            patches: BTreeMap::new(),
            baseline_patches: BTreeMap::new(),
        }
    }

    #[test]
    fn a_cpu_names_a_file() {
        assert_eq!(
            file_name("2026-11-24T08:09:10.123Z", "AMD EPYC (family 25, model 17)"),
            "2026-11-24T08-09-10.123Z-amd-epyc-family-25-model-17"
        );
        assert_eq!(
            file_name("2026-11-21", "Intel(R) Xeon(R) Processor @ 2.50GHz"),
            "2026-11-21-intel-xeon-processor-2-50ghz"
        );
    }

    #[test]
    fn a_record_describes_itself() {
        let mut head = head("AMD EPYC (family 25, model 17): \"fast\"");
        head.loaded.insert("merkle-commit/x/2^4".into(), 1.31);
        head.workers.insert("baseline".into(), "aa".repeat(32));
        head.patches.insert("quick-sponge".into(), "bb".into());
        let samples = String::from_utf8(csv(&runs(0.8)).unwrap()).unwrap();
        let text = head.text().unwrap() + &samples;
        insta::assert_snapshot!(head.text().unwrap());
        assert_eq!(Head::parse(&text).unwrap(), head);
        assert_eq!(parse_csv(&text).unwrap(), runs(0.8));
        assert_eq!(plan(&runs(0.8)), (5, 2));
        assert!(Head::parse(&samples).is_err());
    }

    proptest! {
        #[test]
        fn each_head_is_read_as_it_was_written(
            names in collection::vec("([# \"'\\\\=\\]]|\\PC){0,6}", 3),
            command in "([# \n\r\t\"'\\\\=]|\\PC){0,12}",
        ) {
            prop_assume!(!names.iter().any(|name| name.contains(is_control)));
            prop_assume!(!names[0].trim().is_empty());
            let mut head = Head { command, ..head(&names[0]) };
            head.loaded.insert(names[1].clone(), 1.31);
            head.patches.insert(names[2].clone(), names[0].clone());
            let text = head.text().unwrap() + "workload,isa\n";
            head.command = head.command.replace(is_control, " ");
            prop_assert_eq!(Head::parse(&text), Ok(head));
        }
    }

    #[test]
    fn a_step_is_named_by_all_that_its_baseline_has() {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(file_stem(&names(&["c"]), &names(&["a", "b"])), "c.on.a+b");
        assert_eq!(file_stem(&names(&["a", "b"]), &[]), "a+b");
        assert_eq!(file_stem(&[], &[]), "series");
    }

    /// A patch that needs others no longer, or others than before, keeps what was measured.
    #[test]
    fn a_step_on_other_patches_is_outdated() {
        let filed = Filed::new();
        let found = || {
            let records = step_records(&Project::at(filed.root()), "0.8.0", "quick-sponge");
            let found = records.unwrap().into_iter();
            found
                .map(|record| (record.rows[0].ratio, record.outdated))
                .collect::<Vec<_>>()
        };
        assert!(found().is_empty());
        let both = ["base-layer", "quick-sponge"];
        let file = |stem: &str, ratio| filed.write(stem, "2026-01-01", "Narrow", ratio, &both);
        file("quick-sponge.on.other", 0.5);
        assert_eq!(found(), [(0.5, true)]);
        file("quick-sponge.on.base-layer", 0.75);
        assert_eq!(found(), [(0.75, false)]);
    }

    #[test]
    fn the_newest_record_of_the_present_code_is_found() {
        let filed = Filed::new();
        let _project = Project::at(filed.root());
        let found = || {
            let records = records(&Project::at(filed.root()), "0.8.0", "quick-sponge");
            let found = records.unwrap().into_iter();
            found
                .map(|record| (record.machine.cpu, record.rows[0].ratio, record.outdated))
                .collect::<Vec<_>>()
        };
        assert!(found().is_empty());
        let both = ["base-layer", "quick-sponge"];
        // Before records had the patches' hashes, and with one patch for two.
        filed.write("quick-sponge", "2026-01-02", "Narrow", 0.5, &[]);
        filed.write("quick-sponge", "2026-01-01", "Narrow", 0.75, &both[1..]);
        assert_eq!(found(), [("Narrow".into(), 0.5, true)]);
        filed.write("quick-sponge", "2025-12-01", "Narrow", 0.25, &both);
        filed.write("quick-sponge", "2025-11-01", "Narrow", 1.25, &both);
        filed.write("quick-sponge", "2026-01-01", "Wide", 1.5, &both);
        let present = [("Narrow".into(), 0.25, false), ("Wide".into(), 1.5, false)];
        let mut sorted = found();
        sorted.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(sorted, present);
        // Words and context are no code.
        filed.patch("base-layer", "", "// Why.\n\n    let x = 1;");
        assert!(found().iter().all(|(_, _, outdated)| !outdated));
        filed.patch("base-layer", "", "let x = 3;");
        assert!(found().iter().all(|(_, _, outdated)| *outdated));
        // The newest of those that are out of date.
        assert!(found().contains(&("Narrow".into(), 0.5, true)));
    }

    #[test]
    fn a_patch_without_code_in_a_build_makes_no_record_out_of_date() {
        let filed = Filed::new();
        let both = ["base-layer", "quick-sponge"];
        filed.write("quick-sponge", "2026-01-01", "Narrow", 0.5, &both);
        let without_code = |isa: &str| {
            let manifest = format!("[package.metadata.p3]\nwithout-code = [\"{isa}\"]\n");
            filed.put("crates/base-layer/Cargo.toml", &manifest);
        };
        let is_outdated = || {
            let records = records(&Project::at(filed.root()), "0.8.0", "quick-sponge").unwrap();
            records[0].outdated
        };
        filed.patch("base-layer", "", "let x = 3;");
        assert!(is_outdated());
        without_code("x86-64-v3");
        assert!(!is_outdated());
        without_code("x86-64-v4");
        assert!(is_outdated());
        // Its absence is another matter than its code.
        without_code("x86-64-v3");
        filed.write("quick-sponge", "2026-02-01", "Wide", 0.5, &both[1..]);
        let of_wide = records(&Project::at(filed.root()), "0.8.0", "quick-sponge").unwrap();
        let is_wide = |record: &&Record| record.machine.cpu == "Wide";
        assert!(of_wide.iter().find(is_wide).unwrap().outdated);
    }

    #[test]
    fn a_bench_makes_no_record_out_of_date() {
        let filed = Filed::new();
        let is_outdated = || {
            let records = records(&Project::at(filed.root()), "0.8.0", "base-layer").unwrap();
            records[0].outdated
        };
        filed.bench("base-layer", "let y = 1;");
        filed.write("base-layer", "2026-01-01", "Narrow", 0.5, &["base-layer"]);
        assert!(!is_outdated());
        filed.bench("base-layer", "let y = 2;");
        assert!(!is_outdated());

        // Records from the times when lines were hashed as they stood, and when benches were code.
        let names = ["base-layer".to_owned()];
        let catalog = &Project::at(filed.root()).catalog;
        let code = &catalog.codes("0.8.0", &names).unwrap()["base-layer"];
        let [as_they_stood, earlier] =
            &catalog.former_codes("0.8.0", &names).unwrap()["base-layer"];
        let path = format!("{RECORDS}/0.8.0/triple-x86-64-v3/base-layer/2026-01-01-narrow.csv");
        let record = fs::read_to_string(filed.root().join(&path)).unwrap();
        assert!(record.contains(code));
        filed.put(&path, &record.replace(code, as_they_stood));
        assert!(!is_outdated());
        filed.put(&path, &record.replace(code, earlier));
        assert!(!is_outdated());
        filed.bench("base-layer", "let y = 3;");
        assert!(is_outdated());
    }

    /// Git may show one change by several diffs.
    #[test]
    fn another_diff_of_the_same_change_makes_no_record_out_of_date() {
        let filed = Filed::new();
        let path = "patches/0.8.0/base-layer.patch";
        let text = fs::read_to_string(filed.root().join(path)).unwrap();
        let (before, _) = text.split_once("@@").unwrap();
        let shown = |hunk: &str| {
            filed.put(
                path,
                &format!("{before}@@ -1,2 +1,4 @@\n{hunk}-- \np3-patches\n"),
            )
        };
        let is_outdated = || {
            let records = records(&Project::at(filed.root()), "0.8.0", "base-layer").unwrap();
            records[0].outdated
        };
        shown(" fn a() {\n }\n+fn b() {\n+}\n");
        filed.write("base-layer", "2026-01-01", "Narrow", 0.5, &["base-layer"]);
        assert!(!is_outdated());
        shown(" fn a() {\n+}\n+fn b() {\n }\n");
        assert!(!is_outdated());
        shown(" fn a() {\n }\n+fn c() {\n+}\n");
        assert!(is_outdated());
    }

    #[test]
    fn records_of_the_same_executables_are_pooled() {
        let filed = Filed::new();
        let write = |day: &str, ratio: f64, workload: &str, worker: &str| {
            filed.write("quick-sponge", day, "Narrow", ratio, &[]);
            let path = format!("{RECORDS}/0.8.0/triple-x86-64-v3/quick-sponge/{day}-narrow.csv");
            let text = fs::read_to_string(filed.root().join(&path)).unwrap();
            let (head, samples) = text.split_once("\nworkload,").unwrap();
            let samples = samples.replace("merkle-commit/x/2^4", workload);
            let workers = format!("# [workers]\n# baseline = \"{}\"", worker.repeat(32));
            filed.put(&path, &format!("{head}\n#\n{workers}\nworkload,{samples}"));
            path
        };
        let [x, y] = ["merkle-commit/x/2^4", "lde/y"];
        write("2026-01-01", 0.25, x, "aa");
        let older = write("2026-01-02", 0.5, x, "bb");
        let other = write("2026-01-03", 0.75, y, "bb");
        let newest = write("2026-01-04", 0.5, x, "bb");
        let records = records(&Project::at(filed.root()), "0.8.0", "quick-sponge").unwrap();
        let [record] = &records[..] else {
            panic!("one CPU")
        };
        // A row leads to the files that have it, and to no other.
        let files_of = |row: &Row| record.files_of(row).collect::<Vec<_>>();
        assert_eq!(files_of(&record.rows[0]), [newest, older]);
        assert_eq!(files_of(&record.rows[1]), [other]);
        let rows = record.rows.iter();
        let rows: Vec<_> = rows.map(|row| (&*row.workload, row.ratio)).collect();
        assert_eq!(rows, [(x, 0.5), (y, 0.75)]);
        let one = runs(0.5).len();
        let lines = paired::show::section::lines(&records);
        // Seeds stand for processes, of which no two records have one in common.
        let seeds = |runs: &[Run]| {
            runs.iter()
                .map(|run| run.seed)
                .collect::<BTreeSet<_>>()
                .len()
        };
        assert_eq!([seeds(lines[0].runs), seeds(lines[1].runs)], [10, 5]);
        assert_eq!([lines[0].runs.len(), lines[1].runs.len()], [2 * one, one]);
    }

    #[test]
    fn pooled_rows_have_the_order_of_the_measurement_of_most_rows() {
        let of = |names: &[&str]| {
            let named = names.iter().flat_map(|name| {
                let runs = runs(0.5).into_iter();
                runs.map(|run| Run {
                    workload: (*name).to_owned(),
                    ..run
                })
            });
            named.collect::<Vec<_>>()
        };
        for [first, more] in [[&["b"][..], &["a", "b", "c"]], [&["a", "b", "c"], &["c"]]] {
            let mut pooled = of(first);
            pool(&mut pooled, of(more));
            let names: IndexSet<_> = pooled.iter().map(|run| &*run.workload).collect();
            assert!(names.into_iter().eq(["a", "b", "c"]));
        }
    }

    /// A worker that was built again ran a few rows; the others stay those of the worker before, where the code is the same.
    #[test]
    fn a_row_is_of_the_newest_executables_that_ran_it() {
        let filed = Filed::new();
        let both = ["base-layer", "quick-sponge"];
        let write = |day: &str, ratio: f64, rows: &[&str], patches: &[&str]| {
            filed.write("quick-sponge", day, "Narrow", ratio, patches);
            let path = format!("{RECORDS}/0.8.0/triple-x86-64-v3/quick-sponge/{day}-narrow.csv");
            let text = fs::read_to_string(filed.root().join(&path)).unwrap();
            let (head, samples) = text.split_once("\nworkload,").unwrap();
            let (names, samples) = samples.split_once('\n').unwrap();
            let of = |row: &&str| samples.replace("merkle-commit/x/2^4", row);
            let samples: String = rows.iter().map(of).collect();
            filed.put(&path, &format!("{head}\nworkload,{names}\n{samples}"));
        };
        let [x, y, z] = ["merkle-commit/x/2^4", "lde/y", "lde/z"];
        write("2026-01-01", 0.25, &[x, z], &[]);
        write("2026-01-02", 0.5, &[x, y], &both);
        write("2026-01-03", 0.75, &[x], &both);
        let records = records(&Project::at(filed.root()), "0.8.0", "quick-sponge").unwrap();
        let rows = |record: &Record| {
            let rows = record.rows.iter();
            let rows = rows.map(|row| (row.workload.clone(), row.ratio));
            rows.collect::<Vec<_>>()
        };
        let found: Vec<_> = records.iter().map(rows).collect();
        // The row that the present code lacks is that of an earlier one.
        assert_eq!(
            found,
            [[(x.into(), 0.75)], [(y.into(), 0.5)], [(z.into(), 0.25)]]
        );
        assert_eq!(
            records
                .iter()
                .map(|record| record.outdated)
                .collect::<Vec<_>>(),
            [false, false, true]
        );
    }

    #[test]
    fn records_that_contradict_themselves_are_refused() {
        let filed = Filed::new();
        filed.write("series", "2026-11-01", "Narrow", 0.5, &[]);
        let folder = format!("{RECORDS}/0.8.0/triple-x86-64-v3/series");
        let file = format!("{folder}/2026-11-01-narrow.csv");
        let whole = fs::read_to_string(filed.root().join(&file)).unwrap();
        read(filed.root(), &file).unwrap();
        let (head, _) = whole.split_once("\nmerkle-commit").unwrap();
        let refused = |text: &str, complaint: &str| {
            filed.put(&file, text);
            let refused = read(filed.root(), &file).unwrap_err();
            let expected = format!("{file}: {complaint}");
            assert_eq!(refused.to_string(), expected);
            let hint = Failure::behind(&refused).unwrap().hint.as_ref().unwrap();
            assert!(hint.contains("`cargo p3 ab --record`"), "{hint}");
        };
        let sum = "aa".repeat(32);
        let twice =
            format!("# workers = {{ baseline = \"{sum}\", candidate = \"{sum}\" }}\n# [machine]");
        for (from, to, complaint) in [
            (
                "release = \"0.8.0\"",
                "release = \"0.7.0\"",
                "release: 0.7.0, in the folder of 0.8.0",
            ),
            (
                ",x86-64-v3,",
                ",x86-64-v4,",
                "merkle-commit/x/2^4: for x86-64-v4, in the folder of triple-x86-64-v3",
            ),
            (
                "seeds = 5",
                "seeds = 4",
                "seeds: 4, but the samples are of 5",
            ),
            (
                "seeds = 5",
                "seeds = 18446744073709551615",
                "seeds: 18446744073709551615, but the samples are of 5",
            ),
            (
                "pairs = 2",
                "pairs = 3",
                "pairs: 3, but the samples are of 2",
            ),
            (
                "# [machine]",
                "# loaded = { \"merkle-commit/x/2^4\" = -1.5 }\n# [machine]",
                "merkle-commit/x/2^4: -1.5 is no loaded machine's ratio",
            ),
            (
                "# [machine]",
                "# loaded = { \"merkle-commit/x/2^4\" = 1.1 }\n# [machine]",
                "merkle-commit/x/2^4: 1.1 is no loaded machine's ratio",
            ),
            (
                "# [machine]",
                "# loaded = { \"merkle-commit/x/2^4\" = 1e7 }\n# [machine]",
                "merkle-commit/x/2^4: 10000000 is no loaded machine's ratio",
            ),
            (
                "# [machine]",
                "# loaded = { other = 1.5 }\n# [machine]",
                "other: loaded, but without samples",
            ),
            (
                "pairs = 2",
                "pairs = 1",
                "pairs: 1, but the samples are of 2",
            ),
            ("2026-11-01", "2026-13-01", "time: \"2026-13-01\" is none"),
            ("2026-11-01", "", "time: \"\" is none"),
            (
                "2026-11-01",
                "9999-11-01T10:00:00Z",
                "time: \"9999-11-01T10:00:00Z\" is none",
            ),
            (
                "cpu = \"Narrow\"",
                "cpu = \"Wide\"",
                "named 2026-11-01-narrow.csv, and not 2026-11-01-wide.csv",
            ),
            (
                "pairs = 2",
                "pairs = 2\n# patches-sha256 = \"00\"",
                "patches-sha256: \"00\" is none",
            ),
            (
                "# [machine]",
                "# workers = { baseline = \"00\" }\n# [machine]",
                "workers: baseline = \"00\" is none",
            ),
            (
                "# [machine]",
                &twice,
                "workers: the same executable on both sides",
            ),
            ("cores = 2", "cores = 0", "cores: none"),
        ] {
            assert!(whole.contains(from), "{from}");
            refused(&whole.replace(from, to), complaint);
        }
        refused(head, "no samples");
        filed.write("series", "2099-11-01", "Narrow", 0.5, &[]);
        let yet = read(filed.root(), &file.replace("2026", "2099")).unwrap_err();
        let complaint =
            "2099-11-01-narrow.csv: time: 2099-11-01 is yet to come, by this machine's clock";
        assert!(yet.to_string().ends_with(complaint), "{yet}");
        let last = whole.lines().next_back().unwrap();
        let complaint =
            "merkle-commit/x/2^4: seed 4, round 9 has not each run of a round once, in its order";
        refused(&format!("{whole}{last}\n"), complaint);
        refused(&whole.replace(&format!("{last}\n"), ""), complaint);
    }

    /// A record that was copied to another patch's folder would be shown as that patch's.
    #[test]
    fn a_record_in_another_patchs_folder_is_refused() {
        let filed = Filed::new();
        let both = ["base-layer", "quick-sponge"];
        let of_step = "quick-sponge.on.base-layer";
        let read_as = |made: &str, patches: &[&str], copied: &str| {
            let [made, copied] = [made, copied].map(|stem| {
                format!("{RECORDS}/0.8.0/triple-x86-64-v3/{stem}/2026-11-01-narrow.csv")
            });
            filed.write(
                made.rsplit('/').nth(1).unwrap(),
                "2026-11-01",
                "Narrow",
                0.5,
                patches,
            );
            let text = fs::read_to_string(filed.root().join(made)).unwrap();
            filed.put(&copied, &text);
            read(filed.root(), &copied).map_err(|error| error.to_string())
        };
        for (made, patches, copied) in [
            ("series", &both[..], "quick-sponge"),
            ("quick-sponge", &both, "quick-sponge.bench"),
            (of_step, &both, of_step),
            (of_step, &both, "quick-sponge.bench"),
            ("base-layer", &[], "quick-sponge"),
        ] {
            read_as(made, patches, copied).unwrap();
        }
        // One of a patch by the command is none of the series.
        filed.write("series", "2026-11-25", "Narrow", 0.5, &both);
        let series = format!("{RECORDS}/0.8.0/triple-x86-64-v3/series/2026-11-25-narrow.csv");
        let text = fs::read_to_string(filed.root().join(&series)).unwrap();
        read(filed.root(), &series).unwrap();
        filed.put(&series, &text.replace("ab \"x\"", "ab quick-sponge"));
        let refused = read(filed.root(), &series).unwrap_err().to_string();
        assert!(
            refused.ends_with("patches: not those of series"),
            "{refused}"
        );
        // A later record without patches is none.
        let later = format!("{RECORDS}/0.8.0/triple-x86-64-v3/series/2026-11-24-narrow.csv");
        filed.write("series", "2026-11-24", "Narrow", 0.5, &[]);
        read(filed.root(), &later).unwrap();
        filed.write("base-layer", "2026-11-24", "Narrow", 0.5, &[]);
        let refused = read(filed.root(), &later.replace("series", "base-layer")).unwrap_err();
        assert!(
            refused
                .to_string()
                .ends_with("patches: not those of base-layer"),
            "{refused}"
        );
        for (made, patches, copied) in [
            ("base-layer", &both[..1], "quick-sponge"),
            ("quick-sponge", &both, "quick-sponge.on."),
            ("base-layer", &both[..1], "base-layer+quick-sponge"),
            ("base-layer", &both[..1], "quick-sponge.bench"),
            ("quick-sponge.on.other", &both, "quick-sponge.bench"),
            (of_step, &both, "base-layer.bench"),
            (of_step, &both, "quick-sponge.bench.on.base-layer"),
            (of_step, &both, "quick-sponge.on.base-layer.bench"),
            ("quick-sponge", &both, of_step),
            (of_step, &both, "quick-sponge"),
            (of_step, &both, "series"),
            (of_step, &both, "base-layer.on.quick-sponge"),
        ] {
            let refused = read_as(made, patches, copied).unwrap_err();
            let complaint = format!("patches: not those of {copied}");
            assert!(refused.ends_with(&complaint), "{refused}");
        }
    }

    #[test]
    fn texts_of_a_record_are_read_without_tokens() {
        let filed = Filed::new();
        filed.write("quick-sponge", "2026-11-01", "Narrow", 0.5, &[]);
        let folder = format!("{RECORDS}/0.8.0/triple-x86-64-v3/quick-sponge");
        let file = format!("{folder}/2026-11-01-narrow.csv");
        let mut text = fs::read_to_string(filed.root().join(&file)).unwrap();
        for (from, to) in [
            (
                "command = 'cargo p3 ab",
                "command = 'cargo p3 ab --json URL",
            ),
            ("rustflags = \"", "rustflags = \"URL"),
            ("cpu = \"", "cpu = \"URL "),
            ("rustc = \"", "rustc = \"URL "),
            ("merkle-commit/x/2^4", "URL/x"),
        ] {
            assert!(text.contains(from), "{from}: {text}");
            text = text.replace(from, &to.replace("URL", "https://me:s3cr3t@h"));
        }
        fs::remove_file(filed.root().join(&file)).unwrap();
        filed.put(&file.replace("narrow", "https-h-narrow"), &text);
        let records = records(&Project::at(filed.root()), "0.8.0", "quick-sponge").unwrap();
        let shown = serde_json::to_string(&records).unwrap() + &records[0].sources[0].command;
        assert_eq!(shown.matches("https://h").count(), 5, "{shown}");
        assert_eq!(records[0].runs[0].workload, "https://h/x");
        assert!(!shown.contains("s3cr3t"), "{shown}");
    }

    #[test]
    fn links_among_records_are_refused() {
        let machine = format!("{RECORDS}/0.8.0/triple-x86-64-v3");
        let record = format!("{machine}/quick-sponge/2026-01-01-narrow.csv");
        let folder = format!("{machine}/quick-sponge");
        for place in ["benches", RECORDS, &*machine, &folder, &record] {
            let filed = Filed::new();
            filed.write("quick-sponge", "2026-01-01", "Narrow", 0.5, &[]);
            let project = Project::at(filed.root());
            let read = || {
                records(&project, "0.8.0", "quick-sponge")?;
                files(&project.root)
            };
            assert_eq!(read().unwrap(), [&*record]);
            let path = filed.root().join(place);
            let elsewhere = filed.root().join("elsewhere");
            fs::rename(&path, &elsewhere).unwrap();
            symlink(&elsewhere, &path).unwrap();
            let is_refused = |refused: anyhow::Error| {
                let expected = format!("{}: a symbolic link, ", shown(&path));
                assert!(refused.to_string().starts_with(&expected), "{refused:#}");
                assert_eq!(Failure::behind(&refused).unwrap().kind, Kind::Input);
            };
            is_refused(read().unwrap_err());
            is_refused(files(&project.root).unwrap_err());
            is_refused(contents(&project.root, &record).unwrap_err());
        }
    }

    #[test]
    fn a_loaded_machine_is_noticed() {
        let filed = Filed::new();
        filed.write("series", "2026-01-01", "Narrow", 0.5, &[]);
        let machine = format!("{RECORDS}/0.8.0/triple-x86-64-v3");
        let loaded = |percent: u64, head: &Head| {
            let mut runs = runs(0.5);
            for run in &mut runs {
                run.wall_ns = run.wall_ns * percent / 100;
            }
            loaded_rows(filed.root(), &machine, head, &Row::all(&runs).unwrap()).unwrap()
        };
        let head = head("Narrow");
        assert!(loaded(114, &head).is_empty());
        assert_eq!(loaded(116, &head)["merkle-commit/x/2^4"], 1.16);
        // A bench's times change their unit at a millisecond.
        let bench = |us: u64| {
            let mut samples = runs(1.0);
            for run in &mut samples {
                run.workload = "bench/x".into();
                (run.wall_ns, run.cpu_ns) = (us * 1000, us * 1000);
            }
            samples
        };
        let samples = String::from_utf8(csv(&bench(990)).unwrap()).unwrap();
        filed.put(
            &format!("{machine}/series/2026-01-02-narrow.csv"),
            &(Head {
                time: "2026-01-02".into(),
                ..head.clone()
            }
            .text()
            .unwrap()
                + &samples),
        );
        let of_bench = |us| {
            let rows = Row::all(&bench(us)).unwrap();
            loaded_rows(filed.root(), &machine, &head, &rows).unwrap()
        };
        assert!(of_bench(1010).is_empty());
        assert_eq!(of_bench(1980)["bench/x"], 2.0);
        // The same patches with another text are another baseline.
        let step = |code: &str| Head {
            baseline_patches: BTreeMap::from([("base-layer".into(), code.into())]),
            ..head.clone()
        };
        let samples = String::from_utf8(csv(&runs(0.5)).unwrap()).unwrap();
        filed.put(
            &format!("{machine}/step/2026-11-01T10-00-00Z-narrow.csv"),
            &(step("bb").text().unwrap() + &samples),
        );
        assert_eq!(loaded(130, &step("bb")).len(), 1);
        let rows = loaded(130, &head).into_iter();
        let filed = filing::Filed {
            refused: rows.collect(),
            ..filing::Filed::default()
        };
        let error = filed.refused().unwrap_err();
        insta::assert_snapshot!(error.message, @"not recorded, since the baseline took more than 1.15 times what it took in its fastest record: merkle-commit/x/2^4 (1.30 times)");
        // Neither another CPU's nor another baseline's times say anything.
        let other = Head {
            machine: Machine {
                cpu: "Wide".into(),
                ..head.machine.clone()
            },
            ..head.clone()
        };
        assert!(loaded(130, &other).is_empty());
        assert!(loaded(130, &step("aa")).is_empty());
    }

    /// The A/A control of every row that was recorded in the present order of runs, with 5 seeds at a time. Upstream's benches have
    /// another order, and no seeds.
    #[test]
    fn intervals_of_a_baseline_against_itself_exclude_1_as_often_as_they_say() {
        const SEEDS: u64 = 5;
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let (mut rows, mut missed) = (0, 0_u64);
        for file in files(&root).unwrap() {
            let (head, runs) = read(&root, &file).unwrap();
            if head.workers.is_empty() || file.contains(&format!("{BENCH}/")) {
                continue;
            }
            for row in by_row(&runs) {
                for part in 0..head.seeds as u64 / SEEDS {
                    let of_part = row.iter().filter(|run| (run.seed - 1) / SEEDS == part);
                    let runs = of_part.cloned().collect::<Vec<_>>();
                    let [low, high] = Row::new(&runs).unwrap().aa_ci95;
                    rows += 1;
                    missed += u64::from(low > 1.0 || high < 1.0);
                }
            }
        }
        assert!(rows >= 30, "{rows} rows");
        // Few rows cannot tell 5 % from 2 or 8: refused is what neither of these explains.
        let at_most = |share: f64, missed| Binomial::new(share, rows).unwrap().cdf(missed);
        assert!(
            at_most(0.02, missed) > 0.025 && (missed == 0 || at_most(0.08, missed - 1) < 0.975),
            "{missed} of {rows} rows"
        );
    }
}
