//! Records: samples filed in `benches/record`, what they say by now, and the README's part that shows it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use cargo_metadata::semver::Version;
use comfy_table::{Table, presets};
use serde::{Deserialize, Serialize};

use crate::effects;
use crate::error::Failure;
use crate::figure;
use crate::pairs::Run;
use crate::patch::Patch;
use crate::project::Project;
use crate::replace::{self, cannot_write};
use crate::report::{self, Machine, Report, Row, csv, read_csv};
use crate::saving;
use crate::series::{Entry, Series};
use crate::stats::Verdict;
use crate::tree::Folder;
use crate::trial;

/// Where measurements are filed, under the day on which they began.
pub struct Filing<'a> {
    project: &'a Project,
    /// Dates sort as text.
    date: String,
}

impl<'a> Filing<'a> {
    /// Refuses a day before that of a record: the newest one is shown, which this would not be.
    pub fn new(project: &'a Project) -> Result<Self> {
        let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let date = now[..10].to_owned();
        let mut latest: Option<(String, String)> = None;
        for base in folders(&project.root.join(RECORDS))? {
            for machine in folders(&project.root.join(RECORDS).join(&base))? {
                let machine = format!("{RECORDS}/{base}/{machine}");
                if let Some(run) = folders(&project.root.join(&machine))?.pop() {
                    latest = latest.max(Some((run.clone(), format!("{machine}/{run}"))));
                }
            }
        }
        match latest {
            Some((run, dir)) if run.get(..10).is_some_and(|day| *day > *date) => {
                Err(Failure::environment(format!(
                    "{dir}: recorded after today, which is {date} by this machine's clock"
                ))
                .hint("set the clock, or rename that folder if the clock was wrong when it was recorded")
                .into())
            }
            _ => Ok(Self { project, date }),
        }
    }

    /// Files the samples of each ISA as `benches/record/BASE/TRIPLE-ISA/DATE-CPU/NAME.csv` with `machine.txt` beside, NAME
    /// as [`file_stem`] has it. Returns the folders by ISA, below the project's root.
    ///
    /// Samples without a machine cannot be shown, so these come last. Until then they are in `beside`.
    pub fn file(
        &self,
        beside: &Folder,
        triple: &str,
        asked: &[String],
        report: &Report,
        runs: &[Run],
    ) -> Result<BTreeMap<String, String>> {
        let name = file_stem(asked, &report.baseline_patches);
        let mut dirs = BTreeMap::new();
        let mut files = Vec::new();
        for runs in runs.chunk_by(|a, b| a.isa == b.isa) {
            let isa = &runs[0].isa;
            let machine = report.machine.with_isa(isa);
            let run = format!("{}-{}", self.date, file_name(&machine.cpu));
            let dir = format!("{RECORDS}/{}/{triple}-{isa}/{run}", report.base);
            let folder = self.project.root.join(&dir);
            fs::create_dir_all(&folder).map_err(|error| cannot_write(&folder, &error))?;
            files.push((folder.join(MACHINE), machine.facts().into()));
            files.push((folder.join(format!("{name}.csv")), csv(runs)?));
            dirs.insert(isa.clone(), dir);
        }
        beside.replace_all(&files)?;
        Ok(dirs)
    }
}

/// Below the project's root.
pub const RECORDS: &str = "benches/record";

/// Under which all patches together are filed.
const SERIES: &str = "series";

/// Between a step and what its baseline has. The name of a patch has no dot.
const ON: &str = ".on.";

const MACHINE: &str = "machine.txt";

/// What samples are filed under. A patch that stacks on others is measured with them and filed under its own name; several
/// are joined by `+`; none are the whole [`SERIES`]. The name of a step has all that its baseline has: `NAME.on.OTHER+OTHER`.
pub fn file_stem(asked: &[String], below: &[String]) -> String {
    match (asked, below) {
        ([], _) => SERIES.to_owned(),
        (asked, []) => asked.join("+"),
        (asked, below) => format!("{}{ON}{}", asked.join("+"), below.join("+")),
    }
}

impl Machine {
    /// The machine with the flags of one ISA, where it has those of several.
    fn with_isa(&self, isa: &str) -> Self {
        let mut each = self.rustflags.split("; ");
        let own = each.find_map(|flags| flags.strip_prefix(isa)?.strip_prefix(": "));
        let rustflags = own.unwrap_or(&self.rustflags);
        Self {
            rustflags: rustflags.to_owned(),
            ..self.clone()
        }
    }

    /// The text of `machine.txt`.
    fn facts(&self) -> String {
        let Self {
            cpu,
            cores,
            rustc,
            rustflags,
        } = self;
        format!("cpu: {cpu}\ncores: {cores}\nrustc: {rustc}\nrustflags: {rustflags}\n")
    }

    /// What [`Machine::facts`] wrote.
    fn from_facts(text: &str) -> Result<Self> {
        let fact = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(": "));
            let fact = lines.find(|(field, _)| *field == name);
            fact.map(|(_, value)| value.to_owned())
                .with_context(|| format!("no `{name}: `"))
        };
        Ok(Self {
            cpu: fact("cpu")?,
            cores: fact("cores")?.parse().context("cores")?,
            rustc: fact("rustc")?,
            // Empty for a target's own.
            rustflags: fact("rustflags").unwrap_or_default(),
        })
    }
}

/// A CPU's name as part of a file's: `AMD EPYC (family 25)` is `amd-epyc-family-25`.
fn file_name(cpu: &str) -> String {
    let plain = cpu.replace("(R)", "").replace("(TM)", "").to_lowercase();
    let words = plain.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("-")
}

/// A comparison on one machine with one ISA.
#[derive(Serialize)]
pub struct Record {
    /// Where the samples are filed, if they are: below the project's root, with `/` between the parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
    #[serde(flatten)]
    pub machine: Machine,
    pub rows: Vec<Row>,
    #[serde(skip)]
    pub runs: Vec<Run>,
    /// What measures this.
    #[serde(skip)]
    pub command: String,
}

/// A report's heading: certain patches on one release, wherever they were measured.
pub struct Section {
    pub title: String,
    pub records: Vec<Record>,
    /// Each with the path of its file below the project's root.
    pub counts: Vec<(String, Counts)>,
    /// Where the README's figure of this is, below the project's root.
    figure: Option<String>,
    /// The patch and the release that this is the record of; none where it is of several patches, or of a step.
    pub patch: Option<(String, String)>,
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
const PROVER: [&str; 8] = [
    "merkle-commit/",
    "merkle-commit-2t/",
    "fri-commit/",
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

    /// The samples of this row, in the order in which they were taken.
    pub fn runs(&self) -> &[Run] {
        let row = |run: &Run| (run.workload.clone(), run.isa.clone());
        let mut rows = self.record.runs.chunk_by(|a, b| row(a) == row(b));
        rows.find(|runs| row(&runs[0]) == (self.row.workload.clone(), self.row.isa.clone()))
            .unwrap_or_default()
    }
}

impl Report {
    /// This report as a section, with its samples and, where these were filed, the folder of each ISA.
    pub fn into_section(self, runs: &[Run], dirs: &BTreeMap<String, String>) -> Section {
        let title = self.title();
        let mut isas: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !isas.contains(&&*row.isa) {
                isas.push(&row.isa);
            }
        }
        let record = |isa: &str| Record {
            dir: dirs.get(isa).cloned(),
            machine: self.machine.with_isa(isa),
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

/// What there is in `benches/record`: all patches together first, then each in the order of the series, as a step before
/// the stack that it is the top of.
pub fn recorded(project: &Project) -> Result<Vec<Section>> {
    let series = Series::load(&project.patches)?;
    let newest_first = || series.bases.iter().rev().map(ToString::to_string);
    let mut sections = Vec::new();
    for base in newest_first() {
        let records = records(&project.root, &base, SERIES)?;
        if !records.is_empty() {
            sections.push(Section {
                title: format!("All patches, Plonky3 {base}"),
                records,
                counts: Vec::new(),
                figure: Some(format!("{RECORDS}/{base}/{SERIES}.svg")),
                patch: None,
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
                    patch: None,
                });
            }
            let is_default = base == default;
            let section = Section {
                title: format!("{name}{with}, Plonky3 {base}"),
                records: records(&project.root, &base, name)?,
                counts: counts(&project.root, &base, name)?,
                figure: None,
                patch: Some((name.clone(), base)),
            };
            if is_default || !section.is_empty() {
                sections.push(section);
            }
        }
    }
    Ok(sections)
}

impl Section {
    fn is_empty(&self) -> bool {
        self.records.is_empty() && self.counts.is_empty()
    }
}

/// The newest records of `name` on top of what it stacks on in `base`; none where that is nothing.
pub fn step_records(
    project: &Project,
    series: &Series,
    base: &str,
    name: &str,
) -> Result<Vec<Record>> {
    let asked = [name.to_owned()];
    let below = series.below(&project.patches, &Version::parse(base)?, &asked)?;
    if below.is_empty() {
        return Ok(Vec::new());
    }
    records(&project.root, base, &file_stem(&asked, &below))
}

/// The newest record under `name` on `base` for each TRIPLE-ISA and CPU, evaluated anew from its raw samples.
pub fn records(root: &Path, base: &str, name: &str) -> Result<Vec<Record>> {
    let root = root.join(RECORDS).join(base);
    let mut records: Vec<Record> = Vec::new();
    for machine in folders(&root)? {
        let mut cpus = BTreeSet::new();
        for run in folders(&root.join(&machine))?.into_iter().rev() {
            let folder = root.join(&machine).join(&run);
            let csv = folder.join(format!("{name}.csv"));
            if !csv.is_file() {
                continue;
            }
            let facts = folder.join(MACHINE);
            let unreadable = || format!("cannot read {}", facts.display());
            let text = fs::read_to_string(&facts).with_context(unreadable)?;
            let facts = Machine::from_facts(&text).with_context(unreadable)?;
            if cpus.insert(facts.cpu.clone()) {
                let runs = read_csv(&csv)?;
                records.push(Record {
                    dir: Some(format!("{RECORDS}/{base}/{machine}/{run}")),
                    machine: facts,
                    rows: Row::all(&runs).with_context(|| csv.display().to_string())?,
                    command: repeat(name, base, &runs),
                    runs,
                });
            }
        }
    }
    Ok(records)
}

/// The command that takes such samples again.
fn repeat(name: &str, base: &str, runs: &[Run]) -> String {
    let mut command = "cargo p3 ab".to_owned();
    let mut add = |words: &[&str]| {
        for word in words {
            command.push(' ');
            command += &shell_word(word);
        }
    };
    let step = name.split_once(ON).map(|(asked, _)| asked);
    if name != SERIES {
        add(&step.unwrap_or(name).split('+').collect::<Vec<_>>());
    }
    if step.is_some() {
        add(&["--step"]);
    }
    add(&["--base", base]);
    let (mut isas, mut workloads) = (Vec::new(), Vec::new());
    let (mut seeds, mut rounds) = (BTreeSet::new(), BTreeSet::new());
    for run in runs {
        if !isas.contains(&&*run.isa) {
            isas.push(&run.isa);
        }
        if !workloads.contains(&&*run.workload) {
            workloads.push(&run.workload);
        }
        seeds.insert(run.seed);
        rounds.insert(run.round);
    }
    for isa in isas {
        add(&["--isa", isa]);
    }
    let reps = rounds.len() / seeds.len().max(1);
    add(&["--seeds", &seeds.len().to_string()]);
    add(&["--reps", &reps.to_string()]);
    for workload in workloads {
        add(&["--workload", workload]);
    }
    command
}

/// `word` as one of a shell's.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Names of the folders in `dir`, sorted; none where there is no such folder.
fn folders(dir: &Path) -> Result<Vec<String>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", dir.display())),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read {}", dir.display()))?;
        if entry.file_type()?.is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// A recorded `count`, as far as it is shown.
#[derive(Deserialize)]
pub struct Counts {
    pub emulated_cpu: String,
    rustflags: String,
    units: Vec<CountedUnit>,
}

#[derive(Deserialize)]
struct CountedUnit {
    unit: String,
    baseline: Counted,
    candidate: Counted,
}

#[derive(Deserialize)]
struct Counted {
    instructions: u64,
    /// By core.
    model_cycles: BTreeMap<String, u64>,
}

/// The newest counts of `name` on `base` for each TRIPLE-ISA, and the path of their file below the project's root.
pub fn counts(root: &Path, base: &str, name: &str) -> Result<Vec<(String, Counts)>> {
    let root = root.join(RECORDS).join(base);
    let mut counts = Vec::new();
    for machine in folders(&root)? {
        for run in folders(&root.join(&machine))?.into_iter().rev() {
            let path = root.join(&machine).join(&run).join(format!("{name}.json"));
            let Ok(json) = fs::read(&path) else { continue };
            let read = serde_json::from_slice(&json);
            let shown = format!("{RECORDS}/{base}/{machine}/{run}/{name}.json");
            counts.push((
                shown,
                read.with_context(|| format!("cannot read {}", path.display()))?,
            ));
            break;
        }
    }
    Ok(counts)
}

impl CountedUnit {
    /// The instructions with the patch to those without.
    fn ratio(&self) -> f64 {
        self.candidate.instructions as f64 / self.baseline.instructions as f64
    }
}

impl Counts {
    /// The unit that gains most.
    pub fn best(&self) -> Option<(&str, f64)> {
        let units = self.units.iter().map(|unit| (&*unit.unit, unit.ratio()));
        units.min_by(|(_, a), (_, b)| a.total_cmp(b))
    }

    /// Ratios as Markdown: a line per unit, a column for instructions and for each core's model.
    pub fn markdown(&self) -> String {
        let cores: BTreeSet<&str> = (self.units.iter())
            .flat_map(|unit| unit.baseline.model_cycles.keys().map(String::as_str))
            .collect();
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        let models = cores.iter().map(|core| format!("cycles, {core} model"));
        let head = ["with / without".to_owned(), "instructions".to_owned()];
        table.set_header(head.into_iter().chain(models));
        for unit in &self.units {
            let (candidate, baseline) = (&unit.candidate, &unit.baseline);
            let cycles = cores.iter().map(|core| {
                let cycles = |counted: &Counted| counted.model_cycles.get(*core).copied();
                let both = cycles(candidate).zip(cycles(baseline));
                both.map_or_else(String::new, |(candidate, baseline)| {
                    format!("{:.3}", candidate as f64 / baseline as f64)
                })
            });
            let head = [format!("`{}`", unit.unit), format!("{:.3}", unit.ratio())];
            table.add_row(head.into_iter().chain(cycles));
        }
        format!(
            "Executed by an emulated {}, `{}`; cycles are llvm-mca's models, nothing was timed.\n\n{table}\n",
            self.emulated_cpu, self.rustflags
        )
    }
}

/// The folders that ratios in a text of this repository lead to. A table has their numbers, the text's end their paths.
#[derive(Default)]
pub struct Links(Vec<String>);

impl Links {
    fn number(&mut self, dir: &str) -> usize {
        let index = self.0.iter().position(|known| known == dir);
        let index = index.unwrap_or_else(|| {
            self.0.push(dir.to_owned());
            self.0.len() - 1
        });
        index + 1
    }

    fn markdown(&self) -> String {
        let mut text = String::new();
        for (index, dir) in self.0.iter().enumerate() {
            text += &format!("[{}]: {dir}\n", index + 1);
        }
        text
    }
}

/// Effects as Markdown: a line per workload and CPU, a column per ISA. Without `links`, for who reads it elsewhere, ratios
/// lead nowhere.
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
    table.to_string() + "\n"
}

/// `text` as Markdown that is only text, in a table as well.
pub fn plain(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}

fn markdown_cell(Line { record, row }: &Line<'_>, links: Option<&mut Links>) -> String {
    let [low, high] = row.ci95;
    let ratio = match links.zip(record.dir.as_ref()) {
        Some((links, dir)) => format!("[{:.3}][{}]", row.ratio, links.number(dir)),
        None => format!("{:.3}", row.ratio),
    };
    let interval = format!("{low:.3} to {high:.3}");
    match row.verdict {
        Verdict::Faster => format!("**{ratio}** ({interval})"),
        Verdict::Slower => format!("{ratio} ({interval}), slower"),
        Verdict::NoChange => format!("{ratio} ({interval}), no change"),
    }
}

const BEGIN: &str = "<!-- p3:effects:begin, written by `cargo p3 report` -->\n";
const END: &str = "<!-- p3:effects:end -->";

/// The README, its figures and the patches' effects: each file's path, and its text as it should be by the records.
pub struct Readme(Vec<(PathBuf, String)>);

impl Readme {
    pub fn new(project: &Project, sections: &[Section]) -> Result<Self> {
        let path = project.root.join("README.md");
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let (before, rest) = text.split_once(BEGIN).ok_or_else(|| {
            Failure::input(format!("{}: no line {}", path.display(), BEGIN.trim()))
        })?;
        let (_, after) = rest
            .split_once(END)
            .ok_or_else(|| Failure::input(format!("{}: no line {END}", path.display())))?;
        let mut expected = format!("{before}{BEGIN}");
        let mut files = Vec::new();
        let mut links = Links::default();
        for section in sections {
            let title = &section.title;
            write!(expected, "\n### {title}\n")?;
            if section.is_empty() {
                expected.push_str("\nNot measured yet.\n");
            }
            let mut lines = lines(&section.records);
            lines.retain(Line::of_prover);
            if let Some(figure) = &section.figure {
                write!(
                    expected,
                    "\n![{title}: the table below as a figure]({figure})\n"
                )?;
                files.push((project.root.join(figure), figure::svg(title, &lines)));
            }
            if !section.records.is_empty() {
                write!(expected, "\n{}", markdown(&lines, Some(&mut links)))?;
            }
            if let Some(savings) = saving::markdown(&section.records) {
                write!(expected, "\n{savings}")?;
            }
            for (file, counts) in &section.counts {
                write!(expected, "\n[Counts]({file}). {}", counts.markdown())?;
            }
        }
        write!(expected, "\n{}\n{END}{after}", links.markdown())?;
        files.push((path, expected));
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
    pub fn write(&self) -> Result<Vec<&Path>> {
        let bytes =
            |(path, expected): &(PathBuf, String)| (path.clone(), expected.as_bytes().to_vec());
        replace::files(&self.0.iter().map(bytes).collect::<Vec<_>>())?;
        Ok(self.0.iter().map(|(path, _)| &**path).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::runs;

    #[test]
    fn a_cpu_names_a_folder() {
        assert_eq!(
            file_name("AMD EPYC (family 25, model 17)"),
            "amd-epyc-family-25-model-17"
        );
        assert_eq!(
            file_name("Intel(R) Xeon(R) Processor @ 2.50GHz"),
            "intel-xeon-processor-2-50ghz"
        );
    }

    #[test]
    fn facts_of_a_machine_are_read_back() {
        let mut machine = Machine {
            cpu: "AMD EPYC (family 25, model 17): fast".into(),
            cores: 2,
            rustc: "rustc 1.95.0".into(),
            rustflags: "-C target-cpu=x86-64-v3".into(),
        };
        assert_eq!(Machine::from_facts(&machine.facts()).unwrap(), machine);
        machine.rustflags.clear();
        assert_eq!(Machine::from_facts(&machine.facts()).unwrap(), machine);
        assert!(Machine::from_facts("cpu: x\n").is_err());
    }

    #[test]
    fn a_record_has_the_flags_and_the_rows_of_its_own_isa() {
        let mut runs = [runs(0.8), runs(0.9)].concat();
        for run in &mut runs[40..] {
            run.isa = "x86-64-v4".into();
        }
        let report = Report {
            schema: Report::SCHEMA,
            command: "cargo p3 ab a".into(),
            base: "0.8.0".into(),
            baseline_patches: Vec::new(),
            patches: vec!["a".into(), "b".into()],
            reverted: false,
            machine: Machine {
                cpu: "Narrow".into(),
                cores: 2,
                rustc: "rustc 1.95.0".into(),
                rustflags: "x86-64-v4: -C four; x86-64-v3: -C three".into(),
            },
            rows: Row::all(&runs).unwrap(),
        };
        let dirs = BTreeMap::from([("x86-64-v4".to_owned(), "benches/record/x".to_owned())]);
        let section = report.into_section(&runs, &dirs);
        assert_eq!(section.title, "a, b together, Plonky3 0.8.0");
        let seen: Vec<_> = (section.records.iter())
            .map(|record| (&*record.machine.rustflags, record.dir.as_deref()))
            .collect();
        assert_eq!(
            seen,
            [("-C three", None), ("-C four", Some("benches/record/x"))]
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
    fn a_record_tells_how_to_repeat_it() {
        assert_eq!(
            repeat("a+b", "0.8.0", &runs(0.8)),
            "cargo p3 ab a b --base 0.8.0 --isa x86-64-v3 --seeds 5 --reps 2 --workload 'merkle-commit/x/2^4'"
        );
        assert_eq!(
            ["", "it's", "*"].map(shell_word),
            ["''", r"'it'\''s'", "'*'"]
        );
        assert!(repeat(SERIES, "0.8.0", &runs(0.8)).starts_with("cargo p3 ab --base"));
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let step = file_stem(&names(&["c"]), &names(&["a", "b"]));
        assert_eq!(step, "c.on.a+b");
        assert!(repeat(&step, "0.8.0", &runs(0.8)).starts_with("cargo p3 ab c --step --base"));
    }

    #[test]
    fn records_are_found_by_the_newest_date_and_shown() {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::at(dir.path());
        let file = |run: &str, name: &str, cpu: &str, ratio| {
            let folder = project.root.join(RECORDS).join("0.8.0/triple-x86-64-v3");
            let folder = folder.join(run);
            fs::create_dir_all(&folder).unwrap();
            fs::write(
                folder.join(MACHINE),
                format!("cpu: {cpu}\ncores: 2\nrustc: rustc 1.95.0\nrustflags: -C opt\n"),
            )
            .unwrap();
            fs::write(folder.join(name), csv(&runs(ratio)).unwrap()).unwrap();
        };
        file("2026-01-02-narrow", "quick-sponge.csv", "Narrow", 0.5);
        file("2026-11-01-narrow", "quick-sponge.csv", "Narrow", 0.75);
        file("2026-10-01-wide", "quick-sponge.csv", "Wide", 1.25);
        file("2026-11-02-narrow", "series.csv", "Narrow", 0.25);
        // Of today's need, and of an earlier one.
        let step = "quick-sponge.on.base-layer.csv";
        file("2026-11-01-narrow", step, "Narrow", 0.875);
        file(
            "2026-11-02-narrow",
            "quick-sponge.on.other.csv",
            "Narrow",
            0.5,
        );
        let found = records(&project.root, "0.8.0", "quick-sponge").unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|record| {
                (
                    record.machine.cpu.as_str(),
                    record.rows.len(),
                    record.rows[0].ratio,
                )
            })
            .collect();
        assert_eq!(found, [("Narrow", 1, 0.75), ("Wide", 1, 1.25)]);
        assert!(records(&project.root, "0.8.0", "other").unwrap().is_empty());
        assert!(
            records(&project.root, "0.7.0", "quick-sponge")
                .unwrap()
                .is_empty()
        );

        let counts = r#"{"schema": 1, "emulated_cpu": "cortex-a76", "rustflags": "-C opt", "units": [
            {"unit": "permute/x", "leaves": 1,
             "baseline": {"instructions": 1000, "model_cycles": {"neoverse-n1": 500}},
             "candidate": {"instructions": 900, "model_cycles": {"neoverse-n1": 400}}}]}"#;
        let folder = project
            .root
            .join(RECORDS)
            .join("0.8.0/triple-neon/2026-11-01-qemu");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("quick-sponge.json"), counts).unwrap();

        fs::create_dir_all(dir.path().join("patches/0.8.0")).unwrap();
        fs::write(dir.path().join("patches/0.8.0/quick-sponge.patch"), "").unwrap();
        let base_layer = "Title: perf(x): y\nPackages: p3-x\nBases: 0.8.0\nRisk: low: x\nForwarded: not yet\n\
                          Applied-Upstream: no\n\nWhy.\n---\n-- \np3-patches\n";
        fs::write(
            dir.path().join("patches/0.8.0/base-layer.patch"),
            base_layer,
        )
        .unwrap();
        let series = "base-layer\nquick-sponge needs: base-layer\n";
        fs::write(dir.path().join("patches/series"), series).unwrap();
        let path = dir.path().join("README.md");
        fs::write(&path, format!("# Title\n\n{BEGIN}stale\n{END}\n\nRest.\n")).unwrap();
        let readme = || Readme::new(&project, &recorded(&project).unwrap()).unwrap();
        assert!(readme().check().is_err());
        readme().write().unwrap();
        readme().check().unwrap();
        let figure = project.root.join(RECORDS).join("0.8.0/series.svg");
        let drawn = fs::read_to_string(&figure).unwrap();
        fs::write(&figure, drawn.replace("0.250", "0.251")).unwrap();
        let stale = format!("{:#}", readme().check().unwrap_err());
        assert!(stale.contains("series.svg"), "{stale}");
        let effects = dir.path().join("patches/effects.csv");
        insta::assert_snapshot!("effects", fs::read_to_string(&effects).unwrap());
        fs::write(&figure, drawn).unwrap();
        fs::write(&effects, "").unwrap();
        let stale = format!("{:#}", readme().check().unwrap_err());
        assert!(stale.contains("effects.csv"), "{stale}");
        readme().write().unwrap();
        insta::assert_snapshot!(fs::read_to_string(&path).unwrap());
    }
}
