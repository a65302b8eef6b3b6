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

/// `P = ODD_FACTOR 2^TWO_ADICITY + 1`
struct Shape<FP>(FP);

impl<FP: FieldParameters> Shape<FP> {
    const TWO_ADICITY: u32 = (FP::PRIME - 1).trailing_zeros();
    const ODD_FACTOR: i32 = ((FP::PRIME - 1) >> Self::TWO_ADICITY) as i32;

    /// As `_mm512_maddubs_epi16` takes it, and of the form that the division by `2^TWO_ADICITY` takes.
    const CHECK: () = {
        assert!(Self::ODD_FACTOR < 1 << 7);
        assert!(Self::ODD_FACTOR + 1 == 1 << (31 - Self::TWO_ADICITY));
    };

    /// Returns `-x / 2^n` in `[1, P]`.
    ///
    /// Let `r` be the odd factor and `j` the two-adicity, so that `2^-n = -r 2^(j-n) (mod P)`, and let
    /// `x = 2^n q + t` with `0 <= t < 2^n`. Then `-x / 2^n = r 2^(j-n) t - q`, with `0 <= q <= r 2^(j-n)`. Where `t > 0`,
    /// `x < P` means `q < r 2^(j-n)`, and this lies in `[1, P)`. Where `t = 0` it is taken as `P - q`, in `[1, P]`: there is
    /// no signed addition that would be as cheap as AVX2's.
    ///
    /// `x` lies in `[0, P)`. `n` lies in `1..=15`, or is `j`; it is a constant, so that one branch is left.
    #[inline(always)]
    fn negative(x: __m512i, n: u32) -> __m512i {
        const { Self::CHECK };
        let j = Self::TWO_ADICITY;
        // SAFETY: this file is compiled for AVX-512 only.
        unsafe {
            let q = _mm512_srl_epi32(x, _mm_cvtsi32_si128(n as i32));
            let mask = _mm512_set1_epi32((1 << n) - 1);
            let r = _mm512_set1_epi32(Self::ODD_FACTOR);
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
                // The lowest byte of each word times the lowest byte of r, which is its only one: r t < 2^15.
                _mm512_maddubs_epi16(x, r)
            } else {
                // The lower half of each word times the lower half of r: both are below 2^15, and the upper ones are 0.
                _mm512_madd_epi16(_mm512_and_si512(x, mask), r)
            };
            _mm512_sub_epi32(shift_left_or_p(r_t, j - n), q)
        }
    }
}

#[inline(always)]
fn to_vector<FP: FieldParameters>(x: PackedMontyField31AVX512<FP>) -> __m512i {
    // SAFETY: the packing is a transparent array of sixteen transparent `u32`.
    unsafe { transmute(x) }
}

/// # Safety
/// The elements of `x` lie in `[0, P)`.
#[inline(always)]
unsafe fn from_vector<FP: FieldParameters>(x: __m512i) -> PackedMontyField31AVX512<FP> {
    // SAFETY: the packing is a transparent array of sixteen transparent `u32`, which the caller warrants to be canonical.
    unsafe { transmute(x) }
}

impl<FP: FieldParameters> Divide2Exp for PackedMontyField31AVX512<FP> {
    #[inline(always)]
    fn div_2exp(self, n: u32) -> Self {
        let negative = Shape::<FP>::negative(to_vector(self), n);
        // SAFETY: `negative` lies in [1, P], so that the difference lies in [0, P). AVX-512 as above.
        unsafe { from_vector(_mm512_sub_epi32(FP::PACKED_P, negative)) }
    }

    #[inline(always)]
    fn add_div_2exp(self, x: Self, n: u32) -> Self {
        let negative = Shape::<FP>::negative(to_vector(x), n);
        // SAFETY: the difference of one in [0, P) and one in [1, P] lies in [-P, P - 1), which `mm512_mod_sub` brings to
        // [0, P).
        unsafe { from_vector(mm512_mod_sub(to_vector(self), negative, FP::PACKED_P)) }
    }

    #[inline(always)]
    fn sub_div_2exp(self, x: Self, n: u32) -> Self {
        let negative = Shape::<FP>::negative(to_vector(x), n);
        // SAFETY: the sum of one in [0, P) and one in [1, P] lies in [1, 2P), which `mm512_mod_add` brings to [0, P).
        unsafe { from_vector(mm512_mod_add(to_vector(self), negative, FP::PACKED_P)) }
    }
}
