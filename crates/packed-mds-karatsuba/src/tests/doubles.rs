//! The lanes of packed-poseidon2 with doubles, each implemented once: floats, intervals of exact doubles, operations that go
//! wrong.

use p3_patches_testing::interval::Interval;
use p3_patches_testing::mutation::{self, Mutated, goes_wrong};

use super::lanes::{Integer, Range};
use crate::poseidon1_packed::{AsDoubles, Doubles, OFFSET, OFFSET_BITS};
use crate::vector::{EPSILON, Packed, Vector};

// ---- Floats ----

/// One double.
#[derive(Clone, Copy, Debug)]
pub struct Float(pub f64);

impl Doubles for Float {
    fn splat(x: f64) -> Self {
        Self(x)
    }

    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }

    fn sub(self, rhs: Self) -> Self {
        Self(self.0 - rhs.0)
    }

    fn neg(self) -> Self {
        Self(-self.0)
    }

    fn mul(self, rhs: Self) -> Self {
        Self(self.0 * rhs.0)
    }

    fn add_product(self, a: Self, b: Self) -> Self {
        Self(self.0 + a.0 * b.0)
    }

    fn sub_product(self, a: Self, b: Self) -> Self {
        Self(self.0 - a.0 * b.0)
    }
}

impl<const FLIPPED: bool> AsDoubles for Integer<FLIPPED> {
    type Doubles = Float;

    fn lower_shifted(self) -> Self {
        Self(self.0 & EPSILON | OFFSET_BITS)
    }

    fn from_bits(x: Float) -> Self {
        Self(x.0.to_bits())
    }

    fn to_bits(self) -> Float {
        Float(f64::from_bits(self.0))
    }
}

// ---- Intervals ----

/// The doubles `mantissa * 2^exponent`.
#[derive(Clone, Copy, Debug)]
pub struct Double {
    mantissa: Interval,
    exponent: i32,
}

impl Double {
    /// A value that a double represents exactly, whatever the value within the interval.
    fn exact(mantissa: Interval, exponent: i32) -> Self {
        let largest = mantissa.high().max(-mantissa.low());
        assert!(
            largest <= 1 << 53,
            "{largest:x} * 2^{exponent} is not exact"
        );
        Self { mantissa, exponent }
    }

    /// All integers in a range.
    pub fn integers(range: Interval) -> Self {
        Self::exact(range, 0)
    }

    /// The values of the range plus the offset.
    pub fn shifted(range: Interval) -> Self {
        Self::exact(range.plus(Interval::exactly(OFFSET as i128)), 0)
    }

    /// The range of integers.
    pub fn integer(self) -> Interval {
        let (range, _, exponent) = self.aligned(Self::splat(1.0));
        assert_eq!(exponent, 0, "not an integer");
        range
    }

    /// The mantissas of both for the lesser exponent.
    fn aligned(self, rhs: Self) -> (Interval, Interval, i32) {
        let exponent = self.exponent.min(rhs.exponent);
        let align = |x: Self| x.mantissa.times_power_of_2((x.exponent - exponent) as u32);
        (align(self), align(rhs), exponent)
    }
}

impl Doubles for Double {
    fn splat(x: f64) -> Self {
        let mut exponent = 0;
        let (mut x, mut mantissa) = (x, x as i128);
        while mantissa as f64 != x {
            (x, exponent) = (x * 2.0, exponent - 1);
            mantissa = x as i128;
        }
        while mantissa != 0 && mantissa % 2 == 0 {
            (mantissa, exponent) = (mantissa / 2, exponent + 1);
        }
        Self::exact(Interval::exactly(mantissa), exponent)
    }

    fn add(self, rhs: Self) -> Self {
        let (a, b, exponent) = self.aligned(rhs);
        Self::exact(a.plus(b), exponent)
    }

    fn sub(self, rhs: Self) -> Self {
        let (a, b, exponent) = self.aligned(rhs);
        Self::exact(a.minus(b), exponent)
    }

    fn neg(self) -> Self {
        Self::splat(0.0).sub(self)
    }

    /// By a coefficient: one of the operands is a constant.
    fn mul(self, rhs: Self) -> Self {
        let factor = rhs.mantissa.low();
        assert_eq!(factor, rhs.mantissa.high());
        let ends = [self.mantissa.low() * factor, self.mantissa.high() * factor];
        let mantissa = Interval::new(ends[0].min(ends[1]), ends[0].max(ends[1]));
        Self::exact(mantissa, self.exponent + rhs.exponent)
    }

    fn add_product(self, a: Self, b: Self) -> Self {
        self.add(a.mul(b))
    }

    fn sub_product(self, a: Self, b: Self) -> Self {
        self.sub(a.mul(b))
    }

    /// The outputs of a circulant, whose row consists of integers.
    fn integers(values: &mut [Self]) {
        for value in values {
            let unit = |x: i128| x >> -value.exponent;
            let mantissa =
                Interval::new(unit(value.mantissa.low()), unit(value.mantissa.high()) + 1);
            *value = Self::exact(mantissa, 0);
        }
    }

    /// The two parts depend on each other: as intervals, their difference would be too large.
    fn split_upper(self) -> [Self; 2] {
        assert!(self.exponent <= 0);
        let round = |x: i128| ((x >> -self.exponent) + (1 << 31)) >> 32;
        let (low, high) = (round(self.mantissa.low()), round(self.mantissa.high()));
        [
            Self::exact(Interval::new(-(1 << 31), 1 << 31), 0),
            Self::exact(Interval::new(low, high), 32),
        ]
    }
}

impl AsDoubles for Range {
    type Doubles = Double;

    fn lower_shifted(self) -> Self {
        let lower = self.and(Self::splat(EPSILON)).interval();
        Self::Exact(lower.plus(Interval::exactly(OFFSET_BITS.into())))
    }

    fn from_bits(x: Double) -> Self {
        let offset = Double::splat(OFFSET);
        let (x, offset, exponent) = x.aligned(offset);
        assert_eq!(exponent, 0, "not an integer");
        let distance = x.minus(offset);
        assert!(
            distance.low() > -(1 << 51) && distance.high() < 1 << 51,
            "{distance:x?} is too far from the offset"
        );
        Self::Exact(distance.plus(Interval::exactly(OFFSET_BITS.into())))
    }

    fn to_bits(self) -> Double {
        let distance = (self.interval()).minus(Interval::exactly(OFFSET_BITS.into()));
        assert!(distance.low() > -(1 << 51) && distance.high() < 1 << 51);
        Double::shifted(distance)
    }
}

impl Packed for Range {
    type Words = Self;

    fn to_words(self) -> Self {
        self
    }

    fn from_words(words: Self) -> Self {
        words
    }
}

// ---- Operations that go wrong ----

impl<T: Doubles> Doubles for Mutated<T> {
    #[track_caller]
    fn splat(x: f64) -> Self {
        Self(T::splat(mutation::coefficient(x)))
    }

    #[track_caller]
    fn add(self, rhs: Self) -> Self {
        Self(mutation::sum(self.0, rhs.0, T::add))
    }

    #[track_caller]
    fn sub(self, rhs: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x.sub(rhs.0)))
    }

    #[track_caller]
    fn neg(self) -> Self {
        Self(mutation::skippable(self.0, T::neg))
    }

    #[track_caller]
    fn mul(self, rhs: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x.mul(rhs.0)))
    }

    #[track_caller]
    fn add_product(self, a: Self, b: Self) -> Self {
        Self(if goes_wrong("sum lost") {
            a.0.mul(b.0)
        } else {
            mutation::skippable(self.0, |x| x.add_product(a.0, b.0))
        })
    }

    #[track_caller]
    fn sub_product(self, a: Self, b: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x.sub_product(a.0, b.0)))
    }

    fn integers(values: &mut [Self]) {
        for value in values {
            T::integers(core::slice::from_mut(&mut value.0));
        }
    }

    #[track_caller]
    fn split_upper(self) -> [Self; 2] {
        if goes_wrong("upper part lost") {
            return [self, Self(T::splat(0.0))];
        }
        self.0.split_upper().map(Self)
    }
}

impl<T: AsDoubles> AsDoubles for Mutated<T> {
    type Doubles = Mutated<T::Doubles>;

    fn lower_shifted(self) -> Self {
        Self(self.0.lower_shifted())
    }

    fn from_bits(x: Self::Doubles) -> Self {
        Self(T::from_bits(x.0))
    }

    fn to_bits(self) -> Self::Doubles {
        Mutated(self.0.to_bits())
    }
}
