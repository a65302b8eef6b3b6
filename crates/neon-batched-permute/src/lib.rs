//! Poseidon2 states over Goldilocks on NEON, several in one scope: linear layers without modular additions.
//!
//! The kernel is `aarch64_neon/poseidon2_pair`, the file that the patch of the same name adds to p3-goldilocks; it runs
//! the rounds of packed-poseidon2 on pairs of halves. Provers that apply the patch change nothing. The crate holds its tests;
//! those on intervals and terms are packed-poseidon2's, whose bounds it shares.

#![no_std]
#![cfg(all(target_arch = "aarch64", target_feature = "neon"))]

extern crate alloc;
#[cfg(test)]
extern crate std;
// With instructions that go wrong.
#[cfg(all(test, mutated))]
extern crate p3_patches_testing as core;

use p3_goldilocks::Goldilocks;

mod aarch64_neon {
    // Documented in upstream's manner: the module is private there.
    #[allow(missing_docs)]
    pub mod poseidon2_pair;
}
// The pairs take the rounds, their lifts and what a word is.
#[allow(dead_code, missing_docs)]
#[path = "../../packed-poseidon2/src/poseidon2_halves.rs"]
mod poseidon2_halves;
#[allow(missing_docs)]
#[path = "../../packed-poseidon2/src/poseidon2_rounds.rs"]
mod poseidon2_rounds;
#[allow(dead_code, missing_docs)]
#[path = "../../packed-poseidon2/src/vector.rs"]
mod vector;

#[cfg(test)]
mod tests;

pub use aarch64_neon::poseidon2_pair::{BATCH, Pair, permute_group};
pub use poseidon2_rounds::{Representation, Rounds};
