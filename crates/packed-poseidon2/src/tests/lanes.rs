//! Lanes for the vocabulary of `vector.rs`, each implemented once for all kernels: integers, intervals, operations that go
//! wrong, terms of z3. With `FLIPPED`, a lane asks for the flipped top bit that AVX2's comparisons need.

use core::cell::Cell;

use p3_patches_testing::goldilocks::P;
use p3_patches_testing::interval::Interval;
use p3_patches_testing::mutation::{self, Mutated, goes_wrong};
use p3_patches_testing::smt::{Term, assume, integer, require};

use crate::vector::{EPSILON, Vector, Word};

/// `2 B^2 - B + 1`: the sums that [`Vector::add_modulo`] takes are below this.
pub const SUMS: i128 = (1 << 65) - (1 << 32) + 1;

const fn flip(flipped: bool) -> u64 {
    if flipped { 1 << 63 } else { 0 }
}

// ---- Integers ----

/// One word.
#[derive(Clone, Copy, Debug)]
pub struct Integer<const FLIPPED: bool>(pub u64);

impl<const FLIPPED: bool> Word for Integer<FLIPPED> {
    fn wrapping_add(self, rhs: Self) -> Self {
        Self(self.0.wrapping_add(rhs.0))
    }

    fn wrapping_sub(self, rhs: Self) -> Self {
        Self(self.0.wrapping_sub(rhs.0))
    }

    fn shl(self, bits: u32) -> Self {
        Self(self.0 << bits)
    }
}

impl<const FLIPPED: bool> Vector for Integer<FLIPPED> {
    const FLIP: u64 = flip(FLIPPED);

    fn splat(x: u64) -> Self {
        Self(x)
    }

    fn and(self, rhs: Self) -> Self {
        Self(self.0 & rhs.0)
    }

    fn shr(self, bits: u32) -> Self {
        Self(self.0 >> bits)
    }

    fn mul_low(self, rhs: Self) -> Self {
        Self((self.0 & EPSILON) * (rhs.0 & EPSILON))
    }

    /// The upper bits are arbitrary: here as vmovshdup has them.
    fn high(self) -> Self {
        Self(self.0 >> 32 | self.0 >> 32 << 32)
    }

    fn join(low: Self, high: Self) -> Self {
        Self(low.0 & EPSILON | high.0 << 32)
    }

    fn epsilon() -> Self {
        Self(EPSILON)
    }

    fn add_modulo(x: Self, flipped_y: Self) -> Self {
        let (sum, carried) = x.0.overflowing_add(flipped_y.0.wrapping_sub(Self::FLIP));
        Self(sum.wrapping_add(EPSILON * u64::from(carried)))
    }
}

// ---- Intervals ----

/// A word of 64 bits that knows its range: signed between the steps of a round, unsigned where it is taken apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    Exact(Interval),
    /// The lower word of a square, which is meant modulo `2^64`.
    Modulo,
}

impl Range {
    pub fn new(low: i128, high: i128) -> Self {
        Self::Exact(Interval::new(low, high))
    }

    /// Any word.
    pub fn any() -> Self {
        Self::new(0, u64::MAX.into())
    }

    pub fn interval(self) -> Interval {
        match self {
            Self::Exact(interval) => interval,
            Self::Modulo => panic!("a word that may have wrapped is used"),
        }
    }

    #[track_caller]
    pub fn is_within(self, low: i128, high: i128) {
        let range = self.interval();
        assert!(
            low <= range.low() && range.high() <= high,
            "{range:x?} leaves [{low:x}, {high:x}]"
        );
    }

    /// The lower 32 bits.
    fn digit(self) -> Interval {
        let x = self.interval();
        let all = EPSILON.into();
        Interval::new(0, if x.low() < 0 { all } else { x.high().min(all) })
    }
}

impl Word for Range {
    fn wrapping_add(self, rhs: Self) -> Self {
        match (self, rhs) {
            (Self::Exact(x), Self::Exact(y)) => Self::Exact(x.plus(y).in_word(64)),
            _ => Self::Modulo,
        }
    }

    fn wrapping_sub(self, rhs: Self) -> Self {
        Self::Exact(self.interval().minus(rhs.interval()).in_word(64))
    }

    /// Five shifts lose upper bits, which the text has accounted for: those of reductions by 32, 40, 44 and 52, that of a
    /// square by 33.
    fn shl(self, bits: u32) -> Self {
        let x = self.interval();
        if bits == 33 {
            return Self::Modulo;
        }
        if bits == 44 || bits == 52 {
            return Self::new(0, (1 << 64) - (1 << bits));
        }
        if (bits == 32 || bits == 40) && x.high() >> (64 - bits) != 0 {
            assert!(x.low() >= 0);
            return Self::new(0, (1 << 64) - (1 << bits));
        }
        Self::Exact(x.times_power_of_2(bits).in_word(64))
    }
}

impl Vector for Range {
    // The flipped bit is a matter of comparisons.
    const FLIP: u64 = 0;

    fn splat(x: u64) -> Self {
        Self::Exact(Interval::exactly((x as i64).into()))
    }

    fn and(self, mask: Self) -> Self {
        let (x, mask) = (self.interval(), mask.interval().high());
        assert!(mask > 0 && (mask + 1) & mask == 0, "{mask:x} is no mask");
        Self::new(
            0,
            if x.low() < 0 {
                mask
            } else {
                mask.min(x.high())
            },
        )
    }

    fn shr(self, bits: u32) -> Self {
        Self::Exact(self.interval().over_power_of_2(bits))
    }

    fn mul_low(self, rhs: Self) -> Self {
        Self::new(0, self.digit().high() * rhs.digit().high())
    }

    fn high(self) -> Self {
        assert!(self.interval().low() >= 0);
        Self::new(0, EPSILON.into())
    }

    fn join(low: Self, high: Self) -> Self {
        assert!(low.interval().low() >= 0 && high.interval().low() >= 0);
        Self::any()
    }

    fn epsilon() -> Self {
        Self::splat(EPSILON)
    }

    fn add_modulo(x: Self, y: Self) -> Self {
        // A square with what joins it is 0 or 1 modulo 4.
        let x = match x {
            Self::Exact(x) => x,
            Self::Modulo => Interval::new(0, (1 << 64) - 3),
        };
        let y = y.interval();
        assert!(x.low() >= 0 && y.low() >= 0, "a negative value is reduced");
        assert!(x.high() + y.high() < SUMS, "a sum needs two corrections");
        Self::any()
    }
}

// ---- Operations that go wrong ----

impl<T: Word> Word for Mutated<T> {
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

impl<T: Vector> Vector for Mutated<T> {
    const FLIP: u64 = T::FLIP;

    #[track_caller]
    fn splat(x: u64) -> Self {
        Self(T::splat(mutation::constant(x)))
    }

    #[track_caller]
    fn and(self, rhs: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x.and(rhs.0)))
    }

    #[track_caller]
    fn shr(self, bits: u32) -> Self {
        Self(self.0.shr(mutation::distance(bits)))
    }

    #[track_caller]
    fn mul_low(self, rhs: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x.mul_low(rhs.0)))
    }

    #[track_caller]
    fn high(self) -> Self {
        Self(mutation::skippable(self.0, T::high))
    }

    #[track_caller]
    fn join(low: Self, high: Self) -> Self {
        Self(mutation::sum(low.0, high.0, T::join))
    }

    fn epsilon() -> Self {
        Self(T::epsilon())
    }

    #[track_caller]
    fn add_modulo(x: Self, flipped_y: Self) -> Self {
        Self(if goes_wrong("carry lost") {
            x.0.wrapping_add(flipped_y.0.wrapping_sub(T::splat(T::FLIP)))
        } else {
            T::add_modulo(x.0, flipped_y.0)
        })
    }
}

// ---- Terms ----

std::thread_local! {
    /// The word that was shifted to the right last.
    static SHIFTED: Cell<Option<Term>> = const { Cell::new(None) };
}

/// The word of the last [`Vector::shr`]: the digits that a reduction folds.
pub fn shifted() -> Term {
    SHIFTED.take().expect("a shift")
}

/// An expression.
#[derive(Clone, Copy, Debug)]
pub struct Symbol<const FLIPPED: bool>(pub Term);

/// A constant word.
pub fn word(x: u64) -> Term {
    Term::constant(x.into(), 64)
}

/// The condition on the operands of [`Vector::add_modulo`], without the flipped bit.
pub fn can_be_added(x: Term, y: Term) -> Term {
    x.integer().plus(y.integer()).below(integer(SUMS))
}

/// `x + y`, or that less the order.
pub fn is_sum(x: Term, y: Term, sum: Term) -> Term {
    let exact = x.integer().plus(y.integer());
    let corrected = sum.integer().plus(integer(P.into()));
    exact.is(sum.integer()).or(exact.is(corrected))
}

/// `x - reduced` is `multiple` times the order, or once more.
pub fn leaves(x: Term, reduced: Term, multiple: Term) -> Term {
    let left = x.minus(reduced.integer());
    let multiple = multiple.times(P.into());
    let corrected = multiple.plus(integer(P.into()));
    left.is(multiple).or(left.is(corrected))
}

impl<const FLIPPED: bool> Word for Symbol<FLIPPED> {
    fn wrapping_add(self, rhs: Self) -> Self {
        Self(self.0.plus(rhs.0))
    }

    fn wrapping_sub(self, rhs: Self) -> Self {
        Self(self.0.minus(rhs.0))
    }

    fn shl(self, bits: u32) -> Self {
        Self(self.0.left(bits))
    }
}

impl<const FLIPPED: bool> Vector for Symbol<FLIPPED> {
    const FLIP: u64 = flip(FLIPPED);

    fn splat(x: u64) -> Self {
        Self(word(x))
    }

    fn and(self, rhs: Self) -> Self {
        Self(self.0.masked(rhs.0))
    }

    fn shr(self, bits: u32) -> Self {
        SHIFTED.set(Some(self.0));
        Self(self.0.right(bits))
    }

    /// A product of two digits that are not known is a free variable.
    fn mul_low(self, rhs: Self) -> Self {
        Self(match rhs.0.known() {
            Some(factor) => self.0.extract(0, 32).unsigned(64).times(factor),
            None => self.0.product(rhs.0, 32),
        })
    }

    fn high(self) -> Self {
        Self(self.0.right(32))
    }

    fn join(low: Self, high: Self) -> Self {
        Self(high.0.extract(0, 32).above(low.0.extract(0, 32)))
    }

    fn epsilon() -> Self {
        Self(word(EPSILON))
    }

    /// The trait's contract. The instruction sets' own are proved to keep it.
    fn add_modulo(x: Self, flipped_y: Self) -> Self {
        let y = flipped_y.0.minus(word(Self::FLIP));
        let fits = can_be_added(x.0, y);
        require(fits);
        let sum = Term::variable(64);
        // Beyond the bound, no word may be the sum, and an assumption that nothing satisfies proves anything.
        assume(is_sum(x.0, y, sum).or(fits.negation()));
        Self(sum)
    }
}
