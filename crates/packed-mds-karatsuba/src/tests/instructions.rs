//! The instructions of AVX2, each another one in turn, wherever it is executed: two tests have to notice.
//! `cargo p3 test --only 'instructions/*'`

use p3_patches_testing::mutation::Instructions;

use super::primitives::*;
use super::*;

#[test]
fn each_wrong_instruction_is_noticed_twice() {
    let report = Instructions {
        files: &["poseidon1_packed/avx2.rs"],
        // The first executes all of them.
        tests: &[
            ("known_answers", known_answers),
            (
                "packed_matrices_match_the_published_ones",
                packed_matrices_match_the_published_ones,
            ),
            ("unreduced_products", unreduced_products),
            ("fold_at_the_carry", fold_at_the_carry),
            ("normalize_any_halves", normalize_any_halves),
            (
                "packed_states_match_the_published_permutation",
                packed_states_match_the_published_permutation,
            ),
        ],
        equivalent: &[],
    }
    .run();
    insta::assert_snapshot!("instructions", report);
}
