//! The words of the kernels that stack on this one, struck by mutations and as terms of z3.

use p3_patches_testing::goldilocks::P;
use p3_patches_testing::mutation::{self, Struck};
use p3_patches_testing::smt::{Term, integer};

use crate::poseidon2_batch::Word;

impl<T: Word> Word for Struck<T> {
    #[track_caller]
    fn wrapping_add(self, rhs: Self) -> Self {
        Self(mutation::sum(self.0, rhs.0, T::wrapping_add))
    }

    #[track_caller]
    fn wrapping_sub(self, rhs: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x.wrapping_sub(rhs.0)))
    }

    #[track_caller]
    fn shl(self, bits: u32) -> Self {
        Self(self.0.shl(mutation::distance(bits)))
    }
}

impl Word for Term {
    fn wrapping_add(self, rhs: Self) -> Self {
        self.plus(rhs)
    }

    fn wrapping_sub(self, rhs: Self) -> Self {
        self.minus(rhs)
    }

    fn shl(self, bits: u32) -> Self {
        self.left(bits)
    }
}

/// What a vector's `add_modulo` asks of its operands, without the offset of any.
pub fn operands_of_add_modulo(x: Term, y: Term) -> Term {
    let multiple = x.extract(0, 32).is(Term::constant(0, 32));
    multiple.and(y.is_below((1 << 64) - (1 << 33) + 1))
}

/// `x + y`, or that less the order.
pub fn is_sum(x: Term, y: Term, sum: Term) -> Term {
    let exact = x.integer().plus(y.integer());
    let corrected = sum.integer().plus(integer(P.into()));
    exact.is(sum.integer()).or(exact.is(corrected))
}
