//! Rows as tables of Markdown.

use comfy_table::{Table, presets};

use crate::measure::filing::LOADED;
use crate::measure::stats::Verdict;
use crate::publish::results::Line;

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
