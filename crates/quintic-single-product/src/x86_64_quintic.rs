//! One product in the quintic extension by `X^5 + X^2 - 1`, with AVX2 (in AVX-512 builds, too).
//!
//! The product of `a` and `b` is `M a`, where column `j` of the matrix `M` is `X^j b`. Rows 0, 4, 3
//! and 2 of it are the windows of length 5 of one sequence of eight words,
//!
//! ```text
//! w = (b0, b4, b3, b2, e, f, g, h)    e = b1 - b4    f = b0 - b3    g = b4 - b2    h = b3 - e
//! ```
//!
//! so that a column is one permutation of one vector. Row 1, `(b1, b0, b4, b3, b2)`, is computed
//! beside them: its products in four lanes, then the sum across. A vector of eight 64-bit lanes
//! would hold all rows, and is slower: it is executed in two halves or on fewer ports. So is the
//! fifth row on the scalar units: its operands and its result cross over from vectors and back, in
//! a chain of products one after the other.

use core::arch::x86_64::{
    __m256i, _mm_add_epi32, _mm_blend_epi32, _mm_min_epu32, _mm_set1_epi32, _mm_setr_epi32,
    _mm_shuffle_epi32, _mm_sub_epi32, _mm256_add_epi32, _mm256_add_epi64, _mm256_blend_epi32,
    _mm256_cvtepu32_epi64, _mm256_min_epu32, _mm256_mul_epu32, _mm256_permute4x64_epi64,
    _mm256_permutevar8x32_epi32, _mm256_set_m128i, _mm256_set1_epi32, _mm256_set1_epi64x,
    _mm256_setr_epi32, _mm256_shuffle_epi32, _mm256_sub_epi32, _mm256_sub_epi64,
};
use core::mem::transmute;

use crate::{FieldParameters, MontyField31};

// BOUNDS
//
// Constants: P < 2^31
//            B = 2^32
//            μ = P^-1 mod B
// Input: all coefficients of a and b in [0, P)
// Output: all coefficients in [0, P)
//   1. the words of w in [0, P), but for h in [0, 2P)
//   2. S := the sum of the first four products of a row, in [0, 4P^2), where 4P^2 < 2PB < 2^64
//   3. S' := if S < PB then S else S - PB, in [0, PB)
//   4. C := S' + the fifth product, in [0, PB + 2P^2), where PB + 2P^2 < 2PB
//   5. C_hi := the high word of C, in [0, 2P), and C' := if C_hi < P then C_hi else C_hi - P,
//      in [0, P)
//   6. Q := μ C mod B, and D := C' - the high word of Q P, in (-P, P)
//   7. R := if D < 0 then D + P else D, in [0, P)
//
// Steps 3 and 5 subtract multiples of PB from C, whose low word they leave alone, so that Q is what
// μ C gives and B D = C - Q P (mod PB). As C = Q P (mod B), their low words cancel in step 6. Steps
// 3, 5 and 7 take the smaller of two words x and x - P: for x in [0, P) the latter wraps to 2^32 +
// x - P > x.

/// Multiplication in the quintic trinomial extension field (X^5 + X^2 - 1).
#[inline]
pub(crate) fn quintic_mul_packed_trinomial<FP: FieldParameters>(
    a: &[MontyField31<FP>; 5],
    b: &[MontyField31<FP>; 5],
    res: &mut [MontyField31<FP>; 5],
) {
    const {
        let (p, b) = (FP::PRIME as u128, 1 << FP::MONTY_BITS);
        assert!(FP::MONTY_BITS == 32 && p < 1 << 31);
        // Steps 2 and 4.
        assert!(4 * p * p < 2 * p * b && 2 * p * b < 1 << 64);
        assert!(p * b + 2 * p * p < 2 * p * b);
    }

    // SAFETY: this module is compiled for targets with AVX2 only, and `MontyField31` is a
    // transparent `u32`.
    let product: [MontyField31<FP>; 8] = unsafe {
        let a: [i32; 5] = transmute(*a);
        let b: [i32; 5] = transmute(*b);
        let p = _mm_set1_epi32(FP::PRIME as i32);

        let b03 = _mm_setr_epi32(b[0], b[1], b[2], b[3]);
        let b4 = _mm_set1_epi32(b[4]);
        // (b0, b4, b3, b2)
        let w_lo = _mm_blend_epi32::<0b0010>(_mm_shuffle_epi32::<0b10_11_00_00>(b03), b4);
        // vpshufd, then vpblendd for the word that is b4:
        //
        //     x       b1   b0   b4   b3
        //     y       b4   b3   b2   b1
        //     diff    e    f    g    b3 - b1
        let x = _mm_blend_epi32::<0b0100>(_mm_shuffle_epi32::<0b11_00_00_01>(b03), b4);
        let y = _mm_blend_epi32::<0b0001>(_mm_shuffle_epi32::<0b01_10_11_00>(b03), b4);
        let diff = _mm_sub_epi32(x, y);
        let diff = _mm_min_epu32(diff, _mm_add_epi32(diff, p));
        // h = (b3 - b1) + b4, which the fifth product, the only one with h, takes as it is.
        let w_hi = _mm_blend_epi32::<0b1000>(diff, _mm_add_epi32(diff, b4));
        let w = _mm256_set_m128i(w_hi, w_lo);

        // `vpmuludq` reads the even words: word 2i of a column is row i, and the words between do
        // not matter. `vpermd`:
        //
        //     w            0  1  2  3  4  5  6  7
        //     column(j)    j  .  j + 1  .  j + 2  .  j + 3  .
        let column = |j: i32| {
            _mm256_permutevar8x32_epi32(w, _mm256_setr_epi32(j, 0, j + 1, 0, j + 2, 0, j + 3, 0))
        };
        let times = |j: usize, column| _mm256_mul_epu32(_mm256_set1_epi32(a[j]), column);
        let sum01 = _mm256_add_epi64(times(0, _mm256_cvtepu32_epi64(w_lo)), times(1, column(1)));
        let sum23 = _mm256_add_epi64(times(2, column(2)), times(3, column(3)));
        let rows_0432 = reduce::<FP>(
            _mm256_add_epi64(sum01, sum23),
            times(4, _mm256_cvtepu32_epi64(w_hi)),
        );

        let a03 = _mm_setr_epi32(a[0], a[1], a[2], a[3]);
        let products = _mm256_mul_epu32(_mm256_cvtepu32_epi64(a03), _mm256_cvtepu32_epi64(x));
        // The sum across, in every lane: halves of the vector exchanged (vpermq), then the words of
        // each half (vpshufd).
        //
        //     products    p0        p1        p2        p3
        //     swapped     p2        p3        p0        p1
        //     sum         p0 + p2   p1 + p3   p0 + p2   p1 + p3
        let swapped = _mm256_permute4x64_epi64::<0b01_00_11_10>(products);
        let sum = _mm256_add_epi64(products, swapped);
        let sum = _mm256_add_epi64(sum, _mm256_shuffle_epi32::<0b01_00_11_10>(sum));
        let row_1 = reduce::<FP>(sum, times(4, _mm256_set1_epi32(b[2])));

        // The rows are in the high words of the lanes; `row_1` in all of them.
        let product =
            _mm256_permutevar8x32_epi32(rows_0432, _mm256_setr_epi32(1, 0, 7, 5, 3, 0, 0, 0));
        transmute(_mm256_blend_epi32::<0b0000_0010>(product, row_1))
    };
    res.copy_from_slice(&product[..5]);
}

/// Steps 3 to 7 in each 64-bit lane: the sum of four products, and the fifth. The result is in the
/// high word.
#[inline(always)]
fn reduce<FP: FieldParameters>(sum: __m256i, fifth: __m256i) -> __m256i {
    // SAFETY: this module is compiled for targets with AVX2 only.
    unsafe {
        // The low words of `x` and of `x - PB` are the same.
        let p_high = _mm256_set1_epi64x(i64::from(FP::PRIME) << 32);
        let fold = |x| _mm256_min_epu32(x, _mm256_sub_epi64(x, p_high));
        let c = _mm256_add_epi64(fold(sum), fifth);

        let p = _mm256_set1_epi32(FP::PRIME as i32);
        let q = _mm256_mul_epu32(c, _mm256_set1_epi32(FP::MONTY_MU as i32));
        // LLVM would see that the high words of `q` are not used and multiply by `vpmullq`, which
        // is three operations on Intel.
        #[cfg(all(target_feature = "avx512f", not(miri)))]
        let q = crate::confuse_compiler_256(q);
        let d = _mm256_sub_epi32(fold(c), _mm256_mul_epu32(q, p));
        _mm256_min_epu32(d, _mm256_add_epi32(d, p))
    }
}
