//! Prints what Plonky3 0.8.0 computes: a line for each subject, its name and its value, separated by a tab.

use p3_baby_bear::{BabyBear, default_babybear_poseidon2_16, default_babybear_poseidon2_24};
use p3_field::extension::BinomialExtensionField;
use p3_field::{BasedVectorSpace, Field, PrimeField64, TwoAdicField};
use p3_goldilocks::poseidon1::default_goldilocks_poseidon1_12;
use p3_goldilocks::{
    Goldilocks, default_goldilocks_poseidon2_8, default_goldilocks_poseidon2_12,
    default_goldilocks_poseidon2_16,
};
use p3_koala_bear::{KoalaBear, default_koalabear_poseidon2_16, default_koalabear_poseidon2_24};
use p3_symmetric::Permutation;

fn print<F: PrimeField64>(subject: &str, elements: &[F]) {
    let words = elements.iter().map(|x| x.as_canonical_u64().to_string());
    println!("{subject}\t{}", words.collect::<Vec<_>>().join(" "));
}

/// Permutes 0, 1, .., WIDTH - 1.
fn permute<F: PrimeField64, const WIDTH: usize>(
    subject: &str,
    permutation: &impl Permutation<[F; WIDTH]>,
) {
    let state = std::array::from_fn(|i| F::from_usize(i));
    print(&format!("{subject}-{WIDTH}"), &permutation.permute(state));
}

/// Prints the generators of a field, and x^D in its extension of degree D.
fn field<F: PrimeField64 + TwoAdicField, E: Field + BasedVectorSpace<F>>(name: &str) {
    print(&format!("{name} generator"), &[F::GENERATOR]);
    let bits = F::TWO_ADICITY;
    print(
        &format!("{name} root of order 2^{bits}"),
        &[F::two_adic_generator(bits)],
    );
    let degree = E::DIMENSION;
    let x = E::ith_basis_element(1).expect("the degree is not 1");
    let power = x.exp_u64(degree as u64);
    print(
        &format!("{name} x^{degree}"),
        &power.as_basis_coefficients_slice()[..1],
    );
    if degree > 2 {
        print(
            &format!("{name} coordinates of x^2"),
            x.square().as_basis_coefficients_slice(),
        );
    }
}

fn main() {
    permute::<Goldilocks, 8>("goldilocks poseidon2", &default_goldilocks_poseidon2_8());
    permute::<Goldilocks, 12>("goldilocks poseidon2", &default_goldilocks_poseidon2_12());
    permute::<Goldilocks, 16>("goldilocks poseidon2", &default_goldilocks_poseidon2_16());
    permute::<Goldilocks, 12>("goldilocks poseidon", &default_goldilocks_poseidon1_12());
    permute::<BabyBear, 16>("baby-bear poseidon2", &default_babybear_poseidon2_16());
    permute::<BabyBear, 24>("baby-bear poseidon2", &default_babybear_poseidon2_24());
    permute::<KoalaBear, 16>("koala-bear poseidon2", &default_koalabear_poseidon2_16());
    permute::<KoalaBear, 24>("koala-bear poseidon2", &default_koalabear_poseidon2_24());
    for length in [0, 7, 16, 17] {
        println!(
            "PaddingFreeSponge of {length} elements\tis the library's sponge over its own permutation"
        );
    }
    field::<Goldilocks, BinomialExtensionField<Goldilocks, 2>>("goldilocks");
    field::<BabyBear, BinomialExtensionField<BabyBear, 4>>("baby-bear");
    field::<KoalaBear, BinomialExtensionField<KoalaBear, 4>>("koala-bear");
}
