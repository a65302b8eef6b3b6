//! Merkle commitments through the MMCS that provers use.

use p3_commit::Mmcs;
use p3_field::Field;
use p3_goldilocks::Goldilocks;
use p3_matrix::Matrix;
use p3_matrix::dense::RowMajorMatrix;
use p3_merkle_tree::{MerkleTree, MerkleTreeMmcs};
use p3_symmetric::{CryptographicPermutation, PaddingFreeSponge, TruncatedPermutation};
use rand::SeedableRng;
use rand::distr::{Distribution, StandardUniform};
use rand::rngs::SmallRng;

use crate::row::{Packed, Prepared, encode, to_bytes};
use crate::timing::time;

/// A permutation in the two forms that a Merkle tree needs.
pub trait Permutation<const WIDTH: usize>:
    CryptographicPermutation<[Goldilocks; WIDTH]> + CryptographicPermutation<[Packed; WIDTH]> + 'static
{
}

impl<P, const WIDTH: usize> Permutation<WIDTH> for P where
    P: CryptographicPermutation<[Goldilocks; WIDTH]>
        + CryptographicPermutation<[Packed; WIDTH]>
        + 'static
{
}

pub type GoldilocksMmcs<P, const WIDTH: usize, const RATE: usize, const ARITY: usize> =
    MerkleTreeMmcs<
        Packed,
        Packed,
        PaddingFreeSponge<P, WIDTH, RATE, 4>,
        TruncatedPermutation<P, ARITY, 4, WIDTH>,
        ARITY,
        4,
    >;

pub fn mmcs<P: Permutation<WIDTH>, const WIDTH: usize, const RATE: usize, const ARITY: usize>(
    permutation: P,
    cap_height: usize,
) -> GoldilocksMmcs<P, WIDTH, RATE, ARITY> {
    let sponge = PaddingFreeSponge::new(permutation.clone());
    MerkleTreeMmcs::new(sponge, TruncatedPermutation::new(permutation), cap_height)
}

/// Commits to one matrix. The outputs are the digest layers above the leaves.
pub fn commit<P: Permutation<WIDTH>, const WIDTH: usize, const RATE: usize, const ARITY: usize>(
    seed: u64,
    permutation: P,
    height: usize,
    width: usize,
) -> Prepared {
    let mmcs = mmcs::<P, WIDTH, RATE, ARITY>(permutation, 0);
    let matrix =
        RowMajorMatrix::<Goldilocks>::rand(&mut SmallRng::seed_from_u64(seed), height, width);
    Prepared::new(move || {
        let input = matrix.clone();
        let (timing, (_, tree)) = time(|| mmcs.commit_matrix(input));
        (timing, layers(&tree))
    })
}

/// Commits to one matrix by any scheme. The output is the commitment, which hashes all else.
pub fn root<F, M>(mmcs: M, seed: u64, height: usize, width: usize) -> Prepared
where
    F: Field,
    StandardUniform: Distribution<F>,
    M: Mmcs<F> + 'static,
{
    let matrix = RowMajorMatrix::<F>::rand(&mut SmallRng::seed_from_u64(seed), height, width);
    Prepared::new(move || {
        let input = matrix.clone();
        let (timing, (commitment, _)) = time(|| mmcs.commit_matrix(input));
        (timing, to_bytes(&commitment))
    })
}

fn layers<M: Matrix<Goldilocks>, const N: usize>(
    tree: &MerkleTree<Goldilocks, Goldilocks, M, N, 4>,
) -> Vec<u8> {
    // The leaves' digests are not kept by every tree, and decide the layer above them.
    (0..(tree.num_layers() - 1).max(1))
        .flat_map(|height| encode(tree.cap(height).into_roots().as_flattened()))
        .collect()
}

/// Heights and widths of the matrices of one commitment; heights sit on the ladder ceil(tallest / 2^k).
#[rustfmt::skip]
const SHAPES: &[&[(usize, usize)]] = &[
    // One row; one row of nothing but a partial block; less than one vector; one vector and a bit.
    &[(1, 1)], &[(1, 9)], &[(3, 5)], &[(5, 8)], &[(9, 3)], &[(17, 16)],
    // No power of two, and counts of row groups that leave every remainder.
    &[(100, 7)], &[(129, 4)], &[(200, 12)], &[(255, 1)], &[(257, 24)],
    // Equal heights; rows injected at one layer, at every layer, down to the root.
    &[(64, 3), (64, 6)],
    &[(64, 3), (32, 6)],
    &[(128, 5), (64, 1), (32, 9), (16, 4), (8, 2), (4, 17), (2, 3), (1, 6)],
    &[(100, 5), (50, 8), (25, 3), (13, 10), (7, 1), (4, 4)],
    &[(1000, 11), (250, 4), (250, 13), (32, 2)],
];

/// Commits to every shape with caps of several heights. The outputs are the caps and, since a ragged tree shows no
/// inner layer, openings across the whole height, each of which is verified.
pub fn odd_shapes<
    P: Permutation<WIDTH>,
    const WIDTH: usize,
    const RATE: usize,
    const ARITY: usize,
>(
    seed: u64,
    permutation: P,
) -> Prepared {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut inputs = Vec::new();
    for shape in SHAPES {
        let matrices = shape
            .iter()
            .map(|&(height, width)| RowMajorMatrix::<Goldilocks>::rand(&mut rng, height, width));
        inputs.push(matrices.collect::<Vec<_>>());
    }
    Prepared::new(move || {
        time(|| {
            let mut outputs = Vec::new();
            for matrices in &inputs {
                let height = matrices[0].height();
                // Upstream panics where a cap falls on a layer whose length is no power of two.
                let full = height >= 8 && height.is_power_of_two();
                let cap_heights: &[usize] = if full { &[0, 1, 3] } else { &[0] };
                for &cap_height in cap_heights {
                    let mmcs = mmcs::<P, WIDTH, RATE, ARITY>(permutation.clone(), cap_height);
                    let (commitment, tree) = mmcs.commit(matrices.clone());
                    outputs.extend(encode(commitment.roots().as_flattened()));
                    let dimensions: Vec<_> = matrices.iter().map(Matrix::dimensions).collect();
                    for index in (0..height).step_by(height / 64 + 1) {
                        let opening = mmcs.open_batch(index, &tree);
                        mmcs.verify_batch(&commitment, &dimensions, index, (&opening).into())
                            .expect("an opening of the tree's own");
                        outputs.extend(to_bytes(&opening));
                    }
                }
            }
            outputs
        })
    })
}
