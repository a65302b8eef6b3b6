//! The layers on elements given by their forms, the sums on plain integers, and their operations and instructions gone wrong.

#[cfg(mutated)]
mod instructions;
mod lanes;
mod mutations;

use std::array;
use std::vec::Vec;

use p3_field::{Field, PackedValue};
use p3_koala_bear::{KoalaBear, KoalaBearParameters};
use p3_patches_testing::koala_bear::{EDGES, residue_of};
use p3_poseidon1::internal::{PartialRoundConstants, partial_permute_state};

use crate::packed_poseidon1::{Circulant, PartialRounds};

type Packing = <KoalaBear as Field>::Packing;

const LANES: usize = Packing::WIDTH;
const WIDTH: usize = 16;

/// The element whose form is an edge, in turn.
fn edge(i: usize) -> KoalaBear {
    KoalaBear::new(residue_of(EDGES[i % EDGES.len()]))
}

/// `packed` on edges, no two neighbouring lanes or elements alike, against `scalar` on each lane.
fn compare(
    packed: impl Fn(&mut [Packing; WIDTH]),
    scalar: impl Fn([KoalaBear; WIDTH]) -> [KoalaBear; WIDTH],
) {
    // Miri takes minutes for all.
    let step = if cfg!(miri) { 16 } else { 1 };
    for start in (0..EDGES.len()).step_by(step) {
        let input: [Packing; WIDTH] =
            array::from_fn(|i| Packing::from_fn(|lane| edge(start + 3 * i + lane)));
        let mut output = input;
        packed(&mut output);
        for lane in 0..LANES {
            let of_lane = |state: [Packing; WIDTH]| state.map(|x| x.as_slice()[lane]);
            assert_eq!(of_lane(output), scalar(of_lane(input)));
        }
    }
}

#[test]
fn matrices_of_edges_are_exact() {
    for start in 0..3 {
        let column = array::from_fn(|i| edge(7 * start + 5 * i));
        let matrix = Circulant::<WIDTH>::new::<KoalaBearParameters>(column);
        compare(
            |state| matrix.apply::<KoalaBearParameters>(state),
            |state| {
                let product = |i: usize, j: usize| column[(WIDTH + i - j) % WIDTH] * state[j];
                array::from_fn(|i| (0..WIDTH).map(|j| product(i, j)).sum())
            },
        );
    }
}

fn check_rounds(rounds: usize) {
    let vector = |seed: usize| array::from_fn(|i| edge(seed + 5 * i));
    let constants = PartialRoundConstants {
        first_round_constants: vector(1),
        m_i: array::from_fn(vector),
        sparse_first_row: (0..rounds).map(|r| vector(r + 2)).collect(),
        v: (0..rounds).map(|r| vector(r + 3)).collect(),
        round_constants: (1..rounds).map(edge).collect(),
        textbook_scalar_constants: Vec::new(),
        textbook_residual: vector(0),
    };
    let packed_rounds = PartialRounds::new(&constants);
    compare(
        |state| packed_rounds.permute_state::<3>(state),
        |mut state| {
            partial_permute_state::<_, _, _, 3>(&mut state, &constants);
            state
        },
    );
}

#[test]
fn one_round_of_edges_is_exact() {
    check_rounds(1);
}

#[test]
fn two_blocks_of_rounds_are_exact() {
    check_rounds(10);
}
