//! The S-box, whose last product is not reduced.

use core::array;

use super::{AsDoubles, Halves};
use crate::vector::{EPSILON, mul, product, square};

/// Returns `x y` in shifted halves, not reduced: with `high = 2^32 c + d`, `l = low - c - d` and
/// `h = middle + d`.
///
/// ```text
/// low     | l0  ? | ..      result    l = l0 - d0 - c0 + OFFSET
/// middle  | m0  ? | ..                h = m0 + d0 + OFFSET
/// high    | d0 c0 | ..
/// ```
///
/// # Preconditions
///
/// `x` and `y` are any words.
///
/// # Postconditions
///
/// Without the offset, `l` is in `(-2^33, 2^32)` and `h` in `[0, 2^33)`.
#[inline(always)]
pub fn mul_unreduced<V: AsDoubles>(x: V, y: V) -> Halves<V> {
    let [low, middle, high] = product(x, y, [0, 0]);
    let d = high.and(V::splat(EPSILON));
    let l = low
        .lower_shifted()
        .wrapping_sub(d.wrapping_add(high.shr(32)));
    [l, middle.lower_shifted().wrapping_add(d)].map(V::to_bits)
}

/// The S-box of `N` elements, stage by stage: `N` independent multiplications are in flight at
/// each. `finish` is applied to the shifted results, each with its place.
#[inline(always)]
pub(super) fn x7<V: AsDoubles, const N: usize>(
    x: [V; N],
    finish: impl Fn(usize, Halves<V>) -> Halves<V>,
) -> [Halves<V>; N] {
    let x2: [V; N] = array::from_fn(|i| square(x[i]));
    let x3: [V; N] = array::from_fn(|i| mul(x2[i], x[i]));
    let x4: [V; N] = array::from_fn(|i| square(x2[i]));
    array::from_fn(|i| finish(i, mul_unreduced(x3[i], x4[i])))
}
