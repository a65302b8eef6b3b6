//! The instructions of AVX2, each another one in turn, wherever it is executed: two tests have to notice.
//! `cargo p3 test --only 'instructions/*'`

use p3_patches_testing::mutation::Instructions;

use super::packed::*;

#[test]
fn each_wrong_instruction_is_noticed_twice() {
    let report = Instructions {
        files: &["x86_64_avx2/vector.rs"],
        // The first executes all of them.
        tests: &[
            ("few_rounds_match_the_paper", few_rounds_match_the_paper),
            ("products_are_exact", products_are_exact),
            (
                "permutations_match_the_published_ones",
                permutations_match_the_published_ones,
            ),
        ],
        equivalent: &[],
    }
    .run();
    insta::assert_snapshot!("instructions", report);
}
