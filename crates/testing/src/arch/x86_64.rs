//! Instructions of x86-64, as Intel's documentation has them.

#[cfg(miri)]
pub use core::arch::x86_64::*;
#[cfg(not(miri))]
use core::arch::x86_64::{__m128i, __m512i, __mmask16};
use core::mem::transmute;

const MASK_52: u64 = (1 << 52) - 1;

fn map(a: __m512i, f: impl Fn(u64) -> u64) -> __m512i {
    // SAFETY: both are 64 bytes, and every value is valid.
    unsafe { transmute(transmute::<__m512i, [u64; 8]>(a).map(f)) }
}

fn map_32(a: __m512i, f: impl Fn(usize, u32) -> u32) -> __m512i {
    // SAFETY: as in `map`.
    let a = unsafe { transmute::<__m512i, [u32; 16]>(a) };
    let mapped: [u32; 16] = core::array::from_fn(|i| f(i, a[i]));
    // SAFETY: as in `map`.
    unsafe { transmute(mapped) }
}

/// The lower word, which counts as a whole.
fn count(count: __m128i) -> u32 {
    // SAFETY: both are 16 bytes, and every value is valid.
    let [count, _] = unsafe { transmute::<__m128i, [u64; 2]>(count) };
    count.min(64) as u32
}

fn multiply_add(a: __m512i, b: __m512i, c: __m512i, part: impl Fn(u128) -> u64) -> __m512i {
    // SAFETY: as in `map`.
    let [a, b, c] = [a, b, c].map(|x| unsafe { transmute::<__m512i, [u64; 8]>(x) });
    let sums: [u64; 8] = core::array::from_fn(|i| {
        let product = u128::from(b[i] & MASK_52) * u128::from(c[i] & MASK_52);
        a[i].wrapping_add(part(product))
    });
    // SAFETY: as in `map`.
    unsafe { transmute(sums) }
}

/// vpsllq
#[target_feature(enable = "avx512f")]
pub fn _mm512_sll_epi64(a: __m512i, n: __m128i) -> __m512i {
    map(a, |x| x.checked_shl(count(n)).unwrap_or(0))
}

/// vpsrlq
#[target_feature(enable = "avx512f")]
pub fn _mm512_srl_epi64(a: __m512i, n: __m128i) -> __m512i {
    map(a, |x| x.checked_shr(count(n)).unwrap_or(0))
}

/// vpsraq
#[target_feature(enable = "avx512f")]
pub fn _mm512_sra_epi64(a: __m512i, n: __m128i) -> __m512i {
    map(a, |x| (x as i64 >> count(n).min(63)) as u64)
}

/// vpsrld
#[target_feature(enable = "avx512f")]
pub fn _mm512_srl_epi32(a: __m512i, n: __m128i) -> __m512i {
    map_32(a, |_, x| x.checked_shr(count(n)).unwrap_or(0))
}

/// vpslld under a mask
#[target_feature(enable = "avx512f")]
pub fn _mm512_mask_sll_epi32(src: __m512i, k: __mmask16, a: __m512i, n: __m128i) -> __m512i {
    // SAFETY: as in `map`.
    let src = unsafe { transmute::<__m512i, [u32; 16]>(src) };
    map_32(a, |i, x| {
        if k >> i & 1 == 1 {
            x.checked_shl(count(n)).unwrap_or(0)
        } else {
            src[i]
        }
    })
}

/// vpmadd52luq
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn _mm512_madd52lo_epu64(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    multiply_add(a, b, c, |product| product as u64 & MASK_52)
}

/// vpmadd52huq
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn _mm512_madd52hi_epu64(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    multiply_add(a, b, c, |product| (product >> 52) as u64)
}

#[cfg(all(test, not(miri), target_feature = "avx512ifma"))]
mod tests {
    use core::arch::x86_64 as cpu;
    use core::hint::black_box;

    use super::*;
    use crate::goldilocks::EDGES;

    fn words(x: __m512i) -> [u64; 8] {
        // SAFETY: as in `map`.
        unsafe { transmute(x) }
    }

    fn vector(first: usize) -> __m512i {
        let words: [u64; 8] = core::array::from_fn(|i| EDGES[(first + i) % EDGES.len()]);
        // SAFETY: as in `map`.
        unsafe { transmute(words) }
    }

    /// Shifts to the left, and of words of 32 bits: of [`super`], and of the CPU.
    fn lefts(a: __m512i, b: __m512i, n: __m128i) -> [[__m512i; 2]; 3] {
        // SAFETY: this is compiled for AVX-512 with IFMA.
        unsafe {
            [
                [_mm512_sll_epi64(a, n), cpu::_mm512_sll_epi64(a, n)],
                [_mm512_srl_epi32(a, n), cpu::_mm512_srl_epi32(a, n)],
                [
                    _mm512_mask_sll_epi32(b, 0x5a3c, a, n),
                    cpu::_mm512_mask_sll_epi32(b, 0x5a3c, a, n),
                ],
            ]
        }
    }

    /// Shifts of words of 64 bits to the right: of [`super`], and of the CPU.
    fn rights(a: __m512i, n: __m128i) -> [[__m512i; 2]; 2] {
        // SAFETY: this is compiled for AVX-512 with IFMA.
        unsafe {
            [
                [_mm512_srl_epi64(a, n), cpu::_mm512_srl_epi64(a, n)],
                [_mm512_sra_epi64(a, n), cpu::_mm512_sra_epi64(a, n)],
            ]
        }
    }

    fn assert_equal(pairs: &[[__m512i; 2]], a: __m512i, n: u64) {
        for [ours, theirs] in pairs {
            assert_eq!(words(*ours), words(*theirs), "{a:x?} by {n:x?}");
        }
    }

    /// The count `n`, which the compiler must not know: it would compute the CPU's result itself.
    fn count_vector(n: u64) -> __m128i {
        // SAFETY: both are 16 bytes.
        unsafe { transmute([black_box(n), 1]) }
    }

    #[test]
    fn instructions_are_those_of_the_cpu() {
        for first in 0..EDGES.len() {
            let (a, b, c) = (vector(first), vector(first + 3), vector(2 * first + 7));
            for n in [0, 1, 31, 32, 33, 52, 63, 64, 65, 1 << 32, u64::MAX] {
                assert_equal(&lefts(a, b, count_vector(n)), a, n);
                if n != 64 {
                    assert_equal(&rights(a, count_vector(n)), a, n);
                }
            }
            // SAFETY: this is compiled for AVX-512 with IFMA.
            let (ours, theirs) = unsafe {
                (
                    [
                        _mm512_madd52lo_epu64(a, b, c),
                        _mm512_madd52hi_epu64(a, b, c),
                    ],
                    [
                        cpu::_mm512_madd52lo_epu64(a, b, c),
                        cpu::_mm512_madd52hi_epu64(a, b, c),
                    ],
                )
            };
            assert_eq!(ours.map(words), theirs.map(words), "{a:x?} {b:x?} {c:x?}");
        }
    }

    /// A test of its own, since Bochs 2.7 and 3.0 leave a word as it is there.
    #[test]
    fn right_shifts_by_64_are_those_of_the_cpu() {
        for first in 0..EDGES.len() {
            let a = vector(first);
            assert_equal(&rights(a, count_vector(64)), a, 64);
        }
    }
}
