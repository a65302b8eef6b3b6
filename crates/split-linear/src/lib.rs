//! Packed Poseidon2 over Goldilocks on AVX2 and AVX-512: an S-box whose products start from and end in 32-bit halves.
//!
//! The kernel is `poseidon2_split`, the file that the patch of the same name adds to p3-goldilocks; it is the arithmetic
//! under the rounds of batched-permute, whose files are compiled here once more, as they are in p3-goldilocks.
//!
//! ```
//! # #[cfg(target_feature = "avx2")] {
//! use p3_field::Field;
//! use p3_goldilocks::{Goldilocks, default_goldilocks_poseidon2_8};
//! use p3_symmetric::Permutation;
//! use split_linear::BatchedPoseidon2;
//!
//! type Packed = <Goldilocks as Field>::Packing;
//! let mut states = [[Packed::from(Goldilocks::new(1)); 8], [Packed::from(Goldilocks::new(2)); 8]];
//! let expected = states.map(|state| default_goldilocks_poseidon2_8().permute(state));
//!
//! BatchedPoseidon2::default_8().permute_many(&mut states);
//! assert_eq!(states, expected);
//! # }
//! ```

#![no_std]

extern crate alloc;

use p3_goldilocks::Goldilocks;
#[cfg(all(
    target_arch = "x86_64",
    target_feature = "avx2",
    not(target_feature = "avx512f")
))]
use p3_goldilocks::PackedGoldilocksAVX2;
#[cfg(all(target_arch = "x86_64", target_feature = "avx512f"))]
use p3_goldilocks::PackedGoldilocksAVX512;

#[path = "../../batched-permute/permutation.rs"]
mod permutation;
#[allow(missing_docs)]
#[path = "../../batched-permute/src/poseidon2_batch.rs"]
mod poseidon2_batch;
#[allow(missing_docs)]
#[path = "../../batched-permute/src/poseidon2_batch_pair.rs"]
mod poseidon2_batch_pair;
// The tests run it on intervals, whatever the target.
#[cfg(any(test, all(target_arch = "x86_64", target_feature = "avx2")))]
#[allow(missing_docs)]
mod poseidon2_split;

#[cfg(all(
    target_arch = "x86_64",
    target_feature = "avx2",
    not(target_feature = "avx512f")
))]
mod x86_64_avx2 {
    mod poseidon2_split;
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx512f"))]
mod x86_64_avx512 {
    mod poseidon2_split;
}

#[cfg(test)]
mod tests;

pub use permutation::BatchedPoseidon2;
pub use poseidon2_batch::BatchElement;
