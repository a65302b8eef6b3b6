//! Prints what zkhash 0.2.0 computes.

use std::sync::Arc;

use zkhash::ark_ff::PrimeField;
use zkhash::poseidon2::poseidon2::Poseidon2;
use zkhash::poseidon2::poseidon2_instance_babybear as baby_bear;
use zkhash::poseidon2::poseidon2_instance_goldilocks as goldilocks;
use zkhash::poseidon2::poseidon2_params::Poseidon2Params;

fn permute<F: PrimeField>(subject: &str, width: u64, parameters: &Arc<Poseidon2Params<F>>) {
    let state: Vec<_> = (0..width).map(F::from).collect();
    let state = Poseidon2::new(parameters).permutation(&state);
    let words = state.iter().map(|x| x.into_bigint().to_string());
    println!("{subject}-{width}\t{}", words.collect::<Vec<_>>().join(" "));
}

fn main() {
    permute(
        "goldilocks poseidon2",
        8,
        &goldilocks::POSEIDON2_GOLDILOCKS_8_PARAMS,
    );
    permute(
        "goldilocks poseidon2",
        12,
        &goldilocks::POSEIDON2_GOLDILOCKS_12_PARAMS,
    );
    permute(
        "goldilocks poseidon2",
        16,
        &goldilocks::POSEIDON2_GOLDILOCKS_16_PARAMS,
    );
    permute(
        "baby-bear poseidon2",
        16,
        &baby_bear::POSEIDON2_BABYBEAR_16_PARAMS,
    );
    permute(
        "baby-bear poseidon2",
        24,
        &baby_bear::POSEIDON2_BABYBEAR_24_PARAMS,
    );
}
