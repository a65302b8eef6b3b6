//! The instructions of this build, against integers.

use std::vec::Vec;

use p3_field::{PackedValue, PrimeField64};
use p3_patches_testing::goldilocks::{self as plain, EDGES};

use super::MASK_52;
use crate::limb_product::{mul, square};
use crate::vector::Packed;
use crate::{Goldilocks, PackedGoldilocksAVX512};

/// Each factor in each lane beside the others, for Miri: no scalar arithmetic of Plonky3.
#[test]
fn few_products_are_exact() {
    let factors: Vec<u64> = EDGES
        .into_iter()
        .chain([MASK_52, MASK_52 + 1, MASK_52 << 12])
        .collect();
    let pack = |from: usize| {
        PackedGoldilocksAVX512::from_fn(|i| Goldilocks::new(factors[(from + i) % factors.len()]))
    };
    for (from, other) in (0..factors.len()).flat_map(|i| [(i, i + 1), (i, 2 * i + 3)]) {
        let (x, y) = (pack(from), pack(other));
        let product = PackedGoldilocksAVX512::from_words(mul(x.to_words(), y.to_words()));
        let squared = PackedGoldilocksAVX512::from_words(square(x.to_words()));
        for lane in 0..PackedGoldilocksAVX512::WIDTH {
            let [a, b] = [from, other].map(|i| factors[(i + lane) % factors.len()]);
            let [product, squared] =
                [product, squared].map(|z| z.as_slice()[lane].as_canonical_u64());
            assert_eq!(product, plain::mul(a, b), "{a:x} {b:x}");
            assert_eq!(squared, plain::mul(a, a), "{a:x}");
        }
    }
}
