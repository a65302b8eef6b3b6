//! The table of rows for releases before the newest: what the patches for these change, in APIs that all of them have.

use p3_baby_bear::{
    BabyBear, default_babybear_poseidon2_16 as bb16, default_babybear_poseidon2_24 as bb24,
};
use p3_field::Field;
use p3_goldilocks::poseidon1::{
    default_goldilocks_poseidon1_8 as p1w8, default_goldilocks_poseidon1_12 as p1w12,
};
use p3_goldilocks::{
    Goldilocks, Poseidon2Goldilocks, default_goldilocks_poseidon2_8 as p2w8,
    default_goldilocks_poseidon2_12 as p2w12,
};
use p3_koala_bear::{
    default_koalabear_poseidon2_16 as kb16, default_koalabear_poseidon2_24 as kb24,
};
use rand::SeedableRng;
use rand::rngs::SmallRng;

use crate::koala_bear::{Packed as PackedKoala, PackedQuintic, Quintic};
use crate::permute::p1w16;
use crate::row::{Packed, PackedWide, Row, row};
use crate::{koala_bear, merkle, permute, quintic};

type PackedBaby = <BabyBear as Field>::Packing;

/// Not all of them have default constants for this width.
fn p2w16() -> Poseidon2Goldilocks<16> {
    Poseidon2Goldilocks::new_from_rng_128(&mut SmallRng::seed_from_u64(16))
}

/// A row has the name that it has in `rows.rs`.
#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    row("permute-chain/poseidon2-w8", |seed| permute::chain::<Packed, _, 8>(seed, p2w8())).quick(),
    row("permute-chain/poseidon2-w12", |seed| permute::chain::<Packed, _, 12>(seed, p2w12())),
    row("permute-chain/poseidon2-w16", |seed| permute::chain::<Packed, _, 16>(seed, p2w16())),
    row("permute-chain/poseidon2-w8/scalar", |seed| permute::chain::<Goldilocks, _, 8>(seed, p2w8())),
    row("permute-chain/poseidon2-w12/scalar", |seed| permute::chain::<Goldilocks, _, 12>(seed, p2w12())),
    row("permute-chain/poseidon2-w16/scalar", |seed| permute::chain::<Goldilocks, _, 16>(seed, p2w16())),
    row("permute-chain/poseidon1-w8", |seed| permute::chain::<Packed, _, 8>(seed, p1w8())),
    row("permute-chain/poseidon1-w12", |seed| permute::chain::<Packed, _, 12>(seed, p1w12())),
    row("permute-chain/poseidon1-w16", |seed| permute::chain::<PackedWide, _, 16>(seed, p1w16())),
    row("permute-chain/poseidon1-w8/scalar", |seed| permute::chain::<Goldilocks, _, 8>(seed, p1w8())),
    row("permute-chain/poseidon1-w12/scalar", |seed| permute::chain::<Goldilocks, _, 12>(seed, p1w12())),
    row("permute-chain/poseidon1-w16/scalar", |seed| permute::chain::<Goldilocks, _, 16>(seed, p1w16())),

    row("permute-many/poseidon1-w8", |seed| permute::many::<Packed, _, 8, 2>(seed, p1w8())).quick(),
    row("permute-many/poseidon1-w12", |seed| permute::many::<Packed, _, 12, 3>(seed, p1w12())).quick(),
    row("permute-many/poseidon1-w16", |seed| permute::many::<PackedWide, _, 16, 4>(seed, p1w16())),
    row("permute-many/poseidon1-w8/scalar", |seed| permute::many::<Goldilocks, _, 8, 2>(seed, p1w8())).quick(),
    row("permute-many/poseidon1-w12/scalar", |seed| permute::many::<Goldilocks, _, 12, 3>(seed, p1w12())).quick(),
    row("permute-many/poseidon1-w16/scalar", |seed| permute::many::<Goldilocks, _, 16, 4>(seed, p1w16())),
    row("permute-many/koala-bear-poseidon2-w16", |seed| permute::each::<PackedKoala, _, 16>(seed, kb16())),
    row("permute-many/koala-bear-poseidon2-w24", |seed| permute::each::<PackedKoala, _, 24>(seed, kb24())),
    row("permute-many/baby-bear-poseidon2-w16", |seed| permute::each::<PackedBaby, _, 16>(seed, bb16())),
    row("permute-many/baby-bear-poseidon2-w24", |seed| permute::each::<PackedBaby, _, 24>(seed, bb24())),

    row("merkle-commit/poseidon2-w8/2^14x8", |seed| merkle::commit::<_, 8, 4, 2>(seed, p2w8(), 1 << 14, 8)).quick(),
    row("merkle-commit/poseidon2-w8/2^16x64", |seed| merkle::commit::<_, 8, 4, 2>(seed, p2w8(), 1 << 16, 64)),
    row("merkle-commit/poseidon2-w12/2^16x64", |seed| merkle::commit::<_, 12, 8, 2>(seed, p2w12(), 1 << 16, 64)),
    row("merkle-commit/poseidon1-w8/2^16x64", |seed| merkle::commit::<_, 8, 4, 2>(seed, p1w8(), 1 << 16, 64)),
    row("merkle-commit/koala-bear-poseidon2-w16/2^16x64", |seed| koala_bear::commit(seed, 1 << 16, 64)),

    row("quintic-mul-packed", quintic::mul::<PackedQuintic>),
    row("quintic-mul-scalar", quintic::mul::<Quintic>),
    row("quintic-mul-scalar/chain", quintic::mul_chain::<Quintic>),
    row("quintic-mul-assign-packed", quintic::mul_assign_packed),
    row("quintic-square-packed", quintic::square::<PackedQuintic>),
    row("quintic-square-scalar", quintic::square::<Quintic>),

    row("equal/permute-chain/poseidon2-w8", |seed| permute::chain::<Packed, _, 8>(seed, p2w8())),
    row("equal/permute-chain/poseidon2-w12", |seed| permute::chain::<Packed, _, 12>(seed, p2w12())),
    row("equal/permute-chain/poseidon2-w16", |seed| permute::chain::<Packed, _, 16>(seed, p2w16())),
    row("equal/permute-chain/poseidon1-w8", |seed| permute::chain::<Packed, _, 8>(seed, p1w8())),
    row("equal/permute-chain/poseidon1-w12", |seed| permute::chain::<Packed, _, 12>(seed, p1w12())),
    row("equal/permute-chain/poseidon1-w16", |seed| permute::chain::<PackedWide, _, 16>(seed, p1w16())),
    row("equal/permute/koala-bear-poseidon2-w16", |seed| permute::each::<PackedKoala, _, 16>(seed, kb16())),
    row("equal/permute/koala-bear-poseidon2-w24", |seed| permute::each::<PackedKoala, _, 24>(seed, kb24())),
    row("equal/permute/baby-bear-poseidon2-w16", |seed| permute::each::<PackedBaby, _, 16>(seed, bb16())),
    row("equal/permute/baby-bear-poseidon2-w24", |seed| permute::each::<PackedBaby, _, 24>(seed, bb24())),
    row("equal/merkle/poseidon2-w8", |seed| merkle::odd_shapes::<_, 8, 4, 2>(seed, p2w8())),
    row("equal/merkle/poseidon2-w12", |seed| merkle::odd_shapes::<_, 12, 8, 2>(seed, p2w12())),
    row("equal/merkle/poseidon2-w16", |seed| merkle::odd_shapes::<_, 16, 12, 2>(seed, p2w16())),
    row("equal/merkle/poseidon1-w8", |seed| merkle::odd_shapes::<_, 8, 4, 2>(seed, p1w8())),
    row("equal/quintic-packed", quintic::operations::<PackedQuintic>),
    row("equal/quintic-scalar", quintic::operations::<Quintic>),
];
