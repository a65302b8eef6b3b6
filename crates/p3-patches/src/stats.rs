//! What the samples of one row say: a ratio, how sure it is, and whether that is a change.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};

/// Bootstrap resamples. The interval's bounds move by less than a tenth of its width between seeds.
const RESAMPLES: usize = 4000;

/// An estimated ratio of times with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

/// What a ratio means in the light of the control.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Faster,
    Slower,
    #[serde(rename = "no change")]
    NoChange,
}

impl Ratio {
    /// The median of paired log-ratios, which come in blocks: one block per restart of the processes.
    ///
    /// The interval is a percentile bootstrap in two levels, blocks and then pairs within each. Pairs of one block share
    /// their processes' luck in memory layout, so resampling pairs alone would call a lucky block certain.
    /// The resampling is seeded: the same samples always give the same interval.
    pub fn from_logs(blocks: &[Vec<f64>]) -> Self {
        let mut rng = StdRng::seed_from_u64(0);
        let mut estimates: Vec<f64> = (0..RESAMPLES)
            .map(|_| median(&mut resample(blocks, &mut rng)).exp())
            .collect();
        estimates.sort_by(f64::total_cmp);
        let tail = RESAMPLES / 40;
        Self {
            value: median(&mut blocks.concat()).exp(),
            low: estimates[tail],
            high: estimates[RESAMPLES - 1 - tail],
        }
    }

    /// Whether `self` and `other` lie farther apart than their intervals and those of the `controls` explain.
    pub fn disagrees(&self, other: &Self, controls: &[Self]) -> bool {
        let spread = controls.iter().map(Self::spread).fold(1.0, f64::max);
        self.high * spread < other.low || other.high * spread < self.low
    }

    /// How far from 1 the interval reaches, as a factor of at least 1.
    fn spread(&self) -> f64 {
        let factor = |bound: f64| bound.max(bound.recip());
        factor(self.low).max(factor(self.high))
    }

    /// `self` against a baseline that was also measured against itself: a change is what the interval shows beyond the
    /// distance from 1 that the control reaches with no change at all.
    pub fn verdict(&self, control: &Self) -> Verdict {
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

/// As many blocks as there are, drawn with repetition, and in each as many values, drawn likewise.
fn resample(blocks: &[Vec<f64>], rng: &mut StdRng) -> Vec<f64> {
    let mut values = Vec::new();
    for _ in blocks {
        let block = &blocks[rng.random_range(0..blocks.len())];
        values.extend((0..block.len()).map(|_| block[rng.random_range(0..block.len())]));
    }
    values
}

/// The median; the mean of the middle two for an even count.
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
    fn intervals_cover_the_truth_about_as_often_as_they_say() {
        let mut rng = StdRng::seed_from_u64(1);
        // Uniform noise, and a share that all pairs of a block have in common.
        let mut noise = |scale: f64| scale * (rng.random::<f64>() - 0.5);
        let covered = (0..200)
            .filter(|_| {
                let blocks: Vec<Vec<f64>> = (0..5)
                    .map(|_| {
                        let layout = noise(0.01);
                        (0..5).map(|_| -0.1 + layout + noise(0.02)).collect()
                    })
                    .collect();
                let ratio = Ratio::from_logs(&blocks);
                (ratio.low..=ratio.high).contains(&(-0.1f64).exp())
            })
            .count();
        assert!(covered >= 180, "{covered} of 200");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn interval_holds_the_median_and_mirrors(
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
