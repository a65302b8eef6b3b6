//! Lanes that multiply 52 bits, so that the text for IFMA runs on every machine.

use p3_patches_testing::interval::Interval;
use p3_patches_testing::mutation::{self, Mutated};
use p3_patches_testing::smt::Term;

use super::lanes::{Integer, Range, Symbol};
use crate::lazy_product::ifma::FusedProduct;
use crate::vector::{Vector, Word};

const MASK_52: u64 = (1 << 52) - 1;

/// A lane with IFMA's products.
#[derive(Clone, Copy, Debug)]
pub struct Fused<T>(pub T);

impl<T: Word> Word for Fused<T> {
    fn wrapping_add(self, rhs: Self) -> Self {
        Self(self.0.wrapping_add(rhs.0))
    }

    fn wrapping_sub(self, rhs: Self) -> Self {
        Self(self.0.wrapping_sub(rhs.0))
    }

    fn shl(self, bits: u32) -> Self {
        Self(self.0.shl(bits))
    }
}

impl<T: Vector> Vector for Fused<T> {
    const FLIP: u64 = T::FLIP;

    fn splat(x: u64) -> Self {
        Self(T::splat(x))
    }

    fn and(self, rhs: Self) -> Self {
        Self(self.0.and(rhs.0))
    }

    fn shr(self, bits: u32) -> Self {
        Self(self.0.shr(bits))
    }

    fn mul_low(self, rhs: Self) -> Self {
        Self(self.0.mul_low(rhs.0))
    }

    fn high(self) -> Self {
        Self(self.0.high())
    }

    fn join(low: Self, high: Self) -> Self {
        Self(T::join(low.0, high.0))
    }

    fn epsilon() -> Self {
        Self(T::epsilon())
    }

    fn add_modulo(x: Self, flipped_y: Self) -> Self {
        Self(T::add_modulo(x.0, flipped_y.0))
    }
}

impl FusedProduct for Fused<Integer<false>> {
    fn add_product_low(self, a: Self, b: Self) -> Self {
        let product = (a.0.0 & MASK_52).wrapping_mul(b.0.0 & MASK_52);
        Self(self.0.wrapping_add(Integer(product & MASK_52)))
    }

    fn add_product_high(self, a: Self, b: Self) -> Self {
        let product = u128::from(a.0.0 & MASK_52) * u128::from(b.0.0 & MASK_52);
        Self(self.0.wrapping_add(Integer((product >> 52) as u64)))
    }
}

/// The most that the low 52 bits can be.
fn most(x: Interval) -> i128 {
    assert!(x.low() >= 0, "{x:x?} is no factor");
    x.high().min(MASK_52.into())
}

impl FusedProduct for Fused<Range> {
    fn add_product_low(self, a: Self, b: Self) -> Self {
        let product = most(a.0.interval()) * most(b.0.interval());
        Self(
            self.0
                .wrapping_add(Range::new(0, product.min(MASK_52.into()))),
        )
    }

    fn add_product_high(self, a: Self, b: Self) -> Self {
        let product = most(a.0.interval()) * most(b.0.interval());
        Self(self.0.wrapping_add(Range::new(0, product >> 52)))
    }
}

/// Products are free: no proof here is about them.
impl FusedProduct for Fused<Symbol<false>> {
    fn add_product_low(self, _: Self, _: Self) -> Self {
        Self(Symbol(Term::variable(64)))
    }

    fn add_product_high(self, _: Self, _: Self) -> Self {
        Self(Symbol(Term::variable(64)))
    }
}

impl<T: FusedProduct> FusedProduct for Mutated<T> {
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
}
