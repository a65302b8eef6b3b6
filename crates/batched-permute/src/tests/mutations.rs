//! Vectors in halves with one operation changed at a time: the bounds or the values have to show each.

use core::ops::Mul;
use std::string::String;
use std::vec::Vec;

use p3_goldilocks::{
    MATRIX_DIAG_8_GOLDILOCKS, MATRIX_DIAG_12_GOLDILOCKS, MATRIX_DIAG_16_GOLDILOCKS,
};
use p3_patches_testing::mutation::{self, Examination, Struck, strike};

use super::bounds::Any;
use super::differential::{self, Half, Ranged};
use super::*;
use crate::poseidon2_batch::{Rounds, Word};
use crate::poseidon2_batch_vector::{Vector, VectorElement};

/// A lane of integers, which does what the trait says, and asks for what it asks for.
#[derive(Clone, Copy, Debug)]
pub struct Integer(pub u64);

impl Word for Integer {
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

impl Vector for Integer {
    fn splat(x: u64) -> Self {
        Self(x)
    }

    fn and(self, rhs: Self) -> Self {
        Self(self.0 & rhs.0)
    }

    fn shr(self, bits: u32) -> Self {
        Self(self.0 >> bits)
    }

    fn add_modulo(x: Self, y: Self) -> Self {
        let (sum, carried) = x.0.overflowing_add(y.0);
        Self(sum.wrapping_add(0xffff_ffff * u64::from(carried)))
    }
}

impl<T: Vector> Vector for Struck<T> {
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
    fn times_epsilon(self) -> Self {
        Self(mutation::skippable(self.0, T::times_epsilon))
    }

    #[track_caller]
    fn add_modulo(x: Self, y: Self) -> Self {
        Self(if strike("carry lost") {
            x.0.wrapping_add(y.0)
        } else {
            T::add_modulo(x.0, y.0)
        })
    }
}

/// One element as a vector.
#[derive(Clone, Copy, Debug)]
struct Lone(u64);

impl From<Goldilocks> for Lone {
    fn from(x: Goldilocks) -> Self {
        Self(x.as_canonical_u64())
    }
}

impl Mul for Lone {
    type Output = Self;

    fn mul(self, rhs: Self) -> Self {
        Self(plain::mul(self.0, rhs.0))
    }
}

impl VectorElement for Lone {
    type Vector = Integer;

    fn into_vector(self) -> Integer {
        Integer(self.0)
    }

    fn from_vector(vector: Integer) -> Self {
        Self(vector.0)
    }

    fn square(self) -> Self {
        self * self
    }
}

/// An element whose words are struck.
#[derive(Clone, Copy, Debug)]
struct Element<E>(E);

impl<E: From<Goldilocks>> From<Goldilocks> for Element<E> {
    fn from(x: Goldilocks) -> Self {
        Self(x.into())
    }
}

impl<E: Mul<Output = E>> Mul for Element<E> {
    type Output = Self;

    fn mul(self, rhs: Self) -> Self {
        Self(self.0 * rhs.0)
    }
}

impl<E: VectorElement> VectorElement for Element<E> {
    type Vector = Struck<E::Vector>;

    fn into_vector(self) -> Self::Vector {
        Struck(self.0.into_vector())
    }

    fn from_vector(vector: Self::Vector) -> Self {
        Self(E::from_vector(vector.0))
    }

    fn square(self) -> Self {
        Self(self.0.square())
    }
}

type Wide = Element<Any>;
type Exact = Element<Lone>;

fn range(low: i128, high: i128) -> Struck<Half> {
    Struck(Half(Interval::new(low, high)))
}

fn exact(halves: [i64; 2]) -> [Struck<Integer>; 2] {
    halves.map(|word| Struck(Integer(word as u64)))
}

fn value(x: [Struck<Integer>; 2]) -> u64 {
    differential::value(x.map(|word| word.0.0 as i64))
}

#[track_caller]
fn are_within(x: [Struck<Half>; 2], low: i128, high: i128) {
    for word in x {
        word.0.is_within(low, high);
    }
}

const FILES: &[&str] = &["poseidon2_batch_vector.rs", mutation::AS_FUNCTION];

#[test]
fn operations_on_halves() {
    let mut report = String::new();
    let representatives = mutation::sample(representative(), 64);
    let halves = mutation::sample(differential::halves(), 1024);

    report += &Examination {
        name: "widen",
        files: FILES,
        bounds: Some(&|| are_within(Element(Any).widen(), 0, 0xffff_ffff)),
        inputs: &representatives,
        value: &|&x| assert_eq!(value(Element(Lone(x)).widen()), x % plain::P),
        equivalent: &[],
    }
    .run();

    const LIMIT: i128 = (1 << 62) - (1 << 34);
    report += &Examination {
        name: "reduce",
        files: FILES,
        bounds: Some(&|| {
            Wide::reduce([range(-LIMIT, LIMIT); 2]);
        }),
        inputs: &halves,
        value: &|&x| {
            let Element(Lone(reduced)) = Exact::reduce(exact(x));
            assert_eq!(reduced % plain::P, differential::value(x));
        },
        equivalent: &[],
    }
    .run();

    let with_constants: Vec<_> = halves.iter().zip(representatives.iter().cycle()).collect();
    report += &Examination {
        name: "sbox",
        files: FILES,
        bounds: Some(&|| {
            let mut x = [[range(-LIMIT, LIMIT); 2]];
            Wide::sbox(&mut x, &[Goldilocks::new(0)]);
            are_within(x[0], 0, 0xffff_ffff);
        }),
        inputs: &with_constants,
        value: &|&(&x, &constant)| {
            let mut result = [exact(x)];
            Exact::sbox(&mut result, &[Goldilocks::new(constant)]);
            let sum = plain::add(differential::value(x), constant);
            assert_eq!(value(result[0]), plain::power_7(sum));
        },
        equivalent: &[],
    }
    .run();

    for bits in [1, 2, 3, 4, 6, 8, 10, 32] {
        let lifted = |x: [i64; 2]| {
            if bits == 32 {
                x
            } else {
                x.map(|word| word & i64::MAX >> 1)
            }
        };
        report += &Examination {
            name: &std::format!("div_2exp by {bits}"),
            files: FILES,
            bounds: Some(&|| {
                let low = if bits == 32 { -LIMIT } else { 0 };
                let quotient = Wide::div_2exp([range(low, LIMIT); 2], bits);
                if bits != 32 {
                    are_within(quotient, -(1 << 32), (LIMIT >> bits) + (1 << 33));
                }
            }),
            inputs: &halves,
            value: &|&x| {
                let quotient = value(Exact::div_2exp(exact(lifted(x)), bits));
                assert_eq!(
                    plain::mul(quotient, 1 << bits),
                    differential::value(lifted(x))
                );
            },
            equivalent: &[],
        }
        .run();
    }

    report += &lifts_of::<8>(&halves);
    report += &lifts_of::<12>(&halves);
    report += &lifts_of::<16>(&halves);
    insta::assert_snapshot!("halves", report);
}

fn lifts_of<const WIDTH: usize>(halves: &[[i64; 2]]) -> String {
    let rounds = 0..<Wide as BatchElement>::segment(WIDTH);
    let lift = |round| {
        Examination {
            name: &std::format!("lift of width {WIDTH}, round {round}"),
            files: FILES,
            bounds: None,
            inputs: &halves[..16],
            value: &|&x| {
                let [low, high] = exact(x);
                let lifted = [
                    Exact::lift::<WIDTH>(low, 0, round),
                    Exact::lift::<WIDTH>(high, 1, round),
                ];
                assert_eq!(value(lifted), differential::value(x));
            },
            equivalent: &[],
        }
        .run()
    };
    rounds.map(lift).collect()
}

/// The layers between the S-boxes: an initial round, internal ones up to the second segment, a terminal one.
fn layers<const WIDTH: usize>(diagonal: [Goldilocks; WIDTH]) -> String {
    let internal = <Exact as BatchElement>::segment(WIDTH) + 1;
    let constant = |i: usize| Goldilocks::new(0x0123_4567_89ab_cdef * (i as u64 + 1));
    let external: [_; WIDTH] = core::array::from_fn(constant);
    let internal: Vec<_> = (0..internal).map(constant).collect();
    fn rounds<'a, E: VectorElement, const WIDTH: usize>(
        external: &'a [[Goldilocks; WIDTH]],
        internal: &'a [Goldilocks],
    ) -> Rounds<'a, E, WIDTH> {
        Rounds {
            initial: Some(external),
            internal,
            terminal: external,
        }
    }
    let external = [external];
    let canonical = |x: Goldilocks| x.as_canonical_u64();
    let paper = plain::Poseidon2 {
        initial: external.iter().map(|row| row.map(canonical)).collect(),
        internal: internal.iter().copied().map(canonical).collect(),
        terminal: external.iter().map(|row| row.map(canonical)).collect(),
        diagonal: diagonal.map(canonical),
    };
    let states: Vec<[u64; WIDTH]> = plain::states(1, |lanes| lanes[0])
        .into_iter()
        .rev()
        .take(8)
        .collect();
    Examination {
        name: &std::format!("layers of width {WIDTH}"),
        files: &["poseidon2_batch.rs"],
        bounds: Some(&|| {
            let mut state = [[Element(Any).widen(); WIDTH]];
            rounds::<Wide, WIDTH>(&external, &internal).permute_unreduced::<1>(&mut state);
            for x in state[0] {
                are_within(x, -(1 << 62) + (1 << 34), (1 << 62) - (1 << 34));
            }
        }),
        inputs: &states,
        value: &|&before| {
            let mut state = [before.map(|x| Element(Lone(x)).widen())];
            rounds::<Exact, WIDTH>(&external, &internal).permute_unreduced::<1>(&mut state);
            assert_eq!(state[0].map(value), paper.permute(before));
        },
        equivalent: &[],
    }
    .run()
}

#[test]
fn layers_of_all_widths() {
    let report = layers(MATRIX_DIAG_8_GOLDILOCKS)
        + &layers(MATRIX_DIAG_12_GOLDILOCKS)
        + &layers(MATRIX_DIAG_16_GOLDILOCKS);
    insta::assert_snapshot!("layers", report);
}
