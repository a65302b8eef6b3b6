//! Batches of packed states against Plonky3 as published.

extern crate std;

use std::vec::Vec;

use p3_field::{Field, PackedValue, PrimeField64};
use p3_goldilocks::poseidon1::{
    Poseidon1GoldilocksGeneric, default_goldilocks_poseidon1_8, default_goldilocks_poseidon1_12,
};
use p3_goldilocks::{Goldilocks, MdsMatrixGoldilocks};
use p3_patches_testing::goldilocks as plain;
use p3_patches_testing::known_answers::{GOLDILOCKS_POSEIDON1, Instance};
use p3_poseidon1::Poseidon1Constants;
use p3_symmetric::Permutation;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::*;

type Packing = <Goldilocks as Field>::Packing;

/// Batches of every size around the numbers of interleaved states.
macro_rules! check_against_published {
    ($width:literal, $batched:expr, $published:expr) => {{
        let (batched, published) = ($batched, $published);
        let states: Vec<[Packing; $width]> = plain::states(Packing::WIDTH, |lanes| {
            Packing::from_fn(|l| Goldilocks::new(lanes[l]))
        });
        let expected: Vec<_> = (states.iter().map(|&state| published.permute(state))).collect();
        for count in [1, 2, 3, 4, 5, 9] {
            for (states, expected) in states.chunks(count).zip(expected.chunks(count)) {
                let check = |name: &str, permute: &dyn Fn(&mut [[Packing; $width]])| {
                    let mut permuted = states.to_vec();
                    permute(&mut permuted);
                    assert_eq!(permuted, expected, "{name}: {states:x?}");
                };
                check("B = 1", &|states| batched.permute_interleaved::<1>(states));
                check("B = 2", &|states| batched.permute_interleaved::<2>(states));
                check("B = 3", &|states| batched.permute_interleaved::<3>(states));
                check("B = 4", &|states| batched.permute_interleaved::<4>(states));
                check("permute_many", &|states| batched.permute_many(states));
            }
        }
    }};
}

#[test]
fn batches_match_the_published_permutation() {
    check_against_published!(
        8,
        BatchedPoseidon1::default_8(),
        default_goldilocks_poseidon1_8()
    );
    check_against_published!(
        12,
        BatchedPoseidon1::default_12(),
        default_goldilocks_poseidon1_12()
    );
}

/// For width 16, which has no default constants, and for every remainder of a segment.
#[test]
fn any_number_of_partial_rounds() {
    fn constants<const WIDTH: usize>(rounds_p: usize) -> Poseidon1Constants<Goldilocks, WIDTH>
    where
        MdsMatrixGoldilocks: Permutation<[Goldilocks; WIDTH]>,
    {
        let mut rng = SmallRng::seed_from_u64(rounds_p as u64);
        let unit = core::array::from_fn(|i| Goldilocks::new((i == 0).into()));
        Poseidon1Constants {
            rounds_f: 8,
            rounds_p,
            mds_circ_col: (MdsMatrixGoldilocks.permute(unit)).map(|x| x.as_canonical_u64() as i64),
            round_constants: (0..8 + rounds_p)
                .map(|_| core::array::from_fn(|_| Goldilocks::new(rng.random())))
                .collect(),
        }
    }
    for rounds_p in [22, 23, 24] {
        let c = constants(rounds_p);
        check_against_published!(
            8,
            BatchedPoseidon1::<8>::new(&c),
            Poseidon1GoldilocksGeneric::<8>::new(&c)
        );
        let c = constants(rounds_p);
        check_against_published!(
            12,
            BatchedPoseidon1::<12>::new(&c),
            Poseidon1GoldilocksGeneric::<12>::new(&c)
        );
        let c = constants(rounds_p);
        check_against_published!(
            16,
            BatchedPoseidon1::<16>::new(&c),
            Poseidon1GoldilocksGeneric::<16>::new(&c)
        );
    }
}

#[test]
fn known_answers() {
    Instance::of(GOLDILOCKS_POSEIDON1)
        .check(|states| BatchedPoseidon1::default_8().permute_many(states));
    Instance::of(GOLDILOCKS_POSEIDON1)
        .check(|states| BatchedPoseidon1::default_12().permute_many(states));
    // Width 16 has no default constants.
    let answers = Instance::<16>::of(GOLDILOCKS_POSEIDON1);
    let batched = BatchedPoseidon1::<16>::new(&answers.poseidon1_constants());
    answers.check(|states| batched.permute_many(states));
}
