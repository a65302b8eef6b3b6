//! Openings of trees around the fewest leaves whose digests the patch drops, and of trees that were stored.

use p3_commit::Mmcs;
use p3_field::Field;
use p3_goldilocks::{Goldilocks, Poseidon2Goldilocks, default_goldilocks_poseidon2_8};
use p3_matrix::Matrix;
use p3_matrix::dense::RowMajorMatrix;
use p3_merkle_tree::{MerkleTreeHidingMmcs, MerkleTreeMmcs};
use p3_symmetric::{PaddingFreeSponge, TruncatedPermutation};
use rand::SeedableRng;
use rand::rngs::{SmallRng, StdRng};

type Packed = <Goldilocks as Field>::Packing;
type Perm = Poseidon2Goldilocks<8>;
type Sponge = PaddingFreeSponge<Perm, 8, 4, 4>;
type Compression = TruncatedPermutation<Perm, 2, 4, 8>;
type Trees = MerkleTreeMmcs<Packed, Packed, Sponge, Compression, 2, 4>;

/// The fewest leaves whose digests are dropped.
const LEAVES: usize = 1 << 12;

fn trees(cap_height: usize) -> Trees {
    let permutation = default_goldilocks_poseidon2_8();
    let sponge = Sponge::new(permutation.clone());
    Trees::new(sponge, Compression::new(permutation), cap_height)
}

fn matrices(shapes: &[(usize, usize)]) -> Vec<RowMajorMatrix<Goldilocks>> {
    let mut rng = SmallRng::seed_from_u64(1);
    let of = |&(height, width)| RowMajorMatrix::rand(&mut rng, height, width);
    shapes.iter().map(of).collect()
}

/// Shapes of commitments: few leaves, the fewest that are dropped, padded ones, rows of two matrices and of one that is injected, rows of
/// as many bytes as 16 digests, and wider ones.
const SHAPES: [&[(usize, usize)]; 8] = [
    &[(1, 3)],
    &[(LEAVES / 2, 3)],
    &[(LEAVES - 1, 3)],
    &[(LEAVES, 3)],
    &[(LEAVES + 1, 3), (LEAVES + 1, 2)],
    &[(2 * LEAVES, 5), (LEAVES, 3), (LEAVES / 4, 1)],
    &[(LEAVES, 63), (LEAVES, 1)],
    &[(LEAVES, 65)],
];

#[test]
fn each_opening_verifies() {
    for shapes in SHAPES {
        let matrices = matrices(shapes);
        let dimensions: Vec<_> = matrices.iter().map(Matrix::dimensions).collect();
        let height = dimensions[0].height;
        // A cap of 13 layers reaches the leaves, of which Plonky3 0.8.0 takes powers of two.
        let caps: &[usize] = if height.is_power_of_two() {
            &[0, 2, 13]
        } else {
            &[0, 2]
        };
        for &cap_height in caps {
            let trees = trees(cap_height);
            let (commitment, tree) = trees.commit(matrices.clone());
            // Each leaf of a narrow tree, and some of a wide one.
            let step = if dimensions[0].width > 8 { 97 } else { 1 };
            for index in (0..height).step_by(step) {
                let opening = trees.open_batch(index, &tree);
                for (row, matrix) in opening.opened_values.iter().zip(&matrices) {
                    let row_index = index / height.div_ceil(matrix.height());
                    assert!(
                        matrix
                            .row(row_index)
                            .unwrap()
                            .into_iter()
                            .eq(row.iter().copied())
                    );
                }
                trees
                    .verify_batch(&commitment, &dimensions, index, (&opening).into())
                    .unwrap_or_else(|error| panic!("{shapes:?}, {index}: {error:?}"));
            }
            let indices = [height - 1, 0, height / 2, height / 3, 0];
            let (rows, proof) = trees.open_multi_batch(&indices, &tree);
            let verified =
                trees.verify_multi_batch(&commitment, &dimensions, &indices, &rows, &proof);
            verified.unwrap();
        }
    }
}

/// Salts are part of the rows that are hashed again.
#[test]
fn hiding_trees_open() {
    type Hiding = MerkleTreeHidingMmcs<Packed, Packed, Sponge, Compression, StdRng, 2, 4, 2>;

    let permutation = default_goldilocks_poseidon2_8();
    let sponge = Sponge::new(permutation.clone());
    let compression = Compression::new(permutation);
    let trees = Hiding::new(sponge, compression, 0, StdRng::seed_from_u64(2));
    for shapes in SHAPES {
        let matrices = matrices(shapes);
        let dimensions: Vec<_> = matrices.iter().map(Matrix::dimensions).collect();
        let height = dimensions[0].height;
        let (commitment, tree) = trees.commit(matrices);
        for index in (0..height).step_by(97).chain([height - 1]) {
            let opening = trees.open_batch(index, &tree);
            trees
                .verify_batch(&commitment, &dimensions, index, (&opening).into())
                .unwrap_or_else(|error| panic!("{shapes:?}, {index}: {error:?}"));
        }
    }
}

#[test]
fn a_stored_tree_opens_as_before() {
    let trees = trees(0);
    for shapes in SHAPES {
        let (_, tree) = trees.commit(matrices(shapes));
        let stored = postcard::to_allocvec(&tree).unwrap();
        let read = postcard::from_bytes(&stored).unwrap();
        for index in [0, shapes[0].0 / 2, shapes[0].0 - 1] {
            let [expected, opened] =
                [&tree, &read].map(|tree| trees.open_batch(index, tree).unpack());
            assert_eq!(opened, expected);
        }
    }
}
