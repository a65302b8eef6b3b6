//! The S-box's unreduced product and the reductions, on operands that a permutation of random states does not reach.

use p3_patches_testing::goldilocks::{self as plain, P, residue};
use rand::RngExt;

use super::*;
use crate::poseidon1_packed::halves::{fold, fold_constant, normalize};
use crate::poseidon1_packed::sbox::mul_unreduced;
use crate::poseidon1_packed::{AsDoubles, Doubles, OFFSET};
use crate::vector::Packed;

type V = <Packing as Packed>::Words;
type D = <V as AsDoubles>::Doubles;

fn words(lane: impl FnMut(usize) -> u64) -> V {
    let mut lane = lane;
    Packing::from_fn(|i| Goldilocks::new(lane(i))).to_words()
}

fn residues(words: V) -> Vec<u64> {
    let packed = Packing::from_words(words);
    packed
        .as_slice()
        .iter()
        .map(|x| x.as_canonical_u64())
        .collect()
}

/// No double that occurs here has bits above the order: residues are the bits themselves.
fn integers(x: D) -> Vec<i128> {
    let bits = residues(V::from_bits(x));
    bits.into_iter()
        .map(|bits| f64::from_bits(bits) as i128)
        .collect()
}

fn doubles(lane: impl Fn(usize) -> i64) -> D {
    words(|i| (lane(i) as f64).to_bits()).to_bits()
}

/// Powers of two, their sums and differences, the edges, and factors of products at the bound of `reduce`.
fn operands() -> Vec<u64> {
    let mut operands = EDGES.to_vec();
    for shift in 0..64 {
        for base in [1u64, 3, 0xffff_ffff] {
            for offset in [-2, -1, 0, 1] {
                operands.push((base << shift).wrapping_add_signed(offset));
            }
            operands.push((base << shift).wrapping_neg());
        }
    }
    // The upper word of 2^96 - 2^64 + 2^33 - 1 is reduced to the largest number there is, its lower word is as large.
    const FACTORS: [u64; 5] = [11, 128_551, 9_014_141, 31_226_411, 199_051_301];
    for subset in 1..31 {
        let chosen = FACTORS
            .iter()
            .enumerate()
            .filter(|(i, _)| subset >> i & 1 == 1);
        let product = chosen.fold(1, |product, (_, factor)| product * u128::from(*factor));
        operands.extend(u64::try_from(product));
    }
    let mut rng = SmallRng::seed_from_u64(7);
    operands.extend((0..50).map(|_| rng.random::<u64>()));
    operands
}

#[test]
fn unreduced_products() {
    check_products(&operands());
}

/// Few of them, for instructions that go wrong in an emulator; so below.
#[test]
pub fn few_unreduced_products() {
    check_products(&EDGES);
}

#[track_caller]
fn check_products(operands: &[u64]) {
    for &x in operands {
        let vector = words(|_| x);
        for ys in operands.chunks(Packing::WIDTH) {
            let y = |lane: usize| ys[lane % ys.len()];
            let product = |lane| plain::mul(x, y(lane));

            let [l, h] =
                mul_unreduced(vector, words(y)).map(|half| integers(half.sub(D::splat(OFFSET))));
            for lane in 0..Packing::WIDTH {
                let (l, h) = (l[lane], h[lane]);
                assert_eq!(
                    residue(l + (h << 32)),
                    product(lane),
                    "{x:x} * {:x}",
                    y(lane)
                );
                assert!(
                    -(2 << 32) < l && l < 1 << 32 && (0..2 << 32).contains(&h),
                    "{l:x} {h:x}"
                );
            }
        }
    }
}

/// Halves with magnitudes below `limit`: at the limit, next to multiples of `2^32` and halfway, with and without sign.
fn halves(limit: i64) -> Vec<i64> {
    let mut halves = std::vec![0, limit - 1];
    for shift in [0, 1, 30, 31, 32, 33, 40, 50] {
        for factor in [1i64, 3, 5] {
            halves.extend((-2..=2).map(|offset| (factor << shift) + offset));
        }
    }
    let mut rng = SmallRng::seed_from_u64(8);
    halves.extend((0..20).map(|_| rng.random_range(0..limit)));
    halves.retain(|half| (0..limit).contains(half));
    let negative: Vec<i64> = halves.iter().map(|half| -half).collect();
    halves.extend(negative);
    halves
}

#[test]
fn fold_any_halves() {
    check_folds(&halves(1 << 51));
}

#[test]
pub fn fold_few_halves() {
    let halves: Vec<_> = halves(1 << 51).into_iter().step_by(11).collect();
    check_folds(&halves);
}

#[track_caller]
fn check_folds(halves: &[i64]) {
    for constant in [0, 1, P - 1, 0xffff_ffff, 0x0123_4567_89ab_cdef] {
        for &l in halves {
            for hs in halves.chunks(Packing::WIDTH) {
                let h = |lane: usize| hs[lane % hs.len()];
                let shifted = [doubles(|_| l), doubles(h)].map(|x| x.add(D::splat(OFFSET)));
                let folded = residues(fold(shifted, fold_constant::<V>(constant)));
                for (lane, folded) in folded.into_iter().enumerate() {
                    let value = i128::from(l) + (i128::from(h(lane)) << 32) + i128::from(constant);
                    assert_eq!(folded, residue(value), "{l:x} {:x}", h(lane));
                }
            }
        }
    }
}

/// `fold` where its addition is within 2 of the carry: `2^32 d + l + (2^32 - 1) c = 2^64 + offset` after the bias.
#[track_caller]
fn check_folds_at_the_carry(count: usize) {
    const BIAS: i128 = 1 << 20;
    let mut rng = SmallRng::seed_from_u64(9);
    let mut seen = 0;
    while seen < count {
        let c = i128::from(rng.random_range(0..1u64 << 21));
        let d = (1i128 << 32) - 1 - i128::from(rng.random_range(0..1u64 << 22));
        let offset = i128::from(rng.random_range(-2..=2));
        let l = (1i128 << 64) + offset - (d << 32) - c * 0xffff_ffff - BIAS * ((1 << 32) + 1);
        let h = (c << 32) + d - BIAS * ((1 << 32) - 2);
        if l.abs() >= 1 << 51 || h.abs() >= 1 << 51 {
            continue;
        }
        seen += 1;
        let shifted = [doubles(|_| l as i64), doubles(|_| h as i64)];
        let shifted = shifted.map(|x| x.add(D::splat(OFFSET)));
        let folded = residues(fold(shifted, fold_constant::<V>(0)));
        assert!(
            folded.iter().all(|x| *x == residue(l + (h << 32))),
            "{l:x} {h:x}"
        );
    }
}

#[test]
fn fold_at_the_carry() {
    check_folds_at_the_carry(4096);
}

#[test]
pub fn few_folds_at_the_carry() {
    check_folds_at_the_carry(64);
}

#[test]
fn normalize_any_halves() {
    check_normalized(&halves(1 << 53));
}

#[test]
pub fn normalize_few_halves() {
    let halves: Vec<_> = halves(1 << 53).into_iter().step_by(11).collect();
    check_normalized(&halves);
}

#[track_caller]
fn check_normalized(halves: &[i64]) {
    for &l in halves {
        for hs in halves.chunks(Packing::WIDTH) {
            let h = |lane: usize| hs[lane % hs.len()];
            let [nl, nh] = normalize::<V>([doubles(|_| l), doubles(h)]).map(integers);
            for lane in 0..Packing::WIDTH {
                let value = i128::from(l) + (i128::from(h(lane)) << 32);
                assert_eq!(residue(nl[lane] + (nh[lane] << 32)), residue(value));
                let largest = nl[lane].abs().max(nh[lane].abs());
                assert!(largest <= (1 << 31) + (1 << 22), "{l:x} {:x}", h(lane));
            }
        }
    }
}
