//! Packed Poseidon2 over Goldilocks on AVX-512 IFMA: elements in two limbs, whose products are multiply-adds of 52 bits.
//!
//! The kernel is `poseidon2_limbs`, the file that the patch of the same name adds to p3-goldilocks; it is the arithmetic
//! under the rounds of batched-permute, whose files are compiled here once more, as they are in p3-goldilocks.
//!
//! ```
//! # #[cfg(target_feature = "avx512ifma")] {
//! use ifma_permute::BatchedPoseidon2;
//! use p3_goldilocks::{Goldilocks, PackedGoldilocksAVX512, default_goldilocks_poseidon2_8};
//! use p3_symmetric::Permutation;
//!
//! let mut states = [1, 2, 3].map(|x| [PackedGoldilocksAVX512::from(Goldilocks::new(x)); 8]);
//! let expected = states.map(|state| default_goldilocks_poseidon2_8().permute(state));
//!
//! BatchedPoseidon2::default_8().permute_many(&mut states);
//! assert_eq!(states, expected);
//! # }
//! ```

#![no_std]

extern crate alloc;

use p3_goldilocks::Goldilocks;
#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
use p3_goldilocks::PackedGoldilocksAVX512;

#[path = "../../batched-permute/permutation.rs"]
mod permutation;
#[allow(missing_docs)]
#[path = "../../batched-permute/src/poseidon2_batch.rs"]
mod poseidon2_batch;
// The scalar element, which the rounds' file names.
#[allow(missing_docs)]
#[path = "../../batched-permute/src/poseidon2_batch_pair.rs"]
mod poseidon2_batch_pair;
// The tests run it on ordinary integers and on intervals, whatever the target.
#[cfg(any(test, all(target_arch = "x86_64", target_feature = "avx512ifma")))]
#[allow(missing_docs)]
mod poseidon2_limbs;

#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
mod x86_64_avx512 {
    mod poseidon2_limbs;
}

#[cfg(test)]
mod tests;

pub use permutation::BatchedPoseidon2;
pub use poseidon2_batch::BatchElement;
