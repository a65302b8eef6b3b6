//! Butterflies over Goldilocks on AVX-512 IFMA, two layers of a network at once, on Gaussian integers that stay unreduced.
//!
//! The kernel is what the patch of the same name adds: `gaussian` to p3-goldilocks, with the file of the instruction set;
//! `lazy_butterflies`, the trait that joins fields and transforms, to p3-field; and `lazy_tile` to p3-dft, where it takes the place
//! of tiled-dft's tiles. The words and multiply-adds under it are those of packed-poseidon2 and ifma-permute, whose files are
//! compiled here once more, as they are in p3-goldilocks. This crate root stands in for the roots of the three packages, so that
//! the same bytes compile in both places.

#![no_std]
// The tests run the text on integers, intervals and terms, whatever the target.
#![cfg(any(test, all(target_arch = "x86_64", target_feature = "avx512ifma")))]

extern crate alloc;
#[cfg(test)]
extern crate std;
// With the instructions that Miri lacks, or wrong ones.
#[cfg(all(test, any(miri, mutated)))]
extern crate p3_patches_testing as core;

use p3_field::PackedField;
use p3_goldilocks::Goldilocks;
#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
use p3_goldilocks::PackedGoldilocksAVX512;

// Documented in upstream's manner: the modules are private there.
#[allow(missing_docs)]
pub mod gaussian;
#[allow(missing_docs)]
pub mod lazy_tile;
mod packed {
    pub mod lazy_butterflies;
}
pub use packed::lazy_butterflies::LazyButterflies;

// Only the vocabulary of these is needed here.
#[allow(dead_code, missing_docs)]
#[path = "../../ifma-permute/src/poseidon2_limbs.rs"]
mod poseidon2_limbs;
#[allow(dead_code, missing_docs)]
#[path = "../../packed-poseidon2/src/poseidon2_rounds.rs"]
mod poseidon2_rounds;
#[allow(dead_code, missing_docs)]
#[path = "../../packed-poseidon2/src/vector.rs"]
mod vector;

#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
mod x86_64_avx512 {
    pub mod gaussian;
    #[path = "../../../packed-poseidon2/src/x86_64_avx512/vector.rs"]
    mod vector;
    #[path = "../../../ifma-permute/src/x86_64_avx512/vector_ifma.rs"]
    mod vector_ifma;
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
pub use x86_64_avx512::gaussian::Gaussian;

#[cfg(test)]
mod tests;
