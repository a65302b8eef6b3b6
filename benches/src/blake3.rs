//! Goldilocks with Merkle trees and a challenger of Blake3, for provers whose hash no patch makes faster.

use p3_blake3::Blake3;
use p3_challenger::{HashChallenger, SerializingChallenger64};
use p3_goldilocks::Goldilocks;
use p3_merkle_tree::MerkleTreeMmcs;
use p3_symmetric::{CompressionFunctionFromHasher, SerializingHasher};
use p3_uni_stark::StarkConfig;

use crate::fri::{Challenge, Pcs, pcs};

type Mmcs = MerkleTreeMmcs<
    Goldilocks,
    u8,
    SerializingHasher<Blake3>,
    CompressionFunctionFromHasher<Blake3, 2, 32>,
    2,
    32,
>;
type Challenger = SerializingChallenger64<Goldilocks, HashChallenger<u8, Blake3, 32>>;
pub type Config = StarkConfig<Pcs<Goldilocks, Challenge, Mmcs>, Challenge, Challenger>;

pub fn config() -> Config {
    let compression = CompressionFunctionFromHasher::new(Blake3);
    let mmcs = Mmcs::new(SerializingHasher::new(Blake3), compression, 0);
    Config::new(pcs(mmcs), Challenger::from_hasher(vec![], Blake3))
}
