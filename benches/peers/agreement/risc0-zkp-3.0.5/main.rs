//! Prints what risc0-zkp 3.0.5 computes.

use p3_symmetric::{CryptographicHasher, CryptographicPermutation, PaddingFreeSponge, Permutation};
use risc0_zkp::core::hash::poseidon2::{poseidon2_mix, unpadded_hash};
use risc0_zkp::field::baby_bear::{BabyBearElem, BabyBearExtElem};
use risc0_zkp::field::{Elem, ExtElem, RootsOfUnity};

fn print(subject: &str, elements: &[BabyBearElem]) {
    let words = elements.iter().map(|x| u32::from(*x).to_string());
    println!("{subject}\t{}", words.collect::<Vec<_>>().join(" "));
}

#[derive(Clone)]
struct Permuted;

impl Permutation<[BabyBearElem; 24]> for Permuted {
    fn permute_mut(&self, state: &mut [BabyBearElem; 24]) {
        poseidon2_mix(state);
    }
}

impl CryptographicPermutation<[BabyBearElem; 24]> for Permuted {}

fn main() {
    let mut state = std::array::from_fn(|i| BabyBearElem::new(i as u32));
    poseidon2_mix(&mut state);
    print("baby-bear poseidon2-24", &state);
    let sponge = PaddingFreeSponge::<_, 24, 16, 8>::new(Permuted);
    let elements: Vec<_> = (0..17).map(BabyBearElem::new).collect();
    for length in [0, 7, 16, 17] {
        let elements = &elements[..length];
        let is_it = sponge.hash_iter(elements.iter().copied()) == unpadded_hash(elements.iter());
        let is = if is_it { "is" } else { "is not" };
        println!(
            "PaddingFreeSponge of {length} elements\t{is} the library's sponge over its own permutation"
        );
    }
    let bits = BabyBearElem::MAX_ROU_PO2;
    print(
        &format!("baby-bear root of order 2^{bits}"),
        &[BabyBearElem::ROU_FWD[bits]],
    );
    let x = BabyBearExtElem::from_subelems([0, 1, 0, 0].map(BabyBearElem::new));
    print("baby-bear x^4", &x.pow(4).subelems()[..1]);
    print("baby-bear coordinates of x^2", (x * x).subelems());
}
