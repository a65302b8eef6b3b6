//! Dot products over packed Goldilocks elements, on AVX2 and AVX-512, that are reduced once in 1024 terms.
//!
//! The kernel is [`dot_product`] on [`lazy_product`], which the patch of the same name adds to p3-goldilocks; the latter has the
//! mechanism and the bounds. [`unreduced_columnwise_dot_product`] passes over rows, for any field, and is added to p3-field. The
//! words under it are packed-poseidon2's, whose `vector` files are compiled here once more, as they are in p3-goldilocks. This crate
//! root stands in for those of p3-goldilocks and p3-field, so that the same bytes compile in both places.
//!
//! ```
//! # #[cfg(target_feature = "avx2")] {
//! use lazy_dot_products::dot_product::batched_linear_combination;
//! use p3_field::{Field, PrimeCharacteristicRing};
//! use p3_goldilocks::Goldilocks;
//!
//! type Packing = <Goldilocks as Field>::Packing;
//! let (values, coefficients) = ([Packing::TWO; 1000], [Goldilocks::new(3); 1000]);
//!
//! let combination = batched_linear_combination(&values, &coefficients);
//! assert_eq!(combination, Packing::from(Goldilocks::new(6000)));
//! # }
//! ```

#![no_std]
// The tests run the text on integers, intervals and terms, whatever the target.
#![cfg(any(test, all(target_arch = "x86_64", target_feature = "avx2")))]

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
extern crate alloc;

#[cfg(test)]
extern crate std;
// With the instructions that Miri lacks, or wrong ones.
#[cfg(all(test, any(miri, mutated)))]
extern crate p3_patches_testing as core;

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
use p3_field::{
    BasedVectorSpace, ExtensionField, Field, PrimeCharacteristicRing,
    generic_batched_columnwise_dot_product,
};
use p3_goldilocks::Goldilocks;
#[cfg(all(
    target_arch = "x86_64",
    target_feature = "avx2",
    not(target_feature = "avx512f")
))]
use p3_goldilocks::PackedGoldilocksAVX2;
#[cfg(all(target_arch = "x86_64", target_feature = "avx512f"))]
use p3_goldilocks::PackedGoldilocksAVX512;

// Documented in upstream's manner: the modules are private there.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
#[allow(missing_docs)]
mod columnwise;
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
#[allow(missing_docs)]
pub mod dot_product;
#[allow(missing_docs)]
pub mod lazy_product;
#[allow(missing_docs)]
#[doc(hidden)]
#[path = "../../packed-poseidon2/src/vector.rs"]
pub mod vector;

#[cfg(all(
    target_arch = "x86_64",
    target_feature = "avx2",
    not(target_feature = "avx512f")
))]
#[path = "../../packed-poseidon2/src/x86_64_avx2/vector.rs"]
mod vector_avx2;

#[cfg(all(target_arch = "x86_64", target_feature = "avx512f"))]
#[path = "../../packed-poseidon2/src/x86_64_avx512/vector.rs"]
mod vector_avx512;

#[cfg(test)]
mod tests;

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
pub use columnwise::*;
