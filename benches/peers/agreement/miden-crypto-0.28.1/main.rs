//! Prints what miden-crypto 0.28.1 computes.

use miden_crypto::Felt;
use miden_crypto::hash::poseidon2::Poseidon2;
use p3_symmetric::{CryptographicHasher, CryptographicPermutation, PaddingFreeSponge, Permutation};

#[derive(Clone)]
struct Permuted;

impl Permutation<[Felt; 12]> for Permuted {
    fn permute_mut(&self, state: &mut [Felt; 12]) {
        Poseidon2::apply_permutation(state);
    }
}

impl CryptographicPermutation<[Felt; 12]> for Permuted {}

fn print(subject: &str, elements: &[Felt]) {
    let words = elements.iter().map(|x| x.as_canonical_u64().to_string());
    println!("{subject}\t{}", words.collect::<Vec<_>>().join(" "));
}

fn main() {
    let elements: Vec<_> = (0..17).map(Felt::new_unchecked).collect();
    let mut state: [Felt; 12] = elements[..12].try_into().unwrap();
    Poseidon2::apply_permutation(&mut state);
    print("goldilocks poseidon2-12", &state);
    let sponge = PaddingFreeSponge::<_, 12, 8, 4>::new(Permuted);
    for length in [0, 7, 16, 17] {
        let digest = Poseidon2::hash_elements(&elements[..length]);
        let is_it = sponge.hash_iter(elements[..length].iter().copied()) == *digest.as_elements();
        let is = if is_it { "is" } else { "is not" };
        println!(
            "PaddingFreeSponge of {length} elements\t{is} the library's sponge over its own permutation"
        );
    }
}
