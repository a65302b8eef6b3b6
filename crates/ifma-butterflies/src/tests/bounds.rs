//! The words of butterflies on intervals: none wraps, factors have 52 bits, and layers follow each other without end.

use p3_patches_testing::goldilocks::P;
use p3_patches_testing::mutation::panics;

use super::lanes::Range;
use crate::gaussian::{Twiddle, ZERO, load, prepare, radix_2, radix_4};

/// Words between layers.
const BETWEEN: [i128; 2] = [1 << 41, (1 << 52) - 1];

fn words([low, high]: [i128; 2]) -> [Range; 2] {
    [Range::new(low, high); 2]
}

#[track_caller]
fn are_between(x: impl IntoIterator<Item = [Range; 2]>) {
    let [low, high] = BETWEEN;
    x.into_iter()
        .flatten()
        .for_each(|word| word.is_within(low, high));
}

/// Both steps, with a scale and without one, of elements in these ranges.
fn run(x: [i128; 2], twiddle: Twiddle<Range>) {
    let x = words(x);
    for scale in [None, Some(twiddle)] {
        are_between(radix_2([x; 2], twiddle, scale));
        are_between(radix_4([x; 4], [twiddle; 3], scale));
    }
}

#[test]
fn prepared_twiddles_have_37_bits() {
    let Twiddle { w, v } = prepare(Range::any());
    w[0].is_within(0, ((1 << 32) + (1 << 16) - 2) << 4);
    w[1].is_within(0, ((1 << 32) - 1) << 4);
    v[0].is_within((1 << 16) << 4, ((1 << 32) + (1 << 16) - 1) << 4);
    v[1].is_within(((1 << 32) - (1 << 16) - 1) << 4, ((1 << 33) - 3) << 4);
}

#[test]
fn words_stay_within_their_bounds() {
    let twiddle = prepare(Range::any());
    run(BETWEEN, twiddle);
    let [l, h] = load(Range::any());
    l.is_within(0, (1 << 48) - 1);
    h.is_within(0, (1 << 16) - 1);
    run([0, (1 << 48) - 1], twiddle);
}

#[test]
fn bounds_have_no_slack() {
    let objects = |x, twiddle| panics(|| run(x, twiddle)).is_some();
    let twiddle = prepare(Range::any());
    assert!(objects([1 << 41, 1 << 52], twiddle));
    // Factors of 40 bits.
    let long = |word: [Range; 2]| word.map(|_| Range::new(0, 1 << 40));
    let Twiddle { w, v } = twiddle;
    assert!(objects(
        BETWEEN,
        Twiddle {
            w: long(w),
            v: long(v)
        }
    ));
    // The zero has to be a bit more than 2^50, for two products, and is one.
    for word in ZERO {
        assert!(((1 << 50) + (1 << 41)..(1 << 50) + (1 << 43)).contains(&word));
    }
    let [low, high] = ZERO.map(i128::from);
    assert_eq!((low + (high << 48)) % i128::from(P), 0);
}
