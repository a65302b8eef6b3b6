//! Elements in two limbs for the batched Poseidon2 permutation, where the instruction set multiplies numbers of 52 bits.
//!
//! Two 64-bit words `[l, h]`, signed, stand for `l + 2^52 h`. A multiply-add takes the low 52 bits of its factors, and adds
//! the lower or the upper 52 bits of the product to a word of 64. Modulo `p = 2^64 - 2^32 + 1`, `2^96 = -1`, so that
//! `2^104 = -2^8`, and bits 44 and up of `h` count `-1` in `l`. `[2^52 m, -m]` is a zero.
//!
//! # Operands
//!
//! An operand is carried: `h` in `[0, 2^44 + 2^11)`, and of `l` the low 52 bits count, which is all that a factor shows. See
//! [`carry`]. A product's columns are `w0 + 2^52 w1 - 2^8 (w2 + 2^52 w3)`. The products of the upper limbs, the last two columns,
//! are made from factors `2^4 h`, below `2^48 + 2^15`, and so arrive multiplied by `2^8`.
//!
//! # Bounds
//!
//! In units of `2^52`, with `e` for terms below `2^-4`, words are in these intervals:
//!
//! - Of a product's columns, `w0` is in `[0, 1)` and `w1` in `[0, 3)`; `[0, 3 + e)` and `[0, e)` are taken from them. With the
//!   zero `[4, -4 / 2^52]`, an S-box returns `l` in `(1 - e, 5)` and `h` in `(-e, 3)`.
//! - Between two phases, and two permutations, elements are compacted: no two external layers meet without one.
//! - The external layer multiplies by at most 35. With a constant, `l` is below 184 and `h` below 106: `2^59.6` and `2^58.8`.
//! - In the internal rounds, the tail is compacted in every round: `l` in `[0, 1)`, `h` in `(-e, e)`. A sum is then in
//!   `(1 - e, 6)` and `(-e, 3 + e)`, and element 0 in `(-5, e)` and `(-3 - e, 2 e)`. The zero `[8, -8 / 2^52]` in each constant
//!   makes its `l` positive, as an operand needs it.
//! - Elements whose diagonal entry exceeds 1 grow, at most from `x` to `4 x + 6`. They are compacted after every [`SEGMENT`]
//!   rounds, when they are below `4^4 + 6 (4^4 - 1) / 3 = 766`; undoing a pair doubles that, `2^62.6`. The tail meets them
//!   after three rounds at most, below `4^3 + 6 (4^3 - 1) / 3 = 190`.
//! - The others grow by at most 6 per round, or converge to at most 10. They are compacted every [`FULL`] segments, when they
//!   are below `6 * 64 + 1 = 385`. The tail is below `385 + 190 + 10 + 2 (190 + 190 + 4 * 10) = 1425`, that is `2^62.5`.
//!
//! The tests run all of this on intervals.

use p3_field::PrimeField64;

use crate::Goldilocks;
use crate::poseidon2_batch::{BatchElement, Word, sbox_in_groups};

const MASK_52: i64 = (1 << 52) - 1;
const MASK_44: i64 = (1 << 44) - 1;

/// Internal rounds between two times that growing elements are compacted.
const SEGMENT: usize = 4;

/// Segments between two times that all elements are compacted.
const FULL: usize = 16;

/// A vector of words that multiplies 52 bits.
pub trait Limb: Word {
    fn splat(x: i64) -> Self;
    fn and(self, rhs: Self) -> Self;
    /// A shift that keeps the sign.
    fn sar(self, bits: u32) -> Self;
    fn shr(self, bits: u32) -> Self;

    /// `self` plus the lower 52 bits of the product of the low 52 bits of `a` and `b`.
    fn add_product_low(self, a: Self, b: Self) -> Self;

    /// `self` plus the upper 52 bits of the product of the low 52 bits of `a` and `b`.
    fn add_product_high(self, a: Self, b: Self) -> Self;

    /// A word of which only the low 52 bits are meant, as a factor.
    #[inline(always)]
    fn low_52(self) -> Self {
        self
    }

    /// `2^32 - 1` times the low 32 bits.
    fn low_32_times_epsilon(self) -> Self;

    /// `x + y` modulo the order, in `[0, 2^64)`, for unsigned `x` and `y`, `y` in `[0, 2^64 - 2^32]`: if that carries, it
    /// leaves at most `2^64 - 2^32 - 1`, and adding `2^32 - 1` once is all that is left to do.
    fn add_modulo(x: Self, y: Self) -> Self;
}

/// A vector of field elements whose unreduced values are in limbs.
pub trait LimbElement: Copy {
    type Limb: Limb;
    fn into_vector(self) -> Self::Limb;
    fn from_vector(vector: Self::Limb) -> Self;
}

/// The same value with `h` in `[0, 2^44 + 2^11)`, for `l` in `[2^19, 2^63 - 2^19)`: `h` takes at most `2^19` from `l`, or gives it.
/// Of the result's `l`, the low 52 bits are meant.
///
/// The lower limb has no bits to spare, and the upper one has eight: so `h` is folded first and takes the carry unmasked.
#[inline(always)]
fn carry<T: Limb>([l, h]: [T; 2]) -> [T; 2] {
    let l = l.wrapping_sub(h.sar(44));
    let h = h.and(T::splat(MASK_44));
    [l, h.wrapping_add(l.sar(52))]
}

/// The same value with `l` in `[0, 2^52)` and `h` in `[-2^11, 2^44 + 2^11)`, for `|l| < 2^63 - 2^19`.
#[inline(always)]
fn compact<T: Limb>(x: [T; 2]) -> [T; 2] {
    let [l, h] = carry(x);
    [l.and(T::splat(MASK_52)), h]
}

/// The words from a product's columns, `w2` and `w3` with the factor `2^8`, plus a zero.
#[inline(always)]
fn combine<T: Limb>([w0, w1, w2, w3]: [T; 4]) -> [T; 2] {
    [w0.wrapping_sub(w2), w1.wrapping_sub(w3)]
}

/// `x + constant`, carried.
#[inline(always)]
pub fn operand<T: Limb>([l, h]: [T; 2], constant: [i64; 2]) -> [T; 2] {
    let [l_constant, h_constant] = constant.map(T::splat);
    carry([l.wrapping_add(l_constant), h.wrapping_add(h_constant)])
}

/// An operand and `2^4 h`.
type Factor<T> = ([T; 2], T);

#[inline(always)]
fn factor<T: Limb>([l, h]: [T; 2]) -> Factor<T> {
    ([l.low_52(), h], h.shl(4))
}

/// 11 instructions without [`factor`]'s: 8 multiply-adds, a shift, two subtractions. The accumulators' copies are free.
#[inline(always)]
fn product<T: Limb>(([l, h], h16): Factor<T>, ([m, k], k16): Factor<T>) -> [T; 2] {
    let zero = T::splat(0);
    let cross = zero.add_product_high(l, k).add_product_high(h, m);
    combine([
        T::splat(4 << 52).add_product_low(l, m),
        T::splat(-4)
            .add_product_high(l, m)
            .add_product_low(l, k)
            .add_product_low(h, m),
        cross.shl(8).add_product_low(h16, k16),
        zero.add_product_high(h16, k16),
    ])
}

/// [`product`] of equal operands: 6 multiply-adds and a sum.
#[inline(always)]
fn square<T: Limb>(([l, h], h16): Factor<T>) -> [T; 2] {
    let zero = T::splat(0);
    let twice = h.wrapping_add(h);
    combine([
        T::splat(4 << 52).add_product_low(l, l),
        T::splat(-4)
            .add_product_high(l, l)
            .add_product_low(l, twice),
        (zero.add_product_high(l, twice))
            .shl(8)
            .add_product_low(h16, h16),
        zero.add_product_high(h16, h16),
    ])
}

/// `x^7` of operands, stage by stage, so that `N` independent products are in flight at each.
#[inline(always)]
pub fn x7<T: Limb, const N: usize>(x: &mut [[T; 2]; N]) {
    let mut x2 = *x;
    for i in 0..N {
        x2[i] = carry(square(factor(x[i])));
    }
    for i in 0..N {
        x[i] = carry(product(factor(x[i]), factor(x2[i])));
        x2[i] = carry(square(factor(x2[i])));
    }
    for i in 0..N {
        x[i] = product(factor(x[i]), factor(x2[i]));
    }
}

impl<A: LimbElement> BatchElement for A {
    type Word = A::Limb;
    type Unreduced = [A::Limb; 2];
    const PARTS: usize = 2;
    type Constant = [i64; 2];
    const BATCH: usize = 2;

    /// With the zero that element 0 of an internal round needs.
    #[inline(always)]
    fn constant(constant: Goldilocks) -> [i64; 2] {
        let x = constant.as_canonical_u64();
        [(x as i64 & MASK_52) + (8 << 52), (x >> 52) as i64 - 8]
    }

    #[inline(always)]
    fn segment(_width: usize) -> usize {
        SEGMENT
    }

    #[inline(always)]
    fn widen(self) -> [A::Limb; 2] {
        let x = self.into_vector();
        [x.and(Limb::splat(MASK_52)), x.shr(52)]
    }

    /// For `|l| < 2^63 - 2^32` and `|h| < 2^62 - 2^13`.
    ///
    /// The zero `[2^32 - 1 - 2^18, -2^12 - 2^62]` makes `h` negative. Let its bits be `-c, u, v`: `h = -2^44 c + 2^12 u + v`.
    /// Then `2^52 h = c + (2^32 - 1) u + 2^52 v`, where `c` is in `(0, 2^19]` and `u < 2^32`, so that `c + (2^32 - 1) u` is at
    /// most `2^64 - 2^33 + 1 + 2^19`.
    #[inline(always)]
    fn reduce([l, h]: [A::Limb; 2]) -> Self {
        let l = l.wrapping_add(Limb::splat((1 << 32) - 1 - (1 << 18)));
        let h = h
            .wrapping_add(l.sar(52))
            .wrapping_add(Limb::splat(-(1 << 12) - (1 << 62)));
        let x = h.shl(52).wrapping_add(l.and(Limb::splat(MASK_52)));
        let y = (h.sar(12).low_32_times_epsilon()).wrapping_sub(h.sar(44));
        A::from_vector(Limb::add_modulo(x, y))
    }

    #[inline(always)]
    fn sbox<const N: usize>(x: &mut [[A::Limb; 2]; N], constants: &[[i64; 2]; N]) {
        for i in 0..N {
            x[i] = operand(x[i], constants[i]);
        }
        x7(x);
    }

    /// Shifts that keep the sign need no lift.
    #[inline(always)]
    fn lift<const WIDTH: usize>(sum: A::Limb, _part: usize, _round: usize) -> A::Limb {
        sum
    }

    /// The low bits `a` of `l` and `b` of `h` count `2^-bits a = -2^(96 - bits) a` and `2^(52 - bits) b`. The magnitudes of the
    /// words are at most the `2^bits`-th part, plus `2^52` and `2^44`.
    #[inline(always)]
    fn div_2exp([l, h]: [A::Limb; 2], bits: u32) -> [A::Limb; 2] {
        let a = l.and(Limb::splat((1 << bits) - 1));
        [
            (l.sar(bits)).add_product_low(h.low_52(), Limb::splat(1 << (52 - bits))),
            h.sar(bits).wrapping_sub(a.shl(44 - bits)),
        ]
    }

    #[inline(always)]
    fn compact<const WIDTH: usize>(state: &mut [[A::Limb; 2]; WIDTH], segment: usize) {
        // A range, as in the rounds.
        #[allow(clippy::needless_range_loop)]
        for i in 1..WIDTH {
            let grows = match WIDTH {
                8 => matches!(i, 2 | 4 | 6 | 7),
                _ => matches!(i, 2 | 4 | 5 | 7 | 8),
            };
            if grows || segment.is_multiple_of(FULL) {
                state[i] = compact(state[i]);
            }
        }
    }

    #[inline(always)]
    fn compact_tail(tail: [A::Limb; 2]) -> [A::Limb; 2] {
        compact(tail)
    }

    #[inline(always)]
    fn settle(x: [A::Limb; 2]) -> [A::Limb; 2] {
        compact(x)
    }

    /// Four chains fill the registers; two, or all at once, take 6 to 10 % longer.
    #[inline(always)]
    fn sbox_layer<const WIDTH: usize>(
        state: &mut [Self::Unreduced; WIDTH],
        constants: &[[i64; 2]; WIDTH],
    ) {
        sbox_in_groups::<Self, WIDTH, 4>(state, constants);
    }
}
