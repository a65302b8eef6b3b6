//! Batches of Poseidon2 permutations: several states in one scope, linear layers without modular additions.
//!
//! One text serves every width, every element type and every batch size. It departs from the layers that permute
//! one state in three ways.
//!
//! - **Interleaving.** The internal rounds of one state are a single dependency chain: S-box, sum, S-box. Here they
//!   run over `B` independent states, so one state's chain hides behind the others' work. The external rounds have
//!   `WIDTH` independent S-boxes each, which is enough; they run state by state, and spill less for it.
//! - **Delayed reduction.** A modular addition costs 4 to 9 instructions, an addition of unreduced words 2. The linear
//!   layers have only small coefficients, so they work on unreduced words, and each element is reduced once, before
//!   the next S-box. In the internal rounds, only element 0 meets an S-box: the others stay unreduced for a segment of
//!   several rounds.
//! - **Pairs.** The diagonal of the internal layer has entries in pairs `v, -v`. Where elements `s` and `t` form one, the
//!   internal rounds carry `a = (s + t) / 2` and `b = v (s - t) / 2` in their places: the state's sum takes `2 a`, and
//!   a round is `a' = sum + b`, `b' = v^2 a`. For `v = 1 / 2^k` that is one division where `s` and `t` would need two.
//!   For an integer `v`, whose square may have to be undone, `b` is `(s - t) / 2`: `a' = sum + v b`, `b' = v a`.
//!
//! What an unreduced value is, and how it is reduced, is up to the element: see [`BatchElement`]. The elements here and in
//! the files of the instruction sets have it in halves.
//!
//! # Halves
//!
//! Two 64-bit words `[l, h]`, signed, stand for `l + 2^32 h`. Vectors of elements keep the halves in two vectors; a single
//! element keeps them side by side in one, where an addition is one instruction and no carry links the words. Modulo
//! `p = 2^64 - 2^32 + 1`, `2^64 = 2^32 - 1`, and `[m (2^32 + 1), m (2^32 - 2)]` is `m p`, which is zero.
//!
//! A segment starts with words of magnitude at most `2^33`, and an S-box returns such words. What is divided in a round must
//! not be negative, and a quotient's words are above `-2^32`: the sum that such elements get in the round before is lifted
//! by a zero `m p`, with the least `m` for which `m (2^32 - 2)` is at least the sum's magnitude and `2^32`. [`lifts`] follows
//! the magnitudes through a segment, and shows at compile time that they
//! stay below `2^61`.
//!
//! The external layers multiply by at most `7 (WIDTH / 4 + 1) <= 35`. A reduction adds [`REDUCTION_BIAS`], a zero as well, to
//! magnitudes of at most `2^62 - 2^34`, and so has words in `[0, 2^63 - 2^33)`.

use core::ops::IndexMut;

use crate::Goldilocks;

/// `2^64` modulo the field's order.
pub const EPSILON: u64 = 0xffff_ffff;

/// A word of an unreduced value. All operations wrap; that no value does is for the caller to show.
pub trait Word: Copy {
    fn wrapping_add(self, rhs: Self) -> Self;
    fn wrapping_sub(self, rhs: Self) -> Self;
    fn shl(self, bits: u32) -> Self;
}

/// A field element, or a vector of them, that the batched permutation works on: how its unreduced values are made, reduced
/// and multiplied.
pub trait BatchElement: Copy {
    type Word: Word;

    /// An unreduced value: an array of `PARTS` words, all signed. Linear maps with integer coefficients act on each part
    /// alone.
    type Unreduced: Copy + IndexMut<usize, Output = Self::Word>;

    const PARTS: usize;

    /// A round constant, as the rounds add it.
    type Constant: Copy + 'static;

    /// Number of states to interleave in the internal rounds: 1 to 4.
    const BATCH: usize;

    // A layer whose constants need no preparation does not call it.
    #[allow(dead_code)]
    fn constant(constant: Goldilocks) -> Self::Constant;

    /// The number of internal rounds for which an element may stay unreduced.
    fn segment(width: usize) -> usize;

    /// Any representative, as an unreduced value with small words that are not negative.
    fn widen(self) -> Self::Unreduced;

    /// Any representative of `x`, whose words are those of an element after a segment or an external layer.
    fn reduce(x: Self::Unreduced) -> Self;

    /// The S-box, `(x + constant)^7`, on each of `N` independent values, `x` as in [`Self::reduce`].
    fn sbox<const N: usize>(x: &mut [Self::Unreduced; N], constants: &[Self::Constant; N]);

    /// A part of the sum in round `round` of a segment, plus that part of a zero that makes elements which get it fit for
    /// [`Self::div_2exp`] in the next round.
    fn lift<const WIDTH: usize>(sum: Self::Word, part: usize, round: usize) -> Self::Word;

    /// `x / 2^bits` modulo the order, for lifted `x` and `bits <= 10`, or any `x` and `bits = 32`.
    fn div_2exp(x: Self::Unreduced, bits: u32) -> Self::Unreduced;

    /// Makes elements 1 and up of a state as small as [`Self::widen`] does, before segment `segment`. Before the first, they
    /// come from an external layer.
    #[allow(clippy::needless_range_loop)]
    #[inline(always)]
    fn compact<const WIDTH: usize>(state: &mut [Self::Unreduced; WIDTH], _segment: usize) {
        for i in 1..WIDTH {
            state[i] = Self::reduce(state[i]).widen();
        }
    }

    /// Makes the sum of elements 1 and up small, in every round.
    #[inline(always)]
    fn compact_tail(tail: Self::Unreduced) -> Self::Unreduced {
        tail
    }

    /// An element after the internal rounds, made fit for [`Self::sbox`], or after the terminal ones, for an external layer.
    #[inline(always)]
    fn settle(x: Self::Unreduced) -> Self::Unreduced {
        x
    }

    /// [`Self::sbox`] on a whole state.
    #[inline(always)]
    fn sbox_layer<const WIDTH: usize>(
        state: &mut [Self::Unreduced; WIDTH],
        constants: &[Self::Constant; WIDTH],
    ) {
        sbox_in_groups::<Self, WIDTH, WIDTH>(state, constants);
    }
}

/// [`BatchElement::sbox_layer`] on `G` elements at a time.
#[inline(always)]
pub fn sbox_in_groups<A: BatchElement, const WIDTH: usize, const G: usize>(
    state: &mut [A::Unreduced; WIDTH],
    constants: &[A::Constant; WIDTH],
) {
    assert!(WIDTH.is_multiple_of(G));
    let (groups, constants) = (state.as_chunks_mut::<G>().0, constants.as_chunks::<G>().0);
    for (x, constants) in groups.iter_mut().zip(constants) {
        A::sbox(x, constants);
    }
}

#[inline(always)]
fn add<A: BatchElement>(mut a: A::Unreduced, b: A::Unreduced) -> A::Unreduced {
    for part in 0..A::PARTS {
        a[part] = a[part].wrapping_add(b[part]);
    }
    a
}

#[inline(always)]
fn sub<A: BatchElement>(mut a: A::Unreduced, b: A::Unreduced) -> A::Unreduced {
    for part in 0..A::PARTS {
        a[part] = a[part].wrapping_sub(b[part]);
    }
    a
}

/// Applies a linear map to each part of a state, one part after the other: a part of one state fits the registers.
// A macro, and maps that work in place: arrays of vectors that closures and functions return are copied.
macro_rules! by_parts {
    ($state:expr, |$part:ident, $words:ident| $map:expr) => {
        for $part in 0..A::PARTS {
            let mut $words = [$state[0][$part]; WIDTH];
            for i in 1..WIDTH {
                $words[i] = $state[i][$part];
            }
            $map;
            for i in 0..WIDTH {
                $state[i][$part] = $words[i];
            }
        }
    };
}

/// The external linear layer, `circ(2 M4, M4, ..., M4)` with `M4 = circ(2, 3, 1, 1)`. Same matrix as
/// `mds_light_permutation` with `MDSMat4`.
#[inline(always)]
fn external_layer<T: Word, const WIDTH: usize>(x: &mut [T; WIDTH]) {
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
}

/// The external rounds of each state: constants, S-box on every element, linear layer. The initial rounds are preceded by
/// a linear layer of their own.
fn external_rounds<A: BatchElement, const WIDTH: usize, const INITIAL: bool>(
    states: &mut [[A::Unreduced; WIDTH]],
    constants: &[[A::Constant; WIDTH]],
) {
    for x in states {
        if INITIAL {
            by_parts!(x, |part, words| external_layer(&mut words));
        }
        // Each round begins with unreduced values, so that its constants join them before the reduction.
        for constants in constants {
            A::sbox_layer(x, constants);
            by_parts!(x, |part, words| external_layer(&mut words));
        }
    }
}

/// Calls `f(state, i, j, k)` with the places of each pair of the internal diagonal: `1/2^k, -1/2^k` with that `k`, integers
/// with 0.
// A macro: closures of this size are not inlined, and a state that one of them refers to stays in memory.
macro_rules! for_each_pair {
    ($f:ident, $state:expr) => {{
        let state: &mut [A::Unreduced; WIDTH] = $state;
        let f = $f::<A, WIDTH>;
        match WIDTH {
            8 => {
                f(state, 3, 5, 1);
                f(state, 4, 6, 0); // 3
            }
            12 => {
                f(state, 3, 6, 1);
                f(state, 4, 7, 0); // 3
                f(state, 5, 8, 0); // 4
                f(state, 9, 10, 2);
            }
            16 => {
                f(state, 3, 6, 1);
                f(state, 4, 7, 0); // 3
                f(state, 5, 8, 0); // 4
                f(state, 9, 12, 3);
                f(state, 10, 13, 4);
                f(state, 11, 14, 5);
            }
            _ => panic!("the diagonal consists of powers of 2 for widths 8, 12 and 16 only"),
        }
    }};
}

/// Puts `a` and `b` of the module's documentation in the places of a pair, whose words are not negative.
#[inline(always)]
fn enter_pair<A: BatchElement, const WIDTH: usize>(
    x: &mut [A::Unreduced; WIDTH],
    i: usize,
    j: usize,
    k: u32,
) {
    let (s, t) = (x[i], x[j]);
    x[i] = A::div_2exp(add::<A>(s, t), 1);
    if k == 0 {
        x[j] = sub::<A>(x[i], t);
    } else {
        x[j] = sub::<A>(A::div_2exp(s, k + 1), A::div_2exp(t, k + 1));
        // The first round divides this, and a quotient's words may be negative.
        x[i] = A::reduce(x[i]).widen();
    }
}

/// Undoes [`enter_pair`].
#[inline(always)]
fn leave_pair<A: BatchElement, const WIDTH: usize>(
    x: &mut [A::Unreduced; WIDTH],
    i: usize,
    j: usize,
    k: u32,
) {
    let a = x[i];
    let mut b = x[j];
    for part in 0..A::PARTS {
        b[part] = b[part].shl(k);
    }
    x[i] = add::<A>(a, b);
    x[j] = sub::<A>(a, b);
}

/// The division of an internal round: `b` moves to the place of `a`, whose quotient is the next `b`.
#[inline(always)]
fn divide_pair<A: BatchElement, const WIDTH: usize>(
    x: &mut [A::Unreduced; WIDTH],
    i: usize,
    j: usize,
    k: u32,
) {
    if k != 0 {
        let a = x[i];
        x[i] = x[j];
        x[j] = A::div_2exp(a, 2 * k);
    }
}

/// The sum of elements 1 and up of the state that `x` carries, one part.
#[inline(always)]
fn tail<A: BatchElement, const WIDTH: usize>(x: &[A::Unreduced; WIDTH], part: usize) -> A::Word {
    let add = A::Word::wrapping_add;
    let x = |i: usize| x[i][part];
    let halves = match WIDTH {
        8 => add(x(3), x(4)),
        12 => add(add(x(3), x(4)), add(x(5), x(9))),
        _ => add(add(add(x(3), x(4)), add(x(5), x(9))), add(x(10), x(11))),
    };
    let single = match WIDTH {
        8 => x(7),
        12 => x(11),
        _ => x(15),
    };
    add(add(x(1), x(2)), add(single, add(halves, halves)))
}

/// The divisions of an internal round.
#[inline(always)]
fn take_quotients<A: BatchElement, const WIDTH: usize>(x: &mut [A::Unreduced; WIDTH]) {
    for_each_pair!(divide_pair, x);
    match WIDTH {
        12 => x[11] = A::div_2exp(x[11], 3),
        16 => x[15] = A::div_2exp(x[15], 32),
        _ => {}
    }
}

/// The internal linear layer, `1 + diag(V)`, on one part: `V` is that of `MATRIX_DIAG_{8,12,16}_GOLDILOCKS`. `tail` is the
/// sum of elements 1 and up, as they were before [`take_quotients`]; `lift` is [`BatchElement::lift`].
#[inline(always)]
fn internal_layer<T: Word, const WIDTH: usize>(x: &mut [T; WIDTH], tail: T, lift: impl Fn(T) -> T) {
    let (add, sub) = (T::wrapping_add, T::wrapping_sub);
    let triple = |x: T| add(x, add(x, x));
    let sum = add(tail, x[0]);
    let lifted = lift(sum);
    x[0] = sub(tail, x[0]); // -2
    x[1] = add(sum, x[1]); // 1
    x[2] = add(sum, add(x[2], x[2])); // 2
    x[3] = add(lifted, x[3]); // 1/2 and -1/2
    if WIDTH == 8 {
        (x[4], x[6]) = (add(sum, triple(x[6])), triple(x[4])); // 3 and -3
        x[7] = sub(sum, x[7].shl(2)); // -4
        return;
    }
    (x[4], x[7]) = (add(sum, triple(x[7])), triple(x[4])); // 3 and -3
    (x[5], x[8]) = (add(sum, x[8].shl(2)), x[5].shl(2)); // 4 and -4
    x[9] = add(lifted, x[9]); // 1/4 and -1/4, or 1/8 and -1/8 for width 16
    if WIDTH == 12 {
        x[11] = add(lifted, x[11]); // 1/8
        return;
    }
    x[10] = add(lifted, x[10]); // 1/16 and -1/16
    x[11] = add(lifted, x[11]); // 1/32 and -1/32
    x[15] = add(sum, x[15]); // 1/2^32
}

/// The internal rounds of `B` states, interleaved: constant and S-box on element 0, linear layer.
// Not inlined beside the conversions, which take registers from it.
#[allow(clippy::needless_range_loop)]
#[inline(never)]
fn internal_rounds<A: BatchElement, const WIDTH: usize, const B: usize>(
    states: &mut [[A::Unreduced; WIDTH]; B],
    constants: &[A::Constant],
) {
    for b in 0..B {
        A::compact::<WIDTH>(&mut states[b], 0);
        for_each_pair!(enter_pair, &mut states[b]);
    }
    let (mut segment, mut round) = (0, 0);
    // One loop for all segments: of a loop with a bound that the compiler knows it makes copies, too many for the cache.
    for &constant in constants {
        if round == A::segment(WIDTH) {
            (segment, round) = (segment + 1, 0);
            for b in 0..B {
                A::compact::<WIDTH>(&mut states[b], segment);
            }
        }
        let mut x0 = [states[0][0]; B];
        for b in 1..B {
            x0[b] = states[b][0];
        }
        A::sbox(&mut x0, &[constant; B]);
        for b in 0..B {
            let x = &mut states[b];
            let mut tails = x[1];
            for part in 0..A::PARTS {
                tails[part] = tail::<A, WIDTH>(x, part);
            }
            let tails = A::compact_tail(tails);
            x[0] = x0[b];
            take_quotients::<A, WIDTH>(x);
            by_parts!(x, |part, words| internal_layer(
                &mut words,
                tails[part],
                |sum| A::lift::<WIDTH>(sum, part, round)
            ));
        }
        round += 1;
    }
    for b in 0..B {
        for_each_pair!(leave_pair, &mut states[b]);
        for i in 0..WIDTH {
            states[b][i] = A::settle(states[b][i]);
        }
    }
}

/// The round constants of a permutation, or of some of its rounds: without `initial`, that phase's first linear layer is
/// left out as well.
pub struct Rounds<'a, A: BatchElement, const WIDTH: usize> {
    pub initial: Option<&'a [[A::Constant; WIDTH]]>,
    pub internal: &'a [A::Constant],
    pub terminal: &'a [[A::Constant; WIDTH]],
}

impl<A: BatchElement, const WIDTH: usize> Rounds<'_, A, WIDTH> {
    /// Permutes each of the states, [`BatchElement::BATCH`] of them interleaved, and those that are left one by one.
    pub fn permute_many(&self, states: &mut [[A; WIDTH]]) {
        match A::BATCH {
            1 => self.permute_interleaved::<1>(states),
            2 => self.permute_interleaved::<2>(states),
            3 => self.permute_interleaved::<3>(states),
            4 => self.permute_interleaved::<4>(states),
            _ => unreachable!("see BatchElement::BATCH"),
        }
    }

    /// Permutes each of the states, `B` of them interleaved, and those that are left one by one.
    #[allow(clippy::needless_range_loop)]
    #[inline(always)]
    pub fn permute_interleaved<const B: usize>(&self, states: &mut [[A; WIDTH]]) {
        for states in states.chunks_mut(B) {
            let mut wide = [[states[0][0].widen(); WIDTH]; B];
            let wide = &mut wide[..states.len()];
            for (wide, state) in wide.iter_mut().zip(&*states) {
                for i in 0..WIDTH {
                    wide[i] = state[i].widen();
                }
            }
            self.permute_unreduced::<B>(wide);
            for (wide, state) in wide.iter().zip(states) {
                for i in 0..WIDTH {
                    state[i] = A::reduce(wide[i]);
                }
            }
        }
    }

    /// [`Self::permute_interleaved`] on states that are as [`BatchElement::widen`] returns them. Afterwards, they are as
    /// [`BatchElement::reduce`] takes them, or after [`BatchElement::settle`] this.
    #[inline(always)]
    pub fn permute_unreduced<const B: usize>(&self, states: &mut [[A::Unreduced; WIDTH]]) {
        if let Some(initial) = self.initial {
            external_rounds::<A, WIDTH, true>(states, initial);
        }
        let (groups, rest) = states.as_chunks_mut::<B>();
        for group in groups {
            internal_rounds::<A, WIDTH, B>(group, self.internal);
        }
        for state in rest.as_chunks_mut::<1>().0 {
            internal_rounds::<A, WIDTH, 1>(state, self.internal);
        }
        external_rounds::<A, WIDTH, false>(states, self.terminal);
    }
}

/// Whether the batched permutation has an internal layer for this width.
pub const fn is_batched(width: usize) -> bool {
    matches!(width, 8 | 12 | 16)
}

/// The longest segment of halves.
const SEGMENT: usize = 8;

/// The number of internal rounds for which halves stay within their bound: 22 rounds are three segments, or four.
pub const fn segment_of_halves(width: usize) -> usize {
    if width == 8 { SEGMENT } else { 6 }
}

/// The bias of the module's documentation for reductions, in halves.
pub const REDUCTION_BIAS: [u64; 2] = zero(1 << 30);

/// `m` times the order, in halves.
const fn zero(m: u64) -> [u64; 2] {
    [m * ((1 << 32) + 1), m * ((1 << 32) - 2)]
}

/// The lifts of the module's documentation for the rounds of a segment, in halves.
pub const fn lifts(width: usize) -> [[u64; 2]; SEGMENT] {
    if !is_batched(width) {
        return [[0; 2]; SEGMENT];
    }
    // Those of `for_each_pair`, with their entry, or 0 where it is a fraction.
    let pairs: &[(usize, usize, u64)] = match width {
        8 => &[(3, 5, 0), (4, 6, 3)],
        12 => &[(3, 6, 0), (4, 7, 3), (5, 8, 4), (9, 10, 0)],
        _ => &[
            (3, 6, 0),
            (4, 7, 3),
            (5, 8, 4),
            (9, 12, 0),
            (10, 13, 0),
            (11, 14, 0),
        ],
    };
    let mut lifts = [[0; 2]; SEGMENT];
    let mut x = [1u64 << 33; 16];
    let mut round = 0;
    while round < segment_of_halves(width) {
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
            let (i, j, v) = pairs[pair];
            (x[i], x[j]) = match v {
                0 => (lifted + x[j], x[i] / 4 + (1 << 33)),
                _ => (sum + v * x[j], v * x[i]),
            };
            // Leaving a pair takes b to at most a previous a / 2.
            assert!(x[i] <= 1 << 61 && x[j] <= 1 << 61);
            pair += 1;
        }
        x[1] += sum;
        x[2] = sum + 2 * x[2];
        x[width - 1] = match width {
            8 => sum + 4 * x[7],
            12 => lifted + x[11] / 8 + (1 << 33),
            _ => sum + 2 * x[15],
        };
        assert!(x[1] <= 1 << 61 && x[2] <= 1 << 61 && x[width - 1] <= 1 << 61);
        round += 1;
    }
    lifts
}
