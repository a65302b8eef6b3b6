//! The hashes that upstream's WHIR example uses with KoalaBear, and a STARK's configuration of them.

use p3_challenger::DuplexChallenger;
use p3_commit::Mmcs as _;
use p3_koala_bear::{
    KoalaBear, Poseidon2KoalaBear, default_koalabear_poseidon2_16, default_koalabear_poseidon2_24,
};
use p3_matrix::dense::RowMajorMatrix;
use p3_merkle_tree::MerkleTreeMmcs;
use p3_symmetric::{PaddingFreeSponge, TruncatedPermutation};
use rand::SeedableRng;
use rand::rngs::SmallRng;

use crate::extension::Packed;
use crate::row::{Prepared, encode};
use crate::timing::time;

pub type Challenger = DuplexChallenger<KoalaBear, Poseidon2KoalaBear<16>, 16, 8>;
pub type Mmcs = MerkleTreeMmcs<
    Packed,
    Packed,
    PaddingFreeSponge<Poseidon2KoalaBear<24>, 24, 16, 8>,
    TruncatedPermutation<Poseidon2KoalaBear<16>, 2, 8, 16>,
    2,
    8,
>;

pub fn challenger() -> Challenger {
    Challenger::new(default_koalabear_poseidon2_16())
}

pub fn mmcs() -> Mmcs {
    Mmcs::new(
        PaddingFreeSponge::new(default_koalabear_poseidon2_24()),
        TruncatedPermutation::new(default_koalabear_poseidon2_16()),
        0,
    )
}

#[cfg(feature = "since-0-8")]
mod stark {
    use p3_commit::ExtensionMmcs;
    use p3_dft::Radix2DitParallel;
    use p3_fri::{FriParameters, TwoAdicFriPcs};
    use p3_koala_bear::KoalaBear;
    use p3_uni_stark::StarkConfig;

    use super::{Challenger, Mmcs, challenger, mmcs};
    use crate::extension::Quartic;

    type Challenge = Quartic<KoalaBear>;
    type ChallengeMmcs = ExtensionMmcs<KoalaBear, Challenge, Mmcs>;
    type Pcs = TwoAdicFriPcs<KoalaBear, Radix2DitParallel<KoalaBear>, Mmcs, ChallengeMmcs>;

    /// Upstream's benchmark parameters, as [`crate::fri::parameters`] has them, with challenges of degree 4.
    pub fn config() -> StarkConfig<Pcs, Challenge, Challenger> {
        let parameters = FriParameters::new_benchmark(ChallengeMmcs::new(mmcs()));
        let pcs = Pcs::new(Radix2DitParallel::default(), mmcs(), parameters);
        StarkConfig::new(pcs, challenger())
    }
}
#[cfg(feature = "since-0-8")]
pub use stark::config;

/// Commits to one matrix. The output is the root, which hashes all else.
pub fn commit(seed: u64, height: usize, width: usize) -> Prepared {
    let mmcs = mmcs();
    let mut rng = SmallRng::seed_from_u64(seed);
    let matrix = RowMajorMatrix::<KoalaBear>::rand(&mut rng, height, width);
    Prepared::new(move || {
        let input = matrix.clone();
        let (timing, (commitment, _)) = time(|| mmcs.commit_matrix(input));
        (timing, encode(commitment.roots().as_flattened()))
    })
}
