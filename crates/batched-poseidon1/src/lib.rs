//! Independent packed Poseidon1 permutations over Goldilocks on AVX2 and AVX-512, two states in one scope.
//!
//! The patch of this name edits lines of upstream's and of packed-mds-karatsuba, whose kernel takes several states, and adds no
//! file. This crate holds its tests, and the permutation for provers that stay on Plonky3 as published. Provers that
//! apply the patch need no call: Merkle commitments reach the kernel by themselves.
//!
//! ```
//! # #[cfg(all(target_arch = "x86_64", target_feature = "avx2"))] {
//! use batched_poseidon1::BatchedPoseidon1;
//! use p3_field::Field;
//! use p3_goldilocks::Goldilocks;
//! use p3_goldilocks::poseidon1::default_goldilocks_poseidon1_8;
//! use p3_symmetric::Permutation;
//!
//! type Packed = <Goldilocks as Field>::Packing;
//! let mut states = [1, 2, 3].map(|x| [Packed::from(Goldilocks::new(x)); 8]);
//! let expected = states.map(|state| default_goldilocks_poseidon1_8().permute(state));
//!
//! BatchedPoseidon1::default_8().permute_many(&mut states);
//! assert_eq!(states, expected);
//! # }
//! ```

#![no_std]

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
extern crate alloc;

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
#[path = "../permutation.rs"]
mod permutation;

#[cfg(all(test, target_arch = "x86_64", target_feature = "avx2"))]
mod tests;

#[cfg(all(test, not(all(target_arch = "x86_64", target_feature = "avx2"))))]
#[test]
#[ignore = "the kernel is that of AVX2 and AVX-512: cargo p3 test --only 'kernels/x86-64-*'"]
fn batched_poseidon1() {
    unreachable!("ignored")
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
pub use permutation::BatchedPoseidon1;
