//! Roots of trees against the sponge and the compression on one message at a time.

use p3_commit::Mmcs;
use p3_field::{Field, PrimeField};
use p3_goldilocks::{Goldilocks, default_goldilocks_poseidon2_8, default_goldilocks_poseidon2_12};
use p3_koala_bear::{KoalaBear, default_koalabear_poseidon2_16};
use p3_matrix::Matrix;
use p3_matrix::dense::RowMajorMatrix;
use p3_merkle_tree::MerkleTreeMmcs;
use p3_symmetric::{
    CryptographicHasher, CryptographicPermutation, PaddingFreeSponge, PseudoCompressionFunction,
    TruncatedPermutation,
};
use rand::SeedableRng;
use rand::distr::{Distribution, StandardUniform};
use rand::rngs::SmallRng;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Heights and widths of the matrices of one tree, tallest first. Groups of lanes leave every remainder of 2, 3 and 4; rows are empty,
/// shorter than a block of the sponge, whole blocks, and longer.
const SHAPES: [&[(usize, usize)]; 10] = [
    &[(1, 1)],
    &[(2, 9)],
    &[(8, 4)],
    &[(16, 12)],
    &[(32, 7)],
    &[(64, 17), (64, 2)],
    &[(128, 3), (32, 5)],
    &[(256, 8), (128, 1), (64, 9), (8, 3)],
    &[(512, 1)],
    &[(1024, 5), (1, 6)],
];

/// The digest of the rows `r` of these matrices, one after the other.
fn leaf<F: Field, H: CryptographicHasher<F, [F; D]>, const D: usize>(
    hash: &H,
    matrices: &[&RowMajorMatrix<F>],
    r: usize,
) -> [F; D] {
    hash.hash_iter(matrices.iter().flat_map(|matrix| matrix.row(r).unwrap()))
}

/// The root of a tree, by one message after the other.
fn root<F, H, C, const D: usize>(hash: &H, compress: &C, matrices: &[RowMajorMatrix<F>]) -> [F; D]
where
    F: Field,
    H: CryptographicHasher<F, [F; D]>,
    C: PseudoCompressionFunction<[F; D], 2>,
{
    let of_height = |height: usize| {
        let matrices = matrices.iter().filter(|matrix| matrix.height() == height);
        matrices.collect::<Vec<_>>()
    };
    let tallest = matrices[0].height();
    let leaves = of_height(tallest);
    let mut layer: Vec<_> = (0..tallest).map(|r| leaf(hash, &leaves, r)).collect();
    while layer.len() > 1 {
        let (pairs, _) = layer.as_chunks::<2>();
        let mut next: Vec<_> = pairs.iter().map(|pair| compress.compress(*pair)).collect();
        let injected = of_height(next.len());
        if !injected.is_empty() {
            for (r, digest) in next.iter_mut().enumerate() {
                *digest = compress.compress([*digest, leaf(hash, &injected, r)]);
            }
        }
        layer = next;
    }
    layer[0]
}

fn check<F, P, const WIDTH: usize, const RATE: usize, const D: usize>(permutation: &P)
where
    F: PrimeField,
    P: CryptographicPermutation<[F; WIDTH]> + CryptographicPermutation<[F::Packing; WIDTH]>,
    [F; D]: Serialize + DeserializeOwned,
    StandardUniform: Distribution<F>,
{
    let hash = PaddingFreeSponge::<P, WIDTH, RATE, D>::new(permutation.clone());
    let compress = TruncatedPermutation::<P, 2, D, WIDTH>::new(permutation.clone());
    let mmcs = MerkleTreeMmcs::<F::Packing, F::Packing, _, _, 2, D>::new(
        hash.clone(),
        compress.clone(),
        0,
    );
    let mut rng = SmallRng::seed_from_u64(WIDTH as u64);
    for shape in SHAPES {
        let matrices = shape.iter();
        let matrices =
            matrices.map(|&(height, width)| RowMajorMatrix::rand(&mut rng, height, width));
        let matrices: Vec<RowMajorMatrix<F>> = matrices.collect();
        let expected = root(&hash, &compress, &matrices);
        let (commitment, _) = mmcs.commit(matrices);
        assert_eq!(commitment.into_roots(), [expected], "{shape:?}");
    }
}

#[test]
fn trees_over_goldilocks() {
    check::<Goldilocks, _, 8, 4, 4>(&default_goldilocks_poseidon2_8());
    check::<Goldilocks, _, 12, 8, 4>(&default_goldilocks_poseidon2_12());
}

#[test]
fn trees_over_koala_bear() {
    check::<KoalaBear, _, 16, 8, 8>(&default_koalabear_poseidon2_16());
}
