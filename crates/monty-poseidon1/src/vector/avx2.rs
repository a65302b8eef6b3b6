//! Vectors of four words, on AVX2.

use core::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_add_epi64, _mm256_blend_epi32, _mm256_castps_si256,
    _mm256_castsi256_ps, _mm256_min_epu32, _mm256_movehdup_ps, _mm256_mul_epu32, _mm256_set1_epi32,
    _mm256_set1_epi64x, _mm256_slli_epi64, _mm256_sub_epi32,
};

use super::Words;

impl Words for __m256i {
    #[inline(always)]
    fn splat(x: u64) -> Self {
        // SAFETY: AVX2 is enabled wherever this module is compiled.
        unsafe { _mm256_set1_epi64x(x as i64) }
    }

    #[inline(always)]
    fn repeat(x: u32) -> Self {
        // SAFETY: AVX2, as above.
        unsafe { _mm256_set1_epi32(x as i32) }
    }

    #[inline(always)]
    fn wrapping_add(self, rhs: Self) -> Self {
        // SAFETY: AVX2, as above.
        unsafe { _mm256_add_epi64(self, rhs) }
    }

    #[inline(always)]
    fn mul_low(self, rhs: Self) -> Self {
        // SAFETY: AVX2, as above.
        unsafe { _mm256_mul_epu32(self, rhs) }
    }

    #[inline(always)]
    fn add_halves(self, rhs: Self) -> Self {
        // SAFETY: AVX2, as above.
        unsafe { _mm256_add_epi32(self, rhs) }
    }

    #[inline(always)]
    fn sub_halves(self, rhs: Self) -> Self {
        // SAFETY: AVX2, as above.
        unsafe { _mm256_sub_epi32(self, rhs) }
    }

    #[inline(always)]
    fn min_halves(self, rhs: Self) -> Self {
        // SAFETY: AVX2, as above.
        unsafe { _mm256_min_epu32(self, rhs) }
    }

    #[inline(always)]
    fn shl_half(self) -> Self {
        // SAFETY: AVX2, as above.
        unsafe { _mm256_slli_epi64::<32>(self) }
    }

    #[inline(always)]
    fn high(self) -> Self {
        // SAFETY: AVX2, as above.
        unsafe { _mm256_castps_si256(_mm256_movehdup_ps(_mm256_castsi256_ps(self))) }
    }

    #[inline(always)]
    fn join_high(even: Self, odd: Self) -> Self {
        // SAFETY: AVX2, as above.
        unsafe { _mm256_blend_epi32::<0b1010_1010>(even.high(), odd) }
    }
}
