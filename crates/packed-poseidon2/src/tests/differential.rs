//! Tests that the crates of kernels share: a permutation against Plonky3 as published, and values that a permutation of random
//! states does not reach.

use core::array;
use core::fmt::Debug;
use std::vec::Vec;

use p3_field::{PackedValue, PrimeField64};
use p3_goldilocks::{
    GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_FINAL, GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_INITIAL,
    GOLDILOCKS_POSEIDON2_RC_8_INTERNAL, GOLDILOCKS_POSEIDON2_RC_12_EXTERNAL_FINAL,
    GOLDILOCKS_POSEIDON2_RC_12_EXTERNAL_INITIAL, GOLDILOCKS_POSEIDON2_RC_12_INTERNAL,
    GOLDILOCKS_POSEIDON2_RC_16_EXTERNAL_FINAL, GOLDILOCKS_POSEIDON2_RC_16_EXTERNAL_INITIAL,
    GOLDILOCKS_POSEIDON2_RC_16_INTERNAL, Goldilocks, MATRIX_DIAG_8_GOLDILOCKS,
    MATRIX_DIAG_12_GOLDILOCKS, MATRIX_DIAG_16_GOLDILOCKS, default_goldilocks_poseidon2_8,
    default_goldilocks_poseidon2_12, default_goldilocks_poseidon2_16,
};
use p3_patches_testing::goldilocks as plain;
use p3_patches_testing::known_answers::{GOLDILOCKS_POSEIDON2, Instance};
use p3_poseidon2::ExternalLayerConstants;
use p3_symmetric::Permutation;

/// The constants of the published permutations.
pub struct Published<const WIDTH: usize> {
    pub external: ExternalLayerConstants<Goldilocks, WIDTH>,
    pub internal: Vec<Goldilocks>,
}

macro_rules! published {
    ($name:ident, $width:literal, $initial:ident, $internal:ident, $terminal:ident) => {
        pub fn $name() -> Published<$width> {
            Published {
                external: ExternalLayerConstants::new($initial.to_vec(), $terminal.to_vec()),
                internal: $internal.to_vec(),
            }
        }
    };
}
published!(
    published_8,
    8,
    GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_INITIAL,
    GOLDILOCKS_POSEIDON2_RC_8_INTERNAL,
    GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_FINAL
);
published!(
    published_12,
    12,
    GOLDILOCKS_POSEIDON2_RC_12_EXTERNAL_INITIAL,
    GOLDILOCKS_POSEIDON2_RC_12_INTERNAL,
    GOLDILOCKS_POSEIDON2_RC_12_EXTERNAL_FINAL
);
published!(
    published_16,
    16,
    GOLDILOCKS_POSEIDON2_RC_16_EXTERNAL_INITIAL,
    GOLDILOCKS_POSEIDON2_RC_16_INTERNAL,
    GOLDILOCKS_POSEIDON2_RC_16_EXTERNAL_FINAL
);

/// A kernel that permutes states of `E` in groups of `B`.
pub trait Kernel<E> {
    fn permute<const WIDTH: usize, const B: usize>(
        constants: &Published<WIDTH>,
        states: &mut [[E; WIDTH]; B],
    );
}

/// Every group of up to four states, on edges in every position, on edges in one lane of one element, and on arbitrary
/// values, against the scalar permutation as published; then the known answers.
pub fn check<K: Kernel<E>, E: PackedValue<Value = Goldilocks> + PartialEq + Debug>() {
    check_width::<K, E, 8>(&published_8(), &default_goldilocks_poseidon2_8());
    check_width::<K, E, 12>(&published_12(), &default_goldilocks_poseidon2_12());
    check_width::<K, E, 16>(&published_16(), &default_goldilocks_poseidon2_16());
}

fn check_width<K, E, const WIDTH: usize>(
    constants: &Published<WIDTH>,
    published: &impl Permutation<[Goldilocks; WIDTH]>,
) where
    K: Kernel<E>,
    E: PackedValue<Value = Goldilocks> + PartialEq + Debug,
{
    let states = plain::states(E::WIDTH, |lanes| E::from_fn(|l| Goldilocks::new(lanes[l])));
    let expected: Vec<[E; WIDTH]> = (states.iter())
        .map(|state: &[E; WIDTH]| {
            let lanes: Vec<_> = (0..E::WIDTH)
                .map(|lane| published.permute(state.map(|x| x.as_slice()[lane])))
                .collect();
            array::from_fn(|i| E::from_fn(|lane| lanes[lane][i]))
        })
        .collect();
    check_groups::<K, E, WIDTH, 1>(constants, &states, &expected);
    check_groups::<K, E, WIDTH, 2>(constants, &states, &expected);
    check_groups::<K, E, WIDTH, 3>(constants, &states, &expected);
    check_groups::<K, E, WIDTH, 4>(constants, &states, &expected);
    Instance::<WIDTH>::of(GOLDILOCKS_POSEIDON2).check::<E>(|states| {
        for state in states.as_chunks_mut::<1>().0 {
            K::permute(constants, state);
        }
    });
}

fn check_groups<K, E, const WIDTH: usize, const B: usize>(
    constants: &Published<WIDTH>,
    states: &[[E; WIDTH]],
    expected: &[[E; WIDTH]],
) where
    K: Kernel<E>,
    E: Copy + PartialEq + Debug,
{
    let (groups, expected) = (states.as_chunks::<B>().0, expected.as_chunks::<B>().0);
    for (group, expected) in groups.iter().zip(expected) {
        let mut states = *group;
        K::permute(constants, &mut states);
        assert_eq!(states, *expected, "B = {B}: {group:?}");
    }
}

/// Few states and rounds against the paper, for Miri: it is slow, and Plonky3's scalar products are assembly, which it lacks.
/// Every size of a group and every width, an edge in every lane; a segment and a round more.
pub fn check_few<K: Kernel<E>, E: PackedValue<Value = Goldilocks> + Debug>() {
    check_rounds::<K, E, 8, 1>(published_8(), MATRIX_DIAG_8_GOLDILOCKS, 1, 9);
    check_rounds::<K, E, 8, 4>(published_8(), MATRIX_DIAG_8_GOLDILOCKS, 0, 1);
    check_rounds::<K, E, 12, 3>(published_12(), MATRIX_DIAG_12_GOLDILOCKS, 0, 1);
    check_rounds::<K, E, 16, 2>(published_16(), MATRIX_DIAG_16_GOLDILOCKS, 0, 7);
}

/// Runs as many of the first and the last rounds as `external` says, and `internal` ones between.
fn check_rounds<K, E, const WIDTH: usize, const B: usize>(
    published: Published<WIDTH>,
    diagonal: [Goldilocks; WIDTH],
    external: usize,
    internal: usize,
) where
    K: Kernel<E>,
    E: PackedValue<Value = Goldilocks> + Debug,
{
    let first = |rounds: &[[Goldilocks; WIDTH]]| rounds[..external].to_vec();
    let constants = Published {
        external: ExternalLayerConstants::new(
            first(published.external.get_initial_constants()),
            first(published.external.get_terminal_constants()),
        ),
        internal: published.internal[..internal].to_vec(),
    };
    let words = |x: &[Goldilocks; WIDTH]| x.map(|x| x.as_canonical_u64());
    let paper = plain::Poseidon2 {
        initial: (constants.external.get_initial_constants().iter())
            .map(words)
            .collect(),
        internal: (constants.internal.iter())
            .map(Goldilocks::as_canonical_u64)
            .collect(),
        terminal: (constants.external.get_terminal_constants().iter())
            .map(words)
            .collect(),
        diagonal: words(&diagonal),
    };
    let edge = |state: usize, i: usize, lane: usize| {
        plain::EDGES[(7 * state + 3 * i + lane) % plain::EDGES.len()]
    };
    let mut states: [[E; WIDTH]; B] = array::from_fn(|state| {
        array::from_fn(|i| E::from_fn(|lane| Goldilocks::new(edge(state, i, lane))))
    });
    K::permute(&constants, &mut states);
    for (number, state) in states.iter().enumerate() {
        for lane in 0..E::WIDTH {
            let expected = paper.permute(array::from_fn(|i| edge(number, i, lane)));
            let permuted = state.map(|x| x.as_slice()[lane].as_canonical_u64());
            assert_eq!(permuted, expected, "lane {lane} of state {number}");
        }
    }
}

/// The value of an element all of whose lanes are alike.
pub fn uniform<E: PackedValue<Value = Goldilocks>>(x: E) -> u64 {
    let lanes: Vec<u64> = x.as_slice().iter().map(|x| x.as_canonical_u64()).collect();
    assert!(lanes.iter().all(|lane| *lane == lanes[0]), "{lanes:x?}");
    lanes[0]
}
