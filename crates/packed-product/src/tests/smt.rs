//! Columns and their reduction, proved by z3: for all factors, the text gives their product.
//!
//! The kernel's text runs on terms. Products of 52 bits are free variables, at most `2^52 - 1` times either factor.

use p3_patches_testing::smt::{Proof, Term, assume, integer, products};

use super::lanes::{Symbol, leaves};
use super::limb::zero;
use crate::limb_product::{columns, reduce, square_columns};

/// The value of columns, the upper one of which is signed.
fn value([w0, w1, w2]: [Symbol<false>; 3]) -> Term {
    let upper = w2.0.signed_integer().left(104);
    w0.0.integer().plus(w1.0.integer().left(52)).plus(upper)
}

/// `2^128`.
fn end() -> Term {
    integer(1).left(64).left(64)
}

/// `2^52 (2^44 - 2^12) - 2^128`, which columns start with.
fn start() -> Term {
    let positive = integer((1 << 96) - (1 << 64));
    positive.minus(end())
}

fn variable() -> Symbol<false> {
    Symbol(Term::variable(64))
}

/// The products of limbs at these positions are the value, less what it starts with.
fn is_sum_of_products(columns: [Symbol<false>; 3], positions: &[u32]) -> Term {
    let products = products();
    assert_eq!(products.len(), positions.len());
    // The upper limbs have 12 bits.
    let [_, _, upper] = products[products.len() - 1];
    assume(upper.is_below(1 << 24));
    let mut sum = start();
    for ([_, _, product], position) in products.into_iter().zip(positions) {
        sum = sum.plus(product.integer().left(*position));
    }
    value(columns).is(sum)
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_columns() {
    // In the order of the text, each once: low by low, low by high, high by low, high by high.
    let product = |positions: &[u32]| {
        let columns = columns(variable(), variable());
        is_sum_of_products(columns, positions)
    };
    Proof("columns").holds(|| product(&[0, 52, 52, 104]));
    Proof("columns, upper one misplaced").fails(|| product(&[0, 52, 52, 103]));
    let square = |positions: &[u32]| {
        let columns = square_columns(variable());
        is_sum_of_products(columns, positions)
    };
    Proof("columns of a square").holds(|| square(&[0, 52, 104]));
    Proof("columns of a square, upper one misplaced").fails(|| square(&[0, 52, 103]));
}

/// The reduction takes `2^96 + 1` from the columns `c` times, the order `d` times, and perhaps the order once more.
fn reduces(limit: Term) -> Term {
    let [w0, w1, w2] = [(); 3].map(|()| variable());
    let columns = [w0, w1, w2];
    assume(w0.0.is_in(0, 1 << 52));
    // A product is below 2^128.
    let product = value(columns).minus(start());
    assume(integer(-1).below(product));
    assume(product.below(limit));
    assume(w2.0.is_in(-(1 << 24), 1 << 24));
    let Symbol(reduced) = reduce(columns);
    let d = w1.0.extract(12, 32).integer();
    let c = w1.0.right(44).integer().plus(w2.0.signed_integer().left(8));
    leaves(value(columns).minus(zero(c)), reduced, d)
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_reduce() {
    Proof("columns, reduced").holds(|| reduces(end()));
    Proof("columns, reduced, of larger products").fails(|| reduces(end().left(1)));
}
