//! Vectors of field elements as Gaussian integers, for butterflies without modular additions.
//!
//! Modulo the order `p = 2^64 - 2^32 + 1`, `i = 2^48` is a fourth root of unity: `2^96 = -1`. Two
//! vectors of words `[l, h]` stand for the elements `l + i h`. A product by `i` exchanges the words
//! and changes a sign. Since `2^64 = 2^32 - 1`, `(2^32 - 1) - 2^16 i` is a zero.
//!
//! # Bounds
//!
//! Words of loaded elements are in `[0, 2^48)`, words between layers in `[2^41, 2^52)`. In units of
//! `2^50`, with `e = 2^-11`:
//!
//! - Words of a product are in `(-e, 1/2 + e)`.
//! - The first operand of a butterfly is in `[1 + 2^-8 - e, 5/4 + 2^-7)` when `normalized`, and in
//!   `[1 + 2^-8 - e, 3/2 + 2^-7)` as a product with [`ZERO`].
//! - Radix 4 adds three products to it, of which it subtracts at most two: words are above
//!   `2^-8 - 4 e > 2^-9`, and below `3 + 2^-6`.

use crate::poseidon2_limbs::Limb;

const MASK_48: u64 = (1 << 48) - 1;

/// The order in Gaussian integers, up to a unit: `M[0] - i M[1] = 0`.
const M: [u64; 2] = [(1 << 32) - 1, 1 << 16];

/// A zero whose words are in `[2^50 + 2^41, 2^50 + 2^43)`: `(1 + i) (M[0] - i M[1])`, times
/// `2^18 + 2^10`.
pub const ZERO: [u64; 2] = {
    let m = (1 << 18) + (1 << 10);
    [m * (M[0] + M[1]), m * (M[0] - M[1])]
};

/// The words of `2^4 w` and `2^4 i w` for a twiddle `w`.
#[derive(Clone, Copy, Debug)]
pub struct Twiddle<V> {
    pub w: [V; 2],
    pub v: [V; 2],
}

/// Takes a word apart. `vpandq`, `vpsrlq`.
///
/// # Postconditions
///
/// The words are in `[0, 2^48)` and `[0, 2^16)`.
#[inline(always)]
pub fn load<V: Limb>(x: V) -> [V; 2] {
    [x.and(V::splat(MASK_48)), x.shr(48)]
}

/// Returns the element as one word, any representative.
///
/// # Preconditions
///
/// Both words are in `[2^4, 2^52)`.
///
/// # Postconditions
///
/// The result is any representative.
///
/// Bits above 48 move to the other word first: those of `h` leave `l` nonnegative, those of `l`
/// leave `h` below `2^48 + 2^4`. With `g = h >> 16`, the result is
/// `low + 2^64 g = low + g (2^32 - 1)`, where `g` is at most `2^32`.
#[inline(always)]
pub fn store<V: Limb>([l, h]: [V; 2]) -> V {
    let l = l.wrapping_sub(h.shr(48));
    let h = h.and(V::splat(MASK_48)).wrapping_add(l.shr(48));
    let upper = h.and(V::splat((1 << 16) - 1)).shl(48);
    let low = upper.wrapping_add(l.and(V::splat(MASK_48)));
    let g = h.shr(16);
    V::add_modulo(low, g.shl(32).wrapping_sub(g))
}

/// A twiddle, any representative: `x0 + 2^32 x1 + 2^48 x2 = x0 + x1 + i (2^16 x1 + x2)`, since
/// `2^32 = 1 + 2^16 i`.
///
/// The words of `w` are at most `2^32 + 2^16 - 2` and `2^32 - 1`. `i w`, with `M[1] + i M[0]` and
/// `M[0] - i M[1]`, has words in `[2^16, 2^32 + 2^16)` and in `[2^32 - 2^16 - 1, 2^33)`.
#[inline(always)]
pub fn prepare<V: Limb>(twiddle: V) -> Twiddle<V> {
    let x1 = twiddle.shr(32).and(V::splat((1 << 16) - 1));
    let low = twiddle.and(V::splat((1 << 32) - 1)).wrapping_add(x1);
    let high = twiddle.shr(48).wrapping_add(x1.shl(16));
    let [m0, m1] = M;
    let w = [low, high];
    let v = [
        V::splat(m0 + m1).wrapping_sub(high),
        V::splat(m0 - m1).wrapping_add(low),
    ];
    Twiddle {
        w: w.map(|word| word.shl(4)),
        v: v.map(|word| word.shl(4)),
    }
}

/// Returns `x w`. 8 multiply-adds, two shifts, a sum, a difference.
///
/// # Preconditions
///
/// The words of `x` are in `[0, 2^52)`.
///
/// # Postconditions
///
/// The words are in `(-e, 1/2 + e)`, in the units of the module's documentation.
///
/// Factors of 52 and 37 bits: the sums of lower halves are below `2^53`, those of upper halves
/// below `2^38`. A lower half counts `2^-4`, an upper half `2^48 = i`.
#[inline(always)]
fn product<V: Limb>([l, h]: [V; 2], twiddle: Twiddle<V>) -> [V; 2] {
    let halves = |w: V, v: V| {
        let low = V::splat(0).add_product_low(l, w).add_product_low(h, v);
        let high = V::splat(0).add_product_high(l, w).add_product_high(h, v);
        (low.shr(4), high)
    };
    let Twiddle { w, v } = twiddle;
    let (low, i) = halves(w[0], v[0]);
    let (low_i, minus_one) = halves(w[1], v[1]);
    [low.wrapping_sub(minus_one), low_i.wrapping_add(i)]
}

#[inline(always)]
fn add<V: Limb>(x: [V; 2], y: [V; 2]) -> [V; 2] {
    [x[0].wrapping_add(y[0]), x[1].wrapping_add(y[1])]
}

#[inline(always)]
fn sub<V: Limb>(x: [V; 2], y: [V; 2]) -> [V; 2] {
    [x[0].wrapping_sub(y[0]), x[1].wrapping_sub(y[1])]
}

/// Returns the same value: 48 bits of each word, what exceeds them in the other, and [`ZERO`].
///
/// # Preconditions
///
/// Both words are in `[0, 2^52)`.
///
/// # Postconditions
///
/// The words are in `[1 + 2^-8 - e, 5/4 + 2^-7)`, in the units of the module's documentation.
#[inline(always)]
fn normalized<V: Limb>([l, h]: [V; 2]) -> [V; 2] {
    let mask = V::splat(MASK_48);
    let kept = [l.and(mask), h.and(mask)];
    let moved = [
        V::splat(ZERO[0]).wrapping_sub(h.shr(48)),
        V::splat(ZERO[1]).wrapping_add(l.shr(48)),
    ];
    add(kept, moved)
}

/// The first operand of a butterfly.
#[inline(always)]
fn first<V: Limb>(x: [V; 2], scale: Option<Twiddle<V>>) -> [V; 2] {
    match scale {
        Some(scale) => add(product(x, scale), ZERO.map(V::splat)),
        None => normalized(x),
    }
}

/// `scale x[0] + t x[1]` and `scale x[0] - t x[1]`.
#[inline(always)]
pub fn radix_2<V: Limb>(x: [[V; 2]; 2], t: Twiddle<V>, scale: Option<Twiddle<V>>) -> [[V; 2]; 2] {
    let a = first(x[0], scale);
    let p = product(x[1], t);
    [add(a, p), sub(a, p)]
}

/// Two layers, as `LazyButterflies::radix_4` says: 60 instructions without a scale.
#[inline(always)]
pub fn radix_4<V: Limb>(
    x: [[V; 2]; 4],
    [t, s, ts]: [Twiddle<V>; 3],
    scale: Option<Twiddle<V>>,
) -> [[V; 2]; 4] {
    let a = first(x[0], scale);
    let (p1, p2, p3) = (product(x[1], s), product(x[2], t), product(x[3], ts));
    let [y0, y1] = [add(a, p2), sub(a, p2)];
    let [z0, [z_l, z_h]] = [add(p1, p3), sub(p1, p3)];
    [
        add(y0, z0),
        sub(y0, z0),
        // i (z_l + i z_h) = -z_h + i z_l
        [y1[0].wrapping_sub(z_h), y1[1].wrapping_add(z_l)],
        [y1[0].wrapping_add(z_h), y1[1].wrapping_sub(z_l)],
    ]
}
