//! The kernel against Plonky3 as published, against the paper, and against its own bounds.

extern crate std;

use core::fmt::Debug;
use std::vec::Vec;

use p3_field::{PackedValue, PrimeField64};
use p3_goldilocks::{
    MATRIX_DIAG_8_GOLDILOCKS, MATRIX_DIAG_12_GOLDILOCKS, MATRIX_DIAG_16_GOLDILOCKS,
    default_goldilocks_poseidon2_8, default_goldilocks_poseidon2_12,
    default_goldilocks_poseidon2_16,
};
use p3_patches_testing::goldilocks::{self as plain, EDGES, P, representative};
use p3_symmetric::Permutation;
use proptest::prelude::*;

use super::*;
use crate::poseidon2_batch::{Word, biases};

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
type Packed = <Goldilocks as p3_field::Field>::Packing;

/// Permutes a copy of `states` in groups of `B` and compares with the published permutation of each state.
fn check_interleaved<A, Published, const WIDTH: usize, const B: usize>(
    batched: &BatchedPoseidon2<WIDTH>,
    published: &Published,
    states: &[[A; WIDTH]],
) where
    A: BatchElement + PartialEq + Debug,
    Published: Permutation<[A; WIDTH]>,
{
    let expected: Vec<_> = states.iter().map(|&s| published.permute(s)).collect();
    let mut states = states.to_vec();
    batched.permute_interleaved::<A, B>(&mut states);
    assert_eq!(states, expected, "B = {B}");
}

/// All batch sizes, on edges in every position, on edges in one lane of one element, and on arbitrary values.
fn check_against_published<A, Published, const WIDTH: usize>(
    batched: &BatchedPoseidon2<WIDTH>,
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

#[test]
fn scalar_states_match_the_published_permutation() {
    check_against_published::<Goldilocks, _, 8>(
        &BatchedPoseidon2::default_8(),
        &default_goldilocks_poseidon2_8(),
    );
    check_against_published::<Goldilocks, _, 12>(
        &BatchedPoseidon2::default_12(),
        &default_goldilocks_poseidon2_12(),
    );
    check_against_published::<Goldilocks, _, 16>(
        &BatchedPoseidon2::default_16(),
        &default_goldilocks_poseidon2_16(),
    );
}

// On other targets, the packing is the scalar field or, on aarch64, a vector without a kernel of its own.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
#[test]
fn packed_states_match_the_published_permutation() {
    check_against_published::<Packed, _, 8>(
        &BatchedPoseidon2::default_8(),
        &default_goldilocks_poseidon2_8(),
    );
    check_against_published::<Packed, _, 12>(
        &BatchedPoseidon2::default_12(),
        &default_goldilocks_poseidon2_12(),
    );
    check_against_published::<Packed, _, 16>(
        &BatchedPoseidon2::default_16(),
        &default_goldilocks_poseidon2_16(),
    );
}

/// The paper's permutation with this one's constants.
fn textbook<const WIDTH: usize>(
    batched: &BatchedPoseidon2<WIDTH>,
    diagonal: [Goldilocks; WIDTH],
) -> plain::Poseidon2<WIDTH> {
    let canonical = |x: Goldilocks| x.as_canonical_u64();
    plain::Poseidon2 {
        initial: batched
            .initial
            .iter()
            .map(|row| row.map(canonical))
            .collect(),
        internal: batched.internal.iter().copied().map(canonical).collect(),
        terminal: batched
            .terminal
            .iter()
            .map(|row| row.map(canonical))
            .collect(),
        diagonal: diagonal.map(canonical),
    }
}

/// One state, alone and as the second of two, against the paper.
fn check_against_textbook<const WIDTH: usize>(
    batched: &BatchedPoseidon2<WIDTH>,
    diagonal: [Goldilocks; WIDTH],
    state: [u64; WIDTH],
) {
    let expected = textbook(batched, diagonal).permute(state);
    let mut states = [
        [Goldilocks::new(u64::MAX); WIDTH],
        state.map(Goldilocks::new),
    ];
    batched.permute_many(&mut states);
    assert_eq!(states[1].map(|x| x.as_canonical_u64()), expected);
}

proptest! {
    #[test]
    fn width_8_matches_the_paper(state in prop::array::uniform8(representative())) {
        check_against_textbook(&BatchedPoseidon2::default_8(), MATRIX_DIAG_8_GOLDILOCKS, state);
    }

    #[test]
    fn width_12_matches_the_paper(state in prop::array::uniform12(representative())) {
        check_against_textbook(&BatchedPoseidon2::default_12(), MATRIX_DIAG_12_GOLDILOCKS, state);
    }

    #[test]
    fn width_16_matches_the_paper(state in prop::array::uniform16(representative())) {
        check_against_textbook(&BatchedPoseidon2::default_16(), MATRIX_DIAG_16_GOLDILOCKS, state);
    }
}

/// The permutations of `0, 1, ..., WIDTH - 1` with the default constants, first and last element.
#[test]
fn known_answers() {
    fn ends<const WIDTH: usize>(batched: &BatchedPoseidon2<WIDTH>) -> [u64; 2] {
        let mut states = [core::array::from_fn(|i| Goldilocks::new(i as u64))];
        batched.permute_many(&mut states);
        [states[0][0], states[0][WIDTH - 1]].map(|x| x.as_canonical_u64())
    }
    assert_eq!(
        ends(&BatchedPoseidon2::default_8()),
        [0x020c_f04a_1b21_4d14, 0xf415_abb9_24da_395b]
    );
    assert_eq!(
        ends(&BatchedPoseidon2::default_12()),
        [0xf292_ab67_c0f1_4b03, 0x0aaf_4489_f1f4_0166]
    );
    assert_eq!(
        ends(&BatchedPoseidon2::default_16()),
        [0x6fb6_3205_bdd0_b598, 0xf865_f600_9411_eece]
    );
}

// ---- The primitives, on unreduced values that a permutation of random states does not reach ----

/// The field element that two halves stand for.
fn value([low, high]: [u64; 2]) -> u64 {
    ((u128::from(low) + (u128::from(high) << 32)) % u128::from(P)) as u64
}

/// Halves whose reduction is within 2 of its carry, and arbitrary ones.
fn halves() -> impl Strategy<Value = [u64; 2]> {
    const LIMIT: u64 = 1 << 62;
    let near_carry = (any::<u32>(), 0..1u64 << 30, -2i128..=2).prop_filter_map(
        "low is in range",
        |(low_of_high, top, offset)| {
            // low + (2^32 - 1) top + 2^32 low_of_high = 2^64 + offset
            let low = (1i128 << 64) + offset
                - (i128::from(low_of_high) << 32)
                - i128::from(top) * 0xffff_ffff;
            let low = u64::try_from(low).ok().filter(|low| *low < LIMIT)?;
            Some([low, top << 32 | u64::from(low_of_high)])
        },
    );
    let edge = || prop::sample::select(EDGES.to_vec()).prop_map(|edge| edge % LIMIT);
    prop_oneof![[0..LIMIT, 0..LIMIT], near_carry, [edge(), edge()]]
}

/// The value of an element all of whose lanes are alike.
fn uniform<A: PackedValue<Value = Goldilocks>>(x: A) -> u64 {
    let lanes: Vec<u64> = x.as_slice().iter().map(|x| x.as_canonical_u64()).collect();
    assert!(lanes.iter().all(|lane| *lane == lanes[0]), "{lanes:x?}");
    lanes[0]
}

macro_rules! primitives {
    ($name:ident, $element:ty) => {
        mod $name {
            use super::*;

            proptest! {
                #![proptest_config(ProptestConfig::with_cases(4096))]

                #[test]
                fn reduce(halves in halves()) {
                    let x = <$element>::from_halves(halves);
                    prop_assert_eq!(uniform(<$element>::reduce(x)), value(halves));
                }

                #[test]
                fn widen_then_reduce(x in representative()) {
                    let reduced = <$element>::reduce(<$element>::from(Goldilocks::new(x)).widen());
                    prop_assert_eq!(uniform(reduced), x % P);
                }

                #[test]
                fn div_2exp(halves in halves(), bits in prop::sample::select(std::vec![1, 2, 3, 4, 5, 32])) {
                    let mut x = <$element>::div_2exp(<$element>::from_halves(halves), bits);
                    // The words may be negative: a bias, zero modulo the order, as in the rounds.
                    let bias = <$element>::from_halves(biases(8)[1]);
                    for part in 0..<$element>::PARTS {
                        x[part] = x[part].wrapping_add(bias[part]);
                    }
                    let quotient = uniform(<$element>::reduce(x));
                    let back = (0..bits).fold(quotient, |x, _| ((u128::from(x) * 2) % u128::from(P)) as u64);
                    prop_assert_eq!(back, value(halves));
                }
            }
        }
    };
}

primitives!(scalar, Goldilocks);
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
primitives!(packed, Packed);
// The portable pair is what `Goldilocks` uses on other targets; its operations equal those of the vector.
mod portable_pair {
    use super::*;
    use crate::poseidon2_batch::Pair;
    use crate::poseidon2_batch_pair::Halves;

    proptest! {
        #[test]
        fn equals_the_vector(x in halves(), y in halves(), bits in 1u32..=32) {
            let (a, b) = (Halves::new(x), Halves::new(y));
            prop_assert_eq!(a.wrapping_add(b).words(), x.wrapping_add(y));
            prop_assert_eq!(a.wrapping_sub(b).words(), x.wrapping_sub(y));
            prop_assert_eq!(a.shl(bits).words(), x.shl(bits));
            prop_assert_eq!(a.div_2exp(bits).words(), x.div_2exp(bits));
            prop_assert_eq!(Halves::split(x[0]).words(), <[u64; 2]>::split(x[0]));
        }
    }
}

// ---- The bounds, for all inputs ----

mod bounds {
    use p3_patches_testing::interval::Interval;

    use super::*;
    use crate::poseidon2_batch::{Vector, VectorElement, external_rounds, internal_rounds};

    /// A word of 64 bits: signed between the steps of a round, unsigned where it is taken apart.
    #[derive(Clone, Copy, Debug)]
    struct Half(Interval);

    impl Word for Half {
        fn wrapping_add(self, rhs: Self) -> Self {
            Self(self.0.plus(rhs.0).in_word(64))
        }

        fn wrapping_sub(self, rhs: Self) -> Self {
            Self(self.0.minus(rhs.0).in_word(64))
        }

        /// `reduce` shifts out the upper half of a word, which it has accounted for: only it shifts by 32.
        fn shl(self, bits: u32) -> Self {
            if bits == 32 && self.0.high() >> 32 != 0 {
                assert!(self.0.low() >= 0);
                return Self(Interval::new(0, (1 << 64) - (1 << 32)));
            }
            Self(self.0.times_power_of_2(bits).in_word(64))
        }
    }

    impl Vector for Half {
        fn times_epsilon(self) -> Self {
            assert!(self.0.low() >= 0 && self.0.high() < 1 << 32);
            Self(Interval::new(
                self.0.low() * 0xffff_ffff,
                self.0.high() * 0xffff_ffff,
            ))
        }

        fn splat(x: u64) -> Self {
            Self(Interval::exactly(x.into()))
        }

        fn and(self, rhs: Self) -> Self {
            assert!(self.0.low() >= 0, "a negative value is masked");
            Self(Interval::new(0, rhs.0.high().min(self.0.high())))
        }

        fn shr(self, bits: u32) -> Self {
            Self(self.0.over_power_of_2(bits))
        }

        fn add_modulo(x: Self, y: Self) -> Self {
            assert!(x.0.low() >= 0 && x.0.high() <= (1 << 64) - (1 << 32));
            assert!(y.0.low() >= 0 && y.0.high() <= (1 << 64) - (1 << 33));
            Self(Interval::new(0, u64::MAX.into()))
        }
    }

    /// Any element. The state, the constants and the S-box's results are all representatives there are.
    #[derive(Clone, Copy, Debug)]
    struct Any;

    impl From<Goldilocks> for Any {
        fn from(_: Goldilocks) -> Self {
            Self
        }
    }

    impl VectorElement for Any {
        type Vector = Half;

        fn into_vector(self) -> Half {
            Half(Interval::new(0, u64::MAX.into()))
        }

        fn from_vector(vector: Half) -> Self {
            assert!(vector.0.low() >= 0 && vector.0.high() <= u64::MAX.into());
            Self
        }

        fn x7<const N: usize>(x: [Self; N]) -> [Self; N] {
            x
        }
    }

    fn run<A: BatchElement, const WIDTH: usize, const B: usize>(element: A) {
        let constants = [[Goldilocks::new(0); WIDTH]; 4];
        let mut states = [[element; WIDTH]; B];
        external_rounds::<A, WIDTH, true>(&mut states[0], &constants);
        internal_rounds::<A, WIDTH, B>(&mut states, &[Goldilocks::new(0); 22]);
        external_rounds::<A, WIDTH, false>(&mut states[0], &constants);
    }

    #[test]
    fn no_half_wraps() {
        run::<_, 8, 1>(Any);
        run::<_, 8, 4>(Any);
        run::<_, 12, 1>(Any);
        run::<_, 12, 4>(Any);
        run::<_, 16, 1>(Any);
        run::<_, 16, 4>(Any);
    }

    /// What [`no_half_wraps`] sees when a bias is too small or a segment too long.
    mod broken {
        use super::*;

        /// [`Any`] whose biases are smaller by `SHIFT` bits.
        #[derive(Clone, Copy, Debug)]
        struct Broken<const SHIFT: u32>;

        impl<const SHIFT: u32> From<Goldilocks> for Broken<SHIFT> {
            fn from(_: Goldilocks) -> Self {
                Self
            }
        }

        impl<const SHIFT: u32> BatchElement for Broken<SHIFT> {
            type Word = Half;
            type Unreduced = [Half; 2];
            const PARTS: usize = 2;

            fn from_halves(halves: [u64; 2]) -> [Half; 2] {
                Any::from_halves(halves.map(|word| word >> SHIFT))
            }

            fn widen(self) -> [Half; 2] {
                Any.widen()
            }

            fn div_2exp(x: [Half; 2], bits: u32) -> [Half; 2] {
                Any::div_2exp(x, bits)
            }

            fn reduce(x: [Half; 2]) -> Self {
                Any::reduce(x);
                Self
            }

            fn x7<const N: usize>(x: [Self; N]) -> [Self; N] {
                x
            }
        }

        #[test]
        fn intact() {
            run::<_, 8, 1>(Broken::<0>);
        }

        #[test]
        #[should_panic(expected = "negative")]
        fn bias_too_small() {
            run::<_, 8, 1>(Broken::<3>);
        }

        /// Words that grow as in a segment without end.
        #[test]
        #[should_panic(expected = "wraps in 64 bits")]
        fn word_too_large() {
            let sixteen = |x: Half| (0..16).fold(x, |sum, _| sum.wrapping_add(x));
            (0..8).fold(Half(Interval::new(0, 1 << 33)), |x, _| sixteen(x));
        }
    }
}
