//! Vectors of elements in halves for the batched Poseidon2 permutation, with the packed field's own products.

use core::ops::Mul;

use crate::Goldilocks;
use crate::poseidon2_batch::{
    BatchElement, EPSILON, REDUCTION_BIAS, Word, lifts, segment_of_halves,
};

/// A vector of 64-bit words.
pub trait Vector: Word {
    fn splat(x: u64) -> Self;
    fn and(self, rhs: Self) -> Self;
    fn shr(self, bits: u32) -> Self;

    /// `(2^32 - 1) self`, for values below `2^32`.
    #[inline(always)]
    fn times_epsilon(self) -> Self {
        self.shl(32).wrapping_sub(self)
    }

    /// `x + y` modulo the order, in `[0, 2^64)`, for `x` a multiple of `2^32` and `y` in `[0, 2^64 - 2^33]`: if that carries,
    /// it leaves at most `2^64 - 2^33 - 2^32`, and adding `EPSILON` once is all that is left to do.
    fn add_modulo(x: Self, y: Self) -> Self;
}

/// A vector of field elements whose unreduced values are in halves.
pub trait VectorElement: Copy + From<Goldilocks> + Mul<Output = Self> {
    type Vector: Vector;
    fn into_vector(self) -> Self::Vector;
    fn from_vector(vector: Self::Vector) -> Self;
    fn square(self) -> Self;
}

impl<A: VectorElement> BatchElement for A {
    type Word = A::Vector;
    type Unreduced = [A::Vector; 2];
    const PARTS: usize = 2;
    type Constant = Goldilocks;

    /// One, two and three are slower for some width or instruction set, six and eight leave the first-level cache.
    const BATCH: usize = 4;

    #[inline(always)]
    fn constant(constant: Goldilocks) -> Goldilocks {
        constant
    }

    #[inline(always)]
    fn segment(width: usize) -> usize {
        segment_of_halves(width)
    }

    #[inline(always)]
    fn widen(self) -> [A::Vector; 2] {
        let x = self.into_vector();
        [x.and(Vector::splat(EPSILON)), x.shr(32)]
    }

    /// `high = 2^32 c + d` counts `2^64 c + 2^32 d = (2^32 - 1) c + 2^32 d`. With `low < 2^63 - 2^33` and `c < 2^31`,
    /// `low + (2^32 - 1) c < 2^64 - 2^33`.
    #[inline(always)]
    fn reduce([low, high]: [A::Vector; 2]) -> Self {
        let [low_bias, high_bias] = REDUCTION_BIAS.map(Vector::splat);
        let (low, high) = (low.wrapping_add(low_bias), high.wrapping_add(high_bias));
        let y = low.wrapping_add(high.shr(32).times_epsilon());
        A::from_vector(Vector::add_modulo(high.shl(32), y))
    }

    /// Stage by stage, so that `N` independent products are in flight at each.
    #[allow(clippy::needless_range_loop)]
    #[inline(always)]
    fn sbox<const N: usize>(x: &mut [[A::Vector; 2]; N], constants: &[Goldilocks; N]) {
        for i in 0..N {
            let ([low, high], constant) = (x[i], A::from(constants[i]).widen());
            let y = A::reduce([
                low.wrapping_add(constant[0]),
                high.wrapping_add(constant[1]),
            ]);
            x[i] = [y.into_vector(), y.square().into_vector()];
        }
        for i in 0..N {
            let [y, y2] = x[i].map(A::from_vector);
            x[i] = [(y2 * y).into_vector(), y2.square().into_vector()];
        }
        for i in 0..N {
            let [y3, y4] = x[i].map(A::from_vector);
            x[i] = (y3 * y4).widen();
        }
    }

    #[inline(always)]
    fn lift<const WIDTH: usize>(sum: A::Vector, part: usize, round: usize) -> A::Vector {
        sum.wrapping_add(Vector::splat(const { lifts(WIDTH) }[round][part]))
    }

    /// The low bits `a + 2^32 b` of the two words make `2^(32 - bits) (a + 2^32 b) / 2^32`, and `1 / 2^32 = 1 - 2^32`, so
    /// that `(a + 2^32 b) / 2^32 = (a + b) - 2^32 a`.
    #[inline(always)]
    fn div_2exp([low, high]: [A::Vector; 2], bits: u32) -> [A::Vector; 2] {
        if bits == 32 {
            return [
                low.wrapping_add(high),
                A::Vector::splat(0).wrapping_sub(low),
            ];
        }
        let mask = A::Vector::splat((1 << bits) - 1);
        let (a, b) = (low.and(mask), high.and(mask));
        [
            low.shr(bits).wrapping_add(a.wrapping_add(b).shl(32 - bits)),
            high.shr(bits).wrapping_sub(a.shl(32 - bits)),
        ]
    }
}
