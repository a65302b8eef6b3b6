//! Prints what Plonky3 0.4.3 computes. Its Goldilocks has no default permutation.

use p3_baby_bear::{BabyBear, default_babybear_poseidon2_16, default_babybear_poseidon2_24};
use p3_field::PrimeField64;
use p3_koala_bear::{KoalaBear, default_koalabear_poseidon2_16, default_koalabear_poseidon2_24};
use p3_symmetric::Permutation;

fn permute<F: PrimeField64, const WIDTH: usize>(
    subject: &str,
    permutation: &impl Permutation<[F; WIDTH]>,
) {
    let state = permutation.permute(std::array::from_fn(|i| F::from_usize(i)));
    let words = state.iter().map(|x| x.as_canonical_u64().to_string());
    println!("{subject}-{WIDTH}\t{}", words.collect::<Vec<_>>().join(" "));
}

fn main() {
    permute::<BabyBear, 16>("baby-bear poseidon2", &default_babybear_poseidon2_16());
    permute::<BabyBear, 24>("baby-bear poseidon2", &default_babybear_poseidon2_24());
    permute::<KoalaBear, 16>("koala-bear poseidon2", &default_koalabear_poseidon2_16());
    permute::<KoalaBear, 24>("koala-bear poseidon2", &default_koalabear_poseidon2_24());
}
