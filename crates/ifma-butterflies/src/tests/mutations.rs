//! The butterflies with one operation changed at a time: the values have to show each.

use std::string::String;

use p3_patches_testing::goldilocks::{self as plain, P};
use p3_patches_testing::mutation::{self, Equivalent, Mutated, MutationTest};

use super::lanes::Integer;
use super::{I, butterfly, inputs, layers};
use crate::gaussian::{Twiddle, ZERO, load, prepare, radix_2, radix_4, store};
use crate::vector::{Vector, Word};

type Lane = Mutated<Integer<false>>;

const EQUIVALENT: &[Equivalent] = &[
    Equivalent::new(
        "h.»and(V::splat((1 << 16) - 1)).shl(48)",
        "skipped",
        "the shift drops the other bits",
    ),
    Equivalent::new(
        "let low = »V::splat(0)",
        "constant + 1",
        "products are multiples of 2^4, and the shift drops what is below",
    ),
];

fn lane(x: u64) -> Lane {
    Mutated(Integer(x))
}

/// Words between layers, spread over their range, and what they stand for.
fn element(x: u64) -> ([Lane; 2], u64) {
    let spread = |x: u64| {
        let range = (1u128 << 52) - (1 << 41);
        (1 << 41) + ((u128::from(x) * range) >> 64) as u64
    };
    let [l, h] = [spread(x), spread(x.rotate_left(29))];
    ([l, h].map(lane), plain::add(l, plain::mul(I, h)))
}

fn is(words: [Lane; 2], x: u64) -> bool {
    store(words).0.0 % P == x
}

/// With and without a scale.
fn scales(scale: u64) -> [(Option<Twiddle<Lane>>, Option<u64>); 2] {
    [(None, None), (Some(prepare(lane(scale))), Some(scale % P))]
}

/// Mutates the operations that `value` runs; the first `equivalent` of [`EQUIVALENT`] are there.
fn examine(name: &str, equivalent: usize, value: &dyn Fn(&[u64; 7]) -> bool) -> String {
    MutationTest {
        name,
        files: &["gaussian.rs", mutation::AS_FUNCTION],
        bounds: None,
        inputs: &inputs(64),
        value,
        equivalent: &EQUIVALENT[..equivalent],
    }
    .run()
}

fn two_layers(&[a, b, c, d, t, s, scale]: &[u64; 7]) -> bool {
    let elements = [a, b, c, d].map(element);
    let (words, x) = (elements.map(|(words, _)| words), elements.map(|(_, x)| x));
    let [t, s] = [t, s].map(|t| t % P);
    let twiddles = [t, s, plain::mul(t, s)].map(|t| prepare(lane(t)));
    scales(scale).into_iter().all(|(prepared, scale)| {
        let results = radix_4(words, twiddles, prepared);
        let exact = layers(x, t, s, scale);
        results
            .into_iter()
            .zip(exact)
            .all(|(y, exact)| is(y, exact))
    })
}

fn one_layer(&[a, b, _, _, t, _, scale]: &[u64; 7]) -> bool {
    let [(a_words, a), (b_words, b)] = [a, b].map(element);
    let twiddle = prepare(lane(t));
    scales(scale).into_iter().all(|(prepared, scale)| {
        let results = radix_2([a_words, b_words], twiddle, prepared);
        let exact = butterfly(plain::mul(scale.unwrap_or(1), a), plain::mul(t % P, b));
        results
            .into_iter()
            .zip(exact)
            .all(|(y, exact)| is(y, exact))
    })
}

fn loaded(&[x, ..]: &[u64; 7]) -> bool {
    let [l, h] = load(lane(x));
    let [l_zero, h_zero] = ZERO.map(Vector::splat);
    is([l.wrapping_add(l_zero), h.wrapping_add(h_zero)], x % P)
}

#[test]
fn each_wrong_operation_is_noticed() {
    insta::assert_snapshot!("radix_4", examine("radix_4", 2, &two_layers));
    insta::assert_snapshot!("radix_2", examine("radix_2", 2, &one_layer));
    insta::assert_snapshot!("load", examine("load", 1, &loaded));
}
