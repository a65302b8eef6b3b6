//! Elements in halves next to the carry of their reduction, which no random test reaches.

use p3_patches_testing::goldilocks::{self as plain, EDGES};
use proptest::prelude::*;

use crate::poseidon2_halves::REDUCTION_BIAS;

/// The field element that two halves stand for.
pub fn value([low, high]: [i64; 2]) -> u64 {
    plain::residue(i128::from(low) + (i128::from(high) << 32))
}

/// Signed halves whose reduction is within 2 of its carry, and arbitrary ones.
pub fn halves() -> impl Strategy<Value = [i64; 2]> {
    const LIMIT: i64 = 1 << 61;
    // The words of the bias are 2^62 and a bit; what carries is low + (2^32 - 1) top + 2^32 low_of_high.
    let near_carry = (any::<u32>(), 1u64 << 29..3 << 29, -2i128..=2).prop_filter_map(
        "low is in range",
        |(low_of_high, top, offset)| {
            let low = (1i128 << 64) + offset
                - (i128::from(low_of_high) << 32)
                - i128::from(top) * 0xffff_ffff;
            let low = low - i128::from(REDUCTION_BIAS[0]);
            let low = i64::try_from(low).ok().filter(|low| low.abs() < LIMIT)?;
            let high = (top << 32 | u64::from(low_of_high)) as i64;
            Some([low, high - REDUCTION_BIAS[1] as i64])
        },
    );
    let edge = || prop::sample::select(EDGES.to_vec()).prop_map(|edge| edge as i64 >> 2);
    prop_oneof![[-LIMIT..LIMIT, -LIMIT..LIMIT], near_carry, [edge(), edge()]]
}
