//! Products of words that are added up without a reduction, [`TERMS`] of them.
//!
//! A product of 64-bit words fills two words, and its parts carry into each other. Here one factor
//! is cut into three limbs and the other into two digits, so short that a word takes the sum of
//! 1024 products of a digit and a limb. Nothing is carried between the sums before the end.
//!
//! With digits `x = x0 + 2^s x1`, a dot product is `sum x0 y + 2^s (sum x1 y)`, where `y` is cut
//! into limbs. So there are six sums, here with digits of 32 bits and limbs of 22, 22 and 20:
//!
//! ```text
//!                  y2     y1     y0
//!     x0           sum    sum    sum       sums[0], reduced
//!     x1           sum    sum    sum       sums[1], reduced, times 2^s, reduced
//!     position    2^44   2^22      1
//! ```

use p3_field::PrimeField64;

use crate::Goldilocks;
use crate::vector::{EPSILON, Vector, reduce_product};

pub mod ifma;

/// Terms after which sums are reduced.
///
/// With digits of 32 bits and limbs of 22,
/// `1024 (2^32 - 1) (2^22 - 1) = 2^64 - 2^42 - 2^32 + 2^10`. A sum starts below `2^22` and is
/// carried less than `2^42`, so that it stays below `2^64`. No further term fits.
pub const TERMS: usize = 1024;

/// A vector whose words take sums of products.
///
/// The provided methods have digits of 32 bits, and limbs of 22, 22 and 20 bits. An instruction set
/// that multiplies more bits overrides all of them.
pub trait LazyProduct: Vector {
    /// The position of the upper digit.
    const DIGIT: u32 = 32;

    /// Returns the two digits, in the bits that [`Self::add_product`] looks at. `vmovshdup`.
    #[inline(always)]
    fn digits(self) -> [Self; 2] {
        [self, self.high()]
    }

    /// Returns the three limbs, in the bits that [`Self::add_product`] looks at. Two of `vpand` and
    /// `vpsrlq`.
    #[inline(always)]
    fn limbs(self) -> [Self; 3] {
        let mask = Self::splat(LIMB_MASK);
        [self.and(mask), self.shr(LIMB).and(mask), self.shr(2 * LIMB)]
    }

    /// The limbs of a number, for [`Vector::splat`]. They are sums that stand for it, too.
    #[inline(always)]
    fn limbs_of(x: u64) -> [u64; 3] {
        [x & LIMB_MASK, (x >> LIMB) & LIMB_MASK, x >> (2 * LIMB)]
    }

    /// Adds the product of the number with these digits and that with these limbs. Six of
    /// `vpmuludq` and `vpaddq`.
    ///
    /// # Preconditions
    ///
    /// Each sum began as [`start`] has it, and fewer than [`TERMS`] products were added to it
    /// since.
    ///
    /// # Postconditions
    ///
    /// No sum has wrapped, nor does it in [`Self::carry`].
    #[inline(always)]
    fn add_product(sums: &mut Sums<Self>, digits: [Self; 2], limbs: [Self; 3]) {
        // A limb is dead after its two products. AVX2 has registers for two pairs of sums, digits
        // and little else.
        for (i, limb) in limbs.into_iter().enumerate() {
            for (sums, digit) in sums.iter_mut().zip(digits) {
                sums[i] = sums[i].wrapping_add(digit.mul_low(limb));
            }
        }
    }

    /// Returns `[low, high]`, where `low + B^2 high` is what the sums stand for.
    #[inline(always)]
    fn carry(sums: [Self; 3]) -> [Self; 2] {
        let mask = Self::splat(LIMB_MASK);
        let [x, y, z] = sums;
        let y = y.wrapping_add(x.shr(LIMB));
        let z = z.wrapping_add(y.shr(LIMB));
        let low = x.and(mask).wrapping_add(y.and(mask).shl(LIMB));
        let low = low.wrapping_add(z.shl(2 * LIMB));
        [low, z.shr(64 - 2 * LIMB)]
    }
}

#[cfg(all(
    target_arch = "x86_64",
    target_feature = "avx2",
    not(target_feature = "avx512f")
))]
impl LazyProduct for core::arch::x86_64::__m256i {}

#[cfg(all(
    target_arch = "x86_64",
    target_feature = "avx512f",
    not(target_feature = "avx512ifma")
))]
impl LazyProduct for core::arch::x86_64::__m512i {}

const LIMB: u32 = 22;
const LIMB_MASK: u64 = (1 << LIMB) - 1;

/// Returns sums that stand for `-reductions * EPSILON`, since each reduction adds `EPSILON`.
#[inline(always)]
pub fn start<V: LazyProduct>(reductions: u64) -> [V; 3] {
    V::limbs_of(Goldilocks::ORDER_U64 - reductions * EPSILON).map(V::splat)
}

/// Returns a representative of the sums and `EPSILON`.
#[inline(always)]
pub fn reduce<V: LazyProduct>(sums: [V; 3]) -> V {
    let [low, high] = V::carry(sums);
    reduce_product(low, high, 0)
}

/// The sums of the products with the lower digits, and with the upper ones.
pub type Sums<V> = [[V; 3]; 2];

/// Returns the sums of no products. The upper sums make up for their first reduction, the lower
/// sums for their own and for the second one of the upper sums.
#[inline(always)]
pub fn zero<V: LazyProduct>() -> Sums<V> {
    [start(2), start(1)]
}

/// Two numbers that add up to what the sums stand for.
#[inline(always)]
pub fn parts<V: LazyProduct>(sums: Sums<V>) -> [V; 2] {
    let upper = reduce(sums[1]);
    // `2^s` times it, and `EPSILON`.
    let shifted = reduce_product(upper.shl(V::DIGIT), upper.shr(64 - V::DIGIT), 0);
    [reduce(sums[0]), shifted]
}
