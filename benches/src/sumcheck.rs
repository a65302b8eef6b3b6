//! The quadratic sumcheck: rounds over KoalaBear's extension of degree 5, and whole proofs over any extension.

use p3_challenger::fs::TranscriptField;
use p3_challenger::{FieldChallenger, GrindingChallenger};
use p3_field::{ExtensionField, PackedValue};
use p3_koala_bear::KoalaBear;
use p3_multilinear_util::poly::Poly;
use p3_sumcheck::SumcheckData;
use p3_sumcheck::product_polynomial::ProductPolynomial;
use p3_sumcheck::strategy::{
    Basis, RoundMessage, SumcheckProver, VariableOrder, fold_and_round_coefficients_prefix,
    fold_and_round_coefficients_suffix, sumcheck_coefficients_prefix, sumcheck_coefficients_suffix,
};
use rand::distr::{Distribution, StandardUniform};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::extension::{Element, Packed, Quintic, coefficients};
use crate::row::{Prepared, from_bytes, to_bytes};
use crate::timing::time;

/// Rounds per run, of each kind.
const ROUNDS: usize = 1 << 4;

/// Rounds whose variable is the first one, over packed tables.
pub fn prefix_rounds(seed: u64, num_variables: usize) -> Prepared {
    let mut rng = SmallRng::seed_from_u64(seed);
    let base = Poly::<KoalaBear>::rand(&mut rng, num_variables);
    let mut table = || Poly::<Quintic>::rand(&mut rng, num_variables).pack::<KoalaBear, Quintic>();
    let (evals, weights) = (table(), table());
    rounds(
        seed,
        Packed::pack_slice(base.as_slice()).to_vec(),
        (evals, weights),
        sumcheck_coefficients_prefix,
        fold_and_round_coefficients_prefix,
    )
}

/// Rounds whose variable is the last one, over scalar tables.
pub fn suffix_rounds(seed: u64, num_variables: usize) -> Prepared {
    let mut rng = SmallRng::seed_from_u64(seed);
    let base = Poly::<KoalaBear>::rand(&mut rng, num_variables);
    let mut table = || Poly::<Quintic>::rand(&mut rng, num_variables);
    let (evals, weights) = (table(), table());
    rounds(
        seed,
        base.into_evals(),
        (evals, weights),
        sumcheck_coefficients_suffix,
        fold_and_round_coefficients_suffix,
    )
}

/// A first round, over values in the base field, and a round that binds the variable before it, some times each.
fn rounds<A: Element>(
    seed: u64,
    base: Vec<A::Coefficient>,
    tables: (Poly<A>, Poly<A>),
    first_round: fn(&[A::Coefficient], &[A]) -> RoundMessage<A>,
    bind_and_round: fn(&mut Poly<A>, &mut Poly<A>, Quintic) -> RoundMessage<A>,
) -> Prepared {
    let challenges: [Quintic; ROUNDS] = SmallRng::seed_from_u64(!seed).random();
    Prepared::new(move || {
        let mut copies = vec![tables.clone(); ROUNDS];
        let (timing, messages) = time(|| {
            let rounds = copies.iter_mut().zip(challenges);
            let messages = rounds.flat_map(|((evals, weights), challenge)| {
                [
                    first_round(&base, weights.as_slice()),
                    bind_and_round(evals, weights, challenge),
                ]
            });
            messages
                .flat_map(|message| [message.c_a, message.c_inf])
                .collect::<Vec<A>>()
        });
        (timing, coefficients(&messages))
    })
}

/// Proves what the product of two random polynomials sums to. The output is the proof.
pub fn prove<F, EF, C>(
    seed: u64,
    num_variables: usize,
    order: VariableOrder,
    challenger: C,
) -> Prepared
where
    F: TranscriptField,
    EF: ExtensionField<F>,
    StandardUniform: Distribution<EF>,
    SumcheckData<F, EF>: Serialize + DeserializeOwned,
    C: FieldChallenger<F> + GrindingChallenger<Witness = F> + Clone + 'static,
{
    let polynomials = move || {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut polynomial = || Poly::<EF>::rand(&mut rng, num_variables);
        (polynomial(), polynomial())
    };
    let product = move || {
        let (evals, weights) = polynomials();
        let pack = |polynomial: Poly<EF>| polynomial.pack::<F, EF>();
        ProductPolynomial::<F, EF>::new_packed(order, pack(evals), pack(weights))
    };
    let prover = SumcheckProver::new(product(), product().dot_product());
    let sum = prover.claimed_sum();
    let verifier = challenger.clone();
    Prepared::new(move || {
        let mut prover = prover.clone();
        let mut challenger = challenger.clone();
        let (timing, proof) = time(|| {
            let mut proof = SumcheckData::<F, EF>::default();
            let rounds = num_variables;
            drop(prover.compute_sumcheck_polynomials(&mut proof, &mut challenger, rounds, 0, None));
            proof
        });
        (timing, to_bytes(&proof))
    })
    .verified_by(move |bytes| {
        let proof: SumcheckData<F, EF> = from_bytes(bytes)?;
        let mut claim = sum;
        let mut challenger = verifier.clone();
        let point = proof
            .verify_rounds(
                &mut challenger,
                &mut claim,
                num_variables,
                0,
                Basis::Evaluation,
            )
            .map_err(|error| format!("proof: {error}"))?;
        let (evals, weights) = polynomials();
        let point = match order {
            VariableOrder::Prefix => point,
            VariableOrder::Suffix => point.reversed(),
        };
        let value = evals.eval_ext::<F>(&point) * weights.eval_ext::<F>(&point);
        (claim == value)
            .then_some(())
            .ok_or_else(|| "proof: the last claim does not hold".into())
    })
}
