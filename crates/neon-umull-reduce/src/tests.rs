//! `umull` against the two instructions that it replaces, and the permutations built on them against the paper.

use core::array;

use p3_field::{Field, PackedValue, PrimeField64};
use p3_goldilocks::{
    GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_FINAL, GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_INITIAL,
    GOLDILOCKS_POSEIDON2_RC_8_INTERNAL, GOLDILOCKS_POSEIDON2_RC_12_EXTERNAL_FINAL,
    GOLDILOCKS_POSEIDON2_RC_12_EXTERNAL_INITIAL, GOLDILOCKS_POSEIDON2_RC_12_INTERNAL,
    GOLDILOCKS_POSEIDON2_RC_16_EXTERNAL_FINAL, GOLDILOCKS_POSEIDON2_RC_16_EXTERNAL_INITIAL,
    GOLDILOCKS_POSEIDON2_RC_16_INTERNAL, Goldilocks, MATRIX_DIAG_8_GOLDILOCKS,
    MATRIX_DIAG_12_GOLDILOCKS, MATRIX_DIAG_16_GOLDILOCKS, default_goldilocks_poseidon2_8,
    default_goldilocks_poseidon2_12, default_goldilocks_poseidon2_16,
};
use p3_patches_testing::goldilocks::{self as plain, EDGES, representative};
use p3_symmetric::Permutation;
use proptest::prelude::*;

type Packed = <Goldilocks as Field>::Packing;
const LANES: usize = Packed::WIDTH;

/// Both forms of `hi_lo * EPSILON`, as the assembly has them without and with the patch.
#[cfg(target_arch = "aarch64")]
fn fold(hi: u64) -> [u64; 2] {
    const EPSILON: u64 = 0xffff_ffff;
    let (published, patched);
    // SAFETY: three instructions on registers.
    unsafe {
        core::arch::asm!(
            "and   {published}, {hi}, {epsilon}",
            "mul   {published}, {published}, {epsilon}",
            "umull {patched}, {hi:w}, {epsilon:w}",
            hi = in(reg) hi,
            epsilon = in(reg) EPSILON,
            published = out(reg) published,
            patched = out(reg) patched,
            options(pure, nomem, nostack),
        );
    }
    [published, patched]
}

/// All pairs of a low half at an edge of 32-bit multiplication, signed or not, and a high half that has to be ignored.
#[cfg(target_arch = "aarch64")]
#[test]
fn umull_is_and_then_mul_on_edges() {
    const HALVES: [u64; 8] = [
        0,
        1,
        2,
        0x7fff_ffff,
        0x8000_0000,
        0x8000_0001,
        0xffff_fffe,
        0xffff_ffff,
    ];
    for high in HALVES {
        for low in HALVES {
            let [published, patched] = fold(high << 32 | low);
            assert_eq!(published, patched, "{high:#x} {low:#x}");
            assert_eq!(published, low * 0xffff_ffff);
        }
    }
}

#[cfg(target_arch = "aarch64")]
proptest! {
    #[test]
    fn umull_is_and_then_mul(hi: u64) {
        let [published, patched] = fold(hi);
        prop_assert_eq!(published, patched);
    }
}

#[cfg(not(target_arch = "aarch64"))]
#[test]
#[ignore = "the instruction is aarch64's: cargo p3 test --only kernels/neon"]
fn umull_is_and_then_mul() {
    unreachable!("ignored")
}

fn textbook<const WIDTH: usize, const INTERNAL: usize>(
    initial: &[[Goldilocks; WIDTH]],
    internal: [Goldilocks; INTERNAL],
    terminal: &[[Goldilocks; WIDTH]],
    diagonal: [Goldilocks; WIDTH],
) -> plain::Poseidon2<WIDTH> {
    let canonical = |x: Goldilocks| x.as_canonical_u64();
    plain::Poseidon2 {
        initial: initial.iter().map(|row| row.map(canonical)).collect(),
        internal: internal.map(canonical).to_vec(),
        terminal: terminal.iter().map(|row| row.map(canonical)).collect(),
        diagonal: diagonal.map(canonical),
    }
}

/// Scalar and packed states, each lane its own.
fn check<const WIDTH: usize, Published>(
    published: &Published,
    textbook: &plain::Poseidon2<WIDTH>,
    words: &[[u64; WIDTH]; LANES],
) where
    Published: Permutation<[Goldilocks; WIDTH]> + Permutation<[Packed; WIDTH]>,
{
    let packed: [Packed; WIDTH] =
        array::from_fn(|i| Packed::from_fn(|lane| Goldilocks::new(words[lane][i])));
    let packed = published.permute(packed);
    for (lane, &state) in words.iter().enumerate() {
        let expected = textbook.permute(state);
        let scalar = published.permute(state.map(Goldilocks::new));
        assert_eq!(scalar.map(|x| x.as_canonical_u64()), expected);
        let lane = packed.map(|x| x.as_slice()[lane].as_canonical_u64());
        assert_eq!(lane, expected);
    }
}

macro_rules! published_matches_the_paper {
    ($($width:literal: $published:ident, $initial:ident, $internal:ident, $terminal:ident, $diagonal:ident;)*) => {
        #[test]
        fn published_permutations_match_the_paper_on_edges() {
            $({
                let textbook = textbook(&$initial, $internal, &$terminal, $diagonal);
                for shift in 0..EDGES.len() {
                    let edge = |i: usize| EDGES[(shift + i) % EDGES.len()];
                    let words: [[u64; $width]; LANES] =
                        array::from_fn(|lane| array::from_fn(|i| edge(i * (2 * lane + 1) + lane)));
                    check(&$published(), &textbook, &words);
                }
            })*
        }

        proptest! {
            #[test]
            fn published_permutations_match_the_paper(
                // On the heap: an array of strategies for eight lanes overflows the stack of a test.
                words in prop::collection::vec(representative(), 16 * LANES),
            ) {
                $({
                    let textbook = textbook(&$initial, $internal, &$terminal, $diagonal);
                    let words: [[u64; $width]; LANES] =
                        array::from_fn(|lane| array::from_fn(|i| words[16 * lane + i]));
                    check(&$published(), &textbook, &words);
                })*
            }
        }
    };
}

published_matches_the_paper! {
    8: default_goldilocks_poseidon2_8, GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_INITIAL,
        GOLDILOCKS_POSEIDON2_RC_8_INTERNAL, GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_FINAL, MATRIX_DIAG_8_GOLDILOCKS;
    12: default_goldilocks_poseidon2_12, GOLDILOCKS_POSEIDON2_RC_12_EXTERNAL_INITIAL,
        GOLDILOCKS_POSEIDON2_RC_12_INTERNAL, GOLDILOCKS_POSEIDON2_RC_12_EXTERNAL_FINAL, MATRIX_DIAG_12_GOLDILOCKS;
    16: default_goldilocks_poseidon2_16, GOLDILOCKS_POSEIDON2_RC_16_EXTERNAL_INITIAL,
        GOLDILOCKS_POSEIDON2_RC_16_INTERNAL, GOLDILOCKS_POSEIDON2_RC_16_EXTERNAL_FINAL, MATRIX_DIAG_16_GOLDILOCKS;
}
