//! AVX2, and what AVX-512 shares with it.

use core::arch::x86_64 as cpu;
use core::arch::x86_64::{__m128i, __m256, __m256d, __m256i};
use core::mem::transmute;

use super::{WORDS, flipped};
use crate::mutation::{coefficient, goes_wrong};

binary! {
    __m128i: _mm_add_epi32, false, _mm_sub_epi32;
    __m128i: _mm_min_epu32, false, _mm_min_epi32, _mm_max_epu32;
    __m128i: _mm_sub_epi32, true, _mm_add_epi32;
    __m256d: _mm256_add_pd, false, _mm256_sub_pd;
    __m256d: _mm256_mul_pd, false, _mm256_add_pd;
    __m256d: _mm256_sub_pd, true, _mm256_add_pd;
    __m256d: _mm256_xor_pd, false, _mm256_or_pd, _mm256_and_pd;
    __m256i: _mm256_add_epi32, false, _mm256_sub_epi32;
    __m256i: _mm256_add_epi64, false, _mm256_sub_epi64, _mm256_add_epi32;
    __m256i: _mm256_and_si256, false, _mm256_or_si256, _mm256_andnot_si256;
    __m256i: _mm256_andnot_si256, true, _mm256_and_si256;
    __m256i: _mm256_cmpgt_epi64, true, _mm256_cmpeq_epi64, _mm256_cmpgt_epi32;
    __m256i: _mm256_madd_epi16, false, _mm256_maddubs_epi16, _mm256_mullo_epi16;
    __m256i: _mm256_maddubs_epi16, true, _mm256_madd_epi16, _mm256_mullo_epi16;
    __m256i: _mm256_min_epu32, false, _mm256_min_epi32, _mm256_max_epu32;
    __m256i: _mm256_mul_epi32, false, _mm256_mul_epu32, _mm256_mullo_epi32;
    __m256i: _mm256_mul_epu32, false, _mm256_mul_epi32, _mm256_mullo_epi32;
    __m256i: _mm256_sub_epi32, true, _mm256_add_epi32;
    __m256i: _mm256_sub_epi64, true, _mm256_add_epi64, _mm256_sub_epi32;
    __m256i: _mm256_xor_si256, false, _mm256_or_si256, _mm256_and_si256;
}

shifts! {
    __m256i, __m128i: _mm256_sll_epi32, _mm256_srl_epi32, _mm256_sll_epi64;
    __m256i, __m128i: _mm256_sll_epi64, _mm256_srl_epi64, _mm256_sll_epi32;
    __m256i, __m128i: _mm256_srl_epi32, _mm256_sra_epi32, _mm256_srl_epi64;
    __m256i, __m128i: _mm256_srl_epi64, _mm256_sll_epi64, _mm256_srl_epi32;
}

shifts_by_constants! {
    __m256i, i32: _mm256_slli_epi64, _mm256_srli_epi64, _mm256_slli_epi32;
    __m256i, i32: _mm256_srli_epi64, _mm256_slli_epi64, _mm256_srli_epi32;
}

counts! {
    _mm_cvtsi32_si128 -> __m128i: i32;
}

moves! {
    __m256: _mm256_movehdup_ps, _mm256_moveldup_ps;
    __m256: _mm256_moveldup_ps, _mm256_movehdup_ps;
}

conversions! {
    __m128i => __m256i: _mm256_cvtepu32_epi64, _mm256_cvtepi32_epi64, _mm256_cvtepu16_epi64;
}

#[track_caller]
pub unsafe fn _mm256_permutevar_pd(a: __m256d, b: __m256i) -> __m256d {
    // SAFETY: the caller is compiled for AVX2.
    unsafe {
        if goes_wrong("skipped") {
            return a;
        }
        if goes_wrong("_mm256_blendv_pd") {
            return cpu::_mm256_blendv_pd(a, a, transmute::<__m256i, __m256d>(b));
        }
        cpu::_mm256_permutevar_pd(a, b)
    }
}

#[track_caller]
pub unsafe fn _mm256_permutevar8x32_epi32(a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: the caller is compiled for AVX2.
    unsafe {
        if goes_wrong("skipped") {
            return a;
        }
        if goes_wrong("operands swapped") {
            return cpu::_mm256_permutevar8x32_epi32(b, a);
        }
        cpu::_mm256_permutevar8x32_epi32(a, b)
    }
}

#[track_caller]
pub unsafe fn _mm256_set_m128i(high: __m128i, low: __m128i) -> __m256i {
    // SAFETY: the caller is compiled for AVX2.
    unsafe {
        if goes_wrong("operands swapped") {
            return cpu::_mm256_set_m128i(low, high);
        }
        cpu::_mm256_set_m128i(high, low)
    }
}

constants! {
    _mm_set1_epi32 -> __m128i: i32, a;
    _mm_setr_epi32 -> __m128i: i32, a b c d;
    _mm256_set1_epi32 -> __m256i: i32, a;
    _mm256_set1_epi64x -> __m256i: i64, a;
    _mm256_set_epi64x -> __m256i: i64, a b c d;
    _mm256_setr_epi32 -> __m256i: i32, a b c d e f g h;
}

factors! {
    _mm256_set1_pd -> __m256d;
}

multiply_adds! {
    __m256d: _mm256_fmadd_pd(a b c), c, _mm256_fnmadd_pd, _mm256_fmsub_pd;
    __m256d: _mm256_fnmadd_pd(a b c), c, _mm256_fmadd_pd, _mm256_fnmsub_pd;
}

/// Words of `b` where a bit of the mask is set, else of `a`.
macro_rules! blends {
    ($($name:ident -> $vector:ty: $n:literal;)*) => {$(
        #[track_caller]
        pub unsafe fn $name<const MASK: i32>(a: $vector, b: $vector) -> $vector {
            // SAFETY: vectors are arrays of their words.
            unsafe {
                let mut words: [u32; $n] = transmute(a);
                let other: [u32; $n] = transmute(b);
                let mask = flipped(MASK as u32, $n);
                for i in 0..$n {
                    if mask >> i & 1 == 1 {
                        words[i] = other[i];
                    }
                }
                transmute(words)
            }
        }
    )*};
}

blends! {
    _mm_blend_epi32 -> __m128i: 4;
    _mm256_blend_epi32 -> __m256i: 8;
}

/// In groups of four words, those that two bits each of the constant name; in turn, each pair of bits is the next.
macro_rules! shuffles {
    ($($name:ident -> $vector:ty: $word:ty, $n:literal;)*) => {$(
        #[track_caller]
        pub unsafe fn $name<const ORDER: i32>(a: $vector) -> $vector {
            let mut order: [usize; 4] = [0; 4];
            for i in 0..4 {
                order[i] = (ORDER >> (2 * i)) as usize + usize::from(goes_wrong(WORDS[i]));
            }
            // SAFETY: vectors are arrays of their words.
            unsafe {
                let words: [$word; $n] = transmute(a);
                let shuffled: [$word; $n] =
                    core::array::from_fn(|i| words[i / 4 * 4 + order[i % 4] % 4]);
                transmute(shuffled)
            }
        }
    )*};
}

shuffles! {
    _mm_shuffle_epi32 -> __m128i: i32, 4;
    _mm256_permute4x64_epi64 -> __m256i: i64, 4;
    _mm256_shuffle_epi32 -> __m256i: i32, 8;
}
