//! The sums with one operation changed at a time: the values have to show each.

use std::string::String;

use p3_baby_bear::BabyBearParameters;
use p3_patches_testing::mutation::{self, Mutated, MutationTest};

use super::lanes::Integer;
use super::*;
use crate::FieldParameters;
use crate::packed_poseidon1::Sums;

/// Tells whether the sums of two groups are what they should be. Panics if they are, and leave
/// `[0, P)`.
fn is_right<FP: FieldParameters>([even, odd, constants]: [[u32; 4]; 3]) -> bool {
    let p = u128::from(FP::PRIME);
    // The upper halves are arbitrary.
    let word = |x: u32| Mutated(Integer::<false>(u64::from(x) | (u64::MAX << 32)));
    let x = array::from_fn(|i| [word(even[i]), word(odd[i])]);
    let [a, b, c, d] = constants;
    let other = [c, d, b, a];
    let sums = Sums::of_products(&x, &constants).plus::<FP>(Sums::of_products(&x, &other));
    let Mutated(Integer(forms)) = sums.reduce::<FP>();
    [even, odd].into_iter().enumerate().all(|(half, x)| {
        let form = u128::from(forms >> (32 * half) & 0xffff_ffff);
        let product = |x: u32, c: u32| u128::from(x) * u128::from(c);
        let products = (0..4).map(|i| product(x[i], constants[i]) + product(x[i], other[i]));
        let sum: u128 = products.sum();
        let right = (form << 32) % p == sum % p;
        assert!(!right || form < p, "{form:x} for {x:x?} by {constants:x?}");
        right
    })
}

fn examine<FP: FieldParameters>(name: &str) -> String {
    let p = FP::PRIME;
    let edges = [0, 1, p / 2, 1 << 30, p - 1];
    let mut inputs = Vec::new();
    for x in edges {
        inputs.extend(edges.map(|y| [[x, y, x, p - 1], [y; 4], [p - 1, x, y, p - 1]]));
        inputs.push([[p - 1; 4], [x; 4], [p - 1; 4]]);
    }
    let forms = || [0..p, 0..p, 0..p, 0..p];
    inputs.extend(mutation::sample([forms(), forms(), forms()], 64));
    MutationTest {
        name,
        files: &["packed_poseidon1.rs", mutation::AS_FUNCTION],
        bounds: None,
        inputs: &inputs,
        value: &|&input| is_right::<FP>(input),
        equivalent: &[],
    }
    .run()
}

#[test]
fn each_wrong_operation_is_noticed() {
    insta::assert_snapshot!("koala-bear", examine::<KoalaBearParameters>("koala-bear"));
    insta::assert_snapshot!("baby-bear", examine::<BabyBearParameters>("baby-bear"));
}
