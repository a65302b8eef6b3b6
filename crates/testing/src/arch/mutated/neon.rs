//! NEON.

use core::arch::aarch64 as cpu;
use core::arch::aarch64::{int64x2_t, uint32x2_t, uint64x2_t};
use core::mem::transmute;

use super::WORDS;
use crate::mutation::goes_wrong;

binary! {
    uint64x2_t: vaddq_u64, false, vsubq_u64, vaddq_u32;
    uint64x2_t: vandq_u64, false, vorrq_u64, vbicq_u64;
    uint64x2_t: vsubq_u64, true, vaddq_u64, vsubq_u32;
}

shifts! {
    uint64x2_t, int64x2_t: vshlq_u64, vshlq_u32, vrshlq_u64;
}

counts! {
    vdupq_n_s64 -> int64x2_t: i64;
}

conversions! {
    uint32x2_t => uint64x2_t: vmovl_u32, vmovl_s32;
}

constants! {
    vdupq_n_u64 -> uint64x2_t: u64, a;
}

/// The words of `a` from the `N`th one, and then those of `b`.
#[track_caller]
pub unsafe fn vextq_u64<const N: i32>(a: uint64x2_t, b: uint64x2_t) -> uint64x2_t {
    // SAFETY: the caller is compiled for NEON.
    unsafe {
        if goes_wrong("operands swapped") {
            return cpu::vextq_u64::<N>(b, a);
        }
        if goes_wrong("left operand lost") {
            return cpu::vextq_u64::<N>(b, b);
        }
        if goes_wrong("right operand lost") {
            return cpu::vextq_u64::<N>(a, a);
        }
        if goes_wrong("a word less") {
            return a;
        }
        cpu::vextq_u64::<N>(a, b)
    }
}
