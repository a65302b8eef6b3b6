//! Dot products of packed elements, reduced once in [`TERMS`] terms.

use alloc::vec;
use alloc::vec::Vec;
use core::array;

use p3_field::{
    Algebra, BasedVectorSpace, ExtensionField, Field, PrimeCharacteristicRing, PrimeField64,
    chunked_linear_combination, generic_batched_columnwise_dot_product,
};

use crate::Goldilocks;
use crate::lazy_product::{LazyProduct, Sums, TERMS, parts, zero};
use crate::vector::{Packed, Vector};

type Packing = <Goldilocks as Field>::Packing;
type Words = <Packing as Packed>::Words;

#[inline(always)]
fn total(sums: Sums<Words>) -> Packing {
    let [low, high] = parts(sums);
    Packing::from_words(low) + Packing::from_words(high)
}

/// The rows of a pass over the sums. It divides [`TERMS`].
const ROWS: usize = 8;

/// Vectors of a row up to which a pass copies it. Short rows are near each other, and the processor expects that they are
/// read in the order of memory. Long ones are streams, which it follows side by side.
const SHORT: usize = 16;

/// `acc[c * N + j] += scales[j] * row[c]`, as [`Field::batched_columnwise_dot_product`] has it.
pub fn batched_columnwise_dot_product<EF, R, I, const N: usize>(
    acc: &mut [EF::ExtensionPacking],
    mut items: I,
) where
    EF: ExtensionField<Goldilocks>,
    R: Iterator<Item = Packing>,
    I: Iterator<Item = (R, [EF; N])>,
{
    // Few rows do not pay for the reductions.
    if items.size_hint().1.is_some_and(|rows| rows < 2 * ROWS) {
        return generic_batched_columnwise_dot_product::<Goldilocks, EF, R, I, N>(acc, items);
    }
    let vectors = acc.len() / N;
    let mut sums = vec![zero::<Words>(); acc.len() * EF::DIMENSION];
    let mut weights = vec![[[0; 3]; ROWS]; N * EF::DIMENSION];
    let mut copies = [[Words::splat(0); ROWS]; SHORT];
    let mut rows: Vec<R> = Vec::with_capacity(ROWS);
    let mut terms = 0;
    loop {
        let mut count = 0;
        for (i, (row, scales)) in items.by_ref().take(ROWS).enumerate() {
            for (weights, scale) in weights.chunks_exact_mut(EF::DIMENSION).zip(scales) {
                for (weight, w) in weights.iter_mut().zip(scale.as_basis_coefficients_slice()) {
                    weight[i] = Words::limbs_of(w.as_canonical_u64());
                }
            }
            if vectors <= SHORT {
                // A row may end early. Internal iteration keeps its position in a register.
                let mut slots = copies[..vectors].iter_mut().map(|column| &mut column[i]);
                row.take(vectors).for_each(|x| {
                    if let Some(slot) = slots.next() {
                        *slot = x.to_words();
                    }
                });
                slots.for_each(|slot| *slot = Words::splat(0));
            } else {
                rows.push(row);
            }
            count += 1;
        }
        // Rows that are not there count as zero.
        for weight in &mut weights {
            weight[count..].fill([0; 3]);
        }
        if vectors <= SHORT {
            for (sums, column) in sums.chunks_exact_mut(weights.len()).zip(&copies) {
                add_column(sums, column, &weights);
            }
        } else {
            let mut word = |i: usize| match rows.get_mut(i).and_then(Iterator::next) {
                Some(x) => x.to_words(),
                None => Words::splat(0),
            };
            for sums in sums.chunks_exact_mut(weights.len()) {
                add_column(sums, &array::from_fn(&mut word), &weights);
            }
            rows.clear();
        }
        terms += ROWS;
        if count < ROWS || terms == TERMS {
            terms = 0;
            for (acc, sums) in acc.iter_mut().zip(sums.chunks_exact_mut(EF::DIMENSION)) {
                *acc += EF::ExtensionPacking::from_basis_coefficients_fn(|i| total(sums[i]));
                sums.fill(zero());
            }
        }
        if count < ROWS {
            return;
        }
    }
}

/// Adds the products of a vector of columns and the weights of its rows, which are given by their limbs.
#[inline(always)]
fn add_column(sums: &mut [Sums<Words>], column: &[Words; ROWS], weights: &[[[u64; 3]; ROWS]]) {
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
fn add_products<const K: usize>(
    sums: &mut [Sums<Words>; K],
    column: &[Words; ROWS],
    weights: &[[[u64; 3]; ROWS]; K],
) {
    let mut local = *sums;
    for (i, word) in column.iter().enumerate() {
        let digits = word.digits();
        for (sums, weight) in local.iter_mut().zip(weights) {
            Words::add_product(sums, digits, weight[i].map(Words::splat));
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

/// `values[0] * coeffs[0] + values[1] * coeffs[1] + ...`, as [`Algebra::batched_linear_combination`] has it.
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
    use p3_field::extension::BinomialExtensionField;
    use p3_field::{PackedFieldExtension, PackedValue};
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

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
        batched_columnwise_dot_product::<Ext<D>, _, _, N>(&mut acc, items);
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
        // Rows that are copied, and rows that are not.
        for vectors in [SHORT - 1, SHORT, SHORT + 1] {
            check_columns::<2, 1>(67, vectors, mixed);
        }
    }

    /// An iterator need not know how many rows it has, and a row may be shorter than the accumulators.
    #[test]
    fn short_and_uncounted_rows_are_padded() {
        type Ext = BinomialExtensionField<Goldilocks, 2>;
        type ExtPacking = <Ext as ExtensionField<Goldilocks>>::ExtensionPacking;
        let sum = ExtPacking::from(Ext::from_u64(2 * (0..100).step_by(2).sum::<u64>()));
        for vectors in [2, SHORT + 2] {
            let row = vec![Packing::TWO; vectors - 1];
            let items = (0..100u64).filter(|i| i % 2 == 0);
            let items = items.map(|i| (row.iter().copied(), [Ext::from_u64(i)]));
            let mut acc = ExtPacking::zero_vec(vectors);
            batched_columnwise_dot_product::<Ext, _, _, 1>(&mut acc, items);
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
