//! The packed field of this build.

use std::vec::Vec;

use p3_field::{Field, PackedValue};
use p3_goldilocks::{
    Goldilocks, default_goldilocks_poseidon2_8, default_goldilocks_poseidon2_12,
    default_goldilocks_poseidon2_16,
};
use p3_patches_testing::goldilocks::{self as plain, EDGES, P, representative};
use p3_patches_testing::mutation::sample;
use p3_symmetric::Permutation;
use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::differential::{
    self, Kernel, Published, published_8, published_12, published_16, uniform,
};
use super::halves::{halves, value};
use crate::Poseidon2GoldilocksFused;
use crate::poseidon2_halves::{Halves, mul_unreduced};
use crate::poseidon2_rounds::{Representation, Rounds};
use crate::vector::{Packed, Vector, mul, square};

type Packing = <Goldilocks as Field>::Packing;
type V = <Packing as Packed>::Words;

/// The rounds, in groups.
struct Interleaved;

impl Kernel<Packing> for Interleaved {
    fn permute<const WIDTH: usize, const B: usize>(
        constants: &Published<WIDTH>,
        states: &mut [[Packing; WIDTH]; B],
    ) {
        let rounds = Rounds::<Halves<V>, WIDTH>::new(&constants.external, &constants.internal);
        let mut unreduced = states.map(|state| state.map(|x| Halves::widen(x.to_words())));
        rounds.permute(&mut unreduced);
        *states = unreduced.map(|state| state.map(|x| Packing::from_words(Halves::<V>::reduce(x))));
    }
}

#[test]
fn rounds_match_the_published_permutation() {
    differential::check::<Interleaved, Packing>();
}

#[test]
pub fn few_rounds_match_the_paper() {
    differential::check_few::<Interleaved, Packing>();
}

/// All edges, in packed and scalar states.
fn check_permutation<Ours, Theirs, const WIDTH: usize>(ours: &Ours, theirs: &Theirs)
where
    Ours: Permutation<[Packing; WIDTH]> + Permutation<[Goldilocks; WIDTH]>,
    Theirs: Permutation<[Packing; WIDTH]> + Permutation<[Goldilocks; WIDTH]>,
{
    for state in plain::states(Packing::WIDTH, |lanes| {
        Packing::from_fn(|l| Goldilocks::new(lanes[l]))
    }) {
        let state: [Packing; WIDTH] = state;
        assert_eq!(ours.permute(state), theirs.permute(state));
        let scalar = state.map(|x| x.as_slice()[0]);
        assert_eq!(ours.permute(scalar), theirs.permute(scalar));
    }
}

#[test]
fn permutations_match_the_published_ones() {
    let Published { external, internal } = published_8();
    let ours = Poseidon2GoldilocksFused::new(external, internal);
    check_permutation::<_, _, 8>(&ours, &default_goldilocks_poseidon2_8());
    let Published { external, internal } = published_12();
    let ours = Poseidon2GoldilocksFused::new(external, internal);
    check_permutation::<_, _, 12>(&ours, &default_goldilocks_poseidon2_12());
    let Published { external, internal } = published_16();
    let ours = Poseidon2GoldilocksFused::new(external, internal);
    check_permutation::<_, _, 16>(&ours, &default_goldilocks_poseidon2_16());
}

/// Width 20 takes the layers, and random constants are drawn in the same order.
#[test]
fn random_permutations_match_the_published_ones() {
    let rng = || SmallRng::seed_from_u64(20);
    check_permutation::<_, _, 20>(
        &Poseidon2GoldilocksFused::<20>::new_from_rng(8, 22, &mut rng()),
        &p3_goldilocks::Poseidon2Goldilocks::<20>::new_from_rng(8, 22, &mut rng()),
    );
    check_permutation::<_, _, 12>(
        &Poseidon2GoldilocksFused::<12>::new_from_rng_128(&mut rng()),
        &p3_goldilocks::Poseidon2Goldilocks::<12>::new_from_rng_128(&mut rng()),
    );
}

fn splat(x: [i64; 2]) -> [V; 2] {
    x.map(|word| V::splat(word as u64))
}

fn element(vector: V) -> u64 {
    uniform(Packing::from_words(vector))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn reduce(x in halves()) {
        prop_assert_eq!(element(Halves::reduce(splat(x))), value(x));
    }

    #[test]
    fn widen_then_reduce(x in representative()) {
        prop_assert_eq!(element(Halves::reduce(Halves::widen(V::splat(x)))), x % P);
    }

    #[test]
    fn div_2exp(
        x in halves(),
        bits in prop::sample::select(std::vec![1, 2, 3, 4, 5, 6, 8, 10, 32]),
    ) {
        check_quotient(x, bits);
    }
}

/// Lifted, but for 32 bits.
#[track_caller]
fn check_quotient(x: [i64; 2], bits: u32) {
    let x = if bits == 32 {
        x
    } else {
        x.map(|word| word & i64::MAX)
    };
    let quotient = element(Halves::reduce(Halves::<V>::div_2exp(splat(x), bits)));
    assert_eq!(
        plain::mul(quotient, 1 << bits),
        value(x),
        "{x:x?} / 2^{bits}"
    );
}

/// Few of them, for instructions that go wrong in an emulator.
#[test]
pub fn few_quotients_are_exact() {
    for x in sample(halves(), 32) {
        for bits in [1, 6, 10, 32] {
            check_quotient(x, bits);
        }
    }
}

fn lanes(vector: V) -> Vec<u64> {
    let mut raw = std::vec![0; Packing::WIDTH];
    for (raw, lane) in raw.iter_mut().zip(Packing::from_words(vector).as_slice()) {
        // SAFETY: `Goldilocks` is `repr(transparent)` over a `u64`.
        *raw = unsafe { core::mem::transmute::<Goldilocks, u64>(*lane) };
    }
    raw
}

fn vector(lanes: impl Fn(usize) -> u64) -> V {
    Packing::from_fn(|lane| Goldilocks::new(lanes(lane))).to_words()
}

/// Operands for whose products a digit of the result is 0 or `2^32 - 1`, a reduction carries, or nearly does.
fn operands() -> Vec<u64> {
    let mut operands = std::vec![0, 1, 2, 3, 5, 7, u64::MAX, u64::MAX - 1, u64::MAX - 2];
    for k in 0..64 {
        for offset in -2i64..=2 {
            for x in [
                1u64 << k,
                3 << k,
                0xffff_ffff << k,
                (1u64 << k).wrapping_neg(),
            ] {
                operands.push(x.wrapping_add_signed(offset));
            }
        }
    }
    for offset in -2i64..=2 {
        operands.push(P.wrapping_add_signed(offset));
    }
    // The divisors of 2^96 - 2^64 + 2^33 - 1, the one product whose biased low word is 2^64 - 1 and whose high word adds
    // the most to it: without the bias of 2, two corrections would not do.
    for subset in 1..31 {
        let primes = [11u128, 128_551, 9_014_141, 31_226_411, 199_051_301];
        let product: u128 = (0..5)
            .filter(|i| subset >> i & 1 == 1)
            .map(|i| primes[i])
            .product();
        operands.extend(u64::try_from(product));
    }
    let mut rng = SmallRng::seed_from_u64(64);
    for _ in 0..100 {
        let x: u64 = rng.random();
        operands.extend([x, x >> 32 << 32, x & 0xffff_ffff]);
    }
    operands
}

#[track_caller]
fn check_products(operands: &[u64]) {
    // There are as many second operands as lanes, each lane with one of its own.
    for &x in operands {
        let first = vector(|_| x);
        for chunk in operands.chunks(Packing::WIDTH) {
            let y = |lane: usize| chunk[lane % chunk.len()];
            let second = vector(y);
            let exact = |lane| plain::mul(x, y(lane));

            for (lane, product) in lanes(mul(first, second)).into_iter().enumerate() {
                assert_eq!(product % P, exact(lane), "{x:x} * {:x}", y(lane));
            }
            let [low, high] = mul_unreduced(first, second).map(lanes);
            for lane in 0..Packing::WIDTH {
                let halves = [low[lane] as i64, high[lane] as i64];
                assert!(
                    (-(2 << 32) + 1..1 << 32).contains(&halves[0]),
                    "{halves:x?}"
                );
                assert!((0..2 << 32).contains(&halves[1]), "{halves:x?}");
                assert_eq!(value(halves), exact(lane), "{x:x} * {:x}", y(lane));
            }
        }
        for square in lanes(square(first)) {
            assert_eq!(square % P, plain::mul(x, x), "{x:x}^2");
        }
    }
}

#[test]
fn products_are_exact() {
    check_products(&operands());
}

/// Few of them, for instructions that go wrong in an emulator.
#[test]
pub fn products_of_edges_are_exact() {
    let factors = [11 * 128_551 * 199_051_301, 9_014_141 * 31_226_411];
    check_products(&[&EDGES[..], &factors].concat());
}

/// Nothing added, a sum next to the carry, and what is corrected.
#[test]
pub fn sums_are_exact() {
    const LIMIT: u128 = (1 << 65) - (1 << 32) + 1;
    for (x, y) in EDGES.into_iter().flat_map(|x| EDGES.map(|y| (x, y))) {
        let sum = u128::from(x) + u128::from(y);
        if sum < LIMIT {
            let corrected = V::add_modulo(V::splat(x), V::splat(y.wrapping_add(V::FLIP)));
            let expected = (sum % u128::from(P)) as u64;
            assert_eq!(element(corrected), expected, "{x:x} + {y:x}");
        }
    }
}

#[test]
fn lanes_are_as_they_were_put() {
    let expected: Vec<u64> = (0..Packing::WIDTH as u64).map(|lane| !lane).collect();
    assert_eq!(lanes(vector(|lane| !(lane as u64))), expected);
}
