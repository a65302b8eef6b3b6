//! Transposes of words in square tiles, each of which is held in vector registers.
//!
//! A tile has as many rows as a register has words:
//!
//! | instructions | word | tile |
//! |---|---|---|
//! | AVX2 | 32 bits | 8 x 8 |
//! | AVX2 | 64 bits | 4 x 4 |
//! | AVX-512 | 64 bits | 8 x 8 |
//!
//! Each stage swaps one bit of a word's row with the same bit of its column: `log2` of the side in
//! all. The rows are looked up, and their lengths are checked, once for all tiles of these rows. A
//! check for each row of each tile takes longer than the shuffles.

use core::arch::x86_64::*;
use core::array;
use core::mem::transmute;

/// A square of words, row by row.
type Tile<W, const L: usize> = [[W; L]; L];

/// Transposes rows of 32-bit words: `dst[c * stride + r] = row(r)[c]` for `r < rows` and
/// `c < cols`.
///
/// # Panics
///
/// Panics if a row is shorter than `cols`, if `stride` is below `rows`, or if `dst` ends before the
/// last written word.
#[cfg(not(target_feature = "avx512f"))]
#[inline]
pub fn transpose_u32<'a>(
    rows: usize,
    cols: usize,
    row: impl Fn(usize) -> &'a [u32],
    dst: &mut [u32],
    stride: usize,
) {
    transpose_words(rows, cols, row, dst, stride, transposed_32);
}

/// Transposes rows of 64-bit words, as `transpose_u32` does those of 32 bits, and with the same
/// panics.
#[inline]
pub fn transpose_u64<'a>(
    rows: usize,
    cols: usize,
    row: impl Fn(usize) -> &'a [u64],
    dst: &mut [u64],
    stride: usize,
) {
    transpose_words(rows, cols, row, dst, stride, transposed_64);
}

/// Transposes rows of words. `transposed` returns the columns of a tile as rows; rows and columns
/// that fill no tile are copied word by word.
#[inline(always)]
fn transpose_words<'a, W: Copy + 'a, const L: usize>(
    rows: usize,
    cols: usize,
    row: impl Fn(usize) -> &'a [W],
    dst: &mut [W],
    stride: usize,
    transposed: impl Fn(Tile<W, L>) -> Tile<W, L>,
) {
    if rows == 0 || cols == 0 {
        return;
    }
    // A product that saturates is beyond the end of any slice.
    let end = (cols - 1).saturating_mul(stride).saturating_add(rows);
    assert!(stride >= rows && dst.len() >= end);
    for r0 in (0..rows).step_by(L) {
        let height = L.min(rows - r0);
        let sources: [&[W]; L] = array::from_fn(|i| &row(r0 + i.min(height - 1))[..cols]);
        let tiled = if height == L { cols - cols % L } else { 0 };
        for c0 in (0..tiled).step_by(L) {
            let mut tile = [[sources[0][c0]; L]; L];
            for (words, source) in tile.iter_mut().zip(&sources) {
                // SAFETY: a source has `cols` words, of which `c0 .. c0 + L` are the first ones of
                // a whole tile; an array of words is aligned as a word is.
                *words = unsafe { source.as_ptr().add(c0).cast::<[W; L]>().read() };
            }
            for (j, words) in transposed(tile).into_iter().enumerate() {
                let start = (c0 + j) * stride + r0;
                // SAFETY: with `c0 + j < cols` and `r0 + L <= rows`, the last word is at most
                // `(cols - 1) * stride + rows - 1`, which `dst` has by the assertion above.
                unsafe { dst.as_mut_ptr().add(start).cast::<[W; L]>().write(words) };
            }
        }
        for (i, source) in sources[..height].iter().enumerate() {
            for (c, &word) in source.iter().enumerate().skip(tiled) {
                dst[c * stride + r0 + i] = word;
            }
        }
    }
}

/// Transposes 8 x 8 words of 32 bits: halves of registers, pairs of words, words.
#[cfg(not(target_feature = "avx512f"))]
#[inline(always)]
fn transposed_32(tile: Tile<u32, 8>) -> Tile<u32, 8> {
    // SAFETY: eight words of 32 bits are a register of 256 bits. The module is compiled for AVX2
    // only.
    unsafe {
        let mut t: [__m256i; 8] = transmute(tile);
        for i in 0..4 {
            let [low, high] = [t[i], t[i + 4]];
            t[i] = _mm256_permute2x128_si256::<0x20>(low, high);
            t[i + 4] = _mm256_permute2x128_si256::<0x31>(low, high);
        }
        for i in [0, 1, 4, 5] {
            let [low, high] = [t[i], t[i + 2]];
            t[i] = _mm256_unpacklo_epi64(low, high);
            t[i + 2] = _mm256_unpackhi_epi64(low, high);
        }
        // A shift and a blend take other ports than a shuffle.
        for i in [0, 2, 4, 6] {
            let [low, high] = [t[i], t[i + 1]];
            t[i] = _mm256_blend_epi32::<0b1010_1010>(low, _mm256_slli_epi64::<32>(high));
            t[i + 1] = _mm256_blend_epi32::<0b1010_1010>(_mm256_srli_epi64::<32>(low), high);
        }
        transmute(t)
    }
}

/// Transposes 4 x 4 words of 64 bits: halves of registers, words.
#[cfg(not(target_feature = "avx512f"))]
#[inline(always)]
fn transposed_64(tile: Tile<u64, 4>) -> Tile<u64, 4> {
    // SAFETY: four words of 64 bits are a register of 256 bits. The module is compiled for AVX2
    // only.
    unsafe {
        let mut t: [__m256i; 4] = transmute(tile);
        for i in 0..2 {
            let [low, high] = [t[i], t[i + 2]];
            t[i] = _mm256_permute2x128_si256::<0x20>(low, high);
            t[i + 2] = _mm256_permute2x128_si256::<0x31>(low, high);
        }
        for i in [0, 2] {
            let [low, high] = [t[i], t[i + 1]];
            t[i] = _mm256_unpacklo_epi64(low, high);
            t[i + 1] = _mm256_unpackhi_epi64(low, high);
        }
        transmute(t)
    }
}

/// Transposes 8 x 8 words of 64 bits: pairs of words, then quarters of registers in two steps.
#[cfg(target_feature = "avx512f")]
#[inline(always)]
fn transposed_64(tile: Tile<u64, 8>) -> Tile<u64, 8> {
    // SAFETY: eight words of 64 bits are a register of 512 bits. The module is compiled for
    // AVX-512F here.
    unsafe {
        let mut t: [__m512i; 8] = transmute(tile);
        for i in [0, 2, 4, 6] {
            let [low, high] = [t[i], t[i + 1]];
            t[i] = _mm512_unpacklo_epi64(low, high);
            t[i + 1] = _mm512_unpackhi_epi64(low, high);
        }
        // Quarter `q` of `t[2 k + j]` has column `2 q + j` of the rows `2 k` and `2 k + 1`.
        let mut columns = t;
        for j in 0..2 {
            let [a, b] = [
                _mm512_shuffle_i64x2::<0x88>(t[j], t[2 + j]),
                _mm512_shuffle_i64x2::<0x88>(t[4 + j], t[6 + j]),
            ];
            columns[j] = _mm512_shuffle_i64x2::<0x88>(a, b);
            columns[4 + j] = _mm512_shuffle_i64x2::<0xdd>(a, b);
            let [a, b] = [
                _mm512_shuffle_i64x2::<0xdd>(t[j], t[2 + j]),
                _mm512_shuffle_i64x2::<0xdd>(t[4 + j], t[6 + j]),
            ];
            columns[2 + j] = _mm512_shuffle_i64x2::<0x88>(a, b);
            columns[6 + j] = _mm512_shuffle_i64x2::<0xdd>(a, b);
        }
        transmute(columns)
    }
}
