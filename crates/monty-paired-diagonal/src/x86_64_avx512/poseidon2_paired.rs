//! Divisions by small powers of two for `poseidon2_paired`, on AVX-512.

use core::arch::x86_64::{
    __m512i, _mm_cvtsi32_si128, _mm512_add_epi32, _mm512_and_si512, _mm512_madd_epi16,
    _mm512_maddubs_epi16, _mm512_mask_sll_epi32, _mm512_set1_epi32, _mm512_srl_epi32,
    _mm512_sub_epi32, _mm512_test_epi32_mask,
};
use core::mem::transmute;

use p3_field::{mm512_mod_add, mm512_mod_sub};

use crate::poseidon2_paired::Divide2Exp;
use crate::{FieldParameters, PackedMontyField31AVX512};

/// Returns `-x / 2^n` in `[1, P]`.
///
/// Let `P = r 2^j + 1`, so that `2^-n = -r 2^(j-n) (mod P)`, and let `x = 2^n q + t` with
/// `0 <= t < 2^n`. Then `-x / 2^n = r 2^(j-n) t - q`, with `0 <= q <= r 2^(j-n)`. Where `t > 0`,
/// `x < P` means `q < r 2^(j-n)`, and this lies in `[1, P)`. Where `t = 0` it is taken as `P - q`,
/// in `[1, P]`: there is no signed addition that would be as cheap as AVX2's.
///
/// `x` lies in `[0, P)`. `n` is a constant, so that one branch is left.
#[inline(always)]
fn negative<FP: FieldParameters>(x: PackedMontyField31AVX512<FP>, n: u32) -> __m512i {
    let j = (FP::PRIME - 1).trailing_zeros();
    // SAFETY: this file is compiled for AVX-512 only. The packing is a transparent array of sixteen
    // transparent `u32`.
    unsafe {
        let x = transmute::<PackedMontyField31AVX512<FP>, __m512i>(x);
        let q = _mm512_srl_epi32(x, _mm_cvtsi32_si128(n as i32));
        let mask = _mm512_set1_epi32((1 << n) - 1);
        let r = _mm512_set1_epi32((FP::PRIME >> j) as i32);
        // P where t = 0
        let shift_left_or_p = |y, n: u32| {
            let nonzero = _mm512_test_epi32_mask(x, mask);
            _mm512_mask_sll_epi32(FP::PACKED_P, nonzero, y, _mm_cvtsi32_si128(n as i32))
        };
        if n == j {
            // r t = 2^(31-j) t - t, with t < 2^j
            let t = _mm512_and_si512(x, mask);
            return _mm512_sub_epi32(shift_left_or_p(t, 31 - j), _mm512_add_epi32(q, t));
        }
        let r_t = if n == 8 {
            // The lowest byte of each word times the lowest byte of r, which is its only one: r t <
            // 2^15.
            _mm512_maddubs_epi16(x, r)
        } else {
            // The lower half of each word times the lower half of r: both are below 2^15, and the
            // upper ones are 0.
            _mm512_madd_epi16(_mm512_and_si512(x, mask), r)
        };
        _mm512_sub_epi32(shift_left_or_p(r_t, j - n), q)
    }
}

impl<FP: FieldParameters> Divide2Exp for PackedMontyField31AVX512<FP> {
    #[inline(always)]
    fn div_2exp(self, n: u32) -> Self {
        // SAFETY: `negative` lies in [1, P], so that the difference lies in [0, P). AVX-512 and the
        // packing as above.
        unsafe { transmute(_mm512_sub_epi32(FP::PACKED_P, negative(self, n))) }
    }

    #[inline(always)]
    fn add_div_2exp(self, x: Self, n: u32) -> Self {
        // SAFETY: the difference of one in [0, P) and one in [1, P] lies in [-P, P - 1), which
        // `mm512_mod_sub` brings to [0, P). The packing as above.
        unsafe {
            let sum = transmute::<Self, __m512i>(self);
            transmute(mm512_mod_sub(sum, negative(x, n), FP::PACKED_P))
        }
    }

    #[inline(always)]
    fn sub_div_2exp(self, x: Self, n: u32) -> Self {
        // SAFETY: the sum of one in [0, P) and one in [1, P] lies in [1, 2P), which `mm512_mod_add`
        // brings to [0, P). The packing as above.
        unsafe {
            let sum = transmute::<Self, __m512i>(self);
            transmute(mm512_mod_add(sum, negative(x, n), FP::PACKED_P))
        }
    }
}
