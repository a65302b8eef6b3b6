//! KoalaBear with Merkle trees of Keccak's sponge over 64-bit words, as upstream's `prove_poseidon2_koala_bear_keccak` has them.

use p3_commit::Mmcs as _;
use p3_keccak::{KeccakF, VECTOR_LEN};
use p3_koala_bear::KoalaBear;
use p3_matrix::dense::RowMajorMatrix;
use p3_merkle_tree::MerkleTreeMmcs;
use p3_symmetric::{CompressionFunctionFromHasher, PaddingFreeSponge, SerializingHasher};
use rand::SeedableRng;
use rand::rngs::SmallRng;

use crate::row::Prepared;
use crate::timing::time;

type Sponge = PaddingFreeSponge<KeccakF, 25, 17, 4>;
type Mmcs = MerkleTreeMmcs<
    [KoalaBear; VECTOR_LEN],
    [u64; VECTOR_LEN],
    SerializingHasher<Sponge>,
    CompressionFunctionFromHasher<Sponge, 2, 4>,
    2,
    4,
>;

fn mmcs() -> Mmcs {
    let sponge = Sponge::new(KeccakF);
    let compression = CompressionFunctionFromHasher::new(sponge);
    Mmcs::new(SerializingHasher::new(sponge), compression, 0)
}

/// Commits to one matrix. The output is the root, which hashes all else.
pub fn commit(seed: u64, height: usize, width: usize) -> Prepared {
    let mmcs = mmcs();
    let mut rng = SmallRng::seed_from_u64(seed);
    let matrix = RowMajorMatrix::<KoalaBear>::rand(&mut rng, height, width);
    Prepared::new(move || {
        let input = matrix.clone();
        let (timing, (commitment, _)) = time(|| mmcs.commit_matrix(input));
        let words = commitment.roots().as_flattened().iter();
        (timing, words.flat_map(|word| word.to_le_bytes()).collect())
    })
}

#[cfg(feature = "since-0-8")]
mod stark {
    use p3_challenger::{HashChallenger, SerializingChallenger32};
    use p3_commit::ExtensionMmcs;
    use p3_dft::Radix2DitParallel;
    use p3_fri::{FriParameters, TwoAdicFriPcs};
    use p3_keccak::Keccak256Hash;
    use p3_koala_bear::KoalaBear;
    use p3_uni_stark::StarkConfig;

    use super::{Mmcs, mmcs};
    use crate::extension::Quartic;

    type Challenge = Quartic<KoalaBear>;
    type ChallengeMmcs = ExtensionMmcs<KoalaBear, Challenge, Mmcs>;
    type Pcs = TwoAdicFriPcs<KoalaBear, Radix2DitParallel<KoalaBear>, Mmcs, ChallengeMmcs>;
    type Challenger = SerializingChallenger32<KoalaBear, HashChallenger<u8, Keccak256Hash, 32>>;

    /// Upstream's benchmark parameters, as [`crate::fri::parameters`] has them, with challenges of degree 4.
    pub fn config() -> StarkConfig<Pcs, Challenge, Challenger> {
        let parameters = FriParameters::new_benchmark(ChallengeMmcs::new(mmcs()));
        let pcs = Pcs::new(Radix2DitParallel::default(), mmcs(), parameters);
        StarkConfig::new(pcs, Challenger::from_hasher(vec![], Keccak256Hash))
    }
}
#[cfg(feature = "since-0-8")]
pub use stark::config;
