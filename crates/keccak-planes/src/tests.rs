//! Each instruction set against the permutation of one state as published, and its operations against those of words.

use core::array;

use p3_keccak::KeccakF;
use p3_symmetric::Permutation;
use proptest::prelude::*;

use core::arch::x86_64::__m128i;
#[cfg(target_feature = "avx2")]
use core::arch::x86_64::__m256i;

use crate::planes::{Words, permute};

/// Checks that interleaved states become what each becomes by itself.
fn assert_permuted<W: Words<N>, const N: usize>(states: [[u64; 25]; N]) {
    let mut interleaved: [[u64; N]; 25] = array::from_fn(|i| states.map(|state| state[i]));
    // SAFETY: each caller names an instruction set that the build has.
    unsafe { permute::<W, N>(&mut interleaved) };
    let expected = states.map(|state| KeccakF.permute(state));
    assert_eq!(
        interleaved,
        array::from_fn(|i| expected.map(|state| state[i]))
    );
}

/// Checks states made of these words on each instruction set that the build has. Each lane has another state.
fn assert_permuted_everywhere(word: impl Fn(usize, usize) -> u64) {
    let state = |lane| array::from_fn(|i| word(lane, i));
    assert_permuted::<__m128i, 2>(array::from_fn(state));
    #[cfg(target_feature = "avx2")]
    assert_permuted::<__m256i, 4>(array::from_fn(state));
}

#[test]
fn states_of_edges() {
    assert_permuted_everywhere(|_, _| 0);
    assert_permuted_everywhere(|_, _| u64::MAX);
    // Each word of the state alone, in each lane alone.
    for at in 0..25 {
        for alone in 0..4 {
            assert_permuted_everywhere(|lane, i| match (lane == alone, i == at) {
                (true, true) => 1 << 63 | 1,
                _ => 0,
            });
        }
    }
}

/// The state of zeros becomes that of the Keccak team's file of test vectors, `KeccakF-1600-IntermediateValues.txt`.
#[test]
fn the_state_of_zeros() {
    let mut interleaved = [[0; 2]; 25];
    // SAFETY: each CPU of x86-64 has SSE2.
    unsafe { permute::<__m128i, 2>(&mut interleaved) };
    assert_eq!(interleaved[0], [0xf125_8f79_40e1_dde7; 2]);
    assert_eq!(interleaved[1], [0x84d5_ccf9_33c0_478a; 2]);
    assert_eq!(interleaved[24], [0xeaf1_ff7b_5cec_a249; 2]);
}

proptest! {
    #[test]
    fn states_of_any_words(words in any::<[[u64; 25]; 4]>()) {
        assert_permuted_everywhere(|lane, i| words[lane][i]);
    }

    #[test]
    fn operations_are_those_of_words(a in any::<[u64; 4]>(), b in any::<[u64; 4]>()) {
        assert_operations::<__m128i, 2>([a[0], a[1]], [b[0], b[1]]);
        #[cfg(target_feature = "avx2")]
        assert_operations::<__m256i, 4>(a, b);
    }
}

fn assert_operations<W: Words<N>, const N: usize>(a: [u64; N], b: [u64; N]) {
    let stored = |word: W| {
        let mut words = [0; N];
        word.store(&mut words);
        words
    };
    let [x, y] = [a, b].map(|words| W::load(&words));
    assert_eq!(stored(x), a);
    assert_eq!(stored(W::splat(a[0])), [a[0]; N]);
    assert_eq!(stored(x.xor(y)), array::from_fn(|i| a[i] ^ b[i]));
    assert_eq!(stored(x.and_not(y)), array::from_fn(|i| !a[i] & b[i]));
    // By an addition, by a shuffle of bytes, and by two shifts.
    assert_eq!(
        stored(x.rotate::<1, 63>()),
        a.map(|word| word.rotate_left(1))
    );
    assert_eq!(
        stored(x.rotate::<8, 56>()),
        a.map(|word| word.rotate_left(8))
    );
    assert_eq!(
        stored(x.rotate::<56, 8>()),
        a.map(|word| word.rotate_left(56))
    );
    assert_eq!(
        stored(x.rotate::<44, 20>()),
        a.map(|word| word.rotate_left(44))
    );
}
