//! Divisions by small powers of two for `poseidon2_paired`, on AVX2.

use core::arch::x86_64::{
    __m256i, _mm_cvtsi32_si128, _mm256_add_epi32, _mm256_and_si256, _mm256_madd_epi16,
    _mm256_maddubs_epi16, _mm256_min_epu32, _mm256_set1_epi32, _mm256_sign_epi32, _mm256_sll_epi32,
    _mm256_srl_epi32, _mm256_sub_epi32,
};
use core::mem::transmute;

use crate::poseidon2_paired::Divide2Exp;
use crate::{FieldParameters, PackedMontyField31AVX2};

/// `P = ODD_FACTOR 2^TWO_ADICITY + 1`
struct Shape<FP>(FP);

impl<FP: FieldParameters> Shape<FP> {
    const TWO_ADICITY: u32 = (FP::PRIME - 1).trailing_zeros();
    const ODD_FACTOR: i32 = ((FP::PRIME - 1) >> Self::TWO_ADICITY) as i32;

    /// As `_mm256_maddubs_epi16` takes it, and of the form that the division by `2^TWO_ADICITY` takes.
    const CHECK: () = {
        assert!(Self::ODD_FACTOR < 1 << 7);
        assert!(Self::ODD_FACTOR + 1 == 1 << (31 - Self::TWO_ADICITY));
    };

    /// Returns `hi` and `lo` with `x / 2^n = hi - lo`, where `hi - lo` lies in `(-P, P)`, as a signed word.
    ///
    /// Let `r` be the odd factor and `j` the two-adicity, so that `2^-n = -r 2^(j-n) (mod P)`, and let
    /// `x = 2^n q + t` with `0 <= t < 2^n`. Then `x / 2^n = q - r 2^(j-n) t`, with `0 <= q < P` and
    /// `0 <= r 2^(j-n) t <= P - 1 - r 2^(j-n)`.
    ///
    /// `x` lies in `[0, P)`. `n` lies in `1..=15`, or is `j`; it is a constant, so that one branch is left.
    #[inline(always)]
    fn parts(x: __m256i, n: u32) -> (__m256i, __m256i) {
        const { Self::CHECK };
        let j = Self::TWO_ADICITY;
        // SAFETY: this file is compiled for AVX2 only.
        unsafe {
            let shift_left = |x, n: u32| _mm256_sll_epi32(x, _mm_cvtsi32_si128(n as i32));
            let q = _mm256_srl_epi32(x, _mm_cvtsi32_si128(n as i32));
            let mask = _mm256_set1_epi32((1 << n) - 1);
            let r = _mm256_set1_epi32(Self::ODD_FACTOR);
            if n == j {
                // r t = 2^(31-j) t - t, with t < 2^j
                let t = _mm256_and_si256(x, mask);
                return (_mm256_add_epi32(q, t), shift_left(t, 31 - j));
            }
            let r_t = if n == 8 {
                // The lowest byte of each word times the lowest byte of r, which is its only one: r t < 2^15.
                _mm256_maddubs_epi16(x, r)
            } else {
                // The lower half of each word times the lower half of r: both are below 2^15, and the upper ones are 0.
                _mm256_madd_epi16(_mm256_and_si256(x, mask), r)
            };
            (q, shift_left(r_t, j - n))
        }
    }
}

/// `sum + x` for `sum` in `[0, P)` and `x` in `(-P, P)`. The result lies in `[0, P)`.
///
/// For positive `x` the sum lies in `(0, 2P)`, and the smaller of it and `sum + x - P` is the one that does not wrap.
/// For negative `x` it lies in `(-P, P)`, the other one is `sum + x + P`, and the same holds.
#[inline(always)]
fn signed_add<FP: FieldParameters>(sum: __m256i, x: __m256i) -> __m256i {
    // SAFETY: this file is compiled for AVX2 only.
    unsafe {
        let p_with_sign_of_x = _mm256_sign_epi32(FP::PACKED_P, x);
        let t = _mm256_add_epi32(sum, x);
        _mm256_min_epu32(t, _mm256_sub_epi32(t, p_with_sign_of_x))
    }
}

#[inline(always)]
fn to_vector<FP: FieldParameters>(x: PackedMontyField31AVX2<FP>) -> __m256i {
    // SAFETY: the packing is a transparent array of eight transparent `u32`.
    unsafe { transmute(x) }
}

/// # Safety
/// The elements of `x` lie in `[0, P)`.
#[inline(always)]
unsafe fn from_vector<FP: FieldParameters>(x: __m256i) -> PackedMontyField31AVX2<FP> {
    // SAFETY: the packing is a transparent array of eight transparent `u32`, which the caller warrants to be canonical.
    unsafe { transmute(x) }
}

impl<FP: FieldParameters> Divide2Exp for PackedMontyField31AVX2<FP> {
    #[inline(always)]
    fn div_2exp(self, n: u32) -> Self {
        let (hi, lo) = Shape::<FP>::parts(to_vector(self), n);
        // SAFETY: `parts` returns a difference in (-P, P). If it is negative, the sum with P is the smaller word and lies
        // in (0, P), else the difference itself is. AVX2 as above.
        unsafe {
            let x = _mm256_sub_epi32(hi, lo);
            from_vector(_mm256_min_epu32(x, _mm256_add_epi32(x, FP::PACKED_P)))
        }
    }

    #[inline(always)]
    fn add_div_2exp(self, x: Self, n: u32) -> Self {
        let (hi, lo) = Shape::<FP>::parts(to_vector(x), n);
        // SAFETY: `parts` returns a difference in (-P, P), which `signed_add` brings to [0, P). AVX2 as above.
        unsafe { from_vector(signed_add::<FP>(to_vector(self), _mm256_sub_epi32(hi, lo))) }
    }

    #[inline(always)]
    fn sub_div_2exp(self, x: Self, n: u32) -> Self {
        let (hi, lo) = Shape::<FP>::parts(to_vector(x), n);
        // SAFETY: as in `add_div_2exp`.
        unsafe { from_vector(signed_add::<FP>(to_vector(self), _mm256_sub_epi32(lo, hi))) }
    }
}
