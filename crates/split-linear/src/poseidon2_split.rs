//! Vectors of elements in halves for the batched Poseidon2 permutation, with products of their own.
//!
//! The packed field's product returns a representative in `[0, 2^64)`, from operands that may be any. This one departs from
//! it in three ways. The constants `-EPSILON` and `EPSILON` that keep a reduction from falling below zero join words that
//! are added anyway. The last product of the S-box is not reduced at all: its four halves are summed into an unreduced
//! value, which the linear layer takes. And a round's constants are prepared: split into halves, biased as
//! [`REDUCTION_BIAS`] has it.
//!
//! In what follows, `B = 2^32`, so that `B^2 = B - 1` and `B^3 = -1` modulo the order `p = B^2 - B + 1`.

use p3_field::PrimeField64;

use crate::Goldilocks;
use crate::poseidon2_batch::{
    BatchElement, EPSILON, REDUCTION_BIAS, Word, lifts, sbox_in_groups, segment_of_halves,
};

/// A vector of 64-bit words.
pub trait Vector: Word {
    /// What `low` exceeds the lower half by in [`Self::add_modulo`].
    const OFFSET: u64;

    /// Whether [`Self::reduce_product`] adds `EPSILON`, for which the product has to make up.
    const BIASED: bool;

    fn splat(x: u64) -> Self;
    fn and(self, rhs: Self) -> Self;
    fn shr(self, bits: u32) -> Self;

    /// The product of the lower 32 bits of each word.
    fn mul_low(self, rhs: Self) -> Self;

    /// The upper 32 bits of each word, in the lower ones; the upper ones are arbitrary.
    fn high(self) -> Self;

    /// The lower 32 bits of `low` and, above them, those of `high`.
    fn join(low: Self, high: Self) -> Self;

    /// `EPSILON`, unknown to the compiler, which would make shifts and subtractions of a product by it.
    fn epsilon() -> Self;

    /// `x + (y - OFFSET)` modulo the order, in `[0, B^2)`, for `x` a multiple of `B` and `y - OFFSET` in `[0, B^2 - 2 B]`:
    /// if that carries, it leaves at most `B^2 - 3 B`, and adding `EPSILON` once is all that is left to do.
    fn add_modulo(x: Self, y: Self) -> Self;

    /// `low + B^2 high` modulo the order, in `[0, B^2)`; if `BIASED`, that plus `EPSILON` and, if `SQUARE`, plus 2.
    fn reduce_product<const SQUARE: bool>(low: Self, high: Self) -> Self;

    /// [`BatchElement::lift`].
    fn lift<const WIDTH: usize>(self, part: usize, round: usize) -> Self {
        self.wrapping_add(Self::splat(const { lifts(WIDTH) }[round][part]))
    }
}

/// A vector of field elements with an S-box of its own.
pub trait VectorElement: Copy {
    type Vector: Vector;

    /// States to interleave.
    const BATCH: usize;

    /// Whether the S-boxes of widths 12 and 16 are applied to half of a state at a time, not to all of it.
    const GROUPED: bool;

    fn into_vector(self) -> Self::Vector;
    fn from_vector(vector: Self::Vector) -> Self;
}

/// `x y + BIAS (2 + (B - 2) B)`, of which the lower two digits are those of `[low, middle]` and the others are `high`.
#[inline(always)]
fn product<V: Vector, const BIAS: bool>(x: V, y: V) -> [V; 3] {
    let (x1, y1) = (x.high(), y.high());
    let (mut p00, p01, mut p10, p11) = (x.mul_low(y), x.mul_low(y1), x1.mul_low(y), x1.mul_low(y1));
    // A product of digits is at most (B - 1)^2 = B^2 - 2 B + 1, which leaves room for two more digits; the bias takes less.
    if BIAS {
        p00 = p00.wrapping_add(V::splat(2));
        p10 = p10.wrapping_add(V::splat((1 << 32) - 2));
    }
    let middle = p10.wrapping_add(p00.shr(32));
    let middle_low = p01.wrapping_add(middle.and(V::splat(EPSILON)));
    let high = (p11.wrapping_add(middle.shr(32))).wrapping_add(middle_low.shr(32));
    [p00, middle_low, high]
}

/// A representative of `x y`.
#[inline(always)]
pub fn mul<V: Vector>(x: V, y: V) -> V {
    let [low, middle, high] = if V::BIASED {
        product::<V, true>(x, y)
    } else {
        product::<V, false>(x, y)
    };
    V::reduce_product::<false>(V::join(low, middle), high)
}

/// A representative of `x^2`.
#[inline(always)]
pub fn square<V: Vector>(x: V) -> V {
    let x1 = x.high();
    let (p00, mut p01, p11) = (x.mul_low(x), x.mul_low(x1), x1.mul_low(x1));
    if V::BIASED {
        // Twice over; the 2 of the bias is left to the reduction.
        p01 = p01.wrapping_add(V::splat((1 << 31) - 1));
    }
    // 2 p01 may not fit a word, p01 and half of p00's upper digit do.
    let middle = p01.wrapping_add(p00.shr(33));
    V::reduce_product::<true>(
        p00.wrapping_add(p01.shl(33)),
        p11.wrapping_add(middle.shr(31)),
    )
}

/// `x y`, unreduced: words in `(-2 B, B)` and `[0, 2 B)`. With digits `h + B h'` of the high part, `B^2 h = (B - 1) h` and
/// `B^3 h' = -h'`.
#[inline(always)]
pub fn mul_unreduced<V: Vector>(x: V, y: V) -> [V; 2] {
    let [low, middle, high] = product::<V, false>(x, y);
    let digit = V::splat(EPSILON);
    let h = high.and(digit);
    [
        low.and(digit).wrapping_sub(h.wrapping_add(high.shr(32))),
        middle.and(digit).wrapping_add(h),
    ]
}

/// The representative of an unreduced value with words in `[0, 2^63 - 2^33)`, the lower one increased by `OFFSET`.
///
/// `high = B c + d` counts `B^2 c + B d = (B - 1) c + B d`. With `c < 2^31`, `low + (B - 1) c < B^2 - 2 B`.
#[inline(always)]
fn fold<V: Vector>([low, high]: [V; 2]) -> V {
    let y = low.wrapping_add(high.shr(32).mul_low(V::epsilon()));
    V::add_modulo(high.shl(32), y)
}

/// A representative of `x`, from a constant's words, see [`biased`].
#[inline(always)]
fn representative<V: Vector>([low, high]: [V; 2], constant: [u64; 2]) -> V {
    let [low_constant, high_constant] = constant.map(V::splat);
    fold([
        low.wrapping_add(low_constant),
        high.wrapping_add(high_constant),
    ])
}

/// The bias of reductions with the offset of [`Vector::add_modulo`], plus a constant.
const fn biased<V: Vector>(constant: u64) -> [u64; 2] {
    let [low, high] = REDUCTION_BIAS;
    [
        (low + (constant & EPSILON)).wrapping_add(V::OFFSET),
        high + (constant >> 32),
    ]
}

impl<A: VectorElement> BatchElement for A {
    type Word = A::Vector;
    type Unreduced = [A::Vector; 2];
    const PARTS: usize = 2;
    type Constant = [u64; 2];
    const BATCH: usize = A::BATCH;

    fn constant(constant: Goldilocks) -> [u64; 2] {
        biased::<A::Vector>(constant.as_canonical_u64())
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

    #[inline(always)]
    fn reduce(x: [A::Vector; 2]) -> Self {
        A::from_vector(representative(x, biased::<A::Vector>(0)))
    }

    /// Stage by stage, so that `N` independent products are in flight at each.
    #[allow(clippy::needless_range_loop)]
    #[inline(always)]
    fn sbox<const N: usize>(x: &mut [[A::Vector; 2]; N], constants: &[[u64; 2]; N]) {
        for i in 0..N {
            x[i][0] = representative(x[i], constants[i]);
        }
        for i in 0..N {
            x[i][1] = square(x[i][0]);
        }
        for i in 0..N {
            x[i][0] = mul(x[i][1], x[i][0]);
        }
        for i in 0..N {
            x[i][1] = square(x[i][1]);
        }
        for i in 0..N {
            x[i] = mul_unreduced(x[i][0], x[i][1]);
        }
    }

    #[inline(always)]
    fn sbox_layer<const WIDTH: usize>(
        state: &mut [Self::Unreduced; WIDTH],
        constants: &[[u64; 2]; WIDTH],
    ) {
        match (A::GROUPED, WIDTH) {
            (true, 12) => sbox_in_groups::<Self, WIDTH, 6>(state, constants),
            (true, 16) => sbox_in_groups::<Self, WIDTH, 8>(state, constants),
            _ => Self::sbox(state, constants),
        }
    }

    #[inline(always)]
    fn lift<const WIDTH: usize>(sum: A::Vector, part: usize, round: usize) -> A::Vector {
        sum.lift::<WIDTH>(part, round)
    }

    /// The low bits `a + B b` of the two words make `2^(32 - bits) (a + B b) / B`, and `1 / B = 1 - B`, so that
    /// `(a + B b) / B = (a + b) - B a`.
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
