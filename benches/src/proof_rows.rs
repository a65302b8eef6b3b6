//! Rows of protocols and whole proofs.

use p3_baby_bear::BabyBear;
use p3_goldilocks::Goldilocks;
use p3_keccak_air::KeccakAir;
use p3_koala_bear::KoalaBear;
use p3_sumcheck::strategy::VariableOrder::{Prefix, Suffix};

use crate::bits_air::Bits;
use crate::extension::{Quartic, Quintic};
use crate::poseidon2_air::{baby_bear_16, goldilocks_8, koala_bear_16};
use crate::row::{Family, Row, family, row};
use crate::stark::{Table, batch, proof, quotient, symbolic, verification};
use crate::{blake3, dot, fri, keccak, monty31, stark, sumcheck, whir};

/// The rows of proofs of all sizes.
#[rustfmt::skip]
pub const FAMILIES: &[Family] = &[
    family("open/goldilocks/2^Nx16", |seed, log_rows| dot::open(seed, log_rows, 16)),
    family("quotient/bits/2^Nx16", |seed, log_rows| quotient(seed, 1 << log_rows, || Bits { width: 16 }, stark::config)),
    family("stark-prove/bits/2^Nx16", |seed, log_rows| proof(seed, 1 << log_rows, || Bits { width: 16 }, stark::config)),
    family("stark-prove/bits-koala-bear/2^Nx16", |seed, log_rows| proof(seed, 1 << log_rows, || Bits { width: 16 }, monty31::config::<KoalaBear>)),
];

/// The rows of proofs, with the columns of [`crate::rows::ROWS`].
#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    row("fri-commit/poseidon2-w8/2^18", |seed| fri::goldilocks(seed, 18)),
    row("fri-commit/quintic", |seed| fri::quintic(seed, 18)),
    row("stark-prove/keccak-air", |seed| proof(seed, 1 << 12, || KeccakAir {}, stark::config)),
    row("stark-prove/keccak-air/2^10", |seed| proof(seed, 1 << 10, || KeccakAir {}, stark::config)).quick(),
    row("stark-prove/keccak-air-batch", |seed| batch(seed, || vec![(Table::Keccak, 12)])),
    row("stark-prove/keccak-air-blake3", |seed| proof(seed, 1 << 12, || KeccakAir {}, blake3::config)),
    row("stark-prove/keccak-air-koala-bear", |seed| proof(seed, 1 << 12, || KeccakAir {}, monty31::config::<KoalaBear>)),
    row("stark-prove/keccak-air-koala-bear-keccak", |seed| proof(seed, 1 << 12, || KeccakAir {}, keccak::config::<KoalaBear>)),
    row("stark-prove/keccak-air-baby-bear", |seed| proof(seed, 1 << 12, || KeccakAir {}, monty31::config::<BabyBear>)),
    row("stark-prove/poseidon2-air", |seed| proof(seed, 1 << 12, goldilocks_8, stark::config)),
    row("stark-prove/poseidon2-air-koala-bear-keccak", |seed| proof(seed, 1 << 13, koala_bear_16, keccak::config::<KoalaBear>)),
    row("stark-prove/poseidon2-air-koala-bear", |seed| proof(seed, 1 << 13, koala_bear_16, monty31::config::<KoalaBear>)),
    row("stark-prove/poseidon2-air-baby-bear-keccak", |seed| proof(seed, 1 << 12, baby_bear_16, keccak::config::<BabyBear>)),
    row("stark-prove/poseidon2-air-baby-bear", |seed| proof(seed, 1 << 12, baby_bear_16, monty31::config::<BabyBear>)),
    row("stark-prove/bits/2^14x2", |seed| proof(seed, 1 << 14, || Bits { width: 2 }, stark::config)),
    row("stark-prove/bits/2^14x4", |seed| proof(seed, 1 << 14, || Bits { width: 4 }, stark::config)),
    row("stark-prove/bits/2^14x8", |seed| proof(seed, 1 << 14, || Bits { width: 8 }, stark::config)),
    row("stark-prove/bits/2^14x16", |seed| proof(seed, 1 << 14, || Bits { width: 16 }, stark::config)),
    row("stark-prove/bits/2^14x32", |seed| proof(seed, 1 << 14, || Bits { width: 32 }, stark::config)),
    row("stark-prove/bits/2^14x128", |seed| proof(seed, 1 << 14, || Bits { width: 128 }, stark::config)),
    row("stark-prove/bits-koala-bear/2^14x2", |seed| proof(seed, 1 << 14, || Bits { width: 2 }, monty31::config::<KoalaBear>)),
    row("stark-prove/bits-koala-bear/2^14x4", |seed| proof(seed, 1 << 14, || Bits { width: 4 }, monty31::config::<KoalaBear>)),
    row("stark-prove/bits-koala-bear/2^14x8", |seed| proof(seed, 1 << 14, || Bits { width: 8 }, monty31::config::<KoalaBear>)),
    row("stark-prove/bits-koala-bear/2^14x16", |seed| proof(seed, 1 << 14, || Bits { width: 16 }, monty31::config::<KoalaBear>)),
    row("stark-prove/bits-koala-bear/2^14x20", |seed| proof(seed, 1 << 14, || Bits { width: 20 }, monty31::config::<KoalaBear>)),
    row("stark-prove/bits-koala-bear/2^14x32", |seed| proof(seed, 1 << 14, || Bits { width: 32 }, monty31::config::<KoalaBear>)),
    row("stark-prove/bits-koala-bear/2^14x128", |seed| proof(seed, 1 << 14, || Bits { width: 128 }, monty31::config::<KoalaBear>)),
    row("stark-prove/bits-batch", |seed| batch(seed, || bits_tables(14))),
    row("quotient/keccak-air", |seed| quotient(seed, 1 << 12, || KeccakAir {}, stark::config)).quick(),
    row("quotient/keccak-air-koala-bear", |seed| quotient(seed, 1 << 12, || KeccakAir {}, monty31::config::<KoalaBear>)),
    row("quotient/poseidon2-air-koala-bear", |seed| quotient(seed, 1 << 13, koala_bear_16, monty31::config::<KoalaBear>)),
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
    row("equal/stark-prove/keccak-air", |seed| proof(seed, 1 << 5, || KeccakAir {}, stark::config)),
    row("equal/stark-prove/keccak-air-batch", |seed| batch(seed, || vec![(Table::Keccak, 5)])),
    row("equal/stark-prove/keccak-air-blake3", |seed| proof(seed, 1 << 5, || KeccakAir {}, blake3::config)),
    row("equal/stark-prove/keccak-air-koala-bear", |seed| proof(seed, 1 << 5, || KeccakAir {}, monty31::config::<KoalaBear>)),
    row("equal/stark-prove/keccak-air-koala-bear-keccak", |seed| proof(seed, 1 << 5, || KeccakAir {}, keccak::config::<KoalaBear>)),
    row("equal/stark-prove/keccak-air-baby-bear", |seed| proof(seed, 1 << 5, || KeccakAir {}, monty31::config::<BabyBear>)),
    row("equal/stark-prove/poseidon2-air", |seed| proof(seed, 1 << 3, goldilocks_8, stark::config)),
    row("equal/stark-prove/poseidon2-air-koala-bear-keccak", |seed| proof(seed, 1 << 3, koala_bear_16, keccak::config::<KoalaBear>)),
    row("equal/stark-prove/poseidon2-air-koala-bear", |seed| proof(seed, 1 << 3, koala_bear_16, monty31::config::<KoalaBear>)),
    row("equal/stark-prove/poseidon2-air-baby-bear-keccak", |seed| proof(seed, 1 << 3, baby_bear_16, keccak::config::<BabyBear>)),
    row("equal/stark-prove/poseidon2-air-baby-bear", |seed| proof(seed, 1 << 3, baby_bear_16, monty31::config::<BabyBear>)),
    row("equal/stark-prove/bits-koala-bear/2^12x20", |seed| proof(seed, 1 << 12, || Bits { width: 20 }, monty31::config::<KoalaBear>)),
    row("equal/stark-prove/bits-batch", |seed| batch(seed, || bits_tables(12))),
    row("equal/quotient/keccak-air", |seed| quotient(seed, 1 << 5, || KeccakAir {}, stark::config)),
    row("equal/quotient/keccak-air-koala-bear", |seed| quotient(seed, 1 << 5, || KeccakAir {}, monty31::config::<KoalaBear>)),
    row("equal/quotient/poseidon2-air-koala-bear", |seed| quotient(seed, 1 << 3, koala_bear_16, monty31::config::<KoalaBear>)),
    row("equal/open/goldilocks", |seed| dot::open(seed, 6, 100)),
    row("equal/sumcheck-prove/quintic", |seed| sumcheck::prove::<KoalaBear, Quintic, _>(seed, 9, Prefix, monty31::challenger::<KoalaBear>())),
    row("equal/sumcheck-prove/quintic-suffix", |seed| sumcheck::prove::<KoalaBear, Quintic, _>(seed, 9, Suffix, monty31::challenger::<KoalaBear>())),
    row("equal/sumcheck-prove/quartic/koala-bear", |seed| sumcheck::prove::<KoalaBear, Quartic<_>, _>(seed, 9, Prefix, monty31::challenger::<KoalaBear>())),
    row("equal/sumcheck-prove/quartic/baby-bear", |seed| sumcheck::prove::<BabyBear, Quartic<_>, _>(seed, 9, Prefix, monty31::challenger::<BabyBear>())),
    row("equal/whir-prove/quintic", |seed| whir::prove(seed, 12)),
];

/// The rows of proofs that run on one thread whatever the pool has.
#[rustfmt::skip]
pub const SERIAL: &[Row] = &[
    row("stark-verify/keccak-air", |seed| verification(seed, 1 << 12, || KeccakAir {}, stark::config)),
    row("stark-verify/keccak-air-koala-bear", |seed| verification(seed, 1 << 12, || KeccakAir {}, monty31::config::<KoalaBear>)),
    row("symbolic/keccak-air", |_| symbolic::<Goldilocks, _>(1 << 12, KeccakAir {})).quick(),
    row("symbolic/poseidon2-air-koala-bear", |_| symbolic::<KoalaBear, _>(1 << 13, koala_bear_16())),
    row("equal/symbolic/keccak-air", |_| symbolic::<Goldilocks, _>(1 << 5, KeccakAir {})),
    row("equal/symbolic/poseidon2-air-koala-bear", |_| symbolic::<KoalaBear, _>(1 << 3, koala_bear_16())),
];

/// Three tables of several heights and widths.
fn bits_tables(log_rows: usize) -> Vec<(Table, usize)> {
    [(2, 0), (8, 1), (32, 3)]
        .map(|(width, shorter)| (Table::Bits(Bits { width }), log_rows - shorter))
        .to_vec()
}
