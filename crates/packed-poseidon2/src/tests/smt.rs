//! Products, reductions and divisions, proved by z3: for all inputs, the text, and the instructions under it, give what they
//! have to.
//!
//! The kernel's text runs on terms. Products of digits are free variables below `(2^32 - 1)^2`. The few instructions of an
//! instruction set's `add_modulo` are written down here, one line for each.

use std::format;

use p3_patches_testing::goldilocks::P;
use p3_patches_testing::smt::{Proof, Term, assume, integer, products};

use super::lanes::{Symbol, can_be_added, is_sum, leaves, shifted, word};
use crate::poseidon2_halves::{Halves, LIMIT, REDUCTION_BIAS, mul_unreduced};
use crate::poseidon2_rounds::Representation;
use crate::vector::{EPSILON, Vector, mul, product, reduce_product, square};

fn variable<const FLIPPED: bool>() -> Symbol<FLIPPED> {
    Symbol(Term::variable(64))
}

/// `low + 2^32 high`, of integers.
fn join(low: Term, high: Term) -> Term {
    low.plus(high.left(32))
}

/// The digits of an unsigned word.
fn digits(x: Term) -> [Term; 2] {
    [x.masked(word(EPSILON)).integer(), x.right(32).integer()]
}

// ---- vector.rs ----

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_add_modulo() {
    let proves = |add: fn(Term, Term) -> Term, flip: u64, any: bool| {
        move || {
            let (x, y) = (Term::variable(64), Term::variable(64));
            if !any {
                assume(can_be_added(x, y));
            }
            is_sum(x, y, add(x, y.plus(word(flip))))
        }
    };
    const FLIP: u64 = 1 << 63;
    // x86_64_avx2/vector.rs
    let avx2 = |x: Term, y: Term| {
        let sum = x.plus(y); // vpaddq
        let carried = sum.signed_below(y); // vpcmpgtq
        let correction = carried.choose(word(FLIP + EPSILON), word(FLIP)); // vpermilpd
        sum.plus(correction) // vpaddq
    };
    Proof("add_modulo, AVX2").holds(proves(avx2, FLIP, false));
    Proof("add_modulo, AVX2, any operands").fails(proves(avx2, FLIP, true));
    Proof("add_modulo, AVX2, flip lost").fails(proves(avx2, 0, false));
    // x86_64_avx512/vector.rs
    let avx512 = |x: Term, y| {
        let sum = x.plus(y); // vpaddq
        let carried = sum.below(x); // vpcmpltuq
        carried.choose(sum.plus(word(EPSILON)), sum) // vpaddq under a mask
    };
    Proof("add_modulo, AVX-512").holds(proves(avx512, 0, false));
    Proof("add_modulo, AVX-512, any operands").fails(proves(avx512, 0, true));
}

/// The sum of the first products of digits, each with its power of `2^32` and factor.
fn product_of_digits(weights: &[(u32, i128)]) -> Term {
    let products = products();
    assert_eq!(products.len(), weights.len());
    let mut sum = integer(0);
    for ([_, _, product], (digit, factor)) in products.into_iter().zip(weights) {
        sum = sum.plus(product.integer().left(32 * digit).times(*factor));
    }
    sum
}

/// In the order of the text: low by low, high by low, low by high, high by high.
const PRODUCT: [(u32, i128); 4] = [(0, 1), (1, 1), (1, 1), (2, 1)];
const SQUARE: [(u32, i128); 3] = [(0, 1), (1, 2), (2, 1)];

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_product() {
    let is_product = |bias: [u64; 2], claimed: [u64; 2]| {
        let [low, middle, high] = product::<Symbol<false>>(variable(), variable(), bias);
        let [low, middle] = [low, middle].map(|x| digits(x.0)[0]);
        let found = join(low, middle).plus(high.0.integer().left(64));
        let [low, high] = claimed.map(|x| integer(x.into()));
        found.is(product_of_digits(&PRODUCT).plus(join(low, high)))
    };
    for bias in [[0, 0], [2, EPSILON - 1], [EPSILON, EPSILON]] {
        Proof(&format!("product, bias {bias:x?}")).holds(|| is_product(bias, bias));
    }
    Proof("product, bias of more than a digit").fails(|| {
        let bias = [EPSILON, 3 << 32];
        is_product(bias, bias)
    });
    Proof("product, another bias").fails(|| is_product([2, EPSILON - 1], [1, EPSILON - 1]));
}

/// With `high = d + 2^32 c`, `2^64 high = (d + (2^32 + 1) c) p + (2^32 - 1) d - c`.
fn folded(high: Term) -> Term {
    let [d, c] = digits(high);
    d.plus(c.times((1 << 32) + 1))
}

fn smt_reductions<const FLIPPED: bool>(name: &str) {
    let reduces = |offset: u64, end: i128| {
        let (low, high) = (variable::<FLIPPED>(), variable::<FLIPPED>());
        assume(low.0.is_below(end));
        let Symbol(reduced) = reduce_product(low, high, offset);
        let exact = low.0.integer().plus(high.0.integer().left(64));
        let exact = exact.plus(integer((EPSILON + offset).into()));
        leaves(exact, reduced, folded(high.0))
    };
    Proof(&format!("reduce_product, {name}")).holds(|| reduces(0, 1 << 64));
    Proof(&format!("reduce_product, {name}, of a square")).holds(|| reduces(2, (1 << 64) - 2));
    Proof(&format!("reduce_product, {name}, offset for any")).fails(|| reduces(2, 1 << 64));

    // The operand of a product's reduction exceeds the product by `p - EPSILON`, and it adds `EPSILON`: once the order.
    let squares = |root: bool| {
        let Symbol(reduced) = square::<Symbol<FLIPPED>>(variable());
        if root {
            // The square of a digit is 0 or 1 modulo 4.
            assume(products()[0][2].extract(0, 2).is_below(2));
        }
        let exact = product_of_digits(&SQUARE).plus(integer(P.into()));
        leaves(exact, reduced, folded(shifted()))
    };
    Proof(&format!("square, {name}")).holds(|| squares(true));
    Proof(&format!("square, {name}, of any number")).fails(|| squares(false));
    Proof(&format!("mul, {name}")).holds(|| {
        let Symbol(reduced) = mul::<Symbol<FLIPPED>>(variable(), variable());
        let exact = product_of_digits(&PRODUCT).plus(integer(P.into()));
        leaves(exact, reduced, folded(shifted()))
    });
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_products_reduced() {
    smt_reductions::<false>("AVX-512");
    smt_reductions::<true>("AVX2");
}

// ---- poseidon2_halves.rs ----

/// Two signed halves as an integer.
fn value<const FLIPPED: bool>([low, high]: [Symbol<FLIPPED>; 2]) -> Term {
    join(low.0.signed_integer(), high.0.signed_integer())
}

/// Two words in `low..end`.
fn halves<const FLIPPED: bool>(low: i128, end: i128) -> [Symbol<FLIPPED>; 2] {
    let x = [variable(), variable()];
    for Symbol(word) in x {
        assume(word.is_in(low, end));
    }
    x
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_mul_unreduced() {
    let unreduced = |least: i128| {
        let x = mul_unreduced::<Symbol<false>>(variable(), variable());
        let left = product_of_digits(&PRODUCT).minus(value(x));
        let [low, high] = x.map(|word| word.0);
        let ranges = low.is_in(least, 1 << 32).and(high.is_in(0, 2 << 32));
        ranges.and(left.is(folded(shifted()).times(P.into())))
    };
    Proof("mul_unreduced").holds(|| unreduced(-(2 << 32) + 1));
    Proof("mul_unreduced, in a smaller range").fails(|| unreduced(-(2 << 32) + (1 << 31)));
}

/// With `m` the bias and `c` the upper digit of the biased upper word, a reduction leaves `p (c - m)`, or that and `p`.
fn reduces<const FLIPPED: bool>(limit: i128) -> Term {
    let x = halves::<FLIPPED>(-limit + 1, limit);
    let Symbol(reduced) = Halves::reduce(x);
    let c = x[1].0.plus(word(REDUCTION_BIAS[1])).right(32).integer();
    leaves(value(x), reduced, c.minus(integer(1 << 30)))
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_reduce() {
    let limit = LIMIT.into();
    Proof("halves, reduce, AVX-512").holds(|| reduces::<false>(limit));
    Proof("halves, reduce, AVX2").holds(|| reduces::<true>(limit));
    let limit = 1 << 63;
    Proof("halves, reduce, AVX-512, of magnitudes up to 2^63").fails(|| reduces::<false>(limit));
    Proof("halves, reduce, AVX2, of magnitudes up to 2^63").fails(|| reduces::<true>(limit));
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_div_2exp() {
    // The quotient times `2^bits`, and as many times the order as the low bits of the lower word say, are the dividend.
    let divides = |bits: u32, low: i128| {
        let x = halves::<false>(low, 1 << 62);
        let quotient = value(Halves::div_2exp(x, bits));
        let l = x[0].0;
        let a = if bits == 32 {
            l.signed_integer()
        } else {
            l.masked(word((1 << bits) - 1)).integer()
        };
        let back = quotient.left(bits).plus(a.times(P.into()));
        back.is(value(x))
    };
    for bits in [1, 2, 3, 4, 5, 6, 8, 10, 32] {
        let low = if bits == 32 { -(1 << 62) } else { 0 };
        Proof(&format!("halves, div_2exp by {bits}")).holds(|| divides(bits, low));
        if bits != 32 {
            let name = format!("halves, div_2exp by {bits}, not lifted");
            Proof(&name).fails(|| divides(bits, -(1 << 33)));
        }
    }
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_widen() {
    let widens = |widen: fn(Symbol<false>) -> [Symbol<false>; 2]| {
        move || {
            let x = variable();
            value(widen(x)).is(x.0.integer())
        }
    };
    Proof("halves, widen").holds(widens(Halves::widen));
    Proof("halves, widen, mask lost").fails(widens(|x| [x, x.shr(32)]));
}
