//! The instructions of this build, each another one in turn, wherever it is executed: two tests have to notice.
//! `cargo p3 test --only 'instructions/*'`

use p3_patches_testing::arch::INSTRUCTION_SET;
use p3_patches_testing::mutation::Instructions;

use super::packed::*;

#[test]
fn each_wrong_instruction_is_noticed_twice() {
    let report = Instructions {
        files: &["x86_64_avx512/vector_ifma.rs"],
        tests: &[
            ("few_products_are_exact", few_products_are_exact),
            ("few_powers_are_exact", few_powers_are_exact),
        ],
        equivalent: &[],
    }
    .run();
    insta::assert_snapshot!(INSTRUCTION_SET, report);
}
