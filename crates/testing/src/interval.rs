//! A machine word that stands for all values between two bounds.
//!
//! A kernel that is generic over its words runs on intervals once, and has then been shown not to wrap for any input: each
//! operation computes the bounds of its result and panics where a value could leave the word.

/// The integers from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Interval {
    low: i128,
    high: i128,
}

impl Interval {
    /// The integers from `low` to `high`, both included.
    #[must_use]
    pub const fn new(low: i128, high: i128) -> Self {
        assert!(low <= high);
        Self { low, high }
    }

    /// The one integer `x`.
    #[must_use]
    pub const fn exactly(x: i128) -> Self {
        Self::new(x, x)
    }

    /// The least value.
    #[must_use]
    pub const fn low(self) -> i128 {
        self.low
    }

    /// The greatest value.
    #[must_use]
    pub const fn high(self) -> i128 {
        self.high
    }

    /// The sum, as integers.
    #[must_use]
    pub const fn plus(self, rhs: Self) -> Self {
        Self::new(self.low + rhs.low, self.high + rhs.high)
    }

    /// The difference, as integers.
    #[must_use]
    pub const fn minus(self, rhs: Self) -> Self {
        Self::new(self.low - rhs.high, self.high - rhs.low)
    }

    /// The product with `2^bits`, as integers.
    #[must_use]
    pub const fn times_power_of_2(self, bits: u32) -> Self {
        Self::new(self.low << bits, self.high << bits)
    }

    /// The quotient by `2^bits`, rounded down.
    ///
    /// # Panics
    ///
    /// Panics for negative values: a word would be shifted as if it were large.
    #[must_use]
    pub const fn over_power_of_2(self, bits: u32) -> Self {
        assert!(self.low >= 0, "a negative value is shifted right");
        Self::new(self.low >> bits, self.high >> bits)
    }

    /// This interval.
    ///
    /// # Panics
    ///
    /// Panics unless a word of `bits` bits tells its values apart, either as signed or as unsigned ones.
    #[must_use]
    pub fn in_word(self, bits: u32) -> Self {
        let signed = self.low >= -(1 << (bits - 1)) && self.high < 1 << (bits - 1);
        let unsigned = self.low >= 0 && self.high >> bits == 0;
        assert!(signed || unsigned, "{self:x?} wraps in {bits} bits");
        self
    }
}
