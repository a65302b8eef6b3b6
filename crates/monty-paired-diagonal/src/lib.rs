//! The internal rounds of Poseidon2 over KoalaBear and BabyBear, with the opposite entries of the diagonal in pairs.
//!
//! The kernel is [`poseidon2_paired`](https://github.com/Plonky3/Plonky3/tree/main/monty-31/src), the file that the patch of
//! the same name adds to p3-monty-31; its documentation has the mechanism. This crate root stands in for p3-monty-31's, so
//! that the same bytes compile in both places. Provers that apply the patch need no call.

#![no_std]

#[cfg(all(test, target_arch = "x86_64", target_feature = "avx2"))]
extern crate alloc;
// With the instructions that Miri lacks, or wrong ones.
#[cfg(all(test, any(miri, mutated)))]
extern crate p3_patches_testing as core;

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
use p3_monty_31::FieldParameters;
use p3_monty_31::MontyParameters;
#[cfg(all(
    target_arch = "x86_64",
    target_feature = "avx2",
    not(target_feature = "avx512f")
))]
use p3_monty_31::PackedMontyField31AVX2;
#[cfg(all(target_arch = "x86_64", target_feature = "avx512f"))]
use p3_monty_31::PackedMontyField31AVX512;
// For the kernel's own tests.
#[cfg(all(
    test,
    target_arch = "x86_64",
    target_feature = "avx2",
    not(target_feature = "avx512f")
))]
use p3_monty_31::MontyParametersAVX2;
#[cfg(all(test, target_arch = "x86_64", target_feature = "avx512f"))]
use p3_monty_31::MontyParametersAVX512;
#[cfg(all(test, target_arch = "x86_64", target_feature = "avx2"))]
use p3_monty_31::{MontyField31, PackedMontyParameters};

mod poseidon2_paired;

#[cfg(all(
    target_arch = "x86_64",
    target_feature = "avx2",
    not(target_feature = "avx512f")
))]
mod x86_64_avx2 {
    mod poseidon2_paired;
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx512f"))]
mod x86_64_avx512 {
    mod poseidon2_paired;
}

/// Stands in for the function of this name that p3-monty-31 keeps to itself.
///
/// # Safety
/// `sum` lies in `[0, P)` and `x` in `(-P, P)`. The result lies in `[0, P)`: of the sum and the sum with `P` taken off with
/// the sign of `x`, it is the one that does not wrap.
#[cfg(all(
    target_arch = "x86_64",
    target_feature = "avx2",
    not(target_feature = "avx512f")
))]
#[inline(always)]
unsafe fn signed_add_avx2<FP: FieldParameters>(
    sum: core::arch::x86_64::__m256i,
    x: core::arch::x86_64::__m256i,
) -> core::arch::x86_64::__m256i {
    use core::arch::x86_64::{
        _mm256_add_epi32, _mm256_min_epu32, _mm256_sign_epi32, _mm256_sub_epi32,
    };

    // SAFETY: this function is compiled for AVX2 only.
    unsafe {
        let p_with_sign_of_x = _mm256_sign_epi32(FP::PACKED_P, x);
        let t = _mm256_add_epi32(sum, x);
        _mm256_min_epu32(t, _mm256_sub_epi32(t, p_with_sign_of_x))
    }
}

#[cfg(test)]
mod tests;

pub use poseidon2_paired::{Divide2Exp, Pairing, internal_rounds};

/// The inverse powers of two in 0.8.0's diagonals, for [`Pairing::new`].
pub mod exponents {
    /// KoalaBear, width 16.
    pub const KOALA_BEAR_16: [i32; 7] = [8, 3, 24, -8, -3, -4, -24];
    /// KoalaBear, width 24.
    pub const KOALA_BEAR_24: [i32; 15] = [8, 2, 3, 4, 5, 6, 24, -8, -3, -4, -5, -6, -7, -9, -24];
    /// BabyBear, width 16.
    pub const BABY_BEAR_16: [i32; 7] = [8, 2, 3, 27, -8, -4, -27];
    /// BabyBear, width 24.
    pub const BABY_BEAR_24: [i32; 15] = [8, 2, 3, 4, 7, 9, 27, -8, -2, -3, -4, -5, -6, -7, -27];
}
