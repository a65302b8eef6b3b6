//! Butterflies, proved by z3: for all inputs, the text, and the instructions under it, give what they have to.
//!
//! The kernel's text runs on terms. Products of digits are free variables in their range. The few instructions of an instruction
//! set's own functions are written down here, one line for each.

use p3_patches_testing::goldilocks::P;
use p3_patches_testing::smt::{Proof, Term, assume, integer};

use super::lanes::{Symbol, is_sum, word};
use super::signed::{is_difference, is_folded, seen};
use crate::prepared_twiddle::PreparedTwiddle;
use crate::vector::EPSILON;

/// The upper digit of `x` above its complement.
fn digit_and_complement(x: Term) -> [Term; 2] {
    let digit = x.extract(32, 32);
    let ones = Term::constant(EPSILON.into(), 32);
    [digit, ones.minus(digit)]
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_fold() {
    let folds = |fold: fn(Term, Term) -> Term, flip: u64| {
        move || {
            let (low, high) = (Term::variable(64), Term::variable(64));
            is_folded(low, high, fold(low, high).minus(word(flip)))
        }
    };
    const FLIP: u64 = 1 << 63;
    // x86_64_avx2/butterfly.rs
    let avx2 = |low: Term, high: Term| {
        let [digit, complement] = digit_and_complement(high); // vmovshdup
        let term = digit.flipped().above(complement); // vpxor
        let sum = low.plus(term); // vpaddq
        let carried = sum.signed_below(term); // vpcmpgtq
        carried.choose(sum, sum.minus(word(EPSILON))) // vpandn, vpsubq
    };
    Proof("fold, AVX2").holds(folds(avx2, FLIP));
    Proof("fold, AVX2, flip lost").fails(folds(avx2, 0));
    // x86_64_avx512/butterfly.rs
    let avx512 = |low: Term, high: Term| {
        let [digit, complement] = digit_and_complement(high); // vmovshdup
        let term = digit.above(complement); // vpxorq
        let sum = low.plus(term); // vpaddq
        let fits = sum.below(term).negation(); // vpcmpnltuq
        fits.choose(sum.minus(word(EPSILON)), sum) // vpsubq under a mask
    };
    Proof("fold, AVX-512").holds(folds(avx512, 0));
    Proof("fold, AVX-512, not corrected").fails(folds(
        |low, high| {
            let [digit, complement] = digit_and_complement(high);
            low.plus(digit.above(complement))
        },
        0,
    ));
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_sub_modulo() {
    let subtracts = |sub: fn(Term, Term) -> Term, any: bool| {
        move || {
            let (x, y) = (Term::variable(64), Term::variable(64));
            if !any {
                assume(y.is_below(P.into()));
            }
            is_difference(x, y, sub(x, y))
        }
    };
    // x86_64_avx2/butterfly.rs
    let avx2 = |x: Term, y: Term| {
        let flipped_y = y.flipped();
        let flipped_x = x.flipped(); // vpxor
        let difference = flipped_x.minus(flipped_y); // vpsubq
        let borrowed = flipped_x.signed_below(flipped_y); // vpcmpgtq
        borrowed.choose(difference.minus(word(EPSILON)), difference) // vpand, vpsubq
    };
    Proof("sub_modulo, AVX2").holds(subtracts(avx2, false));
    Proof("sub_modulo, AVX2, any operands").fails(subtracts(avx2, true));
    // x86_64_avx512/butterfly.rs
    let avx512 = |x: Term, y: Term| {
        let difference = x.minus(y); // vpsubq
        let borrowed = x.below(y); // vpcmpltuq
        borrowed.choose(difference.minus(word(EPSILON)), difference) // vpsubq under a mask
    };
    Proof("sub_modulo, AVX-512").holds(subtracts(avx512, false));
    Proof("sub_modulo, AVX-512, any operands").fails(subtracts(avx512, true));
}

/// If its words do not wrap, a butterfly adds and subtracts `z0 w + z1 v` and the constants, less a multiple of the order.
#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_butterfly() {
    let butterflies = |wraps: bool| {
        let symbol = || Symbol::<false>(Term::variable(64));
        let prepared = PreparedTwiddle {
            w: [symbol(), symbol()],
            v: [symbol(), symbol()],
            constants: [symbol(), symbol()],
        };
        let (a, b) = (symbol(), symbol());
        let [sum, difference] = prepared.butterfly(a, b).map(|x| x.0);
        let [p0, p1, p2, p3, low, high, folded] = seen().try_into().expect("one butterfly");
        let exact = |[x, y]: [Term; 2], digit: usize| {
            let constant = prepared.constants[digit].0.integer();
            x.signed_integer().plus(y.signed_integer()).plus(constant)
        };
        let words = [exact([p0, p1], 0), exact([p2, p3], 1)];
        // The bounds show this.
        let upper = words[1].plus(words[0].right(32));
        for word in [words[0], upper] {
            if !wraps {
                assume(word.below(integer(0)).negation());
                assume(word.below(integer(1 << 64)));
            }
        }
        let found = low.integer().plus(high.right(32).integer().left(64));
        let product = found.is(words[0].plus(words[1].left(32)));
        let added = is_sum(a.0, folded, sum);
        product
            .and(added)
            .and(is_difference(a.0, folded, difference))
    };
    Proof("butterfly").holds(|| butterflies(false));
    Proof("butterfly, with words that wrap").fails(|| butterflies(true));
}

/// The least digit, `-2^31`, as 32 bits.
fn is_least(digit: Term) -> Term {
    digit.is(Term::constant(1 << 31, 32))
}

/// The signed digits of `x`, as the text has them.
fn signed_digits(x: Term) -> [Term; 2] {
    let negative = x.below(word((1 << 63) - (1 << 31))).negation();
    let signed = negative.choose(x.minus(word(P)), x);
    let upper = signed.plus(word(1 << 31)).extract(32, 32);
    [signed.extract(0, 32), upper]
}

/// The digits that the bounds leave out are those of three twiddles.
#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_least_digits() {
    let element = || {
        let x = Term::variable(64);
        assume(x.is_below(P.into()));
        x
    };
    let upper = |exception: u64| {
        move || {
            let x = element();
            let [_, upper] = signed_digits(x);
            is_least(upper).negation().or(x.is(word(exception)))
        }
    };
    let extreme = (1 << 63) - (1 << 31);
    Proof("an upper digit of -2^31").holds(upper(extreme));
    Proof("an upper digit of -2^31, elsewhere").fails(upper(extreme + 1));

    let lower = |exception: u64| {
        move || {
            let (w, v, quotient) = (element(), element(), Term::variable(32));
            let multiple = v.integer().plus(quotient.integer().times(P.into()));
            assume(w.integer().left(32).is(multiple));
            let [[w0, _], [v0, _]] = [w, v].map(signed_digits);
            let both = is_least(w0).and(is_least(v0));
            both.negation().or(w.is(word(exception)))
        }
    };
    let half = P.div_ceil(2);
    Proof("lower digits of -2^31").holds(lower(half));
    Proof("lower digits of -2^31, elsewhere").fails(lower(half + 1));
}
