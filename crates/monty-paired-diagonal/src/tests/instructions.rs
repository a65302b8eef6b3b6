//! The instructions of AVX2, each another one in turn, wherever it is executed: two tests have to notice.
//! `cargo p3 test --only 'instructions/*'`

use p3_patches_testing::mutation::{Equivalent, Instructions};

use super::*;

/// Instructions that are the same within their bounds.
const EQUIVALENT: &[Equivalent] = &[
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
];

#[test]
fn each_wrong_instruction_is_noticed_twice() {
    let report = Instructions {
        files: &["x86_64_avx2/poseidon2_paired.rs"],
        // The first executes all of them.
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
            (
                "koala_bear_24",
                koala_bear_24::of_packed_edges_are_those_of_the_lanes,
            ),
            (
                "baby_bear_16",
                baby_bear_16::of_packed_edges_are_those_of_the_lanes,
            ),
            (
                "baby_bear_24",
                baby_bear_24::of_packed_edges_are_those_of_the_lanes,
            ),
        ],
        equivalent: EQUIVALENT,
    }
    .run();
    insta::assert_snapshot!("instructions", report);
}
