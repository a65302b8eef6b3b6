//! Columnwise dot products whose sums are reduced once in many rows, for any field that has such
//! sums.
//!
//! Each row of a matrix of packed elements comes with `N` weights; column `c` has `N` sums over all
//! rows. One row after the other would load and store each sum for each row. So a pass takes
//! [`COLUMNWISE_ROWS`] rows, and adds a whole column of them to a sum while that is in registers:
//!
//! ```text
//!              column c
//!     row 0    x0           sums[c] += x0 w0 + x1 w1 + .. + x7 w7
//!     row 1    x1
//!     ..       ..
//!     row 7    x7
//! ```
//!
//! A sum of extension elements is one for each coefficient. Sums are reduced after
//! [`UnreducedSum::TERMS`] rows, and at the end.

use alloc::vec;
use alloc::vec::Vec;

use crate::{
    BasedVectorSpace, ExtensionField, Field, PrimeCharacteristicRing,
    generic_batched_columnwise_dot_product,
};

/// The rows of a pass over the sums of columnwise dot products.
pub const COLUMNWISE_ROWS: usize = 8;

/// Vectors of a row up to which a pass copies it. Short rows are near each other, and the processor
/// expects that they are read in the order of memory. Long ones are streams, which it follows side
/// by side.
const SHORT: usize = 16;

/// A sum of products of packed elements and scalar weights, before it is reduced.
pub trait UnreducedSum<F: Field>: Copy {
    /// A weight in the form that products take. The default is zero.
    type Weight: Copy + Default;

    /// Terms that a sum takes, a multiple of [`COLUMNWISE_ROWS`] above zero.
    const TERMS: usize;

    /// Returns the sum of no products.
    fn zero() -> Self;

    /// Returns a weight in the form that products take.
    fn weight(x: F) -> Self::Weight;

    /// Adds the products of a vector of columns and the weights of its rows, those of `sums[i]` in
    /// `weights[i]`.
    ///
    /// # Preconditions
    ///
    /// At most `TERMS - COLUMNWISE_ROWS` products were added to each sum since [`Self::zero`].
    fn add_products(
        sums: &mut [Self],
        column: &[F::Packing; COLUMNWISE_ROWS],
        weights: &[[Self::Weight; COLUMNWISE_ROWS]],
    );

    /// Returns the element that the sum stands for.
    fn reduce(self) -> F::Packing;
}

/// `acc[c * N + j] += scales[j] * row[c]`, as [`Field::batched_columnwise_dot_product`] has it,
/// with sums that are reduced once in [`UnreducedSum::TERMS`] rows.
pub fn unreduced_columnwise_dot_product<S, F, EF, R, I, const N: usize>(
    acc: &mut [EF::ExtensionPacking],
    items: I,
) where
    S: UnreducedSum<F>,
    F: Field,
    EF: ExtensionField<F>,
    R: Iterator<Item = F::Packing>,
    I: Iterator<Item = (R, [EF; N])>,
{
    const { assert!(S::TERMS > 0 && S::TERMS.is_multiple_of(COLUMNWISE_ROWS)) };

    // Few rows do not pay for the reductions.
    if items
        .size_hint()
        .1
        .is_some_and(|rows| rows < 2 * COLUMNWISE_ROWS)
    {
        return generic_batched_columnwise_dot_product::<F, EF, R, I, N>(acc, items);
    }
    let vectors = acc.len() / N;
    let mut sums = vec![S::zero(); acc.len() * EF::DIMENSION];
    let mut weights = vec![[S::Weight::default(); COLUMNWISE_ROWS]; N * EF::DIMENSION];
    let copied = if vectors <= SHORT { vectors } else { 0 };
    let mut columns = vec![[F::Packing::ZERO; COLUMNWISE_ROWS]; copied];
    let mut rows: Vec<R> = Vec::with_capacity(COLUMNWISE_ROWS);
    let mut count = 0;
    let mut terms = 0;
    // A loop would call `next`, and rows pass through memory where the compiler does not inline it.
    items.for_each(|(row, scales)| {
        for (weights, scale) in weights.chunks_exact_mut(EF::DIMENSION).zip(scales) {
            for (weights, &w) in weights.iter_mut().zip(scale.as_basis_coefficients_slice()) {
                weights[count] = S::weight(w);
            }
        }
        if vectors <= SHORT {
            // A row may end early. Internal iteration keeps its position in a register.
            let mut slots = columns.iter_mut().map(|column| &mut column[count]);
            row.take(vectors).for_each(|x| {
                if let Some(slot) = slots.next() {
                    *slot = x;
                }
            });
            slots.for_each(|slot| *slot = F::Packing::ZERO);
        } else {
            rows.push(row);
        }
        count += 1;
        if count == COLUMNWISE_ROWS {
            add_pass::<S, F, R>(&mut sums, &columns, &mut rows, &weights);
            count = 0;
            terms += COLUMNWISE_ROWS;
            if terms == S::TERMS {
                reduce::<S, F, EF>(acc, &mut sums);
                terms = 0;
            }
        }
    });
    // Rows that are not there count as zero.
    for weights in &mut weights {
        weights[count..].fill(S::Weight::default());
    }
    add_pass::<S, F, R>(&mut sums, &columns, &mut rows, &weights);
    reduce::<S, F, EF>(acc, &mut sums);
}

/// Adds the products of a pass to the sums, of columns that were copied or of rows, which it drops.
fn add_pass<S, F, R>(
    sums: &mut [S],
    columns: &[[F::Packing; COLUMNWISE_ROWS]],
    rows: &mut Vec<R>,
    weights: &[[S::Weight; COLUMNWISE_ROWS]],
) where
    S: UnreducedSum<F>,
    F: Field,
    R: Iterator<Item = F::Packing>,
{
    for (sums, column) in sums.chunks_exact_mut(weights.len()).zip(columns) {
        S::add_products(sums, column, weights);
    }
    if let Ok(rows) = <&mut [R; COLUMNWISE_ROWS]>::try_from(&mut rows[..]) {
        // The compiler knows how many, and unrolls the loop over them.
        add_rows::<S, F, R>(sums, rows, weights);
    } else if !rows.is_empty() {
        add_rows::<S, F, R>(sums, rows, weights);
    }
    rows.clear();
}

/// Adds the products of rows and weights to the sums, a vector of each row at a time.
#[inline(always)]
fn add_rows<S, F, R>(sums: &mut [S], rows: &mut [R], weights: &[[S::Weight; COLUMNWISE_ROWS]])
where
    S: UnreducedSum<F>,
    F: Field,
    R: Iterator<Item = F::Packing>,
{
    let mut column = [F::Packing::ZERO; COLUMNWISE_ROWS];
    for sums in sums.chunks_exact_mut(weights.len()) {
        // No closure: where the compiler does not inline it, vectors pass through memory, one after
        // the other.
        for (slot, row) in column.iter_mut().zip(&mut *rows) {
            match row.next() {
                Some(x) => *slot = x,
                None => *slot = F::Packing::ZERO,
            }
        }
        S::add_products(sums, &column, weights);
    }
}

/// Adds what the sums stand for to the accumulators, and makes the sums zero.
fn reduce<S, F, EF>(acc: &mut [EF::ExtensionPacking], sums: &mut [S])
where
    S: UnreducedSum<F>,
    F: Field,
    EF: ExtensionField<F>,
{
    for (acc, sums) in acc.iter_mut().zip(sums.chunks_exact_mut(EF::DIMENSION)) {
        *acc += EF::ExtensionPacking::from_basis_coefficients_fn(|i| sums[i].reduce());
        sums.fill(S::zero());
    }
}
