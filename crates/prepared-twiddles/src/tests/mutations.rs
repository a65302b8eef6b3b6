//! The butterfly with one operation changed at a time: the bounds or the values have to show each.

use std::string::String;
use std::vec::Vec;

use p3_goldilocks::Goldilocks;
use p3_patches_testing::goldilocks::{self as plain, EDGES, P, representative};
use p3_patches_testing::mutation::{self, Mutated, MutationTest};

use super::EXTREME;
use super::lanes::Integer;
use crate::prepared_twiddle::PreparedTwiddle;

fn operations<const FLIPPED: bool>() -> String {
    let mut twiddles: Vec<u64> = EXTREME.to_vec();
    twiddles.extend(EDGES);
    twiddles.extend(mutation::sample(representative(), 16));
    let mut inputs: Vec<[u64; 3]> = Vec::new();
    for w in twiddles {
        inputs.extend(EDGES.map(|edge| [w, edge, !edge]));
        inputs.extend(
            mutation::sample(representative(), 16)
                .into_iter()
                .map(|x| [w, x, x.rotate_left(7)]),
        );
    }
    MutationTest {
        name: "butterfly",
        files: &["prepared_twiddle.rs", mutation::AS_FUNCTION],
        bounds: None,
        inputs: &inputs,
        value: &|&[w, a, b]| {
            let lane = |x| Mutated(Integer::<FLIPPED>(x));
            let prepared = PreparedTwiddle::new(Goldilocks::new(w));
            let [sum, difference] = prepared.butterfly(lane(a), lane(b)).map(|x| x.0.0);
            let product = plain::mul(w, b);
            let negated = plain::residue(-i128::from(product));
            sum % P == plain::add(a, product) && difference % P == plain::add(a, negated)
        },
        equivalent: &[],
    }
    .run()
}

#[test]
fn each_wrong_operation_is_noticed() {
    let report = operations::<false>();
    assert_eq!(report, operations::<true>(), "with flipped bits");
    insta::assert_snapshot!("mutations", report);
}
