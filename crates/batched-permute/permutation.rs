//! The permutation on top of the kernel, for this crate and those whose kernels stack on this one.

use alloc::vec::Vec;

use p3_goldilocks::{
    GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_FINAL, GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_INITIAL,
    GOLDILOCKS_POSEIDON2_RC_8_INTERNAL, GOLDILOCKS_POSEIDON2_RC_12_EXTERNAL_FINAL,
    GOLDILOCKS_POSEIDON2_RC_12_EXTERNAL_INITIAL, GOLDILOCKS_POSEIDON2_RC_12_INTERNAL,
    GOLDILOCKS_POSEIDON2_RC_16_EXTERNAL_FINAL, GOLDILOCKS_POSEIDON2_RC_16_EXTERNAL_INITIAL,
    GOLDILOCKS_POSEIDON2_RC_16_INTERNAL, Goldilocks,
};
use p3_poseidon2::ExternalLayerConstants;

use crate::poseidon2_batch::{BatchElement, Rounds, is_batched};

/// The Poseidon2 permutation over Goldilocks for batches of states of width 8, 12 or 16.
///
/// States are arrays of `A`: `Goldilocks`, or its packing on AVX2, AVX-512 and wasm's SIMD. The results are those of
/// `p3_goldilocks::Poseidon2Goldilocks` with the same constants.
#[derive(Clone, Debug)]
pub struct BatchedPoseidon2<A: BatchElement, const WIDTH: usize> {
    pub(crate) initial: Vec<[A::Constant; WIDTH]>,
    pub(crate) internal: Vec<A::Constant>,
    pub(crate) terminal: Vec<[A::Constant; WIDTH]>,
}

impl<A: BatchElement, const WIDTH: usize> BatchedPoseidon2<A, WIDTH> {
    /// A permutation with the given round constants.
    pub fn new(
        external_constants: &ExternalLayerConstants<Goldilocks, WIDTH>,
        internal_constants: &[Goldilocks],
    ) -> Self {
        const {
            assert!(is_batched(WIDTH), "WIDTH must be 8, 12 or 16");
        }
        let external = |constants: &[[Goldilocks; WIDTH]]| {
            constants.iter().map(|row| row.map(A::constant)).collect()
        };
        Self {
            initial: external(external_constants.get_initial_constants()),
            internal: internal_constants.iter().map(|&c| A::constant(c)).collect(),
            terminal: external(external_constants.get_terminal_constants()),
        }
    }

    /// Permutes each of the states, as many interleaved as is fastest.
    pub fn permute_many(&self, states: &mut [[A; WIDTH]]) {
        self.rounds().permute_many(states);
    }

    /// Permutes each of the states, `B` at a time interleaved.
    pub fn permute_interleaved<const B: usize>(&self, states: &mut [[A; WIDTH]]) {
        self.rounds().permute_interleaved::<B>(states);
    }

    pub(crate) fn rounds(&self) -> Rounds<'_, A, WIDTH> {
        Rounds {
            initial: Some(&self.initial),
            internal: &self.internal,
            terminal: &self.terminal,
        }
    }
}

impl<A: BatchElement> BatchedPoseidon2<A, 8> {
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

impl<A: BatchElement> BatchedPoseidon2<A, 12> {
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

impl<A: BatchElement> BatchedPoseidon2<A, 16> {
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
