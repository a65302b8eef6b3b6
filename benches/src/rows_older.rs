//! The table of rows for releases before the newest: what the patches for these change, in APIs that all of them have.

use p3_goldilocks::Goldilocks;
use p3_goldilocks::poseidon1::{
    default_goldilocks_poseidon1_8 as p1w8, default_goldilocks_poseidon1_12 as p1w12,
};

use crate::permute::p1w16;
use crate::row::{Packed, PackedWide, Row, row};
use crate::{merkle, permute};

/// A row has the name that it has in `rows.rs`.
#[rustfmt::skip]
pub const ROWS: &[Row] = &[
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

    row("merkle-commit/poseidon1-w8/2^16x64", |seed| merkle::commit::<_, 8, 4>(seed, p1w8(), 1 << 16, 64)),

    row("equal/permute-chain/poseidon1-w8", |seed| permute::chain::<Packed, _, 8>(seed, p1w8())),
    row("equal/permute-chain/poseidon1-w12", |seed| permute::chain::<Packed, _, 12>(seed, p1w12())),
    row("equal/permute-chain/poseidon1-w16", |seed| permute::chain::<PackedWide, _, 16>(seed, p1w16())),
    row("equal/merkle/poseidon1-w8", |seed| merkle::odd_shapes::<_, 8, 4, 2>(seed, p1w8())),
];
