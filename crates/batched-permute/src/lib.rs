//! Packed Poseidon2 states over Goldilocks, several in one scope.
//!
//! The kernel is `poseidon2_batch`, the file that the patch of the same name adds to p3-goldilocks; it runs the rounds of
//! packed-poseidon2, whose files are compiled here once more, as they are in p3-goldilocks. The crate offers it to provers
//! that stay on Plonky3 as published: they call [`permute_many`] where they have independent states. Provers that apply
//! the patch need no call: Merkle commitments reach the kernel by themselves.
//!
//! ```
//! # #[cfg(target_feature = "avx2")] {
//! use batched_permute::{Poseidon2GoldilocksFused, permute_many};
//! use p3_field::Field;
//! use p3_goldilocks::Goldilocks;
//! use p3_symmetric::Permutation;
//! use rand::SeedableRng;
//! use rand::rngs::SmallRng;
//!
//! let mut rng = SmallRng::seed_from_u64(1);
//! let permutation = Poseidon2GoldilocksFused::<8>::new_from_rng_128(&mut rng);
//! let mut states = [1, 2, 3].map(|x| [<Goldilocks as Field>::Packing::from(Goldilocks::new(x)); 8]);
//! let expected = states.map(|state| permutation.permute(state));
//!
//! permute_many(&permutation, &mut states);
//! assert_eq!(states, expected);
//! # }
//! ```

#![no_std]
#![cfg(all(target_arch = "x86_64", target_feature = "avx2"))]

extern crate alloc;
#[cfg(test)]
extern crate std;

use p3_field::Field;
use p3_goldilocks::{Goldilocks, poseidon1};
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
use p3_poseidon2::ExternalLayerConstants;
use p3_symmetric::Permutation;

// Documented in upstream's manner: the modules are private there.
mod poseidon2_batch;
#[path = "../../packed-poseidon2/src/poseidon2_fused.rs"]
mod poseidon2_fused;
#[allow(missing_docs)]
#[path = "../../packed-poseidon2/src/poseidon2_halves.rs"]
mod poseidon2_halves;
#[allow(missing_docs)]
#[path = "../../packed-poseidon2/src/poseidon2_rounds.rs"]
mod poseidon2_rounds;
#[allow(missing_docs)]
#[path = "../../packed-poseidon2/src/vector.rs"]
mod vector;

#[cfg_attr(
    target_feature = "avx512f",
    path = "../../packed-poseidon2/src/x86_64_avx512/vector.rs"
)]
#[cfg_attr(
    all(target_feature = "avx2", not(target_feature = "avx512f")),
    path = "../../packed-poseidon2/src/x86_64_avx2/vector.rs"
)]
mod words;

#[cfg(test)]
mod tests;

pub use poseidon2_batch::batch;
pub use poseidon2_fused::Poseidon2GoldilocksFused;
use poseidon2_halves::Halves;
use poseidon2_rounds::{Representation, Rounds, has_rounds};
use vector::Packed;

type Packing = <Goldilocks as Field>::Packing;

/// Permutes each of the packed states, [`batch`] of them interleaved.
///
/// With the patch this is `Permutation::permute_many`, which Plonky3 0.8.0 does not have.
pub fn permute_many<const WIDTH: usize>(
    permutation: &Poseidon2GoldilocksFused<WIDTH>,
    states: &mut [[Packing; WIDTH]],
) where
    Poseidon2GoldilocksFused<WIDTH>: Permutation<[Packing; WIDTH]>,
{
    for state in permutation.permute_groups(states) {
        permutation.permute_mut(state);
    }
}

type Kernel = Halves<<Packing as Packed>::Words>;

/// The Poseidon2 permutation of packed states, for widths 8, 12 and 16 and any number of interleaved states.
#[derive(Clone, Debug)]
pub struct Interleaved<const WIDTH: usize>(Rounds<Kernel, WIDTH>);

impl<const WIDTH: usize> Interleaved<WIDTH> {
    /// A permutation with the given round constants.
    pub fn new(
        external: &ExternalLayerConstants<Goldilocks, WIDTH>,
        internal: &[Goldilocks],
    ) -> Self {
        const { assert!(has_rounds(WIDTH)) };
        Self(Rounds::new(external, internal))
    }

    /// Permutes `B` states, whose internal rounds are interleaved.
    pub fn permute<const B: usize>(&self, states: &mut [[Packing; WIDTH]; B]) {
        let mut unreduced = states.map(|state| state.map(|x| Kernel::widen(x.to_words())));
        self.0.permute(&mut unreduced);
        *states = unreduced.map(|state| state.map(|x| Packing::from_words(Kernel::reduce(x))));
    }
}
