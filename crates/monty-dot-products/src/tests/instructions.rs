//! The instructions of this build, each another one in turn, wherever it is executed: two tests have to notice.
//! `cargo p3 test --only 'instructions/*'`

use p3_patches_testing::arch::INSTRUCTION_SET;
use p3_patches_testing::mutation::{Equivalent, Instructions};

use super::*;

#[test]
fn each_wrong_instruction_is_noticed_twice() {
    let report = Instructions {
        files: &[
            "dot_product/avx2.rs",
            "dot_product/avx512.rs",
            "vector/avx2.rs",
            "vector/avx512.rs",
        ],
        tests: &[
            ("a_pass_over_edges_is_exact", a_pass_over_edges_is_exact),
            ("rows_of_edges_are_exact", rows_of_edges_are_exact),
            ("single_products_are_exact", single_products_are_exact),
        ],
        equivalent: &[Equivalent::new(
            "_sub_epi64(self, rhs)",
            if cfg!(target_feature = "avx512f") {
                "_mm512_sub_epi32"
            } else {
                "_mm256_sub_epi32"
            },
            "lower halves are equal, or those of 0 are subtracted",
        )],
    }
    .run();
    insta::assert_snapshot!(INSTRUCTION_SET, report);
}
