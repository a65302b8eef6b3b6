//! Tiles against the definition, in plain arithmetic: on every machine, with both fourth roots and with rows of any length.

use alloc::vec;
use alloc::vec::Vec;
use core::mem::MaybeUninit;

use p3_dft::{NaiveDft, TwoAdicSubgroupDft};
use p3_field::{Field, PackedField, PackedValue, PrimeCharacteristicRing, TwoAdicField};
use p3_goldilocks::Goldilocks;
use p3_matrix::dense::RowMajorMatrix;
use p3_util::reverse_slice_index_bits;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use tiled_dft::network::twiddles;

use super::transforms::tile;
use super::{LazyButterflies, scratch, transform_lazily};

/// Butterflies by the packing's own operations.
#[derive(Clone, Copy)]
pub struct Plain;

impl<P: PackedField<Scalar: TwoAdicField>> LazyButterflies<P> for Plain {
    type Element = P;
    type Twiddle = P;

    fn fourth_root(self) -> P::Scalar {
        P::Scalar::two_adic_generator(2)
    }

    fn load(self, x: P) -> P {
        x
    }

    fn store(self, x: P) -> P {
        x
    }

    fn prepare(self, twiddle: P::Scalar) -> P {
        twiddle.into()
    }

    fn radix_2(self, [x, y]: [P; 2], t: P, scale: Option<P>) -> [P; 2] {
        let (x, y) = (scale.unwrap_or(P::ONE) * x, t * y);
        [x + y, x - y]
    }

    fn radix_4(self, x: [P; 4], [t, s, ts]: [P; 3], scale: Option<P>) -> [P; 4] {
        let [a, c] = self.radix_2([x[0], x[2]], t, scale);
        let [b, d] = self.radix_2([x[1], x[3]], ts, Some(s));
        let root: P::Scalar = LazyButterflies::<P>::fourth_root(self);
        let i_d = d * P::from(root);
        [a + b, a - b, c + i_d, c - i_d]
    }
}

fn agrees_with_the_definition<L: LazyButterflies<<Goldilocks as Field>::Packing>>(lazy: L) {
    let mut rng = SmallRng::seed_from_u64(1);
    for log_h in 2..8 {
        for width in [1, 3, 8, 9, 16, 33] {
            let mat = RowMajorMatrix::<Goldilocks>::rand(&mut rng, 1 << log_h, width);
            let root = Goldilocks::two_adic_generator(log_h);
            for shift in [Goldilocks::ONE, Goldilocks::GENERATOR, Goldilocks::ZERO] {
                let natural = NaiveDft.coset_dft_batch(mat.clone(), shift);
                let natural: Vec<_> = natural.row_slices().collect();
                // With the inverse root, evaluations come in the opposite order.
                let mut opposite = natural.clone();
                opposite[1..].reverse();
                for (root, mut rows) in [(root, natural), (root.inverse(), opposite)] {
                    reverse_slice_index_bits(&mut rows);
                    let layers = twiddles(log_h, root, shift);
                    for scale in [None, Some(Goldilocks::GENERATOR)] {
                        let factor = scale.unwrap_or(Goldilocks::ONE);
                        let expected: Vec<_> = rows.concat().iter().map(|&x| factor * x).collect();
                        assert_eq!(tile(lazy, &mat, &layers, 0, scale), expected);
                    }
                }
            }
        }
    }
}

#[test]
fn plain_tiles_agree_with_the_definition() {
    agrees_with_the_definition(Plain);
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
#[test]
fn tiles_agree_with_the_definition() {
    agrees_with_the_definition(crate::Gaussian);
}

#[test]
#[should_panic(expected = "a tile has at least two layers")]
fn rejects_a_single_layer() {
    let mat = RowMajorMatrix::new(vec![Goldilocks::ONE; 2], 1);
    let layers = twiddles(1, Goldilocks::two_adic_generator(1), Goldilocks::ONE);
    tile(Plain, &mat, &layers, 0, None);
}

#[test]
#[should_panic(expected = "rows have different lengths")]
fn rejects_a_short_row() {
    let lanes = <Goldilocks as Field>::Packing::WIDTH;
    let long = vec![Goldilocks::ONE; lanes + 1];
    let layers = twiddles(2, Goldilocks::two_adic_generator(2), Goldilocks::ONE);
    let src = |row: usize| if row == 3 { &long[..1] } else { &long[..] };
    let dst = |_: usize| -> &mut [MaybeUninit<Goldilocks>] { unreachable!("nothing is written") };
    let mut scratch = scratch::<Goldilocks, _>(Plain, 4, lanes + 1);
    transform_lazily(Plain, src, dst, &layers, 0, None, &mut scratch);
}

#[test]
#[should_panic(expected = "twiddles of a network")]
fn rejects_twiddles_of_no_network() {
    let mat = RowMajorMatrix::new(vec![Goldilocks::ONE; 4], 1);
    let mut layers = twiddles(2, Goldilocks::two_adic_generator(2), Goldilocks::ONE);
    layers[0][1] = Goldilocks::TWO;
    tile(Plain, &mat, &layers, 0, None);
}
