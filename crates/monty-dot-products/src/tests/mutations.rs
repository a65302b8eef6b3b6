//! The sums with one operation changed at a time: the values have to show each.

use std::string::String;

use p3_baby_bear::BabyBearParameters;
use p3_koala_bear::KoalaBearParameters;
use p3_patches_testing::mutation::{self, Equivalent, Mutated, MutationTest};

use super::lanes::Integer;
use super::*;
use crate::FieldParameters;
use crate::dot_product::{GroupWords, Groups};

impl GroupWords for Integer<true> {
    fn wrapping_sub(self, rhs: Self) -> Self {
        Self(self.0.wrapping_sub(rhs.0))
    }

    fn shr_half(self) -> Self {
        Self(self.0 >> 32)
    }
}

impl<T: GroupWords> GroupWords for Mutated<T> {
    #[track_caller]
    fn wrapping_sub(self, rhs: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x.wrapping_sub(rhs.0)))
    }

    #[track_caller]
    fn shr_half(self) -> Self {
        Self(mutation::skippable(self.0, T::shr_half))
    }
}

const EQUIVALENT: &[Equivalent] = &[
    Equivalent::new(
        "self.sum = ",
        "left operand lost",
        "the first group is added to 0",
    ),
    Equivalent::new(
        "self.high = ",
        "left operand lost",
        "the first group is added to 0",
    ),
    Equivalent::new(
        "V::splat(p << 32)",
        "constant + 1",
        "lower halves are not read, and are 0 otherwise",
    ),
    Equivalent::new(
        "q.mul_low(»V::splat(p))",
        "constant - 1",
        "lower halves are not read, and are q then",
    ),
];

/// Tells whether the sum of three groups is what it should be. Panics if it is, and leaves
/// `[1, 2P)`.
fn is_right<FP: FieldParameters>(terms: [[u32; 2]; 3]) -> bool {
    let p = u128::from(FP::PRIME);
    let word = |x: u32| Mutated(Integer::<true>(u64::from(x) | (u64::MAX << 32)));
    let mut sum = Groups::zero();
    for [x, y] in terms {
        let (x, y) = (word(x), word(y));
        sum.add_group([x, y, x, y], [x, y, y, x]);
    }
    let form = u128::from(sum.reduce::<FP>().0.0 >> 32);
    let expected = terms.map(|[x, y]| (u128::from(x) + u128::from(y)).pow(2));
    let right = (form << 32) % p == expected.into_iter().sum::<u128>() % p;
    assert!(
        !right || (1..2 * p).contains(&form),
        "{form:x} for {terms:x?}"
    );
    right
}

fn examine<FP: FieldParameters>(name: &str) -> String {
    let p = FP::PRIME;
    let edges = [0, 1, p / 2, 1 << 30, p - 1];
    let mut inputs = Vec::new();
    for x in edges {
        inputs.extend(edges.map(|y| [[x, y], [y, p - 1], [p - 1, p - 1]]));
    }
    inputs.extend(mutation::sample(
        [[0..p, 0..p], [0..p, 0..p], [0..p, 0..p]],
        64,
    ));
    MutationTest {
        name,
        files: &["dot_product.rs", mutation::AS_FUNCTION],
        bounds: None,
        inputs: &inputs,
        value: &|&terms| is_right::<FP>(terms),
        equivalent: EQUIVALENT,
    }
    .run()
}

#[test]
fn each_wrong_operation_is_noticed() {
    insta::assert_snapshot!("koala-bear", examine::<KoalaBearParameters>("koala-bear"));
    insta::assert_snapshot!("baby-bear", examine::<BabyBearParameters>("baby-bear"));
}
