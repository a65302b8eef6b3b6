//! Vectors of field elements in limbs of 52 bits, for the rounds of Poseidon2 without modular
//! additions.
//!
//! Two vectors of signed words `[l, h]` stand for elements `l + 2^52 h`. A multiply-add takes the
//! low 52 bits of its factors, and adds the lower or the upper 52 bits of the product to a word of
//! 64. Modulo the order `p = 2^64 - 2^32 + 1`, `2^96 = -1`, so that `2^104 = -2^8`, and bits 44 and
//! up of `h` count `-1` in `l`. `[2^52 m, -m]` is a zero.
//!
//! # Operands
//!
//! An operand is carried: `h` in `[0, 2^44 + 2^11)`, and of `l` the low 52 bits count, which is all
//! that a factor shows. See [`carry`]. A product's columns are `w0 + 2^52 w1 - 2^8 (w2 + 2^52 w3)`.
//! The products of the upper limbs, the last two columns, are made from factors `2^4 h`, below
//! `2^48 + 2^15`, and so arrive multiplied by `2^8`.
//!
//! # Bounds
//!
//! In units of `2^52`, with `e` for terms below `2^-4`, words are in these intervals:
//!
//! - Of a product's columns, `w0` is in `[0, 1)` and `w1` in `[0, 3)`; `[0, 3 + e)` and `[0, e)`
//!   are taken from them. With the zero `[4, -4 / 2^52]`, an S-box returns `l` in `(1 - e, 5)` and
//!   `h` in `(-e, 3)`.
//! - The external layer multiplies by at most 35. With a constant, `l` is below 184 and `h` below
//!   106: `2^59.6` and `2^58.8`.
//! - Between external and internal rounds, elements are compacted.
//! - In the internal rounds, the tail is compacted in every round: `l` in `[0, 1)`, `h` in
//!   `(-e, e)`. A sum is then in `(1 - e, 6)` and `(-e, 3 + e)`, and element 0 in `(-5, e)` and
//!   `(-3 - e, 2 e)`. The zero `[8, -8 / 2^52]` in each constant makes its `l` positive, as an
//!   operand needs it.
//! - Elements whose diagonal entry exceeds 1 grow, at most from `x` to `4 x + 6`. They are
//!   compacted after every [`SEGMENT`] rounds, when they are below `4^4 + 6 (4^4 - 1) / 3 = 766`;
//!   undoing a pair doubles that, `2^62.6`. The tail meets them after three rounds at most, below
//!   `4^3 + 6 (4^3 - 1) / 3 = 190`.
//! - The others grow by at most 6 per round, or converge to at most 10. They are compacted every
//!   [`FULL`] segments, when they are below `6 * 64 + 1 = 385`. The tail is below
//!   `385 + 190 + 10 + 2 (190 + 190 + 4 * 10) = 1425`, that is `2^62.5`.

use core::marker::PhantomData;

use p3_field::PrimeField64;

use crate::Goldilocks;
use crate::poseidon2_rounds::{Representation, sbox_in_groups};
use crate::vector::Vector;

const MASK_52: u64 = (1 << 52) - 1;
const MASK_44: u64 = (1 << 44) - 1;

/// Internal rounds between two times that growing elements are compacted.
const SEGMENT: usize = 4;

/// Segments between two times that all elements are compacted.
const FULL: usize = 16;

/// A vector that multiplies 52 bits, and whose `FLIP` is 0.
pub trait Limb: Vector {
    /// Shifts each word to the right and keeps its sign. `vpsraq`.
    fn sar(self, bits: u32) -> Self;

    /// Adds the lower 52 bits of the product of the low 52 bits of `a` and `b`. `vpmadd52luq`.
    fn add_product_low(self, a: Self, b: Self) -> Self;

    /// Adds the upper 52 bits of the product of the low 52 bits of `a` and `b`. `vpmadd52huq`.
    fn add_product_high(self, a: Self, b: Self) -> Self;

    /// Says that only the low 52 bits are meant, as a factor. No instruction: the multiply-adds
    /// look at these alone.
    #[inline(always)]
    fn low_52(self) -> Self {
        self
    }
}

/// The elements of a vector in limbs.
#[derive(Clone, Debug)]
pub struct Limbs<V>(PhantomData<V>);

/// `2^52 m - m 2^52`.
const fn zero(m: u64) -> [u64; 2] {
    [m << 52, m.wrapping_neg()]
}

/// Returns the same value as an operand of a product. `h` takes at most `2^19` from `l`, or gives
/// it.
///
/// # Preconditions
///
/// `l` is in `[2^19, 2^63 - 2^19)`, `h` any word.
///
/// # Postconditions
///
/// `h` is in `[0, 2^44 + 2^11)`. Of `l`, the low 52 bits are meant.
///
/// The lower limb has no bits to spare, and the upper one has eight: so `h` is folded first and
/// takes the carry unmasked.
#[inline(always)]
fn carry<V: Limb>([l, h]: [V; 2]) -> [V; 2] {
    let l = l.wrapping_sub(h.sar(44));
    let h = h.and(V::splat(MASK_44));
    [l, h.wrapping_add(l.sar(52))]
}

/// Returns the same value in small limbs.
///
/// # Preconditions
///
/// `|l| < 2^63 - 2^19`, and `h` is any word.
///
/// # Postconditions
///
/// `l` is in `[0, 2^52)` and `h` in `[-2^11, 2^44 + 2^11)`.
#[inline(always)]
fn compact<V: Limb>(x: [V; 2]) -> [V; 2] {
    let [l, h] = carry(x);
    [l.and(V::splat(MASK_52)), h]
}

/// The words from a product's columns, `w2` and `w3` with the factor `2^8`.
#[inline(always)]
fn combine<V: Limb>([w0, w1, w2, w3]: [V; 4]) -> [V; 2] {
    [w0.wrapping_sub(w2), w1.wrapping_sub(w3)]
}

/// `x + constant`, carried: with the constant, `l` is as [`carry`] takes it.
#[inline(always)]
pub fn operand<V: Limb>([l, h]: [V; 2], constant: [u64; 2]) -> [V; 2] {
    let [l_constant, h_constant] = constant.map(V::splat);
    carry([l.wrapping_add(l_constant), h.wrapping_add(h_constant)])
}

/// An operand and `2^4 h`.
type Factor<V> = ([V; 2], V);

#[inline(always)]
fn factor<V: Limb>([l, h]: [V; 2]) -> Factor<V> {
    ([l.low_52(), h], h.shl(4))
}

/// 11 instructions without [`factor`]'s: 8 multiply-adds, a shift, two subtractions. The
/// accumulators' copies are free.
#[inline(always)]
fn product<V: Limb>(([l, h], h16): Factor<V>, ([m, k], k16): Factor<V>) -> [V; 2] {
    let none = V::splat(0);
    let [w0, w1] = zero(4).map(V::splat);
    let cross = none.add_product_high(l, k).add_product_high(h, m);
    combine([
        w0.add_product_low(l, m),
        w1.add_product_high(l, m)
            .add_product_low(l, k)
            .add_product_low(h, m),
        cross.shl(8).add_product_low(h16, k16),
        none.add_product_high(h16, k16),
    ])
}

/// [`product`] of equal operands: 6 multiply-adds and a sum.
#[inline(always)]
fn square<V: Limb>(([l, h], h16): Factor<V>) -> [V; 2] {
    let none = V::splat(0);
    let [w0, w1] = zero(4).map(V::splat);
    let twice = h.wrapping_add(h);
    combine([
        w0.add_product_low(l, l),
        w1.add_product_high(l, l).add_product_low(l, twice),
        (none.add_product_high(l, twice))
            .shl(8)
            .add_product_low(h16, h16),
        none.add_product_high(h16, h16),
    ])
}

/// `x^7` of operands, stage by stage, so that `N` independent products are in flight at each.
#[inline(always)]
pub fn x7<V: Limb, const N: usize>(x: &mut [[V; 2]; N]) {
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

impl<V: Limb> Representation for Limbs<V> {
    type Element = V;
    type Word = V;
    type Unreduced = [V; 2];
    const PARTS: usize = 2;
    type Constant = [u64; 2];

    /// With the zero that element 0 of an internal round needs.
    fn constant(constant: Goldilocks) -> [u64; 2] {
        let x = constant.as_canonical_u64();
        let [l, h] = zero(8);
        [l + (x & MASK_52), h.wrapping_add(x >> 52)]
    }

    fn segment(_width: usize) -> usize {
        SEGMENT
    }

    #[inline(always)]
    fn widen(x: V) -> [V; 2] {
        [x.and(V::splat(MASK_52)), x.shr(52)]
    }

    /// For `|l| < 2^63 - 2^32` and `|h| < 2^62 - 2^13`.
    ///
    /// `[2^32 - 1 - 2^18, -2^12 - 2^62]` is `-p`, and makes `h` negative. Let its bits be
    /// `-c, u, v`: `h = -2^44 c + 2^12 u + v`. Then `2^52 h = c + (2^32 - 1) u + 2^52 v`, where `c`
    /// is in `(0, 2^19]` and `u < 2^32`, so that `c + (2^32 - 1) u` is at most
    /// `2^64 - 2^33 + 1 + 2^19`.
    #[inline(always)]
    fn reduce([l, h]: [V; 2]) -> V {
        const { assert!(V::FLIP == 0) };
        let l = l.wrapping_add(V::splat((1 << 32) - 1 - (1 << 18)));
        let h = (h.wrapping_add(l.sar(52))).wrapping_sub(V::splat((1 << 12) + (1 << 62)));
        let x = h.shl(52).wrapping_add(l.and(V::splat(MASK_52)));
        let y = (h.sar(12).mul_low(V::epsilon())).wrapping_sub(h.sar(44));
        V::add_modulo(x, y)
    }

    #[inline(always)]
    fn sbox<const N: usize>(x: &mut [[V; 2]; N], constants: &[[u64; 2]; N]) {
        for i in 0..N {
            x[i] = operand(x[i], constants[i]);
        }
        x7(x);
    }

    /// Shifts that keep the sign need no lift.
    #[inline(always)]
    fn lift<const WIDTH: usize>(sum: V, _part: usize, _round: usize) -> V {
        sum
    }

    /// The low bits `a` of `l` and `b` of `h` count `2^-bits a = -2^(96 - bits) a` and
    /// `2^(52 - bits) b`. The magnitudes of the words are at most the `2^bits`-th part, plus `2^52`
    /// and `2^44`.
    #[inline(always)]
    fn div_2exp([l, h]: [V; 2], bits: u32) -> [V; 2] {
        let a = l.and(V::splat((1 << bits) - 1));
        [
            (l.sar(bits)).add_product_low(h.low_52(), V::splat(1 << (52 - bits))),
            h.sar(bits).wrapping_sub(a.shl(44 - bits)),
        ]
    }

    #[inline(always)]
    fn compact<const WIDTH: usize>(state: &mut [[V; 2]; WIDTH], segment: usize) {
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
    fn compact_tail(tail: [V; 2]) -> [V; 2] {
        compact(tail)
    }

    #[inline(always)]
    fn settle(x: [V; 2]) -> [V; 2] {
        compact(x)
    }

    /// Four chains fill the registers; two, or all at once, take 6 to 10 % longer.
    #[inline(always)]
    fn sbox_layer<const WIDTH: usize>(state: &mut [[V; 2]; WIDTH], constants: &[[u64; 2]; WIDTH]) {
        sbox_in_groups::<Self, WIDTH, 4>(state, constants);
    }
}

#[cfg(all(test, target_feature = "avx512ifma"))]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;
    use core::array;
    use core::ops::RangeInclusive;

    use p3_field::PackedValue;

    use super::*;
    use crate::PackedGoldilocksAVX512;
    use crate::vector::Packed;

    type V = <PackedGoldilocksAVX512 as Packed>::Words;

    const LANES: usize = PackedGoldilocksAVX512::WIDTH;

    const P: i128 = Goldilocks::ORDER_U64 as i128;

    /// An operand's upper limb is below this.
    const OPERAND: i64 = (1 << 44) + (1 << 11);

    /// Words next to every carry: around 0, bits 12, 32, 44, 52 and 62, and the ends of signed
    /// words.
    const EDGES: [i64; 23] = [
        0,
        1,
        -1,
        (1 << 12) - 1,
        1 << 12,
        -(1 << 12),
        0xffff_ffff,
        1 << 32,
        MASK_44 as i64,
        1 << 44,
        -(1 << 44),
        -(1 << 44) - 1,
        MASK_52 as i64 - 1,
        MASK_52 as i64,
        1 << 52,
        -(1 << 52),
        -(1 << 52) - 1,
        (1 << 62) - 1,
        1 << 62,
        -(1 << 62),
        i64::MAX - 1,
        i64::MAX,
        i64::MIN,
    ];

    fn vector(words: [i64; LANES]) -> V {
        PackedGoldilocksAVX512::from_fn(|lane| Goldilocks::new(words[lane] as u64)).to_words()
    }

    fn lanes(vector: V) -> [i64; LANES] {
        // SAFETY: a vector is as many words as it has lanes, without padding.
        unsafe { core::mem::transmute(vector) }
    }

    /// The ends of a range, and the edges in it.
    fn words(range: RangeInclusive<i64>) -> Vec<i64> {
        let (least, largest) = range.clone().into_inner();
        let mut words = vec![least, least + 1, largest - 1, largest];
        words.extend(EDGES.iter().filter(|x| range.contains(x)));
        words
    }

    /// Calls `check` with all pairs of words, different ones in each lane.
    fn for_each_pair(ls: &[i64], hs: &[i64], check: impl Fn([[i64; LANES]; 2])) {
        for i in 0..ls.len() {
            for j in 0..hs.len() {
                check([
                    array::from_fn(|lane| ls[(i + lane) % ls.len()]),
                    array::from_fn(|lane| hs[(j + lane) % hs.len()]),
                ]);
            }
        }
    }

    fn residue(l: i64, h: i64) -> i128 {
        (i128::from(l) + (i128::from(h) << 52)).rem_euclid(P)
    }

    /// The value of an operand: of the lower limb, the low 52 bits.
    fn operand_residue(l: i64, h: i64) -> i128 {
        residue(l & MASK_52 as i64, h)
    }

    #[test]
    fn instructions_act_on_every_lane() {
        let sum: [i64; LANES] = array::from_fn(|lane| EDGES[EDGES.len() - 1 - lane]);
        for_each_pair(&EDGES, &EDGES, |[a, b]| {
            let (x, y) = (vector(a), vector(b));
            for bits in [1, 10, 12, 32, 44, 52] {
                assert_eq!(lanes(x.sar(bits)), a.map(|a| a >> bits));
            }
            let product = |lane: usize| {
                u128::from(a[lane] as u64 & MASK_52) * u128::from(b[lane] as u64 & MASK_52)
            };
            let low = |lane: usize| sum[lane].wrapping_add((product(lane) as u64 & MASK_52) as i64);
            let high = |lane: usize| sum[lane].wrapping_add((product(lane) >> 52) as i64);
            assert_eq!(
                lanes(vector(sum).add_product_low(x, y)),
                array::from_fn(low)
            );
            assert_eq!(
                lanes(vector(sum).add_product_high(x, y)),
                array::from_fn(high)
            );
        });
    }

    #[test]
    fn carries_keep_the_value_at_their_bounds() {
        let ls = words(1 << 19..=i64::MAX - (1 << 19));
        for_each_pair(&ls, &EDGES, |[l, h]| {
            let [low, high] = carry([vector(l), vector(h)]).map(lanes);
            for lane in 0..LANES {
                let expected = residue(l[lane], h[lane]);
                assert_eq!(operand_residue(low[lane], high[lane]), expected);
                assert!((0..OPERAND).contains(&high[lane]));
            }
        });
    }

    #[test]
    fn compact_limbs_keep_the_value_at_their_bounds() {
        let ls = words((1 << 19) - i64::MAX..=i64::MAX - (1 << 19));
        for_each_pair(&ls, &EDGES, |[l, h]| {
            let [low, high] = compact([vector(l), vector(h)]).map(lanes);
            for lane in 0..LANES {
                let expected = residue(l[lane], h[lane]);
                assert_eq!(residue(low[lane], high[lane]), expected);
                assert!((0..1 << 52).contains(&low[lane]));
                assert!((-(1 << 11)..OPERAND).contains(&high[lane]));
            }
        });
    }

    #[test]
    fn operands_are_sums_with_constants() {
        for c in [0, 1, MASK_52, MASK_52 + 1, Goldilocks::ORDER_U64 - 1] {
            let constant = Limbs::<V>::constant(Goldilocks::new(c));
            let [least, _] = constant.map(|word| word as i64);
            let ls = words((1 << 19) - least..=i64::MAX - (1 << 19) - least);
            let hs = words(i64::MIN + 8..=i64::MAX - (1 << 12));
            for_each_pair(&ls, &hs, |[l, h]| {
                let [low, high] = operand([vector(l), vector(h)], constant).map(lanes);
                for lane in 0..LANES {
                    let expected = (residue(l[lane], h[lane]) + i128::from(c)) % P;
                    assert_eq!(operand_residue(low[lane], high[lane]), expected);
                    assert!((0..OPERAND).contains(&high[lane]));
                }
            });
        }
    }

    fn mul(x: i128, y: i128) -> i128 {
        (x as u128 * y as u128 % P as u128) as i128
    }

    /// An S-box returns limbs in these ranges.
    fn is_image(l: i64, h: i64) -> bool {
        ((1 << 52) - (1 << 48)..5 << 52).contains(&l) && (-(1 << 48)..3 << 52).contains(&h)
    }

    /// `(2^44 - 1) (2^44 + 1)` is -1 modulo `2^44`: with the largest lower limbs, most is taken
    /// from a product's lower word.
    #[test]
    fn products_are_exact_at_their_bounds() {
        let ls = [0, 1, 1 << 51, MASK_52 as i64 - 1, MASK_52 as i64];
        let hs = [0, 1, 1 << 43, (1 << 44) - 1, (1 << 44) + 1, OPERAND - 1];
        for_each_pair(&ls, &hs, |[l, h]| {
            let x = factor([vector(l), vector(h)]);
            let x_square = square(x).map(lanes);
            for_each_pair(&ls, &hs, |[m, k]| {
                let product = product(x, factor([vector(m), vector(k)])).map(lanes);
                for lane in 0..LANES {
                    let (x, y) = (residue(l[lane], h[lane]), residue(m[lane], k[lane]));
                    for ([l, h], expected) in [(product, mul(x, y)), (x_square, mul(x, x))] {
                        assert_eq!(residue(l[lane], h[lane]), expected);
                        assert!(is_image(l[lane], h[lane]));
                    }
                }
            });
        });
    }

    #[test]
    fn seventh_powers_are_exact() {
        let hs = [0, 1, 1 << 43, (1 << 44) - 1, 1 << 44, OPERAND - 1];
        for_each_pair(&EDGES, &hs, |[l, h]| {
            let mut x = [[vector(l), vector(h)]];
            x7(&mut x);
            let [low, high] = x[0].map(lanes);
            for lane in 0..LANES {
                let x = operand_residue(l[lane], h[lane]);
                let x3 = mul(mul(x, x), x);
                let expected = mul(mul(x3, x3), x);
                assert_eq!(residue(low[lane], high[lane]), expected);
                assert!(is_image(low[lane], high[lane]));
            }
        });
    }

    #[test]
    fn reductions_hold_at_their_bounds() {
        let (l, h) = ((1 << 32) - i64::MAX, (1 << 13) + 1 - (1 << 62));
        for_each_pair(&words(l..=-l), &words(h..=-h), |[l, h]| {
            let reduced = lanes(Limbs::reduce([vector(l), vector(h)]));
            for lane in 0..LANES {
                let expected = residue(l[lane], h[lane]);
                assert_eq!(i128::from(reduced[lane] as u64) % P, expected);
            }
        });
    }

    #[test]
    fn limbs_of_elements_are_small() {
        for i in 0..EDGES.len() {
            let x: [i64; LANES] = array::from_fn(|lane| EDGES[(i + lane) % EDGES.len()]);
            let [low, high] = Limbs::widen(vector(x)).map(lanes);
            for lane in 0..LANES {
                let expected = i128::from(x[lane] as u64) % P;
                assert_eq!(residue(low[lane], high[lane]), expected);
                assert!((0..1 << 52).contains(&low[lane]) && (0..1 << 12).contains(&high[lane]));
            }
        }
    }

    #[test]
    fn quotients_are_exact() {
        for bits in [1, 2, 3, 4, 6, 8, 10, 32] {
            for_each_pair(&EDGES, &EDGES, |[l, h]| {
                let [low, high] = Limbs::div_2exp([vector(l), vector(h)], bits).map(lanes);
                for lane in 0..LANES {
                    let product = (residue(low[lane], high[lane]) << bits) % P;
                    assert_eq!(product, residue(l[lane], h[lane]));
                }
            });
        }
    }
}
