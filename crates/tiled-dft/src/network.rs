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
//!
//! Elements of at most 32 bits pass two layers at once, as [`pairs`] describes, and one column of
//! them is reversed by tiles, too.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::mem::{MaybeUninit, transmute};
use core::slice;

use p3_field::{Field, PackedValue, Powers};
use p3_matrix::Matrix;
use p3_matrix::dense::{RowMajorMatrix, RowMajorMatrixView, RowMajorMatrixViewMut};
use p3_matrix::util::reverse_matrix_index_bits;
use p3_maybe_rayon::prelude::*;
use p3_util::{log2_ceil_usize, log2_strict_usize, reverse_bits_len, reverse_slice_index_bits};

use crate::pairs::{self, Pair, in_pairs, quarters};
use crate::{Butterfly, DitButterfly, ScaledDitButterfly, TwiddleFreeButterfly, transpose_rows};

/// Bytes of a tile: half of the L2 cache of the smallest cores that servers have.
const TILE_BYTES: usize = 1 << 18;

/// Least and most bytes of a tile's row: two cache lines, and a page.
const SEGMENT_BYTES: [usize; 2] = [1 << 7, 1 << 12];

/// Bytes of a block whose layers are done one after the other: half of an L1 cache.
const BLOCK_BYTES: usize = 1 << 14;

/// The logarithm of the sides of the tiles by which a column is reversed: two fit an L1 cache.
const LOG_SIDE: usize = 6;

/// Returns how many layers are done at once, where `layers` follow each other.
const fn at_once<F>(layers: usize) -> usize {
    if in_pairs::<F>() && layers >= 2 { 2 } else { 1 }
}

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
            // Blocks that fit a tile, and enough of them for the threads to share. The fewer there
            // are, the longer are the rows of the first pass's tiles.
            let blocks = bytes.div_ceil(TILE_BYTES).max(4 * threads);
            let layers = log2_ceil_usize(blocks).next_multiple_of(at_once::<F>(2));
            layers.clamp(2, log_h / 2)
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
        let log_lanes = log2_strict_usize(lanes);
        let layers = if !in_pairs::<F>() {
            // Half a block has less than four vectors.
            log2_ceil_usize((4 * lanes).div_ceil(self.width))
        } else if 4 * (self.width % lanes) > self.width {
            // A quarter of a block is no number of vectors, and many elements are left over.
            let layers = log_lanes - self.width.trailing_zeros() as usize;
            layers.next_multiple_of(2)
        } else {
            0
        };
        // As many blocks as there are lanes are needed.
        match self.log_block_height.checked_sub(log_lanes) {
            Some(most) if lanes > 1 && layers <= most => layers,
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
    assert_dimensions(passes, mat.width(), mat.values.len());
    assert_layers(passes, layers);
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
    assert_dimensions(passes, src.width(), src.values.len());
    assert_dimensions(passes, dst.width(), dst.values.len());
    assert_layers(passes, layers);
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
        let dst = Rows::of_uninit(dst.values, stride);
        first_pass(passes, src, dst, layers);
    }
    // SAFETY: the copy or the first pass has written every element: its tiles cover all columns of
    // all long rows.
    let dst = unsafe { transmute::<&mut [MaybeUninit<F>], &mut [F]>(&mut *dst.values) };
    let mut dst = RowMajorMatrixViewMut::new(dst, passes.width);
    second_pass(passes, &mut dst, layers, None, consume);
}

/// Guards the pointers of the passes: they stay inside of a matrix of this width and of so many
/// elements, and every one of these is written.
fn assert_dimensions(passes: Passes, width: usize, len: usize) {
    let height = 1 << (passes.log_blocks + passes.log_block_height);
    assert!(
        width == passes.width && width.checked_mul(height) == Some(len),
        "incorrect matrix dimensions"
    );
}

/// Guards the twiddles of the passes: each layer has one for each of its blocks.
fn assert_layers<F>(passes: Passes, layers: &[Vec<F>]) {
    let log_h = passes.log_blocks + passes.log_block_height;
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

    /// Returns rows that are still to be written.
    const fn of_uninit(values: &'a mut [MaybeUninit<F>], stride: usize) -> Self {
        Self {
            start: values.as_mut_ptr().cast(),
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
    let crossing = Crossing::new(passes, layers);
    let in_place = passes.log_blocks == 0
        || crossing.is_some()
        || width * height * size_of::<F>() <= passes.tile_bytes;
    let segment = passes.segment::<F>(height, width);
    let tile_len = if in_place { 0 } else { height * segment };
    let vectors_len = crossing.as_ref().map_or(0, Crossing::len);
    mat.par_row_chunks_exact_mut(height)
        .enumerate()
        .for_each_init(
            || {
                let tile = Box::new_uninit_slice(tile_len);
                (tile, vec![F::ZERO; vectors_len])
            },
            |(tile, vectors), (index, mut block)| {
                if let Some(crossing) = &crossing {
                    crossing.transform(block.values, layers, index, scale, vectors);
                } else if in_place {
                    transform_block(block.values, layers, index, scale);
                } else {
                    let rows = Rows::new(block.values, width);
                    for column in (0..width).step_by(segment) {
                        let len = segment.min(width - column);
                        // SAFETY: the tile ends inside of the rows, which are this task's.
                        unsafe {
                            let rows = rows.skip(column);
                            transform_tile(rows, rows, len, layers, index, scale, tile);
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
    assert!(layers.len() >= 2, "a tile has at least two layers");
    let rows = 1 << layers.len();
    let (rest, first) = layers.split_at(layers.len() - at_once::<F>(layers.len() - 1));
    let (last, middle) = rest.split_at(at_once::<F>(rest.len()));
    let height = rows >> first.len();
    let scratch = &mut scratch[..rows * len];
    let tile = Rows::of_uninit(scratch, len);
    for row in 0..height {
        // SAFETY: the rows and their elements are there, and neither `dst` nor a row of `tile` is
        // borrowed now.
        let (src, dst) = unsafe {
            (
                |part| src.read(row + part * height, len),
                |part| tile.write(row + part * height, len),
            )
        };
        butterflies_oop(first, index, scale, src, dst);
    }
    // SAFETY: the loop has written all rows.
    let scratch = unsafe { transmute::<&mut [MaybeUninit<F>], &mut [F]>(scratch) };
    let first_part = index << first.len();
    for (part, values) in scratch.chunks_exact_mut(height * len).enumerate() {
        transform_block(values, middle, first_part + part, None);
    }
    let first_block = first_part << middle.len();
    for (block, values) in scratch.chunks_exact(len << last.len()).enumerate() {
        let src = |part: usize| &values[part * len..][..len];
        // SAFETY: the rows are there, and `src` is not borrowed now.
        let dst = unsafe { |part| dst.write((block << last.len()) + part, len) };
        butterflies_oop(last, first_block + block, None, src, dst);
    }
}

/// Transforms block `index` of the layer that `layers` ends with, in place.
fn transform_block<F: Field>(
    values: &mut [F],
    mut layers: &[Vec<F>],
    mut index: usize,
    mut scale: Option<F>,
) {
    if layers.is_empty() {
        if let Some(scale) = scale {
            values.iter_mut().for_each(|value| *value *= scale);
        }
        return;
    }
    let mut len = values.len();
    while !layers.is_empty() {
        let exceeds = len * size_of::<F>() > BLOCK_BYTES;
        let depth = at_once::<F>(layers.len());
        let (rest, next) = layers.split_at(layers.len() - depth);
        if let [second, first] = next {
            pairs::in_place(values, len, &first[index..], &second[2 * index..], scale);
        } else {
            butterflies(values, len, &next[0][index..], scale);
        }
        layers = rest;
        index <<= depth;
        len >>= depth;
        scale = None;
        if exceeds {
            // Depth first: a part that fits is finished before the next one is fetched.
            for (part, values) in values.chunks_exact_mut(len).enumerate() {
                transform_block(values, layers, index + part, None);
            }
            return;
        }
    }
}

/// The last layers of blocks, done on vectors across blocks: as many blocks as there are lanes,
/// each lane one.
///
/// ```text
/// values   | a0 a1 a2 .. | b0 b1 b2 .. | ..   blocks a, b, ..
/// vectors  | a0 b0 .. | a1 b1 .. | ..         a vector for each place in a block
/// ```
struct Crossing<'a, F: Field> {
    layers: &'a [Vec<F>],
    width: usize,
    /// The twiddles of the first blocks, over that of the first one: a list for each two layers,
    /// where layers are done two at a time.
    ///
    /// A twiddle is the product of a power of the shift and of one of the root for each bit of the
    /// block's index. So the twiddles of any other blocks, as many as there are lanes, are these
    /// times the one of their first block, which is squared from a layer to the one above it.
    roots: Vec<Vec<Pair<F::Packing>>>,
}

impl<'a, F: Field> Crossing<'a, F> {
    /// Takes the last ones of a block's `layers`, if vectors cross blocks in any.
    fn new(passes: Passes, layers: &'a [Vec<F>]) -> Option<Self> {
        let depth = passes.crossing_layers::<F>();
        let layers = &layers[..depth];
        let shift = layers.first()?[0];
        let mut roots = Vec::new();
        if in_pairs::<F>() {
            // All twiddles are zero where the shift is, and so are their products.
            let unshift = shift.try_inverse().unwrap_or_default();
            let root = |layer: usize, index: usize| {
                let below = depth - 1 - layer;
                let twiddles = F::Packing::from_fn(|lane| layers[layer][(lane << below) + index]);
                twiddles * unshift.exp_power_of_2(layer)
            };
            for layer in (1..depth).rev().step_by(2) {
                let pair = |index| {
                    let halves = [0, 1].map(|half| root(layer - 1, 2 * index + half));
                    Pair::new(root(layer, index), halves)
                };
                roots.push((0..1 << (depth - 1 - layer)).map(pair).collect());
            }
        }
        Some(Self {
            layers,
            width: passes.width,
            roots,
        })
    }

    /// Returns the number of elements of the blocks that a vector crosses.
    fn len(&self) -> usize {
        (self.width << self.layers.len()) * F::Packing::WIDTH
    }

    /// Transforms block `index` of the layer that `layers` ends with, in place. The first ones of
    /// `layers` are these.
    fn transform(
        &self,
        values: &mut [F],
        layers: &[Vec<F>],
        index: usize,
        scale: Option<F>,
        vectors: &mut [F],
    ) {
        let rest = &layers[self.layers.len()..];
        let first = index << rest.len();
        let twiddle = self.last_twiddle(first);
        transform_block(values, rest, index, scale);
        self.transform_blocks(values, first, twiddle, vectors);
    }

    /// Returns the twiddle of the last layer's first block within a block of the first layer.
    fn last_twiddle(&self, block: usize) -> F {
        let twiddles = &self.layers[0];
        let twiddle = twiddles.get(block << (self.layers.len() - 1));
        twiddle.copied().unwrap_or_default()
    }

    /// Transforms the blocks from block `first` of the first layer on, in place. `twiddle` is the
    /// first one's of the last layer, and `vectors` is scratch memory.
    fn transform_blocks(
        &self,
        values: &mut [F],
        mut first: usize,
        mut twiddle: F,
        vectors: &mut [F],
    ) {
        let lanes = F::Packing::WIDTH;
        let block_len = self.width << self.layers.len();
        for values in values.chunks_exact_mut(block_len * lanes) {
            // Seldom in a cache, the next twiddle is loaded before the blocks ahead of it are done.
            let next = self.last_twiddle(first + lanes);
            let block = |lane| &values[lane * block_len..][..block_len];
            transpose_rows(lanes, block_len, block, vectors);
            let packed = F::Packing::pack_slice_mut(vectors);
            if in_pairs::<F>() {
                self.two_by_two(packed, twiddle);
            } else {
                self.one_by_one(packed, first);
            }
            let vector = |place| &vectors[place * lanes..][..lanes];
            transpose_rows(block_len, lanes, vector, values);
            first += lanes;
            twiddle = next;
        }
    }

    /// Transforms vectors, two layers at a time. `twiddle` is the first block's of the last layer.
    fn two_by_two(&self, vectors: &mut [F::Packing], twiddle: F) {
        let mut len = vectors.len();
        for (step, roots) in self.roots.iter().enumerate() {
            let halves = twiddle.exp_power_of_2(self.layers.len() - 2 - 2 * step);
            let first = F::Packing::from(halves.square());
            let halves = F::Packing::from(halves);
            for (block, root) in vectors.chunks_exact_mut(len).zip(roots) {
                let pair = root.times(first, halves);
                let [a, b, c, d] = quarters(block);
                for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
                    [*a, *b, *c, *d] = pair.apply([*a, *b, *c, *d]);
                }
            }
            len /= 4;
        }
    }

    /// Transforms vectors, one layer after the other, whose first lane is block `first`.
    fn one_by_one(&self, vectors: &mut [F::Packing], first: usize) {
        let mut len = vectors.len();
        for (below, twiddles) in self.layers.iter().rev().enumerate() {
            for (index, block) in vectors.chunks_exact_mut(len).enumerate() {
                let twiddle =
                    F::Packing::from_fn(|lane| twiddles[((first + lane) << below) + index]);
                let (lo, hi) = block.split_at_mut(len / 2);
                for (lo, hi) in lo.iter_mut().zip(hi) {
                    let product = *hi * twiddle;
                    (*lo, *hi) = (*lo + product, *lo - product);
                }
            }
            len /= 2;
        }
    }
}

/// Reverses the order of rows, from the bits of their indices.
pub fn reverse_rows<F: Field>(mat: &mut RowMajorMatrix<F>) {
    if mat.width == 1 && size_of::<F>() <= 4 {
        reverse_column(&mut mat.values);
    } else {
        reverse_matrix_index_bits(mat);
    }
}

/// Reverses the order of elements, from the bits of their indices.
///
/// An index consists of six high bits, those in the middle, and six low ones. The elements that
/// share the middle are a tile of 64 runs of memory. Reversed and transposed, it takes the place of
/// the tile whose middle is reversed.
fn reverse_column<F: Field>(values: &mut [F]) {
    let side = 1 << LOG_SIDE;
    let log_len = log2_strict_usize(values.len());
    let Some(log_middle) = log_len.checked_sub(2 * LOG_SIDE) else {
        return reverse_slice_index_bits(values);
    };
    let stride = values.len() >> LOG_SIDE;
    let rows = Rows::new(values, stride);
    let reversed = |row| reverse_bits_len(row, LOG_SIDE);
    (0..1 << log_middle).into_par_iter().for_each_init(
        || vec![F::ZERO; 2 * side * side],
        |tiles, middle| {
            let other = reverse_bits_len(middle, log_middle);
            if middle > other {
                return;
            }
            // SAFETY: a tile's columns are some of the rows'.
            let [here, there] = [middle, other].map(|tile| unsafe { rows.skip(tile * side) });
            for (tile, place) in tiles.chunks_exact_mut(side * side).zip([here, there]) {
                // SAFETY: no other task has the columns, and nothing writes them now.
                let row = |row| unsafe { place.read(reversed(row), side) };
                transpose_rows(side, side, row, tile);
            }
            for (tile, place) in tiles.chunks_exact(side * side).zip([there, here]) {
                for (row, values) in tile.chunks_exact(side).enumerate() {
                    // SAFETY: no other task has the columns, and nothing borrows them now.
                    let places = unsafe { place.write(reversed(row), side) };
                    for (place, &value) in places.iter_mut().zip(values) {
                        place.write(value);
                    }
                }
            }
        },
    );
}

/// Does one layer of the blocks of `len` elements that `values` consists of, in place.
fn butterflies<F: Field>(values: &mut [F], len: usize, twiddles: &[F], scale: Option<F>) {
    for (block, &twiddle) in values.chunks_exact_mut(len).zip(twiddles) {
        let (lo, hi) = block.split_at_mut(len / 2);
        match scale {
            Some(scale) => ScaledDitButterfly::new(twiddle, scale).apply_to_rows(lo, hi),
            None if twiddle == F::ONE => TwiddleFreeButterfly.apply_to_rows(lo, hi),
            None => DitButterfly(twiddle).apply_to_rows(lo, hi),
        }
    }
}

/// Does one layer or two of block `index`, out of place. The closures give the halves or the
/// quarters of the block.
#[inline]
fn butterflies_oop<'a, F: Field>(
    layers: &[Vec<F>],
    index: usize,
    scale: Option<F>,
    src: impl Fn(usize) -> &'a [F],
    dst: impl Fn(usize) -> &'a mut [MaybeUninit<F>],
) {
    let twiddles = match layers {
        [second, first] => {
            let halves = [second[2 * index], second[2 * index + 1]];
            let src = [src(0), src(1), src(2), src(3)];
            let dst = [dst(0), dst(1), dst(2), dst(3)];
            return pairs::out_of_place(first[index], halves, scale, src, dst);
        }
        [twiddles] => twiddles,
        _ => panic!("one layer or two at once"),
    };
    let twiddle = twiddles[index];
    let ([lo, hi], [lo_out, hi_out]) = ([src(0), src(1)], [dst(0), dst(1)]);
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
        let mut shapes = vec![(4_usize, 17), (4, 33)];
        if !cfg!(miri) {
            let widths = || (1..10).chain([17, 33]);
            shapes.extend((0..8).flat_map(|log_h| widths().map(move |width| (log_h, width))));
            shapes.extend([(5, 300), (6, 641), (11, 1), (10, 3)]);
        }
        for (log_h, width) in shapes {
            let mat = RowMajorMatrix::<F>::rand(&mut rng, 1 << log_h, width);
            // The last one has twiddles of 1 in the first layer, and of -1 in the second one.
            let root = F::two_adic_generator(log_h.saturating_sub(1));
            for shift in [F::ONE, F::GENERATOR, F::ZERO, root] {
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
    fn a_column_is_reversed() {
        let log_lens = if cfg!(miri) { 12..=14 } else { 0..=17 };
        for log_len in log_lens {
            let index = |i| BabyBear::from_usize(i);
            let mut mat = RowMajorMatrix::new_col((0..1 << log_len).map(index).collect());
            reverse_rows(&mut mat);
            let expected = (0..1 << log_len).map(|i| index(reverse_bits_len(i, log_len)));
            assert!(mat.values.into_iter().eq(expected), "2^{log_len}");
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
