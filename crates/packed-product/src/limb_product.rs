//! Products of field elements by multiply-adds of 52 bits.
//!
//! A word is `x0 + 2^52 x1`, with `x1` in `[0, 2^12)`, and a product of two words is three columns,
//! `w0 + 2^52 w1 + 2^104 w2`. Modulo the order, `2^64 = EPSILON` and `2^96 = -1`: bits 12 to 43 of
//! `w1` count `EPSILON` each, and the bits above, with `2^8 w2`, count `-1`.

use crate::poseidon2_limbs::Limb;

/// The first values of `w1` and `w2`: `2^52 (2^44 - 2^12) - 2^104 2^24`, a multiple of the order.
/// See [`reduce`].
const START: [u64; 2] = [(1 << 44) - (1 << 12), (1u64 << 24).wrapping_neg()];

/// Returns a representative of `x y`, in 20 instructions.
#[inline(always)]
pub fn mul<V: Limb>(x: V, y: V) -> V {
    reduce(columns(x, y))
}

/// Returns a representative of `x^2`, in 18 instructions.
#[inline(always)]
pub fn square<V: Limb>(x: V) -> V {
    reduce(square_columns(x))
}

/// Returns the columns of `x y`, with [`START`].
///
/// ```text
///                               l = add_product_low, h = add_product_high
///     w0    x0 y0 l
///     w1    x0 y0 h    x0 y1 l    x1 y0 l
///     w2    x1 y1 l    x0 y1 h    x1 y0 h
/// ```
///
/// `x1 y1` is below `2^24`, and has no upper half.
#[inline(always)]
pub fn columns<V: Limb>(x: V, y: V) -> [V; 3] {
    let [w1, w2] = START.map(V::splat);
    let (x0, x1) = (x.low_52(), x.shr(52));
    let (y0, y1) = (y.low_52(), y.shr(52));
    [
        V::splat(0).add_product_low(x0, y0),
        w1.add_product_high(x0, y0)
            .add_product_low(x0, y1)
            .add_product_low(x1, y0),
        w2.add_product_low(x1, y1)
            .add_product_high(x0, y1)
            .add_product_high(x1, y0),
    ]
}

/// [`columns`] of equal factors.
#[inline(always)]
pub fn square_columns<V: Limb>(x: V) -> [V; 3] {
    let [w1, w2] = START.map(V::splat);
    let (x0, x1) = (x.low_52(), x.shr(52));
    let twice = x1.wrapping_add(x1);
    [
        V::splat(0).add_product_low(x0, x0),
        w1.add_product_high(x0, x0).add_product_low(x0, twice),
        w2.add_product_low(x1, x1).add_product_high(x0, twice),
    ]
}

/// Returns a representative of the columns of a product.
///
/// # Preconditions
///
/// The columns are those of [`columns`] or [`square_columns`], of any words.
///
/// # Postconditions
///
/// The result is in `[0, 2^64)`: any representative.
///
/// With `B = 2^32`, they are `low + B^2 d + B^3 c`, where `low` is in `[0, B^2)` and `d` in
/// `[0, B)`. A product is below `B^4`, and [`START`] counts `B^3 - B^2 - B^4`, so that `c` is in
/// `[-B, 1)`. Hence `y = EPSILON d - c` is in `[0, B^2 - B + 2)`, and `low + y` in
/// `[0, 2 B^2 - B + 1)`.
#[inline(always)]
pub fn reduce<V: Limb>([w0, w1, w2]: [V; 3]) -> V {
    let low = w0.wrapping_add(w1.shl(52));
    let c = w1.shr(44).wrapping_add(w2.shl(8));
    let y = w1.shr(12).mul_low(V::epsilon()).wrapping_sub(c);
    V::add_modulo(low, y)
}

#[cfg(all(test, target_arch = "x86_64", target_feature = "avx512ifma"))]
mod tests {
    use p3_field::PackedValue;

    use super::{mul, square};
    use crate::vector::Packed;
    use crate::{Goldilocks, PackedGoldilocksAVX512};

    /// Words next to each carry, and next to the end of a limb. Not all are canonical.
    const EDGES: [u64; 12] = [
        0,
        1,
        0xffff_ffff,
        1 << 32,
        (1 << 44) - 1,
        (1 << 52) - 1,
        1 << 52,
        1 << 63,
        0xffff_ffff_0000_0000,
        0xffff_ffff_0000_0001,
        0xfff0_0000_0000_0000,
        0xffff_ffff_ffff_ffff,
    ];

    /// Each edge by each one, in every lane.
    #[test]
    fn products_match_scalar_products() {
        let pack = |from: usize| {
            PackedGoldilocksAVX512::from_fn(|i| Goldilocks::new(EDGES[(from + i) % EDGES.len()]))
        };
        for x in (0..EDGES.len()).map(pack) {
            for y in (0..EDGES.len()).map(pack) {
                let (x_words, y_words) = (x.to_words(), y.to_words());
                let product = PackedGoldilocksAVX512::from_words(mul(x_words, y_words));
                let squared = PackedGoldilocksAVX512::from_words(square(x_words));
                for lane in 0..PackedGoldilocksAVX512::WIDTH {
                    let [a, b] = [x, y].map(|x| x.as_slice()[lane]);
                    assert_eq!(product.as_slice()[lane], a * b, "{a} {b}");
                    assert_eq!(squared.as_slice()[lane], a * a, "{a}");
                }
            }
        }
    }
}
