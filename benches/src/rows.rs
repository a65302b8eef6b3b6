//! The table of rows. A row is one line; what it does is in the module of its workload.
//!
//! The rows here compile in seconds. The rows in `component_rows` and `proof_rows` take minutes.

use p3_baby_bear::{
    BabyBear, default_babybear_poseidon2_16 as bb16, default_babybear_poseidon2_24 as bb24,
};
#[cfg(feature = "since-0-6")]
use p3_baby_bear::{
    default_babybear_poseidon1_16 as bb1w16, default_babybear_poseidon1_24 as bb1w24,
};
use p3_field::Field;
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
#[cfg(feature = "since-0-5")]
use rand::{SeedableRng, rngs::SmallRng};

#[cfg(feature = "since-0-8")]
use crate::extension::PackedBinomial;
use crate::extension::{Packed as PackedKoala, PackedQuartic, PackedQuintic, Quartic, Quintic};
#[cfg(feature = "since-0-5")]
use crate::permute::p1w16;
#[cfg(feature = "since-0-8")]
use crate::phases;
#[cfg(feature = "since-0-5")]
use crate::row::{Packed, PackedWide};
use crate::row::{Row, row};
use crate::{extension, permute};

type PackedBaby = <BabyBear as Field>::Packing;

/// Older releases have no default constants for this width.
#[cfg(feature = "since-0-5")]
pub fn p2w16() -> Poseidon2Goldilocks<16> {
    Poseidon2Goldilocks::new_from_rng_128(&mut SmallRng::seed_from_u64(16))
}

/// Permutations and extension fields. A slice has the rows that need the APIs of one release. Rows under `equal/` are small and
/// odd: they compare outputs and are measured only on request. Rows under `phase/` are for `cargo p3 ab --phases`.
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
