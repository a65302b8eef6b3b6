//! The instructions of this build, each another one in turn, wherever it is executed: two tests have to notice.
//! `cargo p3 test --only 'instructions/*'`

use p3_patches_testing::arch::INSTRUCTION_SET;
use p3_patches_testing::mutation::{Equivalent, Instructions};

use super::*;

#[test]
fn each_wrong_instruction_is_noticed_twice() {
    let report = Instructions {
        files: &["aarch64_neon/poseidon2_pair.rs"],
        tests: &[
            ("few_rounds_match_the_paper", few_rounds_match_the_paper),
            ("few_pairs_are_exact", few_pairs_are_exact),
        ],
        equivalent: &[
            Equivalent::new(
                "»vshlq_u64(self,",
                "vrshlq_u64",
                "a shift to the left rounds nothing",
            ),
            Equivalent::new(
                "»vextq_u64::<1>(low, zero)",
                "right operand lost",
                "the first word of low is 0",
            ),
        ],
    }
    .run();
    insta::assert_snapshot!(INSTRUCTION_SET, report);
}
