//! Writes a report as an HTML page, in one file that loads nothing else.

use std::path::{Component, Path};

use anyhow::{Context, Result};
use horrorshow::{Raw, helper::doctype, html};

use crate::files::replace;
use crate::show::figure::{self, COLOURS, Markup, Scale, markup};
use crate::show::machine::{Machine, known_as};
use crate::show::report::{time, verdict_name};
use crate::show::section::{Folded, Line, Record, Section, Table, lines};
use crate::terminal::shown;

/// The content security policy, by which browsers refuse scripts, pictures and fonts; styles are the page's own.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

const STYLE: &str = "
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, -apple-system, 'Segoe UI', sans-serif }
main { max-width: 76rem; margin: 0 auto; padding: 2rem 1.25rem 4rem }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .75rem }
h2 { font-size: 1.2rem; line-height: 1.3; margin: 3.5rem 0 .75rem; overflow-wrap: anywhere }
h3 { font-size: 1rem; margin: 1.5rem 0 .25rem }
p, ul { max-width: 46rem; margin: 0 0 .75rem }
ul { padding-left: 1.25rem }
a { color: var(--gain) }
code, pre { font: .85rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere }
pre { margin: .25rem 0 1rem; padding: .6rem .8rem; border: 1px solid var(--rule); border-radius: .3rem; white-space: pre-wrap }
summary { cursor: pointer; padding: .5rem 0 }
.soft, small { color: var(--soft) }
small { font-size: .8rem }
.faster { color: var(--gain) } .slower { color: var(--loss) } .same { color: var(--soft) }
.legend { display: inline-block; width: 3.2rem; height: .9rem; vertical-align: -.1rem }
svg { display: block; overflow: visible }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums }
caption { text-align: left }
th, td { text-align: left; vertical-align: top; font-weight: normal; padding: 0 1rem 0 0 }
thead th { position: sticky; top: 0; z-index: 1; background: var(--paper); color: var(--soft); font-size: .8rem; padding-top: .4rem; padding-bottom: .3rem; border-bottom: 1px solid var(--rule) }
.workload th { padding-top: 1.1rem; padding-bottom: .3rem }
.workload code { font-weight: 600 }
td, [scope=row] { white-space: nowrap; line-height: 1.35 }
td small { display: block }
[scope=row] small { display: block; min-width: 9rem; max-width: 12rem; white-space: normal; overflow-wrap: anywhere }
.plot { width: 34%; min-width: 12rem } .plot svg { width: 100%; height: 3.2rem } .plot .axis { height: 1rem }
.time { width: 16rem; padding-right: 3rem } .time svg { width: 100%; height: 2.3rem; margin-top: .25rem; font-size: 10px }
.plain td { padding-top: .3rem; white-space: normal }
b { font-weight: 600 }
.phone { display: none }
@media (max-width: 60rem) {
  thead { display: none }
  table, tbody { display: block }
  tr { display: grid; grid-template-columns: 1fr auto; margin-bottom: 1rem }
  tr.workload { display: block; margin: 1.5rem 0 .25rem }
  .workload th { display: block; padding: 0 }
  th, td { padding: 0 }
  .phone { display: block }
  .plot, .time { grid-column: 1 / -1; width: auto; min-width: 0 }
  .workload .phone { height: 1rem; margin-top: .3rem }
  .verdict { grid-row: 1; grid-column: 2 }
  .time { padding: .2rem 3rem .2rem 0 }
  .plain tr { grid-template-columns: 1fr }
  .plain [scope=row] small { max-width: none }
  .plain td:not([data-head=''])::before { content: attr(data-head) ': '; color: var(--soft) }
}
@media print { thead th { position: static } }
";

/// Writes a page to `path`. A page below `root`, a checkout of this repository, links to the records and the method there. Fails
/// where the file cannot be written.
pub fn write(
    root: Option<&Path>,
    path: &Path,
    title: &str,
    sections: &[Section<'_>],
) -> Result<()> {
    let up = root.map(|root| up(root, path)).transpose()?.flatten();
    let page = page(title, sections, up.as_deref());
    replace::files(&[(path.to_owned(), page.into())])
}

/// Returns the relative path from the folder of `path` up to the checkout's root; `None` outside the checkout.
fn up(root: &Path, path: &Path) -> Result<Option<String>> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let unreachable = || format!("cannot write {}", shown(path));
    let folder = folder.canonicalize().with_context(unreachable)?;
    let below = folder.strip_prefix(root).ok();
    let steps = below.map(|below| {
        let names = below.components();
        names
            .filter(|part| matches!(part, Component::Normal(_)))
            .count()
    });
    Ok(steps.map(|steps| "../".repeat(steps)))
}

fn page(title: &str, sections: &[Section<'_>], up: Option<&str>) -> String {
    let measured: Vec<(String, &Section<'_>)> = (sections.iter())
        .filter(|section| !section.records.is_empty())
        .enumerate()
        .map(|(index, section)| (format!("s{index}"), section))
        .collect();
    let page = markup(html! {
        : doctype::HTML;
        html(lang="en") {
            head {
                meta(charset="utf-8");
                meta(name="viewport", content="width=device-width, initial-scale=1");
                meta(http-equiv="Content-Security-Policy", content=POLICY);
                title : title;
                style : Raw([COLOURS, STYLE].concat());
            }
            body {
                main {
                    h1 : title;
                    : introduction(up);
                    @ if measured.len() > 1 {
                        nav(aria-label="Sections") {
                            ul {
                                @ for (id, section) in &measured {
                                    li { a(href=format!("#{id}")) : section.title; }
                                }
                            }
                        }
                    }
                    @ for (id, section) in &measured {
                        section(aria-labelledby=id) {
                            h2(id=id) : section.title;
                            : tables(section);
                            : figure::curves("By threads and sizes", section.records);
                            @ for table in &section.tables { : text_table(table); }
                            h3 : "Machine and command";
                            : provenance(section, up);
                        }
                    }
                }
            }
        }
    });
    page.0 + "\n"
}

fn introduction(up: Option<&str>) -> Markup {
    let dot = |class: &str, r: &str| {
        markup(html! {
            svg(class="legend", aria-hidden="true") {
                g(class=class) {
                    line(x1="6", x2="46", y1="50%", y2="50%");
                    circle(cx="26", cy="50%", r=r);
                }
            }
        })
    };
    markup(html! {
        p {
            : "A ratio is the time with the patches divided by the time without, in pairs of runs: below 1 is a gain. ";
            : dot("faster", "4.5");
            : " is a ratio with its 95 % interval, ";
            : dot("control", "2.5");
            : " the baseline against itself (A/A), measured in the same rounds. ";
            b(class="faster") : "faster";
            : " and ";
            b(class="slower") : "slower";
            : " are said only where the interval is farther from 1 than the control reaches. Under a title ";
            : "\u{201c}a on b\u{201d} both sides have the patch b, and the ratio is that of a alone.";
        }
        p {
            : "The samples stand in the order in which they were taken, each against the baseline's median: a drift would show ";
            : "as a slope, another guest on the machine as a burst. Hollow dots are the baseline, full ones the candidate. ";
            : "A disturbed run shared its core with something else; its round is left out and faint, unless most are like ";
            : "that. Vertical lines are restarts with another input.";
            @ if let Some(up) = up {
                : " ";
                a(href=format!("{up}benches/METHODOLOGY.md")) : "How this is measured";
                : ", and what may bias it.";
            }
        }
    })
}

/// Writes the rows of a section; below them, the rows that are folded away.
fn tables(section: &Section<'_>) -> Markup {
    let is_folded = |line: &Line<'_>| section.folded.is_some_and(|folded| (folded.has)(line.row));
    let (folded, shown): (Vec<_>, Vec<_>) = lines(section.records).into_iter().partition(is_folded);
    let below = section.folded.filter(|_| !folded.is_empty());
    markup(html! {
        @ if !shown.is_empty() { : table(&shown, section.title); }
        @ if let Some(Folded { title, .. }) = below {
            details(open ?= shown.is_empty()) {
                summary : format!("{title} ({})", folded.len());
                : table(&folded, section.title);
            }
        }
    })
}

/// Writes a table of text.
fn text_table(table: &Table) -> Markup {
    markup(html! {
        h3 : table.title;
        p : table.caption;
        table(class="plain", aria-label=table.title) {
            thead {
                tr {
                    th(scope="col") : table.names.join(", ");
                    @ for head in table.heads { th(scope="col") : head; }
                }
            }
            tbody {
                @ for line in &table.lines {
                    tr {
                        th(scope="row") {
                            code : &line.code;
                            : " ";
                            : &line.beside;
                            small : &line.below;
                        }
                        @ for (head, cell) in table.heads.iter().zip(&line.cells) { td(data-head=head) : cell; }
                    }
                }
            }
        }
    })
}

fn table(lines: &[Line<'_>], title: &str) -> Markup {
    let scale = Scale::of(lines.iter().map(|line| line.row));
    let marks = figure::marks(lines);
    let cpu = |line: &Line<'_>| {
        let mut marks = marks.iter();
        let mark = marks.find(|(mark, cpu)| *cpu == line.record.machine.cpu && !mark.is_empty());
        mark.map(|(_, cpu)| known_as(cpu))
    };
    let groups = lines.chunk_by(|a, b| a.row.workload == b.row.workload);
    markup(html! {
        table(aria-label=title) {
            thead {
                tr {
                    th(scope="col") : "built for";
                    th(class="plot", scope="col") {
                        : "time with / without";
                        svg(class="axis", aria-hidden="true") : figure::axis(&scale, 13);
                    }
                    th(scope="col") : "ratio, 95 %";
                    th(scope="col") : "without, with";
                    th(scope="col") : "verdict";
                    th(scope="col") : "samples over time";
                }
            }
            @ for group in groups {
                tbody {
                    tr(class="workload") {
                        th(scope="rowgroup", colspan="6") {
                            code : &group[0].row.workload;
                            svg(class="phone", aria-hidden="true") : figure::axis(&scale, 13);
                        }
                    }
                    @ for line in group { : table_row(line, cpu(line), &scale); }
                }
            }
        }
    })
}

fn table_row(line: &Line<'_>, cpu: Option<String>, scale: &Scale) -> Markup {
    let Line { record, row, runs } = line;
    let interval = |[low, high]: [f64; 2]| format!("{low:.3} to {high:.3}");
    let disturbed = runs.iter().filter(|run| run.disturbed()).count();
    markup(html! {
        tr {
            th(scope="row") {
                : &row.isa;
                @ if let Some(cpu) = cpu { small : cpu; }
            }
            td(class="plot") { svg(aria-hidden="true") : figure::strip(row, scale); }
            td {
                b : format!("{:.3}", row.ratio);
                : " ";
                : interval(row.ci95);
                small : format!("A/A {:.3} {}", row.aa_ratio, interval(row.aa_ci95));
            }
            td {
                : format!("{}, {} {}", time(row.baseline), time(row.candidate), row.unit);
                small {
                    : format!("{} pairs", row.pairs);
                    : row.memory_ratio.map(|memory| format!(", memory {memory:.3}"));
                }
            }
            td(class="verdict") {
                b(class=figure::class(row.verdict)) : verdict_name(row.verdict);
                @ if disturbed > 0 { small : format!("{disturbed} of {} disturbed", runs.len()); }
                @ if record.outdated { small : "earlier text"; }
                @ if line.loaded() { small : "loaded machine"; }
            }
            td(class="time") {
                @ if runs.is_empty() { small : "not beside the file"; }
                else { svg(aria-hidden="true") : figure::samples(runs, row.verdict); }
            }
        }
    })
}

/// Writes the machine and the build of each record, and the command once for neighbours that share it.
fn provenance(section: &Section<'_>, up: Option<&str>) -> Markup {
    let alike = || (section.records).chunk_by(|a, b| commands(a) == commands(b));
    markup(html! {
        @ for records in alike() {
            ul { @ for record in records { li : machine(record, up); } }
            @ for command in commands(&records[0]) {
                details(open ?= alike().count() == 1) {
                    summary : "Command";
                    pre { code : command; }
                }
            }
        }
    })
}

/// Returns the commands that measured a record, each once where neighbours are the same.
fn commands(record: &Record) -> Vec<&str> {
    let commands = record.sources.iter().map(|source| &*source.command);
    let mut commands: Vec<_> = commands.filter(|command| !command.is_empty()).collect();
    commands.dedup();
    commands
}

fn machine(
    Record {
        sources,
        machine,
        rows,
        outdated,
        ..
    }: &Record,
    up: Option<&str>,
) -> Markup {
    let Machine {
        cpu,
        cores,
        rustc,
        rustflags,
    } = machine;
    let cores_are = if *cores == 1 { "core" } else { "cores" };
    let files = sources.iter().filter_map(|source| source.file.as_ref());
    let files = files.enumerate();
    markup(html! {
        @ if let Some(row) = rows.first() {
            b : &row.isa;
            : ": ";
        }
        : format!("{}, {cores} {cores_are}, {rustc}", known_as(cpu));
        @ if !rustflags.is_empty() {
            : ", ";
            code : rustflags;
        }
        @ for (at, file) in files {
            : if at == 0 { ", samples in " } else { " and " };
            @ match up {
                Some(up) => { a(href=format!("{up}{file}")) : file; }
                None => { code : file; }
            }
        }
        @ if *outdated { : ", of an earlier text of the patches"; }
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn times_have_four_digits() {
        let texts = [0.1234, 1.2345, 12.345, 123.45, 1234.5, 12345.6].map(time);
        assert_eq!(texts, ["0.123", "1.234", "12.35", "123.5", "1234", "12346"]);
    }

    #[test]
    fn only_a_page_in_the_checkout_links_into_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let checkout = root.join("checkout");
        fs::create_dir_all(checkout.join("target/p3")).unwrap();
        let up = |path: &str| up(&checkout, &root.join(path)).unwrap();
        assert_eq!(up("checkout/page.html").as_deref(), Some(""));
        assert_eq!(
            up("checkout/target/p3/page.html").as_deref(),
            Some("../../")
        );
        assert_eq!(up("page.html"), None);
        assert!(super::up(&checkout, &root.join("missing/page.html")).is_err());
    }
}
