//! The resident memory of a program while its spans are open.
//!
//! A span's line says how long the span was open, and the run when the line was printed. Between the two, the system was asked for the
//! memory of the process again and again.

use std::fs;
use std::time::Duration;

use indexmap::IndexMap;

use crate::run::spans::{self, Open};

/// The time between two moments at the start of a run.
const INTERVAL: Duration = Duration::from_millis(1);

/// Returns the time to the next moment: a long run has fewer of them, so that they all fit into memory.
pub(crate) fn wait(at: Duration) -> Duration {
    INTERVAL.max(at / 8192)
}

/// The resident memory at a moment of a run, and the bytes that the program has printed by then.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    pub(crate) at: Duration,
    pub(crate) kib: u64,
    /// To the standard output, and to the standard error.
    pub(crate) printed: [u64; 2],
}

/// The most resident memory, in KiB, while a span is open, by the span's path, in the order in which the spans are printed.
pub(crate) type Resident = IndexMap<String, u64>;

/// Returns the most resident memory of each span that is open at one of the moments for certain, from what the program has printed to its
/// standard output and its standard error.
pub(crate) fn by_span(moments: &[Moment], outputs: [&[u8]; 2]) -> Resident {
    let mut resident = Resident::new();
    for (stream, output) in outputs.into_iter().enumerate() {
        for span in spans::open(output) {
            if let Some(kib) = most(moments, stream, &span) {
                let most = resident.entry(span.path).or_default();
                *most = kib.max(*most);
            }
        }
    }
    resident
}

/// Returns the most resident memory while a span is open, whose line is in this stream.
fn most(moments: &[Moment], stream: usize, span: &Open) -> Option<u64> {
    let is_unprinted = |moment: &Moment| moment.printed[stream] < span.printed as u64;
    let printed = moments.partition_point(is_unprinted);
    // A line of the last moment is seen at none.
    let printed = moments.get(printed).or(moments.last())?.at;
    let before = |ns| printed.saturating_sub(Duration::from_nanos(ns));
    let (from, to) = (before(span.from), before(span.to));
    let from = moments.partition_point(|moment| moment.at < from);
    let to = moments.partition_point(|moment| moment.at <= to);
    let within = moments.get(from..to)?;
    within.iter().map(|moment| moment.kib).max()
}

/// Returns a figure in KiB of the system's about a process, such as `VmRSS`, where the system tells it.
pub(crate) fn kib(process: &str, figure: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let figures = status.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = figures.into_iter().find(|(name, _)| *name == figure)?;
    value.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(kib: &[u64], printed_at: usize, printed: usize) -> Vec<Moment> {
        let moment = |(at, &kib)| Moment {
            at: INTERVAL * at as u32,
            kib,
            printed: [if at >= printed_at { printed as u64 } else { 0 }, 0],
        };
        kib.iter().enumerate().map(moment).collect()
    }

    #[test]
    fn a_span_has_the_memory_of_the_time_before_its_line() {
        let line = " INFO prove:open: x: close time.busy=2.00ms time.idle=1.00µs\n";
        let moments = moments(&[9, 3, 4, 5, 9, 9], 4, line.len());
        // Printed at the fourth, open since the second; the fourth is the end.
        let resident = by_span(&moments[..], [line.as_bytes(), b""]);
        assert_eq!(resident["prove > open"], 9);
        let earlier = [&moments[..4], &moments[5..]].concat();
        let resident = by_span(&earlier[..4], [line.as_bytes(), b""]);
        assert_eq!(resident["prove > open"], 5);
        assert!(by_span(&[], [line.as_bytes(), b""]).is_empty());
    }

    /// The spans of a tree are printed with the outermost, which is by itself for a millisecond here: `late` begins in its fourth or fifth
    /// one, and `short` is open for certain at one moment.
    #[test]
    fn a_span_of_a_tree_has_the_memory_of_the_time_in_which_it_is_open_for_certain() {
        let tree = "\
INFO     prove [ 8.00ms | 10.00% / 100.00% ]
INFO     ┝━ early [ 3.00ms | 30.00% ]
INFO     ┝━ late [ 3.00ms | 30.00% ]
INFO     ┕━ short [ 1.00ms | 10.00% ]
";
        let kib = [1, 70, 2, 3, 4, 5, 60, 7, 8, 9, 10];
        let moments = moments(&kib, 9, tree.len());
        let resident = by_span(&moments, [tree.as_bytes(), b""]);
        let expected = [
            ("prove", 70),
            ("prove > early", 4),
            ("prove > late", 60),
            ("prove > short", 8),
        ];
        let resident = resident.iter().map(|(span, kib)| (&**span, *kib));
        assert_eq!(resident.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_system_tells_of_this_process() {
        let resident = kib("self", "VmRSS");
        if cfg!(target_os = "linux") {
            assert!(resident.unwrap() > 100);
        }
        assert_eq!(kib("self", "VmNothing"), None);
    }
}
