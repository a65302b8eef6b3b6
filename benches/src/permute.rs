//! Bare permutations: dependent (`chain`), independent (`many`), and batches of every small size (`batches`).

use p3_field::{PackedValue, PrimeCharacteristicRing, PrimeField64};
use p3_goldilocks::Goldilocks;
#[cfg(feature = "since-0-5")]
use p3_goldilocks::{
    MdsMatrixGoldilocks,
    poseidon1::{GOLDILOCKS_POSEIDON_HALF_FULL_ROUNDS, Poseidon1GoldilocksGeneric},
};
#[cfg(feature = "since-0-8")]
use p3_symmetric::{CryptographicHasher, PaddingFreeSponge};
use p3_symmetric::{
    CryptographicPermutation, Permutation, PseudoCompressionFunction, TruncatedPermutation,
};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::row::{Prepared, encode};
use crate::timing::time;

/// Permutations per run: a few milliseconds, so that reading the clock does not show.
const PERMUTATIONS: usize = 1 << 12;

/// States in flight for `many`: together with their outputs they stay in a core's second-level cache.
const BATCH: usize = 1 << 9;

/// Releases differ in the version of `rand` that their fields know.
pub fn random<P: PackedValue<Value: PrimeField64>>(rng: &mut SmallRng) -> P {
    P::from_fn(|_| P::Value::from_u64(rng.random()))
}

/// The ends and the middle of the range, as elements and as Montgomery words.
pub fn montgomery_edges<F: PrimeField64>() -> Vec<F> {
    let order = F::ORDER_U64;
    let elements = [0, 1, order / 2, order / 2 + 1, order - 2, order - 1].map(F::from_u64);
    let words = elements.map(|element| element.div_2exp_u64(32));
    [elements, words].concat()
}

/// Upstream has no default constants for this width.
#[cfg(feature = "since-0-5")]
pub fn p1w16() -> Poseidon1GoldilocksGeneric<16> {
    const PARTIAL_ROUNDS: usize = 22;
    let mut rng = SmallRng::seed_from_u64(16);
    Poseidon1GoldilocksGeneric::new_from_rng(
        GOLDILOCKS_POSEIDON_HALF_FULL_ROUNDS,
        PARTIAL_ROUNDS,
        &MdsMatrixGoldilocks,
        &mut rng,
    )
}

/// Each permutation works on the result of the one before.
pub fn chain<P, Perm, const WIDTH: usize>(seed: u64, permutation: Perm) -> Prepared
where
    P: PackedValue<Value = Goldilocks>,
    Perm: CryptographicPermutation<[P; WIDTH]> + 'static,
{
    repeat(seed, move |state| permutation.permute_mut(state))
}

/// Runs `step` on the result of the step before, as often as a permutation runs.
pub fn repeat<P, const WIDTH: usize>(
    seed: u64,
    step: impl Fn(&mut [P; WIDTH]) + 'static,
) -> Prepared
where
    P: PackedValue<Value = Goldilocks>,
{
    let mut rng = SmallRng::seed_from_u64(seed);
    let start: [P; WIDTH] = std::array::from_fn(|_| random(&mut rng));
    Prepared::new(move || {
        let mut state = start;
        let (timing, ()) = time(|| (0..PERMUTATIONS).for_each(|_| step(&mut state)));
        (timing, encode(&state))
    })
}

/// Independent states through the one batch interface that 0.8.0 has for permutations, the tree compression. Releases
/// before it have none, and no patch that could gain by one.
pub fn many<P, Perm, const WIDTH: usize, const N: usize>(seed: u64, permutation: Perm) -> Prepared
where
    P: PackedValue<Value = Goldilocks> + Default,
    Perm: CryptographicPermutation<[P; WIDTH]> + 'static,
{
    let compression = TruncatedPermutation::<Perm, N, 4, WIDTH>::new(permutation);
    let groups: Vec<[[P; 4]; N]> = groups(&mut SmallRng::seed_from_u64(seed), BATCH);
    let mut digests = vec![[P::default(); 4]; BATCH];
    Prepared::new(move || {
        let (timing, ()) = time(|| {
            for _ in 0..PERMUTATIONS / BATCH {
                #[cfg(feature = "since-0-8")]
                compression.compress_many(&groups, &mut digests);
                #[cfg(not(feature = "since-0-8"))]
                for (group, digest) in groups.iter().zip(&mut digests) {
                    *digest = compression.compress(*group);
                }
            }
        });
        (timing, encode(digests.as_flattened()))
    })
}

/// Independent states, each in place: for what is no hash, a matrix, and for permutations that no patch interleaves.
pub fn each<P, Perm, const WIDTH: usize>(seed: u64, permutation: Perm) -> Prepared
where
    P: PackedValue<Value: PrimeField64>,
    Perm: Permutation<[P; WIDTH]> + 'static,
{
    let mut rng = SmallRng::seed_from_u64(seed);
    let start: Vec<[P; WIDTH]> = (0..BATCH)
        .map(|_| std::array::from_fn(|_| random(&mut rng)))
        .collect();
    Prepared::new(move || {
        let mut states = start.clone();
        let (timing, ()) = time(|| {
            for _ in 0..PERMUTATIONS / BATCH {
                states
                    .iter_mut()
                    .for_each(|state| permutation.permute_mut(state));
            }
        });
        (timing, encode(states.as_flattened()))
    })
}

/// Compressions and sponges in batches of 0 to 33, so that every remainder of an interleaved kernel's batch occurs;
/// messages of 0 to 17 elements, so that empty, partial and full last blocks do.
#[cfg(feature = "since-0-8")]
pub fn batches<P, Perm, const WIDTH: usize, const N: usize>(
    seed: u64,
    permutation: Perm,
) -> Prepared
where
    P: PackedValue<Value = Goldilocks> + Default,
    Perm: CryptographicPermutation<[P; WIDTH]> + 'static,
{
    const LARGEST: usize = 33;
    const LONGEST: usize = 17;
    let compression = TruncatedPermutation::<Perm, N, 4, WIDTH>::new(permutation.clone());
    let sponge = PaddingFreeSponge::<Perm, WIDTH, 4, 4>::new(permutation);
    let mut rng = SmallRng::seed_from_u64(seed);
    let groups: Vec<[[P; 4]; N]> = groups(&mut rng, LARGEST);
    let items: Vec<P> = (0..LARGEST * LONGEST).map(|_| random(&mut rng)).collect();
    Prepared::new(move || {
        let (timing, digests) = time(|| {
            let mut digests = Vec::new();
            for count in 0..=LARGEST {
                let mut out = vec![[P::default(); 4]; count];
                compression.compress_many(&groups[..count], &mut out);
                digests.extend_from_slice(&out);
                for length in 0..=LONGEST {
                    sponge.hash_many(&items[..count * length], &mut out);
                    digests.extend_from_slice(&out);
                }
            }
            digests
        });
        (timing, encode(digests.as_flattened()))
    })
}

pub fn groups<P, const N: usize>(rng: &mut SmallRng, count: usize) -> Vec<[[P; 4]; N]>
where
    P: PackedValue<Value = Goldilocks>,
{
    (0..count)
        .map(|_| std::array::from_fn(|_| std::array::from_fn(|_| random(rng))))
        .collect()
}
