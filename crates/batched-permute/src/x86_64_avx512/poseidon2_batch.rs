//! The batched Poseidon2 permutation on AVX-512: unreduced values in halves, eight states to a vector.

use core::arch::x86_64::{
    __m512i, _mm_cvtsi32_si128, _mm512_add_epi64, _mm512_and_si512, _mm512_cmplt_epu64_mask,
    _mm512_mask_add_epi64, _mm512_set1_epi64, _mm512_sll_epi64, _mm512_srl_epi64, _mm512_sub_epi64,
};
use core::mem::transmute;

use p3_field::PrimeCharacteristicRing;

use crate::PackedGoldilocksAVX512;
use crate::poseidon2_batch::Word;
use crate::poseidon2_batch_vector::{Vector, VectorElement};

impl Word for __m512i {
    #[inline(always)]
    fn wrapping_add(self, rhs: Self) -> Self {
        // SAFETY: AVX-512F is enabled wherever this module is compiled.
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

impl Vector for __m512i {
    #[inline(always)]
    fn splat(x: u64) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_set1_epi64(x as i64) }
    }

    #[inline(always)]
    fn and(self, rhs: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_and_si512(self, rhs) }
    }

    #[inline(always)]
    fn shr(self, bits: u32) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_srl_epi64(self, _mm_cvtsi32_si128(bits as i32)) }
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

impl VectorElement for PackedGoldilocksAVX512 {
    type Vector = __m512i;

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

    #[inline(always)]
    fn square(self) -> Self {
        PrimeCharacteristicRing::square(&self)
    }
}
