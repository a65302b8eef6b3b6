//! Upstream's example AIRs in its `prove_goldilocks_poseidon2` configuration, or with another hash or field: whole STARKs, and their
//! constraints alone.

use p3_air::symbolic::{AirLayout, SymbolicAirBuilder, get_constraint_layout};
use p3_air::{Air, AirBuilder, BaseAir, DebugConstraintBuilder};
use p3_batch_stark::{BatchProof, ProverData, StarkInstance, prove_batch, verify_batch};
use p3_challenger::GrindingChallenger;
use p3_commit::{Pcs as CommitmentScheme, PolynomialSpace, UnivariateStarkPcs};
use p3_field::{Field, PrimeField64};
use p3_goldilocks::{Goldilocks, default_goldilocks_poseidon2_8};
use p3_keccak_air::{KeccakAir, NUM_KECCAK_COLS, NUM_ROUNDS, generate_trace_rows};
use p3_matrix::dense::RowMajorMatrix;
use p3_uni_stark::{
    Proof, QuotientAir, StarkConfig, StarkGenericConfig, Val, VerifierConstraintFolder,
    get_log_num_quotient_chunks, prove, quotient_values, verify,
};
use rand::distr::{Distribution, StandardUniform};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::bits_air::Bits;
use crate::dot::coefficients;
use crate::fri::{Challenge, Challenger, GoldilocksPcs, LOG_BLOWUP, pcs, val_mmcs};
use crate::row::{Prepared, from_bytes, to_bytes};
use crate::timing::time;

pub type Config = StarkConfig<GoldilocksPcs, Challenge, Challenger>;

/// An AIR without preprocessed columns and public values, with a trace for each seed.
pub trait Traced<SC: StarkGenericConfig>:
    QuotientAir<SC>
    + Air<SymbolicAirBuilder<Val<SC>>>
    + for<'a> Air<DebugConstraintBuilder<'a, Val<SC>>>
    + for<'a> Air<VerifierConstraintFolder<'a, SC>>
    + 'static
{
    /// The inputs of the computation that a trace shows.
    type Inputs: Clone;

    fn inputs(&self, seed: u64, rows: usize) -> Self::Inputs;
    fn trace(&self, inputs: Self::Inputs) -> RowMajorMatrix<Val<SC>>;
}

impl<SC: StarkGenericConfig<Challenge: 'static> + 'static> Traced<SC> for KeccakAir
where
    Val<SC>: PrimeField64,
{
    type Inputs = Vec<[u64; 25]>;

    fn inputs(&self, seed: u64, rows: usize) -> Self::Inputs {
        keccak_inputs(seed, rows)
    }

    fn trace(&self, inputs: Self::Inputs) -> RowMajorMatrix<Val<SC>> {
        keccak_trace(inputs)
    }
}

/// Proves a trace of `rows` rows by p3-uni-stark. The output is the proof.
pub fn proof<A, SC>(seed: u64, rows: usize, air: fn() -> A, config: fn() -> SC) -> Prepared
where
    A: Traced<SC>,
    SC: StarkGenericConfig<Challenger: GrindingChallenger<Witness = Val<SC>>> + 'static,
{
    let prover = air();
    let inputs = prover.inputs(seed, rows);
    Prepared::new(move || {
        let config = config();
        // Made anew for each run: a clone would lack the spare capacity that the low-degree extension grows into.
        let trace = prover.trace(inputs.clone());
        let (timing, proof) = time(|| prove(&config, &prover, trace, &[]));
        (timing, to_bytes(&proof.expect("the trace is valid")))
    })
    .verified_by(move |bytes| {
        let proof: Proof<SC> = from_bytes(bytes)?;
        verify(&config(), &air(), &proof, &[]).map_err(|error| format!("proof: {error:?}"))
    })
    .settled_as(|bytes| {
        let proof: Proof<SC> = from_bytes(bytes).expect("the worker's own proof");
        to_bytes(&(&proof.commitments, &proof.opened_values))
    })
}

/// Verifies a proof by p3-uni-stark of a trace of `rows` rows. The output is what it has opened.
pub fn verification<A, SC>(seed: u64, rows: usize, air: fn() -> A, config: fn() -> SC) -> Prepared
where
    A: Traced<SC>,
    SC: StarkGenericConfig<Challenger: GrindingChallenger<Witness = Val<SC>>> + 'static,
{
    let (air, config) = (air(), config());
    let trace = air.trace(air.inputs(seed, rows));
    let proof = prove(&config, &air, trace, &[]).expect("the trace is valid");
    Prepared::new(move || {
        let (timing, verified) = time(|| verify(&config, &air, &proof, &[]));
        verified.expect("the proof is valid");
        (timing, to_bytes(&proof.opened_values))
    })
}

/// Evaluates an AIR symbolically, as a prover does before it commits and before it evaluates the quotient. The output is the logarithm of
/// the number of quotient chunks, and the places of the constraints over the base field.
pub fn symbolic<F: Field, A: Air<SymbolicAirBuilder<F>> + 'static>(
    rows: usize,
    air: A,
) -> Prepared {
    Prepared::new(move || {
        let layout = AirLayout::from_air::<F>(&air);
        let (timing, (log_chunks, constraints)) = time(|| {
            (
                get_log_num_quotient_chunks::<F, A>(&air, layout, rows, 0),
                get_constraint_layout::<F, F, A>(&air, layout),
            )
        });
        (timing, to_bytes(&(log_chunks, constraints.base_indices)))
    })
}

/// Proves tables, each with the logarithm of its rows, by p3-batch-stark. The output is the proof.
pub fn batch(seed: u64, tables: fn() -> Vec<(Table, usize)>) -> Prepared {
    let batch = move || -> (Vec<_>, Vec<_>) { tables().into_iter().unzip() };
    Prepared::new(move || {
        let config = config();
        let (airs, log_rows) = batch();
        let traces: Vec<_> = (airs.iter().zip(&log_rows))
            .map(|(air, log_rows)| air.trace(seed, 1 << log_rows))
            .collect();
        let instances: Vec<_> = (airs.iter().zip(&traces))
            .map(|(air, trace)| StarkInstance {
                air,
                trace,
                public_values: vec![],
            })
            .collect();
        let data = prover_data(&config, &airs, &log_rows);
        let (timing, proof) = time(|| prove_batch(&config, &instances, &data));
        (timing, to_bytes(&proof.expect("the traces are valid")))
    })
    .verified_by(move |bytes| {
        let proof: BatchProof<Config> = from_bytes(bytes)?;
        let config = config();
        let (airs, log_rows) = batch();
        let common = prover_data(&config, &airs, &log_rows).common;
        verify_batch(&config, &airs, &proof, &vec![vec![]; airs.len()], &common)
            .map_err(|error| format!("proof: {error:?}"))
    })
    .settled_as(|bytes| {
        let proof: BatchProof<Config> = from_bytes(bytes).expect("the worker's own proof");
        to_bytes(&(&proof.commitments, &proof.opened_values))
    })
}

/// Evaluates the constraints of a trace on the quotient's domain, the phase of a proof between its two commitments. The output is the
/// quotient.
pub fn quotient<A, SC>(seed: u64, rows: usize, air: fn() -> A, config: fn() -> SC) -> Prepared
where
    A: Traced<SC>,
    SC: StarkGenericConfig + 'static,
    Val<SC>: PrimeField64,
    StandardUniform: Distribution<SC::Challenge>,
{
    let (air, config) = (air(), config());
    let domain = config.pcs().natural_domain_for_degree(rows);
    // Constraints of degree 3, divided by the polynomial that vanishes on the trace's domain.
    let quotient_domain = domain.create_disjoint_domain(2 * rows);
    let trace = air.trace(air.inputs(seed, rows));
    let (_, data) = (config.pcs().commit([(domain, trace)])).expect("the trace has a commitment");
    let alpha = SmallRng::seed_from_u64(seed).random();
    Prepared::new(move || {
        let trace = (config.pcs()).get_evaluations_on_domain(&data, 0, quotient_domain);
        let (timing, quotient) = time(|| {
            quotient_values::<SC, _, _>(
                config.pcs(),
                &air,
                &[],
                AirLayout::from_air::<Val<SC>>(&air),
                domain,
                quotient_domain,
                &trace,
                None,
                alpha,
            )
        });
        (timing, coefficients::<Val<SC>, _>(&quotient))
    })
}

/// An AIR of a batch, whose tables are of one type.
#[derive(Clone)]
pub enum Table {
    Keccak,
    Bits(Bits),
}

impl Table {
    fn trace(&self, seed: u64, rows: usize) -> RowMajorMatrix<Goldilocks> {
        match self {
            Self::Keccak => keccak_trace(keccak_inputs(seed, rows)),
            Self::Bits(bits) => Traced::<Config>::trace(bits, (seed, rows)),
        }
    }
}

impl<F> BaseAir<F> for Table {
    fn width(&self) -> usize {
        match self {
            Self::Keccak => NUM_KECCAK_COLS,
            Self::Bits(bits) => bits.width,
        }
    }
}

impl<AB: AirBuilder> Air<AB> for Table {
    fn eval(&self, builder: &mut AB) {
        match self {
            Self::Keccak => KeccakAir {}.eval(builder),
            Self::Bits(bits) => bits.eval(builder),
        }
    }
}

/// Goldilocks with Poseidon2.
pub fn config() -> Config {
    let challenger = Challenger::new(default_goldilocks_poseidon2_8());
    Config::new(pcs(val_mmcs()), challenger)
}

fn prover_data(config: &Config, airs: &[Table], log_rows: &[usize]) -> ProverData<Config> {
    ProverData::from_airs_and_degrees(config, airs, log_rows)
        .expect("the AIRs have nothing to commit to in advance")
}

fn keccak_inputs(seed: u64, rows: usize) -> Vec<[u64; 25]> {
    let mut rng = SmallRng::seed_from_u64(seed);
    (0..rows / NUM_ROUNDS).map(|_| rng.random()).collect()
}

fn keccak_trace<F: PrimeField64>(inputs: Vec<[u64; 25]>) -> RowMajorMatrix<F> {
    generate_trace_rows(inputs, LOG_BLOWUP)
}
