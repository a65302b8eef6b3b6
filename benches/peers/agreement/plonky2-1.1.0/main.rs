//! Prints what plonky2 1.1.0 computes.

use p3_symmetric::{CryptographicHasher, CryptographicPermutation, PaddingFreeSponge, Permutation};
use plonky2::field::extension::FieldExtension;
use plonky2::field::extension::quadratic::QuadraticExtension;
use plonky2::field::goldilocks_field::GoldilocksField;
use plonky2::field::types::{Field, PrimeField64};
use plonky2::hash::hashing::hash_n_to_hash_no_pad;
use plonky2::hash::poseidon::{Poseidon, PoseidonPermutation};

#[derive(Clone)]
struct Permuted;

impl Permutation<[GoldilocksField; 12]> for Permuted {
    fn permute_mut(&self, state: &mut [GoldilocksField; 12]) {
        *state = GoldilocksField::poseidon(*state);
    }
}

impl CryptographicPermutation<[GoldilocksField; 12]> for Permuted {}

fn print(subject: &str, elements: &[GoldilocksField]) {
    let words = elements.iter().map(|x| x.to_canonical_u64().to_string());
    println!("{subject}\t{}", words.collect::<Vec<_>>().join(" "));
}

fn main() {
    let state = std::array::from_fn(GoldilocksField::from_canonical_usize);
    print("goldilocks poseidon-12", &GoldilocksField::poseidon(state));
    let sponge = PaddingFreeSponge::<_, 12, 8, 4>::new(Permuted);
    let elements: Vec<_> = (0..17).map(GoldilocksField::from_canonical_usize).collect();
    for length in [0, 7, 16, 17] {
        let elements = &elements[..length];
        let digest = hash_n_to_hash_no_pad::<_, PoseidonPermutation<_>>(elements).elements;
        let is_it = sponge.hash_iter(elements.iter().copied()) == digest;
        let is = if is_it { "is" } else { "is not" };
        println!(
            "PaddingFreeSponge of {length} elements\t{is} the library's sponge over its own permutation"
        );
    }
    print(
        "goldilocks generator",
        &[GoldilocksField::MULTIPLICATIVE_GROUP_GENERATOR],
    );
    print(
        "goldilocks root of order 2^32",
        &[GoldilocksField::primitive_root_of_unity(32)],
    );
    let x = QuadraticExtension([GoldilocksField::ZERO, GoldilocksField::ONE]);
    let square: [GoldilocksField; 2] = (x * x).to_basefield_array();
    print("goldilocks x^2", &square[..1]);
}
