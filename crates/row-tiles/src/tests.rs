//! Both words are tested by one text: each shape around the sides of the tiles, against the definition.

extern crate alloc;

use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

#[cfg(not(target_feature = "avx512f"))]
use crate::transpose::tiles::transpose_u32;
use crate::transpose::tiles::transpose_u64;

/// A slot that no transpose may write.
const GAP: u64 = u64::MAX;

/// Returns rows of `len` words, each of which has its place in both halves.
fn rows(rows: usize, len: usize) -> Vec<Vec<u64>> {
    let word = |r: usize, c: usize| (r << 16 | c) as u64 * 0x1_0000_0001;
    let row = |r| (0..len).map(|c| word(r, c)).collect();
    (0..rows).map(row).collect()
}

/// Returns what is to be at each slot of the output.
fn expected(rows: &[Vec<u64>], cols: usize, stride: usize, len: usize) -> Vec<u64> {
    let mut slots = vec![GAP; len];
    for (r, row) in rows.iter().enumerate() {
        for c in 0..cols {
            slots[c * stride + r] = row[c];
        }
    }
    slots
}

/// Compares a transpose of each word with the definition. Rows are longer than the columns, and the output than its last word.
fn assert_transposed(height: usize, cols: usize, stride: usize) {
    let rows = rows(height, cols + 3);
    let len = cols * stride + 5;
    let expected = expected(&rows, cols, stride, len);
    let mut found = vec![GAP; len];
    transpose_u64(height, cols, |r| &rows[r], &mut found, stride);
    assert_eq!(found, expected, "{height} x {cols}, stride {stride}");

    #[cfg(not(target_feature = "avx512f"))]
    {
        // The lower half of a word tells where it was.
        let narrow = |words: &[u64]| words.iter().map(|&word| word as u32).collect::<Vec<_>>();
        let rows: Vec<_> = rows.iter().map(|row| narrow(row)).collect();
        let mut found = narrow(&vec![GAP; len]);
        transpose_u32(height, cols, |r| &rows[r], &mut found, stride);
        assert_eq!(
            found,
            narrow(&expected),
            "{height} x {cols}, stride {stride}"
        );
    }
}

#[test]
fn each_shape_around_the_tiles_is_transposed() {
    for height in 0..=17 {
        for cols in 0..=17 {
            for stride in [height, height + 1, height + 8] {
                assert_transposed(height, cols, stride);
            }
        }
    }
}

proptest! {
    #[test]
    fn large_shapes_are_transposed(height in 0..70_usize, cols in 0..300_usize, gap in 0..20_usize) {
        assert_transposed(height, cols, height + gap);
    }
}

#[test]
#[should_panic(expected = "range end index 9 out of range for slice of length 8")]
fn a_short_row_is_refused() {
    let rows = [[0; 8]; 8];
    transpose_u64(8, 9, |r| &rows[r], &mut [0; 72], 8);
}

#[test]
#[should_panic(expected = "stride >= rows")]
fn columns_that_overlap_are_refused() {
    let rows = [[0; 8]; 8];
    transpose_u64(8, 8, |r| &rows[r], &mut [0; 64], 7);
}

#[test]
#[should_panic(expected = "dst.len()")]
fn a_short_output_is_refused() {
    let rows = [[0; 8]; 8];
    transpose_u64(8, 8, |r| &rows[r], &mut [0; 63], 8);
}

#[test]
#[should_panic(expected = "dst.len()")]
fn a_stride_is_refused_at_which_the_end_overflows() {
    let rows = [[0; 8]; 8];
    transpose_u64(8, 3, |r| &rows[r], &mut [0; 64], 1 << (usize::BITS - 1));
}
