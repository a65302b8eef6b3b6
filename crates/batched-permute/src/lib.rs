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

use alloc::vec::Vec;

#[cfg(all(
    target_arch = "x86_64",
    target_feature = "avx2",
    not(target_feature = "avx512f")
))]
use p3_goldilocks::PackedGoldilocksAVX2;
#[cfg(all(target_arch = "x86_64", target_feature = "avx512f"))]
use p3_goldilocks::PackedGoldilocksAVX512;
use p3_goldilocks::{
    GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_FINAL, GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_INITIAL,
    GOLDILOCKS_POSEIDON2_RC_8_INTERNAL, GOLDILOCKS_POSEIDON2_RC_12_EXTERNAL_FINAL,
    GOLDILOCKS_POSEIDON2_RC_12_EXTERNAL_INITIAL, GOLDILOCKS_POSEIDON2_RC_12_INTERNAL,
    GOLDILOCKS_POSEIDON2_RC_16_EXTERNAL_FINAL, GOLDILOCKS_POSEIDON2_RC_16_EXTERNAL_INITIAL,
    GOLDILOCKS_POSEIDON2_RC_16_INTERNAL, Goldilocks,
};
use p3_poseidon2::ExternalLayerConstants;

// Documented in upstream's manner: the modules are private there.
#[allow(missing_docs)]
mod poseidon2_batch;
#[allow(missing_docs)]
mod poseidon2_batch_pair;

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

#[cfg(test)]
mod tests;

pub use poseidon2_batch::BatchElement;
use poseidon2_batch::{BATCH, external_rounds_many, internal_rounds_many, is_batched};

/// The Poseidon2 permutation over Goldilocks for batches of states of width 8, 12 or 16.
///
/// States are arrays of `Goldilocks` or of its packing on AVX2 and AVX-512. The results are those of
/// `p3_goldilocks::Poseidon2Goldilocks` with the same constants.
#[derive(Clone, Debug)]
pub struct BatchedPoseidon2<const WIDTH: usize> {
    initial: Vec<[Goldilocks; WIDTH]>,
    internal: Vec<Goldilocks>,
    terminal: Vec<[Goldilocks; WIDTH]>,
}

impl<const WIDTH: usize> BatchedPoseidon2<WIDTH> {
    /// A permutation with the given round constants.
    pub fn new(
        external_constants: &ExternalLayerConstants<Goldilocks, WIDTH>,
        internal_constants: &[Goldilocks],
    ) -> Self {
        const {
            assert!(is_batched(WIDTH), "WIDTH must be 8, 12 or 16");
        }
        Self {
            initial: external_constants.get_initial_constants().to_vec(),
            internal: internal_constants.to_vec(),
            terminal: external_constants.get_terminal_constants().to_vec(),
        }
    }

    /// Permutes each of the states, as many interleaved as is fastest.
    pub fn permute_many<A: BatchElement>(&self, states: &mut [[A; WIDTH]]) {
        self.permute_interleaved::<A, BATCH>(states);
    }

    /// Permutes each of the states, the internal rounds of `B` at a time interleaved.
    pub fn permute_interleaved<A: BatchElement, const B: usize>(&self, states: &mut [[A; WIDTH]]) {
        for states in states.chunks_mut(B) {
            external_rounds_many::<A, WIDTH, true>(states, &self.initial);
            internal_rounds_many::<A, WIDTH, B>(states, &self.internal);
            external_rounds_many::<A, WIDTH, false>(states, &self.terminal);
        }
    }
}

impl BatchedPoseidon2<8> {
    /// The batched form of `p3_goldilocks::default_goldilocks_poseidon2_8`.
    #[must_use]
    pub fn default_8() -> Self {
        Self::new(
            &ExternalLayerConstants::new(
                GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_INITIAL.to_vec(),
                GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_FINAL.to_vec(),
            ),
            &GOLDILOCKS_POSEIDON2_RC_8_INTERNAL,
        )
    }
}

impl BatchedPoseidon2<12> {
    /// The batched form of `p3_goldilocks::default_goldilocks_poseidon2_12`.
    #[must_use]
    pub fn default_12() -> Self {
        Self::new(
            &ExternalLayerConstants::new(
                GOLDILOCKS_POSEIDON2_RC_12_EXTERNAL_INITIAL.to_vec(),
                GOLDILOCKS_POSEIDON2_RC_12_EXTERNAL_FINAL.to_vec(),
            ),
            &GOLDILOCKS_POSEIDON2_RC_12_INTERNAL,
        )
    }
}

impl BatchedPoseidon2<16> {
    /// The batched form of `p3_goldilocks::default_goldilocks_poseidon2_16`.
    #[must_use]
    pub fn default_16() -> Self {
        Self::new(
            &ExternalLayerConstants::new(
                GOLDILOCKS_POSEIDON2_RC_16_EXTERNAL_INITIAL.to_vec(),
                GOLDILOCKS_POSEIDON2_RC_16_EXTERNAL_FINAL.to_vec(),
            ),
            &GOLDILOCKS_POSEIDON2_RC_16_INTERNAL,
        )
    }
}
