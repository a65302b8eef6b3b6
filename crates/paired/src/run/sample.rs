//! A raw sample of a comparison: which side ran, in which round, and the time that it took.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::isa;
use crate::run::protocol::MOST_THREADS;
use crate::text;

/// The prefix of workload names for quantities of whole runs.
pub const RUN: &str = "run/";

/// The prefix of workload names for tracing spans.
pub const SPAN: &str = "span/";

/// The prefix of workload names for figures that a bench reports.
pub const BENCH: &str = "bench/";

/// The number of iterations in a sample of a bench's figures: the time of one is often not a whole number of nanoseconds.
pub(crate) const ITERATIONS: f64 = 1e3;

/// The side of a comparison that a run belongs to.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The executable that the other one is compared with.
    Baseline,
    /// The executable that is compared with the baseline.
    Candidate,
    /// A copy of the baseline's executable, in a process of its own.
    Control,
}

/// A raw sample, one line of the CSV.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Run {
    /// The name of the workload, such as `lde/goldilocks/2^16x64`.
    #[serde(deserialize_with = "text::name")]
    pub workload: String,
    /// The name of the instruction set that the executable is built for.
    #[serde(deserialize_with = "isa::name")]
    pub isa: String,
    /// The number of threads that the workload may use, 1 or more.
    pub threads: usize,
    /// The seed of the input. Runs of one seed and side share a process.
    pub seed: u64,
    /// The number of the round, which counts on through all seeds.
    pub round: usize,
    /// The side that ran.
    pub side: Side,
    /// The wall-clock time, in nanoseconds.
    pub wall_ns: u64,
    /// The CPU time of all threads, in nanoseconds.
    pub cpu_ns: u64,
    /// The peak of the process's resident memory so far, in KiB, where the system tells it. Older records have none.
    #[serde(default)]
    pub peak_kib: Option<u64>,
    /// The most bytes that the process's first run had allocated at a time, where the worker counts them. Older records have none.
    #[serde(default)]
    pub live_bytes: Option<u64>,
    /// The part of `wall_ns` in which Merkle trees were built, where the worker tells it.
    #[serde(default)]
    pub hashing_ns: Option<u64>,
}

/// The longest time of a run, in nanoseconds: a year.
pub(crate) const LONGEST_NS: u64 = 365 * 86_400 * 1_000_000_000;

/// The most memory of a process, in KiB: a PiB. No machine has more.
pub(crate) const MOST_KIB: u64 = 1 << 40;

/// The order of one round. The candidate's runs lie symmetrically between the baseline's, so that a steady drift cancels.
///
/// A process is faster right after itself than after another process, whose data then fills the caches. So each process follows
/// itself as often as it follows another one: in two of the candidate's four runs, and in one of two runs of the baseline and
/// of the control. For the first run this holds if the run before the round was the baseline's.
pub(crate) const ROUND: [Side; 8] = [
    Side::Baseline,
    Side::Candidate,
    Side::Candidate,
    Side::Control,
    Side::Control,
    Side::Candidate,
    Side::Candidate,
    Side::Baseline,
];

impl Side {
    /// Returns the name of the side, as the CSV has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Candidate => "candidate",
            Self::Control => "control",
        }
    }
}

impl Run {
    /// Tells whether the wall-clock time exceeds the CPU time by more than 5 %: another program had the core. With several threads
    /// the two times are not comparable, and the answer is always false.
    pub fn disturbed(&self) -> bool {
        self.threads == 1 && self.wall_ns as f64 > 1.05 * self.cpu_ns as f64
    }

    /// Checks that the figures can be those of a run; an error says which one cannot.
    pub(crate) fn check(&self) -> Result<(), String> {
        let Self {
            workload,
            seed,
            round,
            threads,
            ..
        } = self;
        // A program may for a while have more cores than its share of the machine is.
        let cores = match workload.starts_with(RUN) {
            true => MOST_THREADS,
            false => *threads,
        };
        // A sample of a bench is of many iterations.
        let is_longer = self.wall_ns > LONGEST_NS && !workload.starts_with(BENCH);
        let what = if self.wall_ns == 0 {
            "took no time"
        } else if is_longer {
            "took longer than a year"
        } else if let Some(wrong) = wrong_memory(self.peak_kib, self.live_bytes) {
            wrong
        } else if self.threads == 0 {
            "had no threads"
        } else if *threads > MOST_THREADS {
            "had more threads than any machine"
        } else if has_more_cpu(self.cpu_ns, self.wall_ns, cores) {
            "has more CPU time than its threads had"
        } else if self
            .hashing_ns
            .is_some_and(|hashing| hashing > self.wall_ns)
        {
            "has more hashing than it took"
        } else {
            return Ok(());
        };
        Err(format!(
            "{workload}: a run of seed {seed}, round {round} {what}"
        ))
    }
}

/// Groups neighbouring samples of the same workload and instruction set: those of a row, where a file has them.
pub fn by_row(runs: &[Run]) -> impl Iterator<Item = &[Run]> {
    runs.chunk_by(|a, b| (&a.workload, &a.isa) == (&b.workload, &b.isa))
}

/// Checks that the samples of a row follow one another, in whole rounds that have their runs once and in their order; an error names
/// the round.
pub(crate) fn check_rounds(runs: &[Run]) -> Result<(), String> {
    let halves = ROUND.split_at(ROUND.len() / 2);
    let whole = [&ROUND[..], halves.0, halves.1];
    let mut rows = BTreeSet::new();
    for row in by_row(runs) {
        let Run { workload, isa, .. } = &row[0];
        if !rows.insert((workload, isa)) {
            return Err(format!("{workload}: samples for {isa} in two places"));
        }
        let mut rounds = BTreeSet::new();
        for round in row.chunk_by(|a, b| (a.seed, a.round) == (b.seed, b.round)) {
            let sides: Vec<Side> = round.iter().map(|run| run.side).collect();
            let Run { seed, round, .. } = round[0];
            if !rounds.insert((seed, round)) || !whole.contains(&&*sides) {
                return Err(format!(
                    "{workload}: seed {seed}, round {round} has not each run of a round once, in its order"
                ));
            }
        }
    }
    Ok(())
}

/// Says what is wrong with the memory of a process, resident and live, where no process can have had it.
pub(crate) fn wrong_memory(peak_kib: Option<u64>, live_bytes: Option<u64>) -> Option<&'static str> {
    let figures = [(peak_kib, MOST_KIB), (live_bytes, MOST_KIB << 10)];
    figures
        .into_iter()
        .find_map(|(figure, most)| match figure? {
            0 => Some("had no memory"),
            figure => (figure > most).then_some("had more memory than any machine"),
        })
}

/// Tells whether `threads` cannot have had so much CPU time in a run. The two clocks may be read a moment apart, and one may count ticks.
pub(crate) fn has_more_cpu(cpu_ns: u64, wall_ns: u64, threads: usize) -> bool {
    const TICK: f64 = 1e7;
    const SLACK: f64 = 1.1;
    cpu_ns as f64 > wall_ns as f64 * threads as f64 * SLACK + TICK
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::runs;

    /// Counts the runs of `side` that follow a run of the same side, and the other ones, where rounds follow each other.
    fn warm(side: Side) -> (usize, usize) {
        let before = ROUND.iter().cycle().skip(ROUND.len() - 1);
        let of_side = ROUND.iter().zip(before).filter(|(run, _)| **run == side);
        let (warm, other): (Vec<_>, Vec<_>) = of_side.partition(|(run, before)| run == before);
        (warm.len(), other.len())
    }

    #[test]
    fn rounds_are_whole_and_there_once() {
        let whole = runs(0.8);
        check_rounds(&whole).unwrap();
        let [mut doubled, mut again, mut apart, mut turned] = [(); 4].map(|()| whole.clone());
        doubled.push(whole[39].clone());
        again.extend_from_slice(&whole[..4]);
        apart[20].workload = "between".to_owned();
        turned.swap(0, 1);
        let round = "has not each run of a round once, in its order";
        for (samples, why) in [
            (&whole[..39], format!("seed 4, round 9 {round}")),
            (&doubled, format!("seed 4, round 9 {round}")),
            (&again, format!("seed 0, round 0 {round}")),
            (&turned, format!("seed 0, round 0 {round}")),
            (&apart, format!("between: seed 2, round 5 {round}")),
            (
                &[&whole[..4], &apart[20..21], &whole[4..]].concat(),
                format!("between: seed 2, round 5 {round}"),
            ),
        ] {
            let refused = check_rounds(samples).unwrap_err();
            assert!(refused.ends_with(&why), "{refused}");
        }
        let mut between = whole[..4].to_vec();
        between
            .iter_mut()
            .for_each(|run| run.workload = "between".to_owned());
        let samples = [&whole[..4], &between, &whole[4..]].concat();
        let refused = check_rounds(&samples).unwrap_err();
        assert!(
            refused.ends_with("for x86-64-v3 in two places"),
            "{refused}"
        );
    }

    #[test]
    fn a_round_favours_no_process() {
        assert_eq!(warm(Side::Baseline), (1, 1));
        assert_eq!(warm(Side::Control), (1, 1));
        assert_eq!(warm(Side::Candidate), (2, 2));
        // Nor does the order favour a side: the places of each have the same mean, in each half of a round as well.
        for runs in [&ROUND[..], &ROUND[..4], &ROUND[4..]] {
            let mean = |candidate: bool| {
                let places = (0..runs.len()).filter(|&i| (runs[i] == Side::Candidate) == candidate);
                2 * places.sum::<usize>() / (runs.len() / 2)
            };
            assert_eq!(mean(true), mean(false));
        }
        let sum = |side| {
            (0..ROUND.len())
                .filter(|&i| ROUND[i] == side)
                .sum::<usize>()
        };
        assert_eq!(sum(Side::Baseline), sum(Side::Control));
    }
}
