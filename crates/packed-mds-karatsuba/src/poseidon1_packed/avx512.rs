//! Packed Poseidon1 on AVX-512: eight states to a vector.

use core::arch::asm;
use core::arch::x86_64::{
    __m512d, __m512i, _mm_cvtsi32_si128, _mm512_add_epi64, _mm512_add_pd, _mm512_and_si512,
    _mm512_castpd_si512, _mm512_castps_si512, _mm512_castsi512_pd, _mm512_castsi512_ps,
    _mm512_cmplt_epu64_mask, _mm512_fmadd_pd, _mm512_fnmadd_pd, _mm512_mask_add_epi64,
    _mm512_mask_blend_epi32, _mm512_mask_moveldup_ps, _mm512_movehdup_ps, _mm512_mul_epu32,
    _mm512_mul_pd, _mm512_set1_epi64, _mm512_set1_pd, _mm512_sll_epi64, _mm512_srl_epi64,
    _mm512_sub_epi64, _mm512_sub_pd, _mm512_xor_si512,
};
use core::mem::transmute;

use super::{Doubles, EPSILON, OFFSET_BITS, PackedElement, Words};
use crate::PackedGoldilocksAVX512;

/// The upper half of each word.
const UPPER: u16 = 0b1010_1010_1010_1010;

impl Doubles for __m512d {
    #[inline(always)]
    fn splat(x: f64) -> Self {
        // SAFETY: AVX-512F is enabled wherever this module is compiled.
        unsafe { _mm512_set1_pd(x) }
    }

    #[inline(always)]
    fn add(self, rhs: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_add_pd(self, rhs) }
    }

    #[inline(always)]
    fn sub(self, rhs: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_sub_pd(self, rhs) }
    }

    #[inline(always)]
    fn neg(self) -> Self {
        // SAFETY: as above. Without AVX-512DQ there is no vxorpd of this size.
        unsafe {
            let sign = _mm512_castpd_si512(Self::splat(-0.0));
            _mm512_castsi512_pd(_mm512_xor_si512(_mm512_castpd_si512(self), sign))
        }
    }

    #[inline(always)]
    fn mul(self, rhs: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_mul_pd(self, rhs) }
    }

    #[inline(always)]
    fn add_product(self, a: Self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_fmadd_pd(a, b, self) }
    }

    #[inline(always)]
    fn sub_product(self, a: Self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_fnmadd_pd(a, b, self) }
    }
}

impl Words for __m512i {
    type Doubles = __m512d;

    const FLIP: u64 = 0;

    #[inline(always)]
    fn splat(x: u64) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_set1_epi64(x as i64) }
    }

    #[inline(always)]
    fn epsilon() -> Self {
        let mut epsilon = Self::splat(EPSILON);
        // SAFETY: no instruction at all.
        unsafe {
            asm!("/* {0} */", inout(zmm_reg) epsilon, options(pure, nomem, nostack, preserves_flags));
        }
        epsilon
    }

    #[inline(always)]
    fn wrapping_add(self, rhs: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_add_epi64(self, rhs) }
    }

    #[inline(always)]
    fn wrapping_sub(self, rhs: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_sub_epi64(self, rhs) }
    }

    // Counts are constants, and these become immediate shifts.
    #[inline(always)]
    fn shl<const BITS: u32>(self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_sll_epi64(self, _mm_cvtsi32_si128(BITS as i32)) }
    }

    #[inline(always)]
    fn shr<const BITS: u32>(self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_srl_epi64(self, _mm_cvtsi32_si128(BITS as i32)) }
    }

    #[inline(always)]
    fn lower(self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_and_si512(self, Self::splat(EPSILON)) }
    }

    // A shuffle: shifts compete with multiplications for ports on Intel's cores.
    #[inline(always)]
    fn upper(self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_castps_si512(_mm512_movehdup_ps(_mm512_castsi512_ps(self))) }
    }

    #[inline(always)]
    fn join(self, upper: Self) -> Self {
        // SAFETY: as above.
        unsafe {
            let (lower, upper) = (_mm512_castsi512_ps(self), _mm512_castsi512_ps(upper));
            _mm512_castps_si512(_mm512_mask_moveldup_ps(lower, UPPER, upper))
        }
    }

    #[inline(always)]
    fn mul_lower(self, rhs: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_mul_epu32(self, rhs) }
    }

    #[inline(always)]
    fn add_modulo(self, flipped_y: Self) -> Self {
        // SAFETY: as above.
        unsafe {
            let sum = _mm512_add_epi64(self, flipped_y);
            let carried = _mm512_cmplt_epu64_mask(sum, self);
            _mm512_mask_add_epi64(sum, carried, sum, Self::splat(EPSILON))
        }
    }

    #[inline(always)]
    fn lower_shifted(self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_mask_blend_epi32(UPPER, self, Self::splat(OFFSET_BITS)) }
    }

    #[inline(always)]
    fn from_bits(x: __m512d) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_castpd_si512(x) }
    }

    #[inline(always)]
    fn to_bits(self) -> __m512d {
        // SAFETY: as above.
        unsafe { _mm512_castsi512_pd(self) }
    }
}

impl PackedElement for PackedGoldilocksAVX512 {
    type Words = __m512i;

    #[inline(always)]
    fn to_words(self) -> __m512i {
        // SAFETY: both are 64 bytes without padding: eight `u64`, through `repr(transparent)` types.
        unsafe { transmute(self) }
    }

    #[inline(always)]
    fn from_words(words: __m512i) -> Self {
        // SAFETY: as in `to_words`; every `u64` is a valid representative.
        unsafe { transmute(words) }
    }
}
