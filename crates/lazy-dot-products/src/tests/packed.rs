//! The hooks of this build and their sums, against integers. Their tests against scalar products are beside them.

use std::vec::Vec;

use p3_field::{Field, PackedValue, PrimeCharacteristicRing, PrimeField64};
use p3_goldilocks::Goldilocks;
use p3_patches_testing::goldilocks::{self as plain, EDGES, representative};
use p3_patches_testing::mutation::sample;
use proptest::prelude::*;

use crate::dot_product::{batched_linear_combination, coeffwise_dot_product};
use crate::lazy_product::{LazyProduct, TERMS, parts, zero};
use crate::vector::{Packed, Vector};

type Packing = <Goldilocks as Field>::Packing;
type V = <Packing as Packed>::Words;

#[test]
#[should_panic(expected = "left == right")]
fn combinations_reject_lengths_that_differ() {
    let _ = batched_linear_combination(&[Packing::ONE; 20], &[Goldilocks::ONE; 19]);
}

/// A slice that is shorter than the degree contributes what it has.
#[test]
fn short_coefficients_count_as_zero() {
    let values = [Packing::TWO; 20];
    let full = [Packing::ONE; 2];
    let pairs = (values.iter().enumerate()).map(|(i, value)| (&full[..i % 3], *value));
    let acc = coeffwise_dot_product(2, pairs);
    assert_eq!(acc[0], Packing::from_u64(2 * 13));
    assert_eq!(acc[1], Packing::from_u64(2 * 6));
}

fn words(x: V) -> Vec<u64> {
    let packed = Packing::from_words(x);
    packed
        .as_slice()
        .iter()
        .map(|x| x.as_canonical_u64())
        .collect()
}

/// Terms at the bounds, and edges, for Miri: no scalar arithmetic of Plonky3. As many terms as fit would take it a minute.
#[test]
pub fn few_sums_are_exact() {
    for (x, y, terms) in [
        (u64::MAX, u64::MAX, if cfg!(miri) { 64 } else { TERMS }),
        (1 << 63, 1 << 51, 3),
        (EDGES[6], EDGES[13], 2),
        (0, 5, 1),
        (1, 1, 0),
    ] {
        let mut sums = zero();
        for _ in 0..terms {
            V::add_product(&mut sums, V::splat(x).digits(), V::splat(y).limbs());
        }
        let expected = plain::mul(plain::mul(x, y), terms as u64);
        let [low, high] = parts(sums).map(words);
        assert!(
            low.iter()
                .zip(&high)
                .all(|(&low, &high)| plain::add(low, high) == expected),
            "{x:x} {y:x}"
        );
    }
}

fn dot(x: impl Iterator<Item = u64>, y: impl Iterator<Item = u64>) -> u64 {
    x.zip(y)
        .fold(0, |sum, (x, y)| plain::add(sum, plain::mul(x, y)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn combinations_of_any_words(
        values in prop::collection::vec(representative(), 40 * Packing::WIDTH),
        coefficients in prop::collection::vec(representative(), 0..40),
    ) {
        check_combination(&values[..coefficients.len() * Packing::WIDTH], &coefficients);
    }
}

#[track_caller]
fn check_combination(values: &[u64], coefficients: &[u64]) {
    let elements =
        |words: &[u64]| -> Vec<Goldilocks> { words.iter().copied().map(Goldilocks::new).collect() };
    let combination = batched_linear_combination(
        Packing::pack_slice(&elements(values)),
        &elements(coefficients),
    );
    for lane in 0..Packing::WIDTH {
        let column = values.iter().skip(lane).step_by(Packing::WIDTH).copied();
        assert_eq!(
            combination.as_slice()[lane].as_canonical_u64(),
            dot(column, coefficients.iter().copied())
        );
    }
}

/// Few of them, for instructions that go wrong in an emulator.
#[test]
pub fn few_combinations_are_exact() {
    for count in [20, 40] {
        let words = sample(representative(), count * (Packing::WIDTH + 1));
        let (coefficients, values) = words.split_at(count);
        check_combination(values, coefficients);
    }
}
