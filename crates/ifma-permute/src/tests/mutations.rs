//! Limbs with one operation changed at a time: the bounds or the values have to show each.

use std::format;
use std::string::String;
use std::vec::Vec;

use p3_field::PrimeField64;
use p3_goldilocks::{
    MATRIX_DIAG_8_GOLDILOCKS, MATRIX_DIAG_12_GOLDILOCKS, MATRIX_DIAG_16_GOLDILOCKS,
};
use p3_patches_testing::mutation::{self, Equivalent, Mutated, MutationTest};
use p3_poseidon2::ExternalLayerConstants;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::lanes::Range;
use super::limb::wide_product;
use super::*;

const FILES: &[&str] = &["poseidon2_limbs.rs", mutation::AS_FUNCTION];

type Bounds = Mutated<Range>;
type Exact = Mutated<Integer<false>>;

/// Limbs between these.
fn ranges(l: [i128; 2], h: [i128; 2]) -> [Bounds; 2] {
    [l, h].map(|[low, high]| Mutated(Range::new(low, high)))
}

/// Any representative.
fn any_element() -> Bounds {
    Mutated(Range::any())
}

#[track_caller]
fn are_within(x: [Bounds; 2], limits: [[i128; 2]; 2]) {
    for (word, [low, high]) in x.into_iter().zip(limits) {
        word.0.is_within(low, high);
    }
}

fn element(x: u64) -> Exact {
    Mutated(Integer(x))
}

fn exact(x: [i64; 2]) -> [Exact; 2] {
    x.map(|word| element(word as u64))
}

fn limbs(x: [Exact; 2]) -> [i64; 2] {
    x.map(|word| word.0.0 as i64)
}

/// Operands whose products' columns carry within 2 of a limb, by solving for the lower limb of one: `l m - 2^8 high(l k)` is
/// next to a multiple of `2^52`.
fn operands_at_carries() -> Vec<[[i64; 2]; 2]> {
    let mut rng = SmallRng::seed_from_u64(52);
    let mut operands = Vec::new();
    for offset in -2i64..=2 {
        for _ in 0..16 {
            let l = rng.random_range(0..=MASK_52) | 1;
            let k = rng.random_range(0..(1u64 << 44) + (1 << 11));
            let column = ((wide_product(l, k) >> 52) as u64) << 8;
            let m = column.wrapping_add_signed(offset);
            let m = m.wrapping_mul(plain::inverse(l)) & MASK_52;
            operands.push([[l as i64, 0], [m as i64, k as i64]]);
        }
    }
    operands
}

/// The intervals of the module's documentation for what an S-box returns, with `e = 2^-4`.
const IMAGE: [[i128; 2]; 2] = [
    [(1 << 52) - (1 << 48), (5 << 52) - 1],
    [-(1 << 48), (3 << 52) - 1],
];

const NO_SIGN: Equivalent = Equivalent {
    place: "h.wrapping_add(l.»sar(52))",
    kind: "without the sign",
    why: "the lower limb of what becomes an operand is not negative",
};

const H: i128 = (1 << 44) + (1 << 11) - 1;
const L: i128 = MASK_52 as i128;

#[test]
fn operations_on_limbs() {
    let mut report = String::new();
    let representatives = mutation::sample(representative(), 64);
    let any = mutation::sample((lower(), upper()), 2048);
    let any: Vec<[i64; 2]> = any.into_iter().map(|(l, h)| [l, h]).collect();

    report += &MutationTest {
        name: "widen",
        files: FILES,
        bounds: Some(&|| are_within(Limbs::widen(any_element()), [[0, L], [0, (1 << 12) - 1]])),
        inputs: &representatives,
        value: &|&x| value(limbs(Limbs::widen(element(x)))) == x % P,
        equivalent: &[],
    }
    .run();

    report += &MutationTest {
        name: "reduce",
        files: FILES,
        bounds: Some(&|| {
            let (l, h) = ((1 << 63) - (1 << 32) - 1, (1 << 62) - (1 << 13) - 1);
            Limbs::reduce(ranges([-l, l], [-h, h]));
        }),
        inputs: &any,
        value: &|&[l, h]| {
            let h = h.clamp(-(1 << 62) + (1 << 13) + 1, (1 << 62) - (1 << 13) - 1);
            let Mutated(Integer(reduced)) = Limbs::reduce(exact([l, h]));
            reduced % P == value([l, h])
        },
        equivalent: &[],
    }
    .run();

    let with_constants: Vec<_> = any.iter().zip(representatives.iter().cycle()).collect();
    report += &MutationTest {
        name: "operand, that is carry",
        files: FILES,
        bounds: Some(&|| {
            // The range that `carry` takes, less the constant that comes first.
            let constant = Limbs::<Bounds>::constant(Goldilocks::new(0));
            let least = i128::from(constant[0]);
            let l = [(1 << 19) - least, (1 << 63) - (1 << 19) - 1 - least];
            let h = [-(1 << 63) + 8, (1 << 63) - 1];
            let [_, h] = poseidon2_limbs::operand(ranges(l, h), constant);
            are_within([h, h], [[0, H]; 2]);
        }),
        inputs: &with_constants,
        value: &|&(&[l, h], &c)| {
            let l = l.rem_euclid(1 << 61) - (7 << 52);
            let constant = Limbs::<Exact>::constant(Goldilocks::new(c));
            let [low, high] = limbs(poseidon2_limbs::operand(exact([l, h]), constant));
            let carried = value([low & L as i64, high]);
            let right = carried == plain::add(value([l, h]), c);
            assert!(!right || (0..=H).contains(&high.into()));
            right
        },
        equivalent: &[NO_SIGN],
    }
    .run();

    report += &MutationTest {
        name: "compact",
        files: FILES,
        bounds: Some(&|| {
            let l = (1 << 63) - (1 << 19) - 1;
            let all = ranges([-l, l], [-(1 << 63), (1 << 63) - 1]);
            are_within(Limbs::settle(all), [[0, L], [-(1 << 11), H]]);
        }),
        inputs: &any,
        value: &|&x| {
            let compact = limbs(Limbs::settle(exact(x)));
            let right = value(compact) == value(x);
            assert!(!right || (0..=L).contains(&compact[0].into()));
            assert!(!right || (-(1 << 11)..=H).contains(&compact[1].into()));
            right
        },
        equivalent: &[],
    }
    .run();

    let mut operands: Vec<[i64; 2]> = operands_at_carries().into_flattened();
    operands.extend(mutation::sample(operand(), 512));
    report += &MutationTest {
        name: "x7, that is product, square, combine and carry",
        files: FILES,
        bounds: Some(&|| {
            let mut x = [ranges([0, L], [0, H])];
            poseidon2_limbs::x7(&mut x);
            are_within(x[0], IMAGE);
        }),
        inputs: &operands,
        value: &|&x| {
            let mut image = [exact(x)];
            poseidon2_limbs::x7(&mut image);
            let image = limbs(image[0]);
            let right = value(image) == plain::power_7(value(x));
            for (limb, [low, high]) in image.into_iter().zip(IMAGE) {
                assert!(!right || (low..=high).contains(&limb.into()));
            }
            right
        },
        equivalent: &[NO_SIGN],
    }
    .run();

    for bits in [1, 2, 3, 4, 6, 8, 10, 32] {
        report += &MutationTest {
            name: &format!("div_2exp by {bits}"),
            files: FILES,
            bounds: Some(&|| {
                let (l, h) = ((1 << 63) - 1, (1 << 63) - 1);
                let quotient = Limbs::div_2exp(ranges([-l, l], [-h, h]), bits);
                let limit = |x: i128, plus: i128| [-(x >> bits) - plus - 1, (x >> bits) + plus];
                are_within(quotient, [limit(l, 1 << 52), limit(h, 1 << 44)]);
            }),
            inputs: &any,
            value: &|&x| {
                let quotient = value(limbs(Limbs::div_2exp(exact(x), bits)));
                plain::mul(quotient, 1 << bits) == value(x)
            },
            equivalent: &[],
        }
        .run();
    }
    insta::assert_snapshot!("limbs", report);
}

/// The layers between the S-boxes: an initial round, internal ones up to the second segment, a terminal one.
fn layers<const WIDTH: usize>(diagonal: [Goldilocks; WIDTH]) -> String {
    let constant = |i: usize| Goldilocks::new(0x0123_4567_89ab_cdef * (i as u64 + 1));
    let external: [_; WIDTH] = core::array::from_fn(constant);
    let external = std::vec![external];
    let internal: [_; 5] = core::array::from_fn(constant);
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
    fn permute<V: Limb, const WIDTH: usize>(
        external: &ExternalLayerConstants<Goldilocks, WIDTH>,
        internal: &[Goldilocks],
        state: [V; WIDTH],
    ) -> [[V; 2]; WIDTH] {
        let mut state = [state.map(Limbs::widen)];
        Rounds::<Limbs<V>, WIDTH>::new(external, internal).permute(&mut state);
        state[0]
    }
    MutationTest {
        name: &format!("layers of width {WIDTH}"),
        files: &["poseidon2_rounds.rs"],
        bounds: Some(&|| {
            for x in permute(&external, &internal, [any_element(); WIDTH]) {
                Limbs::reduce(x);
            }
        }),
        inputs: &states,
        value: &|&before| {
            let state = permute(&external, &internal, before.map(element));
            state.map(|x| value(limbs(x))) == paper.permute(before)
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
