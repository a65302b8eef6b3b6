//! The table of rows. A row is one line here; what it does is in the module of its workload.

#[cfg(feature = "since-0-8")]
use p3_baby_bear::Poseidon2BabyBear;
use p3_baby_bear::{
    BabyBear, default_babybear_poseidon2_16 as bb16, default_babybear_poseidon2_24 as bb24,
};
#[cfg(feature = "since-0-6")]
use p3_baby_bear::{
    default_babybear_poseidon1_16 as bb1w16, default_babybear_poseidon1_24 as bb1w24,
};
#[cfg(feature = "since-0-8")]
use p3_challenger::DuplexChallenger;
use p3_field::Field;
#[cfg(feature = "since-0-8")]
use p3_field::extension::BinomialExtensionField;
#[cfg(feature = "since-0-8")]
use p3_goldilocks::MdsMatrixGoldilocks;
#[cfg(feature = "since-0-5")]
use p3_goldilocks::{
    Goldilocks, Poseidon2Goldilocks, default_goldilocks_poseidon2_8 as p2w8,
    default_goldilocks_poseidon2_12 as p2w12,
    poseidon1::{default_goldilocks_poseidon1_8 as p1w8, default_goldilocks_poseidon1_12 as p1w12},
};
use p3_koala_bear::{
    KoalaBear, default_koalabear_poseidon2_16 as kb16, default_koalabear_poseidon2_24 as kb24,
};
#[cfg(feature = "since-0-6")]
use p3_koala_bear::{
    default_koalabear_poseidon1_16 as kb1w16, default_koalabear_poseidon1_24 as kb1w24,
};
#[cfg(feature = "since-0-8")]
use p3_sumcheck::strategy::VariableOrder::{Prefix, Suffix};
#[cfg(feature = "since-0-5")]
use rand::{SeedableRng, rngs::SmallRng};

#[cfg(feature = "since-0-6")]
use crate::dft;
#[cfg(feature = "since-0-8")]
use crate::extension::PackedBinomial;
use crate::extension::{Packed as PackedKoala, PackedQuartic, PackedQuintic, Quartic, Quintic};
#[cfg(feature = "since-0-5")]
use crate::permute::p1w16;
#[cfg(feature = "since-0-5")]
use crate::row::{Packed, PackedWide};
use crate::row::{Row, row};
#[cfg(feature = "since-0-8")]
use crate::{dot, fri, phases, stark, sumcheck, whir};
use crate::{extension, permute};
#[cfg(feature = "since-0-5")]
use crate::{koala_bear, merkle};

type PackedBaby = <BabyBear as Field>::Packing;

/// Older releases have no default constants for this width.
#[cfg(feature = "since-0-5")]
fn p2w16() -> Poseidon2Goldilocks<16> {
    Poseidon2Goldilocks::new_from_rng_128(&mut SmallRng::seed_from_u64(16))
}

#[cfg(feature = "since-0-8")]
fn bb_challenger() -> DuplexChallenger<BabyBear, Poseidon2BabyBear<16>, 16, 8> {
    DuplexChallenger::new(bb16())
}

/// Every row. A slice has the rows that need the APIs of one release. Rows under `equal/` are small and odd: they compare
/// outputs and are measured only on request. Rows under `phase/` are for `cargo p3 phases`.
#[rustfmt::skip]
pub const ROWS: &[&[Row]] = &[
    #[cfg(feature = "since-0-5")]
    &[
        row("permute-chain/poseidon2-w8", |seed| permute::chain::<Packed, _, 8>(seed, p2w8())).quick(),
        row("permute-chain/poseidon2-w12", |seed| permute::chain::<Packed, _, 12>(seed, p2w12())),
        row("permute-chain/poseidon2-w16", |seed| permute::chain::<Packed, _, 16>(seed, p2w16())),
        row("permute-chain/poseidon2-w8/scalar", |seed| permute::chain::<Goldilocks, _, 8>(seed, p2w8())),
        row("permute-chain/poseidon2-w12/scalar", |seed| permute::chain::<Goldilocks, _, 12>(seed, p2w12())),
        row("permute-chain/poseidon2-w16/scalar", |seed| permute::chain::<Goldilocks, _, 16>(seed, p2w16())),
        row("permute-chain/poseidon1-w8", |seed| permute::chain::<Packed, _, 8>(seed, p1w8())),
        row("permute-chain/poseidon1-w12", |seed| permute::chain::<Packed, _, 12>(seed, p1w12())),
        row("permute-chain/poseidon1-w16", |seed| permute::chain::<PackedWide, _, 16>(seed, p1w16())),
    ],
    #[cfg(feature = "since-0-8")]
    &[
        row("permute-many/poseidon2-w8", |seed| permute::many::<Packed, _, 8, 2>(seed, p2w8())).quick(),
        row("permute-many/poseidon2-w12", |seed| permute::many::<Packed, _, 12, 3>(seed, p2w12())).quick(),
        row("permute-many/poseidon2-w16", |seed| permute::many::<Packed, _, 16, 4>(seed, p2w16())),
        row("permute-many/poseidon2-w8/scalar", |seed| permute::many::<Goldilocks, _, 8, 2>(seed, p2w8())),
        row("permute-many/poseidon2-w12/scalar", |seed| permute::many::<Goldilocks, _, 12, 3>(seed, p2w12())),
        row("permute-many/poseidon2-w16/scalar", |seed| permute::many::<Goldilocks, _, 16, 4>(seed, p2w16())),
    ],
    #[cfg(feature = "since-0-5")]
    &[
        row("permute-many/poseidon1-w8", |seed| permute::many::<Packed, _, 8, 2>(seed, p1w8())),
        row("permute-many/poseidon1-w12", |seed| permute::many::<Packed, _, 12, 3>(seed, p1w12())),
        row("permute-many/poseidon1-w16", |seed| permute::many::<PackedWide, _, 16, 4>(seed, p1w16())),
    ],
    #[cfg(feature = "since-0-8")]
    &[
        row("permute-many/mds-w24", |seed| permute::each::<PackedWide, _, 24>(seed, MdsMatrixGoldilocks)),
    ],
    &[
        row("permute-many/koala-bear-poseidon2-w16", |seed| permute::each::<PackedKoala, _, 16>(seed, kb16())),
        row("permute-many/koala-bear-poseidon2-w24", |seed| permute::each::<PackedKoala, _, 24>(seed, kb24())),
        row("permute-many/baby-bear-poseidon2-w16", |seed| permute::each::<PackedBaby, _, 16>(seed, bb16())),
        row("permute-many/baby-bear-poseidon2-w24", |seed| permute::each::<PackedBaby, _, 24>(seed, bb24())),
    ],
    #[cfg(feature = "since-0-6")]
    &[
        row("permute-many/koala-bear-poseidon1-w16", |seed| permute::each::<PackedKoala, _, 16>(seed, kb1w16())),
        row("permute-many/koala-bear-poseidon1-w24", |seed| permute::each::<PackedKoala, _, 24>(seed, kb1w24())),
        row("permute-many/baby-bear-poseidon1-w16", |seed| permute::each::<PackedBaby, _, 16>(seed, bb1w16())),
        row("permute-many/baby-bear-poseidon1-w24", |seed| permute::each::<PackedBaby, _, 24>(seed, bb1w24())),
    ],
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
    ],
    #[cfg(feature = "since-0-5")]
    &[
        row("merkle-commit/poseidon1-w8/2^16x64", |seed| merkle::commit::<_, 8, 4, 2>(seed, p1w8(), 1 << 16, 64)),
        row("merkle-commit/koala-bear-poseidon2-w16/2^16x64", |seed| koala_bear::commit(seed, 1 << 16, 64)),
        row("merkle-commit-2t/poseidon2-w8/2^16x64", |seed| merkle::commit::<_, 8, 4, 2>(seed, p2w8(), 1 << 16, 64)).threads(2),
    ],
    #[cfg(feature = "since-0-6")]
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
        row("lde/koala-bear/2^20x4", |seed| dft::lde::<KoalaBear>(seed, 20, 4)),
        row("lde/baby-bear/2^16x256", |seed| dft::lde::<BabyBear>(seed, 16, 256)),
        row("lde-2t/goldilocks/2^16x64", |seed| dft::lde::<Goldilocks>(seed, 16, 64)).threads(2),
        row("dft/goldilocks/2^16x64", |seed| dft::dft::<Goldilocks>(seed, 16, 64)),
        row("lde-small-batch/goldilocks/2^18x8", |seed| dft::lde_small_batch(seed, 18, 8)),
        row("lde-small-batch/goldilocks/2^20x4", |seed| dft::lde_small_batch(seed, 20, 4)),
        row("lde-small-batch/goldilocks/2^20x2", |seed| dft::lde_small_batch(seed, 20, 2)),
        row("lde-small-batch/goldilocks/2^20x2/bit-reversed", |seed| dft::lde_small_batch_bit_reversed(seed, 20, 2)),
        row("lde-small-batch/goldilocks/2^22x1", |seed| dft::lde_small_batch(seed, 22, 1)),
    ],
    #[cfg(feature = "since-0-8")]
    &[
        row("fri-commit/poseidon2-w8/2^18", |seed| fri::goldilocks(seed, 18)),
        row("fri-commit/quintic", |seed| fri::quintic(seed, 18)),
        row("fri-fold/quartic/koala-bear", |seed| fri::fold::<KoalaBear, Quartic<_>>(seed, 18)),
        row("fri-fold/quartic/baby-bear", |seed| fri::fold::<BabyBear, Quartic<_>>(seed, 18)),

        row("stark-prove/keccak-air", |seed| stark::keccak(seed, 1 << 12)),
        row("stark-prove/keccak-air/2^10", |seed| stark::keccak(seed, 1 << 10)).quick(),
        row("stark-prove/keccak-air-batch", |seed| stark::keccak_batch(seed, 12)),
        row("stark-prove/keccak-air-blake3", |seed| stark::keccak_blake3(seed, 1 << 12)),
        row("stark-prove/keccak-air-koala-bear", |seed| stark::keccak_koala_bear(seed, 1 << 12)),
        row("quotient/keccak-air", |seed| stark::keccak_quotient(seed, 1 << 12)).quick(),

        row("dot-columns/goldilocks/2^15x2633", |seed| dot::columns::<Goldilocks, fri::Challenge>(seed, 15, 2633)),
        row("dot-columns/goldilocks/2^18x64", |seed| dot::columns::<Goldilocks, fri::Challenge>(seed, 18, 64)).quick(),
        row("dot-columns/goldilocks/2^20x8", |seed| dot::columns::<Goldilocks, fri::Challenge>(seed, 20, 8)),
        row("dot-columns/koala-bear/2^18x64", |seed| dot::columns::<KoalaBear, Quartic<KoalaBear>>(seed, 18, 64)),
        row("dot-columns/baby-bear/2^18x64", |seed| dot::columns::<BabyBear, Quartic<BabyBear>>(seed, 18, 64)),
        row("dot-columns/koala-bear/2^15x2633", |seed| dot::columns::<KoalaBear, Quartic<KoalaBear>>(seed, 15, 2633)),
        row("dot-rows/goldilocks/2^16x2633", |seed| dot::rows::<Goldilocks, fri::Challenge>(seed, 16, 2633)),
        row("dot-rows/goldilocks/2^18x64", |seed| dot::rows::<Goldilocks, fri::Challenge>(seed, 18, 64)).quick(),
        row("dot-rows/koala-bear/2^18x64", |seed| dot::rows::<KoalaBear, Quartic<KoalaBear>>(seed, 18, 64)),
        row("dot-rows/baby-bear/2^18x64", |seed| dot::rows::<BabyBear, Quartic<BabyBear>>(seed, 18, 64)),
        row("dot-rows/koala-bear/2^16x2633", |seed| dot::rows::<KoalaBear, Quartic<KoalaBear>>(seed, 16, 2633)),
        row("open/goldilocks/2^15x2633", |seed| dot::open(seed, 15, 2633)),
    ],
    &[
        row("quintic-mul-packed", extension::mul::<PackedQuintic>),
        row("quintic-mul-scalar", extension::mul::<Quintic>),
        row("quintic-mul-scalar/chain", extension::mul_chain::<Quintic>),
        row("quintic-mul-assign-packed", extension::mul_assign_packed::<PackedQuintic, Quintic>),
        row("quintic-square-packed", extension::square::<PackedQuintic>),
        row("quintic-square-scalar", extension::square::<Quintic>),

        row("quartic-mul-packed/koala-bear", extension::mul::<PackedQuartic<KoalaBear>>),
        row("quartic-mul-packed/baby-bear", extension::mul::<PackedQuartic<BabyBear>>),
        row("quartic-mul-assign-packed/koala-bear", extension::mul_assign_packed::<PackedQuartic<KoalaBear>, Quartic<KoalaBear>>),
        row("quartic-mul-assign-packed/baby-bear", extension::mul_assign_packed::<PackedQuartic<BabyBear>, Quartic<BabyBear>>),
        row("quartic-square-packed/koala-bear", extension::square::<PackedQuartic<KoalaBear>>),
        row("quartic-square-packed/baby-bear", extension::square::<PackedQuartic<BabyBear>>),
        row("quartic-mul/koala-bear", extension::mul::<Quartic<KoalaBear>>),
        row("quartic-mul/baby-bear", extension::mul::<Quartic<BabyBear>>),
        row("quartic-mul/koala-bear/chain", extension::mul_chain::<Quartic<KoalaBear>>),
        row("quartic-square/koala-bear", extension::square::<Quartic<KoalaBear>>),
        row("quartic-square/baby-bear", extension::square::<Quartic<BabyBear>>),
    ],
    #[cfg(feature = "since-0-8")]
    &[
        row("sumcheck-round/quintic", |seed| sumcheck::prefix_rounds(seed, 14)),
        row("sumcheck-round/quintic-suffix", |seed| sumcheck::suffix_rounds(seed, 14)),
        row("sumcheck-prove/quintic", |seed| sumcheck::prove::<KoalaBear, Quintic, _>(seed, 18, Prefix, koala_bear::challenger())).quick(),
        row("sumcheck-prove/quintic-suffix", |seed| sumcheck::prove::<KoalaBear, Quintic, _>(seed, 18, Suffix, koala_bear::challenger())),
        row("sumcheck-prove/quartic/koala-bear", |seed| sumcheck::prove::<KoalaBear, Quartic<_>, _>(seed, 18, Prefix, koala_bear::challenger())),
        row("sumcheck-prove/quartic/baby-bear", |seed| sumcheck::prove::<BabyBear, Quartic<_>, _>(seed, 18, Prefix, bb_challenger())),
        row("whir-prove/quintic", |seed| whir::prove(seed, 18)),

        row("phase/poseidon2-w8/external", phases::external::<Packed, 8>),
        row("phase/poseidon2-w8/scalar/external", phases::external::<Goldilocks, 8>),
        row("phase/poseidon2-w12/external", phases::external::<Packed, 12>),
        row("phase/poseidon2-w12/scalar/external", phases::external::<Goldilocks, 12>),
        row("phase/poseidon2-w16/external", phases::external::<Packed, 16>),
        row("phase/poseidon2-w16/scalar/external", phases::external::<Goldilocks, 16>),
    ],
    #[cfg(feature = "since-0-5")]
    &[
        row("equal/permute-chain/poseidon2-w8", |seed| permute::chain::<Packed, _, 8>(seed, p2w8())),
        row("equal/permute-chain/poseidon2-w12", |seed| permute::chain::<Packed, _, 12>(seed, p2w12())),
        row("equal/permute-chain/poseidon2-w16", |seed| permute::chain::<Packed, _, 16>(seed, p2w16())),
        row("equal/permute-chain/poseidon1-w8", |seed| permute::chain::<Packed, _, 8>(seed, p1w8())),
        row("equal/permute-chain/poseidon1-w12", |seed| permute::chain::<Packed, _, 12>(seed, p1w12())),
        row("equal/permute-chain/poseidon1-w16", |seed| permute::chain::<PackedWide, _, 16>(seed, p1w16())),
    ],
    #[cfg(feature = "since-0-8")]
    &[
        row("equal/batches/poseidon2-w8", |seed| permute::batches::<Packed, _, 8, 2>(seed, p2w8())),
        row("equal/batches/poseidon2-w12", |seed| permute::batches::<Packed, _, 12, 3>(seed, p2w12())),
        row("equal/batches/poseidon2-w16", |seed| permute::batches::<Packed, _, 16, 4>(seed, p2w16())),
        row("equal/batches/poseidon2-w8/scalar", |seed| permute::batches::<Goldilocks, _, 8, 2>(seed, p2w8())),
        row("equal/batches/poseidon2-w12/scalar", |seed| permute::batches::<Goldilocks, _, 12, 3>(seed, p2w12())),
        row("equal/batches/poseidon2-w16/scalar", |seed| permute::batches::<Goldilocks, _, 16, 4>(seed, p2w16())),
        row("equal/batches/poseidon1-w8", |seed| permute::batches::<Packed, _, 8, 2>(seed, p1w8())),
        row("equal/batches/poseidon1-w12", |seed| permute::batches::<Packed, _, 12, 3>(seed, p1w12())),
        row("equal/batches/poseidon1-w16", |seed| permute::batches::<PackedWide, _, 16, 4>(seed, p1w16())),
    ],
    &[
        row("equal/permute/koala-bear-poseidon2-w16", |seed| permute::each::<PackedKoala, _, 16>(seed, kb16())),
        row("equal/permute/koala-bear-poseidon2-w24", |seed| permute::each::<PackedKoala, _, 24>(seed, kb24())),
        row("equal/permute/baby-bear-poseidon2-w16", |seed| permute::each::<PackedBaby, _, 16>(seed, bb16())),
        row("equal/permute/baby-bear-poseidon2-w24", |seed| permute::each::<PackedBaby, _, 24>(seed, bb24())),
    ],
    #[cfg(feature = "since-0-6")]
    &[
        row("equal/permute/koala-bear-poseidon1-w16", |seed| permute::each::<PackedKoala, _, 16>(seed, kb1w16())),
        row("equal/permute/koala-bear-poseidon1-w24", |seed| permute::each::<PackedKoala, _, 24>(seed, kb1w24())),
        row("equal/permute/baby-bear-poseidon1-w16", |seed| permute::each::<PackedBaby, _, 16>(seed, bb1w16())),
        row("equal/permute/baby-bear-poseidon1-w24", |seed| permute::each::<PackedBaby, _, 24>(seed, bb1w24())),
    ],
    #[cfg(feature = "since-0-8")]
    &[
        row("equal/mds-w8", |seed| permute::each::<Packed, _, 8>(seed, MdsMatrixGoldilocks)),
        row("equal/mds-w12", |seed| permute::each::<Packed, _, 12>(seed, MdsMatrixGoldilocks)),
        row("equal/mds-w16", |seed| permute::each::<PackedWide, _, 16>(seed, MdsMatrixGoldilocks)),
        row("equal/mds-w24", |seed| permute::each::<PackedWide, _, 24>(seed, MdsMatrixGoldilocks)),
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
    #[cfg(feature = "since-0-6")]
    &[
        row("equal/lde/goldilocks", |seed| dft::odd_shapes(seed, &dft::goldilocks_edges())),
        row("equal/lde/koala-bear", |seed| dft::odd_shapes::<KoalaBear>(seed, &permute::montgomery_edges())),
        row("equal/lde/baby-bear", |seed| dft::odd_shapes::<BabyBear>(seed, &permute::montgomery_edges())),
        row("equal/lde-2t/goldilocks", |seed| dft::odd_shapes(seed, &dft::goldilocks_edges())).threads(2),
    ],
    #[cfg(feature = "since-0-8")]
    &[
        row("equal/merkle-2t/poseidon2-w8", |seed| merkle::odd_shapes::<_, 8, 4, 2>(seed, p2w8())).threads(2),
        row("equal/fri-commit/poseidon2-w8", |seed| fri::goldilocks(seed, 9)),
        row("equal/fri-commit/quintic", |seed| fri::quintic(seed, 9)),
        row("equal/fri-fold/quartic/koala-bear", |seed| fri::fold::<KoalaBear, Quartic<_>>(seed, 9)),
        row("equal/fri-fold/quartic/baby-bear", |seed| fri::fold::<BabyBear, Quartic<_>>(seed, 9)),
        row("equal/stark-prove/keccak-air", |seed| stark::keccak(seed, 1 << 5)),
        row("equal/stark-prove/keccak-air-batch", |seed| stark::keccak_batch(seed, 5)),
        row("equal/dot/goldilocks", |seed| dot::odd_shapes::<_, fri::Challenge>(seed, &dft::goldilocks_edges())),
        row("equal/dot/goldilocks-degree-5", |seed| dot::odd_shapes::<_, BinomialExtensionField<_, 5>>(seed, &dft::goldilocks_edges())),
        row("equal/dot/koala-bear", |seed| dot::odd_shapes::<KoalaBear, Quartic<KoalaBear>>(seed, &permute::montgomery_edges())),
        row("equal/dot/baby-bear", |seed| dot::odd_shapes::<BabyBear, Quartic<BabyBear>>(seed, &permute::montgomery_edges())),
        row("equal/dot/baby-bear-degree-5", |seed| dot::odd_shapes::<BabyBear, BinomialExtensionField<_, 5>>(seed, &permute::montgomery_edges())),
        row("equal/dot-2t/goldilocks", |seed| dot::odd_shapes::<_, fri::Challenge>(seed, &dft::goldilocks_edges())).threads(2),
        row("equal/open/goldilocks", |seed| dot::open(seed, 6, 100)),
        row("equal/stark-prove/keccak-air-blake3", |seed| stark::keccak_blake3(seed, 1 << 5)),
        row("equal/stark-prove/keccak-air-koala-bear", |seed| stark::keccak_koala_bear(seed, 1 << 5)),
        row("equal/quotient/keccak-air", |seed| stark::keccak_quotient(seed, 1 << 5)),
    ],
    &[
        row("equal/quintic-packed", extension::operations::<PackedQuintic>),
        row("equal/quintic-scalar", extension::operations::<Quintic>),
        row("equal/quartic-packed/koala-bear", extension::operations::<PackedQuartic<KoalaBear>>),
        row("equal/quartic-packed/baby-bear", extension::operations::<PackedQuartic<BabyBear>>),
        row("equal/quartic/koala-bear", extension::operations::<Quartic<KoalaBear>>),
        row("equal/quartic/baby-bear", extension::operations::<Quartic<BabyBear>>),
    ],
    #[cfg(feature = "since-0-8")]
    &[
        row("equal/quintic-binomial-packed/baby-bear", extension::operations::<PackedBinomial<BabyBear, 5>>),
        row("equal/octic-packed/koala-bear", extension::operations::<PackedBinomial<KoalaBear, 8>>),
        row("equal/sumcheck-prove/quintic", |seed| sumcheck::prove::<KoalaBear, Quintic, _>(seed, 9, Prefix, koala_bear::challenger())),
        row("equal/sumcheck-prove/quintic-suffix", |seed| sumcheck::prove::<KoalaBear, Quintic, _>(seed, 9, Suffix, koala_bear::challenger())),
        row("equal/sumcheck-prove/quartic/koala-bear", |seed| sumcheck::prove::<KoalaBear, Quartic<_>, _>(seed, 9, Prefix, koala_bear::challenger())),
        row("equal/sumcheck-prove/quartic/baby-bear", |seed| sumcheck::prove::<BabyBear, Quartic<_>, _>(seed, 9, Prefix, bb_challenger())),
        row("equal/whir-prove/quintic", |seed| whir::prove(seed, 12)),
    ],
    // No patch for a newer release changes what these run.
    #[cfg(all(feature = "since-0-5", not(feature = "since-0-8")))]
    &[
        row("permute-chain/poseidon1-w8/scalar", |seed| permute::chain::<Goldilocks, _, 8>(seed, p1w8())),
        row("permute-chain/poseidon1-w12/scalar", |seed| permute::chain::<Goldilocks, _, 12>(seed, p1w12())),
        row("permute-chain/poseidon1-w16/scalar", |seed| permute::chain::<Goldilocks, _, 16>(seed, p1w16())),
        row("permute-many/poseidon1-w8/scalar", |seed| permute::many::<Goldilocks, _, 8, 2>(seed, p1w8())).quick(),
        row("permute-many/poseidon1-w12/scalar", |seed| permute::many::<Goldilocks, _, 12, 3>(seed, p1w12())).quick(),
        row("permute-many/poseidon1-w16/scalar", |seed| permute::many::<Goldilocks, _, 16, 4>(seed, p1w16())),
    ],
];
