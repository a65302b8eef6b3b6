//! Batches of Poseidon2 states on NEON, without modular additions: the halves of one element side
//! by side in a vector.
//!
//! A product of two scalar elements takes two instructions, and two vectors of halves would take
//! many: so S-boxes stay scalar, and the linear layers are done on pairs of halves. An addition is
//! one instruction then, for both halves.

use core::arch::aarch64::{
    uint64x2_t, vaddq_u64, vandq_u64, vcreate_u32, vdupq_n_s64, vdupq_n_u64, vextq_u64, vmovl_u32,
    vshlq_u64, vsubq_u64,
};
use core::mem::transmute;

use p3_field::PrimeCharacteristicRing;

use crate::Goldilocks;
use crate::poseidon2_halves::{REDUCTION_BIAS, lifts, segment};
use crate::poseidon2_rounds::{Representation, Rounds};
use crate::vector::{EPSILON, Word};

/// States to interleave: as many chains of S-boxes fill a wide core, and more would spill.
pub const BATCH: usize = 4;

impl Word for uint64x2_t {
    #[inline(always)]
    fn wrapping_add(self, rhs: Self) -> Self {
        // SAFETY: NEON is enabled wherever this module is compiled.
        unsafe { vaddq_u64(self, rhs) }
    }

    #[inline(always)]
    fn wrapping_sub(self, rhs: Self) -> Self {
        // SAFETY: as above.
        unsafe { vsubq_u64(self, rhs) }
    }

    #[inline(always)]
    fn shl(self, bits: u32) -> Self {
        // SAFETY: as above.
        unsafe { vshlq_u64(self, vdupq_n_s64(bits.into())) }
    }
}

#[inline(always)]
fn pair(words: [u64; 2]) -> uint64x2_t {
    // SAFETY: 16 bytes without padding on both sides, all values valid.
    unsafe { transmute(words) }
}

#[inline(always)]
fn words(pair: uint64x2_t) -> [u64; 2] {
    // SAFETY: as in `pair`.
    unsafe { transmute(pair) }
}

/// Returns `(l + B h) / B = (l + h) - B l`, with `B = 2^32`.
///
/// Three of `ext`, which takes the end of one vector and the beginning of another, `add`, `sub`:
///
/// ```text
/// x                       | l | h |
/// low     ext(zero, x)    | 0 | l |
/// ext(low, zero)          | l | 0 |
/// ext(x, zero)            | h | 0 |
/// result                  | l + h | -l |
/// ```
#[inline(always)]
pub fn over_2exp_32(x: uint64x2_t) -> uint64x2_t {
    // SAFETY: NEON, as above.
    unsafe {
        let zero = vdupq_n_u64(0);
        let low = vextq_u64::<1>(zero, x);
        let sum = vaddq_u64(vextq_u64::<1>(low, zero), vextq_u64::<1>(x, zero));
        vsubq_u64(sum, low)
    }
}

/// An element in halves, as in [`poseidon2_halves`](crate::poseidon2_halves), with the same bounds.
#[derive(Clone, Debug)]
pub struct Pair;

impl Representation for Pair {
    type Element = Goldilocks;
    type Word = uint64x2_t;
    type Unreduced = [uint64x2_t; 1];
    const PARTS: usize = 1;
    type Constant = Goldilocks;

    fn constant(constant: Goldilocks) -> Goldilocks {
        constant
    }

    fn segment(width: usize) -> usize {
        segment(width)
    }

    #[inline(always)]
    fn widen(x: Goldilocks) -> [uint64x2_t; 1] {
        // SAFETY: `Goldilocks` is `repr(transparent)` over a `u64`; NEON, as above.
        unsafe { [vmovl_u32(vcreate_u32(transmute::<Goldilocks, u64>(x)))] }
    }

    /// `h = d + B c` counts `B d + (B - 1) c`. With the bias, `l < 2^63 - 2 B` and `c < 2^31`, so
    /// that `l + (B - 1) c < B^2 - 2 B`: if the sum with `B d` carries, adding `EPSILON` once is
    /// all that is left to do.
    #[inline(always)]
    fn reduce([x]: [uint64x2_t; 1]) -> Goldilocks {
        let [low, high] = words(x.wrapping_add(pair(REDUCTION_BIAS)));
        let (sum, carry) = (high << 32).overflowing_add(low + (high >> 32) * EPSILON);
        Goldilocks::new(sum.wrapping_add(EPSILON * u64::from(carry)))
    }

    #[inline(always)]
    fn sbox<const N: usize>(x: &mut [[uint64x2_t; 1]; N], constants: &[Goldilocks; N]) {
        // Not by stages: the integer registers hold few chains, and the CPU finds the others
        // itself.
        for (x, constant) in x.iter_mut().zip(constants) {
            let [constant] = Self::widen(*constant);
            let y = Self::reduce([x[0].wrapping_add(constant)]);
            let y2 = y.square();
            *x = Self::widen((y2 * y) * y2.square());
        }
    }

    #[inline(always)]
    fn lift<const WIDTH: usize>(sum: uint64x2_t, _part: usize, round: usize) -> uint64x2_t {
        sum.wrapping_add(pair(const { lifts(WIDTH) }[round]))
    }

    #[inline(always)]
    fn div_2exp([x]: [uint64x2_t; 1], bits: u32) -> [uint64x2_t; 1] {
        if bits == 32 {
            return [over_2exp_32(x)];
        }
        // SAFETY: NEON, as above.
        unsafe {
            let low = over_2exp_32(vandq_u64(x, vdupq_n_u64((1 << bits) - 1)));
            let high = vshlq_u64(x, vdupq_n_s64(-i64::from(bits)));
            [vaddq_u64(high, low.shl(32 - bits))]
        }
    }
}

/// Permutes [`BATCH`] states.
pub fn permute_group<const WIDTH: usize>(
    rounds: &Rounds<Pair, WIDTH>,
    states: &mut [[Goldilocks; WIDTH]; BATCH],
) {
    let mut unreduced = states.map(|state| state.map(Pair::widen));
    rounds.permute(&mut unreduced);
    *states = unreduced.map(|state| state.map(Pair::reduce));
}
