//! The instructions of AVX2 that the kernels use, each of which [`strike`] can make another one. With `--cfg struck` the kernels'
//! crates take this crate for `core`, so that the intrinsics in a kernel's text are these.

use core::arch::x86_64 as cpu;
pub use core::arch::x86_64::*;
use core::mem::transmute;

use crate::mutation::{coefficient, strike};

/// Two vectors to one. After the colon, what it can become; then whether the order of the operands matters.
macro_rules! binary {
    ($($vector:ty: $name:ident, $swapped:literal $(, $sibling:ident)*;)*) => {$(
        #[track_caller]
        pub unsafe fn $name(a: $vector, b: $vector) -> $vector {
            // SAFETY: the caller is compiled for AVX2 and FMA.
            unsafe {
                $(if strike(stringify!($sibling)) {
                    return cpu::$sibling(a, b);
                })*
                if $swapped && strike("operands swapped") {
                    return cpu::$name(b, a);
                }
                if strike("left operand lost") {
                    return b;
                }
                if strike("right operand lost") {
                    return a;
                }
                cpu::$name(a, b)
            }
        }
    )*};
}

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
    __m256i: _mm256_mul_epu32, false, _mm256_mul_epi32, _mm256_mullo_epi32;
    __m256i: _mm256_sub_epi32, true, _mm256_add_epi32;
    __m256i: _mm256_sub_epi64, true, _mm256_add_epi64, _mm256_sub_epi32;
    __m256i: _mm256_xor_si256, false, _mm256_or_si256, _mm256_and_si256;
}

/// Shifts by a count in a register.
macro_rules! shifts {
    ($($name:ident, $other:ident, $words:ident;)*) => {$(
        #[track_caller]
        pub unsafe fn $name(a: __m256i, count: __m128i) -> __m256i {
            // SAFETY: the caller is compiled for AVX2.
            unsafe {
                if strike(stringify!($other)) {
                    return cpu::$other(a, count);
                }
                if strike(stringify!($words)) {
                    return cpu::$words(a, count);
                }
                if strike("skipped") {
                    return a;
                }
                cpu::$name(a, count)
            }
        }
    )*};
}

shifts! {
    _mm256_sll_epi32, _mm256_srl_epi32, _mm256_sll_epi64;
    _mm256_sll_epi64, _mm256_srl_epi64, _mm256_sll_epi32;
    _mm256_srl_epi32, _mm256_sra_epi32, _mm256_srl_epi64;
    _mm256_srl_epi64, _mm256_sll_epi64, _mm256_srl_epi32;
}

/// Shifts by a constant.
macro_rules! shifts_by_constants {
    ($($name:ident, $($other:ident),*;)*) => {$(
        #[track_caller]
        pub unsafe fn $name<const COUNT: i32>(a: __m256i) -> __m256i {
            // SAFETY: the caller is compiled for AVX2.
            unsafe {
                $(if strike(stringify!($other)) {
                    return cpu::$other::<COUNT>(a);
                })*
                if strike("skipped") {
                    return a;
                }
                cpu::$name::<COUNT>(a)
            }
        }
    )*};
}

shifts_by_constants! {
    _mm256_slli_epi64, _mm256_srli_epi64, _mm256_slli_epi32;
    _mm256_srli_epi64, _mm256_slli_epi64, _mm256_srli_epi32;
}

/// The count of a shift.
#[track_caller]
pub unsafe fn _mm_cvtsi32_si128(a: i32) -> __m128i {
    let a = if strike("a bit more") {
        a + 1
    } else if a > 0 && strike("a bit less") {
        a - 1
    } else {
        a
    };
    // SAFETY: every x86-64 CPU has SSE2.
    unsafe { cpu::_mm_cvtsi32_si128(a) }
}

/// Moves of words.
macro_rules! moves {
    ($($name:ident, $other:ident;)*) => {$(
        #[track_caller]
        pub unsafe fn $name(a: __m256) -> __m256 {
            // SAFETY: the caller is compiled for AVX2.
            unsafe {
                if strike(stringify!($other)) {
                    return cpu::$other(a);
                }
                if strike("skipped") {
                    return a;
                }
                cpu::$name(a)
            }
        }
    )*};
}

moves! {
    _mm256_movehdup_ps, _mm256_moveldup_ps;
    _mm256_moveldup_ps, _mm256_movehdup_ps;
}

#[track_caller]
pub unsafe fn _mm256_cvtepu32_epi64(a: __m128i) -> __m256i {
    // SAFETY: the caller is compiled for AVX2.
    unsafe {
        if strike("_mm256_cvtepi32_epi64") {
            return cpu::_mm256_cvtepi32_epi64(a);
        }
        if strike("_mm256_cvtepu16_epi64") {
            return cpu::_mm256_cvtepu16_epi64(a);
        }
        cpu::_mm256_cvtepu32_epi64(a)
    }
}

#[track_caller]
pub unsafe fn _mm256_permutevar_pd(a: __m256d, b: __m256i) -> __m256d {
    // SAFETY: the caller is compiled for AVX2.
    unsafe {
        if strike("skipped") {
            return a;
        }
        if strike("_mm256_blendv_pd") {
            return cpu::_mm256_blendv_pd(a, a, transmute::<__m256i, __m256d>(b));
        }
        cpu::_mm256_permutevar_pd(a, b)
    }
}

#[track_caller]
pub unsafe fn _mm256_permutevar8x32_epi32(a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: the caller is compiled for AVX2.
    unsafe {
        if strike("skipped") {
            return a;
        }
        if strike("operands swapped") {
            return cpu::_mm256_permutevar8x32_epi32(b, a);
        }
        cpu::_mm256_permutevar8x32_epi32(a, b)
    }
}

#[track_caller]
pub unsafe fn _mm256_set_m128i(high: __m128i, low: __m128i) -> __m256i {
    // SAFETY: the caller is compiled for AVX2.
    unsafe {
        if strike("operands swapped") {
            return cpu::_mm256_set_m128i(low, high);
        }
        cpu::_mm256_set_m128i(high, low)
    }
}

/// The names of words in a mask or an array.
const WORDS: [&str; 8] = [
    "word 0", "word 1", "word 2", "word 3", "word 4", "word 5", "word 6", "word 7",
];

/// Constants of several words, one of which is another one.
macro_rules! constants {
    ($($name:ident -> $vector:ty: $word:ty, $($x:ident)*;)*) => {$(
        #[track_caller]
        pub unsafe fn $name($($x: $word),*) -> $vector {
            let mut words = [$($x),*];
            for i in 0..words.len() {
                if strike(WORDS[i]) {
                    words[i] = words[i].wrapping_add(1);
                }
            }
            let [$($x),*] = words;
            // SAFETY: the caller is compiled for AVX2.
            unsafe { cpu::$name($($x),*) }
        }
    )*};
}

constants! {
    _mm_set1_epi32 -> __m128i: i32, a;
    _mm_setr_epi32 -> __m128i: i32, a b c d;
    _mm256_set1_epi32 -> __m256i: i32, a;
    _mm256_set1_epi64x -> __m256i: i64, a;
    _mm256_set_epi64x -> __m256i: i64, a b c d;
    _mm256_setr_epi32 -> __m256i: i32, a b c d e f g h;
}

#[track_caller]
pub unsafe fn _mm256_set1_pd(a: f64) -> __m256d {
    // SAFETY: the caller is compiled for AVX2.
    unsafe { cpu::_mm256_set1_pd(coefficient(a)) }
}

/// Products that join a third operand.
macro_rules! multiply_adds {
    ($($name:ident, $($sibling:ident),*;)*) => {$(
        #[track_caller]
        pub unsafe fn $name(a: __m256d, b: __m256d, c: __m256d) -> __m256d {
            // SAFETY: the caller is compiled for AVX2 and FMA.
            unsafe {
                $(if strike(stringify!($sibling)) {
                    return cpu::$sibling(a, b, c);
                })*
                if strike("product lost") {
                    return c;
                }
                cpu::$name(a, b, c)
            }
        }
    )*};
}

multiply_adds! {
    _mm256_fmadd_pd, _mm256_fnmadd_pd, _mm256_fmsub_pd;
    _mm256_fnmadd_pd, _mm256_fmadd_pd, _mm256_fnmsub_pd;
}

/// Words of `b` where a bit of the mask is set, else of `a`; in turn, each bit is flipped.
macro_rules! blends {
    ($($name:ident -> $vector:ty: $n:literal;)*) => {$(
        #[track_caller]
        pub unsafe fn $name<const MASK: i32>(a: $vector, b: $vector) -> $vector {
            // SAFETY: vectors are arrays of their words.
            unsafe {
                let mut words: [u32; $n] = transmute(a);
                let other: [u32; $n] = transmute(b);
                for i in 0..$n {
                    if (MASK >> i & 1 == 1) != strike(WORDS[i]) {
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
                order[i] = (ORDER >> (2 * i)) as usize + usize::from(strike(WORDS[i]));
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
