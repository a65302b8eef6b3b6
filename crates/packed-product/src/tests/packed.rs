//! The instructions of this build, against integers.

use std::vec::Vec;

use p3_field::{PackedValue, PrimeField64};
use p3_patches_testing::goldilocks::{self as plain, EDGES};

use super::MASK_52;
use crate::limb_product::{mul, square};
use crate::vector::Packed;
use crate::{Goldilocks, PackedGoldilocksAVX512};

fn factors() -> Vec<u64> {
    EDGES
        .into_iter()
        .chain([MASK_52, MASK_52 + 1, MASK_52 << 12])
        .collect()
}

fn pack(factors: &[u64], from: usize) -> PackedGoldilocksAVX512 {
    PackedGoldilocksAVX512::from_fn(|i| Goldilocks::new(factors[(from + i) % factors.len()]))
}

/// Each factor in each lane beside the others, for Miri: no scalar arithmetic of Plonky3.
#[test]
pub fn few_products_are_exact() {
    let factors = factors();
    for (from, other) in (0..factors.len()).flat_map(|i| [(i, i + 1), (i, 2 * i + 3)]) {
        let (x, y) = (pack(&factors, from), pack(&factors, other));
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

/// Products of what products are, for instructions that go wrong in an emulator.
#[test]
pub fn few_powers_are_exact() {
    let factors = factors();
    for from in 0..factors.len() {
        let x = pack(&factors, from).to_words();
        let x_2 = square(x);
        let power = PackedGoldilocksAVX512::from_words(mul(mul(x, x_2), square(x_2)));
        for lane in 0..PackedGoldilocksAVX512::WIDTH {
            let x = factors[(from + lane) % factors.len()];
            let power = power.as_slice()[lane].as_canonical_u64();
            assert_eq!(power, plain::power_7(x), "{x:x}");
        }
    }
}
