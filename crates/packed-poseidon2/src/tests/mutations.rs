//! Products, reductions, divisions and layers with one operation changed at a time: the bounds or the values have to show each.

use std::format;
use std::string::String;
use std::vec::Vec;

use p3_field::PrimeField64;
use p3_goldilocks::{
    Goldilocks, MATRIX_DIAG_8_GOLDILOCKS, MATRIX_DIAG_12_GOLDILOCKS, MATRIX_DIAG_16_GOLDILOCKS,
};
use p3_patches_testing::goldilocks::{self as plain, P, representative};
use p3_patches_testing::mutation::{self, Equivalent, Mutated, MutationTest};
use p3_poseidon2::ExternalLayerConstants;

use super::halves;
use super::lanes::{Integer, Range};
use crate::poseidon2_halves::{Halves, LIMIT, mul_unreduced, segment};
use crate::poseidon2_rounds::{Representation, Rounds};
use crate::vector::{Vector, mul, square};

const FILES: &[&str] = &["poseidon2_halves.rs", "vector.rs", mutation::AS_FUNCTION];

/// The largest magnitude that a reduction takes.
const REDUCIBLE: i128 = LIMIT as i128 - 1;

type Bounds = Mutated<Range>;
type Exact<const FLIPPED: bool> = Mutated<Integer<FLIPPED>>;

fn range(low: i128, high: i128) -> Bounds {
    Mutated(Range::new(low, high))
}

#[track_caller]
fn are_within(x: [Bounds; 2], ranges: [[i128; 2]; 2]) {
    for (word, [low, high]) in x.into_iter().zip(ranges) {
        word.0.is_within(low, high);
    }
}

fn exact<const FLIPPED: bool>(halves: [i64; 2]) -> [Exact<FLIPPED>; 2] {
    halves.map(|word| Mutated(Integer(word as u64)))
}

fn words<const FLIPPED: bool>(x: [Exact<FLIPPED>; 2]) -> [i64; 2] {
    x.map(|word| word.0.0 as i64)
}

fn value<const FLIPPED: bool>(x: [Exact<FLIPPED>; 2]) -> u64 {
    halves::value(words(x))
}

/// The bias of a product that is not reduced.
const ZERO_BIAS: &[Equivalent] = &[
    Equivalent {
        place: "wrapping_add(V::splat(bias[0]))",
        kind: "right operand lost",
        why: "it is zero",
    },
    Equivalent {
        place: "wrapping_add(V::splat(bias[1]))",
        kind: "right operand lost",
        why: "it is zero",
    },
];

/// The words of [`mul_unreduced`].
const PRODUCT: [[i128; 2]; 2] = [[-(2 << 32) + 1, (1 << 32) - 1], [0, (2 << 32) - 1]];

fn operations<const FLIPPED: bool>() -> String {
    let mut report = String::new();
    let operands = plain::operands();
    let any = || Mutated(Range::any());
    let word = |x: u64| Mutated(Integer::<FLIPPED>(x));
    let representatives = mutation::sample(representative(), 64);
    let inputs = mutation::sample(halves::halves(), 1024);

    report += &MutationTest {
        name: "mul",
        files: FILES,
        bounds: Some(&|| {
            mul(any(), any());
        }),
        inputs: &operands,
        value: &|&[x, y]| mul(word(x), word(y)).0.0 % P == plain::mul(x, y),
        equivalent: &[],
    }
    .run();
    report += &MutationTest {
        name: "square",
        files: FILES,
        bounds: Some(&|| {
            square(any());
        }),
        inputs: &plain::roots(&operands),
        value: &|&x| square(word(x)).0.0 % P == plain::mul(x, x),
        equivalent: &[],
    }
    .run();
    report += &MutationTest {
        name: "mul_unreduced",
        files: FILES,
        bounds: Some(&|| are_within(mul_unreduced(any(), any()), PRODUCT)),
        inputs: &operands,
        value: &|&[x, y]| {
            let product = mul_unreduced(word(x), word(y));
            let right = value(product) == plain::mul(x, y);
            for (word, [low, high]) in words(product).into_iter().zip(PRODUCT) {
                assert!(!right || (low..=high).contains(&word.into()));
            }
            right
        },
        equivalent: ZERO_BIAS,
    }
    .run();
    report += &MutationTest {
        name: "widen",
        files: FILES,
        bounds: Some(&|| are_within(Halves::widen(any()), [[0, 0xffff_ffff]; 2])),
        inputs: &representatives,
        value: &|&x| value(Halves::widen(word(x))) == x % P,
        equivalent: &[],
    }
    .run();
    report += &MutationTest {
        name: "reduce",
        files: FILES,
        bounds: Some(&|| {
            Halves::reduce([range(-REDUCIBLE, REDUCIBLE); 2]);
        }),
        inputs: &inputs,
        value: &|&x| {
            let Mutated(Integer(reduced)) = Halves::reduce(exact::<FLIPPED>(x));
            reduced % P == halves::value(x)
        },
        equivalent: &[],
    }
    .run();

    let constants: Vec<_> = inputs.iter().zip(representatives.iter().cycle()).collect();
    report += &MutationTest {
        name: "sbox",
        files: FILES,
        bounds: Some(&|| {
            let mut x = [[range(-REDUCIBLE, REDUCIBLE); 2]];
            let constant = Halves::<Bounds>::constant(Goldilocks::new(0));
            Halves::sbox(&mut x, &[constant]);
            are_within(x[0], PRODUCT);
        }),
        inputs: &constants,
        value: &|&(&x, &constant)| {
            let mut result = [exact::<FLIPPED>(x)];
            let addend = Halves::<Exact<FLIPPED>>::constant(Goldilocks::new(constant));
            Halves::sbox(&mut result, &[addend]);
            let sum = plain::add(halves::value(x), constant);
            value(result[0]) == plain::power_7(sum)
        },
        equivalent: ZERO_BIAS,
    }
    .run();

    for bits in [1, 2, 3, 4, 6, 8, 10, 32] {
        let lifted = |x: [i64; 2]| match bits {
            32 => x,
            _ => x.map(|word| word & i64::MAX >> 1),
        };
        report += &MutationTest {
            name: &format!("div_2exp by {bits}"),
            files: FILES,
            bounds: Some(&|| {
                let low = if bits == 32 { -REDUCIBLE } else { 0 };
                let quotient = Halves::div_2exp([range(low, REDUCIBLE); 2], bits);
                if bits != 32 {
                    are_within(quotient, [[-(1 << 32), (REDUCIBLE >> bits) + (1 << 33)]; 2]);
                }
            }),
            inputs: &inputs,
            value: &|&x| {
                let x = lifted(x);
                let quotient = value(Halves::div_2exp(exact::<FLIPPED>(x), bits));
                plain::mul(quotient, 1 << bits) == halves::value(x)
            },
            equivalent: &[],
        }
        .run();
    }

    for round in 0..segment(8) {
        report += &lift::<FLIPPED, 8>(&inputs, round);
        if round < segment(12) {
            report += &lift::<FLIPPED, 12>(&inputs, round);
            report += &lift::<FLIPPED, 16>(&inputs, round);
        }
    }
    report
}

fn lift<const FLIPPED: bool, const WIDTH: usize>(inputs: &[[i64; 2]], round: usize) -> String {
    MutationTest {
        name: &format!("lift of width {WIDTH}, round {round}"),
        files: FILES,
        bounds: None,
        inputs: &inputs[..16],
        value: &|&x| {
            let [low, high] = exact::<FLIPPED>(x);
            let lifted = [
                Halves::lift::<WIDTH>(low, 0, round),
                Halves::lift::<WIDTH>(high, 1, round),
            ];
            value(lifted) == halves::value(x)
        },
        equivalent: &[],
    }
    .run()
}

#[test]
fn operations_as_on_avx512() {
    insta::assert_snapshot!("avx512", operations::<false>());
}

#[test]
fn operations_as_on_avx2() {
    insta::assert_snapshot!("avx2", operations::<true>());
}

/// The layers between the S-boxes: an initial round, internal ones up to the second segment, a terminal one.
fn layers<const WIDTH: usize>(diagonal: [Goldilocks; WIDTH]) -> String {
    let constant = |i: usize| Goldilocks::new(0x0123_4567_89ab_cdef * (i as u64 + 1));
    let external: [_; WIDTH] = core::array::from_fn(constant);
    let external = std::vec![external];
    let internal: Vec<_> = (0..=segment(WIDTH)).map(constant).collect();
    let canonical = |x: Goldilocks| x.as_canonical_u64();
    let paper = plain::Poseidon2 {
        initial: external.iter().map(|row| row.map(canonical)).collect(),
        internal: internal.iter().copied().map(canonical).collect(),
        terminal: external.iter().map(|row| row.map(canonical)).collect(),
        diagonal: diagonal.map(canonical),
    };
    let external = ExternalLayerConstants::new(external.clone(), external);
    let states: Vec<[u64; WIDTH]> = plain::states(1, |lanes| lanes[0])
        .into_iter()
        .rev()
        .take(8)
        .collect();
    fn permute<V: Vector, const WIDTH: usize>(
        external: &ExternalLayerConstants<Goldilocks, WIDTH>,
        internal: &[Goldilocks],
        state: [V; WIDTH],
    ) -> [[V; 2]; WIDTH] {
        let mut state = [state.map(Halves::widen)];
        Rounds::<Halves<V>, WIDTH>::new(external, internal).permute(&mut state);
        state[0]
    }
    MutationTest {
        name: &format!("layers of width {WIDTH}"),
        files: &["poseidon2_rounds.rs"],
        bounds: Some(&|| {
            let state = permute(&external, &internal, [Mutated(Range::any()); WIDTH]);
            for x in state {
                are_within(x, [[-REDUCIBLE, REDUCIBLE]; 2]);
            }
        }),
        inputs: &states,
        value: &|&before| {
            let word = |x| Mutated(Integer::<true>(x));
            let state = permute(&external, &internal, before.map(word));
            state.map(value) == paper.permute(before)
        },
        equivalent: &[],
    }
    .run()
}

#[test]
fn layers_of_all_widths() {
    let report = layers(MATRIX_DIAG_8_GOLDILOCKS)
        + &layers(MATRIX_DIAG_12_GOLDILOCKS)
        + &layers(MATRIX_DIAG_16_GOLDILOCKS);
    insta::assert_snapshot!("layers", report);
}
