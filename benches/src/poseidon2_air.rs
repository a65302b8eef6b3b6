//! The AIR of Poseidon2, eight permutations to a row, as upstream's `prove_poseidon2_koala_bear_keccak` has it.

use p3_baby_bear::{BabyBear, GenericPoseidon2LinearLayersBabyBear};
use p3_field::PrimeField;
use p3_goldilocks::{GenericPoseidon2LinearLayersGoldilocks, Goldilocks};
use p3_koala_bear::{GenericPoseidon2LinearLayersKoalaBear, KoalaBear};
use p3_matrix::dense::RowMajorMatrix;
use p3_poseidon2::GenericPoseidon2LinearLayers;
use p3_poseidon2_air::{RoundConstants, VectorizedPoseidon2Air, generate_vectorized_trace_rows};
use p3_uni_stark::{StarkGenericConfig, Val};
use rand::distr::{Distribution, StandardUniform};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::fri::LOG_BLOWUP;
use crate::stark::Traced;

/// Permutations in each row.
const PERMUTATIONS: usize = 8;

/// Half of the rounds over the whole state.
const HALF_FULL_ROUNDS: usize = 4;

/// 1312 columns: S-boxes of degree 3 need no registers.
pub type KoalaBear16 = VectorizedPoseidon2Air<
    KoalaBear,
    GenericPoseidon2LinearLayersKoalaBear,
    16,
    3,
    0,
    HALF_FULL_ROUNDS,
    20,
    PERMUTATIONS,
>;

/// 2384 columns: each S-box of degree 7 has a register.
pub type BabyBear16 = VectorizedPoseidon2Air<
    BabyBear,
    GenericPoseidon2LinearLayersBabyBear,
    16,
    7,
    1,
    HALF_FULL_ROUNDS,
    13,
    PERMUTATIONS,
>;

/// 1440 columns: each S-box of degree 7 has a register.
pub type Goldilocks8 = VectorizedPoseidon2Air<
    Goldilocks,
    GenericPoseidon2LinearLayersGoldilocks,
    8,
    7,
    1,
    HALF_FULL_ROUNDS,
    22,
    PERMUTATIONS,
>;

pub fn koala_bear_16() -> KoalaBear16 {
    KoalaBear16::new(constants())
}

pub fn baby_bear_16() -> BabyBear16 {
    BabyBear16::new(constants())
}

pub fn goldilocks_8() -> Goldilocks8 {
    Goldilocks8::new(constants())
}

impl<
    SC,
    LinearLayers,
    const WIDTH: usize,
    const DEGREE: u64,
    const REGISTERS: usize,
    const PARTIAL_ROUNDS: usize,
> Traced<SC>
    for VectorizedPoseidon2Air<
        Val<SC>,
        LinearLayers,
        WIDTH,
        DEGREE,
        REGISTERS,
        HALF_FULL_ROUNDS,
        PARTIAL_ROUNDS,
        PERMUTATIONS,
    >
where
    SC: StarkGenericConfig + 'static,
    Val<SC>: PrimeField,
    StandardUniform: Distribution<Val<SC>> + Distribution<[Val<SC>; WIDTH]>,
    LinearLayers: GenericPoseidon2LinearLayers<WIDTH> + 'static,
{
    type Inputs = Vec<[Val<SC>; WIDTH]>;

    fn inputs(&self, seed: u64, rows: usize) -> Self::Inputs {
        let mut rng = SmallRng::seed_from_u64(seed);
        (0..rows * PERMUTATIONS).map(|_| rng.random()).collect()
    }

    fn trace(&self, inputs: Self::Inputs) -> RowMajorMatrix<Val<SC>> {
        generate_vectorized_trace_rows::<
            _,
            LinearLayers,
            WIDTH,
            DEGREE,
            REGISTERS,
            HALF_FULL_ROUNDS,
            PARTIAL_ROUNDS,
            PERMUTATIONS,
        >(inputs, &constants(), LOG_BLOWUP)
    }
}

/// The constants are part of the AIR, not of an input.
fn constants<F: PrimeField, const WIDTH: usize, const PARTIAL_ROUNDS: usize>()
-> RoundConstants<F, WIDTH, HALF_FULL_ROUNDS, PARTIAL_ROUNDS>
where
    StandardUniform: Distribution<F> + Distribution<[F; WIDTH]>,
{
    RoundConstants::from_rng(&mut SmallRng::seed_from_u64(1))
}
