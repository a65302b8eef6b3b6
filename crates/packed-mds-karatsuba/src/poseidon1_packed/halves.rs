//! Elements in halves: from words and back, and how halves are kept small.

use core::array;

use super::{AsDoubles, Doubles, Halves, OFFSET, OFFSET_BITS, State};
use crate::vector::{EPSILON, Vector};

/// The halves of `2^20 p`, zero modulo `p`: they make every half above `-2^51` positive.
const BIAS: [u64; 2] = [(1 << 20) * ((1 << 32) + 1), (1 << 20) * ((1 << 32) - 2)];

/// Adds the offset, to halves of magnitude below `2^51`.
#[inline(always)]
pub(super) fn shift<V: AsDoubles>(x: Halves<V>) -> Halves<V> {
    x.map(|half| half.add(V::Doubles::splat(OFFSET)))
}

/// Takes the offset off.
#[inline(always)]
pub(super) fn unshift<V: AsDoubles>(x: Halves<V>) -> Halves<V> {
    x.map(|half| half.sub(V::Doubles::splat(OFFSET)))
}

/// Returns the shifted halves of any words, in `[0, 2^32)`. [`Vector::high`], and two times
/// [`AsDoubles::lower_shifted`].
///
/// ```text
/// x   | l0  h0 | l1  h1 | ..
/// l   | l0 off | l1 off | ..
/// h   | h0 off | h1 off | ..
/// ```
#[inline(always)]
pub(super) fn split<V: AsDoubles>(x: V) -> Halves<V> {
    [x.lower_shifted(), x.high().lower_shifted()].map(V::to_bits)
}

/// The number that [`fold`] adds to the bits of shifted halves: a constant, the bias, and no
/// `OFFSET`.
#[inline(always)]
pub const fn fold_constant<V: Vector>(constant: u64) -> [u64; 2] {
    [
        (constant & EPSILON)
            .wrapping_add(BIAS[0])
            .wrapping_add(V::FLIP)
            .wrapping_sub(OFFSET_BITS),
        (constant >> 32)
            .wrapping_add(BIAS[1])
            .wrapping_sub(OFFSET_BITS),
    ]
}

/// Reduces shifted halves plus a constant, that of [`fold_constant`], to one word.
///
/// ```text
/// h           | d0 c0 | ..
/// h.shr(32)   | c0  0 | ..   times 2^32 - 1, joins l
/// h.shl(32)   |  0 d0 | ..
/// ```
///
/// # Preconditions
///
/// Without the offset, the halves are in `(-2^51, 2^51)`.
///
/// # Postconditions
///
/// The result is any representative.
///
/// With the bias, halves are in `[0, 2^53)`. `h = 2^32 c + d` counts `(2^32 - 1) c + 2^32 d`, and
/// `l + (2^32 - 1) c < 2^54`.
#[inline(always)]
pub fn fold<V: AsDoubles>([l, h]: Halves<V>, constant: [u64; 2]) -> V {
    let l = V::from_bits(l).wrapping_add(V::splat(constant[0]));
    let h = V::from_bits(h).wrapping_add(V::splat(constant[1]));
    let y = l.wrapping_add(h.shr(32).mul_low(V::epsilon()));
    V::add_modulo(h.shl(32), y)
}

/// Returns the same element with small halves.
///
/// # Preconditions
///
/// The halves have magnitudes below `2^53`, and no offset.
///
/// # Postconditions
///
/// The halves are in `[-2^31 - 2^22, 2^31 + 2^22]`.
///
/// With `l = l_0 + 2^32 l_1` and `h = h_0 + 2^32 h_1`, the element is
/// `(l_0 - h_1) + 2^32 (h_0 + h_1 + l_1)`.
#[inline(always)]
pub fn normalize<V: AsDoubles>([l, h]: Halves<V>) -> Halves<V> {
    let scale = V::Doubles::splat(1.0 / (1u64 << 32) as f64);
    let ([l0, l1], [h0, h1]) = (l.split_upper(), h.split_upper());
    let h = h0.add_product(l1, scale).add_product(h1, scale);
    [l0.sub_product(h1, scale), h]
}

/// The halves of words, less `offset`.
#[inline(always)]
pub(super) fn state_halves<V: AsDoubles, const WIDTH: usize>(
    state: &[V; WIDTH],
    offset: f64,
) -> State<V, WIDTH> {
    let halves = state.map(split);
    array::from_fn(|half| array::from_fn(|i| halves[i][half].sub(V::Doubles::splat(offset))))
}
