//! A whole STARK: Keccak-f permutations, in upstream's `prove_goldilocks_poseidon2` configuration.

use p3_dft::Radix2DitParallel;
use p3_goldilocks::{Goldilocks, default_goldilocks_poseidon2_8};
use p3_keccak_air::{KeccakAir, NUM_ROUNDS, generate_trace_rows};
use p3_uni_stark::{Proof, StarkConfig, prove, verify};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::fri::{Challenge, Challenger, Pcs, parameters, val_mmcs};
use crate::row::Prepared;
use crate::timing::time;

type Config = StarkConfig<Pcs, Challenge, Challenger>;

/// Proves as many Keccak permutations as fit a trace of `rows` rows. The output is the proof.
pub fn keccak(seed: u64, rows: usize) -> Prepared {
    let mut rng = SmallRng::seed_from_u64(seed);
    let inputs: Vec<[u64; 25]> = (0..rows / NUM_ROUNDS).map(|_| rng.random()).collect();
    Prepared::new(move || {
        let config = config();
        // Made anew for each run: a clone would lack the spare capacity that the low-degree extension grows into.
        let trace = generate_trace_rows::<Goldilocks>(inputs.clone(), parameters().log_blowup);
        let (timing, proof) = time(|| prove(&config, &KeccakAir {}, trace, &[]));
        let proof = proof.expect("the trace satisfies the constraints");
        (
            timing,
            postcard::to_allocvec(&proof).expect("proofs are plain data"),
        )
    })
    .verified_by(|bytes| {
        let proof: Proof<Config> =
            postcard::from_bytes(bytes).map_err(|error| format!("proof: {error}"))?;
        verify(&config(), &KeccakAir {}, &proof, &[]).map_err(|error| format!("proof: {error:?}"))
    })
}

fn config() -> Config {
    let pcs = Pcs::new(Radix2DitParallel::default(), val_mmcs(), parameters());
    Config::new(pcs, Challenger::new(default_goldilocks_poseidon2_8()))
}
