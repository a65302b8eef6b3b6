//! Rows of protocols and whole proofs.

use p3_baby_bear::BabyBear;
use p3_keccak_air::KeccakAir;
use p3_koala_bear::KoalaBear;
use p3_sumcheck::strategy::VariableOrder::{Prefix, Suffix};

use crate::extension::{Quartic, Quintic};
use crate::poseidon2_air::{BabyBear16, Goldilocks8, KoalaBear16};
use crate::row::{Row, row};
use crate::stark::{proof, quotient};
use crate::{blake3, dot, fri, keccak, monty31, stark, sumcheck, whir};

/// As [`crate::rows::ROWS`].
#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    row("fri-commit/poseidon2-w8/2^18", |seed| fri::goldilocks(seed, 18)),
    row("fri-commit/quintic", |seed| fri::quintic(seed, 18)),
    row("stark-prove/keccak-air", |seed| proof::<KeccakAir, _>(seed, 1 << 12, stark::config)),
    row("stark-prove/keccak-air/2^10", |seed| proof::<KeccakAir, _>(seed, 1 << 10, stark::config)).quick(),
    row("stark-prove/keccak-air-batch", |seed| stark::keccak_batch(seed, 12)),
    row("stark-prove/keccak-air-blake3", |seed| proof::<KeccakAir, _>(seed, 1 << 12, blake3::config)),
    row("stark-prove/keccak-air-koala-bear", |seed| proof::<KeccakAir, _>(seed, 1 << 12, monty31::config::<KoalaBear>)),
    row("stark-prove/keccak-air-koala-bear-keccak", |seed| proof::<KeccakAir, _>(seed, 1 << 12, keccak::config::<KoalaBear>)),
    row("stark-prove/keccak-air-baby-bear", |seed| proof::<KeccakAir, _>(seed, 1 << 12, monty31::config::<BabyBear>)),
    row("stark-prove/poseidon2-air", |seed| proof::<Goldilocks8, _>(seed, 1 << 12, stark::config)),
    row("stark-prove/poseidon2-air-koala-bear-keccak", |seed| proof::<KoalaBear16, _>(seed, 1 << 13, keccak::config::<KoalaBear>)),
    row("stark-prove/poseidon2-air-baby-bear", |seed| proof::<BabyBear16, _>(seed, 1 << 12, monty31::config::<BabyBear>)),
    row("quotient/keccak-air", |seed| quotient::<KeccakAir, _>(seed, 1 << 12, stark::config)).quick(),
    row("quotient/keccak-air-koala-bear", |seed| quotient::<KeccakAir, _>(seed, 1 << 12, monty31::config::<KoalaBear>)),
    row("quotient/poseidon2-air-koala-bear", |seed| quotient::<KoalaBear16, _>(seed, 1 << 13, monty31::config::<KoalaBear>)),
    row("open/goldilocks/2^15x2633", |seed| dot::open(seed, 15, 2633)),
    row("sumcheck-round/quintic", |seed| sumcheck::prefix_rounds(seed, 14)),
    row("sumcheck-round/quintic-suffix", |seed| sumcheck::suffix_rounds(seed, 14)),
    row("sumcheck-prove/quintic", |seed| sumcheck::prove::<KoalaBear, Quintic, _>(seed, 18, Prefix, monty31::challenger::<KoalaBear>())).quick(),
    row("sumcheck-prove/quintic-suffix", |seed| sumcheck::prove::<KoalaBear, Quintic, _>(seed, 18, Suffix, monty31::challenger::<KoalaBear>())),
    row("sumcheck-prove/quartic/koala-bear", |seed| sumcheck::prove::<KoalaBear, Quartic<_>, _>(seed, 18, Prefix, monty31::challenger::<KoalaBear>())),
    row("sumcheck-prove/quartic/baby-bear", |seed| sumcheck::prove::<BabyBear, Quartic<_>, _>(seed, 18, Prefix, monty31::challenger::<BabyBear>())),
    row("whir-prove/quintic", |seed| whir::prove(seed, 18)),
    row("equal/fri-commit/poseidon2-w8", |seed| fri::goldilocks(seed, 9)),
    row("equal/fri-commit/quintic", |seed| fri::quintic(seed, 9)),
    row("equal/stark-prove/keccak-air", |seed| proof::<KeccakAir, _>(seed, 1 << 5, stark::config)),
    row("equal/stark-prove/keccak-air-batch", |seed| stark::keccak_batch(seed, 5)),
    row("equal/stark-prove/keccak-air-blake3", |seed| proof::<KeccakAir, _>(seed, 1 << 5, blake3::config)),
    row("equal/stark-prove/keccak-air-koala-bear", |seed| proof::<KeccakAir, _>(seed, 1 << 5, monty31::config::<KoalaBear>)),
    row("equal/stark-prove/keccak-air-koala-bear-keccak", |seed| proof::<KeccakAir, _>(seed, 1 << 5, keccak::config::<KoalaBear>)),
    row("equal/stark-prove/keccak-air-baby-bear", |seed| proof::<KeccakAir, _>(seed, 1 << 5, monty31::config::<BabyBear>)),
    row("equal/stark-prove/poseidon2-air", |seed| proof::<Goldilocks8, _>(seed, 1 << 3, stark::config)),
    row("equal/stark-prove/poseidon2-air-koala-bear-keccak", |seed| proof::<KoalaBear16, _>(seed, 1 << 3, keccak::config::<KoalaBear>)),
    row("equal/stark-prove/poseidon2-air-baby-bear", |seed| proof::<BabyBear16, _>(seed, 1 << 3, monty31::config::<BabyBear>)),
    row("equal/quotient/keccak-air", |seed| quotient::<KeccakAir, _>(seed, 1 << 5, stark::config)),
    row("equal/quotient/keccak-air-koala-bear", |seed| quotient::<KeccakAir, _>(seed, 1 << 5, monty31::config::<KoalaBear>)),
    row("equal/quotient/poseidon2-air-koala-bear", |seed| quotient::<KoalaBear16, _>(seed, 1 << 3, monty31::config::<KoalaBear>)),
    row("equal/open/goldilocks", |seed| dot::open(seed, 6, 100)),
    row("equal/sumcheck-prove/quintic", |seed| sumcheck::prove::<KoalaBear, Quintic, _>(seed, 9, Prefix, monty31::challenger::<KoalaBear>())),
    row("equal/sumcheck-prove/quintic-suffix", |seed| sumcheck::prove::<KoalaBear, Quintic, _>(seed, 9, Suffix, monty31::challenger::<KoalaBear>())),
    row("equal/sumcheck-prove/quartic/koala-bear", |seed| sumcheck::prove::<KoalaBear, Quartic<_>, _>(seed, 9, Prefix, monty31::challenger::<KoalaBear>())),
    row("equal/sumcheck-prove/quartic/baby-bear", |seed| sumcheck::prove::<BabyBear, Quartic<_>, _>(seed, 9, Prefix, monty31::challenger::<BabyBear>())),
    row("equal/whir-prove/quintic", |seed| whir::prove(seed, 12)),
];
