//! The operations of butterflies on AVX-512.

#[cfg(not(miri))]
use core::arch::asm;
#[cfg(miri)]
use core::arch::x86_64::_mm512_mul_epi32;
use core::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_castps_si512, _mm512_castsi512_ps, _mm512_cmpge_epu64_mask,
    _mm512_cmplt_epu64_mask, _mm512_mask_sub_epi64, _mm512_movehdup_ps, _mm512_sub_epi64,
    _mm512_xor_si512,
};

use crate::prepared_twiddle::SignedVector;
use crate::vector::{EPSILON, Vector};

impl SignedVector for __m512i {
    #[inline(always)]
    fn xor(self, rhs: Self) -> Self {
        // SAFETY: AVX-512F is enabled wherever this module is compiled.
        unsafe { _mm512_xor_si512(self, rhs) }
    }

    /// In assembly: LLVM hoists the sign extension of a twiddle out of a loop, and then multiplies
    /// words of 64 bits.
    #[inline(always)]
    fn mul_low_signed(self, rhs: Self) -> Self {
        // Miri has no assembly.
        #[cfg(miri)]
        // SAFETY: AVX-512F, as above.
        let product = unsafe { _mm512_mul_epi32(self, rhs) };
        #[cfg(not(miri))]
        let product;
        #[cfg(not(miri))]
        // SAFETY: AVX-512F, as above. The instruction reads two registers and writes one.
        unsafe {
            asm!(
                "vpmuldq {product}, {x}, {y}",
                product = lateout(zmm_reg) product,
                x = in(zmm_reg) self,
                y = in(zmm_reg) rhs,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        product
    }

    #[inline(always)]
    fn fold(low: Self, high: Self) -> Self {
        // SAFETY: AVX-512F, as above.
        unsafe {
            let epsilon = Self::splat(EPSILON);
            let h = _mm512_castps_si512(_mm512_movehdup_ps(_mm512_castsi512_ps(high)));
            let term = _mm512_xor_si512(h, epsilon);
            let sum = _mm512_add_epi64(low, term);
            let fits = _mm512_cmpge_epu64_mask(sum, term);
            _mm512_mask_sub_epi64(sum, fits, sum, epsilon)
        }
    }

    #[inline(always)]
    fn sub_modulo(x: Self, y: Self) -> Self {
        // SAFETY: AVX-512F, as above.
        unsafe {
            let difference = _mm512_sub_epi64(x, y);
            let borrowed = _mm512_cmplt_epu64_mask(x, y);
            _mm512_mask_sub_epi64(difference, borrowed, difference, Self::splat(EPSILON))
        }
    }
}
