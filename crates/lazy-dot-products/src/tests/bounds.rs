//! The sums on intervals: none wraps, for any factors.

use p3_patches_testing::mutation::panics;

use super::lanes::Range;
use crate::lazy_product::{LazyProduct, TERMS, parts, zero};

/// The reduction of so many terms.
fn run(terms: usize) {
    let mut sums = zero();
    for _ in 0..terms {
        Range::add_product(&mut sums, Range::any().digits(), Range::any().limbs());
    }
    parts(sums);
}

#[test]
fn no_sum_wraps() {
    for terms in [0, 1, TERMS] {
        run(terms);
    }
}

#[test]
fn bounds_have_no_slack() {
    assert!(panics(|| run(TERMS + 1)).is_some());
}

#[test]
fn limbs_are_as_long_as_they_say() {
    let [low, middle, high] = Range::any().limbs();
    for limb in [low, middle] {
        limb.is_within(0, (1 << 22) - 1);
    }
    high.is_within(0, (1 << 20) - 1);
}
