//! The sums on intervals: none wraps, for any factors.

use p3_patches_testing::mutation::panics;

use super::fused::Fused;
use super::lanes::Range;
use crate::lazy_product::{LazyProduct, TERMS, parts, zero};

/// The reduction of so many terms.
fn run<V: LazyProduct>(any: V, terms: usize) {
    let mut sums = zero();
    for _ in 0..terms {
        V::add_product(&mut sums, any.digits(), any.limbs());
    }
    parts(sums);
}

#[test]
fn no_sum_wraps() {
    for terms in [0, 1, TERMS] {
        run(Range::any(), terms);
        run(Fused(Range::any()), terms);
    }
}

#[test]
fn bounds_have_no_slack() {
    assert!(panics(|| run(Range::any(), TERMS + 1)).is_some());
    // IFMA's words would take more.
    run(Fused(Range::any()), 4 * TERMS - 1);
    assert!(panics(|| run(Fused(Range::any()), 4 * TERMS)).is_some());
}

#[test]
fn limbs_are_as_long_as_they_say() {
    let [low, middle, high] = Range::any().limbs();
    for limb in [low, middle] {
        limb.is_within(0, (1 << 22) - 1);
    }
    high.is_within(0, (1 << 20) - 1);
    // IFMA's product looks at 52 bits of each factor.
    for part in Fused(Range::any()).digits() {
        part.0.is_within(0, (1 << 40) - 1);
    }
    Fused(Range::any()).limbs()[1].0.is_within(0, (1 << 12) - 1);
}
