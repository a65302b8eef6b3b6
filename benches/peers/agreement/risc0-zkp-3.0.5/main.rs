//! Prints what risc0-zkp 3.0.5 computes.

use risc0_zkp::core::hash::poseidon2::poseidon2_mix;
use risc0_zkp::field::baby_bear::{BabyBearElem, BabyBearExtElem};
use risc0_zkp::field::{Elem, ExtElem, RootsOfUnity};

fn print(subject: &str, elements: &[BabyBearElem]) {
    let words = elements.iter().map(|x| u32::from(*x).to_string());
    println!("{subject}\t{}", words.collect::<Vec<_>>().join(" "));
}

fn main() {
    let mut state = std::array::from_fn(|i| BabyBearElem::new(i as u32));
    poseidon2_mix(&mut state);
    print("baby-bear poseidon2-24", &state);
    let bits = BabyBearElem::MAX_ROU_PO2;
    print(&format!("baby-bear root of order 2^{bits}"), &[BabyBearElem::ROU_FWD[bits]]);
    let x = BabyBearExtElem::from_subelems([0, 1, 0, 0].map(BabyBearElem::new));
    print("baby-bear x^4", &x.pow(4).subelems()[..1]);
}
