//! The figures of a patch for its pull request, from `benches/record`: the rows that the patch reaches, and then whole proofs.
//!
//! A patch reaches a row that takes another time with it on some build, faster or slower. Rows without a change are named
//! below the table, each with its ratios.

use std::collections::BTreeSet;

use anyhow::Result;
use cargo_metadata::semver::Version;

use crate::bench::built::without;
use crate::bench::counts::{self, Counts};
use crate::bench::record;
use crate::project::Project;
use crate::report::markdown::markdown;
use p3_patches::catalog::patch::Patch;
use p3_patches::commands::joined;
use paired::escape;
use paired::isa::Isa;
use paired::run::protocol::Kind;
use paired::run::sample::BENCH;
use paired::show::machine::known_as;
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

    fn lines(&self) -> Vec<Line<'_>> {
        [lines(&self.current), lines(&self.earlier)].concat()
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
        Ok(Self {
            base: base.to_owned(),
            release: release.to_owned(),
            needs: (project.catalog.header(release, name)?.needs).join(", "),
            benches: Records::new(record::bench_records(project, release, name)?),
            step,
            stack,
            counts: counts::counts(project, release, name)?,
        })
    }

    fn is_empty(&self) -> bool {
        self.benches.is_empty()
            && self.step.is_empty()
            && self.stack.is_empty()
            && self.counts.is_empty()
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
        let mut sections = Vec::new();
        for (heading, ratio, records) in [
            ("Upstream's benches", &of_bench, &self.benches.current),
            (EARLIER, &of_bench, &self.benches.earlier),
            ("Measured", &on_needs, &self.step.current),
            (EARLIER, &on_others, &self.step.earlier),
            (stacked, &on_release, &self.stack.current),
            (EARLIER, &on_release, &self.stack.earlier),
        ] {
            if !records.is_empty() {
                sections.push((heading, format!("{ratio}\n{MARKS}\n\n{}", tables(records))));
            }
        }
        for counts in &self.counts {
            let text = format!(
                "With this change{with}, on Plonky3 {release}. {}",
                counts.markdown().trim_end()
            );
            sections.push(("Counted", text));
        }
        sections
    }

    /// Says what nobody has timed, by upstream's benches or by rows: of the patch's step, or of its stack where that alone was measured.
    pub fn missing(&self, patch: &Patch) -> Vec<String> {
        let rows = match self.step.is_empty() {
            true => &self.stack,
            false => &self.step,
        };
        let timed = [&self.benches, rows];
        if timed.iter().all(|records| records.is_empty()) {
            return vec!["Nothing was timed.".to_owned()];
        }
        let lines: Vec<_> = timed.iter().flat_map(|records| records.lines()).collect();
        let mut missing = Vec::new();
        if self.release != self.base {
            missing.push(format!("Plonky3 {}.", self.base));
        }
        if timed.iter().all(|records| records.current.is_empty()) {
            missing.push("The present text of the patch.".to_owned());
        }
        if self.benches.is_empty() && self.step.is_empty() && !self.needs.is_empty() {
            missing.push(format!("This change on top of {}.", self.needs));
        }
        let isas = [Isa::Generic, Isa::V3, Isa::V4, Isa::V4Ifma, Isa::Neon].into_iter();
        let isas = isas.filter(|isa| patch.header.changes(*isa));
        let isas = isas.map(|isa| isa.to_string());
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
        let cpus = lines
            .iter()
            .map(|line| escape::text(&known_as(&line.record.machine.cpu)));
        let cpus = cpus.collect::<BTreeSet<_>>().into_iter();
        let cpus = cpus.collect::<Vec<_>>().join(", ");
        missing.push(format!("Any CPU other than {cpus}."));
        missing
    }
}

const EARLIER: &str = "Measured with an earlier text of the patch";

/// Explains the cells of a table.
const MARKS: &str = "In parentheses is the 95 % interval. Bold is a gain and \"slower\" a loss, beyond what the baseline measured against\n\
                     itself shows.";

fn is_of_proof(line: &Line<'_>) -> bool {
    let kind = Kind::of(&line.row.workload);
    [Kind::StarkProve, Kind::WhirProve].contains(&kind)
}

/// Tells whether a row runs on more than one thread. Upstream's benches are built without the feature that has threads.
fn has_threads(line: &Line<'_>) -> bool {
    !line.row.workload.starts_with(BENCH) && line.runs.iter().any(|run| run.threads > 1)
}

/// Returns a table of the rows that the patch reaches and of those with threads, one of whole proofs, the names of the other rows, and
/// each machine with the command that was run there.
fn tables(records: &[Record]) -> String {
    let (proofs, others): (Vec<_>, Vec<_>) = lines(records).into_iter().partition(is_of_proof);
    let is_reached = |line: &&Line<'_>| line.row.verdict != Verdict::NoChange || has_threads(line);
    let reached = others.iter().filter(is_reached);
    let reached: BTreeSet<_> = reached.map(|line| &*line.row.workload).collect();
    let (reached, unchanged): (Vec<_>, Vec<_>) =
        (others.iter().copied()).partition(|line| reached.contains(&*line.row.workload));
    let mut parts = Vec::new();
    if !reached.is_empty() {
        parts.push(markdown(&reached, None));
    }
    let unchanged: Vec<_> = (unchanged.chunk_by(|a, b| a.row.workload == b.row.workload))
        .map(unchanged_row)
        .collect();
    if !unchanged.is_empty() {
        parts.push(format!(
            "No change on any build: {}.\n",
            unchanged.join(", ")
        ));
    }
    if !proofs.is_empty() {
        parts.push(format!("Whole proofs:\n\n{}", markdown(&proofs, None)));
    }
    parts.push(machines(records));
    parts.join("\n").trim_end().to_owned()
}

/// Names the row of these lines, with the range of its ratios.
fn unchanged_row(lines: &[Line<'_>]) -> String {
    let name = escape::code(&lines[0].row.workload);
    let ratios = || (lines.iter()).map(|line| format!("{:.2}{}", line.row.ratio, line.marks()));
    match (ratios().min(), ratios().max()) {
        (Some(least), Some(most)) if least != most => format!("{name} ({least} to {most})"),
        (least, _) => format!("{name} ({})", least.unwrap_or_default()),
    }
}

/// Returns each machine with the command that was run there, and the flags of each build.
fn machines(records: &[Record]) -> String {
    let mut machines: Vec<(String, String, Vec<String>)> = Vec::new();
    for record in records {
        let machine = &record.machine;
        let [cpu, rustc] = [&known_as(&machine.cpu), &machine.rustc].map(|text| escape::text(text));
        let machine = format!("{cpu}, {} cores, {rustc}", machine.cores);
        let command = escape::block(&portable(&record.command));
        let flags = escape::code(&record.machine.rustflags);
        let same = |(other, typed, _): &&mut (String, String, Vec<String>)| {
            (other, typed) == (&machine, &command)
        };
        match machines.iter_mut().find(same) {
            Some((_, _, all)) => all.push(flags),
            None => machines.push((machine, command, vec![flags])),
        }
    }
    let texts = machines
        .iter()
        .map(|(machine, command, flags)| format!("{machine}, {}:\n\n{command}", flags.join(", ")));
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns a command without the option that names a folder of the machine that it was typed on.
fn portable(command: &str) -> String {
    let words = without(command, &["--project"]);
    match words.is_empty() {
        true => command.to_owned(),
        false => joined(&words),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::bench::record::tests::{Filed, report};
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

    #[test]
    fn rows_that_are_reached_stand_before_whole_proofs_and_no_row_is_lost() {
        let text = tables(&records(&[
            ("stark-prove/x", 1.0, 1),
            ("permute-many/x", 0.5, 1),
            ("dot-rows/x", 1.5, 1),
            ("lde/x", 1.0, 1),
            ("lde-2t/x", 1.0, 2),
            ("bench/fft", 1.0, 2),
        ]));
        let (reached, rest) = text.split_once("\nNo change on any build: ").unwrap();
        for row in [
            "| `permute-many/x`    | Narrow | **0.500** ",
            "| `dot-rows/x`        | Narrow | 1.500 (1.500 to 1.500), slower ",
            "| `lde-2t/x`          | Narrow | 1.000 (1.000 to 1.000), no change ",
        ] {
            assert!(reached.contains(row), "{row}: {text}");
        }
        let (unchanged, proofs) = rest.split_once("\n\nWhole proofs:\n\n").unwrap();
        assert_eq!(unchanged, "`lde/x` (1.00), `bench/fft` (1.00).");
        assert!(
            proofs.contains("| `stark-prove/x`     | Narrow | 1.000 "),
            "{text}"
        );
    }

    #[test]
    fn one_command_of_two_builds_stands_once() {
        let mut records = records(&[("permute-many/x", 0.5, 1)]);
        records.extend(self::records(&[("permute-many/x", 0.5, 1)]));
        for (record, flags) in records.iter_mut().zip(["-C one", "-C two"]) {
            record.machine.rustflags = flags.into();
        }
        assert_eq!(
            machines(&records),
            "Narrow, 2 cores, rustc 1.95.0, `-C one`, `-C two`:\n\n```\ncargo p3 ab a\n```\n"
        );
    }

    #[test]
    fn a_command_names_no_folder_of_the_machine() {
        for (typed, portable) in [
            (
                "cargo p3 ab x --project /a/b --workload 'lde/*'",
                "cargo p3 ab x --workload 'lde/*'",
            ),
            ("cargo p3 --project=/a ab x", "cargo p3 ab x"),
            ("cargo p3 ab 'x", "cargo p3 ab 'x"),
        ] {
            assert_eq!(super::portable(typed), portable);
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
        let patch = Project::at(filed.root())
            .catalog
            .patch("0.8.0", "base-layer");
        let missing = earlier.missing(patch.as_ref().unwrap());
        assert_eq!(missing[0], "The present text of the patch.");
        assert_eq!(missing.last().unwrap(), "Any CPU other than Narrow.");
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
        let missing = figures.missing(&patch.unwrap());
        assert_eq!(missing.last().unwrap(), "Any CPU other than Other, Wide.");
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
        let patch = project.catalog.patch("0.9.0-rc.2", "base-layer").unwrap();
        assert_eq!(figures.missing(&patch)[0], "Plonky3 0.9.0-rc.2.");
    }
}
