//! A tile of the butterfly network in lazy butterflies: elements are loaded and stored once for all
//! its layers, two of which are done at a time.
//!
//! A tile is `2^n` rows of a few vectors. [`transform_lazily`] takes it through `n` layers in three
//! kinds of steps, each of which does one layer (radix 2) or two (radix 4) on as many rows at once:
//!
//! ```text
//!     matrix --enter--> scratch --within--> scratch --within--> .. --leave--> matrix
//!              load                                                  store
//! ```
//!
//! Elements are in the form of [`LazyButterflies`] from the first step to the last one, and are
//! reduced once. A step of radix 4 on rows 0, 1, 2, 3 leaves the results of the two layers in these
//! places; blocks are finished depth first.
//!
//! The second layer of a step has two twiddles, which differ by the fourth root of unity or by its
//! inverse. For the inverse the last two results are exchanged ("turned"), so that one butterfly
//! serves both.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::{MaybeUninit, transmute};

use p3_field::{Field, PackedField, PackedValue};

use crate::LazyButterflies;

/// Scratch memory for tiles of `rows` rows of at most `len` elements.
pub fn scratch<F: Field, L: LazyButterflies<F::Packing>>(
    _: L,
    rows: usize,
    len: usize,
) -> Box<[MaybeUninit<L::Element>]> {
    // Not filled: Rayon asks for it each time that it divides its work.
    Box::new_uninit_slice(rows * len.div_ceil(F::Packing::WIDTH))
}

/// Layers of butterflies on `R` rows.
trait Step<L: LazyButterflies<P>, P: PackedField, const R: usize>: Copy {
    fn apply(self, lazy: L, x: [L::Element; R]) -> [L::Element; R];
}

/// One layer with a twiddle and a scale.
#[derive(Clone, Copy)]
struct Radix2<T>(T, Option<T>);

/// Two layers with their twiddles and a scale.
#[derive(Clone, Copy)]
struct Radix4<T>([T; 3], Option<T>);

impl<L: LazyButterflies<P>, P: PackedField> Step<L, P, 2> for Radix2<L::Twiddle> {
    #[inline(always)]
    fn apply(self, lazy: L, x: [L::Element; 2]) -> [L::Element; 2] {
        lazy.radix_2(x, self.0, self.1)
    }
}

impl<L: LazyButterflies<P>, P: PackedField> Step<L, P, 4> for Radix4<L::Twiddle> {
    #[inline(always)]
    fn apply(self, lazy: L, x: [L::Element; 4]) -> [L::Element; 4] {
        lazy.radix_4(x, self.0, self.1)
    }
}

/// Transforms `2^layers.len()` rows, block `index` of the layer that `layers` ends with. `src`
/// gives a row, `dst` takes one.
///
/// All rows are read before any is written. A row has at most as many elements as `scratch` was
/// made for.
pub fn transform_lazily<'a, 'b, F: Field, L: LazyButterflies<F::Packing>>(
    lazy: L,
    src: impl Fn(usize) -> &'a [F],
    dst: impl Fn(usize) -> &'b mut [MaybeUninit<F>],
    layers: &[Vec<F>],
    index: usize,
    scale: Option<F>,
    scratch: &mut [MaybeUninit<L::Element>],
) {
    let vectors = src(0).len().div_ceil(F::Packing::WIDTH);
    let scratch = &mut scratch[..vectors << layers.len()];
    // The first step leaves an even number of layers, or one.
    let first = if layers.len() == 2 {
        1
    } else {
        2 - layers.len() % 2
    };
    let (rest, done) = layers.split_at(layers.len() - first);
    let height = 1 << rest.len();
    let turned = is_turned(lazy, layers);
    if let [twiddles] = done {
        let step = radix_2(lazy, twiddles[index], scale);
        for row in 0..height {
            let src = [row, row + height].map(&src);
            enter(lazy, step, src, rows_of(scratch, vectors, row, height));
        }
    } else {
        let step = radix_4(lazy, done, index, scale);
        for row in 0..height {
            let src = [0, 1, 2, 3].map(|i| src(row + i * height));
            let [x0, x1, x2, x3] = rows_of(scratch, vectors, row, height);
            let dst = if turned {
                [x0, x1, x3, x2]
            } else {
                [x0, x1, x2, x3]
            };
            enter(lazy, step, src, dst);
        }
    }
    // SAFETY: the first step has written each vector of each row.
    let scratch =
        unsafe { transmute::<&mut [MaybeUninit<L::Element>], &mut [L::Element]>(scratch) };
    let tile = Tile {
        lazy,
        turned,
        vectors,
        dst,
    };
    for (i, block) in scratch.chunks_exact_mut(height * vectors).enumerate() {
        tile.finish(block, i * height, rest, (index << first) + i);
    }
}

/// A tile in scratch memory.
struct Tile<L, D> {
    lazy: L,
    /// Whether the last two results of radix 4 are exchanged.
    turned: bool,
    /// In a row.
    vectors: usize,
    dst: D,
}

impl<L, D> Tile<L, D> {
    /// The layers after the first step, of a block whose first row is `row`.
    fn finish<'a, F: Field>(
        &self,
        values: &mut [L::Element],
        row: usize,
        layers: &[Vec<F>],
        index: usize,
    ) where
        L: LazyButterflies<F::Packing>,
        D: Fn(usize) -> &'a mut [MaybeUninit<F>],
    {
        let (lazy, vectors) = (self.lazy, self.vectors);
        if let [twiddles] = layers {
            let step = radix_2(lazy, twiddles[index], None);
            let src = rows_of(values, vectors, 0, 1);
            leave(lazy, step, src, [row, row + 1].map(&self.dst));
            return;
        }
        let step = radix_4(lazy, layers, index, None);
        if layers.len() == 2 {
            let src = rows_of(values, vectors, 0, 1);
            let [x2, x3] = if self.turned { [3, 2] } else { [2, 3] };
            leave(lazy, step, src, [0, 1, x2, x3].map(|i| (self.dst)(row + i)));
            return;
        }
        let quarter = values.len() / 4;
        let blocks = rows_of(values, quarter, 0, 1);
        if self.turned {
            within::<_, _, _, true>(lazy, step, blocks);
        } else {
            within::<_, _, _, false>(lazy, step, blocks);
        }
        // Depth first: a quarter that fits the cache is finished before the next one is fetched.
        let rest = &layers[..layers.len() - 2];
        for (i, block) in values.chunks_exact_mut(quarter).enumerate() {
            self.finish(block, row + (i << rest.len()), rest, 4 * index + i);
        }
    }
}

/// Whether the twiddles of a layer's second block are those of the first one times the inverse of
/// the fourth root. Then the last two results of radix 4 are exchanged.
fn is_turned<F: Field, L: LazyButterflies<F::Packing>>(lazy: L, layers: &[Vec<F>]) -> bool {
    let [.., second, _] = layers else {
        panic!("a tile has at least two layers");
    };
    let turned = second[0] * lazy.fourth_root() != second[1];
    let related = !turned || second[1] * lazy.fourth_root() == second[0];
    assert!(related, "these are not the twiddles of a network");
    turned
}

#[inline(always)]
fn radix_2<F: Field, L: LazyButterflies<F::Packing>>(
    lazy: L,
    t: F,
    scale: Option<F>,
) -> Radix2<L::Twiddle> {
    let t = scale.map_or(t, |scale| scale * t);
    Radix2(lazy.prepare(t), scale.map(|scale| lazy.prepare(scale)))
}

/// The step of the last two of `layers`.
#[inline(always)]
fn radix_4<F: Field, L: LazyButterflies<F::Packing>>(
    lazy: L,
    layers: &[Vec<F>],
    index: usize,
    scale: Option<F>,
) -> Radix4<L::Twiddle> {
    let [.., second, first] = layers else {
        panic!("radix 4 takes two layers");
    };
    let (t, s) = (first[index], second[2 * index]);
    let scaled = |t: F| lazy.prepare(scale.map_or(t, |scale| scale * t));
    let scale = scale.map(|scale| lazy.prepare(scale));
    Radix4([scaled(t), scaled(s), scaled(t * s)], scale)
}

/// Row `row` of each of `R` blocks of `height` rows.
fn rows_of<T, const R: usize>(
    values: &mut [T],
    vectors: usize,
    row: usize,
    height: usize,
) -> [&mut [T]; R] {
    let mut blocks = values.chunks_exact_mut(height * vectors);
    core::array::from_fn(|_| {
        let block = blocks.next().expect("a block for each row");
        &mut block[row * vectors..][..vectors]
    })
}

/// A step from rows of the matrix to scratch memory.
#[inline(always)]
fn enter<F: Field, L: LazyButterflies<F::Packing>, const R: usize>(
    lazy: L,
    step: impl Step<L, F::Packing, R>,
    src: [&[F]; R],
    dst: [&mut [MaybeUninit<L::Element>]; R],
) {
    for (src, dst) in src.iter().zip(&dst) {
        let vectors = src.len().div_ceil(F::Packing::WIDTH);
        assert_eq!(vectors, dst.len(), "rows have different lengths");
    }
    let src = src.map(F::Packing::pack_slice_with_suffix);
    let vectors = src[0].0.len();
    let mut dst = dst.map(|dst| dst.split_at_mut(vectors));
    let packed = src.map(|(packed, _)| &packed[..vectors]);
    for k in 0..vectors {
        let y = step.apply(lazy, packed.map(|src| lazy.load(src[k])));
        for ((dst, _), y) in dst.iter_mut().zip(y) {
            dst[k].write(y);
        }
    }
    if !src[0].1.is_empty() {
        let padded = |x: &[F]| F::Packing::from_fn(|i| x.get(i).copied().unwrap_or(F::ZERO));
        let y = step.apply(lazy, src.map(|(_, suffix)| lazy.load(padded(suffix))));
        for ((_, dst), y) in dst.iter_mut().zip(y) {
            dst[0].write(y);
        }
    }
}

/// A step in scratch memory.
#[inline(always)]
fn within<P: PackedField, L: LazyButterflies<P>, S: Step<L, P, 4>, const TURNED: bool>(
    lazy: L,
    step: S,
    [x0, x1, x2, x3]: [&mut [L::Element]; 4],
) {
    for (((x0, x1), x2), x3) in x0.iter_mut().zip(x1).zip(x2).zip(x3) {
        let y = step.apply(lazy, [*x0, *x1, *x2, *x3]);
        [*x0, *x1] = [y[0], y[1]];
        [*x2, *x3] = if TURNED { [y[3], y[2]] } else { [y[2], y[3]] };
    }
}

/// A step from scratch memory to rows of the matrix.
#[inline(always)]
fn leave<F: Field, L: LazyButterflies<F::Packing>, const R: usize>(
    lazy: L,
    step: impl Step<L, F::Packing, R>,
    src: [&mut [L::Element]; R],
    dst: [&mut [MaybeUninit<F>]; R],
) {
    let mut dst = dst.map(F::Packing::pack_maybe_uninit_slice_with_suffix_mut);
    let vectors = dst[0].0.len();
    let src = src.map(|src| src.split_at(vectors));
    let mut packed = dst.each_mut().map(|(packed, _)| &mut packed[..vectors]);
    for k in 0..vectors {
        let y = step.apply(lazy, src.map(|(src, _)| src[k]));
        for (dst, y) in packed.iter_mut().zip(y) {
            dst[k].write(lazy.store(y));
        }
    }
    if !dst[0].1.is_empty() {
        let y = step.apply(lazy, src.map(|(_, src)| src[0]));
        for ((_, dst), y) in dst.iter_mut().zip(y) {
            for (dst, &y) in dst.iter_mut().zip(lazy.store(y).as_slice()) {
                dst.write(y);
            }
        }
    }
}
