//! Lanes for what [`SignedVector`] adds to the vocabulary.

use core::cell::RefCell;
use std::vec::Vec;

use p3_patches_testing::goldilocks::{P, residue};
use p3_patches_testing::interval::Interval;
use p3_patches_testing::mutation::{self, Mutated, goes_wrong};
use p3_patches_testing::smt::{Term, assume, integer, require};

use super::lanes::{Integer, Range, Symbol, word};
use crate::prepared_twiddle::SignedVector;
use crate::vector::{EPSILON, Vector};

impl<const FLIPPED: bool> SignedVector for Integer<FLIPPED> {
    fn xor(self, rhs: Self) -> Self {
        Self(self.0 ^ rhs.0)
    }

    fn mul_low_signed(self, rhs: Self) -> Self {
        let [x, y] = [self, rhs].map(|x| i64::from(x.0 as i32));
        Self((x * y) as u64)
    }

    fn fold(low: Self, high: Self) -> Self {
        let h = i128::from(high.0 >> 32);
        Self(residue(i128::from(low.0) + (h << 64)).wrapping_add(Self::FLIP))
    }

    fn sub_modulo(x: Self, flipped_y: Self) -> Self {
        let y = flipped_y.0.wrapping_sub(Self::FLIP);
        let (difference, borrowed) = x.0.overflowing_sub(y);
        Self(difference.wrapping_sub(EPSILON * u64::from(borrowed)))
    }
}

/// The signed digits of a range of words: its values, where all of them are digits.
fn signed_digits(x: Range) -> Interval {
    let (digits, x) = (Interval::new(-(1 << 31), (1 << 31) - 1), x.interval());
    let is_digit = digits.low() <= x.low() && x.high() <= digits.high();
    if is_digit { x } else { digits }
}

impl SignedVector for Range {
    fn xor(self, _: Self) -> Self {
        assert_eq!(self, Self::any());
        self
    }

    fn mul_low_signed(self, rhs: Self) -> Self {
        let [x, y] = [self, rhs].map(signed_digits);
        let ends = |f: fn(Interval) -> i128| (f(x) * y.low(), f(x) * y.high());
        let ((a, b), (c, d)) = (ends(Interval::low), ends(Interval::high));
        Self::new(a.min(b).min(c).min(d), a.max(b).max(c).max(d))
    }

    fn fold(low: Self, high: Self) -> Self {
        assert!(low.interval().low() >= 0 && high.interval().low() >= 0);
        Self::new(0, i128::from(P) - 1)
    }

    fn sub_modulo(x: Self, y: Self) -> Self {
        x.is_within(0, u64::MAX.into());
        y.is_within(0, i128::from(P) - 1);
        Self::any()
    }
}

impl<T: SignedVector> SignedVector for Mutated<T> {
    #[track_caller]
    fn xor(self, rhs: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x.xor(rhs.0)))
    }

    #[track_caller]
    fn mul_low_signed(self, rhs: Self) -> Self {
        Self(if goes_wrong("unsigned") {
            self.0.mul_low(rhs.0)
        } else {
            mutation::skippable(self.0, |x| x.mul_low_signed(rhs.0))
        })
    }

    #[track_caller]
    fn fold(low: Self, high: Self) -> Self {
        Self(mutation::sum(low.0, high.0, T::fold))
    }

    #[track_caller]
    fn sub_modulo(x: Self, flipped_y: Self) -> Self {
        Self(if goes_wrong("borrow lost") {
            x.0.wrapping_sub(flipped_y.0.wrapping_sub(T::splat(T::FLIP)))
        } else {
            T::sub_modulo(x.0, flipped_y.0)
        })
    }
}

std::thread_local! {
    /// The signed products so far, then the words that were folded, and the result.
    static SEEN: RefCell<Vec<Term>> = const { RefCell::new(Vec::new()) };
}

/// The signed products, in the order of the text, then the two words that were folded, and the result.
pub fn seen() -> Vec<Term> {
    SEEN.take()
}

/// The contract of [`SignedVector::fold`]: `low + 2^64 h` less `h` or `h + 1` times the order, in `[0, p)`.
pub fn is_folded(low: Term, high: Term, folded: Term) -> Term {
    let h = high.right(32).integer();
    let left = (low.integer().plus(h.left(64))).minus(folded.integer());
    let multiple = h.times(P.into());
    let is_left = left
        .is(multiple)
        .or(left.is(multiple.plus(integer(P.into()))));
    is_left.and(folded.is_below(P.into()))
}

/// `x - y`, or that and the order.
pub fn is_difference(x: Term, y: Term, difference: Term) -> Term {
    let exact = x.integer().minus(y.integer());
    let found = difference.integer();
    let corrected = found.minus(integer(P.into()));
    exact.is(found).or(exact.is(corrected))
}

impl<const FLIPPED: bool> SignedVector for Symbol<FLIPPED> {
    fn xor(self, rhs: Self) -> Self {
        let bits = rhs.0.known().expect("a constant") as u64;
        let flipped = |x: Term, bit: u32| x.plus(word(1 << bit));
        // The top bit of a digit is flipped by an addition that stays in the digit.
        assert_eq!(bits, (1 << 63) + (1 << 31));
        let [low, high] = [0, 32].map(|from| self.0.extract(from, 32).unsigned(64));
        let [low, high] = [low, high].map(|digit| flipped(digit, 31).extract(0, 32));
        Self(high.above(low))
    }

    /// A free variable, in the range of products of signed digits.
    fn mul_low_signed(self, _: Self) -> Self {
        let product = Term::variable(64);
        let end = 1 << 62;
        let signed = product.signed_integer();
        assume(signed.below(integer(end + 1)));
        assume(integer(-end).below(signed));
        SEEN.with_borrow_mut(|seen| seen.push(product));
        Self(product)
    }

    /// The trait's contract. The instruction sets' own are proved to keep it.
    fn fold(low: Self, high: Self) -> Self {
        let folded = Term::variable(64);
        SEEN.with_borrow_mut(|seen| seen.extend([low.0, high.0, folded]));
        assume(is_folded(low.0, high.0, folded));
        Self(folded.plus(word(Self::FLIP)))
    }

    /// The trait's contract.
    fn sub_modulo(x: Self, flipped_y: Self) -> Self {
        let y = flipped_y.0.minus(word(Self::FLIP));
        require(y.is_below(P.into()));
        let difference = Term::variable(64);
        assume(is_difference(x.0, y, difference));
        Self(difference)
    }
}
