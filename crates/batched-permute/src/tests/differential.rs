//! An element against Plonky3 as published, and its reductions on values that a permutation of random states does not
//! reach. Shared by the crates whose elements the rounds run on.

extern crate std;

use core::cell::Cell;
use core::fmt::Debug;
use std::string::String;
use std::vec::Vec;

use p3_field::{PackedValue, PrimeField64};
use p3_goldilocks::Goldilocks;
use p3_patches_testing::goldilocks::{self as plain, EDGES};
use p3_patches_testing::known_answers::poseidon2;
use p3_symmetric::Permutation;
use proptest::prelude::*;

use p3_patches_testing::interval::Interval;
use p3_patches_testing::mutation::panics;

use crate::poseidon2_batch::{REDUCTION_BIAS, Rounds, Word};
use crate::{BatchElement, BatchedPoseidon2};

/// Permutes a copy of `states` in groups of `B` and compares with the published permutation of each state.
fn check_interleaved<A, Published, const WIDTH: usize, const B: usize>(
    batched: &BatchedPoseidon2<A, WIDTH>,
    published: &Published,
    states: &[[A; WIDTH]],
) where
    A: BatchElement + PartialEq + Debug,
    Published: Permutation<[A; WIDTH]>,
{
    let expected: Vec<_> = states.iter().map(|&s| published.permute(s)).collect();
    let mut states = states.to_vec();
    batched.permute_interleaved::<B>(&mut states);
    assert_eq!(states, expected, "B = {B}");
}

/// All batch sizes, on edges in every position, on edges in one lane of one element, and on arbitrary values.
pub fn check_against_published<A, Published, const WIDTH: usize>(
    batched: &BatchedPoseidon2<A, WIDTH>,
    published: &Published,
) where
    A: BatchElement + PackedValue<Value = Goldilocks> + PartialEq + Debug,
    Published: Permutation<[A; WIDTH]>,
{
    let states = plain::states(A::WIDTH, |lanes| A::from_fn(|l| Goldilocks::new(lanes[l])));

    // From none to more states than two full groups.
    for count in 0..10 {
        let mut batch = states[..count].to_vec();
        batched.permute_many(&mut batch);
        for (state, &before) in batch.iter().zip(&states) {
            assert_eq!(*state, published.permute(before), "{count} states");
        }
    }
    check_interleaved::<A, _, WIDTH, 1>(batched, published, &states);
    check_interleaved::<A, _, WIDTH, 2>(batched, published, &states);
    check_interleaved::<A, _, WIDTH, 3>(batched, published, &states);
    check_interleaved::<A, _, WIDTH, 4>(batched, published, &states);
}

/// All default permutations.
pub fn check_known_answers<A: BatchElement + PackedValue<Value = Goldilocks>>() {
    poseidon2::<8>().check(|states| BatchedPoseidon2::<A, 8>::default_8().permute_many(states));
    poseidon2::<12>().check(|states| BatchedPoseidon2::<A, 12>::default_12().permute_many(states));
    poseidon2::<16>().check(|states| BatchedPoseidon2::<A, 16>::default_16().permute_many(states));
}

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

/// The value of an element all of whose lanes are alike.
pub fn uniform<A: PackedValue<Value = Goldilocks>>(x: A) -> u64 {
    let lanes: Vec<u64> = x.as_slice().iter().map(|x| x.as_canonical_u64()).collect();
    assert!(lanes.iter().all(|lane| *lane == lanes[0]), "{lanes:x?}");
    lanes[0]
}

/// The reductions of an element; `$new` makes an unreduced value with two words, in every lane.
macro_rules! reductions {
    ($name:ident, $element:ty, $new:expr) => {
        mod $name {
            use p3_field::PackedValue;
            use p3_goldilocks::Goldilocks;
            use p3_patches_testing::goldilocks::{P, mul, representative};
            use proptest::prelude::*;

            use super::*;
            use crate::BatchElement;

            fn new(halves: [i64; 2]) -> <$element as BatchElement>::Unreduced {
                $new(halves.map(|word| word as u64))
            }

            proptest! {
                #![proptest_config(ProptestConfig::with_cases(4096))]

                #[test]
                fn reduce(x in differential::halves()) {
                    let reduced = <$element>::reduce(new(x));
                    prop_assert_eq!(differential::uniform(reduced), differential::value(x));
                }

                #[test]
                fn widen_then_reduce(x in representative()) {
                    let element = <$element>::from_fn(|_| Goldilocks::new(x));
                    let reduced = <$element>::reduce(element.widen());
                    prop_assert_eq!(differential::uniform(reduced), x % P);
                }

                #[test]
                fn div_2exp(
                    x in differential::halves(),
                    bits in prop::sample::select(std::vec![1, 2, 3, 4, 5, 6, 8, 10, 32]),
                ) {
                    // Lifted, but for 32 bits.
                    let x = if bits == 32 { x } else { x.map(|word| word & i64::MAX) };
                    let quotient = differential::uniform(<$element>::reduce(<$element>::div_2exp(new(x), bits)));
                    prop_assert_eq!(mul(quotient, 1 << bits), differential::value(x));
                }
            }
        }
    };
}
pub(crate) use reductions;

// ---- The bounds, for all inputs ----

/// A word of 64 bits: signed between the steps of a round, unsigned where it is taken apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Half(pub Interval);

impl Word for Half {
    fn wrapping_add(self, rhs: Self) -> Self {
        Self(self.0.plus(rhs.0).in_word(64))
    }

    fn wrapping_sub(self, rhs: Self) -> Self {
        Self(self.0.minus(rhs.0).in_word(64))
    }

    /// A reduction shifts out the upper half of a word, which it has accounted for: only it shifts by 32.
    fn shl(self, bits: u32) -> Self {
        if bits == 32 && self.0.high() >> 32 != 0 {
            assert!(self.0.low() >= 0);
            return Self(Interval::new(0, (1 << 64) - (1 << 32)));
        }
        Self(self.0.times_power_of_2(bits).in_word(64))
    }
}

impl Half {
    /// Any word.
    pub fn any() -> Self {
        Self(Interval::new(0, u64::MAX.into()))
    }

    pub fn splat(x: u64) -> Self {
        Self(Interval::exactly(x.into()))
    }

    pub fn and(self, mask: Self) -> Self {
        assert!(self.0.low() >= 0, "a negative value is masked");
        Self(Interval::new(0, mask.0.high().min(self.0.high())))
    }

    pub fn shr(self, bits: u32) -> Self {
        Self(self.0.over_power_of_2(bits))
    }

    pub fn add_modulo(x: Self, y: Self) -> Self {
        assert!(x.0.low() >= 0 && x.0.high() <= (1 << 64) - (1 << 32));
        assert!(y.0.low() >= 0 && y.0.high() <= (1 << 64) - (1 << 33));
        Self::any()
    }
}

/// A word that knows its range.
pub trait Ranged: Word + PartialEq + Debug {
    fn ranging(range: Interval) -> Self;
    fn range(self) -> Interval;

    #[track_caller]
    fn is_within(self, low: i128, high: i128) {
        let range = self.range();
        assert!(
            low <= range.low() && range.high() <= high,
            "{range:x?} leaves [{low:x}, {high:x}]"
        );
    }
}

#[track_caller]
fn are_within<W: Ranged>(words: &[W; 2], low: i128, high: i128) {
    words.iter().for_each(|word| word.is_within(low, high));
}

impl Ranged for Half {
    fn ranging(range: Interval) -> Self {
        Self(range)
    }

    fn range(self) -> Interval {
        self.0
    }
}

/// How the rounds depart from what they are, to see that they may not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Departure {
    /// From this round of a segment on, sums are not lifted.
    unlifted: Option<usize>,
    /// Segments have a round more.
    too_long: bool,
    /// Reductions have no bias.
    unbiased: bool,
}

std::thread_local! {
    static DEPARTURE: Cell<Departure> = Cell::default();
}

/// An element in halves, on intervals, that checks what the kernel's documentation states at each of its operations.
#[derive(Clone, Copy, Debug)]
pub struct Stated<A>(pub A);

/// The largest magnitude that a reduction takes, after an external layer or a segment.
const REDUCIBLE: i128 = (1 << 62) - (1 << 34);

/// `x`, or what becomes `x` when the bias is added.
fn before_bias<W: Ranged>(x: [W; 2]) -> [W; 2] {
    if !DEPARTURE.get().unbiased {
        return x;
    }
    let bias = REDUCTION_BIAS.map(|word| W::ranging(Interval::exactly(word.into())));
    [x[0].wrapping_sub(bias[0]), x[1].wrapping_sub(bias[1])]
}

impl<A: BatchElement<Word = W, Unreduced = [W; 2]>, W: Ranged> BatchElement for Stated<A> {
    type Word = W;
    type Unreduced = [W; 2];
    const PARTS: usize = 2;
    type Constant = A::Constant;
    const BATCH: usize = A::BATCH;

    fn constant(constant: Goldilocks) -> A::Constant {
        A::constant(constant)
    }

    fn segment(width: usize) -> usize {
        A::segment(width) + usize::from(DEPARTURE.get().too_long)
    }

    fn widen(self) -> [W; 2] {
        let x = self.0.widen();
        are_within(&x, 0, u32::MAX.into());
        x
    }

    fn reduce(x: [W; 2]) -> Self {
        are_within(&x, -REDUCIBLE, REDUCIBLE);
        Self(A::reduce(before_bias(x)))
    }

    fn sbox<const N: usize>(x: &mut [[W; 2]; N], constants: &[A::Constant; N]) {
        for x in &mut *x {
            are_within(x, -REDUCIBLE, REDUCIBLE);
            *x = before_bias(*x);
        }
        A::sbox(x, constants);
        for x in &*x {
            are_within(x, -(1 << 33), 1 << 33);
        }
    }

    fn lift<const WIDTH: usize>(sum: W, part: usize, round: usize) -> W {
        let departure = DEPARTURE.get();
        if departure.unlifted.is_some_and(|first| first <= round) {
            return sum;
        }
        // There is none for the round too many: the last one.
        A::lift::<WIDTH>(sum, part, round.min(A::segment(WIDTH) - 1))
    }

    fn div_2exp(x: [W; 2], bits: u32) -> [W; 2] {
        let quotient = A::div_2exp(x, bits);
        if bits <= 10 {
            are_within(&x, 0, 1 << 62);
            are_within(&quotient, -(1 << 32), 1 << 62);
        }
        quotient
    }

    fn compact<const WIDTH: usize>(state: &mut [[W; 2]; WIDTH], _segment: usize) {
        for x in &mut state[1..] {
            are_within(x, -(1 << 61), 1 << 61);
            *x = Self::reduce(*x).widen();
        }
    }

    fn sbox_layer<const WIDTH: usize>(
        state: &mut [[W; 2]; WIDTH],
        constants: &[A::Constant; WIDTH],
    ) {
        // 35 times what an S-box returns, but for the first layer, whose words are halves of a representative, and the
        // first terminal one, after a segment.
        for x in &mut *state {
            are_within(x, -REDUCIBLE, REDUCIBLE);
            *x = before_bias(*x);
        }
        A::sbox_layer(state, constants);
        for x in &*state {
            are_within(x, -(1 << 33), 1 << 33);
        }
    }
}

/// Permutations of states of `element` one after the other, without a reduction between, which panics where a word could
/// wrap. `constant` is added wherever one is.
///
/// The second permutation leaves the ranges that the first one left, so that any number of them does. Where a sponge
/// overwrites elements, they have less range than those that it keeps.
pub fn run<A, const WIDTH: usize, const B: usize>(element: A, constant: A::Constant)
where
    A: BatchElement<Word: Ranged, Unreduced: PartialEq + Debug>,
{
    let rounds = Rounds::<A, WIDTH> {
        initial: Some(&[[constant; WIDTH]; 4]),
        internal: &[constant; 22],
        terminal: &[[constant; WIDTH]; 4],
    };
    let fresh = element.widen();
    let mut states = [[fresh; WIDTH]; B];
    rounds.permute_unreduced::<B>(&mut states);
    let first = states.map(|state| state.map(A::settle));
    for part in 0..A::PARTS {
        for x in first.as_flattened() {
            let kept = x[part].range();
            fresh[part].is_within(kept.low(), kept.high());
        }
    }
    states = first;
    rounds.permute_unreduced::<B>(&mut states);
    assert_eq!(states.map(|state| state.map(A::settle)), first);
    for x in states.as_flattened() {
        A::reduce(*x);
    }
}

/// [`run`] for every width and number of interleaved states.
pub fn run_all<A>(element: A, constant: A::Constant)
where
    A: BatchElement<Word: Ranged, Unreduced: PartialEq + Debug>,
{
    macro_rules! run_all {
        ($($width:literal),*) => {$(
            run::<_, $width, 1>(element, constant);
            run::<_, $width, 2>(element, constant);
            run::<_, $width, 3>(element, constant);
            run::<_, $width, 4>(element, constant);
        )*};
    }
    run_all!(8, 12, 16);
}

/// What [`run`] says of rounds that depart; nothing, if they may.
pub fn objection<A, const WIDTH: usize>(
    element: A,
    constant: A::Constant,
    departure: Departure,
) -> Option<String>
where
    A: BatchElement<Word: Ranged, Unreduced: PartialEq + Debug>,
{
    DEPARTURE.set(departure);
    let objection = panics(|| run::<A, WIDTH, 1>(element, constant));
    DEPARTURE.set(Departure::default());
    objection
}

/// The bias, the length of a segment and the lifts have to be what they are; lifts only in the first `lifted` rounds: what
/// they make positive, all later sums contain. `lifts` follows magnitudes alone, and does not see that.
pub fn check_departures<A, const WIDTH: usize>(element: A, constant: A::Constant, lifted: usize)
where
    A: BatchElement<Word: Ranged, Unreduced: PartialEq + Debug>,
{
    let objection = |departure| objection::<A, WIDTH>(element, constant, departure);
    let intact = Departure::default();
    assert_eq!(objection(intact), None);

    for round in 0..=lifted {
        let departure = Departure {
            unlifted: Some(round),
            ..intact
        };
        assert_eq!(objection(departure).is_some(), round < lifted, "{round}");
    }
    let unbiased = Departure {
        unbiased: true,
        ..intact
    };
    assert!(objection(unbiased).is_some());
    let too_long = Departure {
        too_long: true,
        ..intact
    };
    assert!(objection(too_long).is_some());
}
