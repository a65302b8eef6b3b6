//! The rounds of Poseidon2 over Goldilocks without modular additions.
//!
//! One text serves every width, every representation of elements and every number of states. It
//! departs from the layers that permute one state in three ways.
//!
//! - **Delayed reduction.** A modular addition of vectors costs 4 to 9 instructions, an addition of
//!   unreduced words 2. The linear layers have only small coefficients, so they work on unreduced
//!   words, and each element is reduced once, before the next S-box. In the internal rounds, only
//!   element 0 meets an S-box: the others stay unreduced for a segment of several rounds.
//! - **Pairs.** The diagonal of the internal layer has entries in pairs `v, -v`. Where elements `s`
//!   and `t` form one, the internal rounds carry `a = (s + t) / 2` and `b = v (s - t) / 2` in their
//!   places: the state's sum takes `2 a`, and a round is `a' = sum + b`, `b' = v^2 a`. For
//!   `v = 1 / 2^k` that is one division where `s` and `t` would need two. For an integer `v`, whose
//!   square may have to be undone, `b` is `(s - t) / 2`: `a' = sum + v b`, `b' = v a`.
//! - **Interleaving.** The internal rounds of one state are a single dependency chain: S-box, sum,
//!   S-box. Here they run over `B` independent states, so one state's chain hides behind the
//!   others' work. The external rounds have `WIDTH` independent S-boxes each, which is enough; they
//!   run state by state, and spill less for it.
//!
//! A [`Representation`] says what an unreduced value is, and how it is reduced.

use alloc::vec::Vec;
use core::fmt::Debug;
use core::ops::IndexMut;

use p3_poseidon2::ExternalLayerConstants;

use crate::Goldilocks;
use crate::vector::Word;

/// A representation of field elements, or vectors of them, between the rounds: how unreduced values
/// are made, reduced and multiplied.
pub trait Representation: Clone + Debug {
    /// A field element, or a vector of them: any representatives.
    type Element: Copy;

    type Word: Word;

    /// An unreduced value: an array of `PARTS` words, all signed. Linear maps with integer
    /// coefficients act on each part alone.
    type Unreduced: Copy + IndexMut<usize, Output = Self::Word>;

    const PARTS: usize;

    /// A round constant, as the rounds add it.
    type Constant: Copy + Debug + Send + Sync;

    /// Returns a round constant in the form that the rounds add.
    fn constant(constant: Goldilocks) -> Self::Constant;

    /// Returns the number of internal rounds for which an element may stay unreduced.
    fn segment(width: usize) -> usize;

    /// Returns an unreduced value with small words that are not negative.
    ///
    /// # Postconditions
    ///
    /// The words are those that an S-box returns, or smaller: a segment may begin with them.
    fn widen(x: Self::Element) -> Self::Unreduced;

    /// Returns any representative of `x`.
    ///
    /// # Preconditions
    ///
    /// The words are those of an element after a segment or an external layer.
    fn reduce(x: Self::Unreduced) -> Self::Element;

    /// Applies the S-box, `(x + constant)^7`, to each of `N` independent values.
    ///
    /// # Preconditions
    ///
    /// The words are those of [`Self::reduce`].
    fn sbox<const N: usize>(x: &mut [Self::Unreduced; N], constants: &[Self::Constant; N]);

    /// A part of the sum in round `round` of a segment, plus that part of a zero that makes
    /// elements which get it fit for [`Self::div_2exp`] in the next round.
    fn lift<const WIDTH: usize>(sum: Self::Word, part: usize, round: usize) -> Self::Word;

    /// Returns `x / 2^bits` modulo the order.
    ///
    /// # Preconditions
    ///
    /// `x` is lifted and `bits <= 10`, or `x` is any value and `bits = 32`.
    fn div_2exp(x: Self::Unreduced, bits: u32) -> Self::Unreduced;

    /// Makes elements 1 and up of a state as small as [`Self::widen`] does, before segment
    /// `segment`. Before the first, they come from an external layer.
    #[allow(clippy::needless_range_loop)]
    #[inline(always)]
    fn compact<const WIDTH: usize>(state: &mut [Self::Unreduced; WIDTH], _segment: usize) {
        for i in 1..WIDTH {
            state[i] = Self::widen(Self::reduce(state[i]));
        }
    }

    /// Makes the sum of elements 1 and up small, in every round.
    #[inline(always)]
    fn compact_tail(tail: Self::Unreduced) -> Self::Unreduced {
        tail
    }

    /// An element after the internal rounds, made fit for [`Self::sbox`].
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
        Self::sbox(state, constants);
    }
}

/// [`Representation::sbox_layer`] on `G` elements at a time.
#[inline(always)]
pub fn sbox_in_groups<R: Representation, const WIDTH: usize, const G: usize>(
    state: &mut [R::Unreduced; WIDTH],
    constants: &[R::Constant; WIDTH],
) {
    assert!(WIDTH.is_multiple_of(G));
    let (groups, constants) = (state.as_chunks_mut::<G>().0, constants.as_chunks::<G>().0);
    for (x, constants) in groups.iter_mut().zip(constants) {
        R::sbox(x, constants);
    }
}

#[inline(always)]
fn add<R: Representation>(mut a: R::Unreduced, b: R::Unreduced) -> R::Unreduced {
    for part in 0..R::PARTS {
        a[part] = a[part].wrapping_add(b[part]);
    }
    a
}

#[inline(always)]
fn sub<R: Representation>(mut a: R::Unreduced, b: R::Unreduced) -> R::Unreduced {
    for part in 0..R::PARTS {
        a[part] = a[part].wrapping_sub(b[part]);
    }
    a
}

/// Applies a linear map to each part of a state, one part after the other: a part of one state fits
/// the registers.
// A macro, and maps that work in place: arrays of vectors that closures and functions return are
// copied.
macro_rules! by_parts {
    ($state:expr, |$part:ident, $words:ident| $map:expr) => {
        for $part in 0..R::PARTS {
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

/// The external linear layer, `circ(2 M4, M4, ..., M4)` with `M4 = circ(2, 3, 1, 1)`. Same matrix
/// as `mds_light_permutation` with `MDSMat4`.
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

/// The external rounds of each state: constants, S-box on every element, linear layer. The initial
/// rounds are preceded by a linear layer of their own.
// One copy of this for both phases: the code of a permutation has to fit the first-level cache.
#[inline(never)]
fn external_rounds<R: Representation, const WIDTH: usize>(
    states: &mut [[R::Unreduced; WIDTH]],
    constants: &[[R::Constant; WIDTH]],
    initial: bool,
) {
    for x in states {
        if initial {
            by_parts!(x, |part, words| external_layer(&mut words));
        }
        // Each round begins with unreduced values, so that its constants join them before the
        // reduction.
        for constants in constants {
            R::sbox_layer(x, constants);
            by_parts!(x, |part, words| external_layer(&mut words));
        }
    }
}

/// Calls `f(state, i, j, k)` with the places of each pair of the internal diagonal: `1/2^k, -1/2^k`
/// with that `k`, integers with 0.
// A macro: closures of this size are not inlined, and a state that one of them refers to stays in
// memory.
macro_rules! for_each_pair {
    ($f:ident, $state:expr) => {{
        let state: &mut [R::Unreduced; WIDTH] = $state;
        let f = $f::<R, WIDTH>;
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

/// Puts `a` and `b` of the module's documentation in the places of a pair, whose words are not
/// negative.
#[inline(always)]
fn enter_pair<R: Representation, const WIDTH: usize>(
    x: &mut [R::Unreduced; WIDTH],
    i: usize,
    j: usize,
    k: u32,
) {
    let (s, t) = (x[i], x[j]);
    x[i] = R::div_2exp(add::<R>(s, t), 1);
    if k == 0 {
        x[j] = sub::<R>(x[i], t);
    } else {
        x[j] = sub::<R>(R::div_2exp(s, k + 1), R::div_2exp(t, k + 1));
        // The first round divides this, and a quotient's words may be negative.
        x[i] = R::widen(R::reduce(x[i]));
    }
}

/// Undoes [`enter_pair`].
#[inline(always)]
fn leave_pair<R: Representation, const WIDTH: usize>(
    x: &mut [R::Unreduced; WIDTH],
    i: usize,
    j: usize,
    k: u32,
) {
    let a = x[i];
    let mut b = x[j];
    for part in 0..R::PARTS {
        b[part] = b[part].shl(k);
    }
    x[i] = add::<R>(a, b);
    x[j] = sub::<R>(a, b);
}

/// The division of an internal round: `b` moves to the place of `a`, whose quotient is the next
/// `b`.
#[inline(always)]
fn divide_pair<R: Representation, const WIDTH: usize>(
    x: &mut [R::Unreduced; WIDTH],
    i: usize,
    j: usize,
    k: u32,
) {
    if k != 0 {
        let a = x[i];
        x[i] = x[j];
        x[j] = R::div_2exp(a, 2 * k);
    }
}

/// The sum of elements 1 and up of the state that `x` carries, one part.
#[inline(always)]
fn tail<R: Representation, const WIDTH: usize>(x: &[R::Unreduced; WIDTH], part: usize) -> R::Word {
    let add = R::Word::wrapping_add;
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
fn take_quotients<R: Representation, const WIDTH: usize>(x: &mut [R::Unreduced; WIDTH]) {
    for_each_pair!(divide_pair, x);
    match WIDTH {
        12 => x[11] = R::div_2exp(x[11], 3),
        16 => x[15] = R::div_2exp(x[15], 32),
        _ => {}
    }
}

/// The internal linear layer, `1 + diag(V)`, on one part: `V` is that of
/// `MATRIX_DIAG_{8,12,16}_GOLDILOCKS`. `tail` is the sum of elements 1 and up, as they were before
/// [`take_quotients`]; `lift` is [`Representation::lift`].
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
fn internal_rounds<R: Representation, const WIDTH: usize, const B: usize>(
    states: &mut [[R::Unreduced; WIDTH]; B],
    constants: &[R::Constant],
) {
    for b in 0..B {
        R::compact::<WIDTH>(&mut states[b], 0);
        for_each_pair!(enter_pair, &mut states[b]);
    }
    let (mut segment, mut round) = (0, 0);
    // One loop for all segments: of a loop with a bound that the compiler knows it makes copies,
    // too many for the cache.
    for &constant in constants {
        if round == R::segment(WIDTH) {
            (segment, round) = (segment + 1, 0);
            for b in 0..B {
                R::compact::<WIDTH>(&mut states[b], segment);
            }
        }
        let mut x0 = [states[0][0]; B];
        for b in 1..B {
            x0[b] = states[b][0];
        }
        R::sbox(&mut x0, &[constant; B]);
        for b in 0..B {
            let x = &mut states[b];
            let mut tails = x[1];
            for part in 0..R::PARTS {
                tails[part] = tail::<R, WIDTH>(x, part);
            }
            let tails = R::compact_tail(tails);
            x[0] = x0[b];
            take_quotients::<R, WIDTH>(x);
            by_parts!(x, |part, words| internal_layer(
                &mut words,
                tails[part],
                |sum| R::lift::<WIDTH>(sum, part, round)
            ));
        }
        round += 1;
    }
    for b in 0..B {
        for_each_pair!(leave_pair, &mut states[b]);
        for i in 0..WIDTH {
            states[b][i] = R::settle(states[b][i]);
        }
    }
}

/// A permutation's round constants.
#[derive(Clone, Debug)]
pub struct Rounds<R: Representation, const WIDTH: usize> {
    initial: Vec<[R::Constant; WIDTH]>,
    internal: Vec<R::Constant>,
    terminal: Vec<[R::Constant; WIDTH]>,
}

impl<R: Representation, const WIDTH: usize> Rounds<R, WIDTH> {
    pub fn new(
        external: &ExternalLayerConstants<Goldilocks, WIDTH>,
        internal: &[Goldilocks],
    ) -> Self {
        let prepare = |rounds: &[[Goldilocks; WIDTH]]| {
            let prepare = |constants: &[Goldilocks; WIDTH]| constants.map(R::constant);
            rounds.iter().map(prepare).collect()
        };
        Self {
            initial: prepare(external.get_initial_constants()),
            internal: internal.iter().map(|&c| R::constant(c)).collect(),
            terminal: prepare(external.get_terminal_constants()),
        }
    }

    /// Permutes `B` states. Before, they are as [`Representation::widen`] returns them; afterwards,
    /// as [`Representation::reduce`] takes them.
    #[inline(always)]
    pub fn permute<const B: usize>(&self, states: &mut [[R::Unreduced; WIDTH]; B]) {
        external_rounds::<R, WIDTH>(states, &self.initial, true);
        internal_rounds::<R, WIDTH, B>(states, &self.internal);
        external_rounds::<R, WIDTH>(states, &self.terminal, false);
    }
}

/// Whether there is an internal layer for this width.
pub const fn has_rounds(width: usize) -> bool {
    matches!(width, 8 | 12 | 16)
}
