//! Rows as tables of Markdown.

use std::collections::HashMap;
use std::hash::Hash;

use comfy_table::{Table, presets};

use crate::bench::record;
use paired::escape;
use paired::show::machine::known_as;
use paired::show::section::{FEW, LOADED, Line, OUTDATED};
use paired::stats::ratio::Verdict;
use paired::stats::row::counts_bytes;

/// The files that ratios in a text of this repository lead to. A table has their numbers, the text's end their paths.
#[derive(Default)]
pub struct Links {
    /// From the text's folder to the repository's root.
    pub(super) up: &'static str,
    pub(super) files: Vec<String>,
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

    pub(super) fn markdown(&self) -> String {
        let mut text = String::new();
        for (index, file) in self.files.iter().enumerate() {
            text += &format!("[{}]: {}{file}\n", index + 1, self.up);
        }
        text
    }
}

/// Values in the order in which they are first seen.
struct Unique<T> {
    all: Vec<T>,
    numbers: HashMap<T, usize>,
}

impl<T> Default for Unique<T> {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            numbers: HashMap::new(),
        }
    }
}

impl<T: Copy + Eq + Hash> Unique<T> {
    fn number(&mut self, value: T) -> usize {
        *self.numbers.entry(value).or_insert_with(|| {
            self.all.push(value);
            self.all.len() - 1
        })
    }
}

/// Returns the ratio of the bytes that were allocated at a time, where the worker counted them and they are others by more than 1 %.
pub fn changed_memory(line: &Line<'_>) -> Option<f64> {
    let ratio = line.row.memory_ratio;
    ratio.filter(|ratio| counts_bytes(line.runs) && (ratio - 1.0).abs() > 0.01)
}

/// Effects as Markdown: a line per workload and CPU, a column per ISA, below it what the marks mean. Ratios link to their records
/// if there are `links`, which are relative to the repository's root.
pub fn markdown(lines: &[Line<'_>], mut links: Option<&mut Links>) -> String {
    let mut isas = Unique::default();
    let mut heads = Unique::default();
    let mut cells = HashMap::new();
    for line in lines {
        let Line { record, row, .. } = line;
        let isa = isas.number(&*row.isa);
        let head = heads.number((&*row.workload, &*record.machine.cpu));
        cells.entry((head, isa)).or_insert(line);
    }
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    let names = isas.all.iter().map(|isa| escape::text(isa));
    let head = ["time with / without", "CPU"].map(str::to_owned);
    table.set_header(head.into_iter().chain(names));
    for (head, (workload, cpu)) in heads.all.iter().enumerate() {
        let mut cell = |isa| {
            let line = cells.get(&(head, isa));
            line.map_or_else(String::new, |line| {
                markdown_cell(line, links.as_deref_mut())
            })
        };
        let head = [escape::code(workload), escape::text(&known_as(cpu))];
        table.add_row(head.into_iter().chain((0..isas.all.len()).map(&mut cell)));
    }
    let mut text = table.to_string() + "\n";
    text += &meanings(&text);
    if lines.iter().any(|line| changed_memory(line).is_some()) {
        text += "\nMemory is the most bytes that were allocated at a time, with / without, where that changes by more than 1 %.\n";
    }
    text
}

/// Explains the marks in a text.
pub fn meanings(text: &str) -> String {
    let mut meanings = String::new();
    if text.contains(OUTDATED) {
        meanings += &format!(
            "\n{OUTDATED} Measured with an earlier text of the patches, on top of others, or before records named their text.\n"
        );
    }
    if text.contains(LOADED) {
        meanings += &format!(
            "\n{LOADED} The baseline took more than {} times what it had taken before: the machine was loaded.\n",
            record::LOADED
        );
    }
    if text.contains(FEW) {
        meanings += &format!("\n{FEW} Measured with fewer than five inputs.\n");
    }
    meanings
}

fn markdown_cell(line: &Line<'_>, links: Option<&mut Links>) -> String {
    let Line { record, row, .. } = line;
    let [low, high] = row.ci95;
    let mut ratio = format!("{:.3}", row.ratio);
    let mut pooled = String::new();
    if let Some(links) = links {
        let mut files = record.files_of(row);
        if let Some(file) = files.next() {
            ratio = format!("[{ratio}][{}]", links.number(file));
        }
        for file in files {
            pooled += &format!(" [+][{}]", links.number(file));
        }
    }
    let interval = format!("{low:.3} to {high:.3}");
    let mark = line.marks();
    let memory = changed_memory(line);
    let memory = memory.map_or_else(String::new, |ratio| format!(", memory {ratio:.3}"));
    match row.verdict {
        Verdict::Faster => format!("**{ratio}**{mark} ({interval}){memory}{pooled}"),
        Verdict::Slower => format!("{ratio}{mark} ({interval}), slower{memory}{pooled}"),
        Verdict::NoChange => format!("{ratio}{mark} ({interval}), no change{memory}{pooled}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::bench::record::tests::report;
    use paired::run::sample::{Run, Side};
    use paired::show::section::lines;
    use paired::testing::runs;

    #[test]
    fn memory_is_told_where_it_was_counted_and_changes() {
        for (candidate, told) in [
            (60_000, ", memory 0.600"),
            (100_900, ""),
            (110_000, ", memory 1.100"),
        ] {
            let mut runs = runs(0.5);
            for run in &mut runs {
                let is_candidate = run.side == Side::Candidate;
                run.live_bytes = Some(if is_candidate { candidate } else { 100_000 });
            }
            let cell = |runs: &[Run]| {
                let records = report("Narrow", runs).records(runs, &BTreeMap::new());
                markdown(&lines(&records), None)
            };
            let table = cell(&runs);
            assert!(
                table.contains(&format!("**0.500** (0.500 to 0.500){told} |")),
                "{table}"
            );
            assert_eq!(table.contains("Memory is the most bytes"), !told.is_empty());
            // The resident memory of older records is no count.
            for run in &mut runs {
                run.peak_kib = run.live_bytes.take();
            }
            assert!(!cell(&runs).contains("memory"));
        }
    }

    #[test]
    fn a_row_of_few_inputs_is_marked() {
        let enough = runs(0.5);
        let few: Vec<_> = enough.iter().filter(|run| run.seed < 4).cloned().collect();
        for (runs, cell) in [(enough, "**0.500** ("), (few, "**0.500**\u{a7} (")] {
            let records = report("Narrow", &runs).records(&runs, &BTreeMap::new());
            let table = markdown(&lines(&records), None);
            assert!(table.contains(cell), "{table}");
            assert_eq!(table.contains("\u{a7} Measured with"), cell.contains(FEW));
        }
    }
}
