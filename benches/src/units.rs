//! Units of work that `cargo p3 inspect count` counts the instructions of.
//!
//! A unit is repeated as often as asked; between two repetitions no clock is read and nothing is printed, so that the
//! instructions of one more repetition are those of the unit.

use std::hint::black_box;

use p3_baby_bear::BabyBear;
use p3_commit::Mmcs;
use p3_dft::{Radix2DitParallel, TwoAdicSubgroupDft as _};
use p3_field::{Field as _, PackedValue, PrimeCharacteristicRing as _};
use p3_goldilocks::poseidon1::{
    default_goldilocks_poseidon1_8 as p1w8, default_goldilocks_poseidon1_12 as p1w12,
};
use p3_goldilocks::{
    Goldilocks, default_goldilocks_poseidon2_8 as p2w8, default_goldilocks_poseidon2_12 as p2w12,
    default_goldilocks_poseidon2_16 as p2w16,
};
use p3_koala_bear::KoalaBear;
use p3_matrix::bitrev::BitReversibleMatrix as _;
use p3_matrix::dense::RowMajorMatrix;
use p3_symmetric::{
    CryptographicPermutation, PseudoCompressionFunction as _, TruncatedPermutation,
};
use rand::SeedableRng;
use rand::rngs::SmallRng;

use crate::extension::{PackedQuartic, PackedQuintic, Quartic, Quintic};
use crate::protocol::{Timed, UnitInfo};
use crate::row::{Packed, encode};
use crate::timing::time;
use crate::{dot, extension, fri, merkle, permute};

pub struct Unit {
    pub name: &'static str,
    leaves: usize,
    /// Runs so many times; returns the outputs, encoded as a row's are.
    pub repeat: fn(usize) -> Vec<u8>,
}

/// A batch of the kernels that interleave states, as many packed states as hold them or as many scalar ones.
const STATES: usize = 4;

/// A tree whose trace a model can take in: 2^5 leaves of two blocks each.
const LEAVES: usize = 1 << 5;
const COLUMNS: usize = 8;

#[rustfmt::skip]
pub const UNITS: &[Unit] = &[
    unit("permute/poseidon2-w8", |times| permutation::<Packed, _, 8>(times, p2w8())),
    unit("permute/poseidon2-w12", |times| permutation::<Packed, _, 12>(times, p2w12())),
    unit("permute/poseidon2-w16", |times| permutation::<Packed, _, 16>(times, p2w16())),
    unit("permute/poseidon2-w8/scalar", |times| permutation::<Goldilocks, _, 8>(times, p2w8())),
    unit("permute/poseidon1-w8", |times| permutation::<Packed, _, 8>(times, p1w8())),
    unit("permute/poseidon1-w12", |times| permutation::<Packed, _, 12>(times, p1w12())),
    unit("permute-many/poseidon2-w8/x4", |times| batch::<Packed, _, 8, 2>(times, p2w8())),
    unit("permute-many/poseidon2-w12/x4", |times| batch::<Packed, _, 12, 3>(times, p2w12())),
    unit("permute-many/poseidon2-w16/x4", |times| batch::<Packed, _, 16, 4>(times, p2w16())),
    unit("permute-many/poseidon1-w8/x4", |times| batch::<Packed, _, 8, 2>(times, p1w8())),
    unit("permute-many/poseidon1-w12/x4", |times| batch::<Packed, _, 12, 3>(times, p1w12())),
    unit("permute-many/poseidon2-w8/x4-scalar", |times| batch::<Goldilocks, _, 8, 2>(times, p2w8())),
    unit("permute-many/poseidon2-w12/x4-scalar", |times| batch::<Goldilocks, _, 12, 3>(times, p2w12())),
    unit("permute-many/poseidon2-w16/x4-scalar", |times| batch::<Goldilocks, _, 16, 4>(times, p2w16())),
    Unit { leaves: LEAVES, ..unit("merkle-commit/poseidon2-w8/2^5x8", commit) },
    unit("lde/goldilocks/2^8x8", extension),
    unit("dot-columns/goldilocks/2^4x64", dot::column_passes::<Goldilocks, fri::Challenge>),
    unit("dot-columns/koala-bear/2^4x64", dot::column_passes::<KoalaBear, Quartic<KoalaBear>>),
    unit("dot-rows/goldilocks/2^4x64", dot::row_passes::<Goldilocks, fri::Challenge>),
    unit("dot-rows/koala-bear/2^4x64", dot::row_passes::<KoalaBear, Quartic<KoalaBear>>),
    unit("quintic-mul-packed/x16", |times| extension::passes::<PackedQuintic>(times, |x, y| x * y)),
    unit("quintic-mul-assign-packed/x16", extension::scaling_passes),
    unit("quintic-square-packed/x16", |times| extension::passes::<PackedQuintic>(times, |x, _| x.square())),
    unit("quintic-mul-scalar/x16", |times| extension::passes::<Quintic>(times, |x, y| x * y)),
    unit("quintic-mul-scalar/x16-chain", extension::chains),
    unit("quintic-square-scalar/x16", |times| extension::passes::<Quintic>(times, |x, _| x.square())),
    unit("quartic-mul-packed/koala-bear/x16", |times| extension::passes::<PackedQuartic<KoalaBear>>(times, |x, y| x * y)),
    unit("quartic-mul-packed/baby-bear/x16", |times| extension::passes::<PackedQuartic<BabyBear>>(times, |x, y| x * y)),
    unit("quartic-square-packed/koala-bear/x16", |times| extension::passes::<PackedQuartic<KoalaBear>>(times, |x, _| x.square())),
    unit("quartic-square-packed/baby-bear/x16", |times| extension::passes::<PackedQuartic<BabyBear>>(times, |x, _| x.square())),
];

const fn unit(name: &'static str, repeat: fn(usize) -> Vec<u8>) -> Unit {
    Unit {
        name,
        leaves: 1,
        repeat,
    }
}

/// The unit of that name.
pub fn unit_named(name: &str) -> Result<&'static Unit, String> {
    let mut units = UNITS.iter();
    let unit = units.find(|known| known.name == name);
    unit.ok_or_else(|| format!("no unit named {name}"))
}

impl From<&Unit> for UnitInfo {
    fn from(unit: &Unit) -> Self {
        Self {
            name: unit.name.into(),
            leaves: unit.leaves,
        }
    }
}

fn permutation<P, Perm, const WIDTH: usize>(times: usize, permutation: Perm) -> Vec<u8>
where
    P: PackedValue<Value = Goldilocks>,
    Perm: CryptographicPermutation<[P; WIDTH]>,
{
    let mut rng = SmallRng::seed_from_u64(1);
    let start: [P; WIDTH] = std::array::from_fn(|_| permute::random(&mut rng));
    let mut state = start;
    for _ in 0..times {
        state = start;
        permutation.permute_mut(black_box(&mut state));
    }
    encode(&state)
}

/// [`STATES`] states through the one batch interface that 0.8.0 has for permutations, the tree compression.
fn batch<P, Perm, const WIDTH: usize, const N: usize>(times: usize, permutation: Perm) -> Vec<u8>
where
    P: PackedValue<Value = Goldilocks> + Default,
    Perm: CryptographicPermutation<[P; WIDTH]>,
{
    let compression = TruncatedPermutation::<Perm, N, 4, WIDTH>::new(permutation);
    let mut rng = SmallRng::seed_from_u64(1);
    let groups: Vec<[[P; 4]; N]> = permute::groups(&mut rng, STATES.div_ceil(P::WIDTH));
    let mut digests = vec![[P::default(); 4]; groups.len()];
    for _ in 0..times {
        compression.compress_many(black_box(&groups), &mut digests);
    }
    encode(digests.as_flattened())
}

/// A whole commitment, with the memory that it takes and gives back.
fn commit(times: usize) -> Vec<u8> {
    let mmcs = merkle::mmcs::<_, 8, 4, 2>(p2w8(), 0);
    let mut rng = SmallRng::seed_from_u64(1);
    let matrix = RowMajorMatrix::<Goldilocks>::rand(&mut rng, LEAVES, COLUMNS);
    let mut outputs = Vec::new();
    for _ in 0..times {
        let (commitment, _) = mmcs.commit_matrix(black_box(&matrix).clone());
        outputs = encode(commitment.roots().as_flattened());
    }
    outputs
}

/// A whole low-degree extension to twice the height. The trace has the spare capacity that a prover's has, and the
/// twiddles are those of the first repetition.
fn extension(times: usize) -> Vec<u8> {
    let dft = Radix2DitParallel::default();
    let mut rng = SmallRng::seed_from_u64(1);
    let matrix = RowMajorMatrix::<Goldilocks>::rand(&mut rng, 1 << 8, COLUMNS);
    let mut outputs = Vec::new();
    for _ in 0..times {
        let mut trace = Vec::with_capacity(2 * matrix.values.len());
        trace.extend_from_slice(black_box(&matrix.values));
        let trace = RowMajorMatrix::new(trace, COLUMNS);
        let extended = dft.coset_lde_batch(trace, 1, Goldilocks::GENERATOR);
        outputs = extended.bit_reverse_rows().values;
    }
    encode(&outputs)
}

/// [`Timed`] is the least of this many runs.
const ROUNDS: usize = 9;

/// Times `times` repetitions and twice as many, so that what is around them cancels, and the clock's cycle beside them.
pub fn timed(unit: &Unit, times: usize) -> Timed {
    let mut least = [f64::INFINITY; 3];
    for _ in 0..ROUNDS {
        let ns = [
            time(|| (unit.repeat)(times)).0.cpu_ns,
            time(|| (unit.repeat)(2 * times)).0.cpu_ns,
            time(|| chain(black_box(1))).0.cpu_ns,
        ];
        for (least, ns) in least.iter_mut().zip(ns) {
            *least = least.min(ns as f64);
        }
    }
    let [once, twice, cycles] = least;
    Timed {
        unit_ns: (twice - once) / times as f64,
        cycle_ns: cycles / CHAIN_CYCLES as f64,
    }
}

const CHAIN: u64 = 1 << 20;

/// An `xor` takes one cycle and a product of 64 bits three, on every x86-64 core that has AVX2.
const CHAIN_CYCLES: u64 = 4 * CHAIN;

/// Steps that each wait for the last one's result.
fn chain(start: u64) -> u64 {
    (0..CHAIN).fold(start, |x, step| {
        (x ^ step).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}
