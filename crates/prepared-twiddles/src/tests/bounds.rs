//! The words of a product on intervals: none wraps, for any twiddle and any input.

use p3_goldilocks::Goldilocks;
use p3_patches_testing::goldilocks::{self as plain, P};
use p3_patches_testing::mutation::panics;

use super::EXTREME;
use super::lanes::{Integer, Range};
use crate::prepared_twiddle::{PreparedTwiddle, signed_digits};

const DIGITS: [i128; 2] = [-(1 << 31), (1 << 31) - 1];
/// Without the least digit.
const INNER: [i128; 2] = [-(1 << 31) + 1, (1 << 31) - 1];

/// Twiddles whose digits and constants are in these ranges.
fn run(w: [[i128; 2]; 2], v: [[i128; 2]; 2], constants: [[i128; 2]; 2]) {
    let range = |[low, high]: [i128; 2]| Range::new(low, high);
    let [bias, upper_bias] = [1 << 63, (1 << 63) - (1 << 32)];
    let prepared = PreparedTwiddle {
        w: w.map(range),
        v: v.map(range),
        constants: [
            range(constants[0].map(|c| c + bias)),
            range(constants[1].map(|c| c + upper_bias)),
        ],
    };
    prepared.butterfly(Range::any(), Range::any());
}

const CONSTANTS: [[i128; 2]; 2] = [DIGITS, [0, u32::MAX as i128]];

/// One of the two lower digits is not the least one, no upper one is.
#[test]
fn no_word_wraps() {
    run([INNER, INNER], [DIGITS, INNER], CONSTANTS);
    run([DIGITS, INNER], [INNER, INNER], CONSTANTS);
}

/// The digits and constants have to be what they are.
#[test]
fn bounds_have_no_slack() {
    let objects = |w, v, c| panics(|| run(w, v, c)).is_some();
    assert!(objects([DIGITS, INNER], [DIGITS, INNER], CONSTANTS));
    assert!(objects([INNER, DIGITS], [DIGITS, INNER], CONSTANTS));
    assert!(objects([INNER, INNER], [DIGITS, DIGITS], CONSTANTS));
    let [low, high] = CONSTANTS;
    let later = |[least, most]: [i128; 2], by: i128| [least, most + by];
    let earlier = |[least, most]: [i128; 2]| [least - 1, most];
    for constants in [
        [later(low, 1), high],
        [low, later(high, 2)],
        [low, earlier(high)],
    ] {
        assert!(objects([INNER, INNER], [DIGITS, INNER], constants));
    }
}

/// Twiddles with a least digit that the intervals exclude, as they are.
#[test]
fn extreme_twiddles_do_not_wrap() {
    for twiddle in EXTREME {
        let prepared = PreparedTwiddle::<Integer<false>>::new(Goldilocks::new(twiddle));
        let digit = |x: Integer<false>| [i128::from(x.0 as i32); 2];
        let [low, high] = prepared.constants.map(|c| i128::from(c.0));
        let [low, high] = [low - (1 << 63), high - (1 << 63) + (1 << 32)];
        run(
            prepared.w.map(digit),
            prepared.v.map(digit),
            [[low; 2], [high; 2]],
        );
    }
}

/// An upper digit is the least one where the documentation says so: it grows with the word, up to the jump.
#[test]
fn one_upper_digit_is_the_least() {
    let upper = |x| signed_digits(x)[1] as i32;
    let jump = (1 << 63) - (1 << 31);
    assert_eq!(
        [0, jump - 1, jump, jump + 1, P - 1].map(upper),
        [0, i32::MAX, i32::MIN, i32::MIN + 1, 0]
    );
}

/// The part that does not depend on the twiddle is a multiple of the order.
#[test]
fn biases_cancel() {
    let [low, high] = [1i128 << 63, (1 << 63) - (1 << 32)];
    assert_eq!(low + (high << 32) + (1 << 31), i128::from(P) << 31);
}

/// `[c0, c1]` are in range and stand for `2^31 (w + v + 1)`.
#[test]
fn constants_are_digits() {
    for w in EXTREME
        .into_iter()
        .chain([0, 1, P - 1, 1 << 31, P - (1 << 31)])
    {
        let [low, high] = PreparedTwiddle::<Integer<false>>::new(Goldilocks::new(w)).constants;
        let c0 = i128::from(low.0) - (1 << 63);
        let c1 = i128::from(high.0) - (1 << 63) + (1 << 32);
        assert!((DIGITS[0]..=DIGITS[1]).contains(&c0) && (0..1 << 32).contains(&c1));
        let sum = plain::add(plain::add(w, plain::mul(w, 1 << 32)), 1);
        assert_eq!(c0 + (c1 << 32), i128::from(plain::mul(sum, 1 << 31)));
    }
}
