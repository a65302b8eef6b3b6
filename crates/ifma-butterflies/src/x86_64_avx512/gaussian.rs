//! Lazy butterflies on AVX-512 IFMA.

use core::arch::x86_64::__m512i;

use p3_field::PrimeCharacteristicRing;

use crate::gaussian::{self, Twiddle};
use crate::vector::Packed;
use crate::{Goldilocks, LazyButterflies, PackedGoldilocksAVX512};

/// Elements as Gaussian integers between layers.
#[derive(Clone, Copy, Debug)]
pub struct Gaussian;

impl LazyButterflies<PackedGoldilocksAVX512> for Gaussian {
    type Element = [__m512i; 2];
    type Twiddle = Twiddle<__m512i>;

    #[inline(always)]
    fn fourth_root(self) -> Goldilocks {
        Goldilocks::from_u64(1 << 48)
    }

    #[inline(always)]
    fn load(self, x: PackedGoldilocksAVX512) -> Self::Element {
        gaussian::load(x.to_words())
    }

    #[inline(always)]
    fn store(self, x: Self::Element) -> PackedGoldilocksAVX512 {
        PackedGoldilocksAVX512::from_words(gaussian::store(x))
    }

    #[inline(always)]
    fn prepare(self, twiddle: Goldilocks) -> Self::Twiddle {
        gaussian::prepare(PackedGoldilocksAVX512::from(twiddle).to_words())
    }

    #[inline(always)]
    fn radix_2(
        self,
        x: [Self::Element; 2],
        t: Self::Twiddle,
        scale: Option<Self::Twiddle>,
    ) -> [Self::Element; 2] {
        gaussian::radix_2(x, t, scale)
    }

    #[inline(always)]
    fn radix_4(
        self,
        x: [Self::Element; 4],
        twiddles: [Self::Twiddle; 3],
        scale: Option<Self::Twiddle>,
    ) -> [Self::Element; 4] {
        gaussian::radix_4(x, twiddles, scale)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use p3_field::{PackedValue, PrimeCharacteristicRing};

    use super::*;

    /// Words at the ends of the digits that a load takes apart, canonical or not.
    const EDGES: [u64; 10] = [
        0,
        1,
        (1 << 32) - 1,
        1 << 32,
        (1 << 48) - 1,
        1 << 48,
        0xffff_0000_0000_0000,
        0xffff_ffff_0000_0000,
        0xffff_ffff_0000_0001,
        u64::MAX,
    ];

    fn packed(start: usize) -> PackedGoldilocksAVX512 {
        PackedGoldilocksAVX512::from_fn(|lane| Goldilocks::new(EDGES[(start + 3 * lane) % 10]))
    }

    #[test]
    fn lazy_layers_are_those_of_the_field() {
        let root = Gaussian.fourth_root();
        assert_eq!(root.square(), Goldilocks::NEG_ONE);
        for start in 0..10 {
            for (i, s) in EDGES.map(Goldilocks::new).into_iter().enumerate() {
                let t = Goldilocks::new(EDGES[(7 * i + start) % 10]);
                let scale = Goldilocks::new(EDGES[(3 * i + start) % 10]);
                let mut x: [_; 4] = core::array::from_fn(|i| packed(start + i));
                let mut y = x.map(|x| Gaussian.load(x));
                let prepared = Gaussian.prepare(scale);
                let twiddles = [t, s, t * s].map(|t| Gaussian.prepare(t));
                // Several layers in a row: words stay within their bounds.
                for _ in 0..3 {
                    y = Gaussian.radix_4(y, twiddles, Some(prepared));
                    let [a, b, c, d] = [x[0] * scale, x[1] * s, x[2] * t, x[3] * (t * s)];
                    let ([a, c], [b, d]) = ([a + c, a - c], [b + d, (b - d) * root]);
                    x = [a + b, a - b, c + d, c - d];
                    assert_eq!(y.map(|y| Gaussian.store(y)), x);

                    let [lo, hi] = Gaussian.radix_2([y[0], y[1]], twiddles[0], None);
                    let expected = [x[0] + x[1] * t, x[0] - x[1] * t];
                    assert_eq!([lo, hi].map(|y| Gaussian.store(y)), expected);
                }
            }
        }
        let stored: Vec<_> = (0..10)
            .map(|start| {
                let y = [0, 1].map(|i| Gaussian.load(packed(start + i)));
                Gaussian.store(Gaussian.radix_2(y, Gaussian.prepare(Goldilocks::ZERO), None)[1])
            })
            .collect();
        assert_eq!(stored, (0..10).map(packed).collect::<Vec<_>>());
    }
}
