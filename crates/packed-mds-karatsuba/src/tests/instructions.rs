//! The instructions of this build, each another one in turn, wherever it is executed: two tests have to notice.
//! `cargo p3 test --only 'instructions/*'`

use p3_patches_testing::arch::INSTRUCTION_SET;
use p3_patches_testing::mutation::Instructions;

use super::primitives::*;
use super::*;

#[test]
fn each_wrong_instruction_is_noticed_twice() {
    let report = Instructions {
        files: &["poseidon1_packed/avx2.rs", "poseidon1_packed/avx512.rs"],
        tests: &[
            (
                "packed_matrices_match_the_paper",
                packed_matrices_match_the_paper,
            ),
            (
                "few_states_match_the_published_ones",
                few_states_match_the_published_ones,
            ),
            ("few_unreduced_products", few_unreduced_products),
            ("fold_few_halves", fold_few_halves),
            ("few_folds_at_the_carry", few_folds_at_the_carry),
            ("normalize_few_halves", normalize_few_halves),
        ],
        equivalent: &[],
    }
    .run();
    insta::assert_snapshot!(INSTRUCTION_SET, report);
}
