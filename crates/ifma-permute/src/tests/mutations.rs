//! Limbs with one operation changed at a time: the bounds or the values have to show each.

use std::format;
use std::string::String;

use p3_goldilocks::{
    MATRIX_DIAG_8_GOLDILOCKS, MATRIX_DIAG_12_GOLDILOCKS, MATRIX_DIAG_16_GOLDILOCKS,
};
use p3_patches_testing::mutation::{self, Equivalent, Examination, Struck, strike};

use super::bounds::{Any, Bounds};
use super::*;

impl<T: Limb> Limb for Struck<T> {
    #[track_caller]
    fn splat(x: i64) -> Self {
        Self(T::splat(mutation::constant(x as u64) as i64))
    }

    #[track_caller]
    fn and(self, rhs: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x.and(rhs.0)))
    }

    #[track_caller]
    fn sar(self, bits: u32) -> Self {
        Self(if strike("without the sign") {
            self.0.shr(bits)
        } else {
            self.0.sar(mutation::distance(bits))
        })
    }

    #[track_caller]
    fn shr(self, bits: u32) -> Self {
        Self(self.0.shr(mutation::distance(bits)))
    }

    #[track_caller]
    fn add_product_low(self, a: Self, b: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x.add_product_low(a.0, b.0)))
    }

    #[track_caller]
    fn add_product_high(self, a: Self, b: Self) -> Self {
        Self(mutation::skippable(self.0, |x| {
            x.add_product_high(a.0, b.0)
        }))
    }

    fn low_52(self) -> Self {
        Self(self.0.low_52())
    }

    #[track_caller]
    fn low_32_times_epsilon(self) -> Self {
        Self(mutation::skippable(self.0, T::low_32_times_epsilon))
    }

    #[track_caller]
    fn add_modulo(x: Self, y: Self) -> Self {
        Self(if strike("carry lost") {
            x.0.wrapping_add(y.0)
        } else {
            T::add_modulo(x.0, y.0)
        })
    }
}

impl<E: LimbElement> LimbElement for Struck<E> {
    type Limb = Struck<E::Limb>;

    fn into_vector(self) -> Self::Limb {
        Struck(self.0.into_vector())
    }

    fn from_vector(vector: Self::Limb) -> Self {
        Self(E::from_vector(vector.0))
    }
}

const FILES: &[&str] = &["poseidon2_limbs.rs", mutation::AS_FUNCTION];

type Wide = Struck<Any>;
type Exact = Struck<Portable>;

/// Limbs between these.
fn ranges(l: [i128; 2], h: [i128; 2]) -> [Struck<Bounds>; 2] {
    [l, h].map(|[low, high]| Struck(Bounds(Interval::new(low, high))))
}

#[track_caller]
fn are_within(x: [Struck<Bounds>; 2], limits: [[i128; 2]; 2]) {
    for (Struck(Bounds(x)), [low, high]) in x.into_iter().zip(limits) {
        assert!(
            low <= x.low() && x.high() <= high,
            "{x:x?} leaves [{low:x}, {high:x}]"
        );
    }
}

fn exact(x: [i64; 2]) -> [Struck<PortableLimb>; 2] {
    x.map(|word| Struck(PortableLimb::splat(word)))
}

fn limbs(x: [Struck<PortableLimb>; 2]) -> [i64; 2] {
    x.map(|word| word.0.0 as i64)
}

fn element(x: u64) -> Exact {
    Struck(Portable(Goldilocks::new(x)))
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

    report += &Examination {
        name: "widen",
        files: FILES,
        bounds: Some(&|| are_within(Struck(Any).widen(), [[0, L], [0, (1 << 12) - 1]])),
        inputs: &representatives,
        value: &|&x| assert_eq!(value(limbs(element(x).widen())), x % P),
        equivalent: &[],
    }
    .run();

    report += &Examination {
        name: "reduce",
        files: FILES,
        bounds: Some(&|| {
            let (l, h) = ((1 << 63) - (1 << 32) - 1, (1 << 62) - (1 << 13) - 1);
            Wide::reduce(ranges([-l, l], [-h, h]));
        }),
        inputs: &any,
        value: &|&[l, h]| {
            let h = h.clamp(-(1 << 62) + (1 << 13) + 1, (1 << 62) - (1 << 13) - 1);
            let Struck(Portable(reduced)) = Exact::reduce(exact([l, h]));
            assert_eq!(reduced.as_canonical_u64(), value([l, h]));
        },
        equivalent: &[],
    }
    .run();

    let with_constants: Vec<_> = any.iter().zip(representatives.iter().cycle()).collect();
    report += &Examination {
        name: "operand, that is carry",
        files: FILES,
        bounds: Some(&|| {
            // What `carry` takes, less the constant that comes first.
            let constant = Any::constant(Goldilocks::new(0));
            let l = [
                (1 << 19) - constant[0] as i128,
                (1 << 63) - (1 << 19) - 1 - constant[0] as i128,
            ];
            let h = [-(1 << 63) + 8, (1 << 63) - 1];
            let [_, h] = poseidon2_limbs::operand(ranges(l, h), constant);
            are_within([h, h], [[0, H]; 2]);
        }),
        inputs: &with_constants,
        value: &|&(&[l, h], &c)| {
            let l = l.rem_euclid(1 << 61) - (7 << 52);
            let constant = Any::constant(Goldilocks::new(c));
            let [low, high] = limbs(poseidon2_limbs::operand(exact([l, h]), constant));
            assert!((0..=H).contains(&high.into()));
            let carried = value([low & L as i64, high]);
            assert_eq!(carried, plain::add(value([l, h]), c));
        },
        equivalent: &[NO_SIGN],
    }
    .run();

    report += &Examination {
        name: "compact",
        files: FILES,
        bounds: Some(&|| {
            let l = (1 << 63) - (1 << 19) - 1;
            let all = ranges([-l, l], [-(1 << 63), (1 << 63) - 1]);
            are_within(Wide::settle(all), [[0, L], [-(1 << 11), H]]);
        }),
        inputs: &any,
        value: &|&x| {
            let compact = limbs(Exact::settle(exact(x)));
            assert!((0..=L).contains(&compact[0].into()));
            assert!((-(1 << 11)..=H).contains(&compact[1].into()));
            assert_eq!(value(compact), value(x));
        },
        equivalent: &[],
    }
    .run();

    let mut operands: Vec<[i64; 2]> = operands_at_carries().into_flattened();
    operands.extend(mutation::sample(operand(), 512));
    report += &Examination {
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
            assert_eq!(value(image), plain::power_7(value(x)));
            for (limb, [low, high]) in image.into_iter().zip(IMAGE) {
                assert!((low..=high).contains(&limb.into()));
            }
        },
        equivalent: &[NO_SIGN],
    }
    .run();

    for bits in [1, 2, 3, 4, 6, 8, 10, 32] {
        report += &Examination {
            name: &format!("div_2exp by {bits}"),
            files: FILES,
            bounds: Some(&|| {
                let (l, h) = ((1 << 63) - 1, (1 << 63) - 1);
                let quotient = Wide::div_2exp(ranges([-l, l], [-h, h]), bits);
                let limit = |x: i128, plus: i128| [-(x >> bits) - plus - 1, (x >> bits) + plus];
                are_within(quotient, [limit(l, 1 << 52), limit(h, 1 << 44)]);
            }),
            inputs: &any,
            value: &|&x| {
                let quotient = value(limbs(Exact::div_2exp(exact(x), bits)));
                assert_eq!(plain::mul(quotient, 1 << bits), value(x));
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
    let external: [[Goldilocks; WIDTH]; 1] = [core::array::from_fn(constant)];
    let internal: [_; 5] = core::array::from_fn(constant);
    let canonical = |x: Goldilocks| x.as_canonical_u64();
    let paper = plain::Poseidon2 {
        initial: external.iter().map(|row| row.map(canonical)).collect(),
        internal: internal.iter().copied().map(canonical).collect(),
        terminal: external.iter().map(|row| row.map(canonical)).collect(),
        diagonal: diagonal.map(canonical),
    };
    let prepared = external.map(|row| row.map(Any::constant));
    let single = internal.map(Any::constant);
    let states: Vec<[u64; WIDTH]> = plain::states(1, |lanes| lanes[0])
        .into_iter()
        .rev()
        .take(8)
        .collect();
    Examination {
        name: &format!("layers of width {WIDTH}"),
        files: &["poseidon2_batch.rs"],
        bounds: Some(&|| {
            let rounds = Rounds::<Wide, WIDTH> {
                initial: Some(&prepared),
                internal: &single,
                terminal: &prepared,
            };
            let mut state = [[Struck(Any).widen(); WIDTH]];
            rounds.permute_unreduced::<1>(&mut state);
            for x in state[0] {
                Any::reduce(x.map(|word| word.0));
            }
        }),
        inputs: &states,
        value: &|&before| {
            let rounds = Rounds::<Exact, WIDTH> {
                initial: Some(&prepared),
                internal: &single,
                terminal: &prepared,
            };
            let mut state = [before.map(|x| element(x).widen())];
            rounds.permute_unreduced::<1>(&mut state);
            assert_eq!(state[0].map(|x| value(limbs(x))), paper.permute(before));
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
