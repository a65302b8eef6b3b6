//! The instructions of this build, each another one in turn, wherever it is executed: two tests have to notice.
//! `cargo p3 test --only 'instructions/*'`

use p3_patches_testing::arch::INSTRUCTION_SET;
use p3_patches_testing::mutation::{Equivalent, Instructions};

use super::*;

/// Instructions that are the same within their bounds.
const EQUIVALENT: &[Equivalent] = if cfg!(target_feature = "avx512f") {
    &[Equivalent::new(
        "»_mm512_srl_epi32",
        "_mm512_sra_epi32",
        "an element is below 2^31",
    )]
} else {
    &[
        Equivalent::new(
            "»_mm256_sll_epi32",
            "_mm256_sll_epi64",
            "no bit leaves a word",
        ),
        Equivalent::new(
            "»_mm256_srl_epi32",
            "_mm256_sra_epi32",
            "an element is below 2^31",
        ),
    ]
};

#[test]
fn each_wrong_instruction_is_noticed_twice() {
    let report = Instructions {
        files: &[
            "x86_64_avx2/poseidon2_paired.rs",
            "x86_64_avx512/poseidon2_paired.rs",
        ],
        tests: &[
            (
                "divisions_are_those_of_the_lanes",
                divisions_are_those_of_the_lanes,
            ),
            ("divisions_of_all_edges", divisions_of_all_edges),
            (
                "koala_bear_16",
                koala_bear_16::of_packed_edges_are_those_of_the_lanes,
            ),
        ],
        equivalent: EQUIVALENT,
    }
    .run();
    insta::assert_snapshot!(INSTRUCTION_SET, report);
}
