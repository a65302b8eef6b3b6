//! WHIR, a commitment to multilinear polynomials, over KoalaBear and its extension of degree 5.

use p3_commit::MultilinearPcs;
use p3_dft::Radix2DFTSmallBatch;
use p3_koala_bear::KoalaBear;
use p3_sumcheck::layout::{Layout as _, SuffixProver, Table};
use p3_sumcheck::{OpeningBatch, OpeningProtocol, TableShape, TableSpec};
use p3_whir::parameters::{FoldingFactor, ProtocolParameters, SecurityAssumption, WhirConfig};
use p3_whir::pcs::prover::WhirProver;
use rand::SeedableRng;
use rand::rngs::SmallRng;

use crate::extension::Quintic;
use crate::monty31::{self, challenger, mmcs};
use crate::row::{Prepared, from_bytes, to_bytes};
use crate::timing::time;

type Challenger = monty31::Challenger<KoalaBear>;
type Mmcs = monty31::Mmcs<KoalaBear>;
type Dft = Radix2DFTSmallBatch<KoalaBear>;
type Layout = SuffixProver<KoalaBear, Quintic>;
type Pcs = WhirProver<Quintic, KoalaBear, Dft, Mmcs, Challenger, Layout>;
type Commitment = <Pcs as MultilinearPcs<Quintic, Challenger>>::Commitment;
type Proof = <Pcs as MultilinearPcs<Quintic, Challenger>>::Proof;

/// Variables bound per round, as in upstream's benchmark.
const FOLDING: usize = 4;

/// Commits to a random polynomial and opens it at one point. The output is the commitment and the proof.
pub fn prove(seed: u64, num_variables: usize) -> Prepared {
    let prover_pcs = pcs(num_variables);
    let table = Table::rand(&mut SmallRng::seed_from_u64(seed), 1, num_variables);
    Prepared::new(move || {
        let witness = Layout::new_witness(vec![table.clone()], FOLDING);
        let mut challenger = challenger::<KoalaBear>();
        let (timing, result) = time(|| {
            let (commitment, data) = prover_pcs.commit(witness, &mut challenger)?;
            let proof = prover_pcs.open(data, protocol(num_variables), &mut challenger)?;
            Ok::<_, <Pcs as MultilinearPcs<Quintic, Challenger>>::ProverError>((commitment, proof))
        });
        let result = result.expect("the parameters admit one claim");
        (timing, to_bytes(&result))
    })
    .verified_by(move |bytes| {
        let (commitment, proof): (Commitment, Proof) = from_bytes(bytes)?;
        pcs(num_variables)
            .verify(
                &commitment,
                &proof,
                &mut challenger::<KoalaBear>(),
                protocol(num_variables),
            )
            .map(drop)
            .map_err(|error| format!("proof: {error:?}"))
    })
    .settled_as(|bytes| {
        let (commitment, _): (Commitment, Proof) =
            from_bytes(bytes).expect("the worker's own proof");
        to_bytes(&commitment)
    })
}

fn pcs(num_variables: usize) -> Pcs {
    let folding_factor = FoldingFactor::Constant(FOLDING);
    let (rounds, _) = folding_factor
        .compute_number_of_rounds(num_variables)
        .expect("a polynomial larger than the folding factor");
    let parameters = ProtocolParameters {
        security_level: 100,
        // Hashing for proofs of work is not what the row is about.
        pow_bits: 8,
        round_log_inv_rates: (1..=rounds)
            .map(|round| 1 + round * (FOLDING - 1))
            .collect(),
        folding_factor,
        soundness_type: SecurityAssumption::JohnsonBound,
        starting_log_inv_rate: 1,
    };
    let config = WhirConfig::new(num_variables, parameters).expect("parameters that fit the field");
    let dft = Dft::new(1 << config.max_fft_size());
    Pcs::new(config, dft, mmcs::<KoalaBear>())
}

fn protocol(num_variables: usize) -> OpeningProtocol {
    let shape = TableShape::new(num_variables, 1);
    let openings = [OpeningBatch::new(vec![0], Vec::new())];
    OpeningProtocol::new(vec![TableSpec::new(shape, openings.into_iter().collect())])
}
