//! The bounds, for all inputs: the kernel on intervals.

use std::vec;

use super::lanes::Range;
use crate::MdsMatrixGoldilocks;
use crate::poseidon1_packed::circulant::{Circulant, mds_24, mds_small};
use crate::poseidon1_packed::halves::fold_constant;
use crate::poseidon1_packed::rounds::{full_rounds, partial_rounds};

fn run<const WIDTH: usize, const GROUP: usize, const K: usize>(partial: usize)
where
    MdsMatrixGoldilocks: Circulant<WIDTH>,
{
    // Halves of other constants lie between those of these.
    let (least, largest) = (fold_constant::<Range>(0), fold_constant::<Range>(u64::MAX));
    for constant in [least, largest] {
        let mut state = [Range::any(); WIDTH];
        full_rounds::<Range, WIDTH, GROUP>(&mut state, &[[constant; WIDTH]; 4]);
        let mut states = [state; 2];
        let residual = [constant; WIDTH];
        let constants = vec![constant; partial];
        partial_rounds::<_, _, K, 2>(&mut states, &constants, &residual);
        partial_rounds::<_, _, K, 1>(&mut [state; 1], &constants, &residual);
        partial_rounds::<_, _, K, 3>(&mut [state; 3], &constants, &residual);
        partial_rounds::<_, _, K, 4>(&mut [state; 4], &constants, &residual);
        mds_small(&states[1]);
    }
}

#[test]
fn no_value_is_inexact_or_wraps() {
    run::<8, 8, 3>(22);
    run::<12, 6, 3>(22);
    run::<16, 8, 2>(22);
    mds_24(&[Range::any(); 24]);
}

/// The test above fails where a segment is a round too long.
#[test]
#[should_panic(expected = "is not exact")]
fn three_rounds_are_too_many_for_width_16() {
    run::<16, 8, 3>(22);
}
