//! Butterflies over Goldilocks, on AVX2 and AVX-512, with a twiddle that is prepared once for a row.
//!
//! The kernel is [`prepared_twiddle`], which the patch of the same name adds to p3-goldilocks with a file for each instruction
//! set; its documentation has the mechanism and the bounds. The words under it are packed-poseidon2's, whose `vector` files
//! are compiled here once more, as they are in p3-goldilocks. This crate root stands in for p3-goldilocks's, so that the same
//! bytes compile in both places.
//!
//! ```
//! # #[cfg(target_feature = "avx2")] {
//! use p3_field::{Field, PrimeCharacteristicRing};
//! use p3_goldilocks::Goldilocks;
//! use prepared_twiddles::prepared_twiddle::prepared_butterfly;
//!
//! type Packing = <Goldilocks as Field>::Packing;
//! let (mut low, mut high) = ([Packing::ONE; 16], [Packing::TWO; 16]);
//!
//! let butterfly = prepared_butterfly(Goldilocks::new(3), low.len()).expect("16 vectors are worth it");
//! for (low, high) in low.iter_mut().zip(&mut high) {
//!     (*low, *high) = butterfly(*low, *high);
//! }
//! assert_eq!(low[0], Packing::from(Goldilocks::new(7)));
//! assert_eq!(high[0], -Packing::from(Goldilocks::new(5)));
//! # }
//! ```

#![no_std]
// The tests run the text on integers, intervals and terms, whatever the target.
#![cfg(any(test, all(target_arch = "x86_64", target_feature = "avx2")))]

#[cfg(test)]
extern crate std;
// With the instructions that Miri lacks, or wrong ones.
#[cfg(all(test, any(miri, mutated)))]
extern crate p3_patches_testing as core;

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
#[allow(missing_docs)]
pub mod prepared_twiddle;
#[allow(missing_docs)]
#[doc(hidden)]
#[path = "../../packed-poseidon2/src/vector.rs"]
pub mod vector;

#[cfg(all(
    target_arch = "x86_64",
    target_feature = "avx2",
    not(target_feature = "avx512f")
))]
mod x86_64_avx2 {
    mod butterfly;
    #[path = "../../../packed-poseidon2/src/x86_64_avx2/vector.rs"]
    mod vector;
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx512f"))]
mod x86_64_avx512 {
    mod butterfly;
    #[path = "../../../packed-poseidon2/src/x86_64_avx512/vector.rs"]
    mod vector;
}

#[cfg(test)]
mod tests;
