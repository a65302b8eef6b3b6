//! A Merkle tree over Goldilocks by Poseidon2 of width 8: rows of one block and of eight. `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the
//! like choose the packing.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use p3_commit::Mmcs;
use p3_field::Field;
use p3_goldilocks::{Goldilocks, Poseidon2Goldilocks, default_goldilocks_poseidon2_8};
use p3_matrix::dense::RowMajorMatrix;
use p3_merkle_tree::MerkleTreeMmcs;
use p3_symmetric::{PaddingFreeSponge, TruncatedPermutation};
use rand::SeedableRng;
use rand::rngs::SmallRng;

type Packing = <Goldilocks as Field>::Packing;
type Sponge = PaddingFreeSponge<Poseidon2Goldilocks<8>, 8, 4, 4>;
type Compression = TruncatedPermutation<Poseidon2Goldilocks<8>, 2, 4, 8>;

const HEIGHT: usize = 1 << 12;

fn trees(criterion: &mut Criterion) {
    let permutation = default_goldilocks_poseidon2_8();
    let sponge = Sponge::new(permutation.clone());
    let compression = Compression::new(permutation);
    let mmcs = MerkleTreeMmcs::<Packing, Packing, _, _, 2, 4>::new(sponge, compression, 0);
    let mut group = criterion.benchmark_group("merkle-tree/poseidon2-w8");
    group.sample_size(10);
    for width in [4, 32] {
        let rows =
            RowMajorMatrix::<Goldilocks>::rand(&mut SmallRng::seed_from_u64(1), HEIGHT, width);
        group.throughput(Throughput::Elements((HEIGHT * width) as u64));
        group.bench_function(BenchmarkId::from_parameter(width), |bencher| {
            let commit = |rows| mmcs.commit_matrix(rows);
            bencher.iter_batched(|| rows.clone(), commit, BatchSize::LargeInput);
        });
    }
    group.finish();
}

criterion_group!(benches, trees);
criterion_main!(benches);
