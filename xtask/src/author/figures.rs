//! The figures of a patch for its pull request, from `benches/record`: the rows that the patch reaches, and then whole proofs.
//!
//! Each machine and instruction set has a table. Rows that the patch makes faster or slower stand first, then whole proofs, then what is
//! within the noise.

use anyhow::Result;
use cargo_metadata::semver::Version;
use clap::ValueEnum as _;
use comfy_table::{Table, presets};
use indexmap::{IndexMap, IndexSet};

use crate::bench::built::without;
use crate::bench::counts::{self, Counts};
use crate::bench::record;
use crate::bench::upstream::Bench;
use crate::metadata::Metadata;
use crate::project::Project;
use crate::report::markdown::changed_memory;
use paired::escape;
use paired::isa::Isa;
use paired::run::protocol::Kind;
use paired::run::sample::BENCH;
use paired::show::machine::known_as;
use paired::show::report::time;
use paired::show::section::{Line, Record, lines};
use paired::stats::ratio::Verdict;

/// The figures of a patch.
pub struct Figures {
    base: String,
    /// The release that the records are of: the base, unless that is a preview without any.
    release: String,
    /// The patches that the patch stacks on in that release, as a text.
    needs: String,
    /// The records of upstream's own benches, whose two sides have what the patch stacks on.
    benches: Records,
    /// The records whose two sides have what the patch stacks on.
    step: Records,
    /// The records against the release as published.
    stack: Records,
    counts: Vec<Counts>,
    /// The instruction sets whose builds the patch changes.
    isas: Vec<Isa>,
}

/// Records by the text of the patches that was measured.
#[derive(Default)]
struct Records {
    current: Vec<Record>,
    /// The records of an earlier text, for instruction sets without a current one.
    earlier: Vec<Record>,
}

impl Records {
    fn new(records: Vec<Record>) -> Self {
        let (mut earlier, current): (Vec<_>, Vec<_>) =
            (records.into_iter()).partition(|record| record.outdated);
        earlier.retain(|record| current.iter().all(|other| isa(other) != isa(record)));
        // A heading says so, in place of a mark on each ratio.
        for record in &mut earlier {
            record.outdated = false;
        }
        Self { current, earlier }
    }

    fn is_empty(&self) -> bool {
        self.current.is_empty() && self.earlier.is_empty()
    }
}

/// Returns the instruction set of a record, which has one.
fn isa(record: &Record) -> &str {
    record.rows.first().map_or("", |row| &row.isa)
}

impl Figures {
    /// Reads the figures of the patch `name` on the release `base`.
    pub fn of(project: &Project, base: &str, name: &str) -> Result<Self> {
        let figures = Self::on(project, base, base, name)?;
        let published = project.catalog.default_base_of(name)?;
        let is_preview = !Version::parse(base)?.pre.is_empty();
        match figures.is_empty() && is_preview {
            true => Self::on(project, base, &published, name),
            false => Ok(figures),
        }
    }

    fn on(project: &Project, base: &str, release: &str, name: &str) -> Result<Self> {
        let step = Records::new(record::step_records(project, release, name)?);
        let mut stack = Records::new(record::records(project, release, name)?);
        if !step.is_empty() {
            stack.earlier.clear();
        }
        let header = project.catalog.header(release, name)?;
        let metadata = Metadata::of(project, name)?;
        let isas = Isa::value_variants().iter().copied();
        let isas = isas.filter(|isa| *isa != Isa::Native && metadata.has_code(&header, *isa));
        Ok(Self {
            base: base.to_owned(),
            release: release.to_owned(),
            needs: header.needs.join(", "),
            benches: Records::new(record::bench_records(project, release, name)?),
            step,
            stack,
            counts: counts::counts(project, release, name)?,
            isas: isas.collect(),
        })
    }

    /// Returns the records of upstream's benches, of the patch's step, and of its stack.
    fn timed(&self) -> [&Records; 3] {
        [&self.benches, &self.step, &self.stack]
    }

    /// Tells whether the present text of the patch was timed.
    fn is_current(&self) -> bool {
        (self.timed().iter()).any(|records| !records.current.is_empty())
    }

    /// Tells whether a text of the patch was timed.
    fn is_timed(&self) -> bool {
        self.timed().iter().any(|records| !records.is_empty())
    }

    /// Returns the rows that a text is about, by upstream's benches and by the patch's step, or by its stack where that alone was measured:
    /// of the present text, where that was timed.
    fn lines(&self) -> Vec<Line<'_>> {
        let is_current = self.is_current();
        let [benches, step, stack] = self.timed().map(|records| match is_current {
            true => &records.current,
            false => &records.earlier,
        });
        let rows = if step.is_empty() { stack } else { step };
        [lines(benches), lines(rows)].concat()
    }

    /// Sums up what is faster and what takes less memory: of the machine and instruction set on which most rows are.
    pub fn headline(&self) -> String {
        let all = self.lines();
        let groups = groups(&all);
        let gains = |lines: &Vec<Line<'_>>| {
            let faster = (lines.iter()).filter(|line| is_faster(line));
            (
                faster.count(),
                lines.iter().filter_map(changed_memory).count(),
            )
        };
        let best = groups.iter().max_by_key(|lines| gains(lines));
        let Some(best) = best.filter(|_| self.is_current()) else {
            return if self.is_timed() {
                "An earlier text was timed, this one was not.".to_owned()
            } else if self.counts.is_empty() {
                "Not timed.".to_owned()
            } else {
                "Not timed: instructions were counted.".to_owned()
            };
        };
        let of = |is_of: fn(&Line<'_>) -> bool| {
            let lines = best.iter().filter(|line| is_of(line));
            range(lines.map(|line| line.row.ratio))
        };
        let memory = range(best.iter().filter_map(changed_memory));
        let slower = of(|line| line.row.verdict == Verdict::Slower)
            .map(|rows| format!("rows that it makes slower {rows}"));
        if !best.iter().any(is_faster) && memory.is_none() {
            let slower = slower.map(|rows| format!("; {rows} on {}", build_of(&best[0])));
            return format!(
                "No row is faster beyond the noise of the machines that it was measured on{}.",
                slower.unwrap_or_default()
            );
        }
        // The rows of a stack are against the release as published.
        let is_of_stack = self.step.current.is_empty() && self.benches.current.is_empty();
        let with = match &*self.needs {
            needs if is_of_stack && !needs.is_empty() => format!(" and {needs}"),
            _ => String::new(),
        };
        let proofs = of(|line| is_of_proof(line) && is_faster(line));
        let unchanged = of(|line| is_of_proof(line) && line.row.verdict == Verdict::NoChange);
        let unchanged = unchanged.filter(|_| proofs.is_none());
        let parts = [
            of(|line| is_of_bench(line) && is_faster(line))
                .map(|benches| format!("upstream's benches {benches}")),
            of(|line| !is_of_bench(line) && !is_of_proof(line) && is_faster(line))
                .map(|rows| format!("other rows that it makes faster {rows}")),
            proofs.map(|proofs| format!("whole proofs {proofs}")),
            unchanged.map(|proofs| format!("whole proofs {proofs} (within the noise)")),
            slower,
        ];
        let mut parts: Vec<_> = parts.into_iter().flatten().collect();
        if parts.is_empty() {
            parts.push("within the noise".to_owned());
        }
        let memory = memory.map(|memory| format!(" Memory at its peak: {memory} of that without."));
        format!(
            "Time with this change{with}, of the time without, on {}: {}.{}",
            build_of(&best[0]),
            parts.join(", "),
            memory.unwrap_or_default()
        )
    }

    fn is_empty(&self) -> bool {
        !self.is_timed() && self.counts.is_empty()
    }

    /// Returns headings with the tables below them.
    pub fn sections(&self) -> Vec<(&'static str, String)> {
        let Self { release, needs, .. } = self;
        let step = format!(
            "The time with this change, divided by the time without it, on Plonky3 {release}.\nBoth sides have"
        );
        let on_needs = format!("{step} {needs}.");
        let on_others = format!("{step} the patches that this one stacked on then.");
        let with = match &**needs {
            "" => "",
            _ => " and what it stacks on",
        };
        let on_release = format!(
            "The time with this change{with}, divided by that of Plonky3 {release} as published."
        );
        let stacked = match &**needs {
            "" => "Measured",
            _ => "Measured with what it stacks on",
        };
        let both = match &**needs {
            "" => String::new(),
            _ => format!(" Both sides have {needs}."),
        };
        let of_bench = format!(
            "The time of an iteration, by upstream's own benches, with this change divided by the time without it, on\n\
             Plonky3 {release}.{both}"
        );
        let has_memory = (self.lines().iter()).any(|line| changed_memory(line).is_some());
        let mut sections = Vec::new();
        for (heading, ratio, records) in [
            ("Upstream's benches", &of_bench, &self.benches.current),
            ("Measured", &on_needs, &self.step.current),
            (stacked, &on_release, &self.stack.current),
            (EARLIER, &of_bench, &self.benches.earlier),
            (EARLIER, &on_others, &self.step.earlier),
            (EARLIER, &on_release, &self.stack.earlier),
        ] {
            if !records.is_empty() && (heading != EARLIER || !self.is_current()) {
                let marks = match sections.is_empty() {
                    true if has_memory => format!("{MARKS} {MEMORY}"),
                    true => MARKS.to_owned(),
                    false => String::new(),
                };
                let text = format!("{ratio}{marks}\n\n{}", tables(records));
                sections.push((heading, text));
            }
        }
        for counts in &self.counts {
            let commands = match &*counts.command {
                "" => String::new(),
                command => blocks(reproduced(command, &counts.rustflags)),
            };
            let text = format!(
                "With this change{with}, on Plonky3 {release}. {}\n{commands}",
                counts.markdown()
            );
            sections.push(("Counted", text.trim_end().to_owned()));
        }
        sections
    }

    /// Says what nobody has timed, by upstream's benches or by rows: of the patch's step, or of its stack where that alone was measured.
    pub fn missing(&self) -> Vec<String> {
        let lines = self.lines();
        if lines.is_empty() {
            return vec!["Nothing was timed.".to_owned()];
        }
        let mut missing = Vec::new();
        if self.release != self.base {
            missing.push(format!("Plonky3 {}.", self.base));
        }
        if !self.is_current() {
            missing.push("The present text of the patch.".to_owned());
        }
        if self.benches.is_empty() && self.step.is_empty() && !self.needs.is_empty() {
            missing.push(format!("This change on top of {}.", self.needs));
        }
        let isas = self.isas.iter().map(Isa::to_string);
        let isas: Vec<_> = isas
            .filter(|isa| lines.iter().all(|line| line.row.isa != *isa))
            .collect();
        if !isas.is_empty() {
            missing.push(format!("Builds for {}.", isas.join(", ")));
        }
        if !lines.iter().any(is_of_proof) {
            missing.push("Whole proofs.".to_owned());
        }
        if !lines.iter().any(has_threads) {
            missing.push("More than one thread.".to_owned());
        }
        missing
    }
}

const EARLIER: &str = "Measured with an earlier text of the patch";

/// Explains the cells of a table.
const MARKS: &str = " In parentheses\nis the 95 % interval. Bold is a gain, and \"slower\" a loss, beyond what the baseline measured against itself shows; \
                     the others\nare within that noise. A row is named by what it runs, and on what: `2^16x64` has 2^16 rows of 64 columns, `2-threads`\nruns on two.";

/// Explains the cells of a table in which some rows take another amount of memory.
const MEMORY: &str = "`memory` is the most bytes that\nare allocated at a time, with / without.";

fn is_of_proof(line: &Line<'_>) -> bool {
    let kind = Kind::of(&line.row.workload);
    [Kind::StarkProve, Kind::WhirProve].contains(&kind)
}

fn is_of_bench(line: &Line<'_>) -> bool {
    line.row.workload.starts_with(BENCH)
}

fn is_faster(line: &Line<'_>) -> bool {
    line.row.verdict == Verdict::Faster && !line.loaded()
}

/// Tells whether a row runs on more than one thread. Upstream's benches are built without the feature that has threads.
fn has_threads(line: &Line<'_>) -> bool {
    !is_of_bench(line) && line.runs.iter().any(|run| run.threads > 1)
}

/// Returns the least and the greatest of these ratios.
fn range(ratios: impl Iterator<Item = f64>) -> Option<String> {
    let mut ratios: Vec<_> = ratios.collect();
    ratios.sort_by(f64::total_cmp);
    match &*ratios {
        [] => None,
        [only] => Some(format!("{only:.2}")),
        [least, .., most] => Some(format!("{least:.2} to {most:.2}")),
    }
}

/// Names the CPU of a row and the vectors that it is built for.
fn build_of(line: &Line<'_>) -> String {
    let cpu = escape::text(&known_as(&line.record.machine.cpu));
    let vectors = match Isa::from_str(&line.row.isa, false) {
        Ok(Isa::Generic) => "a build for any CPU",
        Ok(Isa::V3) => "AVX2",
        Ok(Isa::V4) => "AVX-512",
        Ok(Isa::V4Ifma) => "AVX-512 with IFMA",
        Ok(Isa::Neon) => "NEON",
        Ok(Isa::Native) | Err(_) => &line.row.isa,
    };
    format!("{cpu}, {vectors}")
}

/// Tells whether a record is of the machine and the instruction set of a row.
fn is_of_build(record: &Record, line: &Line<'_>) -> bool {
    record.machine.cpu == line.record.machine.cpu && isa(record) == line.row.isa
}

/// Returns the lines of each machine and instruction set, in the order of the first ones.
fn groups<'a>(lines: &[Line<'a>]) -> Vec<Vec<Line<'a>>> {
    let mut groups: IndexMap<_, Vec<_>> = IndexMap::new();
    for line in lines {
        let build = (&line.record.machine.cpu, isa(line.record));
        groups.entry(build).or_default().push(*line);
    }
    groups.into_values().collect()
}

/// Returns a table for each machine and instruction set, with the commands that were run there.
fn tables(records: &[Record]) -> String {
    let tables = groups(&lines(records)).into_iter().map(|mut lines| {
        lines.sort_by_key(|line| match line.row.verdict {
            Verdict::Faster | Verdict::Slower if !is_of_proof(line) => 0,
            _ if is_of_proof(line) => 1,
            _ => 2,
        });
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header(["", "without", "with", "with / without"]);
        for line in &lines {
            table.add_row(cells(line));
        }
        let machine = &lines[0].record.machine;
        let of_build = || (records.iter()).filter(|record| is_of_build(record, &lines[0]));
        let flags = of_build().map(|record| escape::code(&record.machine.rustflags));
        let about = [
            build_of(&lines[0]),
            format!("{} cores", machine.cores),
            escape::text(&machine.rustc),
        ];
        let about = about.into_iter().chain(unique(flags));
        let about = about.filter(|part| !part.is_empty());
        let about = about.collect::<Vec<_>>().join(", ") + ":";
        let sources = lines.iter().flat_map(|line| {
            let flags = &*line.record.machine.rustflags;
            let sources = line.record.sources_of(line.row);
            sources.flat_map(move |source| reproduced(&source.command, flags))
        });
        let commands = blocks(unique(sources));
        format!("{about}\n\n{table}\n\n{commands}")
    });
    tables.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

/// Returns each command as a block.
fn blocks(commands: impl IntoIterator<Item = String>) -> String {
    let blocks = (commands.into_iter()).map(|command| escape::block(&command));
    blocks.collect()
}

/// Returns each text once, in the order of the first ones.
fn unique(texts: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
    texts.collect::<IndexSet<_>>().into_iter()
}

/// Returns the cells of a row: its name, the times without and with the patch, and their ratio.
fn cells(line: &Line<'_>) -> [String; 4] {
    let Line { row, .. } = line;
    let name = row.workload.strip_prefix(BENCH).unwrap_or(&row.workload);
    let [without, with] =
        [row.baseline, row.candidate].map(|each| format!("{} {}", time(each), row.unit));
    let [low, high] = row.ci95;
    let ratio = match row.verdict {
        Verdict::Faster => format!("**{:.3}**", row.ratio),
        _ => format!("{:.3}", row.ratio),
    };
    let mut notes = vec![format!("{low:.3} to {high:.3}")];
    notes.extend((row.verdict == Verdict::Slower).then(|| "slower".to_owned()));
    notes.extend(line.few().map(|inputs| format!("{inputs} inputs")));
    notes.extend(line.loaded().then(|| "loaded machine".to_owned()));
    let memory = changed_memory(line);
    let memory = memory.map_or_else(String::new, |ratio| format!(", memory {ratio:.3}"));
    [
        escape::code(name),
        without,
        with,
        format!("{ratio} ({}){memory}", notes.join(", ")),
    ]
}

/// Returns the commands that measure again what `command` did: upstream's own where it has one, with these compiler flags, then this
/// repository's, without what files a record.
fn reproduced(command: &str, flags: &str) -> Vec<String> {
    let mut words = without(command, &["--project", "--budget"]);
    words.retain(|word| !["--record", "--loaded"].contains(&word.as_str()));
    let quoted = |word: &String| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._/=+,:@%".contains(c);
        match word.chars().all(is_plain) && !word.is_empty() {
            true => word.clone(),
            false => format!("'{}'", word.replace('\'', r"'\''")),
        }
    };
    let mut commands = Vec::new();
    let bench = words.iter().skip_while(|word| *word != "--bench").nth(1);
    if let Some(Ok(bench)) = bench.map(|bench| bench.parse::<Bench>()) {
        let Bench {
            package,
            name,
            filter,
        } = bench;
        let filter = filter.map_or_else(String::new, |filter| format!(" -- {}", quoted(&filter)));
        commands.push(format!(
            "RUSTFLAGS=\"{flags}\" cargo bench -p {package} --bench {name}{filter}"
        ));
    }
    commands.push(match words.is_empty() {
        true => command.to_owned(),
        false => words.iter().map(quoted).collect::<Vec<_>>().join(" "),
    });
    commands
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::bench::record::RECORDS;
    use crate::bench::record::tests::{COUNTS, Filed, report};
    use paired::run::sample::Side;
    use paired::testing::runs;

    /// Returns the record of a row for each name, with its ratio and its number of threads.
    fn records(rows: &[(&str, f64, usize)]) -> Vec<Record> {
        let mut samples = Vec::new();
        for (workload, ratio, threads) in rows {
            samples.extend(runs(*ratio).into_iter().map(|mut run| {
                run.workload = (*workload).into();
                run.threads = *threads;
                run
            }));
        }
        report("Narrow", &samples).records(&samples, &BTreeMap::new())
    }

    /// Returns figures of these records against the release as published.
    fn of_stack(current: Vec<Record>) -> Figures {
        Figures {
            base: "0.8.0".into(),
            release: "0.8.0".into(),
            needs: String::new(),
            benches: Records::default(),
            step: Records::default(),
            stack: Records {
                current,
                earlier: Vec::new(),
            },
            counts: Vec::new(),
            isas: Vec::new(),
        }
    }

    #[test]
    fn each_row_has_its_times_and_those_of_no_change_stand_last() {
        let text = tables(&records(&[
            ("lde/x", 1.0, 1),
            ("stark-prove/x", 1.0, 1),
            ("permute-many/x", 0.5, 1),
            ("dot-rows/x", 1.5, 1),
            ("bench/fft", 1.0, 2),
        ]));
        let (about, table) = text.split_once("\n\n").unwrap();
        assert_eq!(about, "Narrow, AVX2, 2 cores, rustc 1.95.0:");
        let rows = table
            .lines()
            .skip(2)
            .map_while(|line| line.strip_prefix("| `"));
        let rows: Vec<_> = rows.map(|row| row.split_once('`').unwrap().0).collect();
        assert_eq!(
            rows,
            [
                "permute-many/x",
                "dot-rows/x",
                "stark-prove/x",
                "lde/x",
                "fft"
            ]
        );
        for cells in [
            "| **0.500** (0.500 to 0.500) ",
            "| 1.500 (1.500 to 1.500, slower) ",
        ] {
            assert!(table.contains(cells), "{table}");
        }
    }

    #[test]
    fn the_headline_is_of_the_machine_with_most_gains() {
        let figures = |rows: &[(&str, f64, usize)]| of_stack(records(rows));
        let rows = [
            ("bench/x", 0.5, 1),
            ("lde/x", 0.75, 1),
            ("lde/y", 0.25, 1),
            ("dot-rows/x", 1.5, 1),
            ("stark-prove/x", 1.0, 1),
        ];
        assert_eq!(
            figures(&rows).headline(),
            "Time with this change, of the time without, on Narrow, AVX2: upstream's benches 0.50, other rows that it makes \
             faster 0.25 to 0.75, whole proofs 1.00 (within the noise), rows that it makes slower 1.50."
        );
        assert_eq!(
            figures(&rows[3..]).headline(),
            "No row is faster beyond the noise of the machines that it was measured on; rows that it makes slower 1.50 on \
             Narrow, AVX2."
        );
        assert_eq!(figures(&[]).headline(), "Not timed.");
        let slower = figures(&[("lde/x", 0.75, 1), ("stark-prove/x", 1.5, 1)]);
        assert!(
            slower
                .headline()
                .ends_with("faster 0.75, rows that it makes slower 1.50."),
            "{}",
            slower.headline()
        );
        let stacked = Figures {
            needs: "row-tiles".into(),
            ..figures(&rows)
        };
        assert!(
            (stacked.headline()).starts_with("Time with this change and row-tiles, of the time"),
            "{}",
            stacked.headline()
        );
    }

    #[test]
    fn less_memory_is_a_gain_where_no_row_is_faster() {
        let samples_of = |name: &str| {
            let mut samples = runs(1.0);
            for run in &mut samples {
                run.workload = name.into();
                let share = if run.side == Side::Candidate { 1 } else { 2 };
                run.live_bytes = Some(share << 24);
            }
            samples
        };
        for (name, times) in [
            ("stark-prove/x", "whole proofs 1.00 (within the noise)"),
            ("lde/x", "within the noise"),
        ] {
            let samples = samples_of(name);
            let records = report("Narrow", &samples).records(&samples, &BTreeMap::new());
            let figures = of_stack(records);
            assert_eq!(
                figures.headline(),
                format!(
                    "Time with this change, of the time without, on Narrow, AVX2: {times}. Memory at its peak: 0.50 of that without."
                )
            );
            let [("Measured", text)] = &*figures.sections() else {
                panic!("{:?}", figures.sections());
            };
            assert!(
                text.contains(MEMORY) && text.contains(", memory 0.500 "),
                "{text}"
            );
        }
        let (_, text) = &of_stack(records(&[("lde/x", 1.0, 1)])).sections()[0];
        assert!(!text.contains("memory"), "{text}");
    }

    #[test]
    fn commands_are_those_that_a_reader_can_run() {
        for (typed, reproduced) in [
            (
                "cargo p3 ab x --project /a/b --record --budget 9s --workload 'lde/2^4'",
                &["cargo p3 ab x --workload 'lde/2^4'"][..],
            ),
            ("cargo p3 --project=/a ab x", &["cargo p3 ab x"]),
            ("cargo p3 ab 'x", &["cargo p3 ab 'x"]),
            (
                "cargo p3 ab x --bench 'p3-dft/fft/a b'",
                &[
                    "RUSTFLAGS=\"-C one\" cargo bench -p p3-dft --bench fft -- 'a b'",
                    "cargo p3 ab x --bench 'p3-dft/fft/a b'",
                ],
            ),
        ] {
            assert_eq!(super::reproduced(typed, "-C one"), reproduced);
        }
    }

    #[test]
    fn an_earlier_text_is_shown_where_there_is_no_current_one_and_has_a_heading() {
        let filed = Filed::new();
        let figures = || Figures::of(&Project::at(filed.root()), "0.8.0", "base-layer").unwrap();
        let headings = |figures: &Figures| -> Vec<_> {
            let sections = figures.sections().into_iter();
            sections
                .map(|(heading, text)| (heading, text.contains("**0.500**")))
                .collect()
        };
        filed.write("base-layer", "2026-01-01", "Narrow", 0.5, &[]);
        let earlier = figures();
        assert_eq!(headings(&earlier), [(EARLIER, true)]);
        assert_eq!(
            earlier.headline(),
            "An earlier text was timed, this one was not."
        );
        let missing = earlier.missing();
        assert_eq!(missing[0], "The present text of the patch.");
        assert_eq!(missing.last().unwrap(), "More than one thread.");
        // A build that the patch leaves as it is needs no figures.
        let has_ifma = |missing: &[String]| missing.iter().any(|what| what.contains("+ifma"));
        assert!(has_ifma(&missing));
        let manifest = "[package.metadata.p3]\nwithout-code = [\"x86-64-v4+ifma\"]\n";
        filed.put("crates/base-layer/Cargo.toml", manifest);
        assert!(!has_ifma(&figures().missing()));
        // A record of another CPU, for the same instruction set.
        filed.write("base-layer", "2026-01-01", "Wide", 0.5, &["base-layer"]);
        assert_eq!(headings(&figures()), [("Measured", true)]);
        // A bench of upstream's on a third one.
        filed.write(
            "base-layer.bench",
            "2026-01-01",
            "Other",
            0.5,
            &["base-layer"],
        );
        let figures = figures();
        let benches = ("Upstream's benches", true);
        assert_eq!(headings(&figures), [benches, ("Measured", true)]);
        assert!(
            figures.headline().contains("Wide, AVX2: "),
            "{}",
            figures.headline()
        );
    }

    #[test]
    fn counts_are_followed_by_the_command_that_makes_them() {
        let filed = Filed::new();
        let file = format!("{RECORDS}/0.8.0/triple-neon/quick-sponge/2026-11-01-qemu.json");
        let command = r#""command": "cargo p3 inspect count quick-sponge --record", "base""#;
        filed.put(&file, &COUNTS.replace("\"base\"", command));
        let figures = Figures::of(&Project::at(filed.root()), "0.8.0", "quick-sponge").unwrap();
        let [("Counted", text)] = &*figures.sections() else {
            panic!("{:?}", figures.sections());
        };
        let block = " |\n\n```\ncargo p3 inspect count quick-sponge\n```";
        assert!(text.ends_with(block), "{text}");
    }

    #[test]
    fn a_preview_without_records_shows_those_of_the_newest_release() {
        let filed = Filed::new();
        let text = filed.root().join("patches/0.8.0/base-layer.patch");
        let text = std::fs::read_to_string(text).unwrap();
        let text = text.replace("Bases: 0.8.0", "Bases: 0.9.0-rc.2, 0.8.0");
        filed.put("patches/0.8.0/base-layer.patch", &text);
        filed.put("patches/0.9.0-rc.2/base-layer.patch", &text);
        filed.write("base-layer", "2026-01-01", "Narrow", 0.5, &["base-layer"]);
        let project = Project::at(filed.root());
        let figures = Figures::of(&project, "0.9.0-rc.2", "base-layer").unwrap();
        let (_, text) = &figures.sections()[0];
        assert!(text.contains("of Plonky3 0.8.0 as published"), "{text}");
        assert_eq!(figures.missing()[0], "Plonky3 0.9.0-rc.2.");
    }
}
