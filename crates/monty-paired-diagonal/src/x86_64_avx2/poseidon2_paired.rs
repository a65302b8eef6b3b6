//! Divisions by small powers of two for `poseidon2_paired`, on AVX2.

use core::arch::x86_64::{
    __m256i, _mm_cvtsi32_si128, _mm256_add_epi32, _mm256_and_si256, _mm256_madd_epi16,
    _mm256_maddubs_epi16, _mm256_min_epu32, _mm256_set1_epi32, _mm256_sll_epi32, _mm256_srl_epi32,
    _mm256_sub_epi32,
};
use core::mem::transmute;

use crate::poseidon2_paired::Divide2Exp;
use crate::{FieldParameters, PackedMontyField31AVX2, signed_add_avx2};

/// Returns `hi` and `lo` with `x / 2^n = hi - lo`, where `hi - lo` lies in `(-P, P)`, as a signed
/// word.
///
/// Let `P = r 2^j + 1`, so that `2^-n = -r 2^(j-n) (mod P)`, and let `x = 2^n q + t` with
/// `0 <= t < 2^n`. Then `x / 2^n = q - r 2^(j-n) t`, with `0 <= q < P` and
/// `0 <= r 2^(j-n) t <= P - 1 - r 2^(j-n)`.
///
/// `x` lies in `[0, P)`. `n` is a constant, so that one branch is left.
#[inline(always)]
fn parts<FP: FieldParameters>(x: PackedMontyField31AVX2<FP>, n: u32) -> (__m256i, __m256i) {
    let j = (FP::PRIME - 1).trailing_zeros();
    // SAFETY: this file is compiled for AVX2 only. The packing is a transparent array of eight
    // transparent `u32`.
    unsafe {
        let x = transmute::<PackedMontyField31AVX2<FP>, __m256i>(x);
        let shift_left = |x, n: u32| _mm256_sll_epi32(x, _mm_cvtsi32_si128(n as i32));
        let q = _mm256_srl_epi32(x, _mm_cvtsi32_si128(n as i32));
        let mask = _mm256_set1_epi32((1 << n) - 1);
        let r = _mm256_set1_epi32((FP::PRIME >> j) as i32);
        if n == j {
            // r t = 2^(31-j) t - t, with t < 2^j
            let t = _mm256_and_si256(x, mask);
            return (_mm256_add_epi32(q, t), shift_left(t, 31 - j));
        }
        let r_t = if n == 8 {
            // The lowest byte of each word times the lowest byte of r, which is its only one: r t <
            // 2^15.
            _mm256_maddubs_epi16(x, r)
        } else {
            // The lower half of each word times the lower half of r: both are below 2^15, and the
            // upper ones are 0.
            _mm256_madd_epi16(_mm256_and_si256(x, mask), r)
        };
        (q, shift_left(r_t, j - n))
    }
}

impl<FP: FieldParameters> Divide2Exp for PackedMontyField31AVX2<FP> {
    #[inline(always)]
    fn div_2exp(self, n: u32) -> Self {
        let (hi, lo) = parts(self, n);
        // SAFETY: `parts` returns a difference in (-P, P). If it is negative, the sum with P is the
        // smaller word and lies in (0, P), else the difference itself is. AVX2 and the packing as
        // above.
        unsafe {
            let x = _mm256_sub_epi32(hi, lo);
            transmute(_mm256_min_epu32(x, _mm256_add_epi32(x, FP::PACKED_P)))
        }
    }

    #[inline(always)]
    fn add_div_2exp(self, x: Self, n: u32) -> Self {
        let (hi, lo) = parts(x, n);
        // SAFETY: `parts` returns a difference in (-P, P), which `signed_add_avx2` brings to [0,
        // P). AVX2 and the packing as above.
        unsafe {
            let sum = transmute::<Self, __m256i>(self);
            transmute(signed_add_avx2::<FP>(sum, _mm256_sub_epi32(hi, lo)))
        }
    }

    #[inline(always)]
    fn sub_div_2exp(self, x: Self, n: u32) -> Self {
        let (hi, lo) = parts(x, n);
        // SAFETY: as in `add_div_2exp`.
        unsafe {
            let sum = transmute::<Self, __m256i>(self);
            transmute(signed_add_avx2::<FP>(sum, _mm256_sub_epi32(lo, hi)))
        }
    }
}
