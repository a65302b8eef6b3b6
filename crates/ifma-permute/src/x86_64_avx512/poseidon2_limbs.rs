//! The batched Poseidon2 permutation with AVX-512 IFMA: elements in limbs of 52 bits, eight states to a vector.

use core::arch::asm;
use core::arch::x86_64::{
    __m512i, _mm_cvtsi32_si128, _mm512_add_epi64, _mm512_and_si512, _mm512_cmplt_epu64_mask,
    _mm512_madd52hi_epu64, _mm512_madd52lo_epu64, _mm512_mask_add_epi64, _mm512_mul_epu32,
    _mm512_set1_epi64, _mm512_sll_epi64, _mm512_sra_epi64, _mm512_srl_epi64, _mm512_sub_epi64,
};
use core::mem::transmute;

use crate::PackedGoldilocksAVX512;
use crate::poseidon2_batch::Word;
use crate::poseidon2_limbs::{Limb, LimbElement};

impl Word for __m512i {
    #[inline(always)]
    fn wrapping_add(self, rhs: Self) -> Self {
        // SAFETY: AVX-512F and IFMA are enabled wherever this module is compiled.
        unsafe { _mm512_add_epi64(self, rhs) }
    }

    #[inline(always)]
    fn wrapping_sub(self, rhs: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_sub_epi64(self, rhs) }
    }

    // Counts are constants once the rounds are inlined, and the shifts become immediate ones.
    #[inline(always)]
    fn shl(self, bits: u32) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_sll_epi64(self, _mm_cvtsi32_si128(bits as i32)) }
    }
}

impl Limb for __m512i {
    #[inline(always)]
    fn splat(x: i64) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_set1_epi64(x) }
    }

    #[inline(always)]
    fn and(self, rhs: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_and_si512(self, rhs) }
    }

    #[inline(always)]
    fn sar(self, bits: u32) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_sra_epi64(self, _mm_cvtsi32_si128(bits as i32)) }
    }

    #[inline(always)]
    fn shr(self, bits: u32) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_srl_epi64(self, _mm_cvtsi32_si128(bits as i32)) }
    }

    #[inline(always)]
    fn add_product_low(self, a: Self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_madd52lo_epu64(self, a, b) }
    }

    #[inline(always)]
    fn add_product_high(self, a: Self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_madd52hi_epu64(self, a, b) }
    }

    #[inline(always)]
    fn low_32_times_epsilon(self) -> Self {
        // SAFETY: as above, and the assembly is empty. It hides the constant from LLVM, which would shift, mask and subtract
        // instead.
        unsafe {
            let mut epsilon = _mm512_set1_epi64(0xffff_ffff);
            asm!("/* {0} */", inout(zmm_reg) epsilon, options(pure, nomem, nostack, preserves_flags));
            _mm512_mul_epu32(self, epsilon)
        }
    }

    #[inline(always)]
    fn add_modulo(x: Self, y: Self) -> Self {
        // SAFETY: as above.
        unsafe {
            let sum = _mm512_add_epi64(x, y);
            let carried = _mm512_cmplt_epu64_mask(sum, x);
            _mm512_mask_add_epi64(sum, carried, sum, _mm512_set1_epi64(0xffff_ffff))
        }
    }
}

impl LimbElement for PackedGoldilocksAVX512 {
    type Limb = __m512i;

    #[inline(always)]
    fn into_vector(self) -> __m512i {
        // SAFETY: both are 64 bytes without padding: eight `u64`, through `repr(transparent)` types.
        unsafe { transmute(self) }
    }

    #[inline(always)]
    fn from_vector(vector: __m512i) -> Self {
        // SAFETY: as in `into_vector`; every `u64` is a valid representative.
        unsafe { transmute(vector) }
    }
}
