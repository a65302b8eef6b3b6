//! Products with one operation changed at a time: the bounds or the values have to show each.

use std::vec::Vec;

use p3_patches_testing::goldilocks::{self as plain, P};
use p3_patches_testing::mutation::{self, Mutated, MutationTest};

use super::factors;
use super::lanes::{Integer, Range};
use crate::limb_product::{mul, square};

#[test]
fn each_wrong_operation_is_noticed() {
    let factors = factors();
    let mut inputs: Vec<[u64; 2]> = Vec::new();
    for &x in &factors {
        inputs.extend(factors.iter().map(|&y| [x, y]));
    }
    let any = Mutated(Range::any());
    let report = MutationTest {
        name: "products",
        files: &["limb_product.rs", mutation::AS_FUNCTION],
        bounds: Some(&|| {
            mul(any, any);
            square(any);
        }),
        inputs: &inputs,
        value: &|&[x, y]| {
            let lane = |x| Mutated(Integer::<false>(x));
            let product = mul(lane(x), lane(y)).0.0 % P;
            let squared = square(lane(x)).0.0 % P;
            product == plain::mul(x, y) && squared == plain::mul(x, x)
        },
        equivalent: &[],
    }
    .run();
    insta::assert_snapshot!("mutations", report);
}
