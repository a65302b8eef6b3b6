//! One scalar Poseidon2 state, and its external matrix alone, each on the result of the step before. Time per element:
//! where the carries of the additions branch, widths 12 and 16 stand out from width 8.
//! `RUSTFLAGS="-C llvm-args=-x86-cmov-converter=false"` takes the branches out of Plonky3 as published.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use p3_goldilocks::{
    Goldilocks, default_goldilocks_poseidon2_8, default_goldilocks_poseidon2_12,
    default_goldilocks_poseidon2_16,
};
use p3_poseidon2::{MDSMat4, mds_light_permutation};
use p3_symmetric::Permutation;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

fn bench<const WIDTH: usize>(
    criterion: &mut Criterion,
    permutation: &impl Permutation<[Goldilocks; WIDTH]>,
) {
    let mut rng = SmallRng::seed_from_u64(1);
    let mut state: [Goldilocks; WIDTH] = std::array::from_fn(|_| rng.random());

    let mut group = criterion.benchmark_group(format!("poseidon2-w{WIDTH}/scalar"));
    group.throughput(Throughput::Elements(WIDTH as u64));
    group.bench_function("external matrix", |bencher| {
        bencher.iter(|| mds_light_permutation(&mut state, &MDSMat4));
    });
    group.bench_function("permutation", |bencher| {
        bencher.iter(|| permutation.permute_mut(&mut state));
    });
    group.finish();
}

fn poseidon2(criterion: &mut Criterion) {
    bench(criterion, &default_goldilocks_poseidon2_8());
    bench(criterion, &default_goldilocks_poseidon2_12());
    bench(criterion, &default_goldilocks_poseidon2_16());
}

criterion_group!(benches, poseidon2);
criterion_main!(benches);
