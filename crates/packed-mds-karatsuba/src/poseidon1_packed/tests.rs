use alloc::vec::Vec;
use core::array;

use p3_field::PackedValue;
use p3_poseidon1::{PartialRoundLayerConstructor, Poseidon1, Poseidon1Constants};
use p3_symmetric::Permutation;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::circulant::{Circulant, LIMBS_24, circulant};
use super::halves::{fold, fold_constant, normalize, shift, unshift};
use super::sbox::mul_unreduced;
use super::*;
use crate::MdsMatrixGoldilocks;
use crate::poseidon1::{
    GOLDILOCKS_POSEIDON1_RC_8, GOLDILOCKS_POSEIDON1_RC_12, GOLDILOCKS_S_BOX_DEGREE,
};
use crate::vector::{EPSILON, Packed};

type V = <Packing as Packed>::Words;
type D = <V as AsDoubles>::Doubles;

/// Packed states take the kernel, scalar ones and those of width 24 the generic layers.
type Layered<const WIDTH: usize> = Poseidon1<
    Goldilocks,
    Poseidon1ExternalLayerGoldilocks<WIDTH>,
    Poseidon1InternalLayerGoldilocks<WIDTH>,
    WIDTH,
    GOLDILOCKS_S_BOX_DEGREE,
>;

const LANES: usize = Packing::WIDTH;

/// Representatives next to every carry: around 0, `2^32`, the order and `2^64`.
const EDGES: [u64; 14] = [
    0,
    1,
    2,
    0xffff_fffe,
    0xffff_ffff,
    1 << 32,
    (1 << 32) + 1,
    1 << 63,
    0xffff_fffe_ffff_ffff,
    0xffff_ffff_0000_0000,
    0xffff_ffff_0000_0001,
    0xffff_ffff_0000_0002,
    0xffff_ffff_ffff_fffe,
    0xffff_ffff_ffff_ffff,
];

/// The largest magnitude of a normalized half.
const NORMAL: i64 = (1 << 31) + (1 << 22);

/// The magnitudes of an S-box's halves are below this.
const S_BOX: i64 = 1 << 33;

/// The magnitudes of halves that become words are below this.
const WORD: i64 = 1 << 51;

fn vector(lanes: impl Fn(usize) -> u64) -> V {
    Packing::from_fn(|lane| Goldilocks::new(lanes(lane))).to_words()
}

fn words(vector: V) -> [u64; LANES] {
    // SAFETY: a vector is as many words as it has lanes, without padding.
    unsafe { core::mem::transmute(vector) }
}

fn doubles(lanes: impl Fn(usize) -> i64) -> D {
    vector(|lane| (lanes(lane) as f64).to_bits()).to_bits()
}

fn integers(doubles: D) -> [i64; LANES] {
    words(V::from_bits(doubles)).map(|bits| {
        let x = f64::from_bits(bits);
        assert_eq!(x, x as i64 as f64, "not an integer");
        x as i64
    })
}

fn residue(x: i128) -> u64 {
    x.rem_euclid(P.into()) as u64
}

fn value([l, h]: [i64; 2]) -> u64 {
    residue(i128::from(l) + (i128::from(h) << 32))
}

fn pairs(halves: &[i64]) -> Vec<[i64; 2]> {
    let pairs = |&l| halves.iter().map(move |&h| [l, h]);
    halves.iter().flat_map(pairs).collect()
}

/// An element for each lane, element `i` in the first.
fn vectors(elements: &[[i64; 2]], i: usize) -> Halves<V> {
    array::from_fn(|half| doubles(|lane| elements[(i + lane) % elements.len()][half]))
}

#[test]
fn unreduced_products_stay_within_their_bounds() {
    for i in 0..EDGES.len() {
        for j in 0..EDGES.len() {
            let edge = |i: usize| move |lane: usize| EDGES[(i + lane) % EDGES.len()];
            let (x, y) = (edge(i), edge(j));
            let product = mul_unreduced(vector(x), vector(y));
            let [l, h] = unshift::<V>(product).map(integers);
            for lane in 0..LANES {
                let expected = u128::from(x(lane)) * u128::from(y(lane)) % u128::from(P);
                assert_eq!(u128::from(value([l[lane], h[lane]])), expected);
                assert!(-S_BOX < l[lane] && l[lane] < 1 << 32);
                assert!((0..S_BOX).contains(&h[lane]));
            }
        }
    }
}

/// Halves at the ends of what becomes a word, and sums within 2 of the carry: where `h = 2^32 m`,
/// the sum with the bias is `2^64 + l + (2^32 - 1) (m - 1)`.
#[test]
fn fold_holds_at_its_bounds() {
    let ends = [1 - WORD, WORD - 1, 0, -1, 1 << 32, -(1 << 32), 1 << 50];
    let mut halves = pairs(&ends);
    for m in [1i64, 2, 1 << 10, 1 << 18] {
        halves.extend((-2..=2).map(|l| [l - (m - 1) * EPSILON as i64, m << 32]));
    }
    for constant in [0, 1, EPSILON, 1 << 32, P - 1] {
        for i in 0..halves.len() {
            let shifted = shift::<V>(vectors(&halves, i));
            let folded = words(fold(shifted, fold_constant::<V>(constant)));
            for (lane, folded) in folded.into_iter().enumerate() {
                let x = halves[(i + lane) % halves.len()];
                let sum = residue(i128::from(value(x)) + i128::from(constant));
                assert_eq!(folded % P, sum, "{x:x?} + {constant:x}");
            }
        }
    }
}

#[test]
fn normalized_halves_stay_within_their_bounds() {
    const LIMIT: i64 = (1 << 53) - 1;
    // Multiples of 2^32, halves between two of them, and the largest.
    let ends = [
        0,
        1 << 31,
        (1 << 31) + 1,
        -(1 << 31),
        -(1 << 31) - 1,
        3 << 31,
        LIMIT,
        -LIMIT,
        LIMIT - (1 << 31),
        (1 << 31) - LIMIT,
    ];
    let halves = pairs(&ends);
    for i in 0..halves.len() {
        let [l, h] = normalize::<V>(vectors(&halves, i)).map(integers);
        for lane in 0..LANES {
            let x = halves[(i + lane) % halves.len()];
            assert_eq!(value([l[lane], h[lane]]), value(x), "{x:x?}");
            assert!(l[lane].abs().max(h[lane].abs()) <= NORMAL, "{x:x?}");
        }
    }
}

/// Each power of a matrix that the rounds apply, on halves at the ends of their ranges with every
/// sign, against integers.
fn check_circulants<const N: usize>()
where
    MdsMatrixGoldilocks: Circulant<N>,
{
    let mut rng = SmallRng::seed_from_u64(N as u64);
    for power in 1..=MdsMatrixGoldilocks::ROUNDS {
        // Full rounds multiply results of S-boxes; segments have one, in element 0.
        let limit = |i| if i == 0 || power == 1 { S_BOX } else { NORMAL };
        for round in 0..64 {
            let signs: [u32; N] = array::from_fn(|_| rng.random());
            let lane_value = |i: usize, lane: usize| match round {
                0 => limit(i),
                1 => -limit(i),
                _ if signs[i] >> lane & 1 == 0 => limit(i),
                _ => -limit(i),
            };
            let x: [D; N] = array::from_fn(|i| doubles(|lane| lane_value(i, lane)));
            let found = circulant(x, &MdsMatrixGoldilocks::FOLDED[power]).map(integers);
            for lane in 0..LANES {
                let mut expected: [i64; N] = array::from_fn(|i| lane_value(i, lane));
                for _ in 0..power {
                    let row = MdsMatrixGoldilocks::ROW;
                    let x = expected;
                    expected =
                        array::from_fn(|i| (0..N).map(|j| row[(N + j - i) % N] * x[j]).sum());
                }
                assert_eq!(found.map(|x| x[lane]), expected, "power {power}");
            }
        }
    }
}

#[test]
fn circulants_are_exact_at_their_bounds() {
    check_circulants::<8>();
    check_circulants::<12>();
    check_circulants::<16>();
}

/// No half of a [`segment`] comes as far as `2^51` from the offset. With one more round it would.
fn check_segment<const N: usize>()
where
    MdsMatrixGoldilocks: Circulant<N>,
{
    let rounds = MdsMatrixGoldilocks::ROUNDS;
    let power = |k: usize, i: usize| MdsMatrixGoldilocks::POWERS[k][i] as i64;
    let largest = |k| (0..N).map(|i| power(k, i)).max().unwrap_or(0);
    let product = |k| {
        let rest: i64 = (1..N).map(|_| largest(k) * NORMAL).sum();
        largest(k) * S_BOX + rest
    };
    // Each difference of a round's S-box, from the elements and the differences before.
    let mut differences = [0; MAX_ROUNDS];
    for r in 1..rounds {
        let earlier: i64 = (1..r).map(|t| power(r - t, 0) * differences[t]).sum();
        assert!(product(r) + earlier < WORD);
        differences[r] = product(r) + earlier + S_BOX;
    }
    let sums: i64 = (1..rounds)
        .map(|t| largest(rounds - t) * differences[t])
        .sum();
    assert!(product(rounds) + sums < WORD);

    let row_sum: i64 = MdsMatrixGoldilocks::ROW.iter().sum();
    assert!(row_sum.pow(rounds as u32 + 1) > WORD / NORMAL);
}

#[test]
fn segments_are_as_long_as_their_bounds_allow() {
    check_segment::<8>();
    check_segment::<12>();
    check_segment::<16>();
}

/// Packed states, whose lanes hold the given ones, equal these permuted alone.
fn check_lanes<const WIDTH: usize>(
    packed: impl Fn([Packing; WIDTH]) -> [Packing; WIDTH],
    scalar: &impl Permutation<[Goldilocks; WIDTH]>,
    states: &[[u64; WIDTH]],
) {
    for first in 0..states.len() {
        let lane_state = |lane: usize| states[(first + lane) % states.len()].map(Goldilocks::new);
        let state = array::from_fn(|i| Packing::from_fn(|lane| lane_state(lane)[i]));
        let permuted = packed(state);
        for lane in 0..LANES {
            let found = permuted.map(|x| x.as_slice()[lane]);
            assert_eq!(
                found,
                scalar.permute(lane_state(lane)),
                "lane {lane} of {state:?}"
            );
        }
    }
}

/// Edges alone, edges anywhere, random elements.
fn states<const WIDTH: usize>() -> Vec<[u64; WIDTH]> {
    let mut rng = SmallRng::seed_from_u64(WIDTH as u64);
    let mut states: Vec<_> = EDGES.iter().map(|&edge| [edge; WIDTH]).collect();
    for _ in 0..32 {
        states.push(array::from_fn(|_| EDGES[rng.random_range(0..EDGES.len())]));
    }
    for _ in 0..16 {
        states.push(array::from_fn(|_| rng.random()));
    }
    states
}

#[test]
fn packed_matrices_match_scalar_ones() {
    let mds = &MdsMatrixGoldilocks;
    check_lanes(<MdsMatrixGoldilocks as PackedMds<8>>::apply, mds, &states());
    check_lanes(
        <MdsMatrixGoldilocks as PackedMds<12>>::apply,
        mds,
        &states(),
    );
    check_lanes(
        <MdsMatrixGoldilocks as PackedMds<16>>::apply,
        mds,
        &states(),
    );
    check_lanes(
        <MdsMatrixGoldilocks as PackedMds<24>>::apply,
        mds,
        &states(),
    );
}

/// Every input half at the end of its range that makes a limb's first output largest, or smallest.
#[test]
fn width_24_holds_at_its_bounds() {
    let unit: [D; 24] = array::from_fn(|i| doubles(|_| (i == 0).into()));
    let mut states = Vec::new();
    for limbs in &LIMBS_24 {
        let column = circulant(unit, limbs).map(|x| integers(x)[0]);
        assert!(column.iter().all(|limb| limb.abs() <= 1 << 15));
        let row: [i64; 24] = array::from_fn(|j| column[(24 - j) % 24]);
        states.push(row.map(|limb| if limb > 0 { u64::MAX } else { 0 }));
        states.push(row.map(|limb| if limb > 0 { 0 } else { u64::MAX }));
    }
    let apply = <MdsMatrixGoldilocks as PackedMds<24>>::apply;
    check_lanes(apply, &MdsMatrixGoldilocks, &states);
}

fn check_permutation<const WIDTH: usize>(partial_rounds: usize)
where
    MdsMatrixGoldilocks: Permutation<[Goldilocks; WIDTH]>,
    Layered<WIDTH>: Permutation<[Goldilocks; WIDTH]> + Permutation<[Packing; WIDTH]>,
{
    let mut rng = SmallRng::seed_from_u64(partial_rounds as u64);
    let permutation =
        Layered::<WIDTH>::new_from_rng(4, partial_rounds, &MdsMatrixGoldilocks, &mut rng);
    check_lanes(|state| permutation.permute(state), &permutation, &states());
}

/// For every remainder of a segment.
#[test]
fn packed_permutations_match_scalar_ones() {
    for partial_rounds in [1, 2, 21, 22, 23] {
        check_permutation::<8>(partial_rounds);
        check_permutation::<12>(partial_rounds);
        check_permutation::<16>(partial_rounds);
    }
    check_permutation::<24>(22);
}

/// The textbook form stands for [`MdsMatrixGoldilocks`] only: a foreign matrix keeps the sparse
/// one.
fn check_matrix<const WIDTH: usize>(round_constants: &[[Goldilocks; WIDTH]])
where
    MdsMatrixGoldilocks: Circulant<WIDTH> + Permutation<[Goldilocks; WIDTH]>,
    Layered<WIDTH>: Permutation<[Goldilocks; WIDTH]> + Permutation<[Packing; WIDTH]>,
{
    for foreign in [false, true] {
        let row = MdsMatrixGoldilocks::ROW;
        let mut mds_circ_col = array::from_fn(|i| row[(WIDTH - i) % WIDTH]);
        mds_circ_col[0] += i64::from(foreign);
        let constants = Poseidon1Constants {
            rounds_f: 8,
            rounds_p: round_constants.len() - 8,
            mds_circ_col,
            round_constants: round_constants.to_vec(),
        };
        let (_, partial) = constants.to_optimized();
        let layer = Poseidon1InternalLayerGoldilocks::new_from_constants(partial);
        assert_eq!(layer.textbook.is_none(), foreign);
        let permutation = Layered::new(&constants);
        check_lanes(|state| permutation.permute(state), &permutation, &states());
    }
}

#[test]
fn a_foreign_matrix_keeps_the_sparse_form() {
    check_matrix(&GOLDILOCKS_POSEIDON1_RC_8);
    check_matrix(&GOLDILOCKS_POSEIDON1_RC_12);
}
