//! The kernel against Plonky3 as published, operation by operation next to each carry, and against its own bounds.
//!
//! [`Portable`] runs the kernel's text on one lane of ordinary integers, so that all of this is tested on every machine.

extern crate std;

use std::vec::Vec;

use p3_field::{PackedValue, PrimeField64};
use p3_goldilocks::{
    default_goldilocks_poseidon2_8, default_goldilocks_poseidon2_12,
    default_goldilocks_poseidon2_16,
};
use p3_patches_testing::goldilocks::{self as plain, EDGES, P, representative};
use p3_patches_testing::interval::Interval;
use p3_patches_testing::known_answers::poseidon2;
use p3_symmetric::Permutation;
use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::poseidon2_batch::{Rounds, Word};
use crate::poseidon2_limbs::{self, Limb, LimbElement};

#[cfg(target_arch = "x86_64")]
mod mutations;
#[cfg(target_arch = "x86_64")]
mod smt;
#[cfg(target_arch = "x86_64")]
// Additions of limbs ask for less.
#[allow(dead_code)]
#[path = "../../batched-permute/src/tests/words.rs"]
mod words;

const MASK_52: u64 = (1 << 52) - 1;

/// One lane.
#[derive(Clone, Copy, Debug)]
struct Portable(Goldilocks);

#[derive(Clone, Copy, Debug)]
struct PortableLimb(u64);

fn wide_product(a: u64, b: u64) -> u128 {
    u128::from(a & MASK_52) * u128::from(b & MASK_52)
}

impl Word for PortableLimb {
    fn wrapping_add(self, rhs: Self) -> Self {
        Self(self.0.wrapping_add(rhs.0))
    }

    fn wrapping_sub(self, rhs: Self) -> Self {
        Self(self.0.wrapping_sub(rhs.0))
    }

    fn shl(self, bits: u32) -> Self {
        Self(self.0 << bits)
    }
}

impl Limb for PortableLimb {
    fn splat(x: i64) -> Self {
        Self(x as u64)
    }

    fn and(self, rhs: Self) -> Self {
        Self(self.0 & rhs.0)
    }

    fn sar(self, bits: u32) -> Self {
        Self((self.0 as i64 >> bits) as u64)
    }

    fn shr(self, bits: u32) -> Self {
        Self(self.0 >> bits)
    }

    fn add_product_low(self, a: Self, b: Self) -> Self {
        Self(self.0.wrapping_add(wide_product(a.0, b.0) as u64 & MASK_52))
    }

    fn add_product_high(self, a: Self, b: Self) -> Self {
        Self(self.0.wrapping_add((wide_product(a.0, b.0) >> 52) as u64))
    }

    fn low_32_times_epsilon(self) -> Self {
        Self(u64::from(self.0 as u32) * 0xffff_ffff)
    }

    fn add_modulo(x: Self, y: Self) -> Self {
        let (sum, carried) = x.0.overflowing_add(y.0);
        Self(sum + 0xffff_ffff * u64::from(carried))
    }
}

impl LimbElement for Portable {
    type Limb = PortableLimb;

    fn into_vector(self) -> PortableLimb {
        // SAFETY: `Goldilocks` is `repr(transparent)` over a `u64`.
        PortableLimb(unsafe { core::mem::transmute::<Goldilocks, u64>(self.0) })
    }

    fn from_vector(vector: PortableLimb) -> Self {
        Self(Goldilocks::new(vector.0))
    }
}

/// Elements in limbs as vectors of ordinary elements.
trait Lanes: LimbElement {
    const LANES: usize;
    fn from_lanes(lanes: impl FnMut(usize) -> Goldilocks) -> Self;
    fn lane(&self, lane: usize) -> Goldilocks;
    fn word(x: i64) -> Self::Limb;
    fn first(word: Self::Limb) -> i64;
}

impl Lanes for Portable {
    const LANES: usize = 1;

    fn from_lanes(mut lanes: impl FnMut(usize) -> Goldilocks) -> Self {
        Self(lanes(0))
    }

    fn lane(&self, _lane: usize) -> Goldilocks {
        self.0
    }

    fn word(x: i64) -> PortableLimb {
        PortableLimb::splat(x)
    }

    fn first(word: PortableLimb) -> i64 {
        word.0 as i64
    }
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
impl Lanes for PackedGoldilocksAVX512 {
    const LANES: usize = <Self as PackedValue>::WIDTH;

    fn from_lanes(lanes: impl FnMut(usize) -> Goldilocks) -> Self {
        Self::from_fn(lanes)
    }

    fn lane(&self, lane: usize) -> Goldilocks {
        self.as_slice()[lane]
    }

    fn word(x: i64) -> Self::Limb {
        Limb::splat(x)
    }

    fn first(word: Self::Limb) -> i64 {
        // SAFETY: a vector is eight words.
        let words: [i64; 8] = unsafe { core::mem::transmute(word) };
        assert_eq!(words, [words[0]; 8]);
        words[0]
    }
}

// ---- Whole permutations ----

/// All batch sizes, and all counts up to more than two groups, on edges in every position and lane, and on arbitrary values.
fn check_against_published<A: Lanes, const WIDTH: usize>(
    batched: &BatchedPoseidon2<A, WIDTH>,
    published: &impl Permutation<[Goldilocks; WIDTH]>,
) {
    let mut rng = SmallRng::seed_from_u64(WIDTH as u64);
    let mut states: Vec<[A; WIDTH]> = Vec::new();
    for edge in EDGES.map(Goldilocks::new) {
        states.push([A::from_lanes(|_| edge); WIDTH]);
        for lane in 0..A::LANES {
            let element = rng.random_range(0..WIDTH);
            states.push(core::array::from_fn(|i| {
                A::from_lanes(|l| {
                    let value = rng.random();
                    if (i, l) == (element, lane) {
                        edge
                    } else {
                        value
                    }
                })
            }));
        }
    }
    for _ in 0..512 / A::LANES {
        states.push(core::array::from_fn(|_| {
            A::from_lanes(|_| Goldilocks::new(EDGES[rng.random_range(0..EDGES.len())]))
        }));
    }
    let check = |after: &[[A; WIDTH]], what: &str| {
        for (after, before) in after.iter().zip(&states) {
            for lane in 0..A::LANES {
                let expected = published.permute(before.map(|x| x.lane(lane)));
                assert_eq!(after.map(|x| x.lane(lane)), expected, "{what}");
            }
        }
    };
    for count in 0..6 {
        let mut batch = states[..count].to_vec();
        batched.permute_many(&mut batch);
        check(&batch, "permute_many");
    }
    let mut all = states.clone();
    batched.permute_interleaved::<1>(&mut all);
    check(&all, "B = 1");
    all.copy_from_slice(&states);
    batched.permute_interleaved::<3>(&mut all);
    check(&all, "B = 3");
    all.copy_from_slice(&states);
    batched.permute_many(&mut all);
    check(&all, "B = 2");
}

fn check_all_widths<A: Lanes>() {
    check_against_published::<A, 8>(
        &BatchedPoseidon2::default_8(),
        &default_goldilocks_poseidon2_8(),
    );
    check_against_published::<A, 12>(
        &BatchedPoseidon2::default_12(),
        &default_goldilocks_poseidon2_12(),
    );
    check_against_published::<A, 16>(
        &BatchedPoseidon2::default_16(),
        &default_goldilocks_poseidon2_16(),
    );
}

#[test]
fn portable_lanes_match_the_published_permutation() {
    check_all_widths::<Portable>();
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
#[test]
fn packed_states_match_the_published_permutation() {
    check_all_widths::<PackedGoldilocksAVX512>();
}

/// States of `P` in the kernel's elements, which have as many lanes.
fn check_known_answers<A: Lanes, P: PackedValue<Value = Goldilocks>>() {
    fn check<A: Lanes, P: PackedValue<Value = Goldilocks>, const WIDTH: usize>(
        batched: &BatchedPoseidon2<A, WIDTH>,
    ) {
        poseidon2().check::<P>(|states| {
            let element = |x: P| A::from_lanes(|lane| x.as_slice()[lane]);
            let mut elements: Vec<[A; WIDTH]> = states.iter().map(|x| x.map(element)).collect();
            batched.permute_many(&mut elements);
            for (state, elements) in states.iter_mut().zip(elements) {
                *state = elements.map(|x| P::from_fn(|lane| x.lane(lane)));
            }
        });
    }
    check::<A, P, 8>(&BatchedPoseidon2::default_8());
    check::<A, P, 12>(&BatchedPoseidon2::default_12());
    check::<A, P, 16>(&BatchedPoseidon2::default_16());
}

#[test]
fn known_answers() {
    check_known_answers::<Portable, Goldilocks>();
    #[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
    check_known_answers::<PackedGoldilocksAVX512, PackedGoldilocksAVX512>();
}

// ---- The operations, on limbs that a permutation of random states does not reach ----

/// The field element that two limbs stand for.
fn value([l, h]: [i64; 2]) -> u64 {
    plain::residue(i128::from(l) + (i128::from(h) << 52))
}

/// Close to a multiple of `2^bits`, that is, to a carry, within 63 bits and a sign.
fn near_carry(bits: u32) -> impl Strategy<Value = i64> {
    (0u32..=63 - bits, any::<i64>(), -3i64..=3).prop_map(move |(top, x, offset)| {
        let x = x >> bits >> top << bits;
        x.saturating_add(offset)
            .clamp(i64::MIN + (1 << 32), i64::MAX - (1 << 32))
    })
}

/// Lower limbs: arbitrary, or such that a fold of the upper limb moves them over a multiple of `2^52`.
fn lower() -> impl Strategy<Value = i64> {
    prop_oneof![
        near_carry(52),
        (near_carry(52), -(1i64 << 19)..1 << 19).prop_map(|(x, fold)| x.saturating_add(fold))
    ]
}

fn upper() -> impl Strategy<Value = i64> {
    prop_oneof![near_carry(44), near_carry(12), near_carry(0)].prop_map(|h| h >> 2)
}

/// Representatives of an operand: carried, with any bits above the low 52 of the lower limb.
fn operand() -> impl Strategy<Value = [i64; 2]> {
    const H: [i64; 6] = [
        0,
        1,
        (1 << 44) - 1,
        1 << 44,
        (1 << 44) + (1 << 11) - 1,
        1 << 43,
    ];
    let l = prop_oneof![
        0..=MASK_52 as i64,
        prop::sample::select(std::vec![0, 1, 2, MASK_52 as i64 - 1, MASK_52 as i64])
    ];
    let h = prop_oneof![
        0..(1i64 << 44) + (1 << 11),
        prop::sample::select(H.to_vec())
    ];
    [l.boxed(), h.boxed()]
}

fn uniform<A: Lanes>(x: A) -> u64 {
    let first = x.lane(0).as_canonical_u64();
    assert!((0..A::LANES).all(|lane| x.lane(lane).as_canonical_u64() == first));
    first
}

macro_rules! operations {
    ($name:ident, $element:ty) => {
        mod $name {
            use super::*;

            type A = $element;

            fn words(x: [i64; 2]) -> [<A as LimbElement>::Limb; 2] {
                x.map(A::word)
            }

            fn firsts(x: [<A as LimbElement>::Limb; 2]) -> [i64; 2] {
                x.map(A::first)
            }

            proptest! {
                #![proptest_config(ProptestConfig::with_cases(4096))]

                #[test]
                fn reduce(l in lower(), h in upper()) {
                    let h = h.clamp(-(1 << 62) + (1 << 13), (1 << 62) - (1 << 13));
                    prop_assert_eq!(uniform(A::reduce(words([l, h]))), value([l, h]));
                }

                #[test]
                fn widen_then_reduce(x in representative()) {
                    let x = A::from_lanes(|_| Goldilocks::new(x));
                    prop_assert_eq!(uniform(A::reduce(x.widen())), uniform(x));
                }

                /// `operand` accepts a lower limb that is negative by less than its constant's zero.
                #[test]
                fn operand_is_carried(l in lower(), h in upper(), c in representative()) {
                    let l = l.rem_euclid(1 << 61) - (5 << 52);
                    let constant = A::constant(Goldilocks::new(c));
                    let [low, high] = firsts(poseidon2_limbs::operand(words([l, h]), constant));
                    prop_assert!((0..(1 << 44) + (1 << 11)).contains(&high));
                    let carried = value([low & MASK_52 as i64, high]);
                    prop_assert_eq!(carried, plain::add(value([l, h]), c));
                }

                #[test]
                fn tail_is_compact(l in lower(), h in upper()) {
                    let [low, high] = firsts(A::compact_tail(words([l, h])));
                    prop_assert!((0..1 << 52).contains(&low));
                    prop_assert!((-(1 << 11)..(1 << 44) + (1 << 11)).contains(&high));
                    prop_assert_eq!(value([low, high]), value([l, h]));
                }

                #[test]
                fn x7(x in operand(), above in any::<i64>()) {
                    let mut x7 = [words([x[0] ^ above << 52, x[1]])];
                    poseidon2_limbs::x7(&mut x7);
                    let [result] = x7.map(firsts);
                    prop_assert_eq!(value(result), plain::power_7(value(x)));
                    prop_assert!(((1 << 52) - (1 << 48)..5 << 52).contains(&result[0]));
                    prop_assert!((-(1 << 48)..3 << 52).contains(&result[1]));
                }

                #[test]
                fn div_2exp(
                    l in lower(),
                    h in upper(),
                    bits in prop::sample::select(std::vec![1, 2, 3, 4, 5, 6, 8, 10, 32]),
                ) {
                    let quotient = value(firsts(A::div_2exp(words([l, h]), bits)));
                    prop_assert_eq!(plain::mul(quotient, 1 << bits), value([l, h]));
                }
            }
        }
    };
}

operations!(portable, Portable);
#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
operations!(packed, PackedGoldilocksAVX512);

// ---- The bounds, for all inputs ----

mod bounds {
    use super::*;

    /// A word of 64 bits. Products accept only factors of 52 bits, apart from those whose upper bits are not meant.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Bounds(pub Interval);

    impl Bounds {
        fn signed(self) -> Self {
            assert!(
                self.0.low() >= -(1 << 63) && self.0.high() < 1 << 63,
                "{:x?} is not a signed word",
                self.0
            );
            self
        }

        fn is_factor(self) {
            assert!(
                self.0.low() >= 0 && self.0.high() < 1 << 52,
                "{:x?} is no factor of 52 bits",
                self.0
            );
        }
    }

    impl Word for Bounds {
        fn wrapping_add(self, rhs: Self) -> Self {
            Self(self.0.plus(rhs.0).in_word(64))
        }

        fn wrapping_sub(self, rhs: Self) -> Self {
            Self(self.0.minus(rhs.0).in_word(64))
        }

        /// `reduce` shifts out the upper bits of a word, which it has accounted for: only it shifts by 52.
        fn shl(self, bits: u32) -> Self {
            if bits == 52 {
                return Self(Interval::new(0, (1 << 64) - (1 << 52)));
            }
            Self(self.0.times_power_of_2(bits).in_word(64))
        }
    }

    impl Limb for Bounds {
        fn splat(x: i64) -> Self {
            Self(Interval::exactly(x.into()))
        }

        /// Masks only.
        fn and(self, rhs: Self) -> Self {
            let mask = rhs.0.high();
            assert!(rhs.0.low() == mask && (mask + 1) & mask == 0);
            Self(Interval::new(0, mask))
        }

        fn sar(self, bits: u32) -> Self {
            let Self(x) = self.signed();
            Self(Interval::new(x.low() >> bits, x.high() >> bits))
        }

        fn shr(self, bits: u32) -> Self {
            Self(self.0.over_power_of_2(bits))
        }

        fn add_product_low(self, a: Self, b: Self) -> Self {
            a.is_factor();
            b.is_factor();
            self.wrapping_add(Self(Interval::new(0, MASK_52.into())))
        }

        fn add_product_high(self, a: Self, b: Self) -> Self {
            a.is_factor();
            b.is_factor();
            let high = (a.0.high() * b.0.high()) >> 52;
            self.wrapping_add(Self(Interval::new(0, high)))
        }

        fn low_52(self) -> Self {
            Self(Interval::new(0, MASK_52.into()))
        }

        fn low_32_times_epsilon(self) -> Self {
            Self(Interval::new(0, 0xffff_ffff * 0xffff_ffff))
        }

        fn add_modulo(x: Self, y: Self) -> Self {
            assert!(x.0.low() >= 0);
            assert!(y.0.low() >= 0 && y.0.high() <= (1 << 64) - (1 << 32));
            Self(Interval::new(0, u64::MAX.into()))
        }
    }

    /// Any element: all representatives there are.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Any;

    impl LimbElement for Any {
        type Limb = Bounds;

        fn into_vector(self) -> Bounds {
            Bounds(Interval::new(0, u64::MAX.into()))
        }

        fn from_vector(vector: Bounds) -> Self {
            assert!(vector.0.low() >= 0 && vector.0.high() <= u64::MAX.into());
            Self
        }
    }

    /// The largest constant in either limb.
    fn constant() -> [i64; 2] {
        let [l, _] = Any::constant(Goldilocks::new(MASK_52));
        let [_, h] = Any::constant(Goldilocks::new(P - 1));
        [l, h]
    }

    /// [`Any`], with what the documentation states of the operations of a round.
    #[derive(Clone, Copy, Debug)]
    struct Stated;

    #[track_caller]
    fn are_within(x: &[Bounds; 2], l: [i128; 2], h: [i128; 2]) {
        for (Bounds(x), [low, high]) in x.iter().zip([l, h]) {
            assert!(
                low <= x.low() && x.high() <= high,
                "{x:x?} leaves [{low:x}, {high:x}]"
            );
        }
    }

    impl BatchElement for Stated {
        type Word = Bounds;
        type Unreduced = [Bounds; 2];
        const PARTS: usize = 2;
        type Constant = [i64; 2];
        const BATCH: usize = 1;

        fn constant(constant: Goldilocks) -> [i64; 2] {
            Any::constant(constant)
        }

        fn segment(width: usize) -> usize {
            Any::segment(width)
        }

        fn widen(self) -> [Bounds; 2] {
            Any.widen()
        }

        fn reduce(x: [Bounds; 2]) -> Self {
            let (l, h) = ((1 << 63) - (1 << 32), (1 << 62) - (1 << 13));
            are_within(&x, [-l + 1, l - 1], [-h + 1, h - 1]);
            Any::reduce(x);
            Self
        }

        fn sbox<const N: usize>(x: &mut [[Bounds; 2]; N], constants: &[[i64; 2]; N]) {
            // In external and internal rounds alike.
            for (x, constant) in x.iter().zip(constants) {
                let [l, h] = [0, 1].map(|part| x[part].wrapping_add(Bounds::splat(constant[part])));
                are_within(
                    &[l, h],
                    [1 << 19, (1 << 63) - (1 << 19) - 1],
                    [-(1 << 63), (1 << 63) - 1],
                );
            }
            Any::sbox(x, constants);
            for x in x {
                are_within(
                    x,
                    [(1 << 52) - (1 << 48), (5 << 52) - 1],
                    [-(1 << 48), (3 << 52) - 1],
                );
            }
        }

        fn sbox_layer<const WIDTH: usize>(
            state: &mut [[Bounds; 2]; WIDTH],
            constants: &[[i64; 2]; WIDTH],
        ) {
            for x in &*state {
                are_within(x, [0, 184 << 52], [-(8 << 52), 106 << 52]);
            }
            crate::poseidon2_batch::sbox_in_groups::<Self, WIDTH, 4>(state, constants);
        }

        fn lift<const WIDTH: usize>(sum: Bounds, part: usize, _round: usize) -> Bounds {
            let Bounds(x) = sum;
            let [low, high] = [[0, 6 << 52], [-(1 << 48), (3 << 52) + (1 << 48)]][part];
            assert!(
                low <= x.low() && x.high() <= high,
                "a sum is in {x:x?}, not [{low:x}, {high:x}]"
            );
            sum
        }

        fn div_2exp(x: [Bounds; 2], bits: u32) -> [Bounds; 2] {
            let quotient = Any::div_2exp(x, bits);
            for (part, more) in [(0, 1 << 52), (1, 1 << 44)] {
                let magnitude = |x: Bounds| x.0.high().max(-x.0.low());
                assert!(magnitude(quotient[part]) <= (magnitude(x[part]) >> bits) + 1 + more);
            }
            quotient
        }

        fn compact<const WIDTH: usize>(state: &mut [[Bounds; 2]; WIDTH], segment: usize) {
            // Not 766: before the first segment, an element of a pair is up to 2, half a sum of two and a quotient's carry.
            for x in &state[1..] {
                let limit = 1022 << 52;
                are_within(x, [-limit, limit], [-limit, limit]);
            }
            Any::compact(state, segment);
        }

        fn compact_tail(tail: [Bounds; 2]) -> [Bounds; 2] {
            let limit = 1425 << 52;
            are_within(&tail, [-limit, limit], [-limit, limit]);
            Any::compact_tail(tail)
        }

        fn settle(x: [Bounds; 2]) -> [Bounds; 2] {
            let limit = (1 << 63) - (1 << 19) - 1;
            are_within(&x, [-limit, limit], [-limit, limit]);
            Any::settle(x)
        }
    }

    /// Permutations one after the other, without a reduction between them: the second, of what a sponge keeps of the first or
    /// overwrites, leaves no more than that, so that any number of them does.
    fn run<const WIDTH: usize, const B: usize>(constant: [i64; 2], internal: usize) {
        let external = [[constant; WIDTH]; 4];
        let rounds = Rounds::<Stated, WIDTH> {
            initial: Some(&external),
            internal: &std::vec![constant; internal],
            terminal: &external,
        };
        let fresh = Stated.widen();
        let mut states = [[fresh; WIDTH]; B];
        rounds.permute_unreduced::<B>(&mut states);
        // What a sponge keeps, or overwrites.
        let hull = |x: Bounds, y: Bounds| {
            let low = x.0.low().min(y.0.low());
            Bounds(Interval::new(low, x.0.high().max(y.0.high())))
        };
        let mixed = |x: [Bounds; 2]| [hull(x[0], fresh[0]), hull(x[1], fresh[1])];
        let first = states.map(|state| state.map(|x| mixed(Stated::settle(x))));
        states = first;
        rounds.permute_unreduced::<B>(&mut states);
        for (x, before) in states.as_flattened().iter().zip(first.as_flattened()) {
            let limits = |x: Bounds| [x.0.low(), x.0.high()];
            are_within(&Stated::settle(*x), limits(before[0]), limits(before[1]));
        }
        for x in states.as_flattened() {
            Stated::reduce(*x);
        }
    }

    /// Up to more internal rounds than any security level asks for.
    fn run_long<const WIDTH: usize>() {
        for constant in [constant(), Any::constant(Goldilocks::new(0))] {
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

    /// What [`no_limb_wraps`] sees without the zero that element 0 of an internal round needs.
    #[test]
    #[should_panic(expected = "leaves")]
    fn constants_without_their_zero() {
        let [l, h] = constant();
        let constant = [l - (8 << 52), h + 8];
        run::<8, 1>(constant, 2);
    }

    /// What [`no_limb_wraps`] sees in a segment without end.
    #[test]
    #[should_panic(expected = "wraps in 64 bits")]
    fn elements_that_are_never_compacted() {
        let sum = Bounds(Interval::new(0, 6 << 52));
        (0..5).fold(sum, |x, _| sum.wrapping_sub(x.shl(2)));
    }
}
