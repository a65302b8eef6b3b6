//! Prints a proof of openvm-stark-sdk, of Fibonacci numbers over BabyBear, with Poseidon2.

use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2CpuEngine;
use openvm_stark_sdk::openvm_stark_backend::StarkEngine;
use openvm_stark_sdk::openvm_stark_backend::codec::Encode;
use openvm_stark_sdk::openvm_stark_backend::test_utils::{
    FibFixture, TestFixture, default_test_params_small,
};

fn main() {
    let engine: BabyBearPoseidon2CpuEngine = StarkEngine::new(default_test_params_small());
    let (key, proof) = FibFixture::new(0, 1, 1 << 10).keygen_and_prove(&engine);
    engine.verify(&key, &proof).unwrap();
    println!("{:?}", proof.encode_to_vec().unwrap());
}
