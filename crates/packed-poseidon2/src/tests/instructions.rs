//! The instructions of this build, each another one in turn, wherever it is executed: two tests have to notice.
//! `cargo p3 test --only 'instructions/*'`

use p3_patches_testing::arch::INSTRUCTION_SET;
use p3_patches_testing::mutation::Instructions;

use super::packed::*;

#[test]
fn each_wrong_instruction_is_noticed_twice() {
    let report = Instructions {
        files: &["x86_64_avx2/vector.rs", "x86_64_avx512/vector.rs"],
        tests: &[
            ("few_rounds_match_the_paper", few_rounds_match_the_paper),
            ("products_of_edges_are_exact", products_of_edges_are_exact),
            ("sums_are_exact", sums_are_exact),
            ("few_quotients_are_exact", few_quotients_are_exact),
        ],
        equivalent: &[],
    }
    .run();
    insta::assert_snapshot!(INSTRUCTION_SET, report);
}
