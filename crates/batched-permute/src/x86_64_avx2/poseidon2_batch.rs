//! The batched Poseidon2 permutation on AVX2: unreduced values in halves, four states to a vector.

use core::arch::x86_64::{
    __m256i, _mm_cvtsi32_si128, _mm256_add_epi64, _mm256_and_si256, _mm256_castpd_si256,
    _mm256_castsi256_pd, _mm256_cmpgt_epi64, _mm256_permutevar_pd, _mm256_set_epi64x,
    _mm256_set1_epi64x, _mm256_sll_epi64, _mm256_srl_epi64, _mm256_sub_epi64, _mm256_xor_si256,
};
use core::mem::transmute;

use p3_field::PrimeCharacteristicRing;

use crate::PackedGoldilocksAVX2;
use crate::poseidon2_batch::Word;
use crate::poseidon2_batch_vector::{Vector, VectorElement};

impl Word for __m256i {
    #[inline(always)]
    fn wrapping_add(self, rhs: Self) -> Self {
        // SAFETY: AVX2 is enabled wherever this module is compiled.
        unsafe { _mm256_add_epi64(self, rhs) }
    }

    #[inline(always)]
    fn wrapping_sub(self, rhs: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_sub_epi64(self, rhs) }
    }

    // Counts are constants once the rounds are inlined, and the shifts become immediate ones.
    #[inline(always)]
    fn shl(self, bits: u32) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_sll_epi64(self, _mm_cvtsi32_si128(bits as i32)) }
    }
}

impl Vector for __m256i {
    #[inline(always)]
    fn splat(x: u64) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_set1_epi64x(x as i64) }
    }

    #[inline(always)]
    fn and(self, rhs: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_and_si256(self, rhs) }
    }

    #[inline(always)]
    fn shr(self, bits: u32) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_srl_epi64(self, _mm_cvtsi32_si128(bits as i32)) }
    }

    /// AVX2 compares signed words only, so that `y` and the sum are kept with their top bit flipped. The sum carried if it
    /// is below `y`; one lookup by that mask flips the bit back and corrects the carry: `2^63`, or `2^63 + EPSILON`.
    #[inline(always)]
    fn add_modulo(x: Self, y: Self) -> Self {
        const FLIP: i64 = i64::MIN;
        const FLIP_AND_CORRECT: i64 = FLIP + 0xffff_ffff;
        // SAFETY: as above.
        unsafe {
            let y = _mm256_xor_si256(y, _mm256_set1_epi64x(FLIP));
            let sum = _mm256_add_epi64(x, y);
            let carried = _mm256_cmpgt_epi64(y, sum);
            // vpermilpd looks at bit 1 of each word, in a table of two words for each half of the vector.
            let table = _mm256_set_epi64x(FLIP_AND_CORRECT, FLIP, FLIP_AND_CORRECT, FLIP);
            let correction = _mm256_permutevar_pd(_mm256_castsi256_pd(table), carried);
            _mm256_add_epi64(sum, _mm256_castpd_si256(correction))
        }
    }
}

impl VectorElement for PackedGoldilocksAVX2 {
    type Vector = __m256i;

    #[inline(always)]
    fn into_vector(self) -> __m256i {
        // SAFETY: both are 32 bytes without padding: four `u64`, through `repr(transparent)` types.
        unsafe { transmute(self) }
    }

    #[inline(always)]
    fn from_vector(vector: __m256i) -> Self {
        // SAFETY: as in `into_vector`; every `u64` is a valid representative.
        unsafe { transmute(vector) }
    }

    #[inline(always)]
    fn square(self) -> Self {
        PrimeCharacteristicRing::square(&self)
    }
}
