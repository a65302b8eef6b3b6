//! Butterflies with one twiddle for a row of vectors.
//!
//! With `B = 2^32`, the order is `p = B^2 - B + 1`. Flip the top bits of the two digits of `x`: as
//! signed digits in `[-2^31, 2^31)` they make `x = z0 + B z1 + 2^31 (1 + B)`. For a twiddle `w`,
//! and with `v = B w` modulo the order,
//!
//! `x w = z0 w + z1 v + 2^31 (w + v)`.
//!
//! In signed digits of `w` and `v`, the first two terms are the words `z0 w0 + z1 v0` and
//! `z0 w1 + z1 v1`: nothing is carried between the products. [`PreparedTwiddle`] has constants that
//! are added to the words, so that they are not negative, and that make up for the last term.

use p3_field::{PrimeCharacteristicRing, PrimeField64};

use crate::Goldilocks;
use crate::vector::{Packed, Vector};

/// The operations that butterflies need beyond [`Vector`].
pub trait SignedVector: Vector {
    /// Flips the bits that `rhs` has. `vpxor`, `vpxorq`.
    fn xor(self, rhs: Self) -> Self;

    /// Multiplies the lower 32 bits of each word, as signed integers. `vpmuldq`.
    fn mul_low_signed(self, rhs: Self) -> Self;

    /// Returns `low + B^2 h` modulo the order, plus [`Vector::FLIP`], for the upper 32 bits `h` of
    /// `high`.
    ///
    /// # Preconditions
    ///
    /// `low` and `high` are any words.
    ///
    /// # Postconditions
    ///
    /// The result less [`Vector::FLIP`] is in `[0, p)`.
    ///
    /// `B^2 h` is `(B - 1) (h + 1) - (B - 1)`. The first term is `h` above its complement, and at
    /// most `B^2 - B`. If it and `low` carry, the carry is worth the second term, and they leave
    /// less than `B^2 - B < p`. If they do not, the second term is subtracted, which leaves at most
    /// `B^2 - B = p - 1`.
    fn fold(low: Self, high: Self) -> Self;

    /// Returns `x - (flipped_y - FLIP)` modulo the order.
    ///
    /// # Preconditions
    ///
    /// `flipped_y - FLIP` is in `[0, p)`, `x` any word.
    ///
    /// # Postconditions
    ///
    /// The result is in `[0, B^2)`: any representative.
    ///
    /// If the difference borrows, it leaves at least `B^2 - p + 1 = B`, and one subtraction of
    /// `EPSILON` corrects it.
    fn sub_modulo(x: Self, flipped_y: Self) -> Self;
}

/// The signed digits of a twiddle `w` and of `v = B w`, in the lower 32 bits of words, and what is
/// added to the two words of a product: `2^63 + c0` and `2^63 - B + c1`, where
/// `c0 + B c1 = 2^31 (w + v + 1)` modulo the order, with `c0` in `[-2^31, 2^31)` and `c1` in
/// `[0, B)`. What does not depend on `w` is zero: `2^63 + B (2^63 - B) + 2^31 = 2^31 p`.
///
/// The lower word is in `[0, B^2)`, unless both `w0` and `v0` are `-2^31`: products are in
/// `[-2^62 + 2^31, 2^62]`, and one of two is at most `2^62 - 2^31`. Both are `-2^31` for
/// `w = 1 / 2` alone, which has `c0 = -2^30`.
///
/// The upper word, with the lower word's upper digit, is in `[0, B^2)`, unless `w1` or `v1` is
/// `-2^31`: the products are in `[-2^62 + 2^31, 2^62 - 2^31]`. An upper digit is `-2^31` for
/// `2^63 - 2^31` alone. If that is `w`, `v1 = 0`; if it is `v`, `w1 = 1 - 2^31` and `c1 = 2^30`.
#[derive(Clone, Copy, Debug)]
pub struct PreparedTwiddle<V> {
    pub w: [V; 2],
    pub v: [V; 2],
    pub constants: [V; 2],
}

/// The signed digits of `x` or `x - p`, for `x` in `[0, p)`: each is in `[-2^31, 2^31)`, in the
/// lower bits of its word.
pub const fn signed_digits(x: u64) -> [u64; 2] {
    let x = if x < (1 << 63) - (1 << 31) {
        x
    } else {
        x.wrapping_sub(Goldilocks::ORDER_U64)
    };
    [x, x.wrapping_add(1 << 31) >> 32]
}

impl<V: SignedVector> PreparedTwiddle<V> {
    #[inline(always)]
    pub fn new(w: Goldilocks) -> Self {
        let v = w.mul_2exp_u64(32);
        let c = (w + v + Goldilocks::ONE).mul_2exp_u64(31);
        let c = c.as_canonical_u64();
        let c0 = (c as i32) as u64;
        let c1 = (c + (1 << 31)) >> 32;
        Self {
            w: signed_digits(w.as_canonical_u64()).map(V::splat),
            v: signed_digits(v.as_canonical_u64()).map(V::splat),
            constants: [
                V::splat(c0.wrapping_add(1 << 63)),
                V::splat((1 << 63) - (1 << 32) + c1),
            ],
        }
    }

    /// `(a + w b, a - w b)`.
    #[inline(always)]
    pub fn butterfly(self, a: V, b: V) -> [V; 2] {
        let z0 = b.xor(V::splat((1 << 63) + (1 << 31)));
        let z1 = z0.high();
        let word = |digit: usize| {
            let product = z0.mul_low_signed(self.w[digit]);
            let sum = product.wrapping_add(self.constants[digit]);
            sum.wrapping_add(z1.mul_low_signed(self.v[digit]))
        };
        let low = word(0);
        let high = word(1).wrapping_add(low.shr(32));
        let product = V::fold(V::join(low, high), high);
        [V::add_modulo(a, product), V::sub_modulo(a, product)]
    }
}

/// Vectors from which on preparing a twiddle takes less time than it saves.
const LEAST_USES: usize = 4;

/// The butterfly with `twiddle` for `uses` pairs of vectors, if preparing it pays off.
#[inline(always)]
pub fn prepared_butterfly<P: Packed<Words: SignedVector>>(
    twiddle: Goldilocks,
    uses: usize,
) -> Option<impl Fn(P, P) -> (P, P)> {
    (uses >= LEAST_USES).then(|| {
        let prepared = PreparedTwiddle::new(twiddle);
        move |a: P, b: P| {
            let [sum, difference] = prepared.butterfly(a.to_words(), b.to_words());
            (P::from_words(sum), P::from_words(difference))
        }
    })
}

#[cfg(all(test, target_feature = "avx2"))]
mod tests {
    use core::array;

    use p3_field::{Field, PackedValue};

    use super::*;

    type Packing = <Goldilocks as Field>::Packing;

    /// Twiddles whose digits are extreme, and edges of the reduction, canonical or not.
    fn edges() -> [Goldilocks; 20] {
        let half = Goldilocks::ONE.halve();
        let extreme = Goldilocks::new((1 << 63) - (1 << 31));
        let [neighbor, quotient] = [extreme - Goldilocks::ONE, extreme.div_2exp_u64(32)];
        let words = [
            0,
            1,
            0xffff_fffe,
            0xffff_ffff,
            1 << 32,
            1 << 31,
            1 << 63,
            0xffff_fffe_ffff_ffff,
            Goldilocks::ORDER_U64 - 1,
            Goldilocks::ORDER_U64,
            Goldilocks::ORDER_U64 + 1,
            0x7fff_ffff_7fff_ffff,
            0x8000_0000_7fff_ffff,
            0xffff_ffff_8000_0000,
            u64::MAX - 1,
            u64::MAX,
        ];
        let [a, b, c, d] = [half, extreme, neighbor, quotient];
        array::from_fn(|i| match i {
            16 => a,
            17 => b,
            18 => c,
            19 => d,
            _ => Goldilocks::new(words[i]),
        })
    }

    #[test]
    fn edges_in_every_lane() {
        let edges = edges();
        let lanes = |offset: usize| Packing::from_fn(|lane| edges[(offset + lane) % edges.len()]);
        for twiddle in edges {
            let butterfly = prepared_butterfly(twiddle, LEAST_USES).expect("enough uses");
            for (i, j) in (0..edges.len()).flat_map(|i| (0..edges.len()).map(move |j| (i, j))) {
                let (a, b) = (lanes(i), lanes(j));
                let product = b * twiddle;
                assert_eq!(butterfly(a, b), (a + product, a - product));
            }
        }
    }

    #[test]
    fn few_uses_are_not_worth_it() {
        assert!(prepared_butterfly::<Packing>(Goldilocks::TWO, LEAST_USES - 1).is_none());
    }
}
