//! Products of 52 bits: digits of 40 and 24 bits, limbs of 52 and 12.

use core::arch::x86_64::{__m512i, _mm512_madd52hi_epu64, _mm512_madd52lo_epu64};
use core::array;

use super::{LazyProduct, Sums};
use crate::vector::{Vector, Word};

const LIMB: u32 = 52;
const LIMB_MASK: u64 = (1 << LIMB) - 1;

impl LazyProduct for __m512i {
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

    /// The upper half of the digit's product with one limb, and the product with the other, are at `2^52`. They have sums of their
    /// own, so that neither waits for the other. Products and limbs are in `[0, 2^52)`: a sum of 1024 and what it starts with is
    /// in `[0, 2^62 + 2^52)`. Two of them and a carry fit a word.
    #[inline(always)]
    fn add_product(sums: &mut Sums<Self>, digits: [Self; 2], [a, b, _]: [Self; 3]) {
        *sums = array::from_fn(|i| {
            let ([x, y, z], digit) = (sums[i], digits[i]);
            // SAFETY: AVX-512F and IFMA are enabled wherever this module is compiled.
            unsafe {
                [
                    _mm512_madd52lo_epu64(x, digit, a),
                    _mm512_madd52hi_epu64(y, digit, a),
                    _mm512_madd52lo_epu64(z, digit, b),
                ]
            }
        });
    }

    #[inline(always)]
    fn carry([x, y, z]: [Self; 3]) -> [Self; 2] {
        let upper = y.wrapping_add(z).wrapping_add(x.shr(LIMB));
        let low = x.and(Self::splat(LIMB_MASK)).wrapping_add(upper.shl(LIMB));
        [low, upper.shr(64 - LIMB)]
    }
}
