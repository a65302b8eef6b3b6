//! The operations of butterflies on AVX2.

#[cfg(not(miri))]
use core::arch::asm;
#[cfg(miri)]
use core::arch::x86_64::_mm256_mul_epi32;
use core::arch::x86_64::{
    __m256i, _mm256_add_epi64, _mm256_and_si256, _mm256_andnot_si256, _mm256_castps_si256,
    _mm256_castsi256_ps, _mm256_cmpgt_epi64, _mm256_movehdup_ps, _mm256_sub_epi64,
    _mm256_xor_si256,
};

use crate::prepared_twiddle::SignedVector;
use crate::vector::{EPSILON, Vector};

impl SignedVector for __m256i {
    #[inline(always)]
    fn xor(self, rhs: Self) -> Self {
        // SAFETY: AVX2 is enabled wherever this module is compiled.
        unsafe { _mm256_xor_si256(self, rhs) }
    }

    /// In assembly: LLVM hoists the sign extension of a twiddle out of a loop, and then multiplies
    /// words of 64 bits.
    #[inline(always)]
    fn mul_low_signed(self, rhs: Self) -> Self {
        // Miri has no assembly.
        #[cfg(miri)]
        // SAFETY: AVX2, as above.
        let product = unsafe { _mm256_mul_epi32(self, rhs) };
        #[cfg(not(miri))]
        let product;
        #[cfg(not(miri))]
        // SAFETY: AVX2, as above. The instruction reads two registers and writes one.
        unsafe {
            asm!(
                "vpmuldq {product}, {x}, {y}",
                product = lateout(ymm_reg) product,
                x = in(ymm_reg) self,
                y = in(ymm_reg) rhs,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        product
    }

    /// The sum carried if it is below one of its terms; the top bits of both are flipped.
    #[inline(always)]
    fn fold(low: Self, high: Self) -> Self {
        // SAFETY: AVX2, as above.
        unsafe {
            let h = _mm256_castps_si256(_mm256_movehdup_ps(_mm256_castsi256_ps(high)));
            let term = _mm256_xor_si256(h, Self::splat(Self::FLIP + EPSILON));
            let sum = _mm256_add_epi64(low, term);
            let carried = _mm256_cmpgt_epi64(term, sum);
            _mm256_sub_epi64(sum, _mm256_andnot_si256(carried, Self::splat(EPSILON)))
        }
    }

    #[inline(always)]
    fn sub_modulo(x: Self, flipped_y: Self) -> Self {
        // SAFETY: AVX2, as above.
        unsafe {
            let flipped_x = _mm256_xor_si256(x, Self::splat(Self::FLIP));
            let difference = _mm256_sub_epi64(flipped_x, flipped_y);
            let borrowed = _mm256_cmpgt_epi64(flipped_y, flipped_x);
            _mm256_sub_epi64(difference, _mm256_and_si256(borrowed, Self::splat(EPSILON)))
        }
    }
}
