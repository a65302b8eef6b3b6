//! Curves of workloads: the speed-up on several threads, and the cost of an element at several sizes.

use std::slice;

use crate::run::{sizes, threads};
use crate::show::section::{Line, Record, lines};
use crate::stats::row::{Row, memories};

/// A workload on one thread and on several, in one record.
pub struct SpeedUps<'a> {
    /// The row on one thread.
    pub one: &'a Row,
    /// The points, by their threads, more than one each.
    pub points: Vec<SpeedUp<'a>>,
}

/// A workload on a number of threads.
pub struct SpeedUp<'a> {
    /// The number of threads.
    pub threads: usize,
    /// The row on these threads.
    pub row: &'a Row,
    /// The baseline's time on one thread, divided by its time on these.
    pub baseline: f64,
    /// The candidate's time on one thread, divided by its time on these.
    pub candidate: f64,
}

/// Returns the workloads of a record that were measured on one thread and on several, in the order of the rows.
#[must_use]
pub fn speed_ups(rows: &[Row]) -> Vec<SpeedUps<'_>> {
    let curve = |one| {
        let points = rows.iter().filter_map(|row| speed_up(one, row));
        let mut points: Vec<_> = points.collect();
        points.sort_by_key(|point| point.threads);
        SpeedUps { one, points }
    };
    let curves = rows.iter().map(curve);
    curves.filter(|curve| !curve.points.is_empty()).collect()
}

/// Returns `row` as a point of the curve of `one`, if it is the same workload on more threads.
fn speed_up<'a>(one: &Row, row: &'a Row) -> Option<SpeedUp<'a>> {
    let (workload, threads) = threads::split(&row.workload);
    let is_of = threads > 1 && workload == one.workload && row.isa == one.isa;
    (is_of && is_timed(row)).then(|| SpeedUp {
        threads,
        row,
        baseline: one.baseline / row.baseline,
        candidate: one.candidate / row.candidate,
    })
}

/// Tells whether no time of the row was rounded to zero.
fn is_timed(row: &Row) -> bool {
    row.baseline > 0.0 && row.candidate > 0.0
}

/// A family of workloads of several sizes, in one record.
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
    pub row: &'a Row,
    /// The time of an element without and with the patches, in nanoseconds.
    pub ns: [f64; 2],
    /// The memory of an element without and with the patches, in bytes, where the samples tell it: see [`Row::memory_ratio`].
    pub bytes: Option<[f64; 2]>,
}

/// The least sizes of a family of which there is a curve.
const SIZES: usize = 3;

/// Returns the families of a record that were measured at three sizes or more, in the order of the rows. An element is a row's part in one
/// column.
#[must_use]
pub fn costs(record: &Record) -> Vec<Costs<'_>> {
    let mut families: Vec<Costs<'_>> = Vec::new();
    for Line { row, runs, .. } in lines(slice::from_ref(record)) {
        if !is_timed(row) || row.unit != "ms" {
            continue;
        }
        let Some((family, log_size)) = sizes::split(&row.workload) else {
            continue;
        };
        let elements = 2_f64.powi(log_size as i32) * sizes::width(&family) as f64;
        let cost = Cost {
            log_size,
            row,
            ns: [row.baseline, row.candidate].map(|ms| ms * 1e6 / elements),
            bytes: memories(runs).map(|both| both.map(|bytes| bytes / elements)),
        };
        let mut known = families.iter_mut();
        match known.find(|known| known.family == family && known.isa == row.isa) {
            Some(known) => known.points.push(cost),
            None => families.push(Costs {
                family,
                isa: &row.isa,
                points: vec![cost],
            }),
        }
    }
    families.retain(|family| family.points.len() >= SIZES);
    for family in &mut families {
        family.points.sort_by_key(|point| point.log_size);
    }
    families
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::sample::Side;
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
        let curves = speed_ups(&rows);
        let [curve] = &curves[..] else {
            panic!("one workload is there on one thread and on several")
        };
        assert_eq!(curve.one.workload, "lde/x");
        let points = curve.points.iter();
        let points: Vec<_> = (points.map(|at| (at.threads, at.baseline, at.candidate))).collect();
        assert_eq!(points, [(2, 2.0, 2.0), (4, 4.0, 3.0)]);
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
        let record = record("", rows, samples);
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
    }
}
