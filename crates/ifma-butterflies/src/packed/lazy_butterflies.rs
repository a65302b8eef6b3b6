use core::convert::Infallible;

use crate::PackedField;

/// Butterflies on vectors that stay unreduced between layers.
///
/// Elements are loaded before the first layer and stored after the last one. Between layers they
/// have a form of their own, whose bounds each method keeps.
pub trait LazyButterflies<P: PackedField>: Copy + Send + Sync {
    /// A vector between layers.
    type Element: Copy + Send + Sync;

    /// A twiddle, prepared for many butterflies.
    type Twiddle: Copy;

    /// The fourth root of unity of [`Self::radix_4`].
    fn fourth_root(self) -> P::Scalar;

    /// The form between layers of a vector.
    fn load(self, x: P) -> Self::Element;

    /// The vector that a layer's result stands for, any representatives.
    fn store(self, x: Self::Element) -> P;

    /// A twiddle for all lanes.
    fn prepare(self, twiddle: P::Scalar) -> Self::Twiddle;

    /// `c x[0] + t x[1]` and `c x[0] - t x[1]`, where `c` is `scale` or 1.
    fn radix_2(
        self,
        x: [Self::Element; 2],
        t: Self::Twiddle,
        scale: Option<Self::Twiddle>,
    ) -> [Self::Element; 2];

    /// Two layers on `[c x[0], s x[1], t x[2], t s x[3]]`, where `c` is `scale` or 1, and
    /// `[t, s, t s]` are the twiddles.
    ///
    /// The first layer makes `[y[0] + y[2], y[1] + y[3], y[0] - y[2], y[1] - y[3]]` of `y`. The
    /// second one makes the sum and the difference of the first two, then of the last two, the
    /// fourth multiplied by the fourth root.
    fn radix_4(
        self,
        x: [Self::Element; 4],
        twiddles: [Self::Twiddle; 3],
        scale: Option<Self::Twiddle>,
    ) -> [Self::Element; 4];
}

/// No lazy butterflies.
impl<P: PackedField> LazyButterflies<P> for Infallible {
    type Element = P;
    type Twiddle = P;

    fn fourth_root(self) -> P::Scalar {
        match self {}
    }

    fn load(self, _: P) -> P {
        match self {}
    }

    fn store(self, _: P) -> P {
        match self {}
    }

    fn prepare(self, _: P::Scalar) -> P {
        match self {}
    }

    fn radix_2(self, _: [P; 2], _: P, _: Option<P>) -> [P; 2] {
        match self {}
    }

    fn radix_4(self, _: [P; 4], _: [P; 3], _: Option<P>) -> [P; 4] {
        match self {}
    }
}
