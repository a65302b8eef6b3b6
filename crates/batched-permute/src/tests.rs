//! Batches of every size around the number of interleaved states, against Plonky3 as published.

use std::vec::Vec;

use p3_field::PackedValue;
use p3_goldilocks::Poseidon2Goldilocks;
use p3_patches_testing::goldilocks as plain;
use p3_symmetric::Permutation;
use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::*;

/// Edges in every position, edges in one lane of one element, and arbitrary values.
fn check<const WIDTH: usize>()
where
    Poseidon2GoldilocksFused<WIDTH>: Permutation<[Packing; WIDTH]>,
    Poseidon2Goldilocks<WIDTH>: Permutation<[Packing; WIDTH]>,
    rand::distr::StandardUniform: rand::distr::Distribution<[Goldilocks; WIDTH]>,
{
    let rng = || SmallRng::seed_from_u64(WIDTH as u64);
    let ours = Poseidon2GoldilocksFused::<WIDTH>::new_from_rng(8, 22, &mut rng());
    let published = Poseidon2Goldilocks::<WIDTH>::new_from_rng(8, 22, &mut rng());
    let states: Vec<[Packing; WIDTH]> = plain::states(Packing::WIDTH, |lanes| {
        Packing::from_fn(|lane| Goldilocks::new(lanes[lane]))
    });
    let expected: Vec<_> = states
        .iter()
        .map(|&state| published.permute(state))
        .collect();

    let mut all = states.clone();
    permute_many(&ours, &mut all);
    assert_eq!(all, expected);
    for count in 0..=2 * batch(WIDTH) + 1 {
        let mut some = states[..count].to_vec();
        permute_many(&ours, &mut some);
        assert_eq!(some, expected[..count], "{count} states");
    }
}

#[test]
fn batches_match_the_published_permutation() {
    check::<8>();
    check::<12>();
    check::<16>();
    check::<20>();
}

#[test]
fn width_20_has_no_batch() {
    assert_eq!(batch(20), 1);
}
