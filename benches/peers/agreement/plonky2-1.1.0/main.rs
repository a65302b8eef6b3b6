//! Prints what plonky2 1.1.0 computes.

use plonky2::field::extension::FieldExtension;
use plonky2::field::extension::quadratic::QuadraticExtension;
use plonky2::field::goldilocks_field::GoldilocksField;
use plonky2::field::types::{Field, PrimeField64};
use plonky2::hash::poseidon::Poseidon;

fn print(subject: &str, elements: &[GoldilocksField]) {
    let words = elements.iter().map(|x| x.to_canonical_u64().to_string());
    println!("{subject}\t{}", words.collect::<Vec<_>>().join(" "));
}

fn main() {
    let state = std::array::from_fn(GoldilocksField::from_canonical_usize);
    print("goldilocks poseidon-12", &GoldilocksField::poseidon(state));
    print("goldilocks generator", &[GoldilocksField::MULTIPLICATIVE_GROUP_GENERATOR]);
    print("goldilocks root of order 2^32", &[GoldilocksField::primitive_root_of_unity(32)]);
    let x = QuadraticExtension([GoldilocksField::ZERO, GoldilocksField::ONE]);
    let square: [GoldilocksField; 2] = (x * x).to_basefield_array();
    print("goldilocks x^2", &square[..1]);
}
