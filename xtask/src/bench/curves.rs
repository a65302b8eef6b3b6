//! Tables of curves: the speed-up of workloads on several threads, and the cost of an element at several sizes.

use paired::show::curves::{costs, speed_ups};
use paired::show::machine::known_as;
use paired::show::section::{self, Record, TableLine};
use paired::stats::row::Row;

/// Returns a line for each point of the records' speed-ups.
fn of_threads(record: &Record) -> Vec<TableLine> {
    let mut lines = Vec::new();
    for curve in speed_ups(record) {
        let Row { workload, isa, .. } = curve.one.row;
        lines.extend(curve.points.iter().map(|point| TableLine {
            code: workload.clone(),
            beside: isa.clone(),
            below: known_as(&record.machine.cpu),
            cells: vec![
                point.threads.to_string(),
                format!("{:.3}{}", point.line.row.ratio, point.line.marks()),
                format!("{:.2}{}", point.baseline, curve.one.marks()),
                format!("{:.2}{}", point.candidate, curve.one.marks()),
            ],
        }));
    }
    lines
}

/// Returns a line for each point of the records' costs.
fn of_sizes(record: &Record) -> Vec<TableLine> {
    let mut lines = Vec::new();
    for curve in costs(record) {
        lines.extend(curve.points.iter().map(|point| {
            let [baseline, candidate] = point.ns.map(|ns| format!("{ns:.2}"));
            let [held, holds] = match point.bytes {
                Some(bytes) => bytes.map(|bytes| format!("{bytes:.1}")),
                None => ["", ""].map(str::to_owned),
            };
            TableLine {
                code: curve.family.clone(),
                beside: curve.isa.to_owned(),
                below: known_as(&record.machine.cpu),
                cells: vec![
                    format!("2^{}", point.log_size),
                    format!("{:.3}{}", point.line.row.ratio, point.line.marks()),
                    baseline,
                    candidate,
                    held,
                    holds,
                ],
            }
        }));
    }
    lines
}

/// A table of curves: its title, its explanation for the reader, the heads of its cells, and the lines of a record.
struct Form {
    title: &'static str,
    caption: &'static str,
    heads: &'static [&'static str],
    lines: fn(&Record) -> Vec<TableLine>,
}

const FORMS: [Form; 2] = [
    Form {
        title: "Speed-up by threads",
        caption: "A speed-up is the time on one thread divided by the time on several, in one measurement. At best it is their number.",
        heads: &[
            "threads",
            "time with / without",
            "speed-up without",
            "speed-up with",
        ],
        lines: of_threads,
    },
    Form {
        title: "Cost by size",
        caption: "The time and the most memory of an element, without the patches and with them. An element is a row's part in one column. A blank: the bytes were not counted.",
        heads: &[
            "rows",
            "time with / without",
            "ns without",
            "ns with",
            "bytes without",
            "bytes with",
        ],
        lines: of_sizes,
    },
];

/// Returns a table for each kind of curves that there is.
pub fn tables(records: &[Record]) -> Vec<section::Table> {
    let table = |form: &Form| {
        let lines: Vec<_> = records.iter().flat_map(form.lines).collect();
        (!lines.is_empty()).then_some(section::Table {
            title: form.title,
            caption: form.caption,
            names: ["workload", "CPU"],
            heads: form.heads,
            lines,
        })
    };
    FORMS.iter().filter_map(table).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::bench::record::tests::report;
    use paired::run::sample::Run;
    use paired::run::threads;
    use paired::testing::runs;

    /// Returns a record of a workload at each factor of its time, under a name and on a number of threads.
    fn records(rows: &[(&str, usize, f64)]) -> Vec<Record> {
        let mut samples = Vec::new();
        for (name, threads, time) in rows {
            samples.extend(runs(0.8).into_iter().map(|run| Run {
                workload: (*name).into(),
                threads: *threads,
                wall_ns: (run.wall_ns as f64 * time) as u64,
                cpu_ns: (run.wall_ns as f64 * time) as u64,
                live_bytes: Some(1 << 16),
                ..run
            }));
        }
        report("Narrow", &samples).records(&samples, &BTreeMap::new())
    }

    #[test]
    fn a_line_has_both_sides_speed_ups() {
        let of_two = threads::name("lde/x", 2);
        let records = records(&[("lde/x", 1, 1.0), (&of_two, 2, 0.5)]);
        let [table] = &tables(&records)[..] else {
            panic!("there is one kind of curve")
        };
        assert_eq!(table.lines[0].cells, ["2", "0.800", "2.00", "2.00"]);
    }

    #[test]
    fn a_line_has_the_time_and_the_memory_of_an_element() {
        let records = records(&[
            ("lde/x/2^4x8", 1, 1.0),
            ("lde/x/2^5x8", 1, 2.0),
            ("lde/x/2^6x8", 1, 4.0),
        ]);
        let [table] = &tables(&records)[..] else {
            panic!("there is one kind of curve")
        };
        let Row {
            baseline,
            candidate,
            ..
        } = &records[0].rows[0];
        let [without, with] = [baseline, candidate].map(|ms| format!("{:.2}", ms * 1e6 / 128.0));
        let expected = ["2^4", "0.800", &without, &with, "512.0", "512.0"];
        assert_eq!(table.lines[0].cells, expected);
    }

    #[test]
    fn a_record_without_curves_has_no_tables() {
        assert!(tables(&records(&[("lde/x/2^4x8", 1, 1.0)])).is_empty());
    }
}
