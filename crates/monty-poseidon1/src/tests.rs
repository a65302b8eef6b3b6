//! The layers on elements given by their forms, the sums on plain integers, and their operations and instructions gone wrong.

#[cfg(mutated)]
mod instructions;
mod lanes;
mod mutations;

use std::array;
use std::vec::Vec;

use p3_baby_bear::BabyBearParameters;
use p3_field::{Field, InjectiveMonomial, PackedValue, PrimeCharacteristicRing};
use p3_koala_bear::{KoalaBear, KoalaBearParameters};
use p3_monty_31::{FieldParameters, MontyField31};
use p3_patches_testing::known_answers::{BABY_BEAR_POSEIDON1, Instance, KOALA_BEAR_POSEIDON1};
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

/// The kernel's matrices and partial rounds in whole permutations.
#[test]
fn known_answers() {
    type Packed<FP> = <MontyField31<FP> as Field>::Packing;
    fn check<FP: FieldParameters, const WIDTH: usize, const D: u64>(file: &str)
    where
        Packed<FP>: InjectiveMonomial<D>,
    {
        let answers = Instance::<WIDTH>::of(file);
        let constants = answers.poseidon1_constants::<MontyField31<FP>>();
        let column = constants.mds_circ_col.map(MontyField31::<FP>::from_i64);
        let matrix = Circulant::<WIDTH>::new(column);
        let (full, partial) = constants.to_optimized();
        let partial = PartialRounds::new(&partial);
        let full_rounds = |state: &mut [Packed<FP>; WIDTH],
                           rounds: &[[MontyField31<FP>; WIDTH]]| {
            for constants in rounds {
                for (x, &constant) in state.iter_mut().zip(constants) {
                    *x = (*x + Packed::<FP>::from(constant)).injective_exp_n();
                }
                matrix.apply::<FP>(state);
            }
        };
        answers.check::<Packed<FP>>(|states| {
            for state in states {
                full_rounds(state, &full.initial);
                partial.permute_state::<D>(state);
                full_rounds(state, &full.terminal);
            }
        });
    }
    check::<BabyBearParameters, 16, 7>(BABY_BEAR_POSEIDON1);
    check::<BabyBearParameters, 24, 7>(BABY_BEAR_POSEIDON1);
    check::<KoalaBearParameters, 16, 3>(KOALA_BEAR_POSEIDON1);
    check::<KoalaBearParameters, 24, 3>(KOALA_BEAR_POSEIDON1);
}
