//! Packed Poseidon2 over Goldilocks on AVX2 and AVX-512: rounds without modular additions.
//!
//! The kernel is what the patch of the same name adds to p3-goldilocks: `poseidon2_rounds`, `poseidon2_halves`,
//! `poseidon2_fused`, and `vector` with a file for each instruction set. This crate root stands in for p3-goldilocks's, so
//! that the same bytes compile in both places. It offers the permutation to provers that stay on Plonky3 as published;
//! provers that apply the patch change nothing.
//!
//! ```
//! # #[cfg(target_feature = "avx2")] {
//! use p3_field::Field;
//! use p3_goldilocks::{
//!     GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_FINAL, GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_INITIAL,
//!     GOLDILOCKS_POSEIDON2_RC_8_INTERNAL, Goldilocks, default_goldilocks_poseidon2_8,
//! };
//! use p3_poseidon2::ExternalLayerConstants;
//! use p3_symmetric::Permutation;
//! use packed_poseidon2::Poseidon2GoldilocksFused;
//!
//! let permutation = Poseidon2GoldilocksFused::new(
//!     ExternalLayerConstants::new(
//!         GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_INITIAL.to_vec(),
//!         GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_FINAL.to_vec(),
//!     ),
//!     GOLDILOCKS_POSEIDON2_RC_8_INTERNAL.to_vec(),
//! );
//! let state = [<Goldilocks as Field>::Packing::from(Goldilocks::new(1)); 8];
//! assert_eq!(permutation.permute(state), default_goldilocks_poseidon2_8().permute(state));
//! # }
//! ```

#![no_std]
// The tests run the text on integers, intervals and terms, whatever the target.
#![cfg(any(test, all(target_arch = "x86_64", target_feature = "avx2")))]

extern crate alloc;
#[cfg(test)]
extern crate std;
// With the instructions that Miri lacks, or wrong ones.
#[cfg(all(test, any(miri, mutated)))]
extern crate p3_patches_testing as core;

use p3_goldilocks::Goldilocks;
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
use p3_goldilocks::poseidon1;
#[cfg(all(
    target_arch = "x86_64",
    target_feature = "avx2",
    not(target_feature = "avx512f")
))]
use p3_goldilocks::{
    PackedGoldilocksAVX2, Poseidon2ExternalLayerGoldilocksAVX2,
    Poseidon2InternalLayerGoldilocksAVX2,
};
#[cfg(all(target_arch = "x86_64", target_feature = "avx512f"))]
use p3_goldilocks::{
    PackedGoldilocksAVX512, Poseidon2ExternalLayerGoldilocksAVX512,
    Poseidon2InternalLayerGoldilocksAVX512,
};

// Documented in upstream's manner: the modules are private there.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod poseidon2_fused;
#[allow(missing_docs)]
mod poseidon2_halves;
#[allow(missing_docs)]
mod poseidon2_rounds;
// Without vectors, the tests have no packing.
#[cfg_attr(not(target_feature = "avx2"), allow(dead_code))]
#[allow(missing_docs)]
mod vector;

#[cfg(all(
    target_arch = "x86_64",
    target_feature = "avx2",
    not(target_feature = "avx512f")
))]
mod x86_64_avx2 {
    mod vector;
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx512f"))]
mod x86_64_avx512 {
    mod vector;
}

#[cfg(test)]
mod tests;

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
pub use poseidon2_fused::Poseidon2GoldilocksFused;
