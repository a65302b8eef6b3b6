//! Openings at 100 indices of a tree of 2^16 leaves, by the columns of its matrix. With the patch, an opening hashes the rows of its
//! siblings where rows take at most as many bytes as 16 digests.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use p3_commit::Mmcs;
use p3_field::Field;
use p3_goldilocks::{Goldilocks, default_goldilocks_poseidon2_8};
use p3_matrix::dense::RowMajorMatrix;
use p3_merkle_tree::MerkleTreeMmcs;
use p3_symmetric::{PaddingFreeSponge, TruncatedPermutation};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

type Packed = <Goldilocks as Field>::Packing;

fn openings(criterion: &mut Criterion) {
    let permutation = default_goldilocks_poseidon2_8();
    let sponge = PaddingFreeSponge::<_, 8, 4, 4>::new(permutation.clone());
    let compression = TruncatedPermutation::<_, 2, 4, 8>::new(permutation);
    let mmcs = MerkleTreeMmcs::<Packed, Packed, _, _, 2, 4>::new(sponge, compression, 0);
    let mut rng = SmallRng::seed_from_u64(1);
    let mut group = criterion.benchmark_group("open-multi/poseidon2-w8");
    for width in [2, 16, 64, 65] {
        let matrix = RowMajorMatrix::<Goldilocks>::rand(&mut rng, 1 << 16, width);
        let (_, tree) = mmcs.commit_matrix(matrix);
        let indices: Vec<_> = (0..100).map(|_| rng.random_range(0..1 << 16)).collect();
        group.bench_function(
            BenchmarkId::from_parameter(format!("2^16x{width}")),
            |bencher| {
                bencher.iter(|| mmcs.open_multi_batch(black_box(&indices), &tree));
            },
        );
    }
    group.finish();
}

criterion_group!(benches, openings);
criterion_main!(benches);
