//! Products of 52 bits, on AVX-512 IFMA.

use core::arch::x86_64::{
    __m512i, _mm_cvtsi32_si128, _mm512_madd52hi_epu64, _mm512_madd52lo_epu64, _mm512_sra_epi64,
};

use crate::poseidon2_limbs::Limb;

impl Limb for __m512i {
    #[inline(always)]
    fn sar(self, bits: u32) -> Self {
        // SAFETY: AVX-512F and IFMA are enabled wherever this module is compiled.
        unsafe { _mm512_sra_epi64(self, _mm_cvtsi32_si128(bits as i32)) }
    }

    #[inline(always)]
    fn add_product_low(self, a: Self, b: Self) -> Self {
        // SAFETY: IFMA, as above.
        unsafe { _mm512_madd52lo_epu64(self, a, b) }
    }

    #[inline(always)]
    fn add_product_high(self, a: Self, b: Self) -> Self {
        // SAFETY: IFMA, as above.
        unsafe { _mm512_madd52hi_epu64(self, a, b) }
    }
}
