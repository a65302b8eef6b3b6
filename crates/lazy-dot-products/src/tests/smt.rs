//! Carrying, proved by z3: for all sums within the bounds, the text gives what they stand for.

use p3_patches_testing::smt::{Proof, Term, assume, integer};

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
