//! The kernel against Plonky3 as published, against the paper, and against its own bounds.

#[cfg(all(target_arch = "x86_64", target_feature = "avx2", target_os = "linux"))]
mod audit;
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod bounds;
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod doubles;
#[cfg(all(mutated, target_feature = "avx2"))]
mod instructions;
// The proofs of packed-poseidon2 need more of it.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
#[allow(dead_code)]
#[path = "../../packed-poseidon2/src/tests/lanes.rs"]
mod lanes;
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod mutations;
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod primitives;

use std::vec::Vec;

use p3_field::{Field, PackedValue, PrimeField64};
use p3_goldilocks::poseidon1::{
    Poseidon1GoldilocksGeneric, default_goldilocks_poseidon1_8, default_goldilocks_poseidon1_12,
};
use p3_goldilocks::{Goldilocks, MdsMatrixGoldilocks};
use p3_patches_testing::goldilocks::{self as plain, EDGES, representative};
use p3_patches_testing::known_answers::{GOLDILOCKS_POSEIDON1, Instance};
use p3_symmetric::Permutation;
use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::*;

type Packing = <Goldilocks as Field>::Packing;

fn states<const WIDTH: usize>() -> Vec<[Packing; WIDTH]> {
    plain::states(Packing::WIDTH, |lanes| {
        Packing::from_fn(|l| Goldilocks::new(lanes[l]))
    })
}

/// Packed states against the published permutation of the same packed states, and of each of their lanes.
fn check_against_published<Ours, Published, const WIDTH: usize>(ours: &Ours, published: &Published)
where
    Ours: Permutation<[Packing; WIDTH]>,
    Published: Permutation<[Packing; WIDTH]> + Permutation<[Goldilocks; WIDTH]>,
{
    check_states(ours, published, &states());
}

fn check_states<Ours, Published, const WIDTH: usize>(
    ours: &Ours,
    published: &Published,
    states: &[[Packing; WIDTH]],
) where
    Ours: Permutation<[Packing; WIDTH]>,
    Published: Permutation<[Packing; WIDTH]> + Permutation<[Goldilocks; WIDTH]>,
{
    for &state in states {
        let result = ours.permute(state);
        assert_eq!(result, published.permute(state), "{state:x?}");
        for lane in 0..Packing::WIDTH {
            let scalar = published.permute(state.map(|x| x.as_slice()[lane]));
            assert_eq!(
                result.map(|x| x.as_slice()[lane]),
                scalar,
                "lane {lane} of {state:x?}"
            );
        }
    }
}

/// The same constants for both: `partial_rounds` of them random, as for width 16, which has no default ones.
fn from_rng<const WIDTH: usize>(
    partial_rounds: usize,
    matrix: &impl Permutation<[Goldilocks; WIDTH]>,
) -> (PackedPoseidon1<WIDTH>, Poseidon1GoldilocksGeneric<WIDTH>)
where
    MdsMatrixGoldilocks: Permutation<[Goldilocks; WIDTH]>,
{
    let rng = || SmallRng::seed_from_u64(partial_rounds as u64);
    (
        PackedPoseidon1::new_from_rng(4, partial_rounds, matrix, &mut rng()),
        Poseidon1GoldilocksGeneric::new_from_rng(4, partial_rounds, matrix, &mut rng()),
    )
}

#[test]
fn packed_states_match_the_published_permutation() {
    check_against_published(&default_8(), &default_goldilocks_poseidon1_8());
    check_against_published(&default_12(), &default_goldilocks_poseidon1_12());
    let (ours, published) = from_rng::<16>(22, &MdsMatrixGoldilocks);
    check_against_published(&ours, &published);
    let (ours, published) = from_rng::<24>(22, &MdsMatrixGoldilocks);
    check_against_published(&ours, &published);
}

#[test]
fn scalar_states_match_the_published_permutation() {
    let state = core::array::from_fn(|i| Goldilocks::new(EDGES[i]));
    let published = default_goldilocks_poseidon1_8();
    assert_eq!(default_8().permute(state), published.permute(state));
    // A width that has no packed matrix.
    let state: [Goldilocks; 32] = core::array::from_fn(|i| Goldilocks::new(EDGES[i % EDGES.len()]));
    let (ours, published) = from_rng::<32>(22, &MdsMatrixGoldilocks);
    assert_eq!(ours.permute(state), published.permute(state));
}

/// Whole segments only, and every remainder of one.
#[test]
fn any_number_of_partial_rounds() {
    fn check<const WIDTH: usize>(partial_rounds: usize)
    where
        PackedPoseidon1<WIDTH>: Permutation<[Packing; WIDTH]>,
        Poseidon1GoldilocksGeneric<WIDTH>: Permutation<[Packing; WIDTH]>,
        MdsMatrixGoldilocks: Permutation<[Goldilocks; WIDTH]>,
    {
        let (ours, published) = from_rng::<WIDTH>(partial_rounds, &MdsMatrixGoldilocks);
        for state in states().into_iter().take(8) {
            assert_eq!(
                ours.permute(state),
                published.permute(state),
                "{partial_rounds} rounds"
            );
        }
    }
    for partial_rounds in [1, 2, 3, 4, 5, 6, 7, 21, 23, 24] {
        check::<8>(partial_rounds);
        check::<12>(partial_rounds);
        check::<16>(partial_rounds);
    }
}

/// The layers take whatever matrix the caller has for the partial rounds, as 0.8.0 does.
#[test]
fn another_matrix() {
    #[derive(Clone)]
    struct Cauchy;
    impl Permutation<[Goldilocks; 8]> for Cauchy {
        fn permute(&self, state: [Goldilocks; 8]) -> [Goldilocks; 8] {
            core::array::from_fn(|i| {
                let entry = |j| Goldilocks::new((i + j + 1) as u64).inverse();
                (0..8).map(|j| entry(j) * state[j]).sum()
            })
        }
    }
    let (ours, published) = from_rng::<8>(22, &Cauchy);
    check_against_published(&ours, &published);
    let (known, _) = from_rng::<8>(22, &MdsMatrixGoldilocks);
    assert_ne!(ours.permute(states()[0]), known.permute(states()[0]));
}

#[test]
fn packed_matrices_match_the_published_ones() {
    check_against_published::<_, _, 8>(&PackedMdsMatrix, &MdsMatrixGoldilocks);
    check_against_published::<_, _, 12>(&PackedMdsMatrix, &MdsMatrixGoldilocks);
    check_against_published::<_, _, 16>(&PackedMdsMatrix, &MdsMatrixGoldilocks);
    check_against_published::<_, _, 24>(&PackedMdsMatrix, &MdsMatrixGoldilocks);
}

/// The widths whose rows have large entries, and a few partial rounds, for instructions that go wrong in an emulator.
#[test]
fn few_states_match_the_published_ones() {
    check_states::<_, _, 16>(&PackedMdsMatrix, &MdsMatrixGoldilocks, &states()[..4]);
    check_states::<_, _, 24>(&PackedMdsMatrix, &MdsMatrixGoldilocks, &states()[..4]);
    let (ours, published) = from_rng::<8>(7, &MdsMatrixGoldilocks);
    check_states(&ours, &published, &states()[..4]);
}

/// The matrices on an edge in every lane, for Miri: it lacks assembly, and so Plonky3's scalar products.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
#[test]
fn packed_matrices_match_the_paper() {
    fn check<const WIDTH: usize>(column: [i64; WIDTH])
    where
        PackedMdsMatrix: Permutation<[Packing; WIDTH]>,
    {
        let paper = plain::Poseidon1 {
            initial: Vec::new(),
            partial: Vec::new(),
            terminal: Vec::new(),
            row: core::array::from_fn(|i| column[(WIDTH - i) % WIDTH] as u64),
        };
        let edge = |i: usize, lane: usize| EDGES[(3 * i + lane) % EDGES.len()];
        let state = core::array::from_fn(|i| Packing::from_fn(|l| Goldilocks::new(edge(i, l))));
        let result: [Packing; WIDTH] = PackedMdsMatrix.permute(state);
        for lane in 0..Packing::WIDTH {
            let expected = paper.matrix(core::array::from_fn(|i| edge(i, lane)));
            let found = result.map(|x| x.as_slice()[lane].as_canonical_u64());
            assert_eq!(found, expected, "lane {lane}");
        }
    }
    check(MATRIX_CIRC_MDS_8_COL);
    check(MATRIX_CIRC_MDS_12_COL);
}

/// One state in lane `state[0] mod lanes`, arbitrary values beside it.
fn check_against_paper<const WIDTH: usize>(
    permutation: &impl Permutation<[Packing; WIDTH]>,
    constants: &[[Goldilocks; WIDTH]],
    column: [i64; WIDTH],
    state: [u64; WIDTH],
) {
    let rounds = |range: core::ops::Range<usize>| {
        let rounds = constants[range].iter();
        rounds
            .map(|round| round.map(|x| x.as_canonical_u64()))
            .collect()
    };
    let paper = plain::Poseidon1 {
        initial: rounds(0..4),
        partial: rounds(4..26),
        terminal: rounds(26..30),
        row: core::array::from_fn(|i| column[(WIDTH - i) % WIDTH] as u64),
    };
    let lane = (state[0] as usize).rem_euclid(Packing::WIDTH);
    let packed = core::array::from_fn(|i| {
        Packing::from_fn(|l| Goldilocks::new(state[i].wrapping_add((l as u64) ^ (lane as u64))))
    });
    let result = permutation.permute(packed);
    assert_eq!(
        result.map(|x| x.as_slice()[lane].as_canonical_u64()),
        paper.permute(state)
    );
}

proptest! {
    #[test]
    fn width_8_matches_the_paper(state in prop::array::uniform8(representative())) {
        check_against_paper(
            &default_8(), &GOLDILOCKS_POSEIDON1_RC_8, MATRIX_CIRC_MDS_8_COL, state,
        );
    }

    #[test]
    fn width_12_matches_the_paper(state in prop::array::uniform12(representative())) {
        check_against_paper(
            &default_12(), &GOLDILOCKS_POSEIDON1_RC_12, MATRIX_CIRC_MDS_12_COL, state,
        );
    }
}

#[test]
fn known_answers() {
    fn check<const WIDTH: usize>(permutation: &PackedPoseidon1<WIDTH>)
    where
        PackedPoseidon1<WIDTH>: Permutation<[Packing; WIDTH]>,
    {
        Instance::of(GOLDILOCKS_POSEIDON1).check::<Packing>(|states| {
            states
                .iter_mut()
                .for_each(|state| permutation.permute_mut(state));
        });
    }
    check(&default_8());
    check(&default_12());
    // Width 16 has no default constants.
    let answers = Instance::of(GOLDILOCKS_POSEIDON1);
    check::<16>(&PackedPoseidon1::new(&answers.poseidon1_constants()));
}
