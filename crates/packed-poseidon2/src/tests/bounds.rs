//! The rounds on intervals: no word wraps, for any input, and each constant of the kernel has to be what it is.

use core::cell::Cell;
use core::fmt::Debug;
use core::marker::PhantomData;
use std::string::String;

use p3_goldilocks::Goldilocks;
use p3_patches_testing::mutation::panics;
use p3_poseidon2::ExternalLayerConstants;

use super::lanes::Range;
use crate::poseidon2_halves::{Halves, LIMIT, REDUCTION_BIAS};
use crate::poseidon2_rounds::{Representation, Rounds};
use crate::vector::{EPSILON, Vector, Word};

/// How the rounds depart from what they are, to see that they may not.
#[derive(Clone, Copy, Debug, Default)]
struct Departure {
    /// From this round of a segment on, sums are not lifted.
    unlifted: Option<usize>,
    /// Segments have so many rounds more.
    rounds_more: usize,
    /// Reductions have no bias.
    unbiased: bool,
}

std::thread_local! {
    static DEPARTURE: Cell<Departure> = Cell::default();
}

/// [`Halves`] on intervals, that checks what the kernel's documentation states at each of its operations.
#[derive(Clone, Debug)]
struct Stated(PhantomData<Range>);

type Inner = Halves<Range>;

/// The largest magnitude that a reduction takes, after an external layer or a segment.
const REDUCIBLE: i128 = LIMIT as i128 - 1;

#[track_caller]
fn are_within(words: &[Range; 2], low: i128, high: i128) {
    words.iter().for_each(|word| word.is_within(low, high));
}

/// `x`, or what becomes `x` when the bias is added.
fn before_bias(x: [Range; 2]) -> [Range; 2] {
    if !DEPARTURE.get().unbiased {
        return x;
    }
    let bias = REDUCTION_BIAS.map(Range::splat);
    [x[0].wrapping_sub(bias[0]), x[1].wrapping_sub(bias[1])]
}

impl Representation for Stated {
    type Element = Range;
    type Word = Range;
    type Unreduced = [Range; 2];
    const PARTS: usize = 2;
    type Constant = [u64; 2];

    /// The least constant, or the one whose halves are the largest.
    fn constant(constant: Goldilocks) -> [u64; 2] {
        let least = Inner::constant(Goldilocks::new(0));
        if constant == Goldilocks::new(0) {
            least
        } else {
            least.map(|word| word + EPSILON)
        }
    }

    fn segment(width: usize) -> usize {
        Inner::segment(width) + DEPARTURE.get().rounds_more
    }

    fn widen(x: Range) -> [Range; 2] {
        let x = Inner::widen(x);
        are_within(&x, 0, u32::MAX.into());
        x
    }

    fn reduce(x: [Range; 2]) -> Range {
        are_within(&x, -REDUCIBLE, REDUCIBLE);
        Inner::reduce(before_bias(x))
    }

    fn sbox<const N: usize>(x: &mut [[Range; 2]; N], constants: &[[u64; 2]; N]) {
        for x in &mut *x {
            are_within(x, -REDUCIBLE, REDUCIBLE);
            *x = before_bias(*x);
        }
        Inner::sbox(x, constants);
        for x in &*x {
            are_within(x, -(1 << 33), 1 << 33);
        }
    }

    fn lift<const WIDTH: usize>(sum: Range, part: usize, round: usize) -> Range {
        let departure = DEPARTURE.get();
        if departure.unlifted.is_some_and(|first| first <= round) {
            return sum;
        }
        // There is none for the rounds too many: the last one.
        Inner::lift::<WIDTH>(sum, part, round.min(Inner::segment(WIDTH) - 1))
    }

    fn div_2exp(x: [Range; 2], bits: u32) -> [Range; 2] {
        let quotient = Inner::div_2exp(x, bits);
        if bits <= 10 {
            are_within(&x, 0, 1 << 62);
            are_within(&quotient, -(1 << 32), 1 << 62);
        }
        quotient
    }

    fn sbox_layer<const WIDTH: usize>(
        state: &mut [[Range; 2]; WIDTH],
        constants: &[[u64; 2]; WIDTH],
    ) {
        Self::sbox(state, constants);
    }
}

/// A permutation of `B` states of any elements, which panics where a word could wrap.
fn run<const WIDTH: usize, const B: usize>(constant: u64) {
    let constant = Goldilocks::new(constant);
    let external = std::vec![[constant; WIDTH]; 4];
    let rounds = Rounds::<Stated, WIDTH>::new(
        &ExternalLayerConstants::new(external.clone(), external),
        &[constant; 22],
    );
    let mut states = [[Stated::widen(Range::any()); WIDTH]; B];
    rounds.permute(&mut states);
    for x in states.as_flattened() {
        Stated::reduce(*x);
    }
}

#[test]
fn no_word_wraps() {
    for constant in [0, 1] {
        run::<8, 1>(constant);
        run::<12, 1>(constant);
        run::<16, 1>(constant);
        run::<8, 4>(constant);
        run::<12, 4>(constant);
        run::<16, 4>(constant);
    }
}

/// The message of [`run`] on rounds that depart; nothing, if they may.
fn objection<const WIDTH: usize>(departure: Departure) -> Option<String> {
    DEPARTURE.set(departure);
    let objection = panics(run_once::<WIDTH>);
    DEPARTURE.set(Departure::default());
    objection
}

fn run_once<const WIDTH: usize>() {
    run::<WIDTH, 1>(0);
}

/// The bias, the length of a segment and the lifts have to be what they are. Intervals are tighter than the magnitudes that
/// `lifts` follows: they ask for lifts in the first `lifted` rounds only, whose results all later sums contain, and object to
/// segments from `rounds_more` rounds on.
fn check_departures<const WIDTH: usize>(lifted: usize, rounds_more: usize) {
    let intact = Departure::default();
    assert_eq!(objection::<WIDTH>(intact), None);

    for round in 0..=lifted {
        let departure = Departure {
            unlifted: Some(round),
            ..intact
        };
        let objects = objection::<WIDTH>(departure).is_some();
        assert_eq!(objects, round < lifted, "{round}");
    }
    let unbiased = Departure {
        unbiased: true,
        ..intact
    };
    assert!(objection::<WIDTH>(unbiased).is_some());
    for rounds in 0..=rounds_more {
        let departure = Departure {
            rounds_more: rounds,
            ..intact
        };
        let objects = objection::<WIDTH>(departure).is_some();
        assert_eq!(objects, rounds == rounds_more, "{rounds} rounds more");
    }
}

#[test]
fn lifts_and_segments_have_to_be_what_they_are() {
    check_departures::<8>(3, 1);
    check_departures::<12>(1, 2);
    check_departures::<16>(1, 1);
}
