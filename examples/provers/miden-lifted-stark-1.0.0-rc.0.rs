//! Prints a proof of miden-lifted-stark, of two tables in the shape of Miden VM's, with Poseidon2.

use miden_lifted_stark::air::{ProverStatement, Statement};
use miden_lifted_stark::testing::airs::miden::{
    DummyMidenAir, NUM_AUX_COLS, TRACE1_WIDTH, TRACE2_WIDTH, generate_dummy_trace,
};
use miden_lifted_stark::testing::configs::goldilocks_poseidon2::{
    TestMultiAir, test_challenger, test_config,
};
use miden_lifted_stark::{ProverInstance, VerifierInstance};
use rand::SeedableRng;
use rand::rngs::SmallRng;

fn main() {
    let rng = &mut SmallRng::seed_from_u64(1);
    let tables = [(TRACE1_WIDTH, 9), (TRACE2_WIDTH, 10)];
    let airs = tables.map(|(width, _)| DummyMidenAir::new(width, NUM_AUX_COLS));
    let traces = tables.map(|(width, log_height)| generate_dummy_trace(width, log_height, rng));
    let statement = Statement::new(TestMultiAir::new(airs.into()), vec![], vec![]).unwrap();
    let statement = ProverStatement::new(statement, traces.into()).unwrap();
    let config = test_config();

    let prover = ProverInstance::new(&config, statement, None).unwrap();
    let (output, statement) = prover.prove(test_challenger()).unwrap();
    let verifier = VerifierInstance::new(&config, &statement, None).unwrap();
    let digest = verifier.verify(&output.proof, test_challenger()).unwrap();
    assert_eq!(digest, output.digest);
    println!("{output:?}");
}
