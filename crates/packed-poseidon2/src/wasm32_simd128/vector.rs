//! Vectors of two words, on WebAssembly's SIMD.

use core::arch::wasm32::{
    i32x4_shuffle, i64x2_add, i64x2_gt, i64x2_shl, i64x2_sub, u64x2_extmul_low_u32x4, u64x2_shr,
    u64x2_splat, v128, v128_and, v128_xor,
};
use core::mem::transmute;

use crate::PackedGoldilocksWasmSimd128;
use crate::vector::{EPSILON, Packed, Vector, Word};

impl Word for v128 {
    #[inline(always)]
    fn wrapping_add(self, rhs: Self) -> Self {
        i64x2_add(self, rhs)
    }

    #[inline(always)]
    fn wrapping_sub(self, rhs: Self) -> Self {
        i64x2_sub(self, rhs)
    }

    #[inline(always)]
    fn shl(self, bits: u32) -> Self {
        i64x2_shl(self, bits)
    }
}

impl Vector for v128 {
    /// Only signed words are compared: a sum whose carry is looked for has its top bit flipped.
    const FLIP: u64 = 1 << 63;

    #[inline(always)]
    fn splat(x: u64) -> Self {
        u64x2_splat(x)
    }

    #[inline(always)]
    fn and(self, rhs: Self) -> Self {
        v128_and(self, rhs)
    }

    #[inline(always)]
    fn shr(self, bits: u32) -> Self {
        u64x2_shr(self, bits)
    }

    #[inline(always)]
    fn mul_low(self, rhs: Self) -> Self {
        let low = |x| i32x4_shuffle::<0, 2, 0, 0>(x, x);
        u64x2_extmul_low_u32x4(low(self), low(rhs))
    }

    #[inline(always)]
    fn high(self) -> Self {
        u64x2_shr(self, 32)
    }

    #[inline(always)]
    fn join(low: Self, high: Self) -> Self {
        i32x4_shuffle::<0, 4, 2, 6>(low, high)
    }

    /// A product by the constant itself is no worse here: there is no assembly to hide it with.
    #[inline(always)]
    fn epsilon() -> Self {
        u64x2_splat(EPSILON)
    }

    /// The sum carried if it is below `y`; the top bits of both are flipped. The mask's upper half
    /// is `EPSILON`.
    #[inline(always)]
    fn add_modulo(x: Self, flipped_y: Self) -> Self {
        let sum = i64x2_add(x, flipped_y);
        let carried = i64x2_gt(flipped_y, sum);
        let sum = v128_xor(sum, u64x2_splat(Self::FLIP));
        i64x2_add(sum, u64x2_shr(carried, 32))
    }
}

impl Packed for PackedGoldilocksWasmSimd128 {
    type Words = v128;

    #[inline(always)]
    fn to_words(self) -> v128 {
        // SAFETY: both are 16 bytes without padding: two `u64`, through `repr(transparent)` types.
        unsafe { transmute(self) }
    }

    #[inline(always)]
    fn from_words(words: v128) -> Self {
        // SAFETY: as in `to_words`; every `u64` is a valid representative.
        unsafe { transmute(words) }
    }
}
