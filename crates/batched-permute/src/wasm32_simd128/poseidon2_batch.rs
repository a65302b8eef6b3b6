//! The batched Poseidon2 permutation on wasm's SIMD: unreduced values in halves, two states to a vector.

use core::arch::wasm32::{
    i64x2_add, i64x2_gt, i64x2_shl, i64x2_sub, u64x2_shr, u64x2_splat, v128, v128_and, v128_xor,
};
use core::mem::transmute;

use p3_field::PrimeCharacteristicRing;

use crate::PackedGoldilocksWasmSimd128;
use crate::poseidon2_batch::Word;
use crate::poseidon2_batch_vector::{Vector, VectorElement};

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

    /// There are comparisons of signed words only, so `y` and the sum are compared with their top bits flipped: the sum
    /// carried if it is below `y`. The mask's upper half is `EPSILON`.
    #[inline(always)]
    fn add_modulo(x: Self, y: Self) -> Self {
        let flip = u64x2_splat(1 << 63);
        let y = v128_xor(y, flip);
        let sum = i64x2_add(x, y);
        let carried = i64x2_gt(y, sum);
        v128_xor(i64x2_add(sum, u64x2_shr(carried, 32)), flip)
    }
}

impl VectorElement for PackedGoldilocksWasmSimd128 {
    type Vector = v128;

    #[inline(always)]
    fn into_vector(self) -> v128 {
        // SAFETY: both are 16 bytes without padding: two `u64`, through `repr(transparent)` types.
        unsafe { transmute(self) }
    }

    #[inline(always)]
    fn from_vector(vector: v128) -> Self {
        // SAFETY: as in `into_vector`; every `u64` is a valid representative.
        unsafe { transmute(vector) }
    }

    #[inline(always)]
    fn square(self) -> Self {
        PrimeCharacteristicRing::square(&self)
    }
}
