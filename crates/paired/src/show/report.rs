//! The rows of a comparison as a table, and as files in JSON and CSV.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::ops::RangeBounds;
use std::os::unix::fs::MetadataExt;
use std::path::{self, Path, PathBuf};

use anyhow::{Context, Result};
use comfy_table::{CellAlignment, Table, presets};
use indexmap::IndexSet;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::cargo::home;
use crate::environment::from_here;
use crate::error::Failure;
use crate::files::contents::json;
use crate::files::{plain, replace};
use crate::run::protocol::MOST_THREADS;
use crate::run::sample::{RUN, Run, SPAN, check_rounds};
use crate::run::spans;
use crate::show::machine::Machine;
use crate::show::section::{Record, Source};
use crate::stats::ratio::Verdict;
use crate::stats::row::Row;
use crate::terminal::shown;
use crate::text;

/// The output of `--json`, where `S` is the subject of the comparison. Other programs read it: a change of meaning needs a new
/// `schema`.
#[derive(Clone, Deserialize, Serialize)]
pub struct Report<S> {
    /// The version of the format.
    pub schema: u32,
    /// The command, as it was typed. Older reports have none.
    #[serde(default, deserialize_with = "text::command")]
    pub command: String,
    /// The difference between baseline and candidate.
    #[serde(flatten)]
    pub subject: S,
    /// The machine that ran them.
    pub machine: Machine,
    /// One row for each workload and instruction set.
    pub rows: Vec<Row>,
}

/// Returns a table without rows: with rules between its rows on a terminal, and plain where another program may read it.
pub fn empty_table(terminal: bool) -> Table {
    let mut table = Table::new();
    table.load_style(if terminal {
        presets::UTF8_HORIZONTAL_ONLY
    } else {
        presets::NOTHING
    });
    table
}

/// Formats the rows as a table, for a `terminal` or for other programs.
pub fn table(rows: &[Row], terminal: bool) -> String {
    let mut table = empty_table(terminal);
    table.set_header([
        "workload",
        "isa",
        "baseline ms",
        "candidate ms",
        "ratio",
        "95 %",
        "A/A",
        "A/A 95 %",
        "pairs",
        "memory",
        "verdict",
    ]);
    for row in rows {
        let [ratio, interval, control, control_interval, pairs] = row.figures();
        table.add_row([
            row.workload.clone(),
            row.isa.clone(),
            format!("{:.3}", row.baseline),
            format!("{:.3}", row.candidate),
            ratio,
            interval,
            control,
            control_interval,
            pairs,
            row.memory_ratio
                .map_or_else(|| "-".into(), |ratio| format!("{ratio:.3}")),
            verdict_name(row.verdict).into(),
        ]);
    }
    formatted(table, 2..10)
}

/// Formats the rows of a trial as a table, each with its unit. A row is named by the end of what follows `prefix`.
pub fn part_table(title: &str, prefix: &str, rows: &[Row], terminal: bool) -> String {
    let mut table = empty_table(terminal);
    table.set_header([
        title,
        "baseline",
        "candidate",
        "ratio",
        "95 %",
        "A/A",
        "A/A 95 %",
        "pairs",
        "verdict",
    ]);
    let path = |row: &'_ Row| {
        row.workload
            .strip_prefix(prefix)
            .unwrap_or_default()
            .to_owned()
    };
    let paths: Vec<_> = rows.iter().map(path).collect();
    for (row, path) in rows.iter().zip(&paths) {
        let name = spans::name(path, &paths);
        let with_unit = |value| format!("{} {}", time(value), row.unit);
        let verdict = match (row.verdict, &*row.unit) {
            (Verdict::Faster, "MiB") => "less",
            (Verdict::Slower, "MiB") => "more",
            (verdict, _) => verdict_name(verdict),
        };
        let measured = [
            name.to_owned(),
            with_unit(row.baseline),
            with_unit(row.candidate),
        ];
        let cells = measured.into_iter().chain(row.figures());
        table.add_row(cells.chain([verdict.to_owned()]));
    }
    formatted(table, 1..8)
}

/// Formats the bytes of each span on both sides, baseline first, as a table in MiB. `rest` are rows whose names are shown as they are.
pub fn memory_table(
    spans: &[(String, [i64; 2])],
    rest: &[(String, [i64; 2])],
    terminal: bool,
) -> String {
    let cells = |(name, [baseline, candidate]): &(String, [i64; 2])| {
        let mib = |bytes: i64| format!("{:.3}", bytes as f64 / f64::from(1 << 20));
        let ratio = match *baseline > 0 && *candidate >= 0 {
            true => format!("{:.3}", *candidate as f64 / *baseline as f64),
            false => String::new(),
        };
        (name.clone(), [mib(*baseline), mib(*candidate), ratio])
    };
    let heads = ["baseline MiB", "candidate MiB", "ratio"];
    let [spans, rest] = [spans, rest].map(|rows| rows.iter().map(cells).collect::<Vec<_>>());
    span_table(heads, &spans, &rest, terminal)
}

/// Formats figures of spans as a table, each span by as much of its path as tells it from the others. `rest` are rows whose names are
/// shown as they are.
pub fn span_table<const N: usize>(
    heads: [&str; N],
    spans: &[(String, [String; N])],
    rest: &[(String, [String; N])],
    terminal: bool,
) -> String {
    let paths: Vec<_> = spans.iter().map(|(path, _)| path.clone()).collect();
    let named = (spans.iter()).map(|(path, cells)| (spans::name(path, &paths), cells));
    let rest = rest.iter().map(|(name, cells)| (&**name, cells));
    let mut table = empty_table(terminal);
    table.set_header(["span"].into_iter().chain(heads));
    for (name, cells) in named.chain(rest) {
        table.add_row([name].into_iter().chain(cells.iter().map(String::as_str)));
    }
    formatted(table, 1..=N)
}

/// Formats a table, with the numbers of these columns on the right.
pub fn formatted(mut table: Table, numbers: impl RangeBounds<usize>) -> String {
    for (at, column) in table.column_iter_mut().enumerate() {
        if numbers.contains(&at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

/// Formats `value` with so many digits, or with its whole part where that is longer.
pub(crate) fn digits(value: f64, digits: usize) -> String {
    let whole = value.abs().max(1.0).log10().floor() as usize + 1;
    format!("{value:.*}", digits.saturating_sub(whole))
}

/// Formats a time with four digits: none is known more precisely.
#[must_use]
pub fn time(value: f64) -> String {
    digits(value, 4)
}

/// Returns the name of a verdict, as tables and JSON have it.
pub fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::NoChange => "no change",
    }
}

/// A kind of file that a command writes by a path of the user's.
#[derive(Clone, Copy)]
pub enum Output {
    /// The report of `--json`.
    Json,
    /// The samples beside that report.
    Samples,
    /// The page of `--html`.
    Page,
    /// The lock file of `--published-lock`.
    Lock,
}

impl Output {
    /// The text that each file of the kind begins with, without white space.
    const fn beginning(self) -> &'static str {
        match self {
            Self::Json => "{\"schema\":",
            Self::Samples => "workload,isa,threads,seed,round,side,",
            Self::Page => {
                "<!DOCTYPEhtml><htmllang=\"en\"><head><metacharset=\"utf-8\"><metaname=\"viewport\"\
                 content=\"width=device-width,initial-scale=1\"><metahttp-equiv=\"Content-Security-Policy\""
            }
            Self::Lock => "#Thisfileisautomatically@generatedbyCargo.",
        }
    }

    /// Refuses to replace a file that is none of this kind: its contents may be all that there is of them.
    pub fn assert_replaces(self, path: &Path) -> Result<(), Failure> {
        if !path.is_file() {
            return Ok(());
        }
        let mut head = Vec::new();
        let read = File::open(path).and_then(|file| file.take(512).read_to_end(&mut head));
        read.map_err(|error| {
            Failure::environment(format!("cannot read {}: {error}", shown(path)))
                .hint("name another file")
        })?;
        head.retain(|byte| !byte.is_ascii_whitespace());
        if head.is_empty() || head.starts_with(self.beginning().as_bytes()) {
            return Ok(());
        }
        let what = format!(
            "{}: a file that is no earlier output of this option",
            shown(path)
        );
        Err(Failure::input(what).hint("name another file"))
    }
}

/// Checks the files of `--json`, with or without `samples` beside it, and of `--html` before an hour of measuring.
///
/// Refuses a file that could not be written, two names of one file, a file that the command has `read`, and one that is there and is
/// no output of this kind.
pub fn check_outputs(
    json: Option<&Path>,
    samples: bool,
    html: Option<&Path>,
    read: &[PathBuf],
) -> Result<(), Failure> {
    let beside = json.filter(|_| samples).map(samples_of);
    let files = [
        (json, Output::Json),
        (beside.as_deref(), Output::Samples),
        (html, Output::Page),
    ];
    let files = || files.iter().filter_map(|&(path, kind)| Some((path?, kind)));
    files().try_for_each(|(path, _)| replace::check(path))?;
    if let Some(json) = json.filter(|json| samples && !is_kept(json)) {
        let what = format!(
            "{}: not a plain file, and the samples are written beside it",
            shown(json)
        );
        return Err(Failure::input(what).hint("name a file"));
    }
    assert_distinct(files().map(|(path, _)| path))?;
    files().try_for_each(|(path, _)| assert_unread(path, read))?;
    files().try_for_each(|(path, kind)| kind.assert_replaces(path))
}

/// Refuses two names of one file, here or on a system that takes `a` and `A` for one letter.
pub fn assert_distinct<'p>(paths: impl Iterator<Item = &'p Path>) -> Result<(), Failure> {
    let mut seen = Vec::<(Identity, OsString, &Path)>::new();
    for path in paths.filter(|path| is_kept(path)) {
        let identity = Identity::of(path);
        let place = place_of(path).into_os_string();
        let mut seen_before = seen.iter();
        let is_same = |(of, at, _): &&(Identity, OsString, _)| {
            *of == identity || at.eq_ignore_ascii_case(&place)
        };
        if let Some((_, _, other)) = seen_before.find(is_same) {
            return Err(same_file(other, path));
        }
        seen.push((identity, place, path));
    }
    Ok(())
}

/// Refuses to write to a file that the command has `read`, into a folder among these or in place of one that is not there yet, and
/// to a file that configures cargo, rustup or git.
pub fn assert_unread(written: &Path, read: &[PathBuf]) -> Result<(), Failure> {
    if !is_kept(written) {
        return Ok(());
    }
    let (identity, place) = (Identity::of(written), place_of(written));
    if is_configuration(&place) {
        let what = format!(
            "{}: a file that cargo, rustup or git may read",
            shown(written)
        );
        return Err(Failure::input(what).hint("name another file"));
    }
    for path in read {
        if Identity::of(path) == identity {
            return Err(same_file(path, written));
        }
        if path.is_file() {
            continue;
        }
        let at = place_of(path);
        let (written, folder) = (shown(written), shown(path));
        let what = if place.starts_with(&at) {
            format!("{written}: in {folder}, which this command works with")
        } else if at.starts_with(&place) {
            format!("{written}: above {folder}, which this command works with")
        } else {
            continue;
        };
        return Err(Failure::input(what).hint("name a file outside that folder"));
    }
    Ok(())
}

/// Tells whether cargo, rustup or git may read a file in this place, whatever folder the command works in.
fn is_configuration(place: &Path) -> bool {
    const FOLDERS: [&str; 3] = [".cargo", ".rustup", ".git"];
    const FILES: [&str; 4] = [
        "rust-toolchain",
        "rust-toolchain.toml",
        ".gitconfig",
        ".git-credentials",
    ];
    let is_below = |name: &str| place.components().any(|part| part.as_os_str() == name);
    let configured = from_here("XDG_CONFIG_HOME");
    let configured = configured.or_else(|| Some(env::home_dir()?.join(".config")));
    let homes = [
        home().ok(),
        from_here("RUSTUP_HOME"),
        configured.map(|folder| folder.join("git")),
    ];
    let is_at_home = |home: PathBuf| place.parent() == Some(&place_of(&home));
    FOLDERS.into_iter().any(is_below)
        || FILES.iter().any(|file| place.ends_with(file))
        || homes.into_iter().flatten().any(is_at_home)
}

/// Tells whether the path is a plain file or can become one. A pipe or a device, such as /dev/null, may be named twice.
fn is_kept(path: &Path) -> bool {
    path.is_file() || !path.exists()
}

fn same_file(one: &Path, other: &Path) -> Failure {
    let what = format!("{} and {} are the same file", shown(one), shown(other));
    Failure::input(what)
        .hint("give each file a name of its own; the samples of `--json` FILE are in FILE with the ending .csv")
}

/// The identity of a file, the same for all its names.
#[derive(PartialEq)]
enum Identity {
    Present { device: u64, inode: u64 },
    Absent(PathBuf),
}

impl Identity {
    fn of(path: &Path) -> Self {
        match fs::metadata(path) {
            Ok(metadata) => Self::Present {
                device: metadata.dev(),
                inode: metadata.ino(),
            },
            Err(_) => Self::Absent(place_of(path)),
        }
    }
}

/// Resolves a path as far as there is something, and appends the rest.
fn place_of(path: &Path) -> PathBuf {
    let Ok(absolute) = path::absolute(path) else {
        return path.to_owned();
    };
    let resolved = absolute.ancestors().find_map(|present| {
        let mut place = present.canonicalize().ok()?;
        // Joined as a whole, an empty rest would end the path with a separator.
        place.extend(absolute.strip_prefix(present).ok()?);
        Some(place)
    });
    resolved.unwrap_or(absolute)
}

/// Returns the path of the samples' file beside the file of `--json`: with the ending `.csv`.
pub fn samples_of(json: &Path) -> PathBuf {
    json.with_extension("csv")
}

/// Writes a report as JSON to `path`, and the samples beside it in CSV. Fails where one of them cannot be written.
pub fn write(path: &Path, report: &impl Serialize, runs: Option<&[Run]>) -> Result<()> {
    let mut files = vec![(path.to_owned(), json(report))];
    if let Some(runs) = runs {
        files.push((samples_of(path), csv(runs)?));
    }
    replace::files(&files)
}

impl<S> Report<S> {
    /// The version of the format that this library reads and writes.
    pub const SCHEMA: u32 = 1;

    /// Reads a report that `--json` wrote. Fails where the file is none, has another `schema`, or where figures contradict each
    /// other.
    pub fn read(path: &Path) -> Result<Self>
    where
        S: DeserializeOwned,
    {
        let refused = |why: String| Failure::input(format!("{}: {why}", shown(path)));
        let unreadable =
            |why: String| refused(why).hint("`cargo p3 ab --json FILE` writes such a file");
        let text = plain::read(path).map_err(|error| refused(error.to_string()))?;
        let report: Self =
            serde_json::from_slice(&text).map_err(|error| unreadable(error.to_string()))?;
        if report.schema != Self::SCHEMA {
            return Err(refused(format!("schema {}", report.schema))
                .hint(format!("this tool reads schema {}", Self::SCHEMA))
                .into());
        }
        report.check().map_err(unreadable)?;
        Ok(report)
    }

    /// Returns a record for each instruction set, with its rows and samples. `files` has the file of the samples by instruction
    /// set, where they have one.
    pub fn records(&self, runs: &[Run], files: &BTreeMap<String, String>) -> Vec<Record> {
        let isas: IndexSet<&str> = self.rows.iter().map(|row| &*row.isa).collect();
        let record = |isa: &str| {
            let rows: Vec<_> = (self.rows.iter().filter(|row| row.isa == isa).cloned()).collect();
            Record {
                sources: vec![Source {
                    file: files.get(isa).cloned(),
                    command: self.command.clone(),
                    rows: rows.clone(),
                }],
                machine: self.machine.with_isa(isa),
                outdated: false,
                loaded: BTreeMap::new(),
                rows,
                runs: (runs.iter().filter(|run| run.isa == isa).cloned()).collect(),
            }
        };
        isas.into_iter().map(record).collect()
    }

    /// Returns the report, to be written. Fails where [`Self::read`] would refuse it.
    pub fn checked(self) -> Result<Self, Failure> {
        self.check().map_err(|why| {
            Failure::check(why).hint("no file is written of figures that contradict themselves")
        })?;
        Ok(self)
    }

    /// Checks the names and the figures, since the file may come from anywhere; an error says which one is wrong.
    pub fn check(&self) -> Result<(), String> {
        self.machine.check()?;
        if self.rows.is_empty() {
            return Err("no rows".to_owned());
        }
        let mut seen = BTreeSet::new();
        for row in &self.rows {
            row.check()?;
            let Row { workload, isa, .. } = row;
            // A span's time may be so short that it is rounded to zero.
            if !workload.starts_with(SPAN) && row.baseline.max(row.candidate) == 0.0 {
                return Err(format!("{workload}: took no time"));
            }
            if !seen.insert((workload, isa)) {
                return Err(format!("{workload}: two rows for {isa}"));
            }
        }
        let whole = |row: &&Row| row.workload == format!("{RUN}wall");
        for run in self.rows.iter().filter(whole) {
            let longest = run.baseline.max(run.candidate) * (self.machine.cores as f64);
            // A program may for a while have more cores than its share of the machine is.
            const TICK_MS: f64 = 10.0;
            let most = run.baseline.max(run.candidate) * MOST_THREADS as f64 + TICK_MS;
            let is_cpu = |row: &Row| row.workload == format!("{RUN}CPU");
            if let Some(cpu) = self
                .rows
                .iter()
                .find(|row| is_cpu(row) && row.baseline.max(row.candidate) > most)
            {
                return Err(format!("{}: more than the run has", cpu.workload));
            }
            let is_longer = |row: &&Row| {
                row.workload.starts_with(SPAN) && row.baseline.max(row.candidate) > longest
            };
            if let Some(span) = self.rows.iter().find(is_longer) {
                return Err(format!("{}: takes longer than the run", span.workload));
            }
        }
        Ok(())
    }
}

/// Starts a line above the samples that is none of them.
const COMMENT: u8 = b'#';

/// Formats raw samples as CSV with a header.
pub fn csv(runs: &[Run]) -> Result<Vec<u8>> {
    let mut writer = csv::WriterBuilder::new();
    let mut writer = writer.comment(Some(COMMENT)).from_writer(Vec::new());
    for run in runs {
        writer.serialize(run)?;
    }
    Ok(writer.into_inner()?)
}

/// Reads samples in the form of [`csv()`]; lines that begin with `#` are comments. An error says which figure is wrong.
pub fn parse_csv(text: &str) -> Result<Vec<Run>, String> {
    let mut reader = csv::ReaderBuilder::new();
    let mut reader = reader.comment(Some(COMMENT)).from_reader(text.as_bytes());
    let runs = reader.deserialize().map(|run| {
        let run: Run = run.map_err(|error: csv::Error| error.to_string())?;
        run.check()?;
        Ok(run)
    });
    let runs = runs.collect::<Result<Vec<_>, String>>()?;
    check_rounds(&runs)?;
    Ok(runs)
}

/// Reads a file of samples as [`parse_csv`] does. Fails also where the file cannot be read.
pub fn read_csv(path: &Path) -> Result<Vec<Run>> {
    let shown = shown(path);
    let text = plain::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    Ok(parse_csv(&text).map_err(|why| Failure::input(format!("{shown}: {why}")))?)
}

#[cfg(test)]
mod tests {
    use proptest::{option, prelude::*};

    use super::*;
    use crate::error::Kind;
    use crate::run::protocol::is_control;
    use crate::run::sample::{LONGEST_NS, MOST_KIB, Side};
    use crate::stats::row::round4;
    use crate::testing::runs;

    #[test]
    fn a_steady_drift_cancels() {
        let row = Row::new(&runs(0.8)).unwrap();
        assert_eq!((row.ratio, row.ci95, row.pairs), (0.8, [0.8, 0.8], 10));
        assert_eq!(row.aa_ratio, 1.0303);
        assert_eq!(row.verdict, Verdict::Faster);
    }

    #[test]
    fn the_largest_process_of_each_side_is_its_memory() {
        let mut runs = runs(0.8);
        assert_eq!(Row::new(&runs).unwrap().memory_ratio, None);
        for (run, kib) in runs.iter_mut().zip(1000..) {
            let candidate = u64::from(run.side == Side::Candidate);
            run.peak_kib = Some(kib + 500 * candidate);
        }
        // Two rounds are a seed. The candidate's first two runs in the last seed are those of its first round, runs 33 and 34.
        let memory = Row::new(&runs).unwrap().memory_ratio;
        assert_eq!(memory, Some(round4(1534.0 / 1039.0)));
        // The bytes that are allocated at a time come first, where all samples have them.
        runs[0].live_bytes = Some(1);
        assert_eq!(Row::new(&runs).unwrap().memory_ratio, memory);
        // A few vectors more or less are not told.
        for (unit, ratio) in [(8192, None), (8193, Some(0.75))] {
            for run in &mut runs {
                run.live_bytes = Some(unit * if run.side == Side::Candidate { 3 } else { 4 });
            }
            assert_eq!(Row::new(&runs).unwrap().memory_ratio, ratio);
        }
    }

    #[test]
    fn a_round_without_a_control_is_no_evidence() {
        let mut runs = runs(0.8);
        runs.pop();
        let error = Row::new(&runs).unwrap_err();
        assert!(format!("{error:#}").contains("round 9"), "{error:#}");
    }

    #[test]
    fn rounds_that_shared_their_core_are_left_out_while_they_are_few() {
        let disturb = |runs: &mut [Run]| runs.iter_mut().for_each(|run| run.wall_ns *= 3);
        let mut runs = runs(0.8);
        // The candidate's runs of round 0, then of all rounds up to 4, then one more.
        disturb(&mut runs[1..3]);
        assert_eq!(Row::new(&runs).unwrap().pairs, 9);
        for round in 1..5 {
            disturb(&mut runs[4 * round + 1..4 * round + 3]);
        }
        let row = Row::new(&runs).unwrap();
        assert_eq!((row.pairs, row.ratio), (5, 0.8));
        disturb(&mut runs[21..23]);
        assert_eq!(Row::new(&runs).unwrap().pairs, 10);
    }

    #[test]
    fn a_file_of_another_kind_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        let kinds = [Output::Json, Output::Samples, Output::Page, Output::Lock];
        for kind in kinds {
            kind.assert_replaces(&file).unwrap();
        }
        for text in [
            "{\"name\": 1}\n",
            "[user]\n",
            "<!DOCTYPE html>\n",
            "a,b\n",
            "\0",
        ] {
            fs::write(&file, text).unwrap();
            for kind in kinds {
                let refused = kind.assert_replaces(&file).unwrap_err();
                assert_eq!(refused.kind, Kind::Input, "{text}");
            }
        }
        for text in ["", "\n"] {
            fs::write(&file, text).unwrap();
            for kind in kinds {
                kind.assert_replaces(&file).unwrap();
            }
        }
    }

    #[test]
    fn files_whose_names_differ_in_case_alone_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let refused = |json: &str, html: &str| {
            check_outputs(Some(&path(json)), true, Some(&path(html)), &[]).is_err()
        };
        assert!(!refused("x.json", "x.html"));
        for json in ["x.csv", "x.CSV", "x.Csv"] {
            assert!(refused(json, "x.html"), "{json}");
        }
        assert!(refused("x.json", "X.JSON") && refused("x.json", "X.csv"));
        // Nor where one of them is there.
        fs::write(path("x.csv"), "").unwrap();
        assert!(refused("x.CSV", "x.html"));
    }

    #[test]
    fn samples_survive_the_csv() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("samples.csv");
        let runs = runs(0.9);
        fs::write(&path, csv(&runs).unwrap()).unwrap();
        assert_eq!(read_csv(&path).unwrap(), runs);
    }

    proptest! {
        #[test]
        fn samples_of_each_name_survive_the_csv(
            name in "([# \"',\\\\;=a/é]|\\PC){0,6}",
            (threads, wall_ns) in (1..=MOST_THREADS, 1..=LONGEST_NS),
            memory in option::of(1..=MOST_KIB),
            (has_hashing, counts_live) in any::<(bool, bool)>(),
        ) {
            // A name that a worker may have.
            prop_assume!(!name.contains(is_control) && !name.trim().is_empty());
            let of = |run| Run {
                workload: name.clone(),
                threads,
                wall_ns,
                cpu_ns: wall_ns,
                peak_kib: memory,
                live_bytes: memory.filter(|_| counts_live),
                hashing_ns: has_hashing.then_some(wall_ns),
                ..run
            };
            let runs: Vec<Run> = runs(0.9).into_iter().map(of).collect();
            let written = String::from_utf8(csv(&runs).unwrap()).unwrap();
            prop_assert_eq!(parse_csv(&written), Ok(runs));
        }
    }

    #[test]
    fn samples_that_contradict_themselves_are_refused() {
        let memory = |peak_kib| {
            let run = Run {
                peak_kib: Some(peak_kib),
                ..runs(0.9).remove(0)
            };
            run.check()
        };
        memory(MOST_KIB).unwrap();
        memory(0).unwrap_err();
        memory(u64::MAX).unwrap_err();
        let live = |live_bytes| {
            let run = Run {
                live_bytes: Some(live_bytes),
                ..runs(0.9).remove(0)
            };
            run.check()
        };
        live(MOST_KIB << 10).unwrap();
        live(0).unwrap_err();
        live(u64::MAX).unwrap_err();
        let check = |threads, wall_ns, cpu_ns| {
            let run = Run {
                threads,
                wall_ns,
                cpu_ns,
                ..runs(0.9).remove(0)
            };
            run.check()
        };
        check(1, 1, 10_000_000).unwrap();
        check(2, 100_000_000, 230_000_000).unwrap();
        for (threads, wall_ns, cpu_ns) in [
            (1, 0, 0),
            (0, 1, 1),
            (MOST_THREADS + 1, 1, 1),
            (usize::MAX, 1, 1),
            (1, 1, 13_000_000),
            (2, 100_000_000, 230_000_001),
            (1, 1, u64::MAX),
            (1, LONGEST_NS + 1, 1),
        ] {
            check(threads, wall_ns, cpu_ns).unwrap_err();
        }
    }
}
