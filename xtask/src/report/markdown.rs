//! Rows as tables of Markdown.

use std::collections::HashMap;

use comfy_table::{Table, presets};
use indexmap::IndexSet;

use crate::bench::record;
use paired::escape;
use paired::show::machine::known_as;
use paired::show::section::{self, FEW, LOADED, Line, OUTDATED};
use paired::stats::ratio::Verdict;
use paired::stats::row::counts_bytes;

/// The files that ratios in a text of this repository lead to. A table has their numbers, the text's end their paths.
#[derive(Default)]
pub struct Links {
    /// From the text's folder to the repository's root.
    pub(super) up: &'static str,
    files: IndexSet<String>,
}

impl Links {
    pub(super) fn from(up: &'static str) -> Self {
        Self {
            up,
            ..Self::default()
        }
    }

    fn number(&mut self, file: &str) -> usize {
        self.files.insert_full(file.to_owned()).0 + 1
    }

    pub(super) fn markdown(&self) -> String {
        let mut text = String::new();
        for (index, file) in self.files.iter().enumerate() {
            text += &format!("[{}]: {}{file}\n", index + 1, self.up);
        }
        text
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
    let mut isas = IndexSet::new();
    let mut heads = IndexSet::new();
    let mut cells = HashMap::new();
    for line in lines {
        let Line { record, row, .. } = line;
        let (isa, head) = (&*row.isa, (&*row.workload, &*record.machine.cpu));
        isas.insert(isa);
        heads.insert(head);
        cells.entry((head, isa)).or_insert(line);
    }
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    let names = isas.iter().map(|isa| escape::text(isa));
    let head = ["time with / without", "CPU"].map(str::to_owned);
    table.set_header(head.into_iter().chain(names));
    for head @ (workload, cpu) in heads {
        let cell = |isa: &&str| {
            let line = cells.get(&(head, *isa));
            line.map_or_else(String::new, |line| {
                markdown_cell(line, links.as_deref_mut())
            })
        };
        let names = [escape::code(workload), escape::text(&known_as(cpu))];
        table.add_row(names.into_iter().chain(isas.iter().map(cell)));
    }
    let mut text = table.to_string() + "\n";
    text += &meanings(&text);
    if lines.iter().any(|line| changed_memory(line).is_some()) {
        text += "\nMemory is the most bytes that were allocated at a time, with / without, where that changes by more than 1 %.\n";
    }
    text
}

/// Returns a table of a section with its explanation.
pub fn section_table(section: &section::Table) -> String {
    let [name, below] = section.names;
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header([name, below, "built for"].iter().chain(section.heads));
    for line in &section.lines {
        let names = [
            escape::code(&line.code),
            escape::text(&line.below),
            escape::text(&line.beside),
        ];
        table.add_row(names.iter().chain(&line.cells));
    }
    format!("{}\n\n{table}\n", section.caption)
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
