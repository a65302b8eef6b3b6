//! Implements the layers that p3-poseidon1 and p3-mds call.

use alloc::vec::Vec;
use core::array;

use p3_field::PrimeField64;
use p3_poseidon1::{
    FullRoundConstants, FullRoundLayer, FullRoundLayerConstructor, PartialRoundConstants,
    PartialRoundLayer, PartialRoundLayerConstructor, Poseidon1ExternalLayerGeneric,
    Poseidon1InternalLayerGeneric, textbook_partial_permute_state,
};
use p3_symmetric::Permutation;

use super::Packing;
use super::circulant::{Circulant, mds_24, mds_small};
use super::halves::fold_constant;
use super::rounds::{full_rounds, partial_rounds};
use crate::poseidon1::GOLDILOCKS_S_BOX_DEGREE;
use crate::vector::Packed;
use crate::{Goldilocks, MdsMatrixGoldilocks};

/// The product with [`MdsMatrixGoldilocks`] on packed elements.
pub trait PackedMds<const WIDTH: usize> {
    fn apply(state: [Packing; WIDTH]) -> [Packing; WIDTH];
}

macro_rules! impl_packed_mds {
    ($($width:literal: $mds:ident),*) => {$(
        impl PackedMds<$width> for MdsMatrixGoldilocks {
            fn apply(state: [Packing; $width]) -> [Packing; $width] {
                $mds(&state.map(Packed::to_words)).map(Packed::from_words)
            }
        }
    )*};
}
impl_packed_mds!(8: mds_small, 12: mds_small, 16: mds_small, 24: mds_24);

type PackedWords = <Packing as Packed>::Words;

fn fold_constants<const WIDTH: usize>(constants: &[Goldilocks; WIDTH]) -> [[u64; 2]; WIDTH] {
    constants.map(|constant| fold_constant::<PackedWords>(constant.as_canonical_u64()))
}

/// The full rounds of Poseidon1: packed states of widths 8, 12 and 16 unreduced, others as any
/// field.
#[derive(Clone, Debug)]
pub struct Poseidon1ExternalLayerGoldilocks<const WIDTH: usize> {
    generic: Poseidon1ExternalLayerGeneric<Goldilocks, MdsMatrixGoldilocks, WIDTH>,
    initial: Vec<[[u64; 2]; WIDTH]>,
    terminal: Vec<[[u64; 2]; WIDTH]>,
}

impl<const WIDTH: usize> FullRoundLayerConstructor<Goldilocks, WIDTH>
    for Poseidon1ExternalLayerGoldilocks<WIDTH>
{
    fn new_from_constants(constants: FullRoundConstants<Goldilocks, WIDTH>) -> Self {
        Self {
            initial: constants.initial.iter().map(fold_constants).collect(),
            terminal: constants.terminal.iter().map(fold_constants).collect(),
            generic: Poseidon1ExternalLayerGeneric::new_from_constants(constants),
        }
    }
}

/// The partial rounds of Poseidon1: packed states of widths 8, 12 and 16 unreduced, others as any
/// field.
#[derive(Clone, Debug)]
pub struct Poseidon1InternalLayerGoldilocks<const WIDTH: usize> {
    generic: Poseidon1InternalLayerGeneric<Goldilocks, WIDTH>,
    pub(super) textbook: Option<TextbookConstants<WIDTH>>,
}

/// The constants of the partial rounds folded forward, as [`fold`](super::halves::fold) needs them.
#[derive(Clone, Debug)]
pub(super) struct TextbookConstants<const WIDTH: usize> {
    rounds: Vec<[u64; 2]>,
    residual: [[u64; 2]; WIDTH],
}

impl<const WIDTH: usize> PartialRoundLayerConstructor<Goldilocks, WIDTH>
    for Poseidon1InternalLayerGoldilocks<WIDTH>
where
    MdsMatrixGoldilocks: Permutation<[Goldilocks; WIDTH]>,
{
    fn new_from_constants(constants: PartialRoundConstants<Goldilocks, WIDTH>) -> Self {
        let has_sparse_form = !constants.sparse_first_row.is_empty();
        let textbook = TextbookConstants {
            rounds: (constants.textbook_scalar_constants.iter())
                .map(|constant| fold_constant::<PackedWords>(constant.as_canonical_u64()))
                .collect(),
            residual: fold_constants(&constants.textbook_residual),
        };
        // The sparse form is that of whatever matrix the caller has. Only with this one may the
        // textbook form replace it.
        let mut expected: [Goldilocks; WIDTH] = array::from_fn(|i| Goldilocks::new(i as u64));
        let mut state = expected;
        textbook_partial_permute_state::<_, _, _, WIDTH, GOLDILOCKS_S_BOX_DEGREE>(
            &mut expected,
            &constants,
            &MdsMatrixGoldilocks,
        );
        let generic = Poseidon1InternalLayerGeneric::new_from_constants(constants);
        let is_known_matrix = has_sparse_form && {
            generic.permute_state(&mut state);
            state == expected
        };
        Self {
            generic,
            textbook: is_known_matrix.then_some(textbook),
        }
    }
}

macro_rules! impl_generic_layers {
    ($element:ty, $width:tt $(, $parameter:tt)*) => {
        impl$(<const $parameter: usize>)* FullRoundLayer<$element, $width, GOLDILOCKS_S_BOX_DEGREE>
            for Poseidon1ExternalLayerGoldilocks<$width>
        where
            MdsMatrixGoldilocks: Permutation<[$element; $width]>,
        {
            fn permute_state_initial(&self, state: &mut [$element; $width]) {
                self.generic.permute_state_initial(state);
            }

            fn permute_state_terminal(&self, state: &mut [$element; $width]) {
                self.generic.permute_state_terminal(state);
            }
        }

        impl$(<const $parameter: usize>)* PartialRoundLayer<$element, $width, GOLDILOCKS_S_BOX_DEGREE>
            for Poseidon1InternalLayerGoldilocks<$width>
        {
            fn permute_state(&self, state: &mut [$element; $width]) {
                self.generic.permute_state(state);
            }
        }
    };
}
impl_generic_layers!(Goldilocks, WIDTH, WIDTH);
impl_generic_layers!(Packing, 24);

macro_rules! impl_packed_layers {
    ($($width:literal in groups of $group:literal),*) => {$(
        impl FullRoundLayer<Packing, $width, GOLDILOCKS_S_BOX_DEGREE>
            for Poseidon1ExternalLayerGoldilocks<$width>
        {
            fn permute_state_initial(&self, state: &mut [Packing; $width]) {
                full_rounds::<_, $width, $group>(state, &self.initial);
            }

            fn permute_state_terminal(&self, state: &mut [Packing; $width]) {
                full_rounds::<_, $width, $group>(state, &self.terminal);
            }
        }

        impl PartialRoundLayer<Packing, $width, GOLDILOCKS_S_BOX_DEGREE>
            for Poseidon1InternalLayerGoldilocks<$width>
        {
            fn permute_state(&self, state: &mut [Packing; $width]) {
                let Some(textbook) = &self.textbook else {
                    return self.generic.permute_state(state);
                };
                partial_rounds::<_, $width, { <MdsMatrixGoldilocks as Circulant<$width>>::ROUNDS }, 1>(
                    array::from_mut(state),
                    &textbook.rounds,
                    &textbook.residual,
                );
            }
        }
    )*};
}
impl_packed_layers!(8 in groups of 8, 12 in groups of 6, 16 in groups of 8);
