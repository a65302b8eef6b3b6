//! Results: the sections of a report, from the records or from one run, as tables in Markdown; and the parts of documents that
//! show the records.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use comfy_table::{Table, presets};

use crate::effects;
use crate::error::Failure;
use crate::figure;
use crate::pairs::Run;
use crate::patch::Patch;
use crate::project::Project;
use crate::record::{Counts, LOADED, RECORDS, Record, SERIES, counts, records, step_records};
use crate::replace;
use crate::report::{self, Report, Row};
use crate::saving;
use crate::series::{Entry, Series};
use crate::stats::Verdict;
use crate::summary;
use crate::trial;

/// A report's heading: certain patches on one release, wherever they were measured.
pub struct Section {
    pub title: String,
    pub records: Vec<Record>,
    pub counts: Vec<Counts>,
    /// Where the figure of this is, below the project's root.
    figure: Option<String>,
    /// The patch that this is the record of, and the release; none where it is of several patches.
    pub patch: Option<(String, String)>,
    /// Whether the baseline has what the patch needs.
    pub step: bool,
}

/// A row, and the record that it is from.
#[derive(Clone, Copy)]
pub struct Line<'a> {
    pub record: &'a Record,
    pub row: &'a Row,
}

/// All rows; those of one workload are neighbours, and workloads are in the order of their first samples.
pub fn lines(records: &[Record]) -> Vec<Line<'_>> {
    let lines = records
        .iter()
        .flat_map(|record| record.rows.iter().map(move |row| Line { record, row }));
    let mut lines: Vec<Line<'_>> = lines.collect();
    let workloads: Vec<&str> = lines.iter().map(|line| &*line.row.workload).collect();
    lines.sort_by_key(|line| {
        workloads
            .iter()
            .position(|known| *known == line.row.workload)
    });
    lines
}

/// The workloads that a prover consists of. Bare permutations and products are in the records and on the page.
const PROVER: [&str; 10] = [
    "merkle-commit/",
    "merkle-commit-2t/",
    "lde/",
    "fri-commit/",
    "open/",
    "sumcheck-prove/",
    "whir-prove/",
    "stark-prove/",
    trial::RUN,
    trial::SPAN,
];

impl Line<'_> {
    /// Whether this is what a prover does.
    pub fn of_prover(&self) -> bool {
        let workload = &self.row.workload;
        PROVER.iter().any(|start| workload.starts_with(start))
    }

    /// Whether the machine was loaded when this was measured.
    pub fn loaded(&self) -> bool {
        self.record.loaded.contains_key(&self.row.workload)
    }

    /// The samples of this row, in the order in which they were taken.
    pub fn runs(&self) -> &[Run] {
        let row = |run: &Run| (run.workload.clone(), run.isa.clone());
        let mut rows = self.record.runs.chunk_by(|a, b| row(a) == row(b));
        rows.find(|runs| row(&runs[0]) == (self.row.workload.clone(), self.row.isa.clone()))
            .unwrap_or_default()
    }
}

/// The row that gains most: of the present text and of a prover's workload, if there is one that gains.
pub fn best<'a>(lines: impl IntoIterator<Item = Line<'a>>) -> Option<Line<'a>> {
    let rank = |line: &Line<'_>| {
        let gains = line.row.verdict == Verdict::Faster;
        (line.record.outdated, !gains, !line.of_prover())
    };
    lines.into_iter().min_by(|a, b| {
        let order = rank(a).cmp(&rank(b));
        order.then(a.row.ratio.total_cmp(&b.row.ratio))
    })
}

impl Report {
    /// This report as a section, with its samples and, where these were filed, the file of each ISA.
    pub fn into_section(self, runs: &[Run], files: &BTreeMap<String, String>) -> Section {
        let title = self.title();
        let mut isas: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !isas.contains(&&*row.isa) {
                isas.push(&row.isa);
            }
        }
        let record = |isa: &str| Record {
            file: files.get(isa).cloned(),
            machine: self.machine.with_isa(isa),
            outdated: false,
            loaded: BTreeMap::new(),
            rows: (self.rows.iter().filter(|row| row.isa == isa).cloned()).collect(),
            runs: (runs.iter().filter(|run| run.isa == isa).cloned()).collect(),
            command: self.command.clone(),
        };
        Section {
            title,
            records: isas.into_iter().map(record).collect(),
            counts: Vec::new(),
            figure: None,
            patch: None,
            step: false,
        }
    }

    pub fn title(&self) -> String {
        let below = &self.baseline_patches;
        let patches = match &*report::own(&self.patches, below) {
            [] => "no patches".to_owned(),
            [name] => (*name).to_owned(),
            names => format!("{} together", names.join(", ")),
        };
        let on = match &**below {
            [] => String::new(),
            below => format!(" on {}", below.join(", ")),
        };
        let reversed = if self.reverted { ", reversed" } else { "" };
        format!("{patches}{on}{reversed}, Plonky3 {}", self.base)
    }
}

/// The sections of all records in `benches/record`: all patches together first, then each in the order of the series, as a step before
/// the stack that it is the top of.
pub fn recorded(project: &Project) -> Result<Vec<Section>> {
    let series = Series::load(&project.patches)?;
    let newest_first = || series.bases.iter().rev().map(ToString::to_string);
    let mut sections = Vec::new();
    for base in newest_first() {
        let records = records(&project.root, &project.patches, &series, &base, SERIES)?;
        if !records.is_empty() {
            sections.push(Section {
                title: format!("All patches, Plonky3 {base}"),
                records,
                counts: Vec::new(),
                figure: Some(format!("{RECORDS}/{base}/{SERIES}.svg")),
                patch: None,
                step: false,
            });
        }
    }
    for Entry { name, needs } in &series.entries {
        let with = if needs.is_empty() {
            String::new()
        } else {
            format!(" with {}", needs.join(", "))
        };
        let ported = newest_first().filter(|base| Patch::exists(&project.patches, base, name));
        let default = series.default_base_of(&project.patches, name)?;
        for base in ported {
            let step = step_records(project, &series, &base, name)?;
            if !step.is_empty() {
                sections.push(Section {
                    title: format!("{name} on {}, Plonky3 {base}", needs.join(", ")),
                    records: step,
                    counts: Vec::new(),
                    figure: None,
                    patch: Some((name.clone(), base.clone())),
                    step: true,
                });
            }
            let is_default = base == default;
            let section = Section {
                title: format!("{name}{with}, Plonky3 {base}"),
                records: records(&project.root, &project.patches, &series, &base, name)?,
                counts: counts(&project.root, &project.patches, &series, &base, name)?,
                figure: None,
                patch: Some((name.clone(), base)),
                step: false,
            };
            if is_default || !section.is_empty() {
                sections.push(section);
            }
        }
    }
    Ok(sections)
}

impl Section {
    /// Whether this is a record of the patch `name`.
    pub fn is_of(&self, name: &str) -> bool {
        (self.patch.as_ref()).is_some_and(|(patch, _)| patch == name)
    }

    fn is_empty(&self) -> bool {
        self.records.is_empty() && self.counts.is_empty()
    }
}

/// `word` as one of a shell's.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The files that ratios in a text of this repository lead to. A table has their numbers, the text's end their paths.
#[derive(Default)]
pub struct Links {
    /// From the text's folder to the repository's root.
    up: &'static str,
    files: Vec<String>,
}

impl Links {
    fn number(&mut self, file: &str) -> usize {
        let index = self.files.iter().position(|known| known == file);
        let index = index.unwrap_or_else(|| {
            self.files.push(file.to_owned());
            self.files.len() - 1
        });
        index + 1
    }

    fn markdown(&self) -> String {
        let mut text = String::new();
        for (index, file) in self.files.iter().enumerate() {
            text += &format!("[{}]: {}{file}\n", index + 1, self.up);
        }
        text
    }
}

/// Marks a ratio whose patches have other code by now.
pub const OUTDATED: &str = "\u{2020}";

/// Marks a ratio that a loaded machine took.
const ON_LOADED: &str = "\u{2021}";

/// Effects as Markdown: a line per workload and CPU, a column per ISA, below it what the marks mean. Ratios link to their records
/// if there are `links`, which are relative to the repository's root.
pub fn markdown(lines: &[Line<'_>], mut links: Option<&mut Links>) -> String {
    let mut heads: Vec<(&str, &str)> = Vec::new();
    let mut isas: Vec<&str> = Vec::new();
    for Line { record, row } in lines {
        if !isas.contains(&&*row.isa) {
            isas.push(&row.isa);
        }
        let head = (&*row.workload, &*record.machine.cpu);
        if !heads.contains(&head) {
            heads.push(head);
        }
    }
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["time with / without", "CPU"].iter().chain(&isas));
    for (workload, cpu) in heads {
        let mut cell = |isa: &&str| {
            let mut lines = lines.iter().filter(|Line { record, row }| {
                (&*row.workload, &*record.machine.cpu, &*row.isa) == (workload, cpu, *isa)
            });
            lines.next().map_or_else(String::new, |line| {
                markdown_cell(line, links.as_deref_mut())
            })
        };
        let head = [format!("`{workload}`"), plain(cpu)];
        table.add_row(head.into_iter().chain(isas.iter().map(&mut cell)));
    }
    let mut text = table.to_string() + "\n";
    if lines.iter().any(|line| line.record.outdated) {
        text += &format!(
            "\n{OUTDATED} Measured with an earlier text of the patches, or before records named their text.\n"
        );
    }
    if lines.iter().any(Line::loaded) {
        text += &format!(
            "\n{ON_LOADED} The baseline took more than {LOADED} times what it had taken before: the machine was loaded.\n"
        );
    }
    text
}

/// `text` as Markdown that is only text, in a table as well.
pub fn plain(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}

fn markdown_cell(line: &Line<'_>, links: Option<&mut Links>) -> String {
    let Line { record, row } = line;
    let [low, high] = row.ci95;
    let ratio = match links.zip(record.file.as_ref()) {
        Some((links, file)) => format!("[{:.3}][{}]", row.ratio, links.number(file)),
        None => format!("{:.3}", row.ratio),
    };
    let interval = format!("{low:.3} to {high:.3}");
    let mark = [(record.outdated, OUTDATED), (line.loaded(), ON_LOADED)];
    let mark: String = (mark.iter())
        .filter_map(|(is, mark)| is.then_some(*mark))
        .collect();
    match row.verdict {
        Verdict::Faster => format!("**{ratio}**{mark} ({interval})"),
        Verdict::Slower => format!("{ratio}{mark} ({interval}), slower"),
        Verdict::NoChange => format!("{ratio}{mark} ({interval}), no change"),
    }
}

const BEGIN: &str = "<!-- p3:effects:begin, written by `cargo p3 report` -->\n";
const END: &str = "<!-- p3:effects:end -->";

/// All tables of the records, below the project's root.
pub const RESULTS: &str = "docs/results.md";

/// The READMEs, the results, their figures and the patches' effects: each file's path, and its text as it should be by the
/// records.
pub struct Documents(Vec<(PathBuf, String)>);

impl Documents {
    pub fn new(project: &Project, sections: &[Section]) -> Result<Self> {
        let mut files = Vec::new();
        let mut links = Links {
            up: "../",
            files: Vec::new(),
        };
        let mut text = String::new();
        for section in sections {
            let mut lines = lines(&section.records);
            lines.retain(Line::of_prover);
            write!(text, "\n### {}\n", section.title)?;
            if let Some(figure) = &section.figure {
                let title = &section.title;
                let up = links.up;
                write!(
                    text,
                    "\n![{title}: the table below as a figure]({up}{figure})\n"
                )?;
                files.push((project.root.join(figure), figure::svg(title, &lines)));
            }
            text += &section.body(&lines, &mut links)?;
        }
        let path = project.root.join(RESULTS);
        files.push((path.clone(), generated(&path, &text, &links)?));
        let series = Series::load(&project.patches)?;
        let path = project.root.join("README.md");
        let text = summary::markdown(project, &series, sections)?;
        files.push((path.clone(), generated(&path, &text, &Links::default())?));
        for name in series.names() {
            let path = project.crates_dir().join(name).join("README.md");
            // `check` names a crate without one.
            if path.is_file() {
                let own = sections.iter().filter(|section| section.is_of(name));
                files.push((path.clone(), crate_readme(&path, own)?));
            }
        }
        files.push((
            project.patches_dir.join(effects::FILE),
            effects::text(sections)?,
        ));
        Ok(Self(files))
    }

    /// Fails where a file is not what the records say.
    pub fn check(&self) -> Result<()> {
        for (path, expected) in &self.0 {
            if fs::read_to_string(path).ok().as_ref() != Some(expected) {
                let path = path.display();
                return Err(
                    Failure::check(format!("{path}: not what benches/record says"))
                        .hint("`cargo p3 report` writes it")
                        .into(),
                );
            }
        }
        Ok(())
    }

    /// Writes the files, and names them.
    pub fn write(&self, project: &Project) -> Result<Vec<&Path>> {
        let bytes =
            |(path, expected): &(PathBuf, String)| (path.clone(), expected.as_bytes().to_vec());
        let roots = [&*project.root, &*project.patches_dir];
        replace::files_below(&roots, &self.0.iter().map(bytes).collect::<Vec<_>>())?;
        Ok(self.0.iter().map(|(path, _)| &**path).collect())
    }
}

impl Section {
    /// Tables of these lines, of what a proof saves and of counts.
    fn body(&self, lines: &[Line<'_>], links: &mut Links) -> Result<String> {
        let mut text = String::new();
        if self.is_empty() {
            text.push_str("\nNot measured yet.\n");
        }
        if !lines.is_empty() {
            write!(text, "\n{}", markdown(lines, Some(links)))?;
        }
        if let Some(savings) = saving::markdown(&self.records) {
            write!(text, "\n{savings}")?;
        }
        for counts in &self.counts {
            let file = format!("{}{}", links.up, counts.file);
            write!(text, "\n[Counts]({file}). {}", counts.markdown())?;
        }
        Ok(text)
    }
}

/// The text of a crate's README: all rows of its patch.
fn crate_readme<'s>(path: &Path, sections: impl Iterator<Item = &'s Section>) -> Result<String> {
    let mut links = Links {
        up: "../../",
        files: Vec::new(),
    };
    let mut text = String::new();
    for section in sections {
        write!(text, "\n### {}\n", section.title)?;
        text += &section.body(&lines(&section.records), &mut links)?;
    }
    generated(path, &text, &links)
}

/// The file's text with `part` between the marker lines.
fn generated(path: &Path, part: &str, links: &Links) -> Result<String> {
    let shown = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    let (before, after) =
        outside(&text).ok_or_else(|| Failure::input(format!("{shown}: no lines {BEGIN}{END}")))?;
    let mut links = links.markdown();
    if !links.is_empty() {
        links.push('\n');
    }
    Ok(format!("{before}{BEGIN}{part}\n{links}{END}{after}"))
}

/// The text before and after the marker lines.
fn outside(text: &str) -> Option<(&str, &str)> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some((before, after))
}

/// Refuses a README in which a figure is neither generated from a record nor in a section that says when it was taken. A figure is
/// a number with two decimals or more.
pub fn check_figures(path: &Path, shown: impl Display) -> Result<()> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    let (before, after) =
        outside(&text).ok_or_else(|| Failure::check(format!("{shown}: no lines {BEGIN}{END}")))?;
    // The text after the marker begins with the end of its line.
    let first_after = text[..text.len() - after.len()].lines().count() - 1;
    for (first, part) in [(0, before), (first_after, after)] {
        let mut figure = None;
        let mut dated = false;
        for (number, line) in part.lines().chain(["#"]).enumerate() {
            if line.starts_with('#') {
                if let Some((number, figure)) = figure.take().filter(|_| !dated) {
                    return Err(Failure::check(format!(
                        "{shown}:{number}: {figure} is from no record, and its section does not say when it was taken"
                    ))
                    .hint("write `exploratory, YEAR-MONTH-DAY` beside it, or leave it out")
                    .into());
                }
                dated = false;
            }
            let found = figures(line).next();
            figure = figure.or(found.map(|figure| (first + number + 1, figure)));
            dated |= line
                .to_lowercase()
                .split("exploratory, 20")
                .skip(1)
                .any(|date| date.len() >= 8 && date.as_bytes()[2] == b'-');
        }
    }
    Ok(())
}

/// The numbers with one digit, a point and two digits or more. The compiler's version is none, and neither are those of releases.
fn figures(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|c: char| !c.is_ascii_digit() && c != '.' && !c.is_alphabetic());
    let before = ["rustc", "Rust"];
    let mut last = "";
    words
        .filter(|word| !word.is_empty())
        .filter_map(move |word| {
            let version = before.contains(&last);
            last = word;
            let number = word.trim_end_matches('.');
            let (whole, decimals) = number.split_once('.')?;
            let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            let figure =
                whole.len() == 1 && digits(whole) && decimals.len() >= 2 && digits(decimals);
            (figure && !version).then_some(number)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::{COUNTS, Filed};
    use crate::report::tests::{report, runs};

    #[test]
    fn a_figure_has_a_record_or_a_date() {
        let readme = |text: &str| {
            let file = tempfile::NamedTempFile::new().unwrap();
            fs::write(file.path(), format!("# x\n\n{BEGIN}0.123\n{END}\n{text}")).unwrap();
            check_figures(file.path(), "README.md").map_err(|error| error.to_string())
        };
        readme("Plonky3 0.8.0 and 0.9.0-rc.2, rustc 1.95, Rust 1.95: 3.5 cycles, 10.25 ms.")
            .unwrap();
        readme("## Probe\n\nExploratory, 2026-11-21: 0.58.\n\n## Rest\n").unwrap();
        for text in [
            "It takes 0.58 of the time.",
            "0.58",
            "| a | 0.58-0.60 |",
            "## Probe\n\n0.58\n\n## Other\n\nExploratory, 2026-11-21.\n",
            "Exploratory: 0.58.",
        ] {
            let refused = readme(text).unwrap_err();
            assert!(refused.contains(": 0.58 is from no record"), "{refused}");
        }
        let refused = readme("a\n\n1.02").unwrap_err();
        assert!(refused.contains(":8: 1.02 is"), "{refused}");
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(
            ["", "it's", "*"].map(shell_word),
            ["''", r"'it'\''s'", "'*'"]
        );
    }

    #[test]
    fn a_record_has_the_flags_and_the_rows_of_its_own_isa() {
        let mut runs = [runs(0.8), runs(0.9)].concat();
        for run in &mut runs[40..] {
            run.isa = "x86-64-v4".into();
        }
        let mut report = report("Narrow", &runs);
        report.machine.rustflags = "x86-64-v4: -C four; x86-64-v3: -C three".into();
        let files = BTreeMap::from([("x86-64-v4".to_owned(), "benches/record/x.csv".to_owned())]);
        let section = report.into_section(&runs, &files);
        assert_eq!(section.title, "a, b together, Plonky3 0.8.0");
        let seen: Vec<_> = (section.records.iter())
            .map(|record| (&*record.machine.rustflags, record.file.as_deref()))
            .collect();
        assert_eq!(
            seen,
            [
                ("-C three", None),
                ("-C four", Some("benches/record/x.csv"))
            ]
        );
        let lines = lines(&section.records);
        let ratios: Vec<f64> = lines.iter().map(|line| line.row.ratio).collect();
        assert_eq!(ratios, [0.8, 0.9]);
        assert_eq!(
            [lines[0].runs(), lines[1].runs()],
            [&runs[..40], &runs[40..]]
        );
    }

    #[test]
    fn records_are_shown_with_their_marks() {
        let filed = Filed::new();
        filed.write(
            "quick-sponge",
            "2026-10-01-wide",
            "Wide",
            1.25,
            &["quick-sponge"],
        );
        filed.write(
            "quick-sponge",
            "2026-11-01T10-00-00Z-narrow",
            "Narrow",
            0.75,
            &[],
        );
        filed.write(
            "series",
            "2026-11-02-narrow",
            "Narrow",
            0.25,
            &["base-layer", "quick-sponge"],
        );
        filed.write(
            "base-layer",
            "2026-11-03-narrow",
            "Narrow",
            0.5,
            &["base-layer"],
        );
        let path = "0.8.0/triple-neon/quick-sponge/2026-11-01-qemu.json";
        filed.put(&format!("{RECORDS}/{path}"), COUNTS);
        let project = Project::at(filed.root());
        let path = filed.root().join("README.md");
        let results = filed.root().join(RESULTS);
        fs::create_dir(filed.root().join("docs")).unwrap();
        for path in [&path, &results] {
            fs::write(path, format!("# Title\n\n{BEGIN}stale\n{END}\n\nRest.\n")).unwrap();
        }
        let documents = || Documents::new(&project, &recorded(&project).unwrap()).unwrap();
        assert!(documents().check().is_err());
        documents().write(&project).unwrap();
        documents().check().unwrap();
        let figure = project.root.join(RECORDS).join("0.8.0/series.svg");
        let drawn = fs::read_to_string(&figure).unwrap();
        fs::write(&figure, drawn.replace("0.250", "0.251")).unwrap();
        let stale = format!("{:#}", documents().check().unwrap_err());
        assert!(stale.contains("series.svg"), "{stale}");
        let effects = filed.root().join("patches/effects.csv");
        insta::assert_snapshot!("effects", fs::read_to_string(&effects).unwrap());
        fs::write(&figure, drawn).unwrap();
        fs::write(&effects, "").unwrap();
        let stale = format!("{:#}", documents().check().unwrap_err());
        assert!(stale.contains("effects.csv"), "{stale}");
        documents().write(&project).unwrap();
        insta::assert_snapshot!(fs::read_to_string(&results).unwrap());
        insta::assert_snapshot!("summary", fs::read_to_string(&path).unwrap());
    }
}
