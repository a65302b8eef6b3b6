//! Groups of states against Plonky3 as published, and the arithmetic of pairs on values that no random state reaches.

use core::arch::aarch64::uint64x2_t;
use core::array;
use core::mem::transmute;

use p3_field::PrimeField64;
use p3_patches_testing::goldilocks::{self as plain, P, representative};
use p3_patches_testing::mutation::sample;
use proptest::prelude::*;

use self::differential::{Kernel, Published};
use self::halves::{halves, value};
use super::*;
use crate::aarch64_neon::poseidon2_pair::over_2exp_32;
use crate::vector::Word;

#[path = "../../packed-poseidon2/src/tests/differential.rs"]
#[allow(dead_code)]
mod differential;
#[path = "../../packed-poseidon2/src/tests/halves.rs"]
mod halves;

#[cfg(mutated)]
mod instructions;
struct Interleaved;

impl Kernel<Goldilocks> for Interleaved {
    fn permute<const WIDTH: usize, const B: usize>(
        constants: &Published<WIDTH>,
        states: &mut [[Goldilocks; WIDTH]; B],
    ) {
        let rounds = Rounds::<Pair, WIDTH>::new(&constants.external, &constants.internal);
        if let Ok(states) = <&mut [_; BATCH]>::try_from(&mut states[..]) {
            permute_group(&rounds, states);
            return;
        }
        let mut unreduced = states.map(|state| state.map(Pair::widen));
        rounds.permute(&mut unreduced);
        *states = unreduced.map(|state| state.map(Pair::reduce));
    }
}

#[test]
fn states_match_the_published_permutation() {
    differential::check::<Interleaved, Goldilocks>();
}

#[test]
fn few_rounds_match_the_paper() {
    differential::check_few::<Interleaved, Goldilocks>();
}

fn pair(x: [i64; 2]) -> uint64x2_t {
    // SAFETY: 16 bytes without padding on both sides, all values valid.
    unsafe { transmute(x) }
}

fn element(x: [uint64x2_t; 1]) -> u64 {
    Pair::reduce(x).as_canonical_u64()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn reduce(x in halves()) {
        check_reduction(x);
    }

    #[test]
    fn widen_then_reduce(x in representative()) {
        prop_assert_eq!(element(Pair::widen(Goldilocks::new(x))), x % P);
    }

    #[test]
    fn sbox(x in halves(), constant in representative()) {
        check_sbox(x, constant);
    }

    #[test]
    fn div_2exp(
        x in halves(),
        bits in prop::sample::select(std::vec![1, 2, 3, 4, 5, 6, 8, 10, 32]),
    ) {
        check_quotient(x, bits);
    }

    #[test]
    fn quotients_have_the_words_of_the_vectors_text(x in halves()) {
        check_words_of_a_quotient(x);
    }
}

#[track_caller]
fn check_reduction(x: [i64; 2]) {
    assert_eq!(element([pair(x)]), value(x), "{x:x?}");
}

#[track_caller]
fn check_sbox(x: [i64; 2], constant: u64) {
    let mut result = [[pair(x)]];
    Pair::sbox(&mut result, &[Goldilocks::new(constant)]);
    let expected = plain::power_7(plain::add(value(x), constant));
    assert_eq!(element(result[0]), expected, "{x:x?} {constant:x}");
}

/// Lifted, but for 32 bits.
#[track_caller]
fn check_quotient(x: [i64; 2], bits: u32) {
    let x = if bits == 32 {
        x
    } else {
        x.map(|word| word & i64::MAX)
    };
    let quotient = element(Pair::div_2exp([pair(x)], bits));
    assert_eq!(
        plain::mul(quotient, 1 << bits),
        value(x),
        "{x:x?} / 2^{bits}"
    );
}

/// The words, not only their value: the rounds' bounds are those of packed-poseidon2's text.
#[track_caller]
fn check_words_of_a_quotient(x: [i64; 2]) {
    // SAFETY: as in `pair`.
    let words: [i64; 2] = unsafe { transmute(over_2exp_32(pair(x))) };
    assert_eq!(words, [x[0].wrapping_add(x[1]), x[0].wrapping_neg()]);
}

/// Few of them, for instructions that go wrong in an emulator.
#[test]
fn few_pairs_are_exact() {
    for (x, constant) in sample((halves(), representative()), 64) {
        let y = [constant as i64, !constant as i64];
        // SAFETY: as in `pair`.
        let difference: [i64; 2] = unsafe { transmute(pair(x).wrapping_sub(pair(y))) };
        assert_eq!(difference, array::from_fn(|i| x[i].wrapping_sub(y[i])));
        check_reduction(x);
        check_sbox(x, constant);
        check_words_of_a_quotient(x);
        for bits in [1, 6, 10, 32] {
            check_quotient(x, bits);
        }
    }
}
