//! Packed Poseidon1 on AVX2: four states to a vector.

use core::arch::asm;
use core::arch::x86_64::{
    __m256d, __m256i, _mm_cvtsi32_si128, _mm256_add_epi64, _mm256_add_pd, _mm256_and_si256,
    _mm256_blend_epi32, _mm256_castpd_si256, _mm256_castps_si256, _mm256_castsi256_pd,
    _mm256_castsi256_ps, _mm256_cmpgt_epi64, _mm256_movehdup_ps, _mm256_moveldup_ps,
    _mm256_mul_epu32, _mm256_mul_pd, _mm256_permutevar_pd, _mm256_set_epi64x, _mm256_set1_epi64x,
    _mm256_set1_pd, _mm256_sll_epi64, _mm256_srl_epi64, _mm256_sub_epi64, _mm256_sub_pd,
    _mm256_xor_pd,
};
#[cfg(target_feature = "fma")]
use core::arch::x86_64::{_mm256_fmadd_pd, _mm256_fnmadd_pd};
use core::mem::transmute;

use super::{Doubles, EPSILON, OFFSET_BITS, PackedElement, Words};
use crate::PackedGoldilocksAVX2;

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

    // `target-feature=+avx2` alone does not enable FMA. Products are exact: two instructions give the same result.
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

impl Words for __m256i {
    type Doubles = __m256d;

    /// AVX2 compares signed words only: [`Words::add_modulo`] keeps its second operand and the sum with their top bit
    /// flipped.
    const FLIP: u64 = 1 << 63;

    #[inline(always)]
    fn splat(x: u64) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_set1_epi64x(x as i64) }
    }

    #[inline(always)]
    fn epsilon() -> Self {
        let mut epsilon = Self::splat(EPSILON);
        // SAFETY: no instruction at all.
        unsafe {
            asm!("/* {0} */", inout(ymm_reg) epsilon, options(pure, nomem, nostack, preserves_flags));
        }
        epsilon
    }

    #[inline(always)]
    fn wrapping_add(self, rhs: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_add_epi64(self, rhs) }
    }

    #[inline(always)]
    fn wrapping_sub(self, rhs: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_sub_epi64(self, rhs) }
    }

    // Counts are constants, and these become immediate shifts.
    #[inline(always)]
    fn shl<const BITS: u32>(self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_sll_epi64(self, _mm_cvtsi32_si128(BITS as i32)) }
    }

    #[inline(always)]
    fn shr<const BITS: u32>(self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_srl_epi64(self, _mm_cvtsi32_si128(BITS as i32)) }
    }

    #[inline(always)]
    fn lower(self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_and_si256(self, Self::splat(EPSILON)) }
    }

    // A shuffle: shifts compete with multiplications for ports on Intel's cores.
    #[inline(always)]
    fn upper(self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_castps_si256(_mm256_movehdup_ps(_mm256_castsi256_ps(self))) }
    }

    #[inline(always)]
    fn join(self, upper: Self) -> Self {
        // SAFETY: as above.
        unsafe {
            let upper = _mm256_castps_si256(_mm256_moveldup_ps(_mm256_castsi256_ps(upper)));
            _mm256_blend_epi32::<0b1010_1010>(self, upper)
        }
    }

    #[inline(always)]
    fn mul_lower(self, rhs: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_mul_epu32(self, rhs) }
    }

    /// The sum carried if it is below `y`. One lookup by that mask flips the top bit back and corrects the carry: `2^63`, or
    /// `2^63 + EPSILON`.
    #[inline(always)]
    fn add_modulo(self, flipped_y: Self) -> Self {
        const FLIP: i64 = i64::MIN;
        const FLIP_AND_CORRECT: i64 = FLIP + EPSILON as i64;
        // SAFETY: as above.
        unsafe {
            let sum = _mm256_add_epi64(self, flipped_y);
            let carried = _mm256_cmpgt_epi64(flipped_y, sum);
            // vpermilpd looks at bit 1 of each word, in a table of two words for each half of the vector.
            let table = _mm256_set_epi64x(FLIP_AND_CORRECT, FLIP, FLIP_AND_CORRECT, FLIP);
            let correction = _mm256_permutevar_pd(_mm256_castsi256_pd(table), carried);
            _mm256_add_epi64(sum, _mm256_castpd_si256(correction))
        }
    }

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

impl PackedElement for PackedGoldilocksAVX2 {
    type Words = __m256i;

    #[inline(always)]
    fn to_words(self) -> __m256i {
        // SAFETY: both are 32 bytes without padding: four `u64`, through `repr(transparent)` types.
        unsafe { transmute(self) }
    }

    #[inline(always)]
    fn from_words(words: __m256i) -> Self {
        // SAFETY: as in `to_words`; every `u64` is a valid representative.
        unsafe { transmute(words) }
    }
}
