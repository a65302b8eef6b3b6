//! Sums and differences against integers, permutations against the paper.

use p3_field::PrimeField64;
use p3_goldilocks::{
    GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_FINAL, GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_INITIAL,
    GOLDILOCKS_POSEIDON2_RC_8_INTERNAL, GOLDILOCKS_POSEIDON2_RC_12_EXTERNAL_FINAL,
    GOLDILOCKS_POSEIDON2_RC_12_EXTERNAL_INITIAL, GOLDILOCKS_POSEIDON2_RC_12_INTERNAL,
    GOLDILOCKS_POSEIDON2_RC_16_EXTERNAL_FINAL, GOLDILOCKS_POSEIDON2_RC_16_EXTERNAL_INITIAL,
    GOLDILOCKS_POSEIDON2_RC_16_INTERNAL, Goldilocks, MATRIX_DIAG_8_GOLDILOCKS,
    MATRIX_DIAG_12_GOLDILOCKS, MATRIX_DIAG_16_GOLDILOCKS, default_goldilocks_poseidon2_8,
    default_goldilocks_poseidon2_12, default_goldilocks_poseidon2_16,
};
use p3_patches_testing::goldilocks::{self as plain, EDGES, P, representative};
use p3_symmetric::Permutation;
use proptest::prelude::*;

fn canonical(x: Goldilocks) -> u64 {
    x.as_canonical_u64()
}

fn check_sum_and_difference(x: u64, y: u64) {
    let (a, b, p) = (u128::from(x), u128::from(y), u128::from(P));
    let [sum, difference] = [a + b, a + 2 * p - b].map(|value| (value % p) as u64);
    let (x, y) = (Goldilocks::new(x), Goldilocks::new(y));
    assert_eq!(canonical(x + y), sum, "{a:#x} + {b:#x}");
    assert_eq!(canonical(x - y), difference, "{a:#x} - {b:#x}");
}

/// None, one and two corrections: the second is needed next to `2^64` only.
#[test]
fn sums_and_differences_of_edges() {
    for x in EDGES {
        for y in EDGES {
            check_sum_and_difference(x, y);
        }
    }
}

/// The published permutation and its textbook form, for each width that has default constants.
macro_rules! permutation {
    ($name:ident, $width:literal, $published:ident, $initial:ident, $internal:ident, $terminal:ident, $diagonal:ident) => {
        mod $name {
            use super::*;

            fn check(state: [u64; $width]) {
                let textbook = plain::Poseidon2 {
                    initial: $initial.map(|row| row.map(canonical)).to_vec(),
                    internal: $internal.map(canonical).to_vec(),
                    terminal: $terminal.map(|row| row.map(canonical)).to_vec(),
                    diagonal: $diagonal.map(canonical),
                };
                let permuted = $published().permute(state.map(Goldilocks::new));
                assert_eq!(
                    permuted.map(canonical),
                    textbook.permute(state),
                    "{state:x?}"
                );
            }

            /// Every edge in every element, beside other edges.
            #[test]
            fn matches_the_paper_on_edges() {
                for shift in 0..EDGES.len() {
                    check(core::array::from_fn(|i| EDGES[(shift + i) % EDGES.len()]));
                    check([EDGES[shift]; $width]);
                }
            }

            proptest! {
                #[test]
                fn matches_the_paper(
                    state in prop::array::uniform::<_, $width>(representative())
                ) {
                    check(state);
                }
            }
        }
    };
}

permutation!(
    width_8,
    8,
    default_goldilocks_poseidon2_8,
    GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_INITIAL,
    GOLDILOCKS_POSEIDON2_RC_8_INTERNAL,
    GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_FINAL,
    MATRIX_DIAG_8_GOLDILOCKS
);
permutation!(
    width_12,
    12,
    default_goldilocks_poseidon2_12,
    GOLDILOCKS_POSEIDON2_RC_12_EXTERNAL_INITIAL,
    GOLDILOCKS_POSEIDON2_RC_12_INTERNAL,
    GOLDILOCKS_POSEIDON2_RC_12_EXTERNAL_FINAL,
    MATRIX_DIAG_12_GOLDILOCKS
);
permutation!(
    width_16,
    16,
    default_goldilocks_poseidon2_16,
    GOLDILOCKS_POSEIDON2_RC_16_EXTERNAL_INITIAL,
    GOLDILOCKS_POSEIDON2_RC_16_INTERNAL,
    GOLDILOCKS_POSEIDON2_RC_16_EXTERNAL_FINAL,
    MATRIX_DIAG_16_GOLDILOCKS
);

proptest! {
    #[test]
    fn sums_and_differences(x in representative(), y in representative()) {
        check_sum_and_difference(x, y);
    }
}
