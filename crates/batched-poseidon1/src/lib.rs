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
mod permutation {
    use alloc::vec::Vec;

    use p3_field::{Field, PrimeField64};
    use p3_goldilocks::poseidon1::{
        GOLDILOCKS_POSEIDON_HALF_FULL_ROUNDS, GOLDILOCKS_POSEIDON_PARTIAL_ROUNDS_8,
        GOLDILOCKS_POSEIDON_PARTIAL_ROUNDS_12, GOLDILOCKS_POSEIDON1_RC_8,
        GOLDILOCKS_POSEIDON1_RC_12,
    };
    use p3_goldilocks::{
        Goldilocks, MATRIX_CIRC_MDS_8_COL, MATRIX_CIRC_MDS_12_COL, MdsMatrixGoldilocks,
    };
    use p3_poseidon1::Poseidon1Constants;
    use packed_mds_karatsuba::poseidon1_packed::circulant::Circulant;
    use packed_mds_karatsuba::poseidon1_packed::halves::fold_constant;
    use packed_mds_karatsuba::poseidon1_packed::rounds::{full_rounds, partial_rounds};
    use packed_mds_karatsuba::vector::Packed;

    type Packing = <Goldilocks as Field>::Packing;

    /// The Poseidon1 permutation over Goldilocks, with its MDS matrix, for batches of packed states of width 8, 12 or 16.
    #[derive(Clone, Debug)]
    pub struct BatchedPoseidon1<const WIDTH: usize> {
        initial: Vec<[[u64; 2]; WIDTH]>,
        rounds: Vec<[u64; 2]>,
        residual: [[u64; 2]; WIDTH],
        terminal: Vec<[[u64; 2]; WIDTH]>,
    }

    impl<const WIDTH: usize> BatchedPoseidon1<WIDTH>
    where
        MdsMatrixGoldilocks: Circulant<WIDTH>,
    {
        /// The permutation of `p3_goldilocks::poseidon1::Poseidon1GoldilocksGeneric` with the same constants, whose matrix must be
        /// that of `MdsMatrixGoldilocks`.
        #[must_use]
        pub fn new(constants: &Poseidon1Constants<Goldilocks, WIDTH>) -> Self {
            let (full, partial) = constants.to_optimized();
            let fold =
                |x: Goldilocks| fold_constant::<<Packing as Packed>::Words>(x.as_canonical_u64());
            Self {
                initial: full.initial.iter().map(|row| row.map(fold)).collect(),
                rounds: (partial.textbook_scalar_constants.into_iter())
                    .map(fold)
                    .collect(),
                residual: partial.textbook_residual.map(fold),
                terminal: full.terminal.iter().map(|row| row.map(fold)).collect(),
            }
        }
    }

    macro_rules! impl_widths {
        ($($width:literal in groups of $group:literal),*) => {$(
            impl BatchedPoseidon1<$width> {
                fn full_rounds(states: &mut [[Packing; $width]], constants: &[[[u64; 2]; $width]]) {
                    for state in states {
                        full_rounds::<_, $width, $group>(state, constants);
                    }
                }

                /// Permutes each of the states, two interleaved.
                pub fn permute_many(&self, states: &mut [[Packing; $width]]) {
                    self.permute_interleaved::<2>(states);
                }

                /// Permutes each of the states, the partial rounds of `B` at a time interleaved.
                pub fn permute_interleaved<const B: usize>(&self, states: &mut [[Packing; $width]]) {
                    const K: usize = <MdsMatrixGoldilocks as Circulant<$width>>::ROUNDS;
                    let (groups, rest) = states.as_chunks_mut::<B>();
                    for group in groups {
                        Self::full_rounds(group, &self.initial);
                        partial_rounds::<_, $width, K, B>(group, &self.rounds, &self.residual);
                        Self::full_rounds(group, &self.terminal);
                    }
                    if B > 1 {
                        self.permute_interleaved::<1>(rest);
                    }
                }
            }
        )*};
    }
    impl_widths!(8 in groups of 8, 12 in groups of 6, 16 in groups of 8);

    impl BatchedPoseidon1<8> {
        /// The batched form of `p3_goldilocks::poseidon1::default_goldilocks_poseidon1_8`.
        #[must_use]
        pub fn default_8() -> Self {
            Self::new(&Poseidon1Constants {
                rounds_f: 2 * GOLDILOCKS_POSEIDON_HALF_FULL_ROUNDS,
                rounds_p: GOLDILOCKS_POSEIDON_PARTIAL_ROUNDS_8,
                mds_circ_col: MATRIX_CIRC_MDS_8_COL,
                round_constants: GOLDILOCKS_POSEIDON1_RC_8.to_vec(),
            })
        }
    }

    impl BatchedPoseidon1<12> {
        /// The batched form of `p3_goldilocks::poseidon1::default_goldilocks_poseidon1_12`.
        #[must_use]
        pub fn default_12() -> Self {
            Self::new(&Poseidon1Constants {
                rounds_f: 2 * GOLDILOCKS_POSEIDON_HALF_FULL_ROUNDS,
                rounds_p: GOLDILOCKS_POSEIDON_PARTIAL_ROUNDS_12,
                mds_circ_col: MATRIX_CIRC_MDS_12_COL,
                round_constants: GOLDILOCKS_POSEIDON1_RC_12.to_vec(),
            })
        }
    }
}

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
