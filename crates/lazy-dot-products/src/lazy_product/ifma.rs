//! Products of 52 bits: digits of 40 and 24 bits, limbs of 52 and 12.

#[cfg(target_feature = "avx512ifma")]
use core::arch::x86_64::{__m512i, _mm512_madd52hi_epu64, _mm512_madd52lo_epu64};
use core::array;

use super::{LazyProduct, Sums};
use crate::vector::Vector;

const LIMB: u32 = 52;
const LIMB_MASK: u64 = (1 << LIMB) - 1;

/// A vector that multiplies 52 bits.
pub trait FusedProduct: Vector {
    /// Adds the lower 52 bits of the product of the low 52 bits of `a` and `b`. `vpmadd52luq`.
    fn add_product_low(self, a: Self, b: Self) -> Self;

    /// Adds the upper 52 bits of the product of the low 52 bits of `a` and `b`. `vpmadd52huq`.
    fn add_product_high(self, a: Self, b: Self) -> Self;
}

#[cfg(target_feature = "avx512ifma")]
impl FusedProduct for __m512i {
    #[inline(always)]
    fn add_product_low(self, a: Self, b: Self) -> Self {
        // SAFETY: AVX-512F and IFMA are enabled wherever this is compiled.
        unsafe { _mm512_madd52lo_epu64(self, a, b) }
    }

    #[inline(always)]
    fn add_product_high(self, a: Self, b: Self) -> Self {
        // SAFETY: IFMA, as above.
        unsafe { _mm512_madd52hi_epu64(self, a, b) }
    }
}

impl<V: FusedProduct> LazyProduct for V {
    const DIGIT: u32 = 40;

    #[inline(always)]
    fn digits(self) -> [Self; 2] {
        [self.and(Self::splat((1 << 40) - 1)), self.shr(40)]
    }

    /// The instructions look at the low 52 bits. There is no third limb.
    #[inline(always)]
    fn limbs(self) -> [Self; 3] {
        [self, self.shr(LIMB), self]
    }

    #[inline(always)]
    fn limbs_of(x: u64) -> [u64; 3] {
        [x & LIMB_MASK, x >> LIMB, 0]
    }

    /// The upper half of the digit's product with one limb, and the product with the other, are at
    /// `2^52`. They have sums of their own, so that neither waits for the other. The halves are in
    /// `[0, 2^52)` and `[0, 2^40)`, the product with the other limb in `[0, 2^52 - 2^40)`. With the
    /// limb that a sum starts with and 1024 terms, `x` is in `[0, 2^62 + 2^52)`, and `y + z` and
    /// the carry from `x` in `[0, 2^62)`.
    #[inline(always)]
    fn add_product(sums: &mut Sums<Self>, digits: [Self; 2], [a, b, _]: [Self; 3]) {
        *sums = array::from_fn(|i| {
            let ([x, y, z], digit) = (sums[i], digits[i]);
            [
                x.add_product_low(digit, a),
                y.add_product_high(digit, a),
                z.add_product_low(digit, b),
            ]
        });
    }

    #[inline(always)]
    fn carry([x, y, z]: [Self; 3]) -> [Self; 2] {
        let upper = y.wrapping_add(z).wrapping_add(x.shr(LIMB));
        let low = x.and(Self::splat(LIMB_MASK)).wrapping_add(upper.shl(LIMB));
        [low, upper.shr(64 - LIMB)]
    }
}
