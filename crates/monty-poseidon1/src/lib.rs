//! Poseidon1 over packed KoalaBear and BabyBear, on AVX2 and AVX-512, with one reduction for each output of a linear layer.
//!
//! The kernel is [`packed_poseidon1`], which the patch of the same name adds to p3-monty-31; its documentation has the mechanism
//! and the bounds. The words under it are `vector`, with a file for each instruction set. This crate root stands in for p3-monty-31's, so that the same bytes
//! compile in both places.

#![no_std]
#![cfg(all(target_arch = "x86_64", target_feature = "avx2"))]

extern crate alloc;
#[cfg(test)]
extern crate std;
// With the instructions that Miri lacks, or wrong ones.
#[cfg(all(test, any(miri, mutated)))]
extern crate p3_patches_testing as core;

use p3_monty_31::{FieldParameters, MontyField31, MontyParameters};
// For the kernel's own tests.
#[cfg(all(test, not(target_feature = "avx512f")))]
use p3_monty_31::MontyParametersAVX2;
#[cfg(all(test, target_feature = "avx512f"))]
use p3_monty_31::MontyParametersAVX512;
#[cfg(test)]
use p3_monty_31::{PackedMontyParameters, RelativelyPrimePower};

// Documented in upstream's manner: the modules are private there.
#[allow(missing_docs)]
pub mod packed_poseidon1;
#[allow(missing_docs)]
mod vector;

#[cfg(test)]
mod tests;
