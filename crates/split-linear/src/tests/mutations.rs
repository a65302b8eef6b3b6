//! Products, reductions and divisions with one operation changed at a time: the bounds or the values have to show each.

use std::format;
use std::string::String;
use std::vec::Vec;

use p3_patches_testing::goldilocks::{self as plain, P, representative};
use p3_patches_testing::interval::Interval;
use p3_patches_testing::mutation::{self, Examination, Struck, strike};

use super::bounds::{Any, Lane};
use super::differential::{self, Half, Ranged};
use super::*;
use crate::poseidon2_batch::{Word, segment_of_halves};
use crate::poseidon2_split::{Vector, VectorElement, mul, mul_unreduced, square};

/// A lane of integers, which does what the trait says, and asks for what it asks for. The biased one is AVX2's.
#[derive(Clone, Copy, Debug)]
struct Integer<const BIASED: bool>(u64);

impl<const BIASED: bool> Word for Integer<BIASED> {
    fn wrapping_add(self, rhs: Self) -> Self {
        Self(self.0.wrapping_add(rhs.0))
    }

    fn wrapping_sub(self, rhs: Self) -> Self {
        Self(self.0.wrapping_sub(rhs.0))
    }

    fn shl(self, bits: u32) -> Self {
        Self(self.0 << bits)
    }
}

impl<const BIASED: bool> Vector for Integer<BIASED> {
    const OFFSET: u64 = if BIASED { 1 << 63 } else { 0 };
    const BIASED: bool = BIASED;

    fn splat(x: u64) -> Self {
        Self(x)
    }

    fn and(self, rhs: Self) -> Self {
        Self(self.0 & rhs.0)
    }

    fn shr(self, bits: u32) -> Self {
        Self(self.0 >> bits)
    }

    fn mul_low(self, rhs: Self) -> Self {
        Self((self.0 & 0xffff_ffff) * (rhs.0 & 0xffff_ffff))
    }

    /// The upper bits of the result are arbitrary: here as vmovshdup has them.
    fn high(self) -> Self {
        Self(self.0 >> 32 | self.0 >> 32 << 32)
    }

    fn join(low: Self, high: Self) -> Self {
        Self(low.0 & 0xffff_ffff | high.0 << 32)
    }

    fn epsilon() -> Self {
        Self(0xffff_ffff)
    }

    fn add_modulo(x: Self, y: Self) -> Self {
        let (sum, carried) = x.0.overflowing_add(y.0.wrapping_sub(Self::OFFSET));
        Self(sum.wrapping_add(0xffff_ffff * u64::from(carried)))
    }

    fn reduce_product<const SQUARE: bool>(low: Self, high: Self) -> Self {
        assert!(!(BIASED && SQUARE) || low.0 <= u64::MAX - 2);
        let bias = match (BIASED, SQUARE) {
            (false, _) => 0,
            (true, false) => 0xffff_ffff,
            (true, true) => 0xffff_ffff + 2,
        };
        let residue = (u128::from(high.0) << 64 | u128::from(low.0)) % u128::from(P) + bias;
        Self((residue % u128::from(P)) as u64)
    }
}

impl<T: Vector> Vector for Struck<T> {
    const OFFSET: u64 = T::OFFSET;
    const BIASED: bool = T::BIASED;

    #[track_caller]
    fn splat(x: u64) -> Self {
        Self(T::splat(mutation::constant(x)))
    }

    #[track_caller]
    fn and(self, rhs: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x.and(rhs.0)))
    }

    #[track_caller]
    fn shr(self, bits: u32) -> Self {
        Self(self.0.shr(mutation::distance(bits)))
    }

    #[track_caller]
    fn mul_low(self, rhs: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x.mul_low(rhs.0)))
    }

    #[track_caller]
    fn high(self) -> Self {
        Self(mutation::skippable(self.0, T::high))
    }

    #[track_caller]
    fn join(low: Self, high: Self) -> Self {
        Self(mutation::sum(low.0, high.0, T::join))
    }

    fn epsilon() -> Self {
        Self(T::epsilon())
    }

    #[track_caller]
    fn add_modulo(x: Self, y: Self) -> Self {
        Self(if strike("carry lost") {
            x.0.wrapping_add(y.0.wrapping_sub(T::splat(T::OFFSET)))
        } else {
            T::add_modulo(x.0, y.0)
        })
    }

    #[track_caller]
    fn reduce_product<const SQUARE: bool>(low: Self, high: Self) -> Self {
        Self(mutation::sum(low.0, high.0, T::reduce_product::<SQUARE>))
    }
}

/// One element as a vector.
#[derive(Clone, Copy, Debug)]
struct Lone<const BIASED: bool>(u64);

impl<const BIASED: bool> VectorElement for Lone<BIASED> {
    type Vector = Integer<BIASED>;
    const BATCH: usize = 1;
    const GROUPED: bool = false;

    fn into_vector(self) -> Integer<BIASED> {
        Integer(self.0)
    }

    fn from_vector(vector: Integer<BIASED>) -> Self {
        Self(vector.0)
    }
}

impl<E: VectorElement> VectorElement for Struck<E> {
    type Vector = Struck<E::Vector>;
    const BATCH: usize = E::BATCH;
    const GROUPED: bool = E::GROUPED;

    fn into_vector(self) -> Self::Vector {
        Struck(self.0.into_vector())
    }

    fn from_vector(vector: Self::Vector) -> Self {
        Self(E::from_vector(vector.0))
    }
}

const FILES: &[&str] = &["poseidon2_split.rs", mutation::AS_FUNCTION];

/// The largest magnitude that a reduction takes.
const LIMIT: i128 = (1 << 62) - (1 << 34);

type Bounds<const BIASED: bool> = Struck<Lane<BIASED>>;
type Exact<const BIASED: bool> = Struck<Integer<BIASED>>;

fn range<const BIASED: bool>(low: i128, high: i128) -> Bounds<BIASED> {
    Struck(Lane::ranging(Interval::new(low, high)))
}

#[track_caller]
fn are_within<const BIASED: bool>(x: [Bounds<BIASED>; 2], ranges: [[i128; 2]; 2]) {
    for (word, [low, high]) in x.into_iter().zip(ranges) {
        word.0.is_within(low, high);
    }
}

fn exact<const BIASED: bool>(halves: [i64; 2]) -> [Exact<BIASED>; 2] {
    halves.map(|word| Struck(Integer(word as u64)))
}

fn halves<const BIASED: bool>(x: [Exact<BIASED>; 2]) -> [i64; 2] {
    x.map(|word| word.0.0 as i64)
}

fn value<const BIASED: bool>(x: [Exact<BIASED>; 2]) -> u64 {
    differential::value(halves(x))
}

/// What [`mul_unreduced`] says of its words.
const PRODUCT: [[i128; 2]; 2] = [[-(2 << 32) + 1, (1 << 32) - 1], [0, (2 << 32) - 1]];

fn operations<const BIASED: bool>() -> String {
    let mut report = String::new();
    let operands = plain::operands();
    let any = || Struck(Lane::<BIASED>::Exact(Half::any()));
    let word = |x: u64| Struck(Integer::<BIASED>(x));
    let representatives = mutation::sample(representative(), 64);
    let inputs = mutation::sample(differential::halves(), 1024);

    report += &Examination {
        name: "mul",
        files: FILES,
        bounds: Some(&|| {
            mul(any(), any());
        }),
        inputs: &operands,
        value: &|&[x, y]| assert_eq!(mul(word(x), word(y)).0.0 % P, plain::mul(x, y)),
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
        value: &|&x| assert_eq!(square(word(x)).0.0 % P, plain::mul(x, x)),
        equivalent: &[],
    }
    .run();
    report += &Examination {
        name: "mul_unreduced",
        files: FILES,
        bounds: Some(&|| are_within(mul_unreduced(any(), any()), PRODUCT)),
        inputs: &operands,
        value: &|&[x, y]| {
            let product = mul_unreduced(word(x), word(y));
            assert_eq!(value(product), plain::mul(x, y));
            for (word, [low, high]) in halves(product).into_iter().zip(PRODUCT) {
                assert!((low..=high).contains(&word.into()));
            }
        },
        equivalent: &[],
    }
    .run();
    report += &Examination {
        name: "widen",
        files: FILES,
        bounds: Some(&|| are_within(Struck(Any::<BIASED>).widen(), [[0, 0xffff_ffff]; 2])),
        inputs: &representatives,
        value: &|&x| assert_eq!(value(Struck(Lone::<BIASED>(x)).widen()), x % P),
        equivalent: &[],
    }
    .run();
    report += &Examination {
        name: "reduce",
        files: FILES,
        bounds: Some(&|| {
            Struck::<Any<BIASED>>::reduce([range(-LIMIT, LIMIT); 2]);
        }),
        inputs: &inputs,
        value: &|&x| {
            let Struck(Lone(reduced)) = Struck::<Lone<BIASED>>::reduce(exact(x));
            assert_eq!(reduced % P, differential::value(x));
        },
        equivalent: &[],
    }
    .run();

    let constants: Vec<_> = inputs.iter().zip(representatives.iter().cycle()).collect();
    report += &Examination {
        name: "sbox",
        files: FILES,
        bounds: Some(&|| {
            let mut x = [[range(-LIMIT, LIMIT); 2]];
            let constant = Any::<BIASED>::constant(Goldilocks::new(0));
            Struck::<Any<BIASED>>::sbox(&mut x, &[constant]);
            are_within(x[0], PRODUCT);
        }),
        inputs: &constants,
        value: &|&(&x, &constant)| {
            let mut result = [exact(x)];
            let addend = Lone::<BIASED>::constant(Goldilocks::new(constant));
            Struck::<Lone<BIASED>>::sbox(&mut result, &[addend]);
            let sum = plain::add(differential::value(x), constant);
            assert_eq!(value(result[0]), plain::power_7(sum));
        },
        equivalent: &[],
    }
    .run();

    for bits in [1, 2, 3, 4, 6, 8, 10, 32] {
        let lifted = |x: [i64; 2]| match bits {
            32 => x,
            _ => x.map(|word| word & i64::MAX >> 1),
        };
        report += &Examination {
            name: &format!("div_2exp by {bits}"),
            files: FILES,
            bounds: Some(&|| {
                let low = if bits == 32 { -LIMIT } else { 0 };
                let x = [range(low, LIMIT); 2];
                let quotient = Struck::<Any<BIASED>>::div_2exp(x, bits);
                if bits != 32 {
                    are_within(quotient, [[-(1 << 32), (LIMIT >> bits) + (1 << 33)]; 2]);
                }
            }),
            inputs: &inputs,
            value: &|&x| {
                let x = lifted(x);
                let quotient = value(Struck::<Lone<BIASED>>::div_2exp(exact(x), bits));
                assert_eq!(plain::mul(quotient, 1 << bits), differential::value(x));
            },
            equivalent: &[],
        }
        .run();
    }

    for round in 0..segment_of_halves(8) {
        report += &lift::<BIASED, 8>(&inputs, round);
        if round < segment_of_halves(12) {
            report += &lift::<BIASED, 12>(&inputs, round);
            report += &lift::<BIASED, 16>(&inputs, round);
        }
    }
    report
}

fn lift<const BIASED: bool, const WIDTH: usize>(inputs: &[[i64; 2]], round: usize) -> String {
    Examination {
        name: &format!("lift of width {WIDTH}, round {round}"),
        files: FILES,
        bounds: None,
        inputs: &inputs[..16],
        value: &|&x| {
            let [low, high] = exact::<BIASED>(x);
            let lifted = [low.lift::<WIDTH>(0, round), high.lift::<WIDTH>(1, round)];
            assert_eq!(value(lifted), differential::value(x));
        },
        equivalent: &[],
    }
    .run()
}

#[test]
fn operations_as_on_avx512() {
    insta::assert_snapshot!("avx512", operations::<false>());
}

#[test]
fn operations_as_on_avx2() {
    insta::assert_snapshot!("avx2", operations::<true>());
}
