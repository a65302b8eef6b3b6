//! A sponge over packed Poseidon2 states, rows of 64 elements, four at a time: 0.8.0's, the batched permutation block by
//! block, and states that stay unreduced. `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like choose the packing.

use criterion::{Criterion, criterion_group, criterion_main};

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
fn leaves(criterion: &mut Criterion) {
    use criterion::Throughput;
    use p3_field::{Field, PackedValue};
    use p3_goldilocks::{Goldilocks, default_goldilocks_poseidon2_8};
    use p3_symmetric::{CryptographicHasher, PaddingFreeSponge};
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};
    use simd_leaf_feed::BatchedPoseidon2;

    type Packed = <Goldilocks as Field>::Packing;
    const ROW: usize = 64;
    let mut rng = SmallRng::seed_from_u64(1);
    let rows: [Packed; 4 * ROW] =
        core::array::from_fn(|_| Packed::from_fn(|_| rng.random::<Goldilocks>()));
    let mut digests = [[Packed::default(); 4]; 4];

    let mut group = criterion.benchmark_group("packed-sponge-poseidon2-w8");
    group.throughput(Throughput::Elements(
        (rows.len() / 4 * Packed::WIDTH) as u64,
    ));
    let published = PaddingFreeSponge::<_, 8, 4, 4>::new(default_goldilocks_poseidon2_8());
    group.bench_function("0.8.0", |bencher| {
        bencher.iter(|| {
            for (digest, row) in digests.iter_mut().zip(rows.chunks_exact(ROW)) {
                *digest = published.hash_iter(row.iter().copied());
            }
        });
    });
    let batched = BatchedPoseidon2::<Packed, 8>::default_8();
    group.bench_function("block by block", |bencher| {
        bencher.iter(|| {
            let mut states = [[Packed::default(); 8]; 4];
            for block in 0..ROW / 4 {
                for (state, row) in states.iter_mut().zip(rows.chunks_exact(ROW)) {
                    state[..4].copy_from_slice(&row[4 * block..][..4]);
                }
                batched.permute_many(&mut states);
            }
            for (digest, state) in digests.iter_mut().zip(states) {
                digest.copy_from_slice(&state[..4]);
            }
        });
    });
    group.bench_function("unreduced", |bencher| {
        bencher.iter(|| batched.hash_many::<4, 4>(&rows, &mut digests));
    });
    group.finish();
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
fn leaves(_criterion: &mut Criterion) {}

criterion_group!(benches, leaves);
criterion_main!(benches);
