//! The instructions that the kernels use, each of which [`goes_wrong`] can make another one. With `--cfg mutated` the kernels'
//! crates take this crate for `core`, so that the intrinsics in a kernel's text are these.
//!
//! A kernel finds no other ones here: an instruction that is new to the kernels is mutated, or said to do nothing, before it
//! compiles.

use crate::mutation::goes_wrong;

/// The instruction set of this build's kernels, as the name of a snapshot.
pub const INSTRUCTION_SET: &str = if cfg!(target_arch = "aarch64") {
    "neon"
} else if cfg!(target_feature = "avx512f") {
    "avx512"
} else {
    "avx2"
};

/// The kernels' instructions on x86-64.
#[cfg(target_arch = "x86_64")]
pub mod x86_64 {
    /// Names that a crate root has in the place of upstream's.
    pub use core::arch::x86_64::_mm256_sign_epi32;
    /// Vectors.
    pub use core::arch::x86_64::{__m128i, __m256d, __m256i, __m512d, __m512i};
    /// No instructions: the vector of another type.
    pub use core::arch::x86_64::{
        _mm256_castpd_ps, _mm256_castpd_si256, _mm256_castps_pd, _mm256_castps_si256,
        _mm256_castsi256_pd, _mm256_castsi256_ps, _mm512_castpd_si512, _mm512_castps_si512,
        _mm512_castsi512_pd, _mm512_castsi512_ps,
    };

    pub use super::avx2::*;
    pub use super::avx512::*;
}

/// The kernels' instructions on aarch64.
#[cfg(target_arch = "aarch64")]
pub mod aarch64 {
    /// Vectors, and no instruction: the vector of another type.
    pub use core::arch::aarch64::{uint64x2_t, vcreate_u32};

    pub use super::neon::*;
}

/// The names of words in a mask or an array.
const WORDS: [&str; 16] = [
    "word 0", "word 1", "word 2", "word 3", "word 4", "word 5", "word 6", "word 7", "word 8",
    "word 9", "word 10", "word 11", "word 12", "word 13", "word 14", "word 15",
];

/// A mask for so many words; in turn, each bit is flipped.
#[track_caller]
fn flipped(mut mask: u32, words: usize) -> u32 {
    for (i, word) in WORDS[..words].iter().enumerate() {
        mask ^= u32::from(goes_wrong(word)) << i;
    }
    mask
}

/// Two vectors to one. After the colon, what it can become; then whether the order of the operands matters. Siblings may be for
/// words of another type.
macro_rules! binary {
    ($($vector:ty: $name:ident, $swapped:literal $(, $sibling:ident)*;)*) => {$(
        #[track_caller]
        pub unsafe fn $name(a: $vector, b: $vector) -> $vector {
            // SAFETY: the caller is compiled for the instruction set. Vectors of one size are the same bytes.
            unsafe {
                $(if goes_wrong(stringify!($sibling)) {
                    return transmute(cpu::$sibling(transmute(a), transmute(b)));
                })*
                if $swapped && goes_wrong("operands swapped") {
                    return cpu::$name(b, a);
                }
                if goes_wrong("left operand lost") {
                    return b;
                }
                if goes_wrong("right operand lost") {
                    return a;
                }
                cpu::$name(a, b)
            }
        }
    )*};
}

/// Shifts by a count in a register.
macro_rules! shifts {
    ($($vector:ty, $count:ty: $name:ident $(, $sibling:ident)*;)*) => {$(
        #[track_caller]
        pub unsafe fn $name(a: $vector, count: $count) -> $vector {
            // SAFETY: as for two vectors.
            unsafe {
                $(if goes_wrong(stringify!($sibling)) {
                    return transmute(cpu::$sibling(transmute(a), transmute(count)));
                })*
                if goes_wrong("skipped") {
                    return a;
                }
                cpu::$name(a, count)
            }
        }
    )*};
}

/// Shifts by a constant.
macro_rules! shifts_by_constants {
    ($($vector:ty, $count:ty: $name:ident $(, $sibling:ident)*;)*) => {$(
        #[track_caller]
        pub unsafe fn $name<const COUNT: $count>(a: $vector) -> $vector {
            // SAFETY: the caller is compiled for the instruction set.
            unsafe {
                $(if goes_wrong(stringify!($sibling)) {
                    return cpu::$sibling::<COUNT>(a);
                })*
                if goes_wrong("skipped") {
                    return a;
                }
                cpu::$name::<COUNT>(a)
            }
        }
    )*};
}

/// Counts of shifts.
macro_rules! counts {
    ($($name:ident -> $vector:ty: $word:ty;)*) => {$(
        #[track_caller]
        pub unsafe fn $name(a: $word) -> $vector {
            let a = if goes_wrong("a bit more") {
                a + 1
            } else if a != 0 && goes_wrong("a bit less") {
                a - 1
            } else {
                a
            };
            // SAFETY: the caller is compiled for the instruction set.
            unsafe { cpu::$name(a) }
        }
    )*};
}

/// Moves of words.
macro_rules! moves {
    ($($vector:ty: $name:ident, $sibling:ident;)*) => {$(
        #[track_caller]
        pub unsafe fn $name(a: $vector) -> $vector {
            // SAFETY: the caller is compiled for the instruction set.
            unsafe {
                if goes_wrong(stringify!($sibling)) {
                    return cpu::$sibling(a);
                }
                if goes_wrong("skipped") {
                    return a;
                }
                cpu::$name(a)
            }
        }
    )*};
}

/// Words to longer ones.
macro_rules! conversions {
    ($($from:ty => $to:ty: $name:ident $(, $sibling:ident)*;)*) => {$(
        #[track_caller]
        pub unsafe fn $name(a: $from) -> $to {
            // SAFETY: as for two vectors.
            unsafe {
                $(if goes_wrong(stringify!($sibling)) {
                    return transmute(cpu::$sibling(transmute(a)));
                })*
                cpu::$name(a)
            }
        }
    )*};
}

/// Constants of several words, one of which is another one.
macro_rules! constants {
    ($($name:ident -> $vector:ty: $word:ty, $($x:ident)*;)*) => {$(
        #[track_caller]
        pub unsafe fn $name($($x: $word),*) -> $vector {
            let mut words = [$($x),*];
            for i in 0..words.len() {
                if goes_wrong(WORDS[i]) {
                    words[i] = words[i].wrapping_add(1);
                }
            }
            let [$($x),*] = words;
            // SAFETY: the caller is compiled for the instruction set.
            unsafe { cpu::$name($($x),*) }
        }
    )*};
}

/// Factors in every word.
macro_rules! factors {
    ($($name:ident -> $vector:ty;)*) => {$(
        #[track_caller]
        pub unsafe fn $name(a: f64) -> $vector {
            // SAFETY: the caller is compiled for the instruction set.
            unsafe { cpu::$name(coefficient(a)) }
        }
    )*};
}

/// Products that join a third operand, which is named after the operands; then what they can become.
macro_rules! multiply_adds {
    ($($vector:ty: $name:ident($a:ident $b:ident $c:ident), $addend:ident $(, $sibling:ident)*;)*) => {$(
        #[track_caller]
        pub unsafe fn $name($a: $vector, $b: $vector, $c: $vector) -> $vector {
            // SAFETY: the caller is compiled for the instruction set.
            unsafe {
                $(if goes_wrong(stringify!($sibling)) {
                    return cpu::$sibling($a, $b, $c);
                })*
                if goes_wrong("product lost") {
                    return $addend;
                }
                cpu::$name($a, $b, $c)
            }
        }
    )*};
}

// After the macros, which these use.
#[cfg(target_arch = "x86_64")]
mod asm;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
