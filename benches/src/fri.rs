//! The commit phase of FRI.

use std::marker::PhantomData;

use p3_challenger::{CanObserve, DuplexChallenger, FieldChallenger, GrindingChallenger};
use p3_commit::{ExtensionMmcs, Mmcs};
use p3_dft::Radix2DitParallel;
use p3_field::extension::BinomialExtensionField;
use p3_field::{ExtensionField, Field, PrimeField64, TwoAdicField};
use p3_fri::prover::prove_fri;
use p3_fri::{
    BatchMultiOpening, FriFoldingStrategy, FriParameters, FriProof, TwoAdicFriFolding,
    TwoAdicFriFoldingForMmcs, TwoAdicFriPcs,
};
use p3_goldilocks::{Goldilocks, Poseidon2Goldilocks, default_goldilocks_poseidon2_8};
use p3_koala_bear::KoalaBear;
use p3_matrix::dense::RowMajorMatrix;
use rand::distr::{Distribution, StandardUniform};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde::Serialize;

use crate::extension::{Element, Quintic, coefficients};
use crate::merkle::{self, GoldilocksMmcs};
use crate::monty31;
use crate::row::{Prepared, to_bytes};
use crate::timing::time;

type Perm = Poseidon2Goldilocks<8>;
pub type Challenge = BinomialExtensionField<Goldilocks, 2>;
pub type Challenger = DuplexChallenger<Goldilocks, Perm, 8, 4>;
type ValMmcs = GoldilocksMmcs<Perm, 8, 4, 2>;
pub type Pcs<F, EF, M> = TwoAdicFriPcs<F, Radix2DitParallel<F>, M, ExtensionMmcs<F, EF, M>>;
pub type GoldilocksPcs = Pcs<Goldilocks, Challenge, ValMmcs>;

pub fn val_mmcs() -> ValMmcs {
    merkle::mmcs(default_goldilocks_poseidon2_8(), 0)
}

/// The logarithm of the blowup of [`pcs`].
pub const LOG_BLOWUP: usize = FriParameters::new_benchmark(()).log_blowup;

/// Commits in trees of any scheme, with upstream's benchmark parameters: blowup 2, 100 queries, 16 bits of proof of work.
pub fn pcs<F: Field, EF, M: Clone>(mmcs: M) -> Pcs<F, EF, M> {
    let parameters = FriParameters::new_benchmark(ExtensionMmcs::new(mmcs.clone()));
    TwoAdicFriPcs::new(Radix2DitParallel::default(), mmcs, parameters)
}

/// Over Goldilocks and its quadratic extension.
pub fn goldilocks(seed: u64, log_height: usize) -> Prepared {
    let challenger = Challenger::new(default_goldilocks_poseidon2_8());
    commit_phase::<_, Challenge, _, _>(seed, log_height, val_mmcs(), challenger)
}

/// Over KoalaBear and its extension of degree 5.
pub fn quintic(seed: u64, log_height: usize) -> Prepared {
    let (mmcs, challenger) = (
        monty31::mmcs::<KoalaBear>(),
        monty31::challenger::<KoalaBear>(),
    );
    commit_phase::<KoalaBear, Quintic, _, _>(seed, log_height, mmcs, challenger)
}

/// Folds a random codeword of 2^`log_height` values once, in pairs.
pub fn fold<F, EF>(seed: u64, log_height: usize) -> Prepared
where
    F: TwoAdicField,
    EF: ExtensionField<F> + Element,
    StandardUniform: Distribution<EF>,
{
    let mut rng = SmallRng::seed_from_u64(seed);
    let codeword = RowMajorMatrix::<EF>::rand(&mut rng, 1 << (log_height - 1), 2);
    let beta: EF = rng.random();
    let folding = TwoAdicFriFolding::<(), ()>(PhantomData);
    Prepared::new(move || {
        let (timing, folded) = time(|| {
            FriFoldingStrategy::<F, EF>::fold_matrix(&folding, beta, 1, codeword.as_view())
        });
        (timing, coefficients(&folded))
    })
}

/// Folds a random codeword of 2^`log_height` down to a constant, committing to every layer.
///
/// The public entry point runs the query phase too; one query without proof of work leaves it a few openings.
fn commit_phase<Val, Challenge, M, Challenger>(
    seed: u64,
    log_height: usize,
    mmcs: M,
    challenger: Challenger,
) -> Prepared
where
    Val: TwoAdicField + PrimeField64,
    Challenge: ExtensionField<Val>,
    StandardUniform: Distribution<Challenge>,
    M: Mmcs<Val, MultiProof: Sync, Error: Sync> + Clone + 'static,
    ExtensionMmcs<Val, Challenge, M>: Mmcs<Challenge>,
    FriProof<Challenge, ExtensionMmcs<Val, Challenge, M>, Val, Vec<BatchMultiOpening<Val, M>>>:
        Serialize,
    Challenger: FieldChallenger<Val>
        + GrindingChallenger<Witness = Val>
        + CanObserve<<ExtensionMmcs<Val, Challenge, M> as Mmcs<Challenge>>::Commitment>
        + Clone
        + 'static,
{
    let mut rng = SmallRng::seed_from_u64(seed);
    let codeword: Vec<Challenge> = (0..1 << log_height).map(|_| rng.random()).collect();
    let parameters = FriParameters {
        num_queries: 1,
        query_proof_of_work_bits: 0,
        ..FriParameters::new_benchmark(ExtensionMmcs::new(mmcs.clone()))
    };
    Prepared::new(move || {
        let inputs = vec![codeword.clone()];
        let mut challenger = challenger.clone();
        let (timing, proof) = time(|| {
            let folding: TwoAdicFriFoldingForMmcs<Val, M> = TwoAdicFriFolding(PhantomData);
            prove_fri(
                &folding,
                &parameters,
                inputs,
                &mut challenger,
                log_height,
                &[],
                &mmcs,
                Val::ZERO,
            )
        });
        let proof = proof.expect("the codeword is longer than the final polynomial");
        (timing, to_bytes(&proof))
    })
}
