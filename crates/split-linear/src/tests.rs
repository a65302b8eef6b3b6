//! The kernel against Plonky3 as published, its products on operands next to every carry, and its bounds.

extern crate std;

use self::differential::Half;
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
use self::differential::{check_against_published, reductions};
use super::*;

#[path = "../../batched-permute/src/tests/differential.rs"]
// On other targets, only the bounds are tested.
#[cfg_attr(
    not(target_feature = "avx2"),
    allow(dead_code, unused_imports, unused_macros)
)]
mod differential;
#[cfg(target_arch = "x86_64")]
mod mutations;
#[cfg(target_arch = "x86_64")]
mod smt;
#[cfg(target_arch = "x86_64")]
#[path = "../../batched-permute/src/tests/words.rs"]
mod words;

// On other targets, there is no kernel.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod packed {
    use std::vec::Vec;

    use p3_field::{PackedValue, PrimeField64};
    use p3_goldilocks::{
        default_goldilocks_poseidon2_8, default_goldilocks_poseidon2_12,
        default_goldilocks_poseidon2_16,
    };
    use p3_patches_testing::goldilocks::{self as plain, P};
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::poseidon2_split::{Vector, VectorElement, mul, mul_unreduced, square};

    type Packed = <Goldilocks as p3_field::Field>::Packing;

    #[test]
    fn states_match_the_published_permutation() {
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

    #[test]
    fn known_answers() {
        differential::check_known_answers::<Packed>();
    }

    reductions!(reduction, Packed, |words: [u64; 2]| words
        .map(Vector::splat));

    /// Operands for whose products a digit of the result is 0 or `2^32 - 1`, a reduction borrows, carries, or nearly does.
    /// No random test reaches them.
    fn operands() -> Vec<u64> {
        let mut operands = std::vec![0, 1, 2, 3, 5, 7, u64::MAX, u64::MAX - 1, u64::MAX - 2];
        for k in 0..64 {
            for offset in -2i64..=2 {
                for x in [
                    1u64 << k,
                    3 << k,
                    0xffff_ffff << k,
                    (1u64 << k).wrapping_neg(),
                ] {
                    operands.push(x.wrapping_add_signed(offset));
                }
            }
        }
        for offset in -2i64..=2 {
            operands.push(P.wrapping_add_signed(offset));
        }
        // The divisors of 2^96 - 2^64 + 2^33 - 1, the one product whose biased low half is 2^64 - 1 and whose high half adds
        // the most to it: without the bias of 2, two corrections would not do.
        for subset in 1..31 {
            let primes = [11u128, 128_551, 9_014_141, 31_226_411, 199_051_301];
            let product: u128 = (0..5)
                .filter(|i| subset >> i & 1 == 1)
                .map(|i| primes[i])
                .product();
            operands.extend(u64::try_from(product));
        }
        let mut rng = SmallRng::seed_from_u64(64);
        for _ in 0..100 {
            let x: u64 = rng.random();
            operands.extend([x, x >> 32 << 32, x & 0xffff_ffff]);
        }
        operands
    }

    fn lanes(vector: <Packed as VectorElement>::Vector) -> Vec<u64> {
        let mut raw = std::vec![0; Packed::WIDTH];
        for (raw, lane) in raw.iter_mut().zip(Packed::from_vector(vector).as_slice()) {
            // SAFETY: `Goldilocks` is `repr(transparent)` over a `u64`.
            *raw = unsafe { core::mem::transmute::<Goldilocks, u64>(*lane) };
        }
        raw
    }

    #[test]
    fn products_are_exact() {
        let operands = operands();
        // As many second operands as there are lanes, each lane with one of its own.
        for &x in &operands {
            let vector = Packed::from_fn(|_| Goldilocks::new(x)).into_vector();
            for chunk in operands.chunks(Packed::WIDTH) {
                let y = |lane: usize| chunk[lane % chunk.len()];
                let other = Packed::from_fn(|lane| Goldilocks::new(y(lane))).into_vector();
                let exact = |lane| plain::mul(x, y(lane));

                for (lane, product) in lanes(mul(vector, other)).into_iter().enumerate() {
                    assert_eq!(product % P, exact(lane), "{x:x} * {:x}", y(lane));
                }
                let [low, high] = mul_unreduced(vector, other).map(lanes);
                for lane in 0..Packed::WIDTH {
                    let halves = [low[lane] as i64, high[lane] as i64];
                    assert!(
                        (-(2 << 32) + 1..1 << 32).contains(&halves[0]),
                        "{halves:x?}"
                    );
                    assert!((0..2 << 32).contains(&halves[1]), "{halves:x?}");
                    let value = differential::value(halves);
                    assert_eq!(value, exact(lane), "{x:x} * {:x}", y(lane));
                }
            }
            for square in lanes(square(vector)) {
                assert_eq!(square % P, plain::mul(x, x), "{x:x}^2");
            }
        }
    }

    #[test]
    fn lanes_are_as_they_were_put() {
        let x = Packed::from_fn(|lane| Goldilocks::new(lane as u64));
        let expected: Vec<u64> = x.as_slice().iter().map(|x| x.as_canonical_u64()).collect();
        assert_eq!(lanes(x.into_vector()), expected);
    }
}

mod bounds {
    use p3_patches_testing::interval::Interval;

    use super::differential::{Ranged, Stated, check_departures, run_all};
    use super::*;
    use crate::poseidon2_batch::Word;
    use crate::poseidon2_split::{Vector, VectorElement};

    /// [`Half`], or a word that is meant modulo `2^64`: the lower half of a product.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub(super) enum Lane<const BIASED: bool> {
        Exact(Half),
        Modulo,
    }

    impl<const BIASED: bool> Lane<BIASED> {
        fn exact(self) -> Half {
            match self {
                Self::Exact(half) => half,
                Self::Modulo => panic!("a word that may have wrapped is used"),
            }
        }

        /// The lower 32 bits.
        fn digit(self) -> Interval {
            let Half(x) = self.exact();
            Interval::new(
                0,
                if x.low() < 0 {
                    0xffff_ffff
                } else {
                    x.high().min(0xffff_ffff)
                },
            )
        }
    }

    impl<const BIASED: bool> Word for Lane<BIASED> {
        fn wrapping_add(self, rhs: Self) -> Self {
            match (self, rhs) {
                (Self::Exact(x), Self::Exact(y)) => Self::Exact(x.wrapping_add(y)),
                _ => Self::Modulo,
            }
        }

        fn wrapping_sub(self, rhs: Self) -> Self {
            Self::Exact(self.exact().wrapping_sub(rhs.exact()))
        }

        /// A square shifts out the upper bits of a product of digits, which it has accounted for: only it shifts by 33.
        fn shl(self, bits: u32) -> Self {
            if bits == 33 {
                return Self::Modulo;
            }
            Self::Exact(self.exact().shl(bits))
        }
    }

    impl<const BIASED: bool> Vector for Lane<BIASED> {
        // The flipped bit of AVX2 is a matter of its comparisons.
        const OFFSET: u64 = 0;
        const BIASED: bool = BIASED;

        fn splat(x: u64) -> Self {
            Self::Exact(Half::splat(x))
        }

        fn and(self, rhs: Self) -> Self {
            Self::Exact(self.exact().and(rhs.exact()))
        }

        fn shr(self, bits: u32) -> Self {
            Self::Exact(self.exact().shr(bits))
        }

        fn mul_low(self, rhs: Self) -> Self {
            let (x, y) = (self.digit(), rhs.digit());
            Self::Exact(Half(Interval::new(0, x.high() * y.high())))
        }

        fn high(self) -> Self {
            assert!(self.exact().0.low() >= 0);
            Self::Exact(Half(Interval::new(0, 0xffff_ffff)))
        }

        fn join(low: Self, high: Self) -> Self {
            assert!(low.exact().0.low() >= 0 && high.exact().0.low() >= 0);
            Self::Exact(Half::any())
        }

        fn epsilon() -> Self {
            Self::splat(0xffff_ffff)
        }

        fn add_modulo(x: Self, y: Self) -> Self {
            Self::Exact(Half::add_modulo(x.exact(), y.exact()))
        }

        fn reduce_product<const SQUARE: bool>(_low: Self, high: Self) -> Self {
            assert!(high.exact().0.low() >= 0);
            Self::Exact(Half::any())
        }
    }

    impl<const BIASED: bool> Ranged for Lane<BIASED> {
        fn ranging(range: Interval) -> Self {
            Self::Exact(Half(range))
        }

        fn range(self) -> Interval {
            self.exact().0
        }
    }

    /// Any element.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Any<const BIASED: bool>;

    impl<const BIASED: bool> VectorElement for Any<BIASED> {
        type Vector = Lane<BIASED>;

        const BATCH: usize = 4;
        const GROUPED: bool = !BIASED;

        fn into_vector(self) -> Lane<BIASED> {
            Lane::Exact(Half::any())
        }

        fn from_vector(vector: Lane<BIASED>) -> Self {
            let Half(x) = vector.exact();
            assert!(x.low() >= 0 && x.high() <= u64::MAX.into());
            Self
        }
    }

    /// Every constant lies between these.
    fn constants<const BIASED: bool>() -> [[u64; 2]; 2] {
        let least = Any::<BIASED>::constant(Goldilocks::new(0));
        [least, least.map(|word| word + 0xffff_ffff)]
    }

    #[test]
    fn no_word_wraps() {
        for constant in constants::<false>() {
            run_all(Stated(Any::<false>), constant);
        }
        for constant in constants::<true>() {
            run_all(Stated(Any::<true>), constant);
        }
    }

    #[test]
    fn lifts_and_segments_have_to_be_what_they_are() {
        let [constant, _] = constants::<false>();
        check_departures::<_, 8>(Stated(Any::<false>), constant, 3);
        check_departures::<_, 12>(Stated(Any::<false>), constant, 1);
        check_departures::<_, 16>(Stated(Any::<false>), constant, 1);
    }
}
