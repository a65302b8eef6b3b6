//! The butterfly network of `Radix2DitParallel`: rows in natural order in, rows in bit-reversed
//! order out.
//!
//! Layer `s` consists of `2^s` blocks of consecutive rows. It maps the halves `lo`, `hi` of each
//! block to `lo + t hi`, `lo - t hi`, and these are two blocks of the next layer. A block has one
//! twiddle `t`, so a butterfly works on two long runs of memory, however narrow the matrix is.
//!
//! A column of a block of `2n` rows is a polynomial modulo `X^(2n) - t^2`, and the two halves that
//! follow are its remainders modulo `X^n - t` and `X^n + t`. At the end `n` is 1, and the
//! remainders are values. For eight rows:
//!
//! ```text
//! row   layer 0   layer 1   layer 2   value
//!  0      lo        lo        lo        0
//!  1      lo        lo        hi        4
//!  2      lo        hi        lo        2
//!  3      lo        hi        hi        6
//!  4      hi        lo        lo        1
//!  5      hi        lo        hi        5
//!  6      hi        hi        lo        3
//!  7      hi        hi        hi        7
//! ```
//!
//! Matrices that exceed the cache are transformed in two passes over memory:
//! - The first `a` layers see the matrix as `2^a` long rows, whose columns are independent. A tile
//!   of columns is copied to scratch memory by its first layer, and back by its last one.
//! - The other layers work on `2^a` blocks of rows one by one, again in tiles of columns where a
//!   block exceeds the cache.
//!
//! Where a half of a block takes less than a few vectors, a vector takes one element of as many
//! blocks as it has lanes.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::mem::{MaybeUninit, transmute};
use core::slice;

use p3_field::{Field, PackedValue, Powers};
use p3_matrix::Matrix;
use p3_matrix::dense::{RowMajorMatrixView, RowMajorMatrixViewMut};
use p3_maybe_rayon::prelude::*;
use p3_util::{log2_ceil_usize, log2_strict_usize, reverse_slice_index_bits};

use crate::{Butterfly, DitButterfly, ScaledDitButterfly, TwiddleFreeButterfly};

/// Bytes of a tile: half of the L2 cache of the smallest cores that servers have.
const TILE_BYTES: usize = 1 << 18;

/// Least and most bytes of a tile's row: two cache lines, and a page.
const SEGMENT_BYTES: [usize; 2] = [1 << 7, 1 << 12];

/// Bytes of a block whose layers are done one after the other: half of an L1 cache.
const BLOCK_BYTES: usize = 1 << 14;

/// Vectors in half a block, below which vectors cross blocks.
const FEW_VECTORS: usize = 4;

/// Layers of at most `FEW_VECTORS` vectors of 32 lanes.
const MOST_CROSSING: usize = 7;

/// Lanes from which on a product takes less time than a load of each lane by itself.
const MANY_LANES: usize = 16;

/// The twiddles of a network on `2^log_h` rows, for the coset `shift H` of the group `H` that
/// `root` generates.
///
/// Entry `l` is for the layer whose blocks have `2^(l + 1)` rows: `root^(2^l e) shift^(2^l)`, where
/// `e` is the index of the block with its bits reversed.
pub fn twiddles<F: Field>(log_h: usize, root: F, shift: F) -> Vec<Vec<F>> {
    (0..log_h)
        .map(|layer| {
            let powers = Powers {
                base: root.exp_power_of_2(layer),
                current: shift.exp_power_of_2(layer),
            };
            let mut twiddles = powers.collect_n(1 << (log_h - 1 - layer));
            reverse_slice_index_bits(&mut twiddles);
            twiddles
        })
        .collect()
}

/// How a matrix is divided between the two passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passes {
    /// Layers of the first pass: none, or at least two.
    pub log_blocks: usize,
    /// Layers of the second pass, on blocks of `2^log_block_height` rows.
    pub log_block_height: usize,
    width: usize,
    threads: usize,
    tile_bytes: usize,
}

impl Passes {
    /// For a matrix of `2^log_h` rows of `width` elements of type `F`, and the current number of
    /// threads.
    pub fn new<F>(log_h: usize, width: usize) -> Self {
        let threads = current_num_threads();
        let bytes = (width << log_h) * size_of::<F>();
        // A matrix in one block is transformed by one thread.
        let most = if threads > 1 { BLOCK_BYTES } else { TILE_BYTES };
        let log_blocks = if bytes > most && log_h >= 4 {
            log_h / 2
        } else {
            0
        };
        Self {
            log_blocks,
            log_block_height: log_h - log_blocks,
            width,
            threads,
            tile_bytes: TILE_BYTES,
        }
    }

    /// Elements in each row of a tile of `rows` rows, where all tiles together have `row_len`.
    fn segment<F: Field>(self, rows: usize, row_len: usize) -> usize {
        let mut bytes = self.tile_bytes / rows;
        if self.threads > 1 {
            // Tasks enough for the threads to share.
            bytes = bytes.min(row_len * size_of::<F>() / (4 * self.threads));
        }
        let [least, most] = SEGMENT_BYTES;
        let most = (bytes.clamp(least, most) / size_of::<F>()).max(1);
        // Tiles of nearly equal width, so that none is left with a few columns.
        let tiles = row_len.div_ceil(most);
        let segment = row_len.div_ceil(tiles);
        segment.next_multiple_of(F::Packing::WIDTH).min(row_len)
    }

    /// The last layers of a block, those whose vectors cross blocks.
    fn crossing_layers<F: Field>(self) -> usize {
        let lanes = F::Packing::WIDTH;
        let layers = log2_ceil_usize((FEW_VECTORS * lanes).div_ceil(self.width));
        // As many blocks as there are lanes are needed.
        let most = self.log_block_height.checked_sub(log2_strict_usize(lanes));
        match most {
            Some(most) if lanes > 1 && layers <= most.min(MOST_CROSSING) => layers,
            _ => 0,
        }
    }
}

/// Transforms `mat` in place, multiplies it by `scale`, and gives each block to `consume` when it
/// is done, with the index of its first row.
pub fn transform<F: Field>(
    passes: Passes,
    mat: &mut RowMajorMatrixViewMut<'_, F>,
    layers: &[Vec<F>],
    scale: Option<F>,
    consume: &(impl Fn(usize, RowMajorMatrixView<'_, F>) + Sync),
) {
    assert_dimensions(passes, mat.values.len(), layers);
    let rows = Rows::new(mat.values, passes.width << passes.log_block_height);
    first_pass(passes, rows, rows, layers);
    second_pass(passes, mat, layers, scale, consume);
}

/// Like [`transform`], from `src` to `dst`, every element of which it writes.
pub fn transform_oop<F: Field>(
    passes: Passes,
    src: &RowMajorMatrixView<'_, F>,
    dst: &mut RowMajorMatrixViewMut<'_, MaybeUninit<F>>,
    layers: &[Vec<F>],
    consume: &(impl Fn(usize, RowMajorMatrixView<'_, F>) + Sync),
) {
    assert_eq!(src.dimensions(), dst.dimensions());
    assert_dimensions(passes, src.values.len(), layers);
    if passes.log_blocks == 0 {
        // SAFETY: a field element may be moved to memory that takes one or none; `copy_from_slice`
        // checks the lengths.
        let src = unsafe { transmute::<&[F], &[MaybeUninit<F>]>(src.values) };
        dst.values.copy_from_slice(src);
    } else {
        let stride = passes.width << passes.log_block_height;
        let src = Rows {
            start: src.values.as_ptr().cast_mut(),
            stride,
            values: PhantomData,
        };
        let dst = Rows {
            start: dst.values.as_mut_ptr().cast(),
            stride,
            values: PhantomData,
        };
        first_pass(passes, src, dst, layers);
    }
    // SAFETY: the copy or the first pass has written every element: its tiles cover all columns of
    // all long rows.
    let dst = unsafe { transmute::<&mut [MaybeUninit<F>], &mut [F]>(&mut *dst.values) };
    let mut dst = RowMajorMatrixViewMut::new(dst, passes.width);
    second_pass(passes, &mut dst, layers, None, consume);
}

/// Guards the pointers of the passes: they stay inside of the matrix, and every element of it is
/// written.
fn assert_dimensions<F>(passes: Passes, len: usize, layers: &[Vec<F>]) {
    let log_h = passes.log_blocks + passes.log_block_height;
    assert_eq!(len, passes.width << log_h, "incorrect matrix dimensions");
    assert_eq!(layers.len(), log_h, "incorrect number of twiddle layers");
    for (layer, table) in layers.iter().enumerate() {
        assert_eq!(
            table.len(),
            1 << (log_h - 1 - layer),
            "incorrect twiddle count for layer {layer}"
        );
    }
}

/// Rows of equal length, `stride` elements apart, as far as one tile of columns uses them.
#[derive(Clone, Copy)]
struct Rows<'a, F> {
    start: *mut F,
    stride: usize,
    values: PhantomData<&'a mut [F]>,
}

// SAFETY: it stands for a borrowed slice of elements, which threads may share and send. What two
// threads do with the same rows is up to the unsafe methods.
unsafe impl<F: Send> Send for Rows<'_, F> {}
// SAFETY: as above.
unsafe impl<F: Sync> Sync for Rows<'_, F> {}

impl<'a, F> Rows<'a, F> {
    const fn new(values: &'a mut [F], stride: usize) -> Self {
        Self {
            start: values.as_mut_ptr(),
            stride,
            values: PhantomData,
        }
    }

    /// The same rows without their first `columns` elements.
    ///
    /// # Safety
    /// `columns` is below the length of the last row.
    const unsafe fn skip(self, columns: usize) -> Self {
        Self {
            // SAFETY: the caller's promise keeps it inside the slice.
            start: unsafe { self.start.add(columns) },
            ..self
        }
    }

    /// # Safety
    /// Row `index` has `len` elements, which are initialized and which nothing writes meanwhile.
    const unsafe fn read<'b>(self, index: usize, len: usize) -> &'b [F] {
        // SAFETY: the caller promises it.
        unsafe { slice::from_raw_parts(self.start.add(index * self.stride), len) }
    }

    /// # Safety
    /// Row `index` has `len` elements, which nothing else reads or writes meanwhile.
    const unsafe fn write<'b>(self, index: usize, len: usize) -> &'b mut [MaybeUninit<F>] {
        // SAFETY: the caller promises it.
        unsafe { slice::from_raw_parts_mut(self.start.add(index * self.stride).cast(), len) }
    }
}

/// The first layers, on long rows. Where there are none, nothing is read or written.
fn first_pass<F: Field>(passes: Passes, src: Rows<'_, F>, dst: Rows<'_, F>, layers: &[Vec<F>]) {
    if passes.log_blocks == 0 {
        return;
    }
    let rows = 1 << passes.log_blocks;
    let row_len = src.stride;
    let segment = passes.segment::<F>(rows, row_len);
    (0..row_len.div_ceil(segment))
        .into_par_iter()
        .for_each_init(
            || Box::new_uninit_slice(rows * segment),
            |scratch, tile| {
                let column = tile * segment;
                let len = segment.min(row_len - column);
                let layers = &layers[passes.log_block_height..];
                // SAFETY: the tile ends inside of the rows, and no other task has its columns.
                unsafe {
                    let (src, dst) = (src.skip(column), dst.skip(column));
                    transform_tile(src, dst, len, layers, 0, None, scratch);
                }
            },
        );
}

/// The other layers, on blocks of rows.
fn second_pass<F: Field>(
    passes: Passes,
    mat: &mut RowMajorMatrixViewMut<'_, F>,
    layers: &[Vec<F>],
    scale: Option<F>,
    consume: &(impl Fn(usize, RowMajorMatrixView<'_, F>) + Sync),
) {
    let width = passes.width;
    let height = 1 << passes.log_block_height;
    let layers = &layers[..passes.log_block_height];
    let crossing = passes.crossing_layers::<F>();
    let roots: Vec<F> = if crossing > 0 && F::Packing::WIDTH >= MANY_LANES {
        // Without the shift. All twiddles are zero where that is, and so are their products.
        let twiddles = &layers[0];
        let unshift = twiddles[0].try_inverse().unwrap_or_default();
        let block = twiddles[..1 << (crossing - 1)].iter();
        block.map(|&twiddle| twiddle * unshift).collect()
    } else {
        Vec::new()
    };
    let in_place = passes.log_blocks == 0
        || crossing > 0
        || width * height * size_of::<F>() <= passes.tile_bytes;
    let segment = passes.segment::<F>(height, width);
    let crossing_len = (width << crossing) * F::Packing::WIDTH;
    let scratch_len = match (in_place, crossing) {
        (false, _) => height * segment,
        (true, 0) => 0,
        (true, _) => crossing_len,
    };
    mat.par_row_chunks_exact_mut(height)
        .enumerate()
        .for_each_init(
            || Box::new_uninit_slice(scratch_len),
            |scratch, (index, mut block)| {
                if in_place {
                    transform_block(block.values, &layers[crossing..], index, scale);
                    if crossing > 0 {
                        let first = index << (passes.log_block_height - crossing);
                        for (group, values) in
                            block.values.chunks_exact_mut(crossing_len).enumerate()
                        {
                            let first = first + group * F::Packing::WIDTH;
                            transform_across(values, &layers[..crossing], &roots, first, scratch);
                        }
                    }
                } else {
                    let rows = Rows::new(block.values, width);
                    for column in (0..width).step_by(segment) {
                        let len = segment.min(width - column);
                        // SAFETY: the tile ends inside of the rows, which are this task's.
                        unsafe {
                            let rows = rows.skip(column);
                            transform_tile(rows, rows, len, layers, index, scale, scratch);
                        }
                    }
                }
                consume(index * height, block.as_view_mut().as_view());
            },
        );
}

/// Transforms `len` columns of block `index` of the layer that `layers` ends with, through
/// `scratch`.
///
/// # Safety
/// `2^layers.len()` rows of `src` and of `dst` have `len` elements, those of `src` are initialized,
/// and nothing else reads or writes them meanwhile. `src` and `dst` may be the same.
unsafe fn transform_tile<F: Field>(
    src: Rows<'_, F>,
    dst: Rows<'_, F>,
    len: usize,
    layers: &[Vec<F>],
    index: usize,
    scale: Option<F>,
    scratch: &mut [MaybeUninit<F>],
) {
    let [last, middle @ .., first] = layers else {
        panic!("a tile has at least two layers");
    };
    let half = 1 << (layers.len() - 1);
    let (lo, hi) = scratch[..2 * half * len].split_at_mut(half * len);
    let rows = lo.chunks_exact_mut(len).zip(hi.chunks_exact_mut(len));
    for (row, (lo, hi)) in rows.enumerate() {
        // SAFETY: the rows and their elements are there, and `dst` is not borrowed now.
        let src = unsafe { [src.read(row, len), src.read(row + half, len)] };
        butterflies_oop(first[index], scale, src, [lo, hi]);
    }
    // SAFETY: the loop has written both halves.
    let [lo, hi] =
        unsafe { [lo, hi].map(|half| transmute::<&mut [MaybeUninit<F>], &mut [F]>(half)) };
    transform_block(lo, middle, 2 * index, None);
    transform_block(hi, middle, 2 * index + 1, None);
    let pairs = lo.chunks_exact(2 * len).chain(hi.chunks_exact(2 * len));
    let twiddles = &last[index * half..];
    for (block, (pair, &twiddle)) in pairs.zip(twiddles).enumerate() {
        // SAFETY: the rows are there, and `src` is not borrowed now.
        let dst = unsafe { [dst.write(2 * block, len), dst.write(2 * block + 1, len)] };
        let (lo, hi) = pair.split_at(len);
        butterflies_oop(twiddle, None, [lo, hi], dst);
    }
}

/// Transforms block `index` of the layer that `layers` ends with, in place.
fn transform_block<F: Field>(
    values: &mut [F],
    layers: &[Vec<F>],
    index: usize,
    mut scale: Option<F>,
) {
    let Some((twiddles, rest)) = layers.split_last() else {
        if let Some(scale) = scale {
            values.iter_mut().for_each(|value| *value *= scale);
        }
        return;
    };
    if size_of_val(values) > BLOCK_BYTES {
        // Depth first: a half that fits is finished before the other one is fetched.
        let (lo, hi) = values.split_at_mut(values.len() / 2);
        butterflies(twiddles[index], scale, lo, hi);
        transform_block(lo, rest, 2 * index, None);
        transform_block(hi, rest, 2 * index + 1, None);
        return;
    }
    let mut len = values.len();
    for (depth, twiddles) in layers.iter().rev().enumerate() {
        let blocks = values.chunks_exact_mut(len);
        for (block, &twiddle) in blocks.zip(&twiddles[index << depth..]) {
            let (lo, hi) = block.split_at_mut(len / 2);
            butterflies(twiddle, scale, lo, hi);
        }
        scale = None;
        len /= 2;
    }
}

/// Transforms consecutive blocks, of which `first` is the first, in place: as many as a vector has
/// lanes, each lane one.
///
/// ```text
/// values   | a0 a1 a2 .. | b0 b1 b2 .. | ..   blocks a, b, ..
/// scratch  | a0 b0 .. | a1 b1 .. | ..         a vector for each place in a block
/// ```
///
/// The twiddle of a lane is one for the lane's block and layer, times `roots[index]`, where `index`
/// counts the blocks that the layer has made of it: `index` is the low bits of [`twiddles`]'
/// reversed `e`, and they reverse to its high ones. The one for the block is squared from a layer
/// to the next one of [`twiddles`]. `roots` is empty where each lane's twiddle is loaded instead.
fn transform_across<F: Field>(
    values: &mut [F],
    layers: &[Vec<F>],
    roots: &[F],
    first: usize,
    scratch: &mut [MaybeUninit<F>],
) {
    let lanes = F::Packing::WIDTH;
    let block_len = values.len() / lanes;
    for (lane, block) in values.chunks_exact(block_len).enumerate() {
        for (vector, &value) in scratch.chunks_exact_mut(lanes).zip(block) {
            vector[lane].write(value);
        }
    }
    // SAFETY: `scratch` has the length of `values`, and each lane of each vector was written.
    let scratch = unsafe { transmute::<&mut [MaybeUninit<F>], &mut [F]>(scratch) };
    let vectors = F::Packing::pack_slice_mut(scratch);
    let twiddle = |layer: usize, index: usize| {
        let depth = layers.len() - 1 - layer;
        F::Packing::from_fn(|lane| layers[layer][((first + lane) << depth) + index])
    };
    let mut of_blocks = [F::Packing::default(); MOST_CROSSING];
    if !roots.is_empty() {
        of_blocks[0] = twiddle(0, 0);
        for layer in 1..layers.len() {
            of_blocks[layer] = of_blocks[layer - 1] * of_blocks[layer - 1];
        }
    }
    let mut len = block_len;
    for layer in (0..layers.len()).rev() {
        for (index, vectors) in vectors.chunks_exact_mut(len).enumerate() {
            let twiddle = match (index, roots.get(index)) {
                (_, None) => twiddle(layer, index),
                (0, _) => of_blocks[layer],
                (_, Some(&root)) => of_blocks[layer] * root,
            };
            let (lo, hi) = vectors.split_at_mut(len / 2);
            for (lo, hi) in lo.iter_mut().zip(hi) {
                let product = *hi * twiddle;
                (*lo, *hi) = (*lo + product, *lo - product);
            }
        }
        len /= 2;
    }
    for (lane, block) in values.chunks_exact_mut(block_len).enumerate() {
        for (value, vector) in block.iter_mut().zip(scratch.chunks_exact(lanes)) {
            *value = vector[lane];
        }
    }
}

/// The butterfly of two halves, in place.
fn butterflies<F: Field>(twiddle: F, scale: Option<F>, lo: &mut [F], hi: &mut [F]) {
    match scale {
        Some(scale) => ScaledDitButterfly::new(twiddle, scale).apply_to_rows(lo, hi),
        None if twiddle == F::ONE => TwiddleFreeButterfly.apply_to_rows(lo, hi),
        None => DitButterfly(twiddle).apply_to_rows(lo, hi),
    }
}

/// The butterfly of two halves, out of place.
fn butterflies_oop<F: Field>(
    twiddle: F,
    scale: Option<F>,
    [lo, hi]: [&[F]; 2],
    [lo_out, hi_out]: [&mut [MaybeUninit<F>]; 2],
) {
    match scale {
        Some(scale) => {
            ScaledDitButterfly::new(twiddle, scale).apply_to_rows_oop(lo, lo_out, hi, hi_out);
        }
        None if twiddle == F::ONE => TwiddleFreeButterfly.apply_to_rows_oop(lo, lo_out, hi, hi_out),
        None => DitButterfly(twiddle).apply_to_rows_oop(lo, lo_out, hi, hi_out),
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use core::sync::atomic::{AtomicBool, Ordering};

    use p3_baby_bear::BabyBear;
    use p3_field::{PrimeCharacteristicRing as _, TwoAdicField};
    use p3_goldilocks::Goldilocks;
    use p3_matrix::dense::RowMajorMatrix;
    use rand::SeedableRng;
    use rand::distr::{Distribution, StandardUniform};
    use rand::rngs::SmallRng;

    use super::*;
    use crate::{NaiveDft, TwoAdicSubgroupDft};

    /// Every division of the layers, with blocks and tiles that fit the cache and with tiles of the
    /// least size.
    fn all_passes(log_h: usize, width: usize) -> impl Iterator<Item = Passes> {
        let divisions = (0..=log_h).filter(move |&a| a == 0 || (a >= 2 && log_h - a >= 2));
        divisions.flat_map(move |log_blocks| {
            [(1, TILE_BYTES), (1, 0), (3, TILE_BYTES)].map(|(threads, tile_bytes)| Passes {
                log_blocks,
                log_block_height: log_h - log_blocks,
                width,
                threads,
                tile_bytes,
            })
        })
    }

    fn agrees_with_the_definition<F: TwoAdicField + Ord>()
    where
        StandardUniform: Distribution<F>,
    {
        let mut rng = SmallRng::seed_from_u64(1);
        let mut shapes = vec![(4, 17), (4, 33)];
        if !cfg!(miri) {
            let widths = || (1..10).chain([17, 33]);
            shapes.extend((0..8).flat_map(|log_h| widths().map(move |width| (log_h, width))));
            shapes.extend([(5, 300), (6, 641), (11, 1), (10, 3)]);
        }
        for (log_h, width) in shapes {
            let mat = RowMajorMatrix::<F>::rand(&mut rng, 1 << log_h, width);
            for shift in [F::ONE, F::GENERATOR, F::ZERO] {
                let layers = twiddles(log_h, F::two_adic_generator(log_h), shift);
                let natural = NaiveDft.coset_dft_batch(mat.clone(), shift);
                // Not by p3-matrix, whose reversal is undefined behaviour to Miri.
                let mut rows: Vec<_> = natural.row_slices().collect();
                reverse_slice_index_bits(&mut rows);
                let mut expected = RowMajorMatrix::new(rows.concat(), width);
                for passes in all_passes(log_h, width) {
                    let blocks = 1 << passes.log_blocks;
                    let seen: Vec<_> = (0..blocks).map(|_| AtomicBool::new(false)).collect();
                    let consume = |row: usize, block: RowMajorMatrixView<'_, F>| {
                        assert_eq!(block.height(), 1 << passes.log_block_height);
                        let values = &expected.values[row * width..][..block.values.len()];
                        assert_eq!(block.values, values, "{passes:?}");
                        let first_time = !seen[row / block.height()].swap(true, Ordering::Relaxed);
                        assert!(first_time, "{passes:?}");
                    };
                    let all_seen = || seen.iter().all(|seen| seen.swap(false, Ordering::Relaxed));
                    let mut in_place = mat.clone();
                    transform(passes, &mut in_place.as_view_mut(), &layers, None, &consume);
                    assert_eq!(in_place, expected, "{passes:?}");
                    assert!(all_seen());

                    let mut values = Vec::with_capacity(width << log_h);
                    let spare = &mut values.spare_capacity_mut()[..width << log_h];
                    let mut dst = RowMajorMatrixViewMut::new(spare, width);
                    transform_oop(passes, &mat.as_view(), &mut dst, &layers, &consume);
                    assert!(all_seen());
                    // SAFETY: the transform has written all elements.
                    unsafe { values.set_len(width << log_h) };
                    assert_eq!(values, expected.values, "{passes:?}");
                }
                expected.scale(F::GENERATOR);
                for passes in all_passes(log_h, width) {
                    let mut scaled = mat.clone();
                    let mut view = scaled.as_view_mut();
                    transform(passes, &mut view, &layers, Some(F::GENERATOR), &|_, _| {});
                    assert_eq!(scaled, expected, "{passes:?}");
                }
            }
        }
    }

    #[test]
    fn agrees_with_the_definition_baby_bear() {
        agrees_with_the_definition::<BabyBear>();
    }

    #[test]
    fn agrees_with_the_definition_goldilocks() {
        agrees_with_the_definition::<Goldilocks>();
    }

    #[test]
    #[should_panic(expected = "incorrect matrix dimensions")]
    fn rejects_another_width() {
        let layers = twiddles(3, BabyBear::two_adic_generator(3), BabyBear::ONE);
        let mut mat = RowMajorMatrix::new(vec![BabyBear::ONE; 8], 1);
        let passes = Passes::new::<BabyBear>(3, 2);
        transform(passes, &mut mat.as_view_mut(), &layers, None, &|_, _| {});
    }
}
