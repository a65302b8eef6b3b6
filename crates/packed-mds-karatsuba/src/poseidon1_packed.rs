//! Packed Poseidon1 and its MDS matrices on exact doubles, with one reduction per output of a
//! linear layer.
//!
//! The circulant matrices of widths 8, 12 and 16 have small coefficients. Field multiplications by
//! them, or Karatsuba over the field, reduce after each step. Here a linear layer works on integers
//! and reduces once, before the next S-box.
//!
//! # Unreduced values
//!
//! An element is split into two *halves* `[l, h]` that stand for `l + 2^32 h`. Linear maps with
//! integer coefficients act on each half alone. Halves are integers below `2^53` in
//! double-precision floats: a multiplication by a coefficient of any size and an addition are one
//! instruction, and exact. Modulo `p = 2^64 - 2^32 + 1`, `2^64 = 2^32 - 1`.
//!
//! A double of magnitude below `2^51` becomes a word, and back, by adding [`OFFSET`], `1.5 * 2^52`:
//! the sum's bits are those of `OFFSET` plus the integer. Halves with the offset are called
//! *shifted*.
//!
//! A full round takes each element through these steps:
//!
//! ```text
//! fold        shifted halves and a constant, to a word      (one reduction)
//! x7          four products; the last one is not reduced, and returns to shifted halves
//! circulant   the matrix, on all lower halves and on all upper ones, without the offset
//! ```
//!
//! # Circulants
//!
//! A cyclic convolution of length `2n` is one of length `n` on the sums of opposite elements and a
//! negacyclic one on their differences. Widths 8, 12, 16, 24 fold to 2, 3, 2, 6 ([`circulant`]).
//! Each fold halves the coefficients, so that the sums within hold multiples of 1/4 or 1/8; the
//! outputs are integers.
//!
//! # Partial rounds
//!
//! The constants are folded forward, one per round is left. The sparse form needs `2 WIDTH`
//! products of full size a round; the textbook form needs none. With `M` the matrix, `s_r` the
//! element 0 that enters the S-box of round `r`, `y_r = s_r^7` and `d_r = y_r - s_r`, `K` rounds
//! that begin with `x` are
//!
//! ```text
//!     x_0 <- y_0,    s_r = (M^r x)_0 + sum of (M^(r-t))_00 d_t for 0 < t < r,
//!     x <- M^K x + sum of M^(K-t) e_0 d_t.
//! ```
//!
//! `M^K` is a circulant too: `segment` applies one where there were `K`, and off the chain of
//! S-boxes, which is the latency that bounds a single state. Several states at once are as many
//! chains. Halves begin a segment in `[-2^31 - 2^22, 2^31 + 2^22]`. They grow by the sum of the
//! row, 43, 67 or 371, in each round, so that `K = 3`, or 2 for width 16, keeps every sum below
//! `2^51`.

use p3_field::PrimeField64;

use crate::Goldilocks;
use crate::vector::Vector;

#[cfg(not(target_feature = "avx512f"))]
mod avx2;
#[cfg(target_feature = "avx512f")]
mod avx512;
pub mod circulant;
pub mod halves;
mod layers;
pub mod rounds;
pub mod sbox;
#[cfg(test)]
mod tests;

pub use layers::{PackedMds, Poseidon1ExternalLayerGoldilocks, Poseidon1InternalLayerGoldilocks};

#[cfg(not(target_feature = "avx512f"))]
use crate::PackedGoldilocksAVX2 as Packing;
#[cfg(target_feature = "avx512f")]
use crate::PackedGoldilocksAVX512 as Packing;

/// The order of the field.
const P: u64 = Goldilocks::ORDER_U64;

/// `1.5 * 2^52`: the unit in the last place is 1 here, and stays 1 up to a distance of `2^51`.
pub const OFFSET: f64 = 3.0 * (1u64 << 51) as f64;
pub const OFFSET_BITS: u64 = OFFSET.to_bits();

/// The most rounds of a segment.
const MAX_ROUNDS: usize = 3;

/// A vector of doubles. All values are integers or multiples of 1/8, and every operation is exact.
pub trait Doubles: Copy {
    /// Repeats `x` in each double. `vbroadcastsd`.
    fn splat(x: f64) -> Self;

    /// Adds each double. `vaddpd`.
    fn add(self, rhs: Self) -> Self;

    /// Subtracts each double. `vsubpd`.
    fn sub(self, rhs: Self) -> Self;

    /// Changes the sign of each double. `vxorpd`; on AVX-512 `vpxorq`.
    fn neg(self) -> Self;

    /// Multiplies each double. `vmulpd`.
    fn mul(self, rhs: Self) -> Self;

    /// Returns `self + a b`. `vfmadd231pd`; on AVX2 without FMA `vmulpd`, `vaddpd`.
    fn add_product(self, a: Self, b: Self) -> Self;

    /// Returns `self - a b`. `vfnmadd231pd`; on AVX2 without FMA `vmulpd`, `vsubpd`.
    fn sub_product(self, a: Self, b: Self) -> Self;

    /// Called where sums of fractions are integers again, for tests that track the unit of a value.
    #[inline(always)]
    fn integers(_: &mut [Self]) {}

    /// Returns `[x_0, x_1]` with `x_0 + x_1 = self` and `x_1` the nearest multiple of `2^32`.
    /// `vaddpd`, `vsubpd`, `vsubpd`.
    ///
    /// # Preconditions
    ///
    /// The magnitude of `self` is below `2^53`.
    ///
    /// # Postconditions
    ///
    /// `x_0` is in `[-2^31, 2^31]`.
    #[inline(always)]
    fn split_upper(self) -> [Self; 2] {
        // The unit in the last place is 2^32 there.
        let offset = Self::splat(OFFSET * (1u64 << 32) as f64);
        let upper = self.add(offset).sub(offset);
        [self.sub(upper), upper]
    }
}

/// A vector of words that are the bits of doubles, where the kernel takes them for that.
pub trait AsDoubles: Vector {
    type Doubles: Doubles;

    /// Returns the bits of a shifted double: the lower 32 bits of `self` plus `OFFSET`.
    ///
    /// `vpblendd`; on AVX-512 a move under a mask.
    ///
    /// ```text
    /// self    | l0  h0 | l1  h1 | ..
    /// OFFSET  |  0 off |  0 off | ..   off = 0x4338_0000
    /// result  | l0 off | l1 off | ..
    /// ```
    fn lower_shifted(self) -> Self;

    /// Takes doubles for their bits. No instruction.
    fn from_bits(x: Self::Doubles) -> Self;

    /// Takes the bits of doubles for these. No instruction.
    fn to_bits(self) -> Self::Doubles;
}

type Halves<V> = [<V as AsDoubles>::Doubles; 2];

/// A state, all lower halves first: one of the two at a time fits the registers.
type State<V, const WIDTH: usize> = [[<V as AsDoubles>::Doubles; WIDTH]; 2];
