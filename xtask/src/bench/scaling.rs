//! The speed-up of workloads on several threads, without the patches and with them.

use comfy_table::{Table, presets};

use paired::escape;
use paired::show::machine::known_as;
use paired::show::section::{self, Record, TableLine};
use paired::stats::scaling::{Curve, Point, curves};

/// The heads of [`cells`].
const HEADS: [&str; 4] = [
    "threads",
    "time with / without",
    "speed-up without",
    "speed-up with",
];

/// The table's explanation for its reader.
const CAPTION: &str = "A speed-up is the time on one thread divided by the time on several, in one record. At best it is their \
     number.";

/// Returns the cells of a point.
fn cells(point: &Point<'_>) -> [String; 4] {
    [
        point.threads.to_string(),
        format!("{:.3}", point.row.ratio),
        format!("{:.2}", point.baseline),
        format!("{:.2}", point.candidate),
    ]
}

/// Returns the speed-ups as a page shows them, where there are any.
pub fn table(records: &[Record]) -> Option<section::Table> {
    let mut lines = Vec::new();
    for record in records {
        for Curve { one, points } in curves(&record.rows) {
            lines.extend(points.iter().map(|point| TableLine {
                code: one.workload.clone(),
                beside: one.isa.clone(),
                below: known_as(&record.machine.cpu),
                cells: cells(point).into(),
            }));
        }
    }
    (!lines.is_empty()).then_some(section::Table {
        title: "Speed-up by threads",
        caption: CAPTION,
        first: "workload",
        heads: &HEADS,
        lines,
    })
}

/// Returns the speed-ups as Markdown, where there are any.
pub fn markdown(records: &[Record]) -> Option<String> {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["workload", "CPU", "built for"].into_iter().chain(HEADS));
    for record in records {
        for Curve { one, points } in curves(&record.rows) {
            for point in &points {
                let head = [
                    escape::code(&one.workload),
                    escape::text(&known_as(&record.machine.cpu)),
                    escape::text(&one.isa),
                ];
                table.add_row(head.into_iter().chain(cells(point)));
            }
        }
    }
    (table.row_count() > 0).then(|| format!("{CAPTION}\n\n{table}\n"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::bench::record::tests::report;
    use paired::run::threads;
    use paired::testing::runs;

    #[test]
    fn a_line_has_both_sides_speed_ups() {
        let mut samples = Vec::new();
        for (number, time) in [(1, 1.0), (2, 0.5), (4, 0.25)] {
            samples.extend(runs(0.8).into_iter().map(|mut run| {
                run.workload = threads::name("lde/x", number);
                run.threads = number;
                run.wall_ns = (run.wall_ns as f64 * time) as u64;
                run.cpu_ns = run.wall_ns;
                run
            }));
        }
        let records = report("Narrow", &samples).records(&samples, &BTreeMap::new());
        let lines = table(&records).unwrap().lines;
        let cells: Vec<_> = lines.iter().map(|line| &line.cells[..]).collect();
        assert_eq!(
            cells,
            [
                ["2", "0.800", "2.00", "2.00"],
                ["4", "0.800", "4.00", "4.00"]
            ]
        );
        let text = markdown(&records).unwrap();
        assert!(
            text.contains("| `lde/x`  | Narrow | x86-64-v3 | 4 "),
            "{text}"
        );
        let one: Vec<_> = samples.into_iter().filter(|run| run.threads == 1).collect();
        let records = report("Narrow", &one).records(&one, &BTreeMap::new());
        assert!(table(&records).is_none() && markdown(&records).is_none());
    }
}
