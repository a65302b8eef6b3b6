//! Gaussian integers, proved by z3: for all inputs, the text gives what it has to.
//!
//! The kernel's text runs on terms. Products of 52 bits are free variables, at most `2^52 - 1` times either factor, and multiples of
//! the `2^4` in each twiddle.

use std::vec::Vec;

use p3_patches_testing::smt::{Proof, Term, assume, integer, products};

use super::P;
use super::lanes::{Symbol, leaves, shifted, word};
use super::limb::zero;
use crate::gaussian::{Twiddle, ZERO, load, prepare, radix_2, store};

type Words = [Symbol<false>; 2];

/// The value of two words.
fn value([l, h]: Words) -> Term {
    l.0.integer().plus(h.0.integer().left(48))
}

/// Any words in this range.
fn words([low, end]: [i128; 2]) -> Words {
    [(); 2].map(|()| {
        let word = Term::variable(64);
        assume(word.is_in(low, end));
        Symbol(word)
    })
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_load_and_store() {
    Proof("gaussian, load").holds(|| {
        let x = Symbol(Term::variable(64));
        value(load(x)).is(x.0.integer())
    });
    // With `c` above bit 48 of the upper word, `2^96 + 1` is taken `c` times; with `g` above bit 64 of the rest, the order is
    // taken `g` times, and perhaps once more.
    let stores = |range: [i128; 2]| {
        let x = words(range);
        let Symbol(stored) = store(x);
        let c = x[1].0.right(48).integer();
        let g = shifted().right(16).integer();
        leaves(value(x).minus(zero(c)), stored, g)
    };
    Proof("gaussian, store").holds(|| stores([1 << 4, 1 << 52]));
    Proof("gaussian, store, of smaller words").fails(|| stores([0, 1 << 52]));
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_prepare() {
    let prepares = |middle: u64| {
        let x = Term::variable(64);
        let Twiddle { w, v } = prepare(Symbol::<false>(x));
        let x1 = x.right(32).masked(word(middle)).integer();
        let whole = x.integer().plus(x1.times(P.into())).left(4);
        // `(1 + i) (M[0] - i M[1])`, which a multiple of is `ZERO`.
        let [m0, m1] = [(1i128 << 32) - 1, 1 << 16];
        let constant = integer(m0 + m1).plus(integer(m0 - m1).left(48)).left(4);
        let times_i = value(w).left(48).minus(zero(w[1].0.integer()));
        value(w).is(whole).and(value(v).is(constant.plus(times_i)))
    };
    Proof("gaussian, prepare").holds(|| prepares((1 << 16) - 1));
    Proof("gaussian, prepare, with another digit").fails(|| prepares((1 << 15) - 1));
}

/// The value of the product that was made first, times `2^4`.
///
/// Its columns, in the order of the text: the lower word by `w[0]`, the upper by `v[0]`, and both by `w[1]` and `v[1]`. The upper
/// halves of the last two count `-1`.
fn product_value() -> Term {
    let columns = products().into_iter().take(4).map(|[_, _, column]| {
        assume(column.extract(0, 4).is_below(1));
        [column.integer(), column.extract(52, 52).integer()]
    });
    let [low, high, low_i, high_i]: [[Term; 2]; 4] =
        columns.collect::<Vec<_>>().try_into().expect("four");
    let sum = low[0].plus(high[0]).plus(low_i[0].plus(high_i[0]).left(48));
    sum.minus(zero(low_i[1].plus(high_i[1])).left(4))
}

/// The first operand without a scale, and the product: what is above bit 48 of the operand's upper word counts `-1`.
///
/// All else that butterflies do is additions and subtractions, which the test of bounds shows not to wrap.
#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_radix_2() {
    let is_butterfly = |position: u32| {
        let x = [(); 2].map(|()| words([1 << 41, 1 << 52]));
        // The test of bounds shows 37 bits.
        let [w, v] = [(); 2].map(|()| words([0, 1 << 37]));
        let [sum, difference] = radix_2(x, Twiddle { w, v }, None).map(|y| value(y).left(4));
        let moved = x[0][1].0.right(position).integer();
        let [low, high] = ZERO.map(|word| integer(word.into()));
        let first = value(x[0]).minus(zero(moved)).plus(low.plus(high.left(48)));
        let (first, product) = (first.left(4), product_value());
        sum.is(first.plus(product))
            .and(difference.is(first.minus(product)))
    };
    Proof("gaussian, radix 2").holds(|| is_butterfly(48));
    Proof("gaussian, radix 2, other bits counted").fails(|| is_butterfly(47));
}
