//! Vectors of field elements in halves, for the rounds of Poseidon2 without modular additions.
//!
//! Two vectors of signed words `[l, h]` stand for elements `l + B h`, with `B = 2^32`. Modulo the
//! order `p = B^2 - B + 1`, `B^2 = B - 1`, and `[m (B + 1), m (B - 2)]` is `m p`, which is zero.
//!
//! [`Halves::widen`](Representation::widen) takes a word apart. Sums and small multiples act on
//! both vectors alike, and what exceeds 32 bits stays where it is:
//!
//! ```text
//! word   | l0 h0 | l1 h1 | ..
//! l      | l0  0 | l1  0 | ..
//! h      | h0  0 | h1  0 | ..
//! ```
//!
//! An S-box needs a word again. It reduces `x` with its round constant to one ([`representative`]),
//! and computes `x^2`, `x^3` and `x^4` as words. The last product, `x^3 x^4`, is not reduced: its
//! columns become halves ([`mul_unreduced`]).
//!
//! A segment of internal rounds starts with words of magnitude at most `2 B`, and an S-box returns
//! such words. What a round divides must not be negative, and a quotient's words are above `-B`. So
//! the round before adds a zero `m p` to the sum that such elements get, with the least `m` for
//! which `m (B - 2)` is at least the sum's magnitude and `B`. [`lifts`] follows the magnitudes
//! through a segment, and shows at compile time that they stay within what divisions and reductions
//! take.
//!
//! The external layers multiply by at most `7 (WIDTH / 4 + 1) <= 35`. A reduction adds
//! [`REDUCTION_BIAS`], a zero as well, to words in `(-LIMIT, LIMIT)`, and so has words in
//! `[0, 2^63 - 2 B)`.

use core::marker::PhantomData;

use p3_field::PrimeField64;

use crate::Goldilocks;
use crate::poseidon2_rounds::{Representation, has_rounds, sbox_in_groups};
use crate::vector::{EPSILON, Vector, mul, product, square};

/// The elements of a vector in halves.
#[derive(Clone, Debug)]
pub struct Halves<V>(PhantomData<V>);

/// One more than the magnitude of words that a reduction takes.
pub const LIMIT: u64 = (1 << 62) - (1 << 34);

/// `2^30 p`.
pub const REDUCTION_BIAS: [u64; 2] = zero(1 << 30);

/// `m` times the order.
const fn zero(m: u64) -> [u64; 2] {
    [m * ((1 << 32) + 1), m * ((1 << 32) - 2)]
}

/// Returns `x y`, not reduced. With `high = d + B c`, `B^2 d = (B - 1) d` and `B^3 c = -c`.
///
/// ```text
/// low     | l0  ? | ..      result    l = l0 - d0 - c0
/// middle  | m0  ? | ..                h = m0 + d0
/// high    | d0 c0 | ..
/// ```
///
/// # Preconditions
///
/// `x` and `y` are any words.
///
/// # Postconditions
///
/// The words are in `(-2 B, B)` and `[0, 2 B)`.
#[inline(always)]
pub fn mul_unreduced<V: Vector>(x: V, y: V) -> [V; 2] {
    let [low, middle, high] = product(x, y, [0, 0]);
    let digit = V::splat(EPSILON);
    let d = high.and(digit);
    [
        low.and(digit).wrapping_sub(d.wrapping_add(high.shr(32))),
        middle.and(digit).wrapping_add(d),
    ]
}

/// Returns a representative of `x` plus a constant, see [`biased`].
///
/// ```text
/// high          | d0 c0 | ..
/// high.shr(32)  | c0  0 | ..   times B - 1, joins low
/// high.shl(32)  |  0 d0 | ..
/// ```
///
/// # Preconditions
///
/// With the constant, and without its flipped bit, the words are in `[0, 2^63 - 2 B)`.
///
/// # Postconditions
///
/// The result is in `[0, B^2)`: any representative.
///
/// `high = d + B c` counts `B d + (B - 1) c`. Since `c < 2^31`, `low + (B - 1) c < B^2 - 2 B`, and
/// `B d` is at most `B^2 - B`.
#[inline(always)]
fn representative<V: Vector>([low, high]: [V; 2], constant: [u64; 2]) -> V {
    let [low_constant, high_constant] = constant.map(V::splat);
    let low = low.wrapping_add(low_constant);
    let high = high.wrapping_add(high_constant);
    let y = low.wrapping_add(high.shr(32).mul_low(V::epsilon()));
    V::add_modulo(high.shl(32), y)
}

/// The halves of a constant, plus the bias of a reduction and the flipped bit of
/// [`Vector::add_modulo`].
const fn biased<V: Vector>(constant: u64) -> [u64; 2] {
    let [low, high] = REDUCTION_BIAS;
    [
        (low + (constant & EPSILON)).wrapping_add(V::FLIP),
        high + (constant >> 32),
    ]
}

impl<V: Vector> Representation for Halves<V> {
    type Element = V;
    type Word = V;
    type Unreduced = [V; 2];
    const PARTS: usize = 2;
    type Constant = [u64; 2];

    fn constant(constant: Goldilocks) -> [u64; 2] {
        biased::<V>(constant.as_canonical_u64())
    }

    fn segment(width: usize) -> usize {
        segment(width)
    }

    #[inline(always)]
    fn widen(x: V) -> [V; 2] {
        [x.and(V::splat(EPSILON)), x.shr(32)]
    }

    #[inline(always)]
    fn reduce(x: [V; 2]) -> V {
        representative(x, biased::<V>(0))
    }

    /// Stage by stage, so that `N` independent products are in flight at each. The results are
    /// those of [`mul_unreduced`].
    #[allow(clippy::needless_range_loop)]
    #[inline(always)]
    fn sbox<const N: usize>(x: &mut [[V; 2]; N], constants: &[[u64; 2]; N]) {
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

    /// With 32 registers, LLVM unrolls the loops over elements, and a wide state would spill: half
    /// of it at a time.
    #[inline(always)]
    fn sbox_layer<const WIDTH: usize>(state: &mut [[V; 2]; WIDTH], constants: &[[u64; 2]; WIDTH]) {
        match (cfg!(target_feature = "avx512f"), WIDTH) {
            (true, 12) => sbox_in_groups::<Self, WIDTH, 6>(state, constants),
            (true, 16) => sbox_in_groups::<Self, WIDTH, 8>(state, constants),
            _ => Self::sbox(state, constants),
        }
    }

    #[inline(always)]
    fn lift<const WIDTH: usize>(sum: V, part: usize, round: usize) -> V {
        sum.wrapping_add(V::splat(const { lifts(WIDTH) }[round][part]))
    }

    /// The low bits `a + B b` of the two words make `2^(32 - bits) (a + B b) / B`, and
    /// `1 / B = 1 - B`, so that `(a + B b) / B = (a + b) - B a`.
    ///
    /// # Postconditions
    ///
    /// For `bits <= 10`, the words are in `[0, low / 2^bits + 2 B)` and in `(-B, high / 2^bits]`.
    #[inline(always)]
    fn div_2exp([low, high]: [V; 2], bits: u32) -> [V; 2] {
        if bits == 32 {
            return [low.wrapping_add(high), V::splat(0).wrapping_sub(low)];
        }
        let mask = V::splat((1 << bits) - 1);
        let (a, b) = (low.and(mask), high.and(mask));
        [
            low.shr(bits).wrapping_add(a.wrapping_add(b).shl(32 - bits)),
            high.shr(bits).wrapping_sub(a.shl(32 - bits)),
        ]
    }
}

/// The longest segment.
const SEGMENT: usize = 8;

/// The number of internal rounds for which words stay within their bounds: 22 rounds are three
/// segments, or four.
pub const fn segment(width: usize) -> usize {
    if width == 8 { SEGMENT } else { 6 }
}

/// A zero for each round of a segment, see the module's documentation.
pub const fn lifts(width: usize) -> [[u64; 2]; SEGMENT] {
    if !has_rounds(width) {
        return [[0; 2]; SEGMENT];
    }
    // The places of a pair of the internal diagonal, and its entry: `1 / 2^k` is `(0, k)`, an
    // integer `v` is `(v, 0)`.
    let pairs: &[(usize, usize, (u64, u32))] = match width {
        8 => &[(3, 5, (0, 1)), (4, 6, (3, 0))],
        12 => &[
            (3, 6, (0, 1)),
            (4, 7, (3, 0)),
            (5, 8, (4, 0)),
            (9, 10, (0, 2)),
        ],
        _ => &[
            (3, 6, (0, 1)),
            (4, 7, (3, 0)),
            (5, 8, (4, 0)),
            (9, 12, (0, 3)),
            (10, 13, (0, 4)),
            (11, 14, (0, 5)),
        ],
    };
    let mut lifts = [[0; 2]; SEGMENT];
    // The magnitudes of the elements that the rounds carry.
    let mut x = [1u64 << 33; 16];
    let mut round = 0;
    while round < segment(width) {
        let mut sum = (1 << 33) + x[1] + x[2] + x[width - 1];
        let mut pair = 0;
        while pair < pairs.len() {
            sum += 2 * x[pairs[pair].0];
            pair += 1;
        }
        lifts[round] = zero((sum + (1 << 32)).div_ceil((1 << 32) - 2));
        let lifted = sum + lifts[round][0];

        let mut pair = 0;
        while pair < pairs.len() {
            let (i, j, (v, k)) = pairs[pair];
            (x[i], x[j]) = match v {
                0 => (lifted + x[j], (x[i] >> (2 * k)) + (1 << 33)),
                _ => (sum + v * x[j], v * x[i]),
            };
            // The next round divides `x[i]`, which is not negative; the last one leaves the pair.
            assert!(x[i] < 1 << 62 && x[i] + (x[j] << k) < LIMIT);
            pair += 1;
        }
        x[1] += sum;
        x[2] = sum + 2 * x[2];
        x[width - 1] = match width {
            8 => sum + 4 * x[7],
            12 => lifted + x[11] / 8 + (1 << 33),
            _ => sum + 2 * x[15],
        };
        assert!(x[1] < LIMIT && x[2] < LIMIT && x[width - 1] < LIMIT);
        round += 1;
    }
    lifts
}
