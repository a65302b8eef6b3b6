//! Vectors of 64-bit words, each of two halves of 32 bits.
//!
//! The kernels for packed elements of 31 bits are written once, over [`Words`]. A file for each
//! instruction set implements it. Each method names its instructions, which AVX2 and AVX-512 call
//! the same.
//!
//! A register holds an element in each half. The multiplication reads the lower halves, and a
//! product takes the whole word. So a kernel computes with the even elements and the odd ones
//! apart, which [`Words::high`] brings down, and puts the results together by [`Words::join_high`]:
//!
//! ```text
//! register  | e0 o0 | e1 o1 | ..
//! high      | o0  ? | o1  ? | ..
//! ```

#[cfg(not(target_feature = "avx512f"))]
mod avx2;
#[cfg(target_feature = "avx512f")]
mod avx512;

#[cfg(not(target_feature = "avx512f"))]
pub use core::arch::x86_64::__m256i as Register;
#[cfg(target_feature = "avx512f")]
pub use core::arch::x86_64::__m512i as Register;

/// A vector of 64-bit words, each of which may be two halves of 32 bits.
///
/// Operations wrap. The caller shows that no value does, or that none is lost by it.
pub trait Words: Copy {
    /// Repeats `x` in each word. `vpbroadcastq`.
    fn splat(x: u64) -> Self;

    /// Repeats `x` in both halves: LLVM would build a word whose upper half is zero of two
    /// instructions. `vpbroadcastd`.
    fn repeat(x: u32) -> Self;

    /// Adds each word. `vpaddq`.
    fn wrapping_add(self, rhs: Self) -> Self;

    /// Multiplies the lower halves of each word. `vpmuludq`.
    fn mul_low(self, rhs: Self) -> Self;

    /// Adds each half. `vpaddd`.
    fn add_halves(self, rhs: Self) -> Self;

    /// Subtracts each half. `vpsubd`.
    fn sub_halves(self, rhs: Self) -> Self;

    /// Takes the lesser of each two halves, unsigned. `vpminud`.
    fn min_halves(self, rhs: Self) -> Self;

    /// Moves the lower halves to the upper ones, above zeros. `vpsllq`.
    fn shl_half(self) -> Self;

    /// Moves the upper halves to the lower ones. The upper halves of the result are arbitrary.
    /// `vmovshdup`.
    fn high(self) -> Self;

    /// Puts the upper halves of `odd` above those of `even`. `vmovshdup`, `vpblendd` (on AVX-512 a
    /// move under a mask).
    ///
    /// ```text
    /// even    |  ? e0 |  ? e1 | ..
    /// odd     |  ? o0 |  ? o1 | ..
    /// result  | e0 o0 | e1 o1 | ..
    /// ```
    fn join_high(even: Self, odd: Self) -> Self;
}
