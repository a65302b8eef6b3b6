//! Transposes rows, as p3-util does since 0.9.0.

/// Transposes rows: `dst[c * rows + r] = row(r)[c]` for `r < rows` and `c < cols`.
///
/// # Panics
///
/// Panics if `dst` does not have `rows * cols` elements, or a row has less than `cols`.
pub fn transpose_rows<'a, T: Copy + 'a>(
    rows: usize,
    cols: usize,
    row: impl Fn(usize) -> &'a [T],
    dst: &mut [T],
) {
    assert_eq!(dst.len(), rows * cols, "incorrect length of the output");
    for r in 0..rows {
        for (column, &value) in dst.chunks_exact_mut(rows).zip(&row(r)[..cols]) {
            column[r] = value;
        }
    }
}
