//! Products of packed Goldilocks elements by multiply-adds of 52 bits, on AVX-512 IFMA.
//!
//! The kernel is [`limb_product`], which the patch of the same name adds to p3-goldilocks; its documentation has the mechanism and
//! the bounds. Its vocabulary is that of ifma-permute and packed-poseidon2, whose files are compiled here once more, as they
//! are in p3-goldilocks. This crate root stands in for p3-goldilocks's, so that the same bytes compile in both places.
//!
//! On AVX2 the patch calls the product that packed-poseidon2 has, and no kernel is new.
//!
//! ```
//! # #[cfg(target_feature = "avx512ifma")] {
//! use p3_goldilocks::{Goldilocks, PackedGoldilocksAVX512};
//! use packed_product::limb_product::mul;
//! use packed_product::vector::Packed;
//!
//! let [x, y] = [3, 5].map(|x| PackedGoldilocksAVX512::from(Goldilocks::new(x)));
//! assert_eq!(PackedGoldilocksAVX512::from_words(mul(x.to_words(), y.to_words())), x * y);
//! # }
//! ```

#![no_std]
// The tests run the text on integers, intervals and terms, whatever the target.
#![cfg(any(test, all(target_arch = "x86_64", target_feature = "avx512ifma")))]

extern crate alloc;
#[cfg(test)]
extern crate std;
// With the instructions that Miri lacks, or wrong ones.
#[cfg(all(test, any(miri, mutated)))]
extern crate p3_patches_testing as core;

use p3_goldilocks::Goldilocks;
#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
use p3_goldilocks::PackedGoldilocksAVX512;

// Documented in upstream's manner: the modules are private there.
#[allow(missing_docs)]
pub mod limb_product;
// Only its trait is used here.
#[allow(dead_code, missing_docs)]
#[doc(hidden)]
#[path = "../../ifma-permute/src/poseidon2_limbs.rs"]
pub mod poseidon2_limbs;
#[allow(dead_code, missing_docs)]
#[path = "../../packed-poseidon2/src/poseidon2_rounds.rs"]
mod poseidon2_rounds;
#[allow(missing_docs)]
#[doc(hidden)]
#[path = "../../packed-poseidon2/src/vector.rs"]
pub mod vector;

#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
#[path = "../../packed-poseidon2/src/x86_64_avx512/vector.rs"]
mod vector_avx512;
#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
#[path = "../../ifma-permute/src/x86_64_avx512/vector_ifma.rs"]
mod vector_ifma;

#[cfg(test)]
mod tests;
