//! The halves of one unreduced element for the batched Poseidon2 permutation: [`Pair`] as a vector register where the
//! target always has one, as an array elsewhere. (LLVM makes vectors of the array too, and then moves the words in and out.)

#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
pub use neon::Halves;
#[cfg(target_arch = "x86_64")]
pub use sse2::Halves;

use crate::poseidon2_batch::{Pair, Word};

#[cfg(not(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_feature = "neon")
)))]
pub type Halves = [u64; 2];

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
        fn div_2exp(self, bits: u32) -> Self {
            // SAFETY: SSE2, as above.
            unsafe {
                // [a, b], then [a, 0] + [b, 0] - [0, a].
                let low = _mm_and_si128(self, _mm_set1_epi64x((1 << bits) - 1));
                let sum = _mm_add_epi64(_mm_move_epi64(low), _mm_srli_si128::<8>(low));
                let low = _mm_sub_epi64(sum, _mm_slli_si128::<8>(low));
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
        fn div_2exp(self, bits: u32) -> Self {
            // SAFETY: NEON, as above.
            unsafe {
                // [a, b], then [a, 0] + [b, 0] - [0, a].
                let zero = vdupq_n_u64(0);
                let low = vandq_u64(self, vdupq_n_u64((1 << bits) - 1));
                let a = vextq_u64::<1>(zero, low);
                let sum = vaddq_u64(vextq_u64::<1>(a, zero), vextq_u64::<1>(low, zero));
                let low = vsubq_u64(sum, a);
                let high = vshlq_u64(self, vdupq_n_s64(-i64::from(bits)));
                vaddq_u64(high, low.shl(32 - bits))
            }
        }
    }
}
