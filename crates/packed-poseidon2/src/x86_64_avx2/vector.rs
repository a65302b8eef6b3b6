//! Vectors of four words, on AVX2.

#[cfg(not(miri))]
use core::arch::asm;
use core::arch::x86_64::{
    __m256i, _mm_cvtsi32_si128, _mm256_add_epi64, _mm256_and_si256, _mm256_blend_epi32,
    _mm256_castpd_si256, _mm256_castps_si256, _mm256_castsi256_pd, _mm256_castsi256_ps,
    _mm256_cmpgt_epi64, _mm256_movehdup_ps, _mm256_moveldup_ps, _mm256_mul_epu32,
    _mm256_permutevar_pd, _mm256_set_epi64x, _mm256_set1_epi64x, _mm256_sll_epi64,
    _mm256_srl_epi64, _mm256_sub_epi64,
};
use core::mem::transmute;

use crate::PackedGoldilocksAVX2;
use crate::vector::{EPSILON, Packed, Vector, Word};

impl Word for __m256i {
    #[inline(always)]
    fn wrapping_add(self, rhs: Self) -> Self {
        // SAFETY: AVX2 is enabled wherever this module is compiled.
        unsafe { _mm256_add_epi64(self, rhs) }
    }

    #[inline(always)]
    fn wrapping_sub(self, rhs: Self) -> Self {
        // SAFETY: AVX2, as above.
        unsafe { _mm256_sub_epi64(self, rhs) }
    }

    // Counts are constants once the rounds are inlined, and the shifts become immediate ones.
    #[inline(always)]
    fn shl(self, bits: u32) -> Self {
        // SAFETY: AVX2, as above.
        unsafe { _mm256_sll_epi64(self, _mm_cvtsi32_si128(bits as i32)) }
    }
}

impl Vector for __m256i {
    /// AVX2 compares signed words only: a sum whose carry is looked for has its top bit flipped.
    const FLIP: u64 = 1 << 63;

    #[inline(always)]
    fn splat(x: u64) -> Self {
        // SAFETY: AVX2, as above.
        unsafe { _mm256_set1_epi64x(x as i64) }
    }

    #[inline(always)]
    fn and(self, rhs: Self) -> Self {
        // SAFETY: AVX2, as above.
        unsafe { _mm256_and_si256(self, rhs) }
    }

    #[inline(always)]
    fn shr(self, bits: u32) -> Self {
        // SAFETY: AVX2, as above.
        unsafe { _mm256_srl_epi64(self, _mm_cvtsi32_si128(bits as i32)) }
    }

    #[inline(always)]
    fn mul_low(self, rhs: Self) -> Self {
        // SAFETY: AVX2, as above.
        unsafe { _mm256_mul_epu32(self, rhs) }
    }

    /// vmovshdup: any vector port takes it; the shift's are busy with the products.
    #[inline(always)]
    fn high(self) -> Self {
        // SAFETY: AVX2, as above.
        unsafe { _mm256_castps_si256(_mm256_movehdup_ps(_mm256_castsi256_ps(self))) }
    }

    #[inline(always)]
    fn join(low: Self, high: Self) -> Self {
        // SAFETY: AVX2, as above.
        unsafe {
            let high = _mm256_castps_si256(_mm256_moveldup_ps(_mm256_castsi256_ps(high)));
            _mm256_blend_epi32::<0b1010_1010>(low, high)
        }
    }

    #[cfg_attr(miri, allow(unused_mut))]
    #[inline(always)]
    fn epsilon() -> Self {
        let mut epsilon = Self::splat(EPSILON);
        // Miri has no assembly.
        #[cfg(not(miri))]
        // SAFETY: the assembly is empty: the register keeps its value.
        unsafe {
            asm!("/* {0} */", inout(ymm_reg) epsilon, options(pure, nomem, nostack, preserves_flags));
        }
        epsilon
    }

    /// The sum carried if it is below `y`; the top bits of both are flipped. One lookup by that
    /// mask flips the bit back and corrects the carry: `2^63`, or `2^63 + EPSILON`.
    #[inline(always)]
    fn add_modulo(x: Self, flipped_y: Self) -> Self {
        const FLIP: i64 = i64::MIN;
        const FLIP_AND_CORRECT: i64 = FLIP + EPSILON as i64;
        // SAFETY: AVX2, as above.
        unsafe {
            let sum = _mm256_add_epi64(x, flipped_y);
            let carried = _mm256_cmpgt_epi64(flipped_y, sum);
            // vpermilpd looks at bit 1 of each word, in a table of two words for each half of the
            // vector:
            //
            //     carried  |    0 |             -1 | ..
            //     result   | FLIP | FLIP + EPSILON | ..
            let table = _mm256_set_epi64x(FLIP_AND_CORRECT, FLIP, FLIP_AND_CORRECT, FLIP);
            let correction = _mm256_permutevar_pd(_mm256_castsi256_pd(table), carried);
            _mm256_add_epi64(sum, _mm256_castpd_si256(correction))
        }
    }
}

impl Packed for PackedGoldilocksAVX2 {
    type Words = __m256i;

    #[inline(always)]
    fn to_words(self) -> __m256i {
        // SAFETY: both are 32 bytes without padding: four `u64`, through `repr(transparent)` types.
        unsafe { transmute(self) }
    }

    #[inline(always)]
    fn from_words(words: __m256i) -> Self {
        // SAFETY: as in `to_words`; every `u64` is a valid representative.
        unsafe { transmute(words) }
    }
}
