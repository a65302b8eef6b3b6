//! Rows of what a prover is made of: trees, transforms, the folding of codewords, sums over columns and rows.

use p3_baby_bear::BabyBear;
#[cfg(feature = "since-0-8")]
use p3_field::extension::BinomialExtensionField;
use p3_goldilocks::Goldilocks;
#[cfg(feature = "since-0-5")]
use p3_goldilocks::{
    default_goldilocks_poseidon2_8 as p2w8, default_goldilocks_poseidon2_12 as p2w12,
    poseidon1::default_goldilocks_poseidon1_8 as p1w8,
};
use p3_koala_bear::KoalaBear;

#[cfg(feature = "since-0-8")]
use crate::bits_air::Bits;
#[cfg(feature = "since-0-8")]
use crate::extension::Quartic;
#[cfg(feature = "since-0-6")]
use crate::keccak;
use crate::row::{Family, Row, family, row};
#[cfg(feature = "since-0-5")]
use crate::rows::p2w16;
#[cfg(feature = "since-0-8")]
use crate::stark::{self, proof};
use crate::{dft, permute};
#[cfg(feature = "since-0-8")]
use crate::{dot, fri};
#[cfg(feature = "since-0-5")]
use crate::{merkle, monty31};

/// The rows of components of all sizes.
#[rustfmt::skip]
pub const FAMILIES: &[Family] = &[
    #[cfg(feature = "since-0-5")]
    family("merkle-commit/poseidon2-w8/2^Nx8", |seed, log_rows| merkle::commit::<_, 8, 4, 2>(seed, p2w8(), 1 << log_rows, 8)),
    #[cfg(feature = "since-0-5")]
    family("merkle-commit/koala-bear-poseidon2-w16/2^Nx16", |seed, log_rows| merkle::root(monty31::mmcs::<KoalaBear>(), seed, 1 << log_rows, 16)),
    family("lde/goldilocks/2^Nx1", |seed, log_rows| dft::lde::<Goldilocks>(seed, log_rows, 1)),
    family("lde/goldilocks/2^Nx8", |seed, log_rows| dft::lde::<Goldilocks>(seed, log_rows, 8)),
    family("lde/koala-bear/2^Nx1", |seed, log_rows| dft::lde::<KoalaBear>(seed, log_rows, 1)),
    family("lde/koala-bear/2^Nx16", |seed, log_rows| dft::lde::<KoalaBear>(seed, log_rows, 16)),
];

/// The rows of components, with the columns of [`crate::rows::ROWS`].
#[rustfmt::skip]
pub const ROWS: &[&[Row]] = &[
    #[cfg(feature = "since-0-5")]
    &[
        row("merkle-commit/poseidon2-w8/2^14x8", |seed| merkle::commit::<_, 8, 4, 2>(seed, p2w8(), 1 << 14, 8)).quick(),
        row("merkle-commit/poseidon2-w8/2^16x8", |seed| merkle::commit::<_, 8, 4, 2>(seed, p2w8(), 1 << 16, 8)),
        row("merkle-commit/poseidon2-w8/2^18x8", |seed| merkle::commit::<_, 8, 4, 2>(seed, p2w8(), 1 << 18, 8)),
        row("merkle-commit/poseidon2-w8/2^16x64", |seed| merkle::commit::<_, 8, 4, 2>(seed, p2w8(), 1 << 16, 64)).quick(),
        row("merkle-commit/poseidon2-w8/2^14x1024", |seed| merkle::commit::<_, 8, 4, 2>(seed, p2w8(), 1 << 14, 1024)),
        row("merkle-commit/poseidon2-w12/2^16x64", |seed| merkle::commit::<_, 12, 8, 2>(seed, p2w12(), 1 << 16, 64)),
    ],
    #[cfg(feature = "since-0-6")]
    &[
        row("merkle-commit/poseidon2-w16-arity4/2^16x64", |seed| merkle::commit::<_, 16, 12, 4>(seed, p2w16(), 1 << 16, 64)),
        row("merkle-commit/koala-bear-keccak/2^16x64", |seed| merkle::root::<KoalaBear, _>(keccak::mmcs(), seed, 1 << 16, 64)),
        row("merkle-commit/baby-bear-keccak/2^16x64", |seed| merkle::root::<BabyBear, _>(keccak::mmcs(), seed, 1 << 16, 64)),
        row("merkle-commit/koala-bear-keccak/2^14x1024", |seed| merkle::root::<KoalaBear, _>(keccak::mmcs(), seed, 1 << 14, 1024)),
        row("merkle-commit/baby-bear-keccak/2^14x1024", |seed| merkle::root::<BabyBear, _>(keccak::mmcs(), seed, 1 << 14, 1024)),
    ],
    #[cfg(feature = "since-0-5")]
    &[
        row("merkle-commit/poseidon1-w8/2^16x64", |seed| merkle::commit::<_, 8, 4, 2>(seed, p1w8(), 1 << 16, 64)),
        row("merkle-commit/koala-bear-poseidon2-w16/2^16x64", |seed| merkle::root(monty31::mmcs::<KoalaBear>(), seed, 1 << 16, 64)),
    ],
    &[
        row("lde/goldilocks/2^13x2633", |seed| dft::lde::<Goldilocks>(seed, 13, 2633)),
        row("lde/goldilocks/2^16x64", |seed| dft::lde::<Goldilocks>(seed, 16, 64)).quick(),
        row("lde/goldilocks/2^16x9", |seed| dft::lde::<Goldilocks>(seed, 16, 9)),
        row("lde/goldilocks/2^18x8", |seed| dft::lde::<Goldilocks>(seed, 18, 8)),
        row("lde/goldilocks/2^20x4", |seed| dft::lde::<Goldilocks>(seed, 20, 4)),
        row("lde/goldilocks/2^20x2", |seed| dft::lde::<Goldilocks>(seed, 20, 2)).quick(),
        row("lde/goldilocks/2^22x1", |seed| dft::lde::<Goldilocks>(seed, 22, 1)),
        row("lde/goldilocks/2^5x64", |seed| dft::lde_chain::<Goldilocks>(seed, 5, 64)),
        row("lde/koala-bear/2^16x256", |seed| dft::lde::<KoalaBear>(seed, 16, 256)),
        row("lde/koala-bear/2^13x2633", |seed| dft::lde::<KoalaBear>(seed, 13, 2633)),
        row("lde/koala-bear/2^14x1312", |seed| dft::lde::<KoalaBear>(seed, 14, 1312)),
        row("lde/koala-bear/2^20x4", |seed| dft::lde::<KoalaBear>(seed, 20, 4)),
        row("lde/koala-bear/2^20x2", |seed| dft::lde::<KoalaBear>(seed, 20, 2)),
        row("lde/koala-bear/2^20x1", |seed| dft::lde::<KoalaBear>(seed, 20, 1)),
        row("lde/baby-bear/2^16x256", |seed| dft::lde::<BabyBear>(seed, 16, 256)),
        row("dft/goldilocks/2^16x64", |seed| dft::dft::<Goldilocks>(seed, 16, 64)),
        row("lde-small-batch/goldilocks/2^18x8", |seed| dft::lde_small_batch(seed, 18, 8)),
        row("lde-small-batch/goldilocks/2^20x4", |seed| dft::lde_small_batch(seed, 20, 4)),
        row("lde-small-batch/goldilocks/2^20x2", |seed| dft::lde_small_batch(seed, 20, 2)),
        row("lde-small-batch/goldilocks/2^20x2/bit-reversed", |seed| dft::lde_small_batch_bit_reversed(seed, 20, 2)),
        row("lde-small-batch/goldilocks/2^22x1", |seed| dft::lde_small_batch(seed, 22, 1)),
    ],
    #[cfg(feature = "since-0-8")]
    &[
        row("fri-fold/quartic/koala-bear", |seed| fri::fold::<KoalaBear, Quartic<_>>(seed, 18)),
        row("fri-fold/quartic/baby-bear", |seed| fri::fold::<BabyBear, Quartic<_>>(seed, 18)),
        row("dot-columns/goldilocks/2^15x2633", |seed| dot::columns::<Goldilocks, fri::Challenge>(seed, 15, 2633)),
        row("dot-columns/goldilocks/2^18x64", |seed| dot::columns::<Goldilocks, fri::Challenge>(seed, 18, 64)).quick(),
        row("dot-columns/goldilocks/2^20x8", |seed| dot::columns::<Goldilocks, fri::Challenge>(seed, 20, 8)),
        row("dot-columns/koala-bear/2^18x64", |seed| dot::columns::<KoalaBear, Quartic<KoalaBear>>(seed, 18, 64)),
        row("dot-columns/baby-bear/2^18x64", |seed| dot::columns::<BabyBear, Quartic<BabyBear>>(seed, 18, 64)),
        row("dot-columns/koala-bear/2^20x8", |seed| dot::columns::<KoalaBear, Quartic<KoalaBear>>(seed, 20, 8)),
        row("dot-columns/koala-bear/2^15x2633", |seed| dot::columns::<KoalaBear, Quartic<KoalaBear>>(seed, 15, 2633)),
        row("dot-rows/goldilocks/2^16x2633", |seed| dot::rows::<Goldilocks, fri::Challenge>(seed, 16, 2633)),
        row("dot-rows/goldilocks/2^18x64", |seed| dot::rows::<Goldilocks, fri::Challenge>(seed, 18, 64)).quick(),
        row("dot-rows/koala-bear/2^18x64", |seed| dot::rows::<KoalaBear, Quartic<KoalaBear>>(seed, 18, 64)),
        row("dot-rows/baby-bear/2^18x64", |seed| dot::rows::<BabyBear, Quartic<BabyBear>>(seed, 18, 64)),
        row("dot-rows/koala-bear/2^16x2633", |seed| dot::rows::<KoalaBear, Quartic<KoalaBear>>(seed, 16, 2633)),
    ],
    #[cfg(feature = "since-0-5")]
    &[
        row("equal/merkle/poseidon2-w8", |seed| merkle::odd_shapes::<_, 8, 4, 2>(seed, p2w8())),
        row("equal/merkle/poseidon2-w12", |seed| merkle::odd_shapes::<_, 12, 8, 2>(seed, p2w12())),
        row("equal/merkle/poseidon2-w16", |seed| merkle::odd_shapes::<_, 16, 12, 2>(seed, p2w16())),
    ],
    #[cfg(feature = "since-0-6")]
    &[
        row("equal/merkle/poseidon2-w16-arity4", |seed| merkle::odd_shapes::<_, 16, 12, 4>(seed, p2w16())),
    ],
    #[cfg(feature = "since-0-5")]
    &[
        row("equal/merkle/poseidon1-w8", |seed| merkle::odd_shapes::<_, 8, 4, 2>(seed, p1w8())),
    ],
    &[
        row("equal/lde/goldilocks", |seed| dft::odd_shapes(seed, &dft::goldilocks_edges())),
        row("equal/lde/koala-bear", |seed| dft::odd_shapes::<KoalaBear>(seed, &permute::montgomery_edges())),
        row("equal/lde/baby-bear", |seed| dft::odd_shapes::<BabyBear>(seed, &permute::montgomery_edges())),
    ],
    #[cfg(feature = "since-0-8")]
    &[
        row("equal/fri-fold/quartic/koala-bear", |seed| fri::fold::<KoalaBear, Quartic<_>>(seed, 9)),
        row("equal/fri-fold/quartic/baby-bear", |seed| fri::fold::<BabyBear, Quartic<_>>(seed, 9)),
        row("equal/dot/goldilocks", |seed| dot::odd_shapes::<_, fri::Challenge>(seed, &dft::goldilocks_edges())),
        row("equal/dot/goldilocks-degree-5", |seed| dot::odd_shapes::<_, BinomialExtensionField<_, 5>>(seed, &dft::goldilocks_edges())),
        row("equal/dot/koala-bear", |seed| dot::odd_shapes::<KoalaBear, Quartic<KoalaBear>>(seed, &permute::montgomery_edges())),
        row("equal/dot/baby-bear", |seed| dot::odd_shapes::<BabyBear, Quartic<BabyBear>>(seed, &permute::montgomery_edges())),
        row("equal/dot/baby-bear-degree-5", |seed| dot::odd_shapes::<BabyBear, BinomialExtensionField<_, 5>>(seed, &permute::montgomery_edges())),
    ],
    // Proofs of a plain AIR over one field show what a proof allocates.
    #[cfg(feature = "since-0-8")]
    &[
        row("equal/stark-prove/bits/2^12x2", |seed| proof(seed, 1 << 12, || Bits { width: 2 }, stark::config)),
        row("equal/stark-prove/bits/2^12x32", |seed| proof(seed, 1 << 12, || Bits { width: 32 }, stark::config)),
        row("equal/stark-prove/bits/2^12x128", |seed| proof(seed, 1 << 12, || Bits { width: 128 }, stark::config)),
    ],
];
