//! Vectors of four doubles, on AVX2.

use core::arch::x86_64::{
    __m256d, __m256i, _mm256_add_pd, _mm256_blend_epi32, _mm256_castpd_si256, _mm256_castsi256_pd,
    _mm256_mul_pd, _mm256_set1_pd, _mm256_sub_pd, _mm256_xor_pd,
};
#[cfg(target_feature = "fma")]
use core::arch::x86_64::{_mm256_fmadd_pd, _mm256_fnmadd_pd};

use super::{AsDoubles, Doubles, OFFSET_BITS};
use crate::vector::Vector;

impl Doubles for __m256d {
    #[inline(always)]
    fn splat(x: f64) -> Self {
        // SAFETY: AVX2 is enabled wherever this module is compiled.
        unsafe { _mm256_set1_pd(x) }
    }

    #[inline(always)]
    fn add(self, rhs: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_add_pd(self, rhs) }
    }

    #[inline(always)]
    fn sub(self, rhs: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_sub_pd(self, rhs) }
    }

    #[inline(always)]
    fn neg(self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_xor_pd(self, Self::splat(-0.0)) }
    }

    #[inline(always)]
    fn mul(self, rhs: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_mul_pd(self, rhs) }
    }

    // `target-feature=+avx2` alone does not enable FMA. Products are exact: two instructions give
    // the same result.
    #[inline(always)]
    fn add_product(self, a: Self, b: Self) -> Self {
        #[cfg(target_feature = "fma")]
        // SAFETY: FMA is enabled here.
        return unsafe { _mm256_fmadd_pd(a, b, self) };
        #[cfg(not(target_feature = "fma"))]
        self.add(a.mul(b))
    }

    #[inline(always)]
    fn sub_product(self, a: Self, b: Self) -> Self {
        #[cfg(target_feature = "fma")]
        // SAFETY: FMA is enabled here.
        return unsafe { _mm256_fnmadd_pd(a, b, self) };
        #[cfg(not(target_feature = "fma"))]
        self.sub(a.mul(b))
    }
}

impl AsDoubles for __m256i {
    type Doubles = __m256d;

    #[inline(always)]
    fn lower_shifted(self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_blend_epi32::<0b1010_1010>(self, Self::splat(OFFSET_BITS)) }
    }

    #[inline(always)]
    fn from_bits(x: __m256d) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_castpd_si256(x) }
    }

    #[inline(always)]
    fn to_bits(self) -> __m256d {
        // SAFETY: as above.
        unsafe { _mm256_castsi256_pd(self) }
    }
}
