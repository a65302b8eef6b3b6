//! Merkle trees of Keccak's sponge over 64-bit words for fields of 31 bits, as upstream's `prove_poseidon2_koala_bear_keccak` has them.

use p3_keccak::{KeccakF, VECTOR_LEN};
use p3_merkle_tree::MerkleTreeMmcs;
use p3_symmetric::{CompressionFunctionFromHasher, PaddingFreeSponge, SerializingHasher};

type Sponge = PaddingFreeSponge<KeccakF, 25, 17, 4>;
type Mmcs<F> = MerkleTreeMmcs<
    [F; VECTOR_LEN],
    [u64; VECTOR_LEN],
    SerializingHasher<Sponge>,
    CompressionFunctionFromHasher<Sponge, 2, 4>,
    2,
    4,
>;

pub fn mmcs<F>() -> Mmcs<F> {
    let sponge = Sponge::new(KeccakF);
    let compression = CompressionFunctionFromHasher::new(sponge);
    Mmcs::new(SerializingHasher::new(sponge), compression, 0)
}

#[cfg(all(feature = "proofs", feature = "since-0-8"))]
mod stark {
    use p3_challenger::{HashChallenger, SerializingChallenger32};
    use p3_keccak::Keccak256Hash;
    use p3_uni_stark::StarkConfig;

    use super::{Mmcs, mmcs};
    use crate::extension::Quartic;
    use crate::fri::{Pcs, pcs};
    use crate::monty31::Monty31;

    type Config<F> = StarkConfig<Pcs<F, Quartic<F>, Mmcs<F>>, Quartic<F>, Challenger<F>>;
    type Challenger<F> = SerializingChallenger32<F, HashChallenger<u8, Keccak256Hash, 32>>;

    /// Challenges are of degree 4.
    pub fn config<F: Monty31>() -> Config<F> {
        StarkConfig::new(pcs(mmcs()), Challenger::from_hasher(vec![], Keccak256Hash))
    }
}
#[cfg(all(feature = "proofs", feature = "since-0-8"))]
pub use stark::config;
