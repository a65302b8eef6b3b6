//! Poseidon2 permutations without internal rounds, for `cargo p3 ab --phases`.

use p3_field::PackedValue;
use p3_goldilocks::poseidon1::GOLDILOCKS_S_BOX_DEGREE;
use p3_goldilocks::{Goldilocks, Poseidon2Goldilocks};
use p3_poseidon2::poseidon2_round_numbers_128;
use p3_symmetric::Permutation;
use rand::SeedableRng;
use rand::distr::{Distribution, StandardUniform};
use rand::rngs::SmallRng;

use crate::permute::repeat;
use crate::row::Prepared;

/// All external rounds, in a loop as `permute::chain`'s.
pub fn external<P, const WIDTH: usize>(seed: u64) -> Prepared
where
    P: PackedValue<Value = Goldilocks>,
    Poseidon2Goldilocks<WIDTH>: Permutation<[P; WIDTH]> + 'static,
    StandardUniform: Distribution<[Goldilocks; WIDTH]>,
{
    let numbers = poseidon2_round_numbers_128::<Goldilocks>(WIDTH, GOLDILOCKS_S_BOX_DEGREE);
    let (external, _) = numbers.expect("a width that upstream has");
    // Round constants may be any: no time depends on them.
    let mut rng = SmallRng::seed_from_u64(WIDTH as u64);
    let permutation = Poseidon2Goldilocks::<WIDTH>::new_from_rng(external, 0, &mut rng);
    repeat(seed, move |state| permutation.permute_mut(state))
}
