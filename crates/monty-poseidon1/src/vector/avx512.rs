//! Vectors of eight words, on AVX-512.

use core::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_add_epi64, _mm512_castps_si512, _mm512_castsi512_ps,
    _mm512_mask_blend_epi32, _mm512_min_epu32, _mm512_movehdup_ps, _mm512_mul_epu32,
    _mm512_set1_epi32, _mm512_set1_epi64, _mm512_slli_epi64, _mm512_sub_epi32,
};

use super::Words;

impl Words for __m512i {
    #[inline(always)]
    fn splat(x: u64) -> Self {
        // SAFETY: AVX-512 is enabled wherever this module is compiled.
        unsafe { _mm512_set1_epi64(x as i64) }
    }

    #[inline(always)]
    fn repeat(x: u32) -> Self {
        // SAFETY: AVX-512, as above.
        unsafe { _mm512_set1_epi32(x as i32) }
    }

    #[inline(always)]
    fn wrapping_add(self, rhs: Self) -> Self {
        // SAFETY: AVX-512, as above.
        unsafe { _mm512_add_epi64(self, rhs) }
    }

    #[inline(always)]
    fn mul_low(self, rhs: Self) -> Self {
        // SAFETY: AVX-512, as above.
        unsafe { _mm512_mul_epu32(self, rhs) }
    }

    #[inline(always)]
    fn add_halves(self, rhs: Self) -> Self {
        // SAFETY: AVX-512, as above.
        unsafe { _mm512_add_epi32(self, rhs) }
    }

    #[inline(always)]
    fn sub_halves(self, rhs: Self) -> Self {
        // SAFETY: AVX-512, as above.
        unsafe { _mm512_sub_epi32(self, rhs) }
    }

    #[inline(always)]
    fn min_halves(self, rhs: Self) -> Self {
        // SAFETY: AVX-512, as above.
        unsafe { _mm512_min_epu32(self, rhs) }
    }

    #[inline(always)]
    fn shl_half(self) -> Self {
        // SAFETY: AVX-512, as above.
        unsafe { _mm512_slli_epi64::<32>(self) }
    }

    #[inline(always)]
    fn high(self) -> Self {
        // SAFETY: AVX-512, as above.
        unsafe { _mm512_castps_si512(_mm512_movehdup_ps(_mm512_castsi512_ps(self))) }
    }

    #[inline(always)]
    fn join_high(even: Self, odd: Self) -> Self {
        // SAFETY: AVX-512, as above.
        unsafe { _mm512_mask_blend_epi32(0b1010_1010_1010_1010, even.high(), odd) }
    }
}
