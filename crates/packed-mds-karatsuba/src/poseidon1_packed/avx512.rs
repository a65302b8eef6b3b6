//! Vectors of eight doubles, on AVX-512.

use core::arch::x86_64::{
    __m512d, __m512i, _mm512_add_pd, _mm512_castpd_si512, _mm512_castsi512_pd, _mm512_fmadd_pd,
    _mm512_fnmadd_pd, _mm512_mask_blend_epi32, _mm512_mul_pd, _mm512_set1_pd, _mm512_sub_pd,
    _mm512_xor_si512,
};

use super::{AsDoubles, Doubles, OFFSET_BITS};
use crate::vector::Vector;

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

impl AsDoubles for __m512i {
    type Doubles = __m512d;

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
