//! Batches of Poseidon2 permutations: several states in one scope, linear layers without modular additions.
//!
//! One text serves every width, every element type and every batch size. It departs from the layers that permute
//! one state in two ways.
//!
//! - **Interleaving.** The internal rounds of one state are a single dependency chain: S-box, sum, S-box. Here they
//!   run over `B` independent states, so one state's chain hides behind the others' work. The external rounds have
//!   `WIDTH` independent S-boxes each, which is enough; they run state by state, and spill less for it.
//! - **Delayed reduction.** A modular addition costs 4 to 9 instructions, an addition of unreduced words 2. The linear
//!   layers have only small coefficients, so they work on unreduced words, and each element is reduced once, before
//!   the next S-box. In the internal rounds, only element 0 meets an S-box: the others stay unreduced for [`SEGMENT`]
//!   rounds.
//!
//! # Unreduced values
//!
//! An unreduced value is in *halves*: two 64-bit words `[l, h]` that stand for `l + 2^32 h`. Vectors of elements keep the
//! halves in two vectors; a single element keeps them side by side in one, where an addition is one instruction and no
//! carry links the words. Modulo `p = 2^64 - 2^32 + 1`, `2^64 = 2^32 - 1`.
//!
//! Reduced values enter a segment with words in `[0, 2^32)`. In round `j` of a segment, words are in `[0, X_j)`, where
//!
//! ```text
//!     X_0 = 2^32,    X_{j+1} = (WIDTH + 3) X_j + 2^32 + m_j (2^32 + 1),    m_j = the least power of 2 with
//!                                                                         m_j (2^32 - 2) >= 4 X_j.
//! ```
//!
//! - The sum over the state is below `(WIDTH - 1) X_j + 2^32`, and the diagonal adds less than `4 X_j`.
//! - The diagonal takes away less than `4 X_j` (`-4 x`; the words of a quotient `x / 2^k` are above `-2^32`, see
//!   [`BatchElement::div_2exp`]). The bias `[m_j (2^32 + 1), m_j (2^32 - 2)]` is `m_j p`, zero modulo `p`, and makes up for
//!   it.
//!
//! Words are reduced and divided in `[0, 2^62)`; `X_6 + 2^32 < 2^62` for every width, which [`biases`] checks when it is
//! computed, at compile time. The external layers multiply by at most `7 (WIDTH / 4 + 1) <= 35`.

use core::array;
use core::mem::transmute;
use core::ops::IndexMut;

use p3_field::PrimeCharacteristicRing;

use crate::Goldilocks;
use crate::poseidon2_batch_pair::Halves;

/// Number of states to interleave. One, two and three are slower for some width or instruction set, six and eight leave
/// the first-level cache.
pub const BATCH: usize = 4;

/// The number of internal rounds for which an element may stay unreduced.
const SEGMENT: usize = 6;

/// `2^64` modulo the field's order.
const EPSILON: u64 = 0xffff_ffff;

/// A word of an unreduced value. All operations wrap; that no value does is for the caller to show.
pub trait Word: Copy {
    fn wrapping_add(self, rhs: Self) -> Self;
    fn wrapping_sub(self, rhs: Self) -> Self;
    fn shl(self, bits: u32) -> Self;
}

/// A field element, or a vector of them, that the batched permutation works on.
pub trait BatchElement: Copy + From<Goldilocks> {
    type Word: Word;

    /// An unreduced value: an array of `PARTS` words. Linear maps with integer coefficients act on each part alone.
    type Unreduced: Copy + IndexMut<usize, Output = Self::Word>;

    const PARTS: usize;

    /// The unreduced value with these halves, in every lane.
    fn from_halves(halves: [u64; 2]) -> Self::Unreduced;

    /// Any representative, as an unreduced value with words in `[0, 2^32)`.
    fn widen(self) -> Self::Unreduced;

    /// `x / 2^bits` modulo the order, `1 <= bits <= 32`, for words in `[0, 2^62)`. The words of the result are above `-2^32`
    /// and below half the larger word plus `2^33`.
    fn div_2exp(x: Self::Unreduced, bits: u32) -> Self::Unreduced;

    /// A representative of `x` in `[0, 2^64)`, for words in `[0, 2^62)`.
    fn reduce(x: Self::Unreduced) -> Self;

    /// The S-box, `x^7`, on each of `N` independent elements.
    fn x7<const N: usize>(x: [Self; N]) -> [Self; N];
}

/// The S-box of `N` elements, stage by stage: `N` independent multiplications are in flight at each.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
#[inline(always)]
pub fn x7_by_stages<A: PrimeCharacteristicRing + Copy, const N: usize>(x: [A; N]) -> [A; N] {
    let x2: [A; N] = array::from_fn(|i| x[i].square());
    let mut x3 = x2;
    let mut x4 = x2;
    for i in 0..N {
        x3[i] *= x[i];
        x4[i] = x4[i].square();
    }
    array::from_fn(|i| x3[i] * x4[i])
}

#[inline(always)]
fn add<A: BatchElement>(mut a: A::Unreduced, b: A::Unreduced) -> A::Unreduced {
    for part in 0..A::PARTS {
        a[part] = a[part].wrapping_add(b[part]);
    }
    a
}

/// Applies a linear map to each part of a state, one part after the other: a part of one state fits the registers.
// Here and in the internal rounds: loops over ranges are unrolled for width 16, those over iterators are not, which puts
// the state into memory and costs a quarter of the time.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
fn by_parts<A: BatchElement, const WIDTH: usize>(
    state: &mut [A::Unreduced; WIDTH],
    map: impl Fn(usize, [A::Word; WIDTH]) -> [A::Word; WIDTH],
) {
    for part in 0..A::PARTS {
        let image = map(part, array::from_fn(|i| state[i][part]));
        for i in 0..WIDTH {
            state[i][part] = image[i];
        }
    }
}

/// The external linear layer, `circ(2 M4, M4, ..., M4)` with `M4 = circ(2, 3, 1, 1)`. Same matrix as
/// `mds_light_permutation` with `MDSMat4`.
#[inline(always)]
fn external_layer<T: Word, const WIDTH: usize>(mut x: [T; WIDTH]) -> [T; WIDTH] {
    let add = T::wrapping_add;
    for x in x.as_chunks_mut::<4>().0 {
        let (t01, t23) = (add(x[0], x[1]), add(x[2], x[3]));
        let t0123 = add(t01, t23);
        let (t01123, t01233) = (add(t0123, x[1]), add(t0123, x[3]));
        x[3] = add(t01233, add(x[0], x[0]));
        x[1] = add(t01123, add(x[2], x[2]));
        x[0] = add(t01123, t01);
        x[2] = add(t01233, t23);
    }
    let mut sums = [x[0], x[1], x[2], x[3]];
    for i in 4..WIDTH {
        sums[i % 4] = add(sums[i % 4], x[i]);
    }
    for i in 0..WIDTH {
        x[i] = add(x[i], sums[i % 4]);
    }
    x
}

/// The external rounds of one state: constants, S-box on every element, linear layer. The initial rounds are preceded by
/// a linear layer of their own.
#[inline(always)]
pub fn external_rounds<A: BatchElement, const WIDTH: usize, const INITIAL: bool>(
    state: &mut [A; WIDTH],
    constants: &[[Goldilocks; WIDTH]],
) {
    let mut wide = state.map(A::widen);
    if INITIAL {
        by_parts::<A, WIDTH>(&mut wide, |_, x| external_layer(x));
    }
    // Each round begins with unreduced values, so that its constants join them before the reduction.
    for constants in constants {
        let x = array::from_fn(|i| A::reduce(add::<A>(wide[i], A::from(constants[i]).widen())));
        wide = A::x7::<WIDTH>(x).map(A::widen);
        by_parts::<A, WIDTH>(&mut wide, |_, x| external_layer(x));
    }
    *state = wide.map(A::reduce);
}

/// Divides the elements that the diagonal of the internal layer divides, by their powers of 2.
#[inline(always)]
fn take_quotients<A: BatchElement, const WIDTH: usize>(x: &mut [A::Unreduced; WIDTH]) {
    let mut divide = |i: usize, bits| x[i] = A::div_2exp(x[i], bits);
    divide(3, 1);
    match WIDTH {
        8 => divide(5, 1),
        12 => {
            divide(6, 1);
            divide(9, 2);
            divide(10, 2);
            divide(11, 3);
        }
        16 => {
            divide(6, 1);
            divide(9, 3);
            divide(10, 4);
            divide(11, 5);
            divide(12, 3);
            divide(13, 4);
            divide(14, 5);
            divide(15, 32);
        }
        _ => panic!("the diagonal consists of powers of 2 for widths 8, 12 and 16 only"),
    }
}

/// The internal linear layer, `1 + diag(V)`, on one part: `V` is that of `MATRIX_DIAG_{8,12,16}_GOLDILOCKS`. `tail` is the
/// sum of elements 1 and up, as they were before [`take_quotients`], plus the bias.
#[inline(always)]
fn internal_layer<T: Word, const WIDTH: usize>(mut x: [T; WIDTH], tail: T) -> [T; WIDTH] {
    let (add, sub) = (T::wrapping_add, T::wrapping_sub);
    let triple = |x: T| add(x, add(x, x));
    let sum = add(tail, x[0]);
    x[0] = sub(tail, x[0]); // -2
    x[1] = add(sum, x[1]); // 1
    x[2] = add(sum, add(x[2], x[2])); // 2
    x[3] = add(sum, x[3]); // 1/2
    x[4] = add(sum, triple(x[4])); // 3
    if WIDTH == 8 {
        x[5] = sub(sum, x[5]); // -1/2
        x[6] = sub(sum, triple(x[6])); // -3
        x[7] = sub(sum, x[7].shl(2)); // -4
        return x;
    }
    x[5] = add(sum, x[5].shl(2)); // 4
    x[6] = sub(sum, x[6]); // -1/2
    x[7] = sub(sum, triple(x[7])); // -3
    x[8] = sub(sum, x[8].shl(2)); // -4
    x[9] = add(sum, x[9]); // 1/4, or 1/8 for width 16
    if WIDTH == 12 {
        x[10] = sub(sum, x[10]); // -1/4
        x[11] = add(sum, x[11]); // 1/8
        return x;
    }
    x[10] = add(sum, x[10]); // 1/16
    x[11] = add(sum, x[11]); // 1/32
    x[12] = sub(sum, x[12]); // -1/8
    x[13] = sub(sum, x[13]); // -1/16
    x[14] = sub(sum, x[14]); // -1/32
    x[15] = add(sum, x[15]); // 1/2^32
    x
}

/// The internal rounds of `B` states, interleaved: constant and S-box on element 0, linear layer.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
pub fn internal_rounds<A: BatchElement, const WIDTH: usize, const B: usize>(
    states: &mut [[A; WIDTH]; B],
    constants: &[Goldilocks],
) {
    // A rolled loop: unrolled rounds leave the instruction cache.
    for constants in constants.chunks(SEGMENT) {
        let mut wide: [[A::Unreduced; WIDTH]; B] = array::from_fn(|b| states[b].map(A::widen));
        for (round, &constant) in constants.iter().enumerate() {
            let constant = A::from(constant).widen();
            let bias = A::from_halves(const { biases(WIDTH) }[round]);
            let x0 = A::x7::<B>(array::from_fn(|b| {
                A::reduce(add::<A>(wide[b][0], constant))
            }));
            for b in 0..B {
                let x = &mut wide[b];
                let mut tail = add::<A>(x[1], bias);
                for i in 2..WIDTH {
                    tail = add::<A>(tail, x[i]);
                }
                x[0] = x0[b].widen();
                take_quotients::<A, WIDTH>(x);
                by_parts::<A, WIDTH>(x, |part, x| internal_layer(x, tail[part]));
            }
        }
        for b in 0..B {
            states[b] = wide[b].map(A::reduce);
        }
    }
}

/// Whether the batched permutation has an internal layer for this width.
pub const fn is_batched(width: usize) -> bool {
    matches!(width, 8 | 12 | 16)
}

/// [`external_rounds`] on each of `states`.
pub fn external_rounds_many<A: BatchElement, const WIDTH: usize, const INITIAL: bool>(
    states: &mut [[A; WIDTH]],
    constants: &[[Goldilocks; WIDTH]],
) {
    for state in states {
        external_rounds::<A, WIDTH, INITIAL>(state, constants);
    }
}

/// [`internal_rounds`] on groups of `B` states, and on the states that are left one by one.
pub fn internal_rounds_many<A: BatchElement, const WIDTH: usize, const B: usize>(
    states: &mut [[A; WIDTH]],
    constants: &[Goldilocks],
) {
    let (groups, rest) = states.as_chunks_mut::<B>();
    for group in groups {
        internal_rounds(group, constants);
    }
    for state in rest.as_chunks_mut::<1>().0 {
        internal_rounds(state, constants);
    }
}

/// The biases of the module's documentation for the rounds of a segment, in halves.
pub const fn biases(width: usize) -> [[u64; 2]; SEGMENT] {
    let mut biases = [[0; 2]; SEGMENT];
    let mut bound: u64 = 1 << 32;
    let mut j = 0;
    while j < SEGMENT {
        let mut m = 1;
        while m * ((1 << 32) - 2) < 4 * bound {
            m *= 2;
        }
        biases[j] = [m * ((1 << 32) + 1), m * ((1 << 32) - 2)];
        bound = (width as u64 + 3) * bound + (1 << 32) + biases[j][0];
        j += 1;
    }
    // The next constant is added before the reduction.
    assert!(bound + (1 << 32) < 1 << 62);
    biases
}

/// The two halves of one element side by side: a vector of two 64-bit words.
pub trait Pair: Word {
    fn new(words: [u64; 2]) -> Self;

    /// The lower and the upper 32 bits of `x`.
    fn split(x: u64) -> Self;

    fn words(self) -> [u64; 2];

    /// [`BatchElement::div_2exp`], on both words.
    fn div_2exp(self, bits: u32) -> Self;
}

impl BatchElement for Goldilocks {
    type Word = Halves;
    type Unreduced = [Halves; 1];
    const PARTS: usize = 1;

    #[inline(always)]
    fn from_halves(halves: [u64; 2]) -> [Halves; 1] {
        [Halves::new(halves)]
    }

    #[inline(always)]
    fn widen(self) -> [Halves; 1] {
        // SAFETY: `Goldilocks` is `repr(transparent)` over a `u64`.
        [Halves::split(unsafe { transmute::<Self, u64>(self) })]
    }

    #[inline(always)]
    fn div_2exp([x]: [Halves; 1], bits: u32) -> [Halves; 1] {
        [x.div_2exp(bits)]
    }

    /// As for vectors, below.
    #[inline(always)]
    fn reduce([x]: [Halves; 1]) -> Self {
        let [low, high] = x.words();
        let (sum, carry) = (high << 32).overflowing_add(low + (high >> 32) * EPSILON);
        Self::new(sum.wrapping_add(EPSILON * u64::from(carry)))
    }

    #[inline(always)]
    fn x7<const N: usize>(x: [Self; N]) -> [Self; N] {
        // Not by stages: the integer registers hold few chains, and the CPU finds the others itself.
        x.map(|x| {
            let x2 = x.square();
            (x2 * x) * x2.square()
        })
    }
}

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
pub trait VectorElement: Copy + From<Goldilocks> {
    type Vector: Vector;
    fn into_vector(self) -> Self::Vector;
    fn from_vector(vector: Self::Vector) -> Self;
    fn x7<const N: usize>(x: [Self; N]) -> [Self; N];
}

impl<A: VectorElement> BatchElement for A {
    type Word = A::Vector;
    type Unreduced = [A::Vector; 2];
    const PARTS: usize = 2;

    #[inline(always)]
    fn from_halves(halves: [u64; 2]) -> [A::Vector; 2] {
        halves.map(Vector::splat)
    }

    #[inline(always)]
    fn widen(self) -> [A::Vector; 2] {
        let x = self.into_vector();
        [x.and(Vector::splat(EPSILON)), x.shr(32)]
    }

    /// The low bits `a + 2^32 b` of the two words make `2^(32 - bits) (a + 2^32 b) / 2^32`, and `1 / 2^32 = 1 - 2^32`, so
    /// that `(a + 2^32 b) / 2^32 = (a + b) - 2^32 a`.
    #[inline(always)]
    fn div_2exp([low, high]: [A::Vector; 2], bits: u32) -> [A::Vector; 2] {
        let mask = A::Vector::splat((1 << bits) - 1);
        let (a, b) = (low.and(mask), high.and(mask));
        [
            low.shr(bits).wrapping_add(a.wrapping_add(b).shl(32 - bits)),
            high.shr(bits).wrapping_sub(a.shl(32 - bits)),
        ]
    }

    /// `high = 2^32 c + d` counts `2^64 c + 2^32 d = (2^32 - 1) c + 2^32 d`. With `c < 2^30`, `low + (2^32 - 1) c < 2^63`.
    #[inline(always)]
    fn reduce([low, high]: [A::Vector; 2]) -> Self {
        let y = low.wrapping_add(high.shr(32).times_epsilon());
        A::from_vector(Vector::add_modulo(high.shl(32), y))
    }

    #[inline(always)]
    fn x7<const N: usize>(x: [Self; N]) -> [Self; N] {
        <A as VectorElement>::x7(x)
    }
}
