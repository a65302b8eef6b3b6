//! The internal rounds of Poseidon2 over KoalaBear and BabyBear, with the opposite entries of the diagonal in pairs.
//!
//! The kernel is [`poseidon2_paired`](https://github.com/Plonky3/Plonky3/tree/main/monty-31/src), the file that the patch of
//! the same name adds to p3-monty-31; its documentation has the mechanism. This crate root stands in for p3-monty-31's, so
//! that the same bytes compile in both places. Provers that apply the patch need no call.

#![no_std]

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
use p3_monty_31::FieldParameters;
#[cfg(all(
    target_arch = "x86_64",
    target_feature = "avx2",
    not(target_feature = "avx512f")
))]
use p3_monty_31::PackedMontyField31AVX2;
#[cfg(all(target_arch = "x86_64", target_feature = "avx512f"))]
use p3_monty_31::PackedMontyField31AVX512;

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
