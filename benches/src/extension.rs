//! Arithmetic in the extension of degree 5 of KoalaBear and in those of degree 4 of 31-bit fields, one element at a time or one
//! per lane.
//!
//! The workloads share this module so that a product has several callers, as it has in a prover: the compiler inlines
//! by itself what is called from one place only.

use std::hint::black_box;
use std::ops::MulAssign;

use p3_field::extension::{
    BinomialExtensionField, BinomiallyExtendable, PackedBinomialExtensionField,
    PackedQuinticTrinomialExtensionField, QuinticTrinomialExtensionField,
};
use p3_field::{
    BasedVectorSpace, Field, PackedField, PackedValue, PrimeCharacteristicRing, PrimeField32,
};
use p3_koala_bear::KoalaBear;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::permute;
use crate::row::{Prepared, encode};
use crate::timing::time;

pub type Packed = <KoalaBear as Field>::Packing;
pub type Quintic = QuinticTrinomialExtensionField<KoalaBear>;
pub type PackedQuintic = PackedQuinticTrinomialExtensionField<KoalaBear, Packed>;
pub type Quartic<F> = BinomialExtensionField<F, 4>;
pub type PackedBinomial<F, const D: usize> =
    PackedBinomialExtensionField<F, <F as Field>::Packing, D>;
pub type PackedQuartic<F> = PackedBinomial<F, 4>;

/// Operations per run: some milliseconds, so that reading the clock does not show.
const OPERATIONS: usize = 1 << 19;

/// Elements per pass: operands and results fill a part of the first-level cache.
const ELEMENTS: usize = 1 << 4;

/// An element of the extension, or one per lane.
pub trait Element:
    BasedVectorSpace<Self::Coefficient> + PrimeCharacteristicRing + Copy + 'static
{
    type Coefficient: PackedField<Scalar: PrimeField32>;
}

type Scalar<E> = <<E as Element>::Coefficient as PackedField>::Scalar;

impl Element for Quintic {
    type Coefficient = KoalaBear;
}

impl Element for PackedQuintic {
    type Coefficient = Packed;
}

impl<F: BinomiallyExtendable<4> + PrimeField32 + PackedField<Scalar = F>> Element for Quartic<F> {
    type Coefficient = F;
}

impl<F, const D: usize> Element for PackedBinomial<F, D>
where
    F: BinomiallyExtendable<D> + PrimeField32,
{
    type Coefficient = F::Packing;
}

fn random<E: Element>(seed: u64, count: usize) -> Vec<E> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut coefficient = || permute::random::<E::Coefficient>(&mut rng);
    (0..count)
        .map(|_| E::from_basis_coefficients_fn(|_| coefficient()))
        .collect()
}

/// The coefficients as bytes.
pub fn coefficients<E: Element>(elements: &[E]) -> Vec<u8> {
    let coefficients = |element: &E| element.as_basis_coefficients_slice().to_vec();
    encode(&elements.iter().flat_map(coefficients).collect::<Vec<_>>())
}

/// Independent products.
pub fn mul<E: Element>(seed: u64) -> Prepared {
    let factors = random::<E>(seed, 2 * ELEMENTS);
    Prepared::new(move || {
        let (factors, start) = factors.split_at(ELEMENTS);
        let mut values = start.to_vec();
        let mut products = values.clone();
        let (timing, ()) = time(|| {
            for _ in 0..OPERATIONS / ELEMENTS {
                for ((product, &value), &factor) in products.iter_mut().zip(&values).zip(factors) {
                    *product = value * factor;
                }
                std::mem::swap(&mut values, &mut products);
            }
        });
        (timing, coefficients(&values))
    })
}

/// Independent squares.
pub fn square<E: Element>(seed: u64) -> Prepared {
    let start = random::<E>(seed, ELEMENTS);
    Prepared::new(move || {
        let mut values = start.clone();
        let mut squares = start.clone();
        let (timing, ()) = time(|| {
            for _ in 0..OPERATIONS / ELEMENTS {
                for (square, value) in squares.iter_mut().zip(&values) {
                    *square = value.square();
                }
                std::mem::swap(&mut values, &mut squares);
            }
        });
        (timing, coefficients(&values))
    })
}

/// Each product is a factor of the next one.
pub fn mul_chain<E: Element>(seed: u64) -> Prepared {
    let start = random::<E>(seed, 2);
    Prepared::new(move || {
        let mut value = start[0];
        let (timing, ()) = time(|| (0..OPERATIONS).for_each(|_| value *= start[1]));
        (timing, coefficients(&[value]))
    })
}

/// Packed elements times one element: how a prover scales by a challenge.
pub fn mul_assign_packed<E: Element + MulAssign<S>, S: Element>(seed: u64) -> Prepared {
    let start = random::<E>(seed, ELEMENTS);
    let challenges = random::<S>(seed, ELEMENTS);
    Prepared::new(move || {
        let mut values = start.clone();
        let (timing, ()) = time(|| {
            for pass in 0..OPERATIONS / ELEMENTS {
                let challenge = challenges[pass % ELEMENTS];
                values.iter_mut().for_each(|value| *value *= challenge);
            }
        });
        (timing, coefficients(&values))
    })
}

/// Passes over [`ELEMENTS`] independent operations, each on the operands of the first one.
pub fn passes<E: Element>(times: usize, operation: impl Fn(E, E) -> E) -> Vec<u8> {
    let operands = random::<E>(1, 2 * ELEMENTS);
    let (left, right) = operands.split_at(ELEMENTS);
    let mut results = left.to_vec();
    for _ in 0..times {
        let pairs = black_box(left).iter().zip(black_box(right));
        for (result, (&x, &y)) in black_box(&mut results).iter_mut().zip(pairs) {
            *result = operation(x, y);
        }
    }
    coefficients(&results)
}

/// Makes passes as [`passes`] does, each over packed elements times one challenge.
pub fn scaling_passes(times: usize) -> Vec<u8> {
    let challenge = random::<Quintic>(1, 1)[0];
    passes::<PackedQuintic>(times, |mut x, _| {
        x *= challenge;
        x
    })
}

/// Chains of [`ELEMENTS`] products.
pub fn chains(times: usize) -> Vec<u8> {
    let factors = random::<Quintic>(1, ELEMENTS);
    let mut value = Quintic::ONE;
    for _ in 0..times {
        value = black_box(&factors).iter().copied().product();
    }
    coefficients(&[value])
}

/// Products of all pairs and squares, of elements with edges among their coefficients.
pub fn operations<E: Element>(seed: u64) -> Prepared {
    let edges = permute::montgomery_edges::<Scalar<E>>();
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut residue = || {
        let edge = edges[rng.random_range(0..edges.len())];
        if rng.random() {
            edge
        } else {
            permute::random(&mut rng)
        }
    };
    let mut coefficient = || E::Coefficient::from_fn(|_| residue());
    let elements: Vec<E> = (0..1 << 7)
        .map(|_| E::from_basis_coefficients_fn(|_| coefficient()))
        .collect();
    Prepared::new(move || {
        let (timing, results) = time(|| {
            let squares = elements.iter().map(E::square);
            let pairs = elements
                .iter()
                .flat_map(|&x| elements.iter().map(move |&y| x * y));
            squares.chain(pairs).collect::<Vec<E>>()
        });
        (timing, coefficients(&results))
    })
}
