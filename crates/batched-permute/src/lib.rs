//! Independent Poseidon2 permutations over Goldilocks, several states in one scope.
//!
//! The kernel is [`poseidon2_batch`](https://github.com/Plonky3/Plonky3/tree/main/goldilocks/src), the file that the patch
//! of the same name adds to p3-goldilocks; its documentation has the mechanism and the bounds. This crate root stands in
//! for p3-goldilocks's, so that the same bytes compile in both places. It offers the kernel to provers that stay on
//! Plonky3 as published: they call [`BatchedPoseidon2::permute_many`] where they have independent states. Provers that
//! apply the patch need no call: Merkle commitments reach the kernel by themselves.
//!
//! ```
//! use batched_permute::BatchedPoseidon2;
//! use p3_goldilocks::{Goldilocks, default_goldilocks_poseidon2_8};
//! use p3_symmetric::Permutation;
//!
//! let mut states = [[Goldilocks::new(1); 8], [Goldilocks::new(2); 8], [Goldilocks::new(3); 8]];
//! let expected = states.map(|state| default_goldilocks_poseidon2_8().permute(state));
//!
//! BatchedPoseidon2::default_8().permute_many(&mut states);
//! assert_eq!(states, expected);
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
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
use p3_goldilocks::PackedGoldilocksWasmSimd128;

#[path = "../permutation.rs"]
mod permutation;
// Documented in upstream's manner: the modules are private there.
#[allow(missing_docs)]
mod poseidon2_batch;
#[allow(missing_docs)]
mod poseidon2_batch_pair;
// The tests run it on intervals, whatever the target.
#[cfg(any(
    test,
    all(target_arch = "x86_64", target_feature = "avx2"),
    all(target_arch = "wasm32", target_feature = "simd128")
))]
#[cfg_attr(
    not(any(target_feature = "avx2", target_feature = "simd128")),
    allow(dead_code)
)]
#[allow(missing_docs)]
mod poseidon2_batch_vector;

#[cfg(all(
    target_arch = "x86_64",
    target_feature = "avx2",
    not(target_feature = "avx512f")
))]
mod x86_64_avx2 {
    mod poseidon2_batch;
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx512f"))]
mod x86_64_avx512 {
    mod poseidon2_batch;
}

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod wasm32_simd128 {
    mod poseidon2_batch;
}

#[cfg(test)]
mod tests;

pub use permutation::BatchedPoseidon2;
pub use poseidon2_batch::BatchElement;
