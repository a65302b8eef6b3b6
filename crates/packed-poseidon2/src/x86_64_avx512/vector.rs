//! Vectors of eight words, on AVX-512.

#[cfg(not(miri))]
use core::arch::asm;
use core::arch::x86_64::{
    __m512i, _mm_cvtsi32_si128, _mm512_add_epi64, _mm512_and_si512, _mm512_castps_si512,
    _mm512_castsi512_ps, _mm512_cmplt_epu64_mask, _mm512_mask_add_epi64, _mm512_mask_moveldup_ps,
    _mm512_movehdup_ps, _mm512_mul_epu32, _mm512_set1_epi64, _mm512_sll_epi64, _mm512_srl_epi64,
    _mm512_sub_epi64,
};
use core::mem::transmute;

use crate::PackedGoldilocksAVX512;
use crate::vector::{EPSILON, Packed, Vector, Word};

impl Word for __m512i {
    #[inline(always)]
    fn wrapping_add(self, rhs: Self) -> Self {
        // SAFETY: AVX-512F is enabled wherever this module is compiled.
        unsafe { _mm512_add_epi64(self, rhs) }
    }

    #[inline(always)]
    fn wrapping_sub(self, rhs: Self) -> Self {
        // SAFETY: AVX-512F, as above.
        unsafe { _mm512_sub_epi64(self, rhs) }
    }

    // Counts are constants once the rounds are inlined, and the shifts become immediate ones.
    #[inline(always)]
    fn shl(self, bits: u32) -> Self {
        // SAFETY: AVX-512F, as above.
        unsafe { _mm512_sll_epi64(self, _mm_cvtsi32_si128(bits as i32)) }
    }
}

impl Vector for __m512i {
    const FLIP: u64 = 0;

    #[inline(always)]
    fn splat(x: u64) -> Self {
        // SAFETY: AVX-512F, as above.
        unsafe { _mm512_set1_epi64(x as i64) }
    }

    #[inline(always)]
    fn and(self, rhs: Self) -> Self {
        // SAFETY: AVX-512F, as above.
        unsafe { _mm512_and_si512(self, rhs) }
    }

    #[inline(always)]
    fn shr(self, bits: u32) -> Self {
        // SAFETY: AVX-512F, as above.
        unsafe { _mm512_srl_epi64(self, _mm_cvtsi32_si128(bits as i32)) }
    }

    #[inline(always)]
    fn mul_low(self, rhs: Self) -> Self {
        // SAFETY: AVX-512F, as above.
        unsafe { _mm512_mul_epu32(self, rhs) }
    }

    /// vmovshdup, which leaves the port of the shifts to these.
    #[inline(always)]
    fn high(self) -> Self {
        // SAFETY: AVX-512F, as above.
        unsafe { _mm512_castps_si512(_mm512_movehdup_ps(_mm512_castsi512_ps(self))) }
    }

    #[inline(always)]
    fn join(low: Self, high: Self) -> Self {
        // SAFETY: AVX-512F, as above.
        unsafe {
            let (low, high) = (_mm512_castsi512_ps(low), _mm512_castsi512_ps(high));
            _mm512_castps_si512(_mm512_mask_moveldup_ps(low, 0xaaaa, high))
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
            asm!("/* {0} */", inout(zmm_reg) epsilon, options(pure, nomem, nostack, preserves_flags));
        }
        epsilon
    }

    #[inline(always)]
    fn add_modulo(x: Self, flipped_y: Self) -> Self {
        // SAFETY: AVX-512F, as above.
        unsafe {
            let sum = _mm512_add_epi64(x, flipped_y);
            let carried = _mm512_cmplt_epu64_mask(sum, x);
            _mm512_mask_add_epi64(sum, carried, sum, Self::splat(EPSILON))
        }
    }
}

impl Packed for PackedGoldilocksAVX512 {
    type Words = __m512i;

    #[inline(always)]
    fn to_words(self) -> __m512i {
        // SAFETY: both are 64 bytes without padding: eight `u64`, through `repr(transparent)`
        // types.
        unsafe { transmute(self) }
    }

    #[inline(always)]
    fn from_words(words: __m512i) -> Self {
        // SAFETY: as in `to_words`; every `u64` is a valid representative.
        unsafe { transmute(words) }
    }
}
