//! Lanes for the vocabulary of `vector`, each implemented once for all kernels: integers, and operations that go wrong.

use p3_patches_testing::mutation::{self, Mutated};

use crate::vector::Words;

/// One word. Sums are meant modulo `2^64` where they `WRAP`, and panic elsewhere if they do.
#[derive(Clone, Copy)]
pub struct Integer<const WRAP: bool>(pub u64);

impl<const WRAP: bool> Integer<WRAP> {
    fn of_halves(self, rhs: Self, f: fn(u32, u32) -> u32) -> Self {
        let low = f(self.0 as u32, rhs.0 as u32);
        let high = f((self.0 >> 32) as u32, (rhs.0 >> 32) as u32);
        Self(u64::from(high) << 32 | u64::from(low))
    }
}

impl<const WRAP: bool> Words for Integer<WRAP> {
    fn splat(x: u64) -> Self {
        Self(x)
    }

    fn repeat(x: u32) -> Self {
        Self(u64::from(x) << 32 | u64::from(x))
    }

    fn wrapping_add(self, rhs: Self) -> Self {
        let (sum, wraps) = self.0.overflowing_add(rhs.0);
        assert!(WRAP || !wraps, "the sum is not below 2^64");
        Self(sum)
    }

    fn mul_low(self, rhs: Self) -> Self {
        Self((self.0 & 0xffff_ffff) * (rhs.0 & 0xffff_ffff))
    }

    fn add_halves(self, rhs: Self) -> Self {
        self.of_halves(rhs, u32::wrapping_add)
    }

    fn sub_halves(self, rhs: Self) -> Self {
        self.of_halves(rhs, u32::wrapping_sub)
    }

    fn min_halves(self, rhs: Self) -> Self {
        self.of_halves(rhs, u32::min)
    }

    fn shl_half(self) -> Self {
        Self(self.0 << 32)
    }

    /// The upper halves are arbitrary: here as vmovshdup has them.
    fn high(self) -> Self {
        Self(self.0 >> 32 | self.0 >> 32 << 32)
    }

    fn join_high(even: Self, odd: Self) -> Self {
        Self(even.0 >> 32 | odd.0 >> 32 << 32)
    }
}

impl<T: Words> Words for Mutated<T> {
    #[track_caller]
    fn splat(x: u64) -> Self {
        Self(T::splat(mutation::constant(x)))
    }

    #[track_caller]
    fn repeat(x: u32) -> Self {
        // Not `mutation::constant`, which tells zeros: some of these constants are inputs.
        let wrong = mutation::goes_wrong("constant + 1");
        Self(T::repeat(x.wrapping_add(wrong.into())))
    }

    #[track_caller]
    fn wrapping_add(self, rhs: Self) -> Self {
        Self(mutation::sum(self.0, rhs.0, T::wrapping_add))
    }

    #[track_caller]
    fn mul_low(self, rhs: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x.mul_low(rhs.0)))
    }

    #[track_caller]
    fn add_halves(self, rhs: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x.add_halves(rhs.0)))
    }

    #[track_caller]
    fn sub_halves(self, rhs: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x.sub_halves(rhs.0)))
    }

    #[track_caller]
    fn min_halves(self, rhs: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x.min_halves(rhs.0)))
    }

    #[track_caller]
    fn shl_half(self) -> Self {
        Self(mutation::skippable(self.0, T::shl_half))
    }

    #[track_caller]
    fn high(self) -> Self {
        Self(mutation::skippable(self.0, T::high))
    }

    #[track_caller]
    fn join_high(even: Self, odd: Self) -> Self {
        Self(mutation::skippable(odd.0, |odd| T::join_high(even.0, odd)))
    }
}
