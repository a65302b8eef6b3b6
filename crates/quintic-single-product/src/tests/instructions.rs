//! The instructions of this build, each another one in turn, wherever it is executed: two tests have to notice.
//! `cargo p3 test --only 'instructions/*'`

use p3_patches_testing::arch::INSTRUCTION_SET;
use p3_patches_testing::mutation::{Equivalent, Instructions};

use super::*;

/// Words that do not count, and instructions that are the same within their bounds.
const EQUIVALENT: &[Equivalent] = &[
    Equivalent::new(
        "»_mm_shuffle_epi32::<0b10_11_00_00>",
        "word 1",
        "the blend puts b4 there",
    ),
    Equivalent::new(
        "»_mm_shuffle_epi32::<0b11_00_00_01>",
        "word 2",
        "the blend puts b4 there",
    ),
    Equivalent::new(
        "»_mm_shuffle_epi32::<0b01_10_11_00>",
        "word 0",
        "the blend puts b4 there",
    ),
    Equivalent::new(
        "»_mm256_setr_epi32(j,",
        "word 1",
        "vpmuludq does not read odd words",
    ),
    Equivalent::new(
        "»_mm256_setr_epi32(j,",
        "word 3",
        "vpmuludq does not read odd words",
    ),
    Equivalent::new(
        "»_mm256_setr_epi32(j,",
        "word 5",
        "vpmuludq does not read odd words",
    ),
    Equivalent::new(
        "»_mm256_setr_epi32(j,",
        "word 7",
        "vpmuludq does not read odd words",
    ),
    Equivalent::new(
        "»_mm256_cvtepu32_epi64",
        "_mm256_cvtepi32_epi64",
        "vpmuludq does not read upper words",
    ),
    Equivalent::new(
        "products = »_mm256_mul_epu32",
        "_mm256_mul_epi32",
        "both factors are below 2^31",
    ),
    Equivalent::new(
        "»_mm256_permute4x64_epi64",
        "word 2",
        "of row 1, the first lane counts",
    ),
    Equivalent::new(
        "»_mm256_permute4x64_epi64",
        "word 3",
        "of row 1, the first lane counts",
    ),
    Equivalent::new(
        "»_mm256_shuffle_epi32",
        "word 2",
        "of row 1, the first lane counts",
    ),
    Equivalent::new(
        "»_mm256_shuffle_epi32",
        "word 3",
        "of row 1, the first lane counts",
    ),
    Equivalent::new(
        "»_mm256_setr_epi32(1,",
        "word 1",
        "the blend puts row 1 there",
    ),
    Equivalent::new(
        "»_mm256_setr_epi32(1,",
        "word 5",
        "words 5 to 7 of the result are not copied",
    ),
    Equivalent::new(
        "»_mm256_setr_epi32(1,",
        "word 6",
        "words 5 to 7 of the result are not copied",
    ),
    Equivalent::new(
        "»_mm256_setr_epi32(1,",
        "word 7",
        "words 5 to 7 of the result are not copied",
    ),
    Equivalent::new(
        "»_mm256_blend_epi32",
        "word 5",
        "words 5 to 7 of the result are not copied",
    ),
    Equivalent::new(
        "»_mm256_blend_epi32",
        "word 6",
        "words 5 to 7 of the result are not copied",
    ),
    Equivalent::new(
        "»_mm256_blend_epi32",
        "word 7",
        "words 5 to 7 of the result are not copied",
    ),
    Equivalent::new(
        "»_mm256_sub_epi64(x, p_high)",
        "_mm256_sub_epi32",
        "the lower words of p_high are 0",
    ),
    Equivalent::new(
        "q = »_mm256_mul_epu32",
        "_mm256_mul_epi32",
        "of q, the lower word counts",
    ),
    Equivalent::new(
        "q = »_mm256_mul_epu32",
        "_mm256_mullo_epi32",
        "of q, the lower word counts",
    ),
];

#[test]
fn each_wrong_instruction_is_noticed_twice() {
    let report = Instructions {
        files: &["x86_64_quintic.rs"],
        tests: &[
            ("edges_beside_each_other", edges_beside_each_other),
            ("edges_in_every_position", edges_in_every_position),
        ],
        equivalent: EQUIVALENT,
    }
    .run();
    insta::assert_snapshot!(INSTRUCTION_SET, report);
}
