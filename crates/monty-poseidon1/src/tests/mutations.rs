//! The sums with one operation changed at a time: the values have to show each.

use std::string::String;

use p3_baby_bear::BabyBearParameters;
use p3_patches_testing::mutation::{self, Mutated, MutationTest};

use super::*;
use crate::FieldParameters;
use crate::packed_poseidon1::Sums;

impl<T: Words> Words for Mutated<T> {
    #[track_caller]
    fn splat(x: u64) -> Self {
        Self(T::splat(mutation::constant(x)))
    }

    #[track_caller]
    fn repeat(x: u32) -> Self {
        // Not `mutation::constant`, which tells zeros: some of these constants are inputs.
        let wrong = mutation::goes_wrong("constant + 1");
        Self(T::repeat(x.wrapping_add(wrong.into())))
    }

    #[track_caller]
    fn add(self, rhs: Self) -> Self {
        Self(mutation::sum(self.0, rhs.0, T::add))
    }

    #[track_caller]
    fn mul_low(self, rhs: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x.mul_low(rhs.0)))
    }

    #[track_caller]
    fn add_halves(self, rhs: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x.add_halves(rhs.0)))
    }

    #[track_caller]
    fn sub_halves(self, rhs: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x.sub_halves(rhs.0)))
    }

    #[track_caller]
    fn min_halves(self, rhs: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x.min_halves(rhs.0)))
    }

    #[track_caller]
    fn shl_half(self) -> Self {
        Self(mutation::skippable(self.0, T::shl_half))
    }

    #[track_caller]
    fn high(self) -> Self {
        Self(mutation::skippable(self.0, T::high))
    }

    #[track_caller]
    fn join_high(even: Self, odd: Self) -> Self {
        Self(mutation::skippable(odd.0, |odd| T::join_high(even.0, odd)))
    }
}

/// Whether the sums of two groups are what they should be. Panics if they are, and leave `[0, P)`.
fn is_right<FP: FieldParameters>([even, odd, constants]: [[u32; 4]; 3]) -> bool {
    let p = u128::from(FP::PRIME);
    // The upper halves are arbitrary.
    let word = |x: u32| Mutated(u64::from(x) | (u64::MAX << 32));
    let x = array::from_fn(|i| [word(even[i]), word(odd[i])]);
    let [a, b, c, d] = constants;
    let other = [c, d, b, a];
    let sums = Sums::of_products(&x, &constants).plus::<FP>(Sums::of_products(&x, &other));
    let forms = sums.reduce::<FP>().0;
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
