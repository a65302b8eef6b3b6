//! The instructions of this build, each another one in turn, wherever it is executed: two tests have to notice.
//! `cargo p3 test --only 'instructions/*'`

use p3_patches_testing::arch::INSTRUCTION_SET;
use p3_patches_testing::mutation::{Equivalent, Instructions};

use super::packed::*;

const EQUIVALENT: &[Equivalent] = if cfg!(target_feature = "avx512f") {
    &[Equivalent::new(
        "»_mm512_cmplt_epu64_mask(x, y)",
        "_mm512_cmple_epu64_mask",
        "of equal words, the difference is the order, another zero",
    )]
} else {
    &[]
};

#[test]
fn each_wrong_instruction_is_noticed_twice() {
    let report = Instructions {
        files: &["x86_64_avx2/butterfly.rs", "x86_64_avx512/butterfly.rs"],
        tests: &[
            ("butterflies_are_exact", butterflies_are_exact),
            ("few_butterflies_are_exact", few_butterflies_are_exact),
            ("signed_products_are_exact", signed_products_are_exact),
            (
                "folds_are_canonical_next_to_carries",
                folds_are_canonical_next_to_carries,
            ),
            (
                "differences_borrow_where_they_have_to",
                differences_borrow_where_they_have_to,
            ),
        ],
        equivalent: EQUIVALENT,
    }
    .run();
    insta::assert_snapshot!(INSTRUCTION_SET, report);
}
