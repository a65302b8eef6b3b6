//! Two layers of the butterfly network at once, for elements of at most 32 bits.
//!
//! With the twiddle `t` of a block and the twiddles `u`, `v` of its halves, two layers map the
//! quarters `a`, `b`, `c`, `d` of the block to
//!
//! ```text
//! (a + t c) + (u b + u t d)
//! (a + t c) - (u b + u t d)
//! (a - t c) + (v b - v t d)
//! (a - t c) - (v b - v t d)
//! ```
//!
//! Each bracket on the right is a dot product of two terms, which is reduced once. So five products
//! and three reductions do, where one layer after the other takes four of each. A reduction of
//! Montgomery takes twice the multiplications of a product: 22 in all for 24. No product waits for
//! another one, and quarters are loaded and stored once for both layers.
//!
//! A product of 64-bit words costs more than its reduction, so larger elements gain nothing.

use core::mem::MaybeUninit;

use p3_field::{Field, PackedValue, PrimeCharacteristicRing};

/// Tells whether layers are done two at a time.
pub const fn in_pairs<F>() -> bool {
    size_of::<F>() <= 4
}

/// The factors of two layers.
#[derive(Clone, Copy, Debug)]
pub struct Pair<T> {
    /// Multiplies the results, by way of `a` and of all other factors.
    scale: Option<T>,
    /// `t`
    first: T,
    /// `u`, `u t`
    lo: [T; 2],
    /// `v`, `-v t`
    hi: [T; 2],
}

impl<T: PrimeCharacteristicRing + Copy> Pair<T> {
    /// Returns the factors for the twiddle of a block and those of its halves.
    #[inline]
    pub fn new(first: T, [lo, hi]: [T; 2]) -> Self {
        Self {
            scale: None,
            first,
            lo: [lo, lo * first],
            hi: [hi, -(hi * first)],
        }
    }

    /// Returns the factors for twiddles that are `first` times and `halves` times as large, without
    /// a scale.
    #[inline(always)]
    pub fn times(self, first: T, halves: T) -> Self {
        let both = first * halves;
        Self {
            scale: None,
            first: self.first * first,
            lo: [self.lo[0] * halves, self.lo[1] * both],
            hi: [self.hi[0] * halves, self.hi[1] * both],
        }
    }

    /// Does both layers on an element of each quarter.
    #[inline(always)]
    pub fn apply(&self, [a, b, c, d]: [T; 4]) -> [T; 4] {
        let a = self.scale.map_or(a, |scale| a * scale);
        let product = c * self.first;
        let lo = T::dot_product(&[b, d], &self.lo);
        let hi = T::dot_product(&[b, d], &self.hi);
        let (a, c) = (a + product, a - product);
        [a + lo, a - lo, c + hi, c - hi]
    }
}

impl<F: Field> Pair<F> {
    /// Returns the factors for the twiddle of a block and those of its halves, times `scale`.
    #[inline]
    fn scaled(first: F, halves: [F; 2], scale: Option<F>) -> Self {
        let pair = Self::new(first, halves);
        let Some(factor) = scale else { return pair };
        Self {
            scale,
            first: pair.first * factor,
            lo: pair.lo.map(|twiddle| twiddle * factor),
            hi: pair.hi.map(|twiddle| twiddle * factor),
        }
    }

    /// Broadcasts the factors to vectors.
    #[inline(always)]
    fn packed(self) -> Pair<F::Packing> {
        let Self {
            scale,
            first,
            lo,
            hi,
        } = self;
        Pair {
            scale: scale.map(F::Packing::from),
            first: first.into(),
            lo: [lo[0].into(), lo[1].into()],
            hi: [hi[0].into(), hi[1].into()],
        }
    }
}

/// Does two layers of the blocks of `len` elements that `values` consists of, in place, and times
/// `scale`. `first` begins with the twiddles of the blocks, `second` with those of their halves.
pub fn in_place<F: Field>(
    values: &mut [F],
    len: usize,
    first: &[F],
    second: &[F],
    scale: Option<F>,
) {
    let (second, _) = second.as_chunks();
    let blocks = values.chunks_exact_mut(len).zip(first).zip(second);
    for ((block, &first), &halves) in blocks {
        let pair = Pair::scaled(first, halves, scale);
        let packed = pair.packed();
        let [a, b, c, d] = quarters(block);
        let (a, a_end) = F::Packing::pack_slice_with_suffix_mut(a);
        let (b, b_end) = F::Packing::pack_slice_with_suffix_mut(b);
        let (c, c_end) = F::Packing::pack_slice_with_suffix_mut(c);
        let (d, d_end) = F::Packing::pack_slice_with_suffix_mut(d);
        for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
            [*a, *b, *c, *d] = packed.apply([*a, *b, *c, *d]);
        }
        for (((a, b), c), d) in a_end.iter_mut().zip(b_end).zip(c_end).zip(d_end) {
            [*a, *b, *c, *d] = pair.apply([*a, *b, *c, *d]);
        }
    }
}

/// Does two layers of a block, times `scale`, from its quarters in `src` to those in `dst`.
pub fn out_of_place<F: Field>(
    first: F,
    halves: [F; 2],
    scale: Option<F>,
    src: [&[F]; 4],
    dst: [&mut [MaybeUninit<F>]; 4],
) {
    if scale.is_none() && [first, halves[0]] == [F::ONE; 2] {
        let packed = F::Packing::from(halves[1]);
        map(
            src,
            dst,
            |a| first_layers(packed, a),
            |a| first_layers(halves[1], a),
        );
    } else {
        let pair = Pair::scaled(first, halves, scale);
        let packed = pair.packed();
        map(src, dst, |a| packed.apply(a), |a| pair.apply(a));
    }
}

/// Does the first two layers of a transform without a shift, whose twiddles are one but for `last`.
#[inline(always)]
fn first_layers<T: PrimeCharacteristicRing + Copy>(last: T, [a, b, c, d]: [T; 4]) -> [T; 4] {
    let (a, c) = (a + c, a - c);
    let (b, d) = (b + d, (b - d) * last);
    [a + b, a - b, c + d, c - d]
}

/// Writes what `packed` makes of vectors, and `one` of the elements after them.
#[inline(always)]
fn map<F: Field>(
    src: [&[F]; 4],
    dst: [&mut [MaybeUninit<F>]; 4],
    packed: impl Fn([F::Packing; 4]) -> [F::Packing; 4],
    one: impl Fn([F; 4]) -> [F; 4],
) {
    let [a, b, c, d] = src;
    let (a, a_end) = F::Packing::pack_slice_with_suffix(a);
    let (b, b_end) = F::Packing::pack_slice_with_suffix(b);
    let (c, c_end) = F::Packing::pack_slice_with_suffix(c);
    let (d, d_end) = F::Packing::pack_slice_with_suffix(d);
    let src = a.iter().zip(b).zip(c).zip(d);
    let src_end = a_end.iter().zip(b_end).zip(c_end).zip(d_end);
    let [a, b, c, d] = dst;
    let (a, a_end) = F::Packing::pack_maybe_uninit_slice_with_suffix_mut(a);
    let (b, b_end) = F::Packing::pack_maybe_uninit_slice_with_suffix_mut(b);
    let (c, c_end) = F::Packing::pack_maybe_uninit_slice_with_suffix_mut(c);
    let (d, d_end) = F::Packing::pack_maybe_uninit_slice_with_suffix_mut(d);
    let dst = a.iter_mut().zip(b).zip(c).zip(d);
    for ((((a, b), c), d), (((a_out, b_out), c_out), d_out)) in src.zip(dst) {
        let [a, b, c, d] = packed([*a, *b, *c, *d]);
        a_out.write(a);
        b_out.write(b);
        c_out.write(c);
        d_out.write(d);
    }
    let dst_end = a_end.iter_mut().zip(b_end).zip(c_end).zip(d_end);
    for ((((a, b), c), d), (((a_out, b_out), c_out), d_out)) in src_end.zip(dst_end) {
        let [a, b, c, d] = one([*a, *b, *c, *d]);
        a_out.write(a);
        b_out.write(b);
        c_out.write(c);
        d_out.write(d);
    }
}

/// Splits a block into its quarters.
pub fn quarters<T>(block: &mut [T]) -> [&mut [T]; 4] {
    let (ab, cd) = block.split_at_mut(block.len() / 2);
    let (a, b) = ab.split_at_mut(ab.len() / 2);
    let (c, d) = cd.split_at_mut(cd.len() / 2);
    [a, b, c, d]
}
