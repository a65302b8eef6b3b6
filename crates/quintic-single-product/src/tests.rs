//! The kernel against Plonky3 as published, and against the textbook.

// With AVX-512, they are the same.
#[cfg(all(mutated, not(target_feature = "avx512f")))]
mod instructions;

use core::array;

use p3_field::extension::QuinticTrinomialExtensionField;
use p3_field::{BasedVectorSpace, PrimeField32};
use p3_koala_bear::KoalaBear;
use p3_patches_testing::koala_bear::{EDGES, P, Quintic, product, quintic, residue_of};
use proptest::prelude::*;

use crate::quintic_mul;

/// Equal elements have equal Montgomery forms, so this compares bits.
fn check(a: Quintic, b: Quintic) {
    let [x, y] = [a, b].map(KoalaBear::new_array);
    let [p, q] = [x, y].map(QuinticTrinomialExtensionField::<KoalaBear>::new);
    let result = quintic_mul(&x, &y);
    let published = p * q;
    let published: &[KoalaBear] = published.as_basis_coefficients_slice();
    assert_eq!(result, published, "{a:?} * {b:?}");
    assert_eq!(
        result.map(|x| x.as_canonical_u32()),
        product(a, b),
        "{a:?} * {b:?}"
    );
}

#[test]
fn edges_in_every_position() {
    for edge in EDGES.map(residue_of) {
        for other in EDGES.map(residue_of) {
            for mask in 0..1024 {
                let bit = |i: usize| if mask >> i & 1 == 1 { edge } else { other };
                check(array::from_fn(bit), array::from_fn(|i| bit(i + 5)));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 20_000 }))]

    /// The fifth product of a row is the largest, `(P - 1)(2P - 2)`, and the sums of the other four come near `PB`: the upper end of step 4.
    #[test]
    #[cfg_attr(miri, ignore = "the published product is assembly")]
    fn the_largest_fifth_product(words in any::<[u32; 7]>()) {
        let last = P - 1;
        let [a0, a1, a2, a3, b0, b1, b2] = words.map(|word| word % P);
        // The word of `b3 - b1` is the last one.
        let b3 = b1.checked_sub(1).unwrap_or(last);
        check([a0, a1, a2, a3, last].map(residue_of), [b0, b1, b2, b3, last].map(residue_of));
    }
}

/// Each edge once in each position of either factor, by the textbook: few enough for Miri, which lacks the assembly of the
/// published product.
#[test]
fn edges_beside_each_other() {
    let edges = EDGES.map(residue_of);
    let edge = |i: usize| edges[i % edges.len()];
    for first in 0..edges.len() {
        for other in 0..edges.len() {
            let a = array::from_fn(|i| edge(first + i));
            let b = array::from_fn(|i| edge(other + i));
            let result = quintic_mul(&KoalaBear::new_array(a), &KoalaBear::new_array(b));
            // The same words, and so canonical.
            assert_eq!(result, KoalaBear::new_array(product(a, b)));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn random_elements(a in quintic(), b in quintic()) {
        check(a, b);
    }
}
