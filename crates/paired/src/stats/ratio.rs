//! The ratio of paired times, its confidence interval, and the verdict on it.

use distrs::StudentsT;
use serde::{Deserialize, Serialize};

/// An estimated ratio of times with its 95 % interval. A candidate that takes half the time has the ratio 0.5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The estimate.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

/// The verdict on a ratio, given the spread of the A/A control.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The interval lies below 1, by more than the control differs from 1.
    Faster,
    /// The interval lies above 1, by more than the control differs from 1.
    Slower,
    /// The interval shows no change beyond the control's.
    #[serde(rename = "no change")]
    NoChange,
}

/// The largest ratio of times that is measured: no interval goes beyond it, or below its reciprocal.
const MOST: f64 = 1e4;

impl Ratio {
    /// Returns the ratio with this estimate and these ends of its interval.
    pub(crate) fn new(value: f64, [low, high]: [f64; 2]) -> Self {
        Self { value, low, high }
    }

    /// Estimates the ratio from the natural logarithms of paired ratios, in blocks: one block for each restart of the processes.
    ///
    /// Pairs of one block share the memory layout of their processes, so a block counts once, by the median of its pairs. The
    /// ratio is the exponential of the blocks' mean. The interval is Student's t over the blocks, which is wider where they are
    /// few. One block alone has no spread, and its interval includes every ratio that a machine measures.
    ///
    /// Without blocks the ratio is not a number. An empty block panics.
    pub(crate) fn from_logs(blocks: &[Vec<f64>]) -> Self {
        let blocks: Vec<f64> = (blocks.iter())
            .map(|block| median(&mut block.clone()))
            .collect();
        let count = blocks.len() as f64;
        let mean = blocks.iter().sum::<f64>() / count;
        let half = if blocks.len() > 1 {
            let squares = blocks.iter().map(|block| (block - mean).powi(2));
            let variance = squares.sum::<f64>() / (count - 1.0);
            students_t(count - 1.0) * (variance / count).sqrt()
        } else {
            f64::INFINITY
        };
        let end = |log: f64| log.exp().clamp(MOST.recip(), MOST);
        Self::new(mean.exp(), [mean - half, mean + half].map(end))
    }

    /// Tells whether the intervals of `self` and `other` lie farther apart than the largest spread of the `controls`.
    pub fn disagrees(&self, other: &Self, controls: &[Self]) -> bool {
        let spread = controls.iter().map(Self::spread).fold(1.0, f64::max);
        self.high * spread < other.low || other.high * spread < self.low
    }

    /// Returns the distance from 1 of the interval's farther end, as a factor of at least 1.
    fn spread(&self) -> f64 {
        let factor = |bound: f64| bound.max(bound.recip());
        factor(self.low).max(factor(self.high))
    }

    /// Returns the verdict, given the ratio of the baseline to itself: a change must show beyond the distance from 1 that the
    /// control's interval reaches with no change at all.
    pub(crate) fn verdict(&self, control: &Self) -> Verdict {
        let spread = control.spread();
        if self.high * spread < 1.0 {
            Verdict::Faster
        } else if self.low > spread {
            Verdict::Slower
        } else {
            Verdict::NoChange
        }
    }
}

/// Returns the 97.5 % quantile of Student's t distribution: 95 % lie between it and its negative.
fn students_t(degrees: f64) -> f64 {
    StudentsT::ppf(0.975, degrees)
}

/// Returns the median, the mean of the middle two for an even count, and sorts `values`. Panics without values.
pub fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    values.sort_by(f64::total_cmp);
    if values.len().is_multiple_of(2) {
        values[middle - 1].midpoint(values[middle])
    } else {
        values[middle]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn ratio(low: f64, high: f64) -> Ratio {
        Ratio {
            value: (low * high).sqrt(),
            low,
            high,
        }
    }

    #[test]
    fn medians_of_known_data() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&mut [7.0]), 7.0);
    }

    #[test]
    fn equal_pairs_leave_no_doubt() {
        let logs = vec![vec![0.8f64.ln(); 5]; 5];
        let Ratio { value, low, high } = Ratio::from_logs(&logs);
        for bound in [value, low, high] {
            assert!((bound - 0.8).abs() < 1e-12, "{bound}");
        }
    }

    #[test]
    fn one_outlier_does_not_move_the_estimate() {
        let mut logs = vec![vec![-0.1, -0.1, -0.1, -0.1, -0.1]; 5];
        logs[2][3] = 3.0;
        let ratio = Ratio::from_logs(&logs);
        assert!((ratio.value - (-0.1f64).exp()).abs() < 1e-12);
        assert!(ratio.high < 1.0);
    }

    #[test]
    fn blocks_that_disagree_widen_the_interval() {
        // The same 25 values, once with the disagreement inside blocks and once between them.
        let inside = vec![vec![-0.2, -0.1, 0.0, 0.1, 0.2]; 5];
        let between: Vec<_> = inside[0].iter().map(|&value| vec![value; 5]).collect();
        let width = |blocks: &[Vec<f64>]| {
            let ratio = Ratio::from_logs(blocks);
            ratio.high / ratio.low
        };
        assert!(width(&between) > width(&inside));
    }

    #[test]
    fn a_change_must_clear_the_control() {
        let quiet = ratio(0.99, 1.01);
        assert_eq!(ratio(0.90, 0.92).verdict(&quiet), Verdict::Faster);
        assert_eq!(ratio(1.08, 1.10).verdict(&quiet), Verdict::Slower);
        assert_eq!(ratio(0.97, 1.02).verdict(&quiet), Verdict::NoChange);
        // Excludes 1, but by less than a binary differs from itself.
        assert_eq!(ratio(0.985, 0.995).verdict(&quiet), Verdict::NoChange);
        assert_eq!(ratio(1.005, 1.015).verdict(&quiet), Verdict::NoChange);
        // A control that is off to one side counts by its far end.
        assert_eq!(
            ratio(0.90, 0.94).verdict(&ratio(0.92, 0.95)),
            Verdict::NoChange
        );
        assert_eq!(
            ratio(0.90, 0.94).verdict(&ratio(1.05, 1.08)),
            Verdict::NoChange
        );
        // Exactly at the threshold is no change.
        assert_eq!(ratio(0.5, 0.5).verdict(&ratio(2.0, 2.0)), Verdict::NoChange);
        assert_eq!(ratio(2.0, 2.0).verdict(&ratio(0.5, 0.5)), Verdict::NoChange);
    }

    #[test]
    fn ratios_disagree_where_no_control_explains_the_gap() {
        let (quiet, noisy) = (ratio(0.999, 1.001), ratio(0.97, 1.01));
        let (low, high) = (ratio(0.90, 0.92), ratio(0.93, 0.95));
        for (a, b) in [(low, high), (high, low)] {
            assert!(a.disagrees(&b, &[quiet]));
            assert!(!a.disagrees(&b, &[quiet, noisy]));
        }
        assert!(!low.disagrees(&ratio(0.91, 0.93), &[quiet]));
    }

    #[test]
    fn students_t_has_the_values_of_its_tables() {
        for (degrees, quantile) in [(1.0, 12.706), (2.0, 4.303), (4.0, 2.776), (9.0, 2.262)] {
            let computed = students_t(degrees);
            assert!((computed - quantile).abs() < 5e-4, "{degrees}: {computed}");
        }
    }

    #[test]
    fn one_process_shows_no_change() {
        let alone = Ratio::from_logs(&[vec![-1.0, -1.0]]);
        assert_eq!(
            alone.verdict(&Ratio::from_logs(&[vec![0.0, 0.0]])),
            Verdict::NoChange
        );
        assert_eq!([alone.low, alone.high], [1e-4, 1e4]);
    }

    #[test]
    fn two_processes_that_differ_much_have_an_interval_that_can_be_shown() {
        let wide = Ratio::from_logs(&[vec![100_f64.ln()], vec![0.0]]);
        assert_eq!([wide.low, wide.high], [1e-4, 1e4]);
    }

    /// Returns the share of trials in which the interval excludes the true ratio, in per cent. All pairs of a process share its
    /// `luck`, each pair has `noise`, and one pair in `bursts` is disturbed.
    fn error(seeds: usize, pairs: usize, luck: f64, noise: f64, bursts: f64) -> f64 {
        const TRIALS: usize = 1500;
        let mut rng = StdRng::seed_from_u64(1);
        // The sum of 12 uniform variables is close to normal, with variance 1.
        let mut normal = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        let mut chance = StdRng::seed_from_u64(2);
        let mut block = || {
            let luck = luck * normal();
            let pair = |_| {
                let burst = f64::from(chance.random::<f64>() * bursts < 1.0);
                -0.1 + luck + (noise + 0.1 * burst) * normal()
            };
            (0..pairs).map(pair).collect::<Vec<_>>()
        };
        let missed = (0..TRIALS)
            .filter(|_| {
                let blocks: Vec<_> = (0..seeds).map(|_| block()).collect();
                let ratio = Ratio::from_logs(&blocks);
                !(ratio.low..=ratio.high).contains(&(-0.1f64).exp())
            })
            .count();
        100.0 * missed as f64 / TRIALS as f64
    }

    #[test]
    fn intervals_miss_the_truth_as_often_as_they_say() {
        for seeds in [2, 3, 5, 10] {
            for pairs in [1, 2, 5] {
                // Luck of processes alone, noise of pairs alone, both, and both with a disturbed pair in 20.
                for (luck, noise, bursts) in [
                    (0.01, 0.0, f64::INFINITY),
                    (0.0, 0.01, f64::INFINITY),
                    (0.01, 0.01, f64::INFINITY),
                    (0.01, 0.01, 20.0),
                ] {
                    let error = error(seeds, pairs, luck, noise, bursts);
                    assert!(
                        (2.0..8.0).contains(&error),
                        "{seeds} x {pairs}, luck {luck}, noise {noise}, bursts {bursts}: {error} %"
                    );
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn the_interval_holds_the_ratio_and_mirrors(
            blocks in prop::collection::vec(prop::collection::vec(-0.5f64..0.5, 1..6), 1..6)
        ) {
            let ratio = Ratio::from_logs(&blocks);
            prop_assert!(ratio.low <= ratio.value && ratio.value <= ratio.high);
            // Swapping the sides turns the ratio over, and the verdict with it.
            let swapped: Vec<Vec<f64>> =
                blocks.iter().map(|block| block.iter().map(|log| -log).collect()).collect();
            let swapped = Ratio::from_logs(&swapped);
            prop_assert!((swapped.value * ratio.value - 1.0).abs() < 1e-9);
        }

        #[test]
        fn verdicts_turn_over_with_the_sides(a in -0.3f64..0.3, b in 0.0f64..0.2, c in -0.1f64..0.1, d in 0.0f64..0.1) {
            let measured = ratio(a.exp(), (a + b).exp());
            let control = ratio(c.exp(), (c + d).exp());
            let swapped = ratio((-a - b).exp(), (-a).exp());
            let expected = match measured.verdict(&control) {
                Verdict::Faster => Verdict::Slower,
                Verdict::Slower => Verdict::Faster,
                Verdict::NoChange => Verdict::NoChange,
            };
            prop_assert_eq!(swapped.verdict(&control), expected);
        }
    }
}
