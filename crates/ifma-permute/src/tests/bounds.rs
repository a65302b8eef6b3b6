//! The rounds on intervals: no word wraps, for any input.

use core::marker::PhantomData;

use p3_field::PrimeField64;
use p3_goldilocks::Goldilocks;
use p3_poseidon2::ExternalLayerConstants;

use super::lanes::Range;
use crate::poseidon2_limbs::Limbs;
use crate::poseidon2_rounds::{Representation, Rounds, sbox_in_groups};
use crate::vector::{Vector, Word};

/// [`Limbs`] on intervals, that checks what the kernel's documentation states at each of its operations.
#[derive(Clone, Debug)]
struct Stated(PhantomData<Range>);

type Inner = Limbs<Range>;

/// The constants that stand for all: the least one, the largest one in both limbs, and that one without its zero.
const LEAST: u64 = 0;
const LARGEST: u64 = 1;
const WITHOUT_ZERO: u64 = 2;

#[track_caller]
fn are_within(x: &[Range; 2], l: [i128; 2], h: [i128; 2]) {
    for (x, [low, high]) in x.iter().zip([l, h]) {
        x.is_within(low, high);
    }
}

/// The largest magnitude of a word.
fn magnitude(x: Range) -> i128 {
    let x = x.interval();
    x.high().max(-x.low())
}

impl Representation for Stated {
    type Element = Range;
    type Word = Range;
    type Unreduced = [Range; 2];
    const PARTS: usize = 2;
    type Constant = [u64; 2];

    fn constant(constant: Goldilocks) -> [u64; 2] {
        let [l, _] = Inner::constant(Goldilocks::new((1 << 52) - 1));
        let [_, h] = Inner::constant(-Goldilocks::new(1));
        match constant.as_canonical_u64() {
            LEAST => Inner::constant(Goldilocks::new(0)),
            LARGEST => [l, h],
            WITHOUT_ZERO => [l - (8 << 52), h.wrapping_add(8)],
            _ => unreachable!(),
        }
    }

    fn segment(width: usize) -> usize {
        Inner::segment(width)
    }

    fn widen(x: Range) -> [Range; 2] {
        let x = Inner::widen(x);
        are_within(&x, [0, (1 << 52) - 1], [0, (1 << 12) - 1]);
        x
    }

    fn reduce(x: [Range; 2]) -> Range {
        let (l, h) = ((1 << 63) - (1 << 32), (1 << 62) - (1 << 13));
        are_within(&x, [-l + 1, l - 1], [-h + 1, h - 1]);
        Inner::reduce(x)
    }

    fn sbox<const N: usize>(x: &mut [[Range; 2]; N], constants: &[[u64; 2]; N]) {
        // In external and internal rounds alike.
        for (x, constant) in x.iter().zip(constants) {
            let sum = [0, 1].map(|part| x[part].wrapping_add(Range::splat(constant[part])));
            are_within(
                &sum,
                [1 << 19, (1 << 63) - (1 << 19) - 1],
                [-(1 << 63), (1 << 63) - 1],
            );
        }
        Inner::sbox(x, constants);
        for x in x {
            are_within(
                x,
                [(1 << 52) - (1 << 48), (5 << 52) - 1],
                [-(1 << 48), (3 << 52) - 1],
            );
        }
    }

    fn sbox_layer<const WIDTH: usize>(
        state: &mut [[Range; 2]; WIDTH],
        constants: &[[u64; 2]; WIDTH],
    ) {
        for x in &*state {
            are_within(x, [0, 184 << 52], [-(8 << 52), 106 << 52]);
        }
        sbox_in_groups::<Self, WIDTH, 4>(state, constants);
    }

    fn lift<const WIDTH: usize>(sum: Range, part: usize, _round: usize) -> Range {
        let [low, high] = [[0, 6 << 52], [-(1 << 48), (3 << 52) + (1 << 48)]][part];
        sum.is_within(low, high);
        sum
    }

    fn div_2exp(x: [Range; 2], bits: u32) -> [Range; 2] {
        let quotient = Inner::div_2exp(x, bits);
        for (part, more) in [(0, 1 << 52), (1, 1 << 44)] {
            assert!(magnitude(quotient[part]) <= (magnitude(x[part]) >> bits) + 1 + more);
        }
        quotient
    }

    fn compact<const WIDTH: usize>(state: &mut [[Range; 2]; WIDTH], segment: usize) {
        // Not 766: before the first segment, an element of a pair is up to 2, half a sum of two and a quotient's carry.
        for x in &state[1..] {
            let limit = 1022 << 52;
            are_within(x, [-limit, limit], [-limit, limit]);
        }
        Inner::compact(state, segment);
    }

    fn compact_tail(tail: [Range; 2]) -> [Range; 2] {
        let limit = 1425 << 52;
        are_within(&tail, [-limit, limit], [-limit, limit]);
        Inner::compact_tail(tail)
    }

    fn settle(x: [Range; 2]) -> [Range; 2] {
        let limit = (1 << 63) - (1 << 19) - 1;
        are_within(&x, [-limit, limit], [-limit, limit]);
        Inner::settle(x)
    }
}

/// A permutation of `B` states of any elements, which panics where a word could wrap.
fn run<const WIDTH: usize, const B: usize>(constant: u64, internal: usize) {
    let constant = Goldilocks::new(constant);
    let external = std::vec![[constant; WIDTH]; 4];
    let rounds = Rounds::<Stated, WIDTH>::new(
        &ExternalLayerConstants::new(external.clone(), external),
        &std::vec![constant; internal],
    );
    let mut states = [[Stated::widen(Range::any()); WIDTH]; B];
    rounds.permute(&mut states);
    for x in states.as_flattened() {
        Stated::reduce(*x);
    }
}

/// Up to more internal rounds than any security level asks for.
fn run_long<const WIDTH: usize>() {
    for constant in [LEAST, LARGEST] {
        for internal in 0..80 {
            run::<WIDTH, 1>(constant, internal);
        }
        run::<WIDTH, 1>(constant, 200);
        run::<WIDTH, 2>(constant, 200);
        run::<WIDTH, 3>(constant, 200);
        run::<WIDTH, 4>(constant, 200);
    }
}

#[test]
fn no_limb_wraps() {
    run_long::<8>();
    run_long::<12>();
    run_long::<16>();
}

/// [`no_limb_wraps`] fails without the zero that element 0 of an internal round needs.
#[test]
#[should_panic(expected = "leaves")]
fn constants_without_their_zero() {
    run::<8, 1>(WITHOUT_ZERO, 2);
}

/// [`no_limb_wraps`] fails in a segment without end.
#[test]
#[should_panic(expected = "wraps in 64 bits")]
fn elements_that_are_never_compacted() {
    let sum = Range::new(0, 6 << 52);
    (0..5).fold(sum, |x, _| sum.wrapping_sub(x.shl(2)));
}
