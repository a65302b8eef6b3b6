//! Vectors of 64-bit words, and products of field elements on them.
//!
//! The kernels for packed states are written once, over [`Vector`]. The file `vector.rs` of an instruction set implements it.
//!
//! In what follows, `B = 2^32`. Modulo the order `p = B^2 - B + 1`, `B^2 = B - 1` and `B^3 = -1`.

use core::fmt::Debug;

/// `B^2` modulo the order.
pub const EPSILON: u64 = 0xffff_ffff;

/// A 64-bit word, or a vector of them: the operations of linear maps.
///
/// Operations wrap. The caller shows that no value does.
pub trait Word: Copy + Debug {
    fn wrapping_add(self, rhs: Self) -> Self;
    fn wrapping_sub(self, rhs: Self) -> Self;
    fn shl(self, bits: u32) -> Self;
}

/// A vector of 64-bit words.
pub trait Vector: Word {
    /// The amount by which the second operand of [`Self::add_modulo`] is too large: `2^63` where the instruction set
    /// compares signed words only, else 0. It joins a constant that is added anyway.
    const FLIP: u64;

    fn splat(x: u64) -> Self;
    fn and(self, rhs: Self) -> Self;
    fn shr(self, bits: u32) -> Self;

    /// The product of the lower 32 bits of each word.
    fn mul_low(self, rhs: Self) -> Self;

    /// The upper 32 bits of each word, moved to the lower ones. The upper bits of the result are arbitrary.
    fn high(self) -> Self;

    /// The lower 32 bits of `low` and, above them, those of `high`.
    fn join(low: Self, high: Self) -> Self;

    /// `EPSILON` that the compiler cannot see: it would replace a product by shifts and subtractions.
    fn epsilon() -> Self;

    /// `x + (flipped_y - FLIP)` modulo the order, in `[0, B^2)`, for sums in `[0, 2 B^2 - B + 1)`.
    ///
    /// If the sum carries, it leaves at most `B^2 - B`, and one addition of `EPSILON` corrects it.
    fn add_modulo(x: Self, flipped_y: Self) -> Self;
}

/// A vector of field elements, any representatives.
pub trait Packed: Copy {
    type Words: Vector;
    fn to_words(self) -> Self::Words;
    fn from_words(words: Self::Words) -> Self;
}

/// `x y + bias[0] + B bias[1]`, for biases in `[0, B)`: the lower digits of `[low, middle]` are its first two, and `high` is
/// the rest.
///
/// A product of digits is at most `(B - 1)^2 = B^2 - 2 B + 1`: a word has room for two more digits.
#[inline(always)]
pub fn product<V: Vector>(x: V, y: V, bias: [u64; 2]) -> [V; 3] {
    let (x1, y1) = (x.high(), y.high());
    let low = x.mul_low(y).wrapping_add(V::splat(bias[0]));
    let cross = x1.mul_low(y).wrapping_add(V::splat(bias[1]));
    let carried = cross.wrapping_add(low.shr(32));
    let middle = x.mul_low(y1).wrapping_add(carried.and(V::splat(EPSILON)));
    let high = x1.mul_low(y1).wrapping_add(carried.shr(32));
    [low, middle, high.wrapping_add(middle.shr(32))]
}

/// `low + B^2 high + EPSILON + offset` modulo the order, in `[0, B^2)`, for an `offset` of 0, or of 2 if `low < B^2 - 2`.
///
/// With `high = d + B c`, `B^2 high = EPSILON d - c`. The sum `y = EPSILON d - c + EPSILON + offset` is in
/// `[0, B^2 - B + offset]`, so that `low + y < 2 B^2 - B`.
#[inline(always)]
pub fn reduce_product<V: Vector>(low: V, high: V, offset: u64) -> V {
    let constant = V::splat(V::FLIP + EPSILON + offset);
    let y = high.mul_low(V::epsilon());
    V::add_modulo(low, y.wrapping_add(constant.wrapping_sub(high.shr(32))))
}

/// A representative of `x y`. The bias `2 + B (B - 2) = p - EPSILON` cancels what the reduction adds.
#[inline(always)]
pub fn mul<V: Vector>(x: V, y: V) -> V {
    let [low, middle, high] = product(x, y, [2, EPSILON - 1]);
    reduce_product(V::join(low, middle), high, 0)
}

/// A representative of `x^2`.
///
/// The bias is that of [`mul`], less 2: a square is 0 or 1 modulo 4, and so is `low`, which is thus below `B^2 - 2`.
#[inline(always)]
pub fn square<V: Vector>(x: V) -> V {
    let x1 = x.high();
    let (p00, p01, p11) = (x.mul_low(x), x.mul_low(x1), x1.mul_low(x1));
    // It counts twice: 2 B (2^31 - 1) = B (B - 2).
    let p01 = p01.wrapping_add(V::splat((1 << 31) - 1));
    // A word has no room for 2 p01, but for p01 and half of p00's upper digit.
    let carried = p01.wrapping_add(p00.shr(33)).shr(31);
    let low = p00.wrapping_add(p01.shl(33));
    reduce_product(low, p11.wrapping_add(carried), 2)
}
