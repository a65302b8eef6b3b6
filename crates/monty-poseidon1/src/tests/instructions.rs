//! The instructions of this build, each another one in turn, wherever it is executed: two tests have to notice.
//! `cargo p3 test --only 'instructions/*'`

use p3_patches_testing::arch::INSTRUCTION_SET;
use p3_patches_testing::mutation::Instructions;

use super::*;

#[test]
fn each_wrong_instruction_is_noticed_twice() {
    let report = Instructions {
        files: &["vector/avx2.rs", "vector/avx512.rs"],
        tests: &[
            ("matrices_of_edges_are_exact", matrices_of_edges_are_exact),
            ("one_round_of_edges_is_exact", one_round_of_edges_is_exact),
            (
                "two_blocks_of_rounds_are_exact",
                two_blocks_of_rounds_are_exact,
            ),
        ],
        equivalent: &[],
    }
    .run();
    insta::assert_snapshot!(INSTRUCTION_SET, report);
}
