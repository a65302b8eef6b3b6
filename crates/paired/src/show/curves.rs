//! Curves of workloads: the speed-up on several threads, and the cost of an element at several sizes.

use std::slice;

use indexmap::IndexMap;

use crate::run::{sizes, threads};
use crate::show::section::{Line, Record, lines};
use crate::stats::row::{Row, counts_bytes, memories};

/// A workload on one thread and on several.
pub struct SpeedUps<'a> {
    /// The row on one thread.
    pub one: Line<'a>,
    /// The points, by their threads, more than one each.
    pub points: Vec<SpeedUp<'a>>,
}

/// A workload on a number of threads.
pub struct SpeedUp<'a> {
    /// The number of threads.
    pub threads: usize,
    /// The row on these threads.
    pub line: Line<'a>,
    /// The baseline's time on one thread, divided by its time on these.
    pub baseline: f64,
    /// The candidate's time on one thread, divided by its time on these.
    pub candidate: f64,
}

/// Returns the workloads of a record that one measurement has on one thread and on several, in the order of the rows. Times of several
/// measurements are of a machine at several times, and are not divided by each other.
#[must_use]
pub fn speed_ups(record: &Record) -> Vec<SpeedUps<'_>> {
    let lines = lines(slice::from_ref(record));
    let curve = |&one| {
        let Line { row, .. } = one;
        let points = lines.iter().filter_map(|line| speed_up(row, line));
        let mut points: Vec<_> = points.collect();
        points.sort_by_key(|point| point.threads);
        SpeedUps { one, points }
    };
    let curves = lines.iter().map(curve);
    curves.filter(|curve| !curve.points.is_empty()).collect()
}

/// Returns a line as a point of the curve of `one`, if it is the same workload on more threads. The times are of the newest measurement
/// that has both.
fn speed_up<'a>(one: &Row, line: &Line<'a>) -> Option<SpeedUp<'a>> {
    let Row { workload, isa, .. } = line.row;
    let (name, threads) = threads::split(workload);
    if threads == 1 || name != one.workload || *isa != one.isa {
        return None;
    }
    let mut sources = line.record.sources_of(line.row);
    let [one, several] =
        sources.find_map(|source| Some([source.row(name, isa)?, source.row(workload, isa)?]))?;
    is_timed(several).then(|| SpeedUp {
        threads,
        line: *line,
        baseline: one.baseline / several.baseline,
        candidate: one.candidate / several.candidate,
    })
}

/// Tells whether no time of the row was rounded to zero.
fn is_timed(row: &Row) -> bool {
    row.baseline > 0.0 && row.candidate > 0.0
}

/// A family of workloads of several sizes.
pub struct Costs<'a> {
    /// The name of the family, with `2^N` in the place of the size.
    pub family: String,
    /// The name of the instruction set.
    pub isa: &'a str,
    /// The points, by their size.
    pub points: Vec<Cost<'a>>,
}

/// A workload of one size.
pub struct Cost<'a> {
    /// The logarithm of the number of rows.
    pub log_size: u32,
    /// The row of the report.
    pub line: Line<'a>,
    /// The time of an element without and with the patches, in nanoseconds.
    pub ns: [f64; 2],
    /// The memory of an element without and with the patches, in bytes, where the samples count it: see [`counts_bytes`].
    pub bytes: Option<[f64; 2]>,
}

/// The least sizes of a family of which there is a curve.
const SIZES: usize = 3;

/// Returns the families of a record that were measured at three sizes or more, in the order of the rows. An element is a row's part in one
/// column.
#[must_use]
pub fn costs(record: &Record) -> Vec<Costs<'_>> {
    let mut families: IndexMap<(String, &str), Vec<Cost<'_>>> = IndexMap::new();
    for line in lines(slice::from_ref(record)) {
        let Line { row, runs, .. } = line;
        if !is_timed(row) || row.unit != "ms" {
            continue;
        }
        let Some((family, log_size)) = sizes::split(&row.workload) else {
            continue;
        };
        let elements = 2_f64.powi(log_size as i32) * sizes::width(&family) as f64;
        let cost = Cost {
            log_size,
            line,
            ns: [row.baseline, row.candidate].map(|ms| ms * 1e6 / elements),
            bytes: (memories(runs).filter(|_| counts_bytes(runs)))
                .map(|both| both.map(|bytes| bytes / elements)),
        };
        let points = families.entry((family, &row.isa)).or_default();
        points.push(cost);
    }
    let measured = families
        .into_iter()
        .filter(|(_, points)| points.len() >= SIZES);
    let costs = measured.map(|((family, isa), mut points)| {
        points.sort_by_key(|point| point.log_size);
        Costs {
            family,
            isa,
            points,
        }
    });
    costs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::sample::Side;
    use crate::show::section::Source;
    use crate::testing::{record, runs};

    fn row(workload: &str, isa: &str, baseline: f64, candidate: f64) -> Row {
        Row {
            workload: workload.into(),
            isa: isa.into(),
            baseline,
            candidate,
            ..Row::new(&runs(0.8)).unwrap()
        }
    }

    #[test]
    fn a_speed_up_is_the_time_on_one_thread_by_the_time_on_several() {
        let rows = [
            row("lde/x/4-threads", "v3", 3.0, 2.0),
            row("lde/x", "v3", 12.0, 6.0),
            row("lde/x/2-threads", "v3", 6.0, 3.0),
            row("lde/x/2-threads", "v4", 1.0, 1.0),
            row("lde/xx/2-threads", "v3", 1.0, 1.0),
            row("lde/y/2-threads", "v3", 1.0, 1.0),
            row("lde/z", "v3", 1.0, 1.0),
            row("lde/z/2-threads", "v3", 0.0, 0.0),
        ];
        let mut record = record("", rows.to_vec(), Vec::new());
        let curves = speed_ups(&record);
        let [curve] = &curves[..] else {
            panic!("one workload is there on one thread and on several")
        };
        assert_eq!(curve.one.row.workload, "lde/x");
        let points = curve.points.iter();
        let points: Vec<_> = (points.map(|at| (at.threads, at.baseline, at.candidate))).collect();
        assert_eq!(points, [(2, 2.0, 2.0), (4, 4.0, 3.0)]);

        // A newer measurement has the row on two threads, and no row on one.
        record.sources[0].rows.remove(2);
        record.sources.insert(
            0,
            Source {
                file: None,
                command: String::new(),
                rows: vec![row("lde/x/2-threads", "v3", 1.0, 1.0)],
            },
        );
        let curves = speed_ups(&record);
        let points = curves[0].points.iter();
        let points: Vec<_> = points.map(|at| (at.threads, at.baseline)).collect();
        assert_eq!(points, [(4, 4.0)]);
    }

    #[test]
    fn a_cost_is_that_of_an_element() {
        let rows = vec![
            row("lde/x/2^20x4", "v3", 8.388608, 4.194304),
            row("lde/x/2^10x4", "v3", 0.004096, 0.004096),
            row("lde/x/2^12x4", "v3", 0.016384, 0.016384),
            row("lde/x/2^10x4", "v4", 1.0, 1.0),
            row("lde/x/2^12x4", "v4", 1.0, 1.0),
            row("stark-prove/x", "v3", 1.0, 1.0),
        ];
        let mut samples = runs(0.8);
        for run in &mut samples {
            (run.workload, run.isa) = ("lde/x/2^10x4".into(), "v3".into());
            run.live_bytes = Some(if run.side == Side::Candidate {
                40_960
            } else {
                81_920
            });
        }
        let mut record = record("", rows, samples);
        let curves = costs(&record);
        let [curve] = &curves[..] else {
            panic!("one family is there at three sizes")
        };
        assert_eq!((&*curve.family, curve.isa), ("lde/x/2^Nx4", "v3"));
        let points = curve.points.iter();
        let points: Vec<_> = (points.map(|at| (at.log_size, at.ns, at.bytes))).collect();
        let expected = [
            (10, [1.0, 1.0], Some([20.0, 10.0])),
            (12, [1.0, 1.0], None),
            (20, [2.0, 1.0], None),
        ];
        assert_eq!(points, expected);
        // The memory of a process is not that of its elements.
        for run in &mut record.runs {
            run.peak_kib = run.live_bytes.take().map(|bytes| bytes / 1024);
        }
        assert_eq!(costs(&record)[0].points[0].bytes, None);
    }
}
