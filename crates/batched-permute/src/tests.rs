//! The kernel against Plonky3 as published, against the paper, and against its own bounds.

extern crate std;

use p3_field::PrimeField64;
use p3_goldilocks::{
    MATRIX_DIAG_8_GOLDILOCKS, MATRIX_DIAG_12_GOLDILOCKS, MATRIX_DIAG_16_GOLDILOCKS,
    default_goldilocks_poseidon2_8, default_goldilocks_poseidon2_12,
    default_goldilocks_poseidon2_16,
};
use p3_patches_testing::goldilocks::{self as plain, representative};
use p3_patches_testing::interval::Interval;
use proptest::prelude::*;

use self::differential::{check_against_published, reductions};
use super::*;
use crate::poseidon2_batch::Word;
use crate::poseidon2_batch_pair::{Halves, Pair};

mod differential;
#[cfg(target_arch = "x86_64")]
mod mutations;
mod smt;
mod words;

#[cfg(any(
    all(target_arch = "x86_64", target_feature = "avx2"),
    all(target_arch = "wasm32", target_feature = "simd128")
))]
type Packed = <Goldilocks as p3_field::Field>::Packing;

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
#[cfg(any(
    all(target_arch = "x86_64", target_feature = "avx2"),
    all(target_arch = "wasm32", target_feature = "simd128")
))]
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
    batched: &BatchedPoseidon2<Goldilocks, WIDTH>,
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
    batched: &BatchedPoseidon2<Goldilocks, WIDTH>,
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

#[test]
fn known_answers() {
    differential::check_known_answers::<Goldilocks>();
    #[cfg(any(
        all(target_arch = "x86_64", target_feature = "avx2"),
        all(target_arch = "wasm32", target_feature = "simd128")
    ))]
    differential::check_known_answers::<Packed>();
}

reductions!(scalar, Goldilocks, |words| [Halves::new(words)]);
#[cfg(any(
    all(target_arch = "x86_64", target_feature = "avx2"),
    all(target_arch = "wasm32", target_feature = "simd128")
))]
reductions!(packed, Packed, |words: [u64; 2]| words
    .map(crate::poseidon2_batch_vector::Vector::splat));

// The portable pair is what `Goldilocks` uses on other targets; its operations equal those of the vector.
mod portable_pair {
    use super::*;
    proptest! {
        #[test]
        fn equals_the_vector(x in differential::halves(), y in differential::halves(), bits in 1u32..32) {
            let (x, y) = (x.map(|word| word as u64), y.map(|word| word as u64));
            let (a, b) = (Halves::new(x), Halves::new(y));
            prop_assert_eq!(a.wrapping_add(b).words(), x.wrapping_add(y));
            prop_assert_eq!(a.wrapping_sub(b).words(), x.wrapping_sub(y));
            prop_assert_eq!(a.shl(bits).words(), x.shl(bits));
            prop_assert_eq!(a.div_2exp(bits).words(), x.div_2exp(bits));
            prop_assert_eq!(a.over_2exp_32().words(), x.over_2exp_32());
            prop_assert_eq!(Halves::split(x[0]).words(), <[u64; 2]>::split(x[0]));
        }
    }
}

// ---- The bounds, for all inputs ----

mod bounds {
    use core::ops::Mul;

    use super::differential::{Half, Stated, check_departures, run_all};
    use super::*;
    use crate::poseidon2_batch_vector::{Vector, VectorElement};

    impl Vector for Half {
        fn times_epsilon(self) -> Self {
            assert!(self.0.low() >= 0 && self.0.high() < 1 << 32);
            Self(Interval::new(
                self.0.low() * 0xffff_ffff,
                self.0.high() * 0xffff_ffff,
            ))
        }

        fn splat(x: u64) -> Self {
            Self::splat(x)
        }

        fn and(self, rhs: Self) -> Self {
            self.and(rhs)
        }

        fn shr(self, bits: u32) -> Self {
            self.shr(bits)
        }

        fn add_modulo(x: Self, y: Self) -> Self {
            Self::add_modulo(x, y)
        }
    }

    /// Any element. The state, the constants and the S-box's results are all representatives there are.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Any;

    impl From<Goldilocks> for Any {
        fn from(_: Goldilocks) -> Self {
            Self
        }
    }

    impl Mul for Any {
        type Output = Self;

        fn mul(self, _: Self) -> Self {
            self
        }
    }

    impl VectorElement for Any {
        type Vector = Half;

        fn into_vector(self) -> Half {
            Half::any()
        }

        fn from_vector(vector: Half) -> Self {
            assert!(vector.0.low() >= 0 && vector.0.high() <= u64::MAX.into());
            Self
        }

        fn square(self) -> Self {
            self
        }
    }

    #[test]
    fn no_half_wraps() {
        run_all(Stated(Any), Goldilocks::new(0));
    }

    #[test]
    fn lifts_and_segments_have_to_be_what_they_are() {
        check_departures::<_, 8>(Stated(Any), Goldilocks::new(0), 2);
        check_departures::<_, 12>(Stated(Any), Goldilocks::new(0), 1);
        check_departures::<_, 16>(Stated(Any), Goldilocks::new(0), 1);
    }
}
