//! The batched Poseidon2 permutation on AVX-512: unreduced values in halves, eight states to a vector.

use core::arch::asm;
use core::arch::x86_64::{
    __m512i, _mm_cvtsi32_si128, _mm512_add_epi64, _mm512_and_si512, _mm512_castps_si512,
    _mm512_castsi512_ps, _mm512_cmplt_epu64_mask, _mm512_mask_add_epi64, _mm512_mask_moveldup_ps,
    _mm512_mask_sub_epi64, _mm512_movehdup_ps, _mm512_mul_epu32, _mm512_set1_epi64,
    _mm512_sll_epi64, _mm512_srl_epi64, _mm512_sub_epi64,
};
use core::mem::transmute;

use crate::PackedGoldilocksAVX512;
use crate::poseidon2_batch::{EPSILON, Word};
use crate::poseidon2_split::{Vector, VectorElement};

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
    const OFFSET: u64 = 0;

    const BIASED: bool = false;

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
    fn mul_low(self, rhs: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_mul_epu32(self, rhs) }
    }

    /// vmovshdup, which leaves the port of the shifts to these.
    #[inline(always)]
    fn high(self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_castps_si512(_mm512_movehdup_ps(_mm512_castsi512_ps(self))) }
    }

    #[inline(always)]
    fn join(low: Self, high: Self) -> Self {
        // SAFETY: as above.
        unsafe {
            let (low, high) = (_mm512_castsi512_ps(low), _mm512_castsi512_ps(high));
            _mm512_castps_si512(_mm512_mask_moveldup_ps(low, 0xaaaa, high))
        }
    }

    #[inline(always)]
    fn epsilon() -> Self {
        let mut epsilon = Self::splat(EPSILON);
        // SAFETY: no instruction at all; the register keeps its value.
        unsafe {
            asm!("/* {0} */", inout(zmm_reg) epsilon, options(pure, nomem, nostack, preserves_flags));
        }
        epsilon
    }

    #[inline(always)]
    fn add_modulo(x: Self, y: Self) -> Self {
        // SAFETY: as above.
        unsafe {
            let sum = _mm512_add_epi64(x, y);
            let carried = _mm512_cmplt_epu64_mask(sum, x);
            _mm512_mask_add_epi64(sum, carried, sum, Self::splat(EPSILON))
        }
    }

    /// With digits `h + B h'` of `high`, `B^2 high = EPSILON h - h'`. If `low - h'` borrows, it leaves at least `B^2 - B + 1`,
    /// and `B^2 = EPSILON` modulo the order can be taken from it. `EPSILON h` is at most `B^2 - 2 B + 1`, so that the sum,
    /// if it carries, leaves room for `EPSILON`.
    #[inline(always)]
    fn reduce_product<const SQUARE: bool>(low: Self, high: Self) -> Self {
        // SAFETY: as above.
        unsafe {
            let epsilon = Self::splat(EPSILON);
            let h1 = high.shr(32);
            let borrowed = _mm512_cmplt_epu64_mask(low, h1);
            let difference = _mm512_sub_epi64(low, h1);
            let difference = _mm512_mask_sub_epi64(difference, borrowed, difference, epsilon);
            let h0 = high.mul_low(Self::epsilon());
            let sum = _mm512_add_epi64(difference, h0);
            let carried = _mm512_cmplt_epu64_mask(sum, h0);
            _mm512_mask_add_epi64(sum, carried, sum, epsilon)
        }
    }
}

impl VectorElement for PackedGoldilocksAVX512 {
    type Vector = __m512i;

    const BATCH: usize = 2;

    // Unrolled, with as many intermediate results in registers as there is room for.
    const GROUPED: bool = true;

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
