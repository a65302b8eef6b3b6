//! Packed Poseidon2 over Goldilocks on AVX-512 IFMA: elements in two limbs, whose products are multiply-adds of 52 bits.
//!
//! The kernel is what the patch of the same name adds to p3-goldilocks: `poseidon2_limbs`, and `vector_ifma` for the
//! instruction set. It is a representation of elements for the rounds of packed-poseidon2, whose files are compiled here once
//! more, as they are in p3-goldilocks. Provers that apply the patch change nothing; to others, this crate offers the permutation
//! of packed states.
//!
//! ```
//! # #[cfg(target_feature = "avx512ifma")] {
//! use ifma_permute::IfmaPoseidon2;
//! use p3_goldilocks::{
//!     GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_FINAL, GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_INITIAL,
//!     GOLDILOCKS_POSEIDON2_RC_8_INTERNAL, Goldilocks, PackedGoldilocksAVX512,
//!     default_goldilocks_poseidon2_8,
//! };
//! use p3_poseidon2::ExternalLayerConstants;
//! use p3_symmetric::Permutation;
//!
//! let permutation = IfmaPoseidon2::new(
//!     &ExternalLayerConstants::new(
//!         GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_INITIAL.to_vec(),
//!         GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_FINAL.to_vec(),
//!     ),
//!     &GOLDILOCKS_POSEIDON2_RC_8_INTERNAL,
//! );
//! let mut states = [1, 2].map(|x| [PackedGoldilocksAVX512::from(Goldilocks::new(x)); 8]);
//! let expected = states.map(|state| default_goldilocks_poseidon2_8().permute(state));
//!
//! permutation.permute(&mut states);
//! assert_eq!(states, expected);
//! # }
//! ```

#![no_std]

#[cfg(any(test, all(target_arch = "x86_64", target_feature = "avx512ifma")))]
extern crate alloc;
#[cfg(test)]
extern crate std;
// With the instructions that Miri lacks, or wrong ones.
#[cfg(all(test, any(miri, mutated)))]
extern crate p3_patches_testing as core;

#[cfg(any(test, all(target_arch = "x86_64", target_feature = "avx512ifma")))]
use p3_goldilocks::Goldilocks;
#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
use p3_goldilocks::PackedGoldilocksAVX512;

// The tests run the text on integers, intervals and terms, whatever the target.
#[cfg(any(test, all(target_arch = "x86_64", target_feature = "avx512ifma")))]
#[allow(missing_docs)]
mod poseidon2_limbs;
#[cfg(any(test, all(target_arch = "x86_64", target_feature = "avx512ifma")))]
// The permutation below asks which widths there are rounds for.
#[cfg_attr(not(target_feature = "avx512ifma"), allow(dead_code))]
#[allow(missing_docs)]
#[path = "../../packed-poseidon2/src/poseidon2_rounds.rs"]
mod poseidon2_rounds;
// Products of halves are not needed here.
#[cfg(any(test, all(target_arch = "x86_64", target_feature = "avx512ifma")))]
#[allow(dead_code, missing_docs)]
#[path = "../../packed-poseidon2/src/vector.rs"]
mod vector;

#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
mod x86_64_avx512 {
    #[path = "../../../packed-poseidon2/src/x86_64_avx512/vector.rs"]
    mod vector;
    mod vector_ifma;
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
mod permutation {
    use p3_poseidon2::ExternalLayerConstants;

    use crate::poseidon2_limbs::Limbs;
    use crate::poseidon2_rounds::{Representation, Rounds};
    use crate::vector::Packed;
    use crate::{Goldilocks, PackedGoldilocksAVX512};

    type Kernel = Limbs<<PackedGoldilocksAVX512 as Packed>::Words>;

    /// The Poseidon2 permutation of packed states, for widths 8, 12 and 16.
    #[derive(Clone, Debug)]
    pub struct IfmaPoseidon2<const WIDTH: usize>(Rounds<Kernel, WIDTH>);

    impl<const WIDTH: usize> IfmaPoseidon2<WIDTH> {
        /// A permutation with the given round constants.
        pub fn new(
            external: &ExternalLayerConstants<Goldilocks, WIDTH>,
            internal: &[Goldilocks],
        ) -> Self {
            const { assert!(crate::poseidon2_rounds::has_rounds(WIDTH)) };
            Self(Rounds::new(external, internal))
        }

        /// Permutes `B` states, whose internal rounds are interleaved.
        pub fn permute<const B: usize>(&self, states: &mut [[PackedGoldilocksAVX512; WIDTH]; B]) {
            let mut unreduced = states.map(|state| state.map(|x| Kernel::widen(x.to_words())));
            self.0.permute(&mut unreduced);
            *states = unreduced
                .map(|state| state.map(|x| PackedGoldilocksAVX512::from_words(Kernel::reduce(x))));
        }
    }
}

#[cfg(test)]
mod tests;

#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
pub use permutation::IfmaPoseidon2;
