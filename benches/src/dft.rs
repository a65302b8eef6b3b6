//! Low-degree extensions and the transforms that they consist of.

use std::mem;
#[cfg(feature = "since-0-8")]
use std::{collections::BTreeMap, sync::Mutex};

#[cfg(feature = "since-0-6")]
use p3_dft::Layout;
use p3_dft::{Radix2DFTSmallBatch, Radix2DitParallel, TwoAdicSubgroupDft};
use p3_field::{Field, PrimeField64, TwoAdicField};
use p3_goldilocks::Goldilocks;
use p3_matrix::Matrix;
use p3_matrix::bitrev::BitReversibleMatrix;
use p3_matrix::dense::RowMajorMatrix;
#[cfg(feature = "since-0-6")]
use p3_matrix::dense::RowMajorMatrixViewMut;
#[cfg(feature = "since-0-8")]
use p3_matrix::{bitrev::BitReversedMatrixView, dense::RowMajorMatrixView};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::permute;
use crate::row::{Prepared, hashed};
use crate::timing::time;

/// Every row extends to twice the height, on the coset that p3-fri commits to.
const ADDED_BITS: usize = 1;

/// Links of [`lde_chain`]: some milliseconds, so that reading the clock does not show.
const LINKS: usize = 1 << 8;

/// Extends a matrix. The output is the result's storage, which is in bit-reversed order.
pub fn lde<F: TwoAdicField + PrimeField64>(seed: u64, log_height: usize, width: usize) -> Prepared {
    let dft = Radix2DitParallel::default();
    let extend = move |matrix| extend::<F>(&dft, matrix);
    warm(seed, 1 << log_height, width, ADDED_BITS, extend)
}

/// Extends a matrix that is too small for the clock, then the first half of the result, and so on.
pub fn lde_chain<F: TwoAdicField + PrimeField64>(
    seed: u64,
    log_height: usize,
    width: usize,
) -> Prepared {
    let dft = Radix2DitParallel::default();
    let extend = move |mut matrix: RowMajorMatrix<F>| {
        let size = matrix.values.len();
        for _ in 1..LINKS {
            matrix = extend(&dft, matrix);
            matrix.values.truncate(size);
        }
        extend(&dft, matrix)
    };
    warm(seed, 1 << log_height, width, ADDED_BITS, extend)
}

fn extend<F: TwoAdicField + Ord>(
    dft: &Radix2DitParallel<F>,
    matrix: RowMajorMatrix<F>,
) -> RowMajorMatrix<F> {
    dft.coset_lde_batch(matrix, ADDED_BITS, F::GENERATOR)
        .bit_reverse_rows()
}

/// Transforms a matrix in place. The output is the result's storage, which is in bit-reversed order.
pub fn dft<F: TwoAdicField + PrimeField64>(seed: u64, log_height: usize, width: usize) -> Prepared {
    let dft = Radix2DitParallel::<F>::default();
    let transform = move |matrix| dft.dft_batch(matrix).bit_reverse_rows();
    warm(seed, 1 << log_height, width, 0, transform)
}

/// Extends as [`lde`] does, by upstream's transform for narrow matrices. The output is in natural order. That transform allocates its
/// result, so fresh pages are part of its time.
pub fn lde_small_batch(seed: u64, log_height: usize, width: usize) -> Prepared {
    let dft = Radix2DFTSmallBatch::default();
    let extend = move |matrix| dft.coset_lde_batch(matrix, ADDED_BITS, Goldilocks::GENERATOR);
    warm(seed, 1 << log_height, width, ADDED_BITS, extend)
}

/// Extends as [`lde_small_batch`] does, and puts the result into the order in which p3-fri commits to it.
pub fn lde_small_batch_bit_reversed(seed: u64, log_height: usize, width: usize) -> Prepared {
    let dft = Radix2DFTSmallBatch::default();
    let extend = move |matrix| {
        dft.coset_lde_batch(matrix, ADDED_BITS, Goldilocks::GENERATOR)
            .bit_reverse_rows()
            .to_row_major_matrix()
    };
    warm(seed, 1 << log_height, width, ADDED_BITS, extend)
}

/// Runs `transform` on a random matrix, in memory that already holds the result and was written before: a run's result is
/// the memory of the next one. The first run, which is not timed, computes the twiddles and allocates that memory, so that it is in the
/// count of bytes.
fn warm<F: PrimeField64>(
    seed: u64,
    height: usize,
    width: usize,
    added_bits: usize,
    transform: impl Fn(RowMajorMatrix<F>) -> RowMajorMatrix<F> + 'static,
) -> Prepared {
    let size = height * width;
    let mut memory = Vec::new();
    Prepared::new(move || {
        if memory.is_empty() {
            // Not zeros: the allocator may take pages of zeros from the system and never write to them.
            memory = vec![F::ONE; size << added_bits];
        }
        let mut values = mem::take(&mut memory);
        let mut rng = SmallRng::seed_from_u64(seed);
        values.clear();
        values.extend((0..size).map(|_| permute::random::<F>(&mut rng)));
        let matrix = RowMajorMatrix::new(values, width);
        let (timing, result) = time(|| transform(matrix));
        memory = result.values;
        (timing, hashed(&memory))
    })
}

/// The lengths of these tables have no common divisor, so a walk along both meets every pair.
const LOG_HEIGHTS: [usize; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13];
const WIDTHS: [usize; 17] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 23, 32, 33, 64, 65];

/// Words on both sides of the order; a constructor takes any.
pub fn goldilocks_edges() -> [Goldilocks; 8] {
    const P: u64 = Goldilocks::ORDER_U64;
    [0, 1, 1 << 32, P - 1, P, P + 1, u64::MAX - 1, u64::MAX].map(Goldilocks::new)
}

/// One matrix for all methods, those with a coset on the same one.
struct Case<F> {
    matrix: RowMajorMatrix<F>,
    added_bits: usize,
    shift: F,
}

/// Every method that provers call, on a third of all pairs of height and width: each height and each width is in it four times at least.
/// The outputs are the results' storage.
pub fn odd_shapes<F: TwoAdicField + PrimeField64>(seed: u64, edges: &[F]) -> Prepared {
    let mut rng = SmallRng::seed_from_u64(seed);
    let pairs = LOG_HEIGHTS.len() * WIDTHS.len();
    let start = rng.random_range(0..pairs);
    let cases: Vec<Case<F>> = (start..start + pairs / 3)
        .map(|index| {
            let width = WIDTHS[index % WIDTHS.len()];
            let size = width << LOG_HEIGHTS[index % LOG_HEIGHTS.len()];
            let mut element = || match edges.get(rng.random_range(0..4 * edges.len())) {
                Some(&edge) => edge,
                None => permute::random(&mut rng),
            };
            let matrix = RowMajorMatrix::new((0..size).map(|_| element()).collect(), width);
            let shifts = [F::ONE, F::GENERATOR, permute::random(&mut rng)];
            Case {
                matrix,
                added_bits: rng.random_range(0..=3),
                shift: shifts[rng.random_range(0..shifts.len())],
            }
        })
        .collect();
    Prepared::new(move || {
        // Twiddles of a smaller transform must not serve a larger one, so all cases share this.
        let dft = Radix2DitParallel::default();
        time(|| cases.iter().flat_map(|case| case.run(&dft)).collect())
    })
}

impl<F: TwoAdicField + PrimeField64> Case<F> {
    fn run(&self, dft: &Radix2DitParallel<F>) -> Vec<u8> {
        let matrix = || self.matrix.clone();
        let (added_bits, shift) = (self.added_bits, self.shift);
        let stored = [
            dft.dft_batch(matrix()),
            dft.coset_dft_batch(matrix(), shift),
            dft.coset_lde_batch(matrix(), added_bits, shift),
            #[cfg(feature = "since-0-6")]
            dft.coset_lde_batch_with_transform(matrix(), added_bits, shift, mark),
            #[cfg(feature = "since-0-8")]
            self.in_blocks(dft),
        ]
        .map(BitReversibleMatrix::bit_reverse_rows);
        let natural = [
            dft.idft_batch(matrix()),
            dft.coset_idft_batch(matrix(), shift),
        ];
        let results = stored.iter().chain(&natural);
        results.flat_map(|result| hashed(&result.values)).collect()
    }

    /// Checks that every row of the result was in one block, and in no second one.
    #[cfg(feature = "since-0-8")]
    fn in_blocks(&self, dft: &Radix2DitParallel<F>) -> BitReversedMatrixView<RowMajorMatrix<F>> {
        let blocks = Mutex::new(BTreeMap::new());
        let (added_bits, shift) = (self.added_bits, self.shift);
        let matrix = self.matrix.clone();
        let result = dft.coset_lde_batch_with_blocks(matrix, added_bits, shift, mark, |height| {
            let blocks = &blocks;
            move |start, block: RowMajorMatrixView<'_, F>| {
                assert_eq!(block.height(), height, "the block at row {start}");
                let before = blocks.lock().unwrap().insert(start, block.values.to_vec());
                assert!(before.is_none(), "row {start} begins two blocks");
            }
        });
        let result = result.bit_reverse_rows();
        let mut rows = 0;
        for (start, block) in blocks.into_inner().unwrap() {
            let values = &result.values[start * result.width..][..block.len()];
            assert_eq!(start, rows, "blocks have gaps or overlap");
            assert!(block == values, "the block at row {start} changed after");
            rows += block.len() / result.width;
        }
        assert_eq!(rows, result.height(), "rows were in no block");
        result.bit_reverse_rows()
    }
}

/// Multiplies each coefficient by a number that tells its index, so that a wrong layout shows.
#[cfg(feature = "since-0-6")]
fn mark<F: TwoAdicField>(coefficients: &mut RowMajorMatrixViewMut<'_, F>, layout: Layout) {
    let log_height = coefficients.height().ilog2();
    for (row, values) in coefficients.rows_mut().enumerate() {
        let index = match layout {
            Layout::Natural => row,
            Layout::BitReversed => row.reverse_bits().unbounded_shr(usize::BITS - log_height),
        };
        let factor = F::from_usize(index + 2);
        values.iter_mut().for_each(|value| *value *= factor);
    }
}
