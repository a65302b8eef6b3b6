//! The commit phase of FRI over Goldilocks and its quadratic extension.

use std::marker::PhantomData;

use p3_challenger::DuplexChallenger;
use p3_commit::ExtensionMmcs;
use p3_dft::Radix2DitParallel;
use p3_field::PrimeCharacteristicRing;
use p3_field::extension::BinomialExtensionField;
use p3_fri::prover::prove_fri;
use p3_fri::{FriParameters, TwoAdicFriFolding, TwoAdicFriFoldingForMmcs, TwoAdicFriPcs};
use p3_goldilocks::{Goldilocks, Poseidon2Goldilocks, default_goldilocks_poseidon2_8};
use p3_merkle_tree::MerkleTreeMmcs;
use p3_symmetric::{PaddingFreeSponge, TruncatedPermutation};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::rows::{Packed, Prepared};
use crate::timing::time;

type Perm = Poseidon2Goldilocks<8>;
pub type Challenge = BinomialExtensionField<Goldilocks, 2>;
pub type Challenger = DuplexChallenger<Goldilocks, Perm, 8, 4>;
type ValMmcs = MerkleTreeMmcs<
    Packed,
    Packed,
    PaddingFreeSponge<Perm, 8, 4, 4>,
    TruncatedPermutation<Perm, 2, 4, 8>,
    2,
    4,
>;
type ChallengeMmcs = ExtensionMmcs<Goldilocks, Challenge, ValMmcs>;
pub type Pcs = TwoAdicFriPcs<Goldilocks, Radix2DitParallel<Goldilocks>, ValMmcs, ChallengeMmcs>;

pub fn val_mmcs() -> ValMmcs {
    let permutation = default_goldilocks_poseidon2_8();
    MerkleTreeMmcs::new(
        PaddingFreeSponge::new(permutation.clone()),
        TruncatedPermutation::new(permutation),
        0,
    )
}

/// Upstream's benchmark parameters: blowup 2, 100 queries, 16 bits of proof of work.
pub fn parameters() -> FriParameters<ChallengeMmcs> {
    FriParameters::new_benchmark(ChallengeMmcs::new(val_mmcs()))
}

/// Folds a random codeword of 2^`log_height` down to a constant, committing to every layer.
///
/// The public entry point runs the query phase too; one query without proof of work leaves it a few openings.
pub fn commit_phase(seed: u64, log_height: usize) -> Prepared {
    let mut rng = SmallRng::seed_from_u64(seed);
    let codeword: Vec<Challenge> = (0..1 << log_height).map(|_| rng.random()).collect();
    let parameters = FriParameters {
        num_queries: 1,
        query_proof_of_work_bits: 0,
        ..parameters()
    };
    let mmcs = val_mmcs();
    let challenger = Challenger::new(default_goldilocks_poseidon2_8());
    Prepared::new(move || {
        let inputs = vec![codeword.clone()];
        let mut challenger = challenger.clone();
        let (timing, proof) = time(|| {
            let folding: TwoAdicFriFoldingForMmcs<Goldilocks, ValMmcs> =
                TwoAdicFriFolding(PhantomData);
            prove_fri(
                &folding,
                &parameters,
                inputs,
                &mut challenger,
                log_height,
                &[],
                &mmcs,
                Goldilocks::ZERO,
            )
        });
        let proof = proof.expect("the codeword is longer than the final polynomial");
        (
            timing,
            postcard::to_allocvec(&proof).expect("proofs are plain data"),
        )
    })
}
