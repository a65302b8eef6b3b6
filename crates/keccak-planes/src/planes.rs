//! Keccak-f\[1600\] on interleaved states, one plane of the result at a time.
//!
//! A round reads the state from memory and writes the next one beside it:
//!
//! ```text
//!     parities   c[x] = a[0][x] ^ .. ^ a[4][x]                  25 loads
//!     theta      d[x] = c[x - 1] ^ rotate(c[x + 1], 1)          five words, which stay
//!     for each plane y of the result:
//!         b[x]    = rotate(a[j][i] ^ d[i], r)                   five loads: theta, rho and pi
//!         e[y][x] = b[x] ^ (!b[x + 1] & b[x + 2])               chi, five stores
//! ```
//!
//! A plane takes the five words of `d` and five of `b`. Each step by itself takes all 25 words of
//! the state, and an instruction set with 16 registers has the compiler store and load words
//! between any two steps.

use core::arch::x86_64::*;
use core::mem::transmute;

/// A vector of words, one of each of `N` interleaved states. Its operations run only on a CPU that
/// has its instruction set.
pub trait Words<const N: usize>: Copy {
    /// Loads a word of each state.
    fn load(words: &[u64; N]) -> Self;

    /// Stores a word of each state.
    fn store(self, words: &mut [u64; N]);

    /// Returns the same word for each state.
    fn splat(word: u64) -> Self;

    /// Returns `self ^ other`.
    fn xor(self, other: Self) -> Self;

    /// Returns `!self & other`.
    fn and_not(self, other: Self) -> Self;

    /// Rotates each word to the left by `BITS`, which is not 0; `REST` is `64 - BITS`.
    fn rotate<const BITS: i32, const REST: i32>(self) -> Self;
}

impl Words<4> for __m256i {
    #[inline(always)]
    fn load(words: &[u64; 4]) -> Self {
        // SAFETY: the CPU has AVX2. The array is as long as the vector, and need not be aligned.
        unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store(self, words: &mut [u64; 4]) {
        // SAFETY: the CPU has AVX2. The array is as long as the vector, and need not be aligned.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), self) }
    }

    #[inline(always)]
    fn splat(word: u64) -> Self {
        // SAFETY: the CPU has AVX2.
        unsafe { _mm256_set1_epi64x(word.cast_signed()) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: the CPU has AVX2.
        unsafe { _mm256_xor_si256(self, other) }
    }

    #[inline(always)]
    fn and_not(self, other: Self) -> Self {
        // SAFETY: the CPU has AVX2.
        unsafe { _mm256_andnot_si256(self, other) }
    }

    #[inline(always)]
    fn rotate<const BITS: i32, const REST: i32>(self) -> Self {
        // SAFETY: the CPU has AVX2, and each byte of the control is one of a vector's.
        unsafe {
            match BITS {
                1 => _mm256_or_si256(_mm256_add_epi64(self, self), _mm256_srli_epi64::<63>(self)),
                8 | 56 => {
                    let control = const { transmute::<[u8; 32], Self>(byte_rotation(BITS)) };
                    _mm256_shuffle_epi8(self, control)
                }
                _ => _mm256_or_si256(
                    _mm256_slli_epi64::<BITS>(self),
                    _mm256_srli_epi64::<REST>(self),
                ),
            }
        }
    }
}

impl Words<2> for __m128i {
    #[inline(always)]
    fn load(words: &[u64; 2]) -> Self {
        // SAFETY: the CPU has SSE2. The array is as long as the vector, and need not be aligned.
        unsafe { _mm_loadu_si128(words.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store(self, words: &mut [u64; 2]) {
        // SAFETY: the CPU has SSE2. The array is as long as the vector, and need not be aligned.
        unsafe { _mm_storeu_si128(words.as_mut_ptr().cast(), self) }
    }

    #[inline(always)]
    fn splat(word: u64) -> Self {
        // SAFETY: the CPU has SSE2.
        unsafe { _mm_set1_epi64x(word.cast_signed()) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: the CPU has SSE2.
        unsafe { _mm_xor_si128(self, other) }
    }

    #[inline(always)]
    fn and_not(self, other: Self) -> Self {
        // SAFETY: the CPU has SSE2.
        unsafe { _mm_andnot_si128(self, other) }
    }

    #[inline(always)]
    fn rotate<const BITS: i32, const REST: i32>(self) -> Self {
        // SAFETY: the CPU has SSE2, and SSSE3 where the shuffle is compiled. Each byte of the
        // control is one of a vector's.
        unsafe {
            match BITS {
                1 => _mm_or_si128(_mm_add_epi64(self, self), _mm_srli_epi64::<63>(self)),
                8 | 56 if cfg!(target_feature = "ssse3") => {
                    let control = const { transmute::<[u8; 16], Self>(byte_rotation(BITS)) };
                    _mm_shuffle_epi8(self, control)
                }
                _ => _mm_or_si128(_mm_slli_epi64::<BITS>(self), _mm_srli_epi64::<REST>(self)),
            }
        }
    }
}

/// Returns the control of a shuffle that rotates each word to the left by `bits`, a multiple of 8.
const fn byte_rotation<const M: usize>(bits: i32) -> [u8; M] {
    let mut control = [0; M];
    let mut i = 0;
    while i < M {
        control[i] = (i as u8 & 8) | ((i as u8).wrapping_sub(bits as u8 / 8) & 7);
        i += 1;
    }
    control
}

/// The constants of iota, by round.
const CONSTANTS: [u64; 24] = [
    0x0000_0000_0000_0001,
    0x0000_0000_0000_8082,
    0x8000_0000_0000_808a,
    0x8000_0000_8000_8000,
    0x0000_0000_0000_808b,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8009,
    0x0000_0000_0000_008a,
    0x0000_0000_0000_0088,
    0x0000_0000_8000_8009,
    0x0000_0000_8000_000a,
    0x0000_0000_8000_808b,
    0x8000_0000_0000_008b,
    0x8000_0000_0000_8089,
    0x8000_0000_0000_8003,
    0x8000_0000_0000_8002,
    0x8000_0000_0000_0080,
    0x0000_0000_0000_800a,
    0x8000_0000_8000_000a,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8080,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8008,
];

/// A state that starts at a cache line, so that no vector lies in two of them.
#[repr(align(64))]
struct Aligned<T>(T);

/// Permutes interleaved states.
///
/// The caller is not inlined: a state that is held in local variables would be split into words
/// again.
///
/// # Safety
///
/// The CPU has the instruction set of `W`.
#[inline(always)]
pub unsafe fn permute<W: Words<N>, const N: usize>(state: &mut [[u64; N]; 25]) {
    let mut next = Aligned([[0; N]; 25]);
    for [even, odd] in CONSTANTS.as_chunks().0 {
        round::<W, N>(state, &mut next.0, *even);
        round::<W, N>(&next.0, state, *odd);
    }
}

/// Writes the state `a`, advanced by a round, to `e`. Word `5 * y + x` of a state is in column `x`
/// of plane `y`.
#[inline(always)]
fn round<W: Words<N>, const N: usize>(a: &[[u64; N]; 25], e: &mut [[u64; N]; 25], constant: u64) {
    let mut c = [W::splat(0); 5];
    for (x, c) in c.iter_mut().enumerate() {
        *c = W::load(&a[x]);
        for y in 1..5 {
            *c = c.xor(W::load(&a[5 * y + x]));
        }
    }
    let mut d = c;
    for (x, d) in d.iter_mut().enumerate() {
        *d = c[(x + 4) % 5].xor(c[(x + 1) % 5].rotate::<1, 63>());
    }
    // Takes the word `i` of the state and the bits by which rho rotates it, for each word of plane
    // `y`.
    macro_rules! plane {
        ($y:expr, $(($i:expr, $bits:expr)),*) => {
            let b = [$(W::load(&a[$i]).xor(d[$i % 5]).rotate::<$bits, { 64 - $bits }>()),*];
            store(chi(b), e, $y);
        };
    }
    // Rho leaves the first word as it is, and iota is in this plane alone.
    let b = [
        W::load(&a[0]).xor(d[0]),
        W::load(&a[6]).xor(d[1]).rotate::<44, 20>(),
        W::load(&a[12]).xor(d[2]).rotate::<43, 21>(),
        W::load(&a[18]).xor(d[3]).rotate::<21, 43>(),
        W::load(&a[24]).xor(d[4]).rotate::<14, 50>(),
    ];
    let mut first = chi(b);
    first[0] = first[0].xor(W::splat(constant));
    store(first, e, 0);
    plane!(1, (3, 28), (9, 20), (10, 3), (16, 45), (22, 61));
    plane!(2, (1, 1), (7, 6), (13, 25), (19, 8), (20, 18));
    plane!(3, (4, 27), (5, 36), (11, 10), (17, 15), (23, 56));
    plane!(4, (2, 62), (8, 55), (14, 39), (15, 41), (21, 2));
}

#[inline(always)]
fn chi<W: Words<N>, const N: usize>(b: [W; 5]) -> [W; 5] {
    let mut plane = b;
    for x in 0..5 {
        plane[x] = b[x].xor(b[(x + 1) % 5].and_not(b[(x + 2) % 5]));
    }
    plane
}

/// Writes plane `y` of a state.
#[inline(always)]
fn store<W: Words<N>, const N: usize>(plane: [W; 5], e: &mut [[u64; N]; 25], y: usize) {
    for (x, word) in plane.into_iter().enumerate() {
        word.store(&mut e[5 * y + x]);
    }
}
