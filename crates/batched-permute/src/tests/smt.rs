//! Reductions and divisions, proved by z3: for all inputs, the text, and the instructions under it, give what they have to.
//!
//! A kernel's text runs on terms. An instruction set's few instructions are written down here, one line for each, next to the
//! name of its file.

use core::ops::Mul;
use std::format;

use p3_patches_testing::goldilocks::P;
use p3_patches_testing::smt::{Proof, Term, assume, integer, require};

use super::words::{is_sum, operands_of_add_modulo};
use super::*;
use crate::poseidon2_batch::{EPSILON, REDUCTION_BIAS};
use crate::poseidon2_batch_vector::{Vector, VectorElement};

fn word(x: u64) -> Term {
    Term::constant(x.into(), 64)
}

impl Vector for Term {
    fn splat(x: u64) -> Self {
        word(x)
    }

    fn and(self, rhs: Self) -> Self {
        self.masked(rhs)
    }

    fn shr(self, bits: u32) -> Self {
        self.right(bits)
    }

    /// What the trait says, and no more: `add_modulo` below proves it of each instruction set.
    fn add_modulo(x: Self, y: Self) -> Self {
        require(operands_of_add_modulo(x, y));
        let sum = Self::variable(64);
        assume(is_sum(x, y, sum));
        sum
    }
}

#[derive(Clone, Copy, Debug)]
struct Symbol(Term);

impl From<Goldilocks> for Symbol {
    fn from(_: Goldilocks) -> Self {
        unreachable!("no constants here")
    }
}

impl Mul for Symbol {
    type Output = Self;

    fn mul(self, _: Self) -> Self {
        unreachable!("no products here")
    }
}

impl VectorElement for Symbol {
    type Vector = Term;

    fn into_vector(self) -> Term {
        self.0
    }

    fn from_vector(vector: Term) -> Self {
        Self(vector)
    }

    fn square(self) -> Self {
        unreachable!("no products here")
    }
}

/// What two signed halves stand for.
fn value([low, high]: [Term; 2]) -> Term {
    let high = high.signed_integer().left(32);
    low.signed_integer().plus(high)
}

/// Two words in `low..end`.
fn halves(low: i128, end: i128) -> [Term; 2] {
    let x = [Term::variable(64), Term::variable(64)];
    for word in x {
        assume(word.is_in(low, end));
    }
    x
}

type Pair = [Term; 2];

/// `reduce` of words of magnitude at most `limit`: with `m` the bias and `c` the upper digit of the biased upper word, it
/// leaves `p (c - m)`, or that and `p`.
fn reduces(limit: i128, reduce: impl FnOnce(Pair) -> Term) -> Term {
    let x = halves(-limit, limit + 1);
    let reduced = reduce(x);
    let c = x[1].plus(word(REDUCTION_BIAS[1])).right(32).integer();
    let left = value(x).minus(reduced.integer());
    let multiple = c.minus(integer(1 << 30)).times(P.into());
    let corrected = multiple.plus(integer(P.into()));
    left.is(multiple).or(left.is(corrected))
}

/// The largest magnitude that a reduction takes.
const LIMIT: i128 = (1 << 62) - (1 << 34);

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_reduce() {
    let text = |x| Symbol::reduce(x).0;
    Proof("halves, reduce").holds(|| reduces(LIMIT, text));
    Proof("halves, reduce, of magnitudes up to 2^63").fails(|| reduces((1 << 63) - 1, text));
    // The element alone: `poseidon2_batch_pair.rs`.
    let alone = |[low, high]: Pair, corrected: bool| {
        let low = low.plus(word(REDUCTION_BIAS[0]));
        let high = high.plus(word(REDUCTION_BIAS[1]));
        let x = high.left(32);
        let sum = x.plus(low.plus(high.right(32).times(EPSILON.into())));
        if corrected {
            let carry = sum.below(x).choose(word(1), word(0));
            sum.plus(carry.times(EPSILON.into()))
        } else {
            sum
        }
    };
    Proof("halves, reduce, one element").holds(|| reduces(LIMIT, |x| alone(x, true)));
    Proof("halves, reduce, one element, carry lost").fails(|| reduces(LIMIT, |x| alone(x, false)));
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_add_modulo() {
    let proves = |operands: fn(Term, Term) -> Term, add: fn(Term, Term) -> Term| {
        move || {
            let (x, y) = (Term::variable(64), Term::variable(64));
            assume(operands(x, y));
            is_sum(x, y, add(x, y))
        }
    };
    let any = |x: Term, _| x.is(x);
    // x86_64_avx512/poseidon2_batch.rs
    let avx512 = |x: Term, y| {
        let sum = x.plus(y); // vpaddq
        let carried = sum.below(x); // vpcmpltuq
        carried.choose(sum.plus(word(0xffff_ffff)), sum) // vpaddq under a mask
    };
    Proof("halves, add_modulo, AVX-512").holds(proves(operands_of_add_modulo, avx512));
    Proof("halves, add_modulo, AVX-512, any operands").fails(proves(any, avx512));
    // x86_64_avx2/poseidon2_batch.rs
    let avx2 = |x: Term, y: Term| {
        let flip = 1 << 63;
        let y = y.flipped(); // vpxor
        let sum = x.plus(y); // vpaddq
        let carried = sum.signed_below(y); // vpcmpgtq
        let correction = carried.choose(word(flip + 0xffff_ffff), word(flip)); // vpermilpd
        sum.plus(correction) // vpaddq
    };
    Proof("halves, add_modulo, AVX2").holds(proves(operands_of_add_modulo, avx2));
    Proof("halves, add_modulo, AVX2, any operands").fails(proves(any, avx2));
    // wasm32_simd128/poseidon2_batch.rs
    let wasm = |x: Term, y: Term| {
        let y = y.flipped(); // v128.xor
        let sum = x.plus(y); // i64x2.add
        let carried = sum.signed_below(y); // i64x2.gt_s
        let epsilon = carried.choose(word(0xffff_ffff), word(0)); // i64x2.shr_u
        sum.plus(epsilon).flipped() // i64x2.add, v128.xor
    };
    Proof("halves, add_modulo, WebAssembly").holds(proves(operands_of_add_modulo, wasm));
}

/// `divide` by `2^bits`: the quotient times `2^bits`, and as many times the order as the low bits of the lower word say, are the
/// dividend.
fn divides(bits: u32, low: i128, divide: impl FnOnce(Pair) -> Pair) -> Term {
    let x = halves(low, 1 << 62);
    let quotient = value(divide(x)).left(bits);
    let a = if bits == 32 {
        x[0].signed_integer()
    } else {
        x[0].masked(word((1 << bits) - 1)).integer()
    };
    quotient.plus(a.times(P.into())).is(value(x))
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_div_2exp() {
    for bits in [1, 2, 3, 4, 5, 6, 8, 10, 32] {
        let low = if bits == 32 { -(1 << 62) } else { 0 };
        let name = |what: &str| format!("halves, div_2exp by {bits}, {what}");
        Proof(&name("vectors")).holds(|| divides(bits, low, |x| Symbol::div_2exp(x, bits)));
        if bits == 32 {
            // SSE2 and NEON move the lower word to the upper place; on a portable pair this is the vectors' text.
            let pair = |[low, high]: Pair| [low.plus(high), word(0).minus(low)];
            Proof(&name("pairs")).holds(|| divides(bits, low, pair));
            continue;
        }
        let negative = || divides(bits, -(1 << 33), |x| Symbol::div_2exp(x, bits));
        Proof(&name("vectors, not lifted")).fails(negative);

        // poseidon2_batch_pair.rs, the array
        let portable = |[low, high]: Pair| {
            let (a, b) = (low.masked(mask_of(bits)), high.masked(mask_of(bits)));
            [
                low.right(bits).plus(a.plus(b).left(32 - bits)),
                high.right(bits).minus(a.left(32 - bits)),
            ]
        };
        Proof(&name("portable pairs")).holds(|| divides(bits, low, portable));
        // poseidon2_batch_pair.rs, SSE2 and NEON
        let vector = |[low, high]: Pair, borrow: bool| {
            let masked = [low.masked(mask_of(bits)), high.masked(mask_of(bits))]; // pand
            let zero = word(0);
            let sum = [masked[0].plus(masked[1]), zero.plus(zero)]; // movq, psrldq, paddq; vext, add
            let moved = [zero, masked[0]]; // pslldq; vext
            let difference = if borrow {
                [sum[0].minus(moved[0]), sum[1].minus(moved[1])] // psubq
            } else {
                sum
            };
            let high = [low.right(bits), high.right(bits)]; // psrlq; ushl
            [0, 1].map(|i| high[i].plus(difference[i].left(32 - bits))) // psllq, paddq
        };

        Proof(&name("pairs")).holds(|| divides(bits, low, |x| vector(x, true)));
        Proof(&name("pairs, borrow lost")).fails(|| divides(bits, low, |x| vector(x, false)));
    }
}

fn mask_of(bits: u32) -> Term {
    word((1 << bits) - 1)
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_widen() {
    let widens = |take: fn(Term) -> Pair| {
        move || {
            let x = Term::variable(64);
            value(take(x)).is(x.integer())
        }
    };
    Proof("halves, widen").holds(widens(|x| Symbol(x).widen()));
    Proof("halves, widen, mask lost").fails(widens(|x| [x, x.right(32)]));
}
