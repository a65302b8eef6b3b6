//! Rows of protocols and whole proofs.

use p3_baby_bear::{BabyBear, Poseidon2BabyBear, default_babybear_poseidon2_16};
use p3_challenger::DuplexChallenger;
use p3_koala_bear::KoalaBear;
use p3_sumcheck::strategy::VariableOrder::{Prefix, Suffix};

use crate::extension::{Quartic, Quintic};
use crate::row::{Row, row};
use crate::{dot, fri, koala_bear, stark, sumcheck, whir};

fn bb_challenger() -> DuplexChallenger<BabyBear, Poseidon2BabyBear<16>, 16, 8> {
    DuplexChallenger::new(default_babybear_poseidon2_16())
}

/// As [`crate::rows::ROWS`].
#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    row("fri-commit/poseidon2-w8/2^18", |seed| fri::goldilocks(seed, 18)),
    row("fri-commit/quintic", |seed| fri::quintic(seed, 18)),
    row("stark-prove/keccak-air", |seed| stark::keccak(seed, 1 << 12)),
    row("stark-prove/keccak-air/2^10", |seed| stark::keccak(seed, 1 << 10)).quick(),
    row("stark-prove/keccak-air-batch", |seed| stark::keccak_batch(seed, 12)),
    row("stark-prove/keccak-air-blake3", |seed| stark::keccak_blake3(seed, 1 << 12)),
    row("stark-prove/keccak-air-koala-bear", |seed| stark::keccak_koala_bear(seed, 1 << 12)),
    row("stark-prove/keccak-air-koala-bear-keccak", |seed| stark::keccak_koala_bear_keccak(seed, 1 << 12)),
    row("quotient/keccak-air", |seed| stark::keccak_quotient(seed, 1 << 12)).quick(),
    row("quotient/keccak-air-koala-bear", |seed| stark::keccak_quotient_koala_bear(seed, 1 << 12)),
    row("open/goldilocks/2^15x2633", |seed| dot::open(seed, 15, 2633)),
    row("sumcheck-round/quintic", |seed| sumcheck::prefix_rounds(seed, 14)),
    row("sumcheck-round/quintic-suffix", |seed| sumcheck::suffix_rounds(seed, 14)),
    row("sumcheck-prove/quintic", |seed| sumcheck::prove::<KoalaBear, Quintic, _>(seed, 18, Prefix, koala_bear::challenger())).quick(),
    row("sumcheck-prove/quintic-suffix", |seed| sumcheck::prove::<KoalaBear, Quintic, _>(seed, 18, Suffix, koala_bear::challenger())),
    row("sumcheck-prove/quartic/koala-bear", |seed| sumcheck::prove::<KoalaBear, Quartic<_>, _>(seed, 18, Prefix, koala_bear::challenger())),
    row("sumcheck-prove/quartic/baby-bear", |seed| sumcheck::prove::<BabyBear, Quartic<_>, _>(seed, 18, Prefix, bb_challenger())),
    row("whir-prove/quintic", |seed| whir::prove(seed, 18)),
    row("equal/fri-commit/poseidon2-w8", |seed| fri::goldilocks(seed, 9)),
    row("equal/fri-commit/quintic", |seed| fri::quintic(seed, 9)),
    row("equal/stark-prove/keccak-air", |seed| stark::keccak(seed, 1 << 5)),
    row("equal/stark-prove/keccak-air-batch", |seed| stark::keccak_batch(seed, 5)),
    row("equal/open/goldilocks", |seed| dot::open(seed, 6, 100)),
    row("equal/stark-prove/keccak-air-blake3", |seed| stark::keccak_blake3(seed, 1 << 5)),
    row("equal/stark-prove/keccak-air-koala-bear", |seed| stark::keccak_koala_bear(seed, 1 << 5)),
    row("equal/stark-prove/keccak-air-koala-bear-keccak", |seed| stark::keccak_koala_bear_keccak(seed, 1 << 5)),
    row("equal/quotient/keccak-air", |seed| stark::keccak_quotient(seed, 1 << 5)),
    row("equal/quotient/keccak-air-koala-bear", |seed| stark::keccak_quotient_koala_bear(seed, 1 << 5)),
    row("equal/sumcheck-prove/quintic", |seed| sumcheck::prove::<KoalaBear, Quintic, _>(seed, 9, Prefix, koala_bear::challenger())),
    row("equal/sumcheck-prove/quintic-suffix", |seed| sumcheck::prove::<KoalaBear, Quintic, _>(seed, 9, Suffix, koala_bear::challenger())),
    row("equal/sumcheck-prove/quartic/koala-bear", |seed| sumcheck::prove::<KoalaBear, Quartic<_>, _>(seed, 9, Prefix, koala_bear::challenger())),
    row("equal/sumcheck-prove/quartic/baby-bear", |seed| sumcheck::prove::<BabyBear, Quartic<_>, _>(seed, 9, Prefix, bb_challenger())),
    row("equal/whir-prove/quintic", |seed| whir::prove(seed, 12)),
];
