//! Carrying, proved by z3: for all sums within the bounds, the text gives what they stand for.

use p3_patches_testing::smt::{Proof, Term, assume, integer};

use super::fused::Fused;
use super::lanes::Symbol;
use crate::lazy_product::LazyProduct;

/// The sums stand for `low + 2^64 high`, if carries fit.
fn carries(fits: bool) -> Term {
    let sums = [(); 3].map(|()| Term::variable(64));
    let [x, y, z] = sums.map(Term::integer);
    let upper = y.plus(x.right(22));
    if fits {
        // The test of bounds shows these two.
        assume(upper.below(integer(1 << 64)));
        assume(z.plus(upper.right(22)).below(integer(1 << 64)));
    }
    let [low, high] = Symbol::<false>::carry(sums.map(Symbol)).map(|x| x.0.integer());
    let exact = x.plus(y.left(22)).plus(z.left(44));
    exact.is(low.plus(high.left(64)))
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_carry() {
    Proof("carry").holds(|| carries(true));
    Proof("carry, with sums that wrap").fails(|| carries(false));
}

/// The limbs stand for the word, and fit those digits that are multiplied.
#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_limbs() {
    let limbs = |length: u32| {
        move || {
            let x = Term::variable(64);
            let [low, middle, high] = Symbol::<false>(x).limbs().map(|limb| limb.0.integer());
            let exact = x.integer();
            let stands = exact.is(low.plus(middle.left(22)).plus(high.left(44)));
            let end = integer(1 << length);
            stands
                .and(low.below(end))
                .and(middle.below(end))
                .and(high.below(integer(1 << 20)))
        }
    };
    Proof("limbs").holds(limbs(22));
    Proof("limbs, of 21 bits").fails(limbs(21));
}

/// IFMA's sums stand for `low + 2^64 high`, if they and a carry fit a word.
fn fused_carries(fits: bool) -> Term {
    let sums = [(); 3].map(|()| Term::variable(64));
    let [x, y, z] = sums.map(Term::integer);
    let upper = y.plus(z).plus(x.right(52));
    if fits {
        // The test of bounds shows this.
        assume(upper.below(integer(1 << 64)));
    }
    let [low, high] = Fused::carry(sums.map(|x| Fused(Symbol(x)))).map(|x| x.0.0.integer());
    x.plus(y.plus(z).left(52)).is(low.plus(high.left(64)))
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_fused_carry() {
    Proof("carry of IFMA's sums").holds(|| fused_carries(true));
    Proof("carry of IFMA's sums, that wrap").fails(|| fused_carries(false));
}

/// IFMA's digits stand for the word, and so do its limbs, of which a product looks at 52 bits.
#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_fused_limbs() {
    let limbs = |length: u32| {
        move || {
            let x = Term::variable(64);
            let word = Fused(Symbol::<false>(x));
            let [d0, d1] = word.digits().map(|digit| digit.0.0.integer());
            let [low, high, _] = word.limbs().map(|limb| limb.0.0);
            let low = low.extract(0, length).unsigned(64).integer();
            let exact = x.integer();
            exact
                .is(d0.plus(d1.left(40)))
                .and(exact.is(low.plus(high.integer().left(52))))
        }
    };
    Proof("IFMA's limbs").holds(limbs(52));
    Proof("IFMA's limbs, of 51 bits").fails(limbs(51));
}
