//! The bounds, for all inputs: the kernel on intervals.

use p3_patches_testing::interval::Interval;

use super::std::vec;
use crate::MdsMatrixGoldilocks;
use crate::poseidon1_packed::{
    Circulant, Doubles, OFFSET, OFFSET_BITS, Words, fold_constant, full_rounds, mds_24, mds_small,
    partial_rounds,
};

/// The doubles `mantissa * 2^exponent`.
#[derive(Clone, Copy, Debug)]
pub struct Double {
    mantissa: Interval,
    exponent: i32,
}

impl Double {
    /// What a double represents exactly, whatever the value within the interval.
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

    /// Those plus the offset.
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

/// A word of 64 bits: signed between the steps, unsigned where it is taken apart.
#[derive(Clone, Copy, Debug)]
pub struct Word(Interval);

impl Word {
    pub fn any() -> Self {
        Self(Interval::new(0, u64::MAX.into()))
    }

    fn lower_half(self) -> Interval {
        assert!(self.0.low() >= 0);
        Interval::new(0, self.0.high().min(0xffff_ffff))
    }
}

impl Words for Word {
    type Doubles = Double;
    const FLIP: u64 = 0;

    /// Those of [`fold_constant`] are negative.
    fn splat(x: u64) -> Self {
        Self(Interval::exactly((x as i64).into()))
    }

    fn epsilon() -> Self {
        Self::splat(0xffff_ffff)
    }

    fn wrapping_add(self, rhs: Self) -> Self {
        // The low word of a square wraps, and is 0 or 1 modulo 4.
        if rhs.0.high() == (1 << 64) - (1 << 33) {
            return Self(Interval::new(0, (1 << 64) - 3));
        }
        Self(self.0.plus(rhs.0).in_word(64))
    }

    fn wrapping_sub(self, rhs: Self) -> Self {
        Self(self.0.minus(rhs.0).in_word(64))
    }

    /// `fold` and `square` shift out what they have accounted for.
    fn shl<const BITS: u32>(self) -> Self {
        assert!(self.0.low() >= 0);
        Self(Interval::new(0, (1 << 64) - (1 << BITS)))
    }

    fn shr<const BITS: u32>(self) -> Self {
        Self(self.0.over_power_of_2(BITS))
    }

    fn lower(self) -> Self {
        Self(self.lower_half())
    }

    fn upper(self) -> Self {
        Self(self.0.over_power_of_2(32))
    }

    fn join(self, upper: Self) -> Self {
        let upper = upper.lower_half().times_power_of_2(32);
        Self(self.lower_half().plus(upper))
    }

    fn mul_lower(self, rhs: Self) -> Self {
        let product = self.lower_half().high() * rhs.lower_half().high();
        Self(Interval::new(0, product))
    }

    fn add_modulo(self, flipped_y: Self) -> Self {
        let sum = self.0.plus(flipped_y.0);
        assert!(self.0.low() >= 0 && self.0.high() >> 64 == 0);
        assert!(
            flipped_y.0.low() >= 0 && flipped_y.0.high() >> 64 == 0,
            "negative: {flipped_y:x?}"
        );
        assert!(sum.high() < (1 << 65) - (1 << 32), "{sum:x?} carries twice");
        Self::any()
    }

    fn lower_shifted(self) -> Self {
        Self(
            self.lower_half()
                .plus(Interval::exactly(OFFSET_BITS.into())),
        )
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
        Self(distance.plus(Interval::exactly(OFFSET_BITS.into())))
    }

    fn to_bits(self) -> Double {
        let distance = self.0.minus(Interval::exactly(OFFSET_BITS.into()));
        assert!(distance.low() > -(1 << 51) && distance.high() < 1 << 51);
        let shifted = distance.plus(Interval::exactly(OFFSET as i128));
        Double::exact(shifted, 0)
    }
}

fn run<const WIDTH: usize, const GROUP: usize, const K: usize>(partial: usize)
where
    MdsMatrixGoldilocks: Circulant<WIDTH>,
{
    // Halves of other constants lie between those of these.
    let (least, largest) = (fold_constant::<Word>(0), fold_constant::<Word>(u64::MAX));
    for constant in [least, largest] {
        let mut state = [Word::any(); WIDTH];
        full_rounds::<Word, WIDTH, GROUP>(&mut state, &[[constant; WIDTH]; 4]);
        let mut states = [state; 2];
        let residual = [constant; WIDTH];
        let constants = vec![constant; partial];
        partial_rounds::<_, _, K, 2>(&mut states, &constants, &residual);
        partial_rounds::<_, _, K, 1>(&mut [state; 1], &constants, &residual);
        partial_rounds::<_, _, K, 3>(&mut [state; 3], &constants, &residual);
        partial_rounds::<_, _, K, 4>(&mut [state; 4], &constants, &residual);
        mds_small(&states[1]);
    }
}

#[test]
fn no_value_is_inexact_or_wraps() {
    run::<8, 8, 3>(22);
    run::<12, 6, 3>(22);
    run::<16, 8, 2>(22);
    mds_24(&[Word::any(); 24]);
}

/// What the test above sees where a segment is a round too long.
#[test]
#[should_panic(expected = "is not exact")]
fn three_rounds_are_too_many_for_width_16() {
    run::<16, 8, 3>(22);
}
