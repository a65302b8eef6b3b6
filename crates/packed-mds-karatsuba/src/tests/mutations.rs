//! Products and reductions with one operation changed at a time: the bounds or the values have to show each.

use std::string::String;

use p3_patches_testing::goldilocks::{self as plain, P, residue};
use p3_patches_testing::interval::Interval;
use p3_patches_testing::mutation::{self, Equivalent, Examination, Struck, strike};

use super::bounds::{Double, Word};
use super::*;
use crate::poseidon1_packed::{
    Doubles, OFFSET, OFFSET_BITS, Words, fold, fold_constant, mul, mul_unreduced, normalize, square,
};

/// A lane: a word and a double, which do what the traits say, and ask for what they ask for.
#[derive(Clone, Copy, Debug)]
struct Integer(u64);

#[derive(Clone, Copy, Debug)]
struct Float(f64);

impl Doubles for Float {
    fn splat(x: f64) -> Self {
        Self(x)
    }

    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }

    fn sub(self, rhs: Self) -> Self {
        Self(self.0 - rhs.0)
    }

    fn neg(self) -> Self {
        Self(-self.0)
    }

    fn mul(self, rhs: Self) -> Self {
        Self(self.0 * rhs.0)
    }

    fn add_product(self, a: Self, b: Self) -> Self {
        Self(self.0 + a.0 * b.0)
    }

    fn sub_product(self, a: Self, b: Self) -> Self {
        Self(self.0 - a.0 * b.0)
    }
}

impl Words for Integer {
    type Doubles = Float;
    // That of AVX2.
    const FLIP: u64 = 1 << 63;

    fn splat(x: u64) -> Self {
        Self(x)
    }

    fn epsilon() -> Self {
        Self(0xffff_ffff)
    }

    fn wrapping_add(self, rhs: Self) -> Self {
        Self(self.0.wrapping_add(rhs.0))
    }

    fn wrapping_sub(self, rhs: Self) -> Self {
        Self(self.0.wrapping_sub(rhs.0))
    }

    fn shl<const BITS: u32>(self) -> Self {
        Self(self.0 << BITS)
    }

    fn shr<const BITS: u32>(self) -> Self {
        Self(self.0 >> BITS)
    }

    fn lower(self) -> Self {
        Self(self.0 & 0xffff_ffff)
    }

    /// The upper bits of the result may be anything: here what vmovshdup leaves.
    fn upper(self) -> Self {
        Self(self.0 >> 32 | self.0 >> 32 << 32)
    }

    fn join(self, upper: Self) -> Self {
        Self(self.0 & 0xffff_ffff | upper.0 << 32)
    }

    fn mul_lower(self, rhs: Self) -> Self {
        Self((self.0 & 0xffff_ffff) * (rhs.0 & 0xffff_ffff))
    }

    fn add_modulo(self, flipped_y: Self) -> Self {
        let y = flipped_y.0.wrapping_sub(Self::FLIP);
        assert!(u128::from(self.0) + u128::from(y) < (1 << 65) - (1 << 32));
        let (sum, carried) = self.0.overflowing_add(y);
        Self(sum.wrapping_add(0xffff_ffff * u64::from(carried)))
    }

    fn lower_shifted(self) -> Self {
        Self(self.0 & 0xffff_ffff | OFFSET_BITS)
    }

    fn from_bits(x: Float) -> Self {
        Self(x.0.to_bits())
    }

    fn to_bits(self) -> Float {
        Float(f64::from_bits(self.0))
    }
}

impl<T: Doubles> Doubles for Struck<T> {
    #[track_caller]
    fn splat(x: f64) -> Self {
        Self(T::splat(mutation::coefficient(x)))
    }

    #[track_caller]
    fn add(self, rhs: Self) -> Self {
        Self(mutation::sum(self.0, rhs.0, T::add))
    }

    #[track_caller]
    fn sub(self, rhs: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x.sub(rhs.0)))
    }

    #[track_caller]
    fn neg(self) -> Self {
        Self(mutation::skippable(self.0, T::neg))
    }

    #[track_caller]
    fn mul(self, rhs: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x.mul(rhs.0)))
    }

    #[track_caller]
    fn add_product(self, a: Self, b: Self) -> Self {
        Self(if strike("sum lost") {
            a.0.mul(b.0)
        } else {
            mutation::skippable(self.0, |x| x.add_product(a.0, b.0))
        })
    }

    #[track_caller]
    fn sub_product(self, a: Self, b: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x.sub_product(a.0, b.0)))
    }

    fn integers(values: &mut [Self]) {
        for value in values {
            T::integers(core::slice::from_mut(&mut value.0));
        }
    }

    #[track_caller]
    fn split_upper(self) -> [Self; 2] {
        if strike("upper part lost") {
            return [self, Self(T::splat(0.0))];
        }
        self.0.split_upper().map(Self)
    }
}

impl<T: Words> Words for Struck<T> {
    type Doubles = Struck<T::Doubles>;
    const FLIP: u64 = T::FLIP;

    #[track_caller]
    fn splat(x: u64) -> Self {
        Self(T::splat(mutation::constant(x)))
    }

    fn epsilon() -> Self {
        Self(T::epsilon())
    }

    #[track_caller]
    fn wrapping_add(self, rhs: Self) -> Self {
        Self(mutation::sum(self.0, rhs.0, T::wrapping_add))
    }

    #[track_caller]
    fn wrapping_sub(self, rhs: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x.wrapping_sub(rhs.0)))
    }

    /// The distances are 32 and 33.
    #[track_caller]
    fn shl<const BITS: u32>(self) -> Self {
        Self(match (strike("a bit less"), BITS) {
            (true, 32) => self.0.shl::<31>(),
            (true, _) => self.0.shl::<32>(),
            _ => self.0.shl::<BITS>(),
        })
    }

    /// The distances are 31, 32 and 33.
    #[track_caller]
    fn shr<const BITS: u32>(self) -> Self {
        Self(match (strike("a bit less"), BITS) {
            (true, 31) => self.0.shr::<30>(),
            (true, 32) => self.0.shr::<31>(),
            (true, _) => self.0.shr::<32>(),
            _ => self.0.shr::<BITS>(),
        })
    }

    #[track_caller]
    fn lower(self) -> Self {
        Self(mutation::skippable(self.0, T::lower))
    }

    #[track_caller]
    fn upper(self) -> Self {
        Self(mutation::skippable(self.0, T::upper))
    }

    #[track_caller]
    fn join(self, upper: Self) -> Self {
        Self(mutation::sum(self.0, upper.0, T::join))
    }

    #[track_caller]
    fn mul_lower(self, rhs: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x.mul_lower(rhs.0)))
    }

    #[track_caller]
    fn add_modulo(self, flipped_y: Self) -> Self {
        Self(if strike("carry lost") {
            (self.0).wrapping_add(flipped_y.0.wrapping_sub(T::splat(T::FLIP)))
        } else {
            self.0.add_modulo(flipped_y.0)
        })
    }

    #[track_caller]
    fn lower_shifted(self) -> Self {
        Self(self.0.lower_shifted())
    }

    fn from_bits(x: Self::Doubles) -> Self {
        Self(T::from_bits(x.0))
    }

    fn to_bits(self) -> Self::Doubles {
        Struck(self.0.to_bits())
    }
}

type Wide = Struck<Word>;
type Exact = Struck<Integer>;
type Halves<W> = [<W as Words>::Doubles; 2];

const FILES: &[&str] = &["poseidon1_packed.rs"];

fn any() -> Wide {
    Struck(Word::any())
}

fn exact(x: u64) -> Exact {
    Struck(Integer(x))
}

/// The integers that shifted halves stand for, or halves that are not, with an offset of 0.
fn integers(x: Halves<Exact>, offset: f64) -> [i128; 2] {
    x.map(|half| {
        let Struck(Float(half)) = half;
        assert_eq!(half.fract(), 0.0);
        (half - offset) as i128
    })
}

fn value([l, h]: [i128; 2]) -> u64 {
    residue(l + (h << 32))
}

fn doubles([l, h]: [i64; 2], offset: f64) -> Halves<Exact> {
    [l, h].map(|half| Struck(Float(half as f64 + offset)))
}

#[track_caller]
fn are_within(x: Halves<Wide>, offset: f64, ranges: [[i128; 2]; 2]) {
    for (Struck(half), [low, high]) in x.into_iter().zip(ranges) {
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

#[test]
fn operations() {
    let mut report = String::new();
    let operands = plain::operands();

    report += &Examination {
        name: "mul",
        files: FILES,
        bounds: Some(&|| {
            mul(any(), any());
        }),
        inputs: &operands,
        value: &|&[x, y]| assert_eq!(mul(exact(x), exact(y)).0.0 % P, plain::mul(x, y)),
        equivalent: &[],
    }
    .run();
    report += &Examination {
        name: "square",
        files: FILES,
        bounds: Some(&|| {
            square(any());
        }),
        inputs: &plain::roots(&operands),
        value: &|&x| assert_eq!(square(exact(x)).0.0 % P, plain::mul(x, x)),
        equivalent: &[],
    }
    .run();
    const PRODUCT: [[i128; 2]; 2] = [[-(2 << 32) + 1, (1 << 32) - 1], [0, (2 << 32) - 1]];
    report += &Examination {
        name: "mul_unreduced",
        files: FILES,
        bounds: Some(&|| are_within(mul_unreduced(any(), any()), OFFSET, PRODUCT)),
        inputs: &operands,
        value: &|&[x, y]| {
            let product = integers(mul_unreduced(exact(x), exact(y)), OFFSET);
            assert_eq!(value(product), plain::mul(x, y));
            for (half, [low, high]) in product.into_iter().zip(PRODUCT) {
                assert!((low..=high).contains(&half));
            }
        },
        equivalent: &[
            Equivalent {
                place: "»wrapping_add(W::splat(bias[0]))",
                kind: "right operand lost",
                why: "the bias is 0",
            },
            Equivalent {
                place: "»wrapping_add(W::splat(bias[1]))",
                kind: "right operand lost",
                why: "the bias is 0",
            },
        ],
    }
    .run();

    const LIMIT: i64 = 1 << 51;
    let constants = [0, 1, P - 1, 0xffff_ffff, 0x0123_4567_89ab_cdef];
    let inputs: Vec<_> = halves(LIMIT)
        .into_iter()
        .zip(constants.into_iter().cycle())
        .collect();
    report += &Examination {
        name: "fold",
        files: FILES,
        bounds: Some(&|| {
            let limit = i128::from(LIMIT) - 1;
            let half = Struck(Double::shifted(Interval::new(-limit, limit)));
            fold::<Wide>([half; 2], fold_constant::<Wide>(0));
        }),
        inputs: &inputs,
        value: &|&([l, h], constant)| {
            let folded = fold::<Exact>(doubles([l, h], OFFSET), fold_constant::<Exact>(constant));
            let sum = i128::from(l) + (i128::from(h) << 32) + i128::from(constant);
            assert_eq!(folded.0.0 % P, residue(sum));
        },
        equivalent: &[],
    }
    .run();

    const NORMAL: [[i128; 2]; 2] = [[-(1 << 31) - (1 << 22), (1 << 31) + (1 << 22)]; 2];
    report += &Examination {
        name: "normalize",
        files: FILES,
        bounds: Some(&|| {
            let limit = (1 << 53) - 1;
            let half = Struck(Double::integers(Interval::new(-limit, limit)));
            are_within(normalize::<Wide>([half; 2]), 0.0, NORMAL);
        }),
        inputs: &halves(1 << 53),
        value: &|&[l, h]| {
            let normal = integers(normalize::<Exact>(doubles([l, h], 0.0)), 0.0);
            assert_eq!(value(normal), value([l.into(), h.into()]));
            for (half, [low, high]) in normal.into_iter().zip(NORMAL) {
                assert!((low..=high).contains(&half));
            }
        },
        equivalent: &[],
    }
    .run();
    insta::assert_snapshot!("operations", report);
}
