//! The proof system: FRI over Goldilocks, and Merkle trees and a transcript that hash with Poseidon2 of width 8.

use p3_challenger::DuplexChallenger;
use p3_commit::ExtensionMmcs;
use p3_dft::Radix2DitParallel;
use p3_field::Field;
use p3_field::extension::BinomialExtensionField;
use p3_fri::{FriParameters, TwoAdicFriPcs};
use p3_goldilocks::{Goldilocks, Poseidon2Goldilocks, default_goldilocks_poseidon2_8};
use p3_merkle_tree::MerkleTreeMmcs;
use p3_symmetric::{PaddingFreeSponge, TruncatedPermutation};
use p3_uni_stark::StarkConfig;

type Permutation = Poseidon2Goldilocks<8>;
type Packing = <Goldilocks as Field>::Packing;
type Hash = PaddingFreeSponge<Permutation, 8, 4, 4>;
type Compress = TruncatedPermutation<Permutation, 2, 4, 8>;
type Tree = MerkleTreeMmcs<Packing, Packing, Hash, Compress, 2, 4>;
type Challenge = BinomialExtensionField<Goldilocks, 2>;
type ChallengeTree = ExtensionMmcs<Goldilocks, Challenge, Tree>;
type Challenger = DuplexChallenger<Goldilocks, Permutation, 8, 4>;
type Pcs = TwoAdicFriPcs<Goldilocks, Radix2DitParallel<Goldilocks>, Tree, ChallengeTree>;
pub type Config = StarkConfig<Pcs, Challenge, Challenger>;

/// 116 bits of security as FRI is conjectured to have: two for each query. Without proof of work, because threads race for
/// its nonce, and the same claim is to have one proof.
pub fn config() -> Config {
    let permutation = default_goldilocks_poseidon2_8();
    let hash = Hash::new(permutation.clone());
    let tree = Tree::new(hash, Compress::new(permutation.clone()), 0);
    let fri = FriParameters {
        log_blowup: 2,
        log_final_poly_len: 0,
        max_log_arity: 1,
        num_queries: 58,
        batch_proof_of_work_bits: 0,
        commit_proof_of_work_bits: 0,
        query_proof_of_work_bits: 0,
        mmcs: ChallengeTree::new(tree.clone()),
    };
    let pcs = Pcs::new(Radix2DitParallel::default(), tree, fri);
    Config::new(pcs, Challenger::new(permutation))
}
