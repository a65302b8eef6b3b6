//! Dot products of packed elements, reduced once in [`TERMS`] terms.
//!
//! Two loops of provers are such products, and have a hook each: columns of a matrix with weights
//! ([`Columnwise`]), and coefficients of extension elements with base elements
//! ([`coeffwise_dot_product`]). Both add products of digits and limbs to unreduced sums
//! ([`crate::lazy_product`]); one factor is cut into limbs once for all the sums that it goes to.
//! Few terms do not pay for the reductions, and are added up as before.

use core::array;

use p3_field::{Algebra, Field, PrimeCharacteristicRing, PrimeField64, chunked_linear_combination};

use crate::lazy_product::{LazyProduct, Sums, TERMS, parts, zero};
use crate::vector::{Packed, Vector};
use crate::{COLUMNWISE_ROWS, Goldilocks, UnreducedSum};

type Packing = <Goldilocks as Field>::Packing;
type Words = <Packing as Packed>::Words;

#[inline(always)]
fn total(sums: Sums<Words>) -> Packing {
    let [low, high] = parts(sums);
    Packing::from_words(low) + Packing::from_words(high)
}

/// A sum of products of columns and weights, which are given by their limbs.
#[derive(Clone, Copy)]
pub struct Columnwise(Sums<Words>);

impl UnreducedSum<Goldilocks> for Columnwise {
    type Weight = [u64; 3];
    const TERMS: usize = TERMS;

    #[inline(always)]
    fn zero() -> Self {
        Self(zero())
    }

    #[inline(always)]
    fn weight(x: Goldilocks) -> [u64; 3] {
        Words::limbs_of(x.as_canonical_u64())
    }

    #[inline(always)]
    fn add_products(
        sums: &mut [Self],
        column: &[Packing; COLUMNWISE_ROWS],
        weights: &[[Self::Weight; COLUMNWISE_ROWS]],
    ) {
        // Two at a time, so that their sums stay in registers.
        let (weight_pairs, weight_rest) = weights.as_chunks::<2>();
        let (sum_pairs, sum_rest) = sums.as_chunks_mut::<2>();
        for (sums, weights) in sum_pairs.iter_mut().zip(weight_pairs) {
            add_products(sums, column, weights);
        }
        for (sums, weights) in sum_rest.iter_mut().zip(weight_rest) {
            add_products(array::from_mut(sums), column, array::from_ref(weights));
        }
    }

    #[inline(always)]
    fn reduce(self) -> Packing {
        total(self.0)
    }
}

#[inline(always)]
fn add_products<const K: usize>(
    sums: &mut [Columnwise; K],
    column: &[Packing; COLUMNWISE_ROWS],
    weights: &[[[u64; 3]; COLUMNWISE_ROWS]; K],
) {
    let mut local = *sums;
    for (i, x) in column.iter().enumerate() {
        let digits = x.to_words().digits();
        for (sums, weight) in local.iter_mut().zip(weights) {
            Words::add_product(&mut sums.0, digits, weight[i].map(Words::splat));
        }
    }
    *sums = local;
}

/// Pairs from which on the reductions of a dot product take less time than is saved.
pub const LEAST_TERMS: usize = 8;

/// The accumulators of `d` dot products, as `PackedField::coeffwise_dot_product` has them.
#[inline]
pub fn coeffwise_dot_product<'a>(
    d: usize,
    pairs: impl Iterator<Item = (&'a [Packing], Packing)>,
) -> [Packing; 8] {
    let few = pairs.size_hint().1.is_some_and(|pairs| pairs < LEAST_TERMS);
    match d {
        2 if !few => coeffwise::<2>(pairs),
        3 if !few => coeffwise::<3>(pairs),
        _ => {
            let mut acc = [Packing::ZERO; 8];
            for (coeffs, base) in pairs {
                for (acc, &coeff) in acc[..d].iter_mut().zip(coeffs) {
                    *acc += coeff * base;
                }
            }
            acc
        }
    }
}

#[inline(always)]
fn coeffwise<'a, const D: usize>(
    mut pairs: impl Iterator<Item = (&'a [Packing], Packing)>,
) -> [Packing; 8] {
    let mut acc = [Packing::ZERO; 8];
    loop {
        let mut terms = 0;
        let mut sums = [zero(); D];
        for (coeffs, base) in pairs.by_ref().take(TERMS) {
            terms += 1;
            // A slice may be shorter.
            let mut factors = [Words::splat(0); D];
            for (factor, coeff) in factors.iter_mut().zip(coeffs) {
                *factor = coeff.to_words();
            }
            let limbs = base.to_words().limbs();
            for (sums, factor) in sums.iter_mut().zip(factors) {
                Words::add_product(sums, factor.digits(), limbs);
            }
        }
        for (acc, sums) in acc.iter_mut().zip(sums) {
            *acc += total(sums);
        }
        if terms < TERMS {
            return acc;
        }
    }
}

/// `values[0] * coeffs[0] + values[1] * coeffs[1] + ...`, as
/// [`Algebra::batched_linear_combination`] has it.
///
/// # Panics
/// Panics if the lengths differ.
#[inline]
pub fn batched_linear_combination(values: &[Packing], coeffs: &[Goldilocks]) -> Packing {
    if values.len() < LEAST_TERMS {
        const CHUNK: usize = <Packing as Algebra<Goldilocks>>::BATCHED_LC_CHUNK;
        return chunked_linear_combination::<CHUNK, _, _>(values, coeffs);
    }
    assert_eq!(values.len(), coeffs.len());
    let parts = values.chunks(TERMS).zip(coeffs.chunks(TERMS));
    parts.fold(Packing::ZERO, |acc, (values, coeffs)| {
        let mut sums = zero();
        for (value, &coeff) in values.iter().zip(coeffs) {
            let digits = Packing::from(coeff).to_words().digits();
            Words::add_product(&mut sums, digits, value.to_words().limbs());
        }
        acc + total(sums)
    })
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use p3_field::extension::BinomialExtensionField;
    use p3_field::{BasedVectorSpace, ExtensionField, PackedFieldExtension, PackedValue};
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::unreduced_columnwise_dot_product;

    const LANES: usize = Packing::WIDTH;

    /// Counts of terms next to the thresholds, to a pass over rows, and to a reduction.
    const COUNTS: [usize; 12] = [
        0,
        1,
        7,
        8,
        15,
        16,
        17,
        100,
        TERMS - 1,
        TERMS,
        TERMS + 1,
        2 * TERMS + 9,
    ];

    /// Words next to every carry. Not all are canonical.
    const EDGES: [u64; 8] = [
        0,
        1,
        0xffff_ffff,
        1 << 32,
        1 << 63,
        0xffff_ffff_0000_0000,
        0xffff_ffff_0000_0001,
        0xffff_ffff_ffff_ffff,
    ];

    /// Edges and random words.
    fn mixed(count: usize) -> Vec<Goldilocks> {
        let mut rng = SmallRng::seed_from_u64(count as u64);
        let mut word = |i: usize| match EDGES.get(rng.random_range(0..2 * EDGES.len())) {
            Some(&edge) => edge,
            None => rng.random::<u64>() ^ i as u64,
        };
        (0..count).map(|i| Goldilocks::new(word(i))).collect()
    }

    /// Words with all bits set, which take the sums to their bounds.
    fn full(count: usize) -> Vec<Goldilocks> {
        vec![Goldilocks::new(u64::MAX); count]
    }

    fn dot(x: impl Iterator<Item = Goldilocks>, y: impl Iterator<Item = Goldilocks>) -> Goldilocks {
        x.zip(y).fold(Goldilocks::ZERO, |sum, (x, y)| sum + x * y)
    }

    fn lane(values: &[Packing], lane: usize) -> impl Iterator<Item = Goldilocks> {
        values.iter().map(move |x| x.as_slice()[lane])
    }

    fn check_columns<const D: usize, const N: usize>(
        height: usize,
        vectors: usize,
        words: fn(usize) -> Vec<Goldilocks>,
    ) where
        BinomialExtensionField<Goldilocks, D>: ExtensionField<Goldilocks>,
    {
        type Ext<const D: usize> = BinomialExtensionField<Goldilocks, D>;
        let matrix = words(height * vectors * LANES);
        let matrix = Packing::pack_slice(&matrix);
        let weights = words(height * N * D);
        let items = (0..height).map(|r| {
            let scales = array::from_fn(|j| {
                Ext::<D>::from_basis_coefficients_fn(|k| weights[(r * N + j) * D + k])
            });
            let row = matrix[r * vectors..][..vectors].iter().copied();
            (row, scales)
        });
        // The products are added to the ones.
        let one = <Ext<D> as ExtensionField<Goldilocks>>::ExtensionPacking::ONE;
        let mut acc = vec![one; vectors * N];
        unreduced_columnwise_dot_product::<Columnwise, Goldilocks, Ext<D>, _, _, N>(
            &mut acc, items,
        );
        for (i, acc) in acc.iter().enumerate() {
            let (c, j) = (i / N, i % N);
            for l in 0..LANES {
                let expected = Ext::<D>::from_basis_coefficients_fn(|k| {
                    let column = lane(matrix, l).skip(c).step_by(vectors);
                    let weights = weights.iter().skip(j * D + k).step_by(N * D);
                    dot(column, weights.copied())
                });
                assert_eq!(acc.extract(l), Ext::<D>::ONE + expected, "{height} rows");
            }
        }
    }

    #[test]
    fn columns_match_scalar_products() {
        for height in COUNTS {
            for words in [mixed, full] {
                check_columns::<2, 1>(height, 3, words);
                check_columns::<5, 1>(height, 1, words);
                check_columns::<2, 3>(height, 2, words);
            }
        }
        // Rows of up to 16 vectors are copied.
        for vectors in [15, 16, 17] {
            check_columns::<2, 1>(67, vectors, mixed);
        }
    }

    /// An iterator need not know how many rows it has, and a row may be shorter than the
    /// accumulators.
    #[test]
    fn short_and_uncounted_rows_are_padded() {
        type Ext = BinomialExtensionField<Goldilocks, 2>;
        type ExtPacking = <Ext as ExtensionField<Goldilocks>>::ExtensionPacking;
        let sum = ExtPacking::from(Ext::from_u64(2 * (0..100).step_by(2).sum::<u64>()));
        for vectors in [2, 18] {
            let row = vec![Packing::TWO; vectors - 1];
            let mut even = (0..100u64).step_by(2);
            let items = core::iter::from_fn(|| even.next());
            assert_eq!(items.size_hint(), (0, None));
            let items = items.map(|i| (row.iter().copied(), [Ext::from_u64(i)]));
            let mut acc = ExtPacking::zero_vec(vectors);
            unreduced_columnwise_dot_product::<Columnwise, Goldilocks, Ext, _, _, 1>(
                &mut acc, items,
            );
            assert_eq!(acc[..vectors - 1], vec![sum; vectors - 1]);
            assert_eq!(acc[vectors - 1], ExtPacking::ZERO);
        }
    }

    #[test]
    fn coefficients_match_scalar_products() {
        for (count, d) in COUNTS
            .into_iter()
            .flat_map(|n| [1, 2, 3, 5, 8].map(|d| (n, d)))
        {
            for words in [mixed, full] {
                let (values, weights) = (words(count * LANES), words(d * count * LANES));
                let values = Packing::pack_slice(&values);
                let weights = Packing::pack_slice(&weights);
                let pairs = weights.chunks_exact(d).zip(values.iter().copied());
                let acc = coeffwise_dot_product(d, pairs);
                for (k, l) in (0..8).flat_map(|k| (0..LANES).map(move |l| (k, l))) {
                    let expected = if k < d {
                        dot(lane(values, l), lane(weights, l).skip(k).step_by(d))
                    } else {
                        Goldilocks::ZERO
                    };
                    assert_eq!(
                        acc[k].as_slice()[l],
                        expected,
                        "{count} terms of degree {d}"
                    );
                }
            }
        }
    }

    #[test]
    fn combinations_match_scalar_products() {
        for (count, words) in COUNTS
            .into_iter()
            .flat_map(|n| [(n, mixed as fn(usize) -> _), (n, full)])
        {
            let (values, coeffs) = (words(count * LANES), words(count));
            let values = Packing::pack_slice(&values);
            let combination = batched_linear_combination(values, &coeffs);
            for l in 0..LANES {
                let expected = dot(lane(values, l), coeffs.iter().copied());
                assert_eq!(combination.as_slice()[l], expected, "{count} terms");
            }
        }
    }
}
