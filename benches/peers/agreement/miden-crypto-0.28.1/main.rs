//! Prints what miden-crypto 0.28.1 computes.

use miden_crypto::Felt;
use miden_crypto::hash::poseidon2::Poseidon2;

fn print(subject: &str, elements: &[Felt]) {
    let words = elements.iter().map(|x| x.as_canonical_u64().to_string());
    println!("{subject}\t{}", words.collect::<Vec<_>>().join(" "));
}

fn main() {
    let elements: Vec<_> = (0..16).map(Felt::new_unchecked).collect();
    let mut state: [Felt; 12] = elements[..12].try_into().unwrap();
    Poseidon2::apply_permutation(&mut state);
    print("goldilocks poseidon2-12", &state);
    for length in [7, 8, 9, 16] {
        let digest = Poseidon2::hash_elements(&elements[..length]);
        print(&format!("goldilocks poseidon2-12 sponge of {length}"), digest.as_elements());
    }
}
