//! The kernel against integers, its bounds, and its operations gone wrong.

mod bounds;
#[cfg(all(mutated, target_feature = "avx512ifma"))]
mod instructions;
// The other crates of kernels compile these two, too.
#[allow(dead_code)]
#[path = "../../packed-poseidon2/src/tests/lanes.rs"]
mod lanes;
#[allow(dead_code)]
#[path = "../../ifma-permute/src/tests/limb.rs"]
mod limb;
mod mutations;
#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
mod packed;
mod smt;

use std::vec::Vec;

use p3_patches_testing::goldilocks::{self as plain, EDGES, P, representative};
use p3_patches_testing::mutation;
use proptest::prelude::*;

use self::lanes::Integer;
use crate::limb_product::{mul, square};

const MASK_52: u64 = (1 << 52) - 1;

/// Factors next to each carry: edges, words next to a limb's end, and random ones.
fn factors() -> Vec<u64> {
    let mut factors = EDGES.to_vec();
    factors.extend([
        MASK_52 - 1,
        MASK_52,
        MASK_52 + 1,
        MASK_52 << 12,
        (1 << 44) - 1,
        1 << 44,
    ]);
    factors.extend(mutation::sample(representative(), 24));
    factors
}

fn product_is_exact(x: u64, y: u64) -> bool {
    let lane = Integer::<false>;
    mul(lane(x), lane(y)).0 % P == plain::mul(x, y)
}

fn square_is_exact(x: u64) -> bool {
    square(Integer::<false>(x)).0 % P == plain::mul(x, x)
}

#[test]
fn products_are_exact() {
    let factors = factors();
    for &x in &factors {
        assert!(square_is_exact(x), "{x:x}");
        for &y in &factors {
            assert!(product_is_exact(x, y), "{x:x} {y:x}");
        }
    }
}

proptest! {
    #[test]
    fn any_product_is_exact(x in representative(), y in representative()) {
        prop_assert!(product_is_exact(x, y));
        prop_assert!(square_is_exact(x));
    }
}
