//! Products of 52 bits for the lanes of packed-poseidon2's tests.

use core::cell::RefCell;
use std::vec::Vec;

use p3_patches_testing::interval::Interval;
use p3_patches_testing::mutation::{self, Mutated, goes_wrong};
use p3_patches_testing::smt::Term;

use super::MASK_52;
use super::lanes::{Integer, Range, Symbol};
use crate::poseidon2_limbs::Limb;
use crate::vector::Word;

// ---- Integers ----

/// The product of the low 52 bits.
pub fn wide_product(a: u64, b: u64) -> u128 {
    u128::from(a & MASK_52) * u128::from(b & MASK_52)
}

impl Limb for Integer<false> {
    fn sar(self, bits: u32) -> Self {
        Self((self.0 as i64 >> bits) as u64)
    }

    fn add_product_low(self, a: Self, b: Self) -> Self {
        Self(self.0.wrapping_add(wide_product(a.0, b.0) as u64 & MASK_52))
    }

    fn add_product_high(self, a: Self, b: Self) -> Self {
        Self(self.0.wrapping_add((wide_product(a.0, b.0) >> 52) as u64))
    }
}

// ---- Intervals ----

/// A product takes 52 bits, apart from words whose upper bits are not meant.
fn factor(x: Range) -> Interval {
    let x = x.interval();
    assert!(
        x.low() >= 0 && x.high() < 1 << 52,
        "{x:x?} is no factor of 52 bits"
    );
    x
}

impl Limb for Range {
    fn sar(self, bits: u32) -> Self {
        let x = self.interval();
        assert!(
            x.low() >= -(1 << 63) && x.high() < 1 << 63,
            "{x:x?} is not a signed word"
        );
        Self::new(x.low() >> bits, x.high() >> bits)
    }

    fn add_product_low(self, a: Self, b: Self) -> Self {
        let product = factor(a).high() * factor(b).high();
        self.wrapping_add(Self::new(0, product.min(MASK_52.into())))
    }

    fn add_product_high(self, a: Self, b: Self) -> Self {
        let high = factor(a).high() * factor(b).high();
        self.wrapping_add(Self::new(0, high >> 52))
    }

    fn low_52(self) -> Self {
        Self::new(0, MASK_52.into())
    }
}

// ---- Operations that go wrong ----

impl<T: Limb> Limb for Mutated<T> {
    #[track_caller]
    fn sar(self, bits: u32) -> Self {
        Self(if goes_wrong("without the sign") {
            self.0.shr(bits)
        } else {
            self.0.sar(mutation::distance(bits))
        })
    }

    #[track_caller]
    fn add_product_low(self, a: Self, b: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x.add_product_low(a.0, b.0)))
    }

    #[track_caller]
    fn add_product_high(self, a: Self, b: Self) -> Self {
        Self(mutation::skippable(self.0, |x| {
            x.add_product_high(a.0, b.0)
        }))
    }

    fn low_52(self) -> Self {
        Self(self.0.low_52())
    }
}

// ---- Terms ----

std::thread_local! {
    /// Upper words, in the order in which carries fold them.
    static FOLDED: RefCell<Vec<Term>> = RefCell::default();
}

/// The upper words that carries have folded.
#[cfg(target_arch = "x86_64")]
pub fn folded() -> Vec<Term> {
    FOLDED.take()
}

/// `2^96 + 1` times an integer: a multiple of the order.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub fn zero(x: Term) -> Term {
    x.left(96).plus(x)
}

/// The product of the low 52 bits, 104 bits.
fn product_of(a: Term, b: Term) -> Term {
    match b.known() {
        // A power of 2.
        Some(factor) => a.extract(0, 52).unsigned(104).left(factor.ilog2()),
        None => a.product(b, 52),
    }
}

impl Limb for Symbol<false> {
    fn sar(self, bits: u32) -> Self {
        if bits == 44 {
            FOLDED.with_borrow_mut(|folded| folded.push(self.0));
        }
        Self(self.0.signed_right(bits))
    }

    fn add_product_low(self, a: Self, b: Self) -> Self {
        let low = product_of(a.0, b.0).extract(0, 52);
        Self(self.0.plus(low.unsigned(64)))
    }

    fn add_product_high(self, a: Self, b: Self) -> Self {
        let high = product_of(a.0, b.0).extract(52, 52);
        Self(self.0.plus(high.unsigned(64)))
    }
}
