//! A single element for the batched Poseidon2 permutation: its halves side by side, [`Pair`], as a vector register where the
//! target always has one, as an array elsewhere. (LLVM makes vectors of the array too, and then moves the words in and out.)

use core::mem::transmute;

#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
pub use neon::Halves;
use p3_field::PrimeCharacteristicRing;
#[cfg(target_arch = "x86_64")]
pub use sse2::Halves;

use crate::Goldilocks;
use crate::poseidon2_batch::{
    BatchElement, EPSILON, REDUCTION_BIAS, Word, lifts, segment_of_halves,
};

#[cfg(not(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_feature = "neon")
)))]
pub type Halves = [u64; 2];

/// The two halves of one element side by side: a vector of two 64-bit words.
pub trait Pair: Word {
    /// [`BatchElement::BATCH`]
    const BATCH: usize;

    fn new(words: [u64; 2]) -> Self;

    /// The lower and the upper 32 bits of `x`.
    fn split(x: u64) -> Self;

    fn words(self) -> [u64; 2];

    /// `(low + 2^32 high) / 2^32 = (low + high) - 2^32 low`.
    fn over_2exp_32(self) -> Self;

    /// [`BatchElement::div_2exp`] for less than 32 bits.
    fn div_2exp(self, bits: u32) -> Self;
}

impl BatchElement for Goldilocks {
    type Word = Halves;
    type Unreduced = [Halves; 1];
    const PARTS: usize = 1;
    type Constant = Self;

    const BATCH: usize = <Halves as Pair>::BATCH;

    #[inline(always)]
    fn constant(constant: Self) -> Self {
        constant
    }

    #[inline(always)]
    fn segment(width: usize) -> usize {
        segment_of_halves(width)
    }

    #[inline(always)]
    fn widen(self) -> [Halves; 1] {
        // SAFETY: `Goldilocks` is `repr(transparent)` over a `u64`.
        [Halves::split(unsafe { transmute::<Self, u64>(self) })]
    }

    /// `high = 2^32 c + d` counts `2^64 c + 2^32 d = (2^32 - 1) c + 2^32 d`. With `low < 2^63 - 2^33` and `c < 2^31`,
    /// `low + (2^32 - 1) c < 2^64 - 2^33`: if the sum carries, adding `EPSILON` once is all that is left to do.
    #[inline(always)]
    fn reduce([x]: [Halves; 1]) -> Self {
        let [low, high] = x.wrapping_add(Halves::new(REDUCTION_BIAS)).words();
        let (sum, carry) = (high << 32).overflowing_add(low + (high >> 32) * EPSILON);
        Self::new(sum.wrapping_add(EPSILON * u64::from(carry)))
    }

    #[inline(always)]
    fn sbox<const N: usize>(x: &mut [[Halves; 1]; N], constants: &[Self; N]) {
        // Not by stages: the integer registers hold few chains, and the CPU finds the others itself.
        for i in 0..N {
            let [constant] = constants[i].widen();
            let y = Self::reduce([x[i][0].wrapping_add(constant)]);
            let y2 = y.square();
            x[i] = ((y2 * y) * y2.square()).widen();
        }
    }

    #[inline(always)]
    fn lift<const WIDTH: usize>(sum: Halves, _part: usize, round: usize) -> Halves {
        sum.wrapping_add(Halves::new(const { lifts(WIDTH) }[round]))
    }

    #[inline(always)]
    fn div_2exp([x]: [Halves; 1], bits: u32) -> [Halves; 1] {
        [if bits == 32 {
            x.over_2exp_32()
        } else {
            x.div_2exp(bits)
        }]
    }
}

impl Word for [u64; 2] {
    #[inline(always)]
    fn wrapping_add(self, rhs: Self) -> Self {
        [self[0].wrapping_add(rhs[0]), self[1].wrapping_add(rhs[1])]
    }

    #[inline(always)]
    fn wrapping_sub(self, rhs: Self) -> Self {
        [self[0].wrapping_sub(rhs[0]), self[1].wrapping_sub(rhs[1])]
    }

    #[inline(always)]
    fn shl(self, bits: u32) -> Self {
        [self[0] << bits, self[1] << bits]
    }
}

impl Pair for [u64; 2] {
    /// More spill. One is 6 % faster in width 8, but is no batch to the callers.
    const BATCH: usize = 2;

    #[inline(always)]
    fn new(words: [u64; 2]) -> Self {
        words
    }

    #[inline(always)]
    fn split(x: u64) -> Self {
        [x & 0xffff_ffff, x >> 32]
    }

    #[inline(always)]
    fn words(self) -> [u64; 2] {
        self
    }

    #[inline(always)]
    fn over_2exp_32(self) -> Self {
        let [low, high] = self;
        [low.wrapping_add(high), low.wrapping_neg()]
    }

    #[inline(always)]
    fn div_2exp(self, bits: u32) -> Self {
        let mask = (1 << bits) - 1;
        let [a, b] = self.map(|word| word & mask);
        [
            (self[0] >> bits) + ((a + b) << (32 - bits)),
            (self[1] >> bits).wrapping_sub(a << (32 - bits)),
        ]
    }
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use core::arch::x86_64::{
        __m128i, _mm_add_epi64, _mm_and_si128, _mm_cvtsi32_si128, _mm_cvtsi64_si128,
        _mm_move_epi64, _mm_set1_epi64x, _mm_setzero_si128, _mm_sll_epi64, _mm_slli_si128,
        _mm_srl_epi64, _mm_srli_si128, _mm_sub_epi64, _mm_unpacklo_epi32,
    };
    use core::mem::transmute;

    use super::{Pair, Word};

    pub type Halves = __m128i;

    impl Word for __m128i {
        #[inline(always)]
        fn wrapping_add(self, rhs: Self) -> Self {
            // SAFETY: every x86-64 has SSE2.
            unsafe { _mm_add_epi64(self, rhs) }
        }

        #[inline(always)]
        fn wrapping_sub(self, rhs: Self) -> Self {
            // SAFETY: as above.
            unsafe { _mm_sub_epi64(self, rhs) }
        }

        #[inline(always)]
        fn shl(self, bits: u32) -> Self {
            // SAFETY: as above.
            unsafe { _mm_sll_epi64(self, _mm_cvtsi32_si128(bits as i32)) }
        }
    }

    impl Pair for __m128i {
        /// As for vectors.
        const BATCH: usize = 4;

        #[inline(always)]
        fn new(words: [u64; 2]) -> Self {
            // SAFETY: 16 bytes without padding on both sides, all values valid.
            unsafe { transmute(words) }
        }

        #[inline(always)]
        fn split(x: u64) -> Self {
            // SAFETY: SSE2, as above. One instruction, pmovzxdq, with SSE4.1.
            unsafe { _mm_unpacklo_epi32(_mm_cvtsi64_si128(x as i64), _mm_setzero_si128()) }
        }

        #[inline(always)]
        fn words(self) -> [u64; 2] {
            // SAFETY: as in `new`.
            unsafe { transmute(self) }
        }

        #[inline(always)]
        fn over_2exp_32(self) -> Self {
            // SAFETY: SSE2, as above.
            unsafe {
                let sum = _mm_add_epi64(_mm_move_epi64(self), _mm_srli_si128::<8>(self));
                _mm_sub_epi64(sum, _mm_slli_si128::<8>(self))
            }
        }

        #[inline(always)]
        fn div_2exp(self, bits: u32) -> Self {
            // SAFETY: SSE2, as above.
            unsafe {
                let low = _mm_and_si128(self, _mm_set1_epi64x((1 << bits) - 1)).over_2exp_32();
                let high = _mm_srl_epi64(self, _mm_cvtsi32_si128(bits as i32));
                _mm_add_epi64(high, low.shl(32 - bits))
            }
        }
    }
}

#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
mod neon {
    use core::arch::aarch64::{
        uint64x2_t, vaddq_u64, vandq_u64, vcreate_u32, vdupq_n_s64, vdupq_n_u64, vextq_u64,
        vmovl_u32, vshlq_u64, vsubq_u64,
    };
    use core::mem::transmute;

    use super::{Pair, Word};

    pub type Halves = uint64x2_t;

    impl Word for uint64x2_t {
        #[inline(always)]
        fn wrapping_add(self, rhs: Self) -> Self {
            // SAFETY: NEON is enabled wherever this module is compiled.
            unsafe { vaddq_u64(self, rhs) }
        }

        #[inline(always)]
        fn wrapping_sub(self, rhs: Self) -> Self {
            // SAFETY: as above.
            unsafe { vsubq_u64(self, rhs) }
        }

        #[inline(always)]
        fn shl(self, bits: u32) -> Self {
            // SAFETY: as above.
            unsafe { vshlq_u64(self, vdupq_n_s64(bits.into())) }
        }
    }

    impl Pair for uint64x2_t {
        /// As for vectors.
        const BATCH: usize = 4;

        #[inline(always)]
        fn new(words: [u64; 2]) -> Self {
            // SAFETY: 16 bytes without padding on both sides, all values valid.
            unsafe { transmute(words) }
        }

        #[inline(always)]
        fn split(x: u64) -> Self {
            // SAFETY: NEON, as above.
            unsafe { vmovl_u32(vcreate_u32(x)) }
        }

        #[inline(always)]
        fn words(self) -> [u64; 2] {
            // SAFETY: as in `new`.
            unsafe { transmute(self) }
        }

        #[inline(always)]
        fn over_2exp_32(self) -> Self {
            // SAFETY: NEON, as above.
            unsafe {
                // [low, 0] + [high, 0] - [0, low]
                let zero = vdupq_n_u64(0);
                let low = vextq_u64::<1>(zero, self);
                let sum = vaddq_u64(vextq_u64::<1>(low, zero), vextq_u64::<1>(self, zero));
                vsubq_u64(sum, low)
            }
        }

        #[inline(always)]
        fn div_2exp(self, bits: u32) -> Self {
            // SAFETY: NEON, as above.
            unsafe {
                let low = vandq_u64(self, vdupq_n_u64((1 << bits) - 1)).over_2exp_32();
                let high = vshlq_u64(self, vdupq_n_s64(-i64::from(bits)));
                vaddq_u64(high, low.shl(32 - bits))
            }
        }
    }
}
