//! The speed-up of workloads on several threads, against the same workload on one.

use crate::run::threads;
use crate::stats::row::Row;

/// A workload on one thread and on several, in one record.
pub struct Curve<'a> {
    /// The row on one thread.
    pub one: &'a Row,
    /// The points, by their threads, more than one each.
    pub points: Vec<Point<'a>>,
}

/// A workload on a number of threads.
pub struct Point<'a> {
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
pub fn curves(rows: &[Row]) -> Vec<Curve<'_>> {
    let curve = |one| {
        let points = rows.iter().filter_map(|row| point(one, row));
        let mut points: Vec<_> = points.collect();
        points.sort_by_key(|point| point.threads);
        Curve { one, points }
    };
    let curves = rows.iter().map(curve);
    curves.filter(|curve| !curve.points.is_empty()).collect()
}

/// Returns `row` as a point of the curve of `one`, if it is the same workload on more threads.
fn point<'a>(one: &Row, row: &'a Row) -> Option<Point<'a>> {
    let (workload, threads) = threads::split(&row.workload);
    let is_of = threads > 1 && workload == one.workload && row.isa == one.isa;
    // A time may be rounded to zero.
    let is_timed = row.baseline > 0.0 && row.candidate > 0.0;
    (is_of && is_timed).then(|| Point {
        threads,
        row,
        baseline: one.baseline / row.baseline,
        candidate: one.candidate / row.candidate,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::runs;

    #[test]
    fn a_speed_up_is_the_time_on_one_thread_by_the_time_on_several() {
        let row = |workload: &str, isa: &str, baseline, candidate| Row {
            workload: workload.into(),
            isa: isa.into(),
            baseline,
            candidate,
            ..Row::new(&runs(0.8)).unwrap()
        };
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
        let curves = curves(&rows);
        let [curve] = &curves[..] else {
            panic!("one workload is there on one thread and on several")
        };
        assert_eq!(curve.one.workload, "lde/x");
        let points = curve.points.iter();
        let points: Vec<_> = (points.map(|at| (at.threads, at.baseline, at.candidate))).collect();
        assert_eq!(points, [(2, 2.0, 2.0), (4, 4.0, 3.0)]);
    }
}
