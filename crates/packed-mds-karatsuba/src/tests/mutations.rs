//! Unreduced products and reductions with one operation changed at a time: the bounds or the values have to show each. The
//! words' own products are mutated by packed-poseidon2.

use std::string::String;

use p3_patches_testing::goldilocks::{self as plain, P, residue};
use p3_patches_testing::interval::Interval;
use p3_patches_testing::mutation::{Mutated, MutationTest};

use super::doubles::{Double, Float};
use super::lanes::{Integer, Range};
use super::*;
use crate::poseidon1_packed::halves::{fold, fold_constant, normalize};
use crate::poseidon1_packed::sbox::mul_unreduced;
use crate::poseidon1_packed::{Doubles, OFFSET};

type Wide = Mutated<Range>;
type Exact<const FLIPPED: bool> = Mutated<Integer<FLIPPED>>;

const FILES: &[&str] = &[
    "poseidon1_packed.rs",
    "poseidon1_packed/halves.rs",
    "poseidon1_packed/sbox.rs",
];

/// The integers that shifted halves stand for, or halves that are not, with an offset of 0.
fn integers(x: [Mutated<Float>; 2], offset: f64) -> [i128; 2] {
    x.map(|half| {
        let Mutated(Float(half)) = half;
        assert_eq!(half.fract(), 0.0);
        (half - offset) as i128
    })
}

fn value([l, h]: [i128; 2]) -> u64 {
    residue(l + (h << 32))
}

fn doubles([l, h]: [i64; 2], offset: f64) -> [Mutated<Float>; 2] {
    [l, h].map(|half| Mutated(Float(half as f64 + offset)))
}

#[track_caller]
fn are_within(x: [Mutated<Double>; 2], offset: f64, ranges: [[i128; 2]; 2]) {
    for (Mutated(half), [low, high]) in x.into_iter().zip(ranges) {
        let range = half.sub(Double::splat(offset)).integer();
        assert!(
            low <= range.low() && range.high() <= high,
            "{range:x?} leaves [{low:x}, {high:x}]"
        );
    }
}

/// Halves below `limit` in magnitude, and such that [`fold`] is within 2 of its carry, where that is possible: the sum
/// `2^32 d + l + (2^32 - 1) c` is `2^64 + offset`, `c` and `d` those of the biased upper half.
fn halves(limit: i64) -> Vec<[i64; 2]> {
    const BIAS: i128 = 1 << 20;
    let mut rng = SmallRng::seed_from_u64(3);
    let mut halves: Vec<[i64; 2]> = (0..64)
        .map(|_| {
            [
                rng.random_range(-limit + 1..limit),
                rng.random_range(-limit + 1..limit),
            ]
        })
        .collect();
    halves.extend([[0, 0], [limit - 1, limit - 1], [1 - limit, 1 - limit]]);
    for middle in [31, 32, 40] {
        for offset in -2..=2 {
            halves.extend([
                [(1 << middle) + offset, offset],
                [offset, offset - (1 << middle)],
            ]);
        }
    }
    let mut offset = -2;
    while halves.len() < 256 {
        let c = i128::from(rng.random_range(0..1u64 << 21));
        let d = (1i128 << 32) - 1 - i128::from(rng.random_range(0..1u64 << 21));
        let l = (1i128 << 64) + offset - (d << 32) - c * 0xffff_ffff - BIAS * ((1 << 32) + 1);
        let h = (c << 32) + d - BIAS * ((1 << 32) - 2);
        let limit = i128::from(limit);
        if l.abs() < limit && h.abs() < limit {
            halves.push([l as i64, h as i64]);
            offset = if offset == 2 { -2 } else { offset + 1 };
        }
    }
    halves
}

fn operations<const FLIPPED: bool>() -> String {
    let mut report = String::new();
    let operands = plain::operands();
    let any = Mutated(Range::any());
    let word = |x| Mutated(Integer::<FLIPPED>(x));

    const PRODUCT: [[i128; 2]; 2] = [[-(2 << 32) + 1, (1 << 32) - 1], [0, (2 << 32) - 1]];
    report += &MutationTest {
        name: "mul_unreduced",
        files: FILES,
        bounds: Some(&|| are_within(mul_unreduced::<Wide>(any, any), OFFSET, PRODUCT)),
        inputs: &operands,
        value: &|&[x, y]| {
            let product = integers(mul_unreduced(word(x), word(y)), OFFSET);
            let right = value(product) == plain::mul(x, y);
            for (half, [low, high]) in product.into_iter().zip(PRODUCT) {
                assert!(!right || (low..=high).contains(&half));
            }
            right
        },
        equivalent: &[],
    }
    .run();

    const LIMIT: i64 = 1 << 51;
    let constants = [0, 1, P - 1, 0xffff_ffff, 0x0123_4567_89ab_cdef];
    let inputs: Vec<_> = halves(LIMIT)
        .into_iter()
        .zip(constants.into_iter().cycle())
        .collect();
    report += &MutationTest {
        name: "fold",
        files: FILES,
        bounds: Some(&|| {
            let limit = i128::from(LIMIT) - 1;
            let half = Mutated(Double::shifted(Interval::new(-limit, limit)));
            fold::<Wide>([half; 2], fold_constant::<Wide>(0));
        }),
        inputs: &inputs,
        value: &|&([l, h], constant)| {
            let folded = fold::<Exact<FLIPPED>>(
                doubles([l, h], OFFSET),
                fold_constant::<Exact<FLIPPED>>(constant),
            );
            let sum = i128::from(l) + (i128::from(h) << 32) + i128::from(constant);
            folded.0.0 % P == residue(sum)
        },
        equivalent: &[],
    }
    .run();

    const NORMAL: [[i128; 2]; 2] = [[-(1 << 31) - (1 << 22), (1 << 31) + (1 << 22)]; 2];
    report += &MutationTest {
        name: "normalize",
        files: FILES,
        bounds: Some(&|| {
            let limit = (1 << 53) - 1;
            let half = Mutated(Double::integers(Interval::new(-limit, limit)));
            are_within(normalize::<Wide>([half; 2]), 0.0, NORMAL);
        }),
        inputs: &halves(1 << 53),
        value: &|&[l, h]| {
            let normal = integers(normalize::<Exact<FLIPPED>>(doubles([l, h], 0.0)), 0.0);
            let right = value(normal) == value([l.into(), h.into()]);
            for (half, [low, high]) in normal.into_iter().zip(NORMAL) {
                assert!(!right || (low..=high).contains(&half));
            }
            right
        },
        equivalent: &[],
    }
    .run();
    report
}

#[test]
fn operations_as_on_avx512() {
    insta::assert_snapshot!("avx512", operations::<false>());
}

#[test]
fn operations_as_on_avx2() {
    insta::assert_snapshot!("avx2", operations::<true>());
}
