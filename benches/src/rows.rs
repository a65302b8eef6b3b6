//! The table of rows. A row is one line here; what it does is in the module of its workload.

use p3_field::{Field, PackedValue, PrimeField64};
use p3_goldilocks::poseidon1::{
    GOLDILOCKS_POSEIDON_HALF_FULL_ROUNDS, Poseidon1GoldilocksGeneric,
    default_goldilocks_poseidon1_8 as p1w8, default_goldilocks_poseidon1_12 as p1w12,
};
use p3_goldilocks::{
    Goldilocks, MdsMatrixGoldilocks, default_goldilocks_poseidon2_8 as p2w8,
    default_goldilocks_poseidon2_12 as p2w12, default_goldilocks_poseidon2_16 as p2w16,
};
use rand::SeedableRng;
use rand::rngs::SmallRng;

use crate::protocol::RowInfo;
use crate::timing::Timing;
use crate::{fri, merkle, permute, stark};

/// The vector type that provers on this target hash with.
pub type Packed = <Goldilocks as Field>::Packing;

/// A named unit of work.
pub struct Row {
    pub name: &'static str,
    pub threads: usize,
    quick: bool,
    pub prepare: fn(u64) -> Prepared,
}

type Verify = dyn Fn(&[u8]) -> Result<(), String>;

/// A row with its inputs made.
pub struct Prepared {
    /// Runs once; returns the outputs, encoded so that equal field elements are equal bytes.
    pub run: Box<dyn FnMut() -> (Timing, Vec<u8>)>,
    /// Checks outputs of another worker, where they are a proof.
    pub verify: Option<Box<Verify>>,
}

impl Prepared {
    pub fn new(run: impl FnMut() -> (Timing, Vec<u8>) + 'static) -> Self {
        Self {
            run: Box::new(run),
            verify: None,
        }
    }

    pub fn verified_by(mut self, verify: impl Fn(&[u8]) -> Result<(), String> + 'static) -> Self {
        self.verify = Some(Box::new(verify));
        self
    }
}

impl From<&Row> for RowInfo {
    fn from(row: &Row) -> Self {
        Self {
            name: row.name.into(),
            threads: row.threads,
            quick: row.quick,
        }
    }
}

const fn row(name: &'static str, prepare: fn(u64) -> Prepared) -> Row {
    Row {
        name,
        threads: 1,
        quick: false,
        prepare,
    }
}

impl Row {
    const fn quick(mut self) -> Self {
        self.quick = true;
        self
    }

    const fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }
}

/// Upstream has no default constants for this width.
fn p1w16() -> Poseidon1GoldilocksGeneric<16> {
    const PARTIAL_ROUNDS: usize = 22;
    let mut rng = SmallRng::seed_from_u64(16);
    Poseidon1GoldilocksGeneric::new_from_rng(
        GOLDILOCKS_POSEIDON_HALF_FULL_ROUNDS,
        PARTIAL_ROUNDS,
        &MdsMatrixGoldilocks,
        &mut rng,
    )
}

/// Every row. Those under `equal/` are small and odd: they compare outputs and are measured only on request.
#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    row("permute-chain/poseidon2-w8", |seed| permute::chain::<Packed, _, 8>(seed, p2w8())).quick(),
    row("permute-chain/poseidon2-w12", |seed| permute::chain::<Packed, _, 12>(seed, p2w12())),
    row("permute-chain/poseidon2-w16", |seed| permute::chain::<Packed, _, 16>(seed, p2w16())),
    row("permute-chain/poseidon2-w8/scalar", |seed| permute::chain::<Goldilocks, _, 8>(seed, p2w8())),
    row("permute-chain/poseidon2-w12/scalar", |seed| permute::chain::<Goldilocks, _, 12>(seed, p2w12())),
    row("permute-chain/poseidon2-w16/scalar", |seed| permute::chain::<Goldilocks, _, 16>(seed, p2w16())),
    row("permute-chain/poseidon1-w8", |seed| permute::chain::<Packed, _, 8>(seed, p1w8())),
    row("permute-chain/poseidon1-w12", |seed| permute::chain::<Packed, _, 12>(seed, p1w12())),
    row("permute-chain/poseidon1-w16", |seed| permute::chain::<Packed, _, 16>(seed, p1w16())),

    row("permute-many/poseidon2-w8", |seed| permute::many::<Packed, _, 8, 2>(seed, p2w8())).quick(),
    row("permute-many/poseidon2-w12", |seed| permute::many::<Packed, _, 12, 3>(seed, p2w12())).quick(),
    row("permute-many/poseidon2-w16", |seed| permute::many::<Packed, _, 16, 4>(seed, p2w16())),
    row("permute-many/poseidon2-w8/scalar", |seed| permute::many::<Goldilocks, _, 8, 2>(seed, p2w8())),
    row("permute-many/poseidon2-w12/scalar", |seed| permute::many::<Goldilocks, _, 12, 3>(seed, p2w12())),
    row("permute-many/poseidon2-w16/scalar", |seed| permute::many::<Goldilocks, _, 16, 4>(seed, p2w16())),
    row("permute-many/poseidon1-w8", |seed| permute::many::<Packed, _, 8, 2>(seed, p1w8())),
    row("permute-many/poseidon1-w12", |seed| permute::many::<Packed, _, 12, 3>(seed, p1w12())),

    row("merkle-commit/poseidon2-w8/2^14x8", |seed| merkle::commit::<_, 8, 4>(seed, p2w8(), 1 << 14, 8)).quick(),
    row("merkle-commit/poseidon2-w8/2^16x8", |seed| merkle::commit::<_, 8, 4>(seed, p2w8(), 1 << 16, 8)),
    row("merkle-commit/poseidon2-w8/2^18x8", |seed| merkle::commit::<_, 8, 4>(seed, p2w8(), 1 << 18, 8)),
    row("merkle-commit/poseidon2-w8/2^16x64", |seed| merkle::commit::<_, 8, 4>(seed, p2w8(), 1 << 16, 64)).quick(),
    row("merkle-commit/poseidon2-w8/2^14x1024", |seed| merkle::commit::<_, 8, 4>(seed, p2w8(), 1 << 14, 1024)),
    row("merkle-commit/poseidon2-w12/2^16x64", |seed| merkle::commit::<_, 12, 8>(seed, p2w12(), 1 << 16, 64)),
    row("merkle-commit/poseidon1-w8/2^16x64", |seed| merkle::commit::<_, 8, 4>(seed, p1w8(), 1 << 16, 64)),
    row("merkle-commit-2t/poseidon2-w8/2^16x64", |seed| merkle::commit::<_, 8, 4>(seed, p2w8(), 1 << 16, 64)).threads(2),

    row("fri-commit/poseidon2-w8/2^18", |seed| fri::commit_phase(seed, 18)),

    row("stark-prove/keccak-air", |seed| stark::keccak(seed, 1 << 12)),
    row("stark-prove/keccak-air/2^10", |seed| stark::keccak(seed, 1 << 10)).quick(),

    row("equal/permute-chain/poseidon2-w8", |seed| permute::chain::<Packed, _, 8>(seed, p2w8())),
    row("equal/permute-chain/poseidon2-w12", |seed| permute::chain::<Packed, _, 12>(seed, p2w12())),
    row("equal/permute-chain/poseidon2-w16", |seed| permute::chain::<Packed, _, 16>(seed, p2w16())),
    row("equal/permute-chain/poseidon1-w8", |seed| permute::chain::<Packed, _, 8>(seed, p1w8())),
    row("equal/permute-chain/poseidon1-w12", |seed| permute::chain::<Packed, _, 12>(seed, p1w12())),
    row("equal/permute-chain/poseidon1-w16", |seed| permute::chain::<Packed, _, 16>(seed, p1w16())),
    row("equal/batches/poseidon2-w8", |seed| permute::batches::<Packed, _, 8, 2>(seed, p2w8())),
    row("equal/batches/poseidon2-w12", |seed| permute::batches::<Packed, _, 12, 3>(seed, p2w12())),
    row("equal/batches/poseidon2-w16", |seed| permute::batches::<Packed, _, 16, 4>(seed, p2w16())),
    row("equal/batches/poseidon2-w8/scalar", |seed| permute::batches::<Goldilocks, _, 8, 2>(seed, p2w8())),
    row("equal/batches/poseidon2-w12/scalar", |seed| permute::batches::<Goldilocks, _, 12, 3>(seed, p2w12())),
    row("equal/batches/poseidon2-w16/scalar", |seed| permute::batches::<Goldilocks, _, 16, 4>(seed, p2w16())),
    row("equal/batches/poseidon1-w8", |seed| permute::batches::<Packed, _, 8, 2>(seed, p1w8())),
    row("equal/merkle/poseidon2-w8", |seed| merkle::odd_shapes::<_, 8, 4, 2>(seed, p2w8())),
    row("equal/merkle/poseidon2-w12", |seed| merkle::odd_shapes::<_, 12, 8, 2>(seed, p2w12())),
    row("equal/merkle/poseidon2-w16", |seed| merkle::odd_shapes::<_, 16, 12, 2>(seed, p2w16())),
    row("equal/merkle/poseidon2-w16-arity4", |seed| merkle::odd_shapes::<_, 16, 12, 4>(seed, p2w16())),
    row("equal/merkle/poseidon1-w8", |seed| merkle::odd_shapes::<_, 8, 4, 2>(seed, p1w8())),
    row("equal/merkle-2t/poseidon2-w8", |seed| merkle::odd_shapes::<_, 8, 4, 2>(seed, p2w8())).threads(2),
    row("equal/fri-commit/poseidon2-w8", |seed| fri::commit_phase(seed, 9)),
    row("equal/stark-prove/keccak-air", |seed| stark::keccak(seed, 1 << 5)),
];

/// Canonical little-endian words: two representations of one field element are one output.
pub fn encode<P: PackedValue<Value = Goldilocks>>(values: &[P]) -> Vec<u8> {
    let elements = values.iter().flat_map(|packed| packed.as_slice());
    elements
        .flat_map(|element| element.as_canonical_u64().to_le_bytes())
        .collect()
}
