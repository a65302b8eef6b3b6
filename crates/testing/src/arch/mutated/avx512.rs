//! AVX-512, with IFMA.

use core::arch::x86_64 as cpu;
use core::arch::x86_64::{__m128i, __m512, __m512d, __m512i, __mmask8, __mmask16};
use core::mem::transmute;

use super::{WORDS, flipped};
use crate::mutation::{coefficient, goes_wrong};

binary! {
    __m512d: _mm512_add_pd, false, _mm512_sub_pd;
    __m512d: _mm512_mul_pd, false, _mm512_add_pd;
    __m512d: _mm512_sub_pd, true, _mm512_add_pd;
    __m512i: _mm512_add_epi32, false, _mm512_sub_epi32;
    __m512i: _mm512_add_epi64, false, _mm512_sub_epi64, _mm512_add_epi32;
    __m512i: _mm512_and_si512, false, _mm512_or_si512, _mm512_andnot_si512;
    __m512i: _mm512_madd_epi16, false, _mm512_maddubs_epi16, _mm512_mullo_epi16;
    __m512i: _mm512_maddubs_epi16, true, _mm512_madd_epi16, _mm512_mullo_epi16;
    __m512i: _mm512_min_epu32, false, _mm512_min_epi32, _mm512_max_epu32;
    __m512i: _mm512_mul_epi32, false, _mm512_mul_epu32, _mm512_mullo_epi32;
    __m512i: _mm512_mul_epu32, false, _mm512_mul_epi32, _mm512_mullo_epi32;
    __m512i: _mm512_sub_epi32, true, _mm512_add_epi32;
    __m512i: _mm512_sub_epi64, true, _mm512_add_epi64, _mm512_sub_epi32;
    __m512i: _mm512_xor_si512, false, _mm512_or_si512, _mm512_and_si512;
}

shifts! {
    __m512i, __m128i: _mm512_sll_epi64, _mm512_srl_epi64, _mm512_sll_epi32;
    __m512i, __m128i: _mm512_sra_epi64, _mm512_srl_epi64, _mm512_sra_epi32;
    __m512i, __m128i: _mm512_srl_epi32, _mm512_sra_epi32, _mm512_srl_epi64;
    __m512i, __m128i: _mm512_srl_epi64, _mm512_sll_epi64, _mm512_srl_epi32;
}

shifts_by_constants! {
    __m512i, u32: _mm512_slli_epi64, _mm512_srli_epi64, _mm512_slli_epi32;
    __m512i, u32: _mm512_srli_epi64, _mm512_slli_epi64, _mm512_srli_epi32;
}

moves! {
    __m512: _mm512_movehdup_ps, _mm512_moveldup_ps;
}

constants! {
    _mm512_set1_epi32 -> __m512i: i32, a;
    _mm512_set1_epi64 -> __m512i: i64, a;
}

factors! {
    _mm512_set1_pd -> __m512d;
}

multiply_adds! {
    __m512d: _mm512_fmadd_pd(a b c), c, _mm512_fnmadd_pd, _mm512_fmsub_pd;
    __m512d: _mm512_fnmadd_pd(a b c), c, _mm512_fmadd_pd, _mm512_fnmsub_pd;
    __m512i: _mm512_madd52hi_epu64(a b c), a, _mm512_madd52lo_epu64;
    __m512i: _mm512_madd52lo_epu64(a b c), a, _mm512_madd52hi_epu64;
}

/// Comparisons: whether the order of the operands matters, and what they can become.
macro_rules! comparisons {
    ($($mask:ty: $name:ident, $swapped:literal $(, $sibling:ident)*;)*) => {$(
        #[track_caller]
        pub unsafe fn $name(a: __m512i, b: __m512i) -> $mask {
            // SAFETY: the caller is compiled for AVX-512.
            unsafe {
                $(if goes_wrong(stringify!($sibling)) {
                    return cpu::$sibling(a, b);
                })*
                if $swapped && goes_wrong("operands swapped") {
                    return cpu::$name(b, a);
                }
                if goes_wrong("no word") {
                    return 0;
                }
                if goes_wrong("every word") {
                    return <$mask>::MAX;
                }
                cpu::$name(a, b)
            }
        }
    )*};
}

comparisons! {
    __mmask8: _mm512_cmpge_epu64_mask, true, _mm512_cmpgt_epu64_mask, _mm512_cmpge_epi64_mask;
    __mmask8: _mm512_cmplt_epu64_mask, true, _mm512_cmple_epu64_mask, _mm512_cmplt_epi64_mask;
    __mmask16: _mm512_test_epi32_mask, false, _mm512_testn_epi32_mask;
}

/// Operations on the words that a mask has; the others are the first operand's. What they can become, and the same on every word.
macro_rules! masked {
    ($($mask:ty, $right:ty: $name:ident, $sibling:ident, $everywhere:ident;)*) => {$(
        #[track_caller]
        pub unsafe fn $name(words: __m512i, mask: $mask, a: __m512i, b: $right) -> __m512i {
            // SAFETY: the caller is compiled for AVX-512.
            unsafe {
                if goes_wrong(stringify!($sibling)) {
                    return cpu::$sibling(words, mask, a, b);
                }
                if goes_wrong(stringify!($everywhere)) {
                    return cpu::$everywhere(a, b);
                }
                if goes_wrong("mask inverted") {
                    return cpu::$name(words, !mask, a, b);
                }
                if goes_wrong("skipped") {
                    return words;
                }
                cpu::$name(words, mask, a, b)
            }
        }
    )*};
}

masked! {
    __mmask8, __m512i: _mm512_mask_add_epi64, _mm512_mask_sub_epi64, _mm512_add_epi64;
    __mmask8, __m512i: _mm512_mask_sub_epi64, _mm512_mask_add_epi64, _mm512_sub_epi64;
    __mmask16, __m128i: _mm512_mask_sll_epi32, _mm512_mask_srl_epi32, _mm512_sll_epi32;
}

#[track_caller]
pub unsafe fn _mm512_mask_blend_epi32(mask: __mmask16, a: __m512i, b: __m512i) -> __m512i {
    // SAFETY: the caller is compiled for AVX-512.
    unsafe { cpu::_mm512_mask_blend_epi32(flipped(mask.into(), 16) as __mmask16, a, b) }
}

#[track_caller]
pub unsafe fn _mm512_mask_moveldup_ps(words: __m512, mask: __mmask16, a: __m512) -> __m512 {
    // SAFETY: the caller is compiled for AVX-512.
    unsafe {
        if goes_wrong("_mm512_mask_movehdup_ps") {
            return cpu::_mm512_mask_movehdup_ps(words, mask, a);
        }
        cpu::_mm512_mask_moveldup_ps(words, flipped(mask.into(), 16) as __mmask16, a)
    }
}
