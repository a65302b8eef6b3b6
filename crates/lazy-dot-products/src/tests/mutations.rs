//! The sums with one operation changed at a time: the bounds or the values have to show each.

use std::string::String;
use std::vec::Vec;

use p3_patches_testing::goldilocks::{self as plain, EDGES, P, representative};
use p3_patches_testing::mutation::{self, Mutated, MutationTest};

use super::fused::Fused;
use super::lanes::{Integer, Range};
use crate::lazy_product::{LazyProduct, Sums, TERMS, parts, zero};

/// The last two terms of a dot product, with the sums of those before them.
fn dot_product<V: LazyProduct>(before: Sums<V>, terms: [[V; 2]; 2]) -> [V; 2] {
    let mut sums = zero();
    for [x, y] in terms {
        V::add_product(&mut sums, x.digits(), y.limbs());
    }
    for (sums, before) in sums.iter_mut().flatten().zip(before.into_iter().flatten()) {
        *sums = sums.wrapping_add(before);
    }
    parts(sums)
}

/// The sums of [`TERMS`] less two terms, which nothing mutates.
fn before<V: LazyProduct>(x: V, y: V) -> Sums<Mutated<V>>
where
    Mutated<V>: LazyProduct,
{
    let mut sums = [[V::splat(0); 3]; 2];
    for _ in 2..TERMS {
        V::add_product(&mut sums, x.digits(), y.limbs());
    }
    sums.map(|sums| sums.map(Mutated))
}

/// Mutates each operation of the scheme, on integers made by `lane` and on intervals.
fn examine<V: LazyProduct, R: LazyProduct>(
    name: &'static str,
    files: &'static [&'static str],
    lane: fn(u64) -> V,
    word: fn(V) -> u64,
    any: R,
) -> String
where
    Mutated<V>: LazyProduct,
    Mutated<R>: LazyProduct,
{
    let mut inputs: Vec<[u64; 2]> = Vec::new();
    for x in EDGES {
        inputs.extend(EDGES.map(|y| [x, y]));
    }
    let random = mutation::sample(representative(), 64);
    inputs.extend(random.iter().zip(&random[1..]).map(|(&x, &y)| [x, y]));
    let bounded = before(any, any);
    MutationTest {
        name,
        files,
        bounds: Some(&|| {
            dot_product(bounded, [[Mutated(any); 2]; 2]);
        }),
        inputs: &inputs,
        value: &|&[x, y]| {
            let terms = [[x, y], [y, x]];
            let mutated = terms.map(|term| term.map(|x| Mutated(lane(x))));
            let [low, high] =
                dot_product(before(lane(x), lane(y)), mutated).map(|part| word(part.0));
            let expected = plain::mul(plain::mul(x, y), TERMS as u64);
            plain::add(low % P, high % P) == expected
        },
        equivalent: &[],
    }
    .run()
}

#[test]
fn each_wrong_operation_is_noticed() {
    let provided = examine(
        "sums",
        &["lazy_product.rs", mutation::AS_FUNCTION],
        Integer::<false>,
        |x| x.0,
        Range::any(),
    );
    insta::assert_snapshot!("mutations", provided);
    let fused = examine(
        "sums of IFMA's products",
        &[
            "lazy_product.rs",
            "lazy_product/ifma.rs",
            mutation::AS_FUNCTION,
        ],
        |x| Fused(Integer::<false>(x)),
        |x| x.0.0,
        Fused(Range::any()),
    );
    insta::assert_snapshot!("mutations_ifma", fused);
}
