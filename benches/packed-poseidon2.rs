//! Packed Poseidon2 permutations without modular additions against 0.8.0, one state at a time.
//! `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like choose the packing; without AVX2 there is nothing to time.

use criterion::{Criterion, criterion_group, criterion_main};

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod packed {
    use criterion::{Criterion, Throughput};
    use p3_field::{Field, PackedValue};
    use p3_goldilocks::{Goldilocks, Poseidon2Goldilocks};
    use p3_symmetric::Permutation;
    use packed_poseidon2::Poseidon2GoldilocksFused;
    use rand::distr::{Distribution, StandardUniform};
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    type Packing = <Goldilocks as Field>::Packing;

    pub fn bench<const WIDTH: usize>(criterion: &mut Criterion)
    where
        Poseidon2Goldilocks<WIDTH>: Permutation<[Packing; WIDTH]>,
        Poseidon2GoldilocksFused<WIDTH>: Permutation<[Packing; WIDTH]>,
        StandardUniform: Distribution<[Goldilocks; WIDTH]>,
    {
        let mut rng = SmallRng::seed_from_u64(1);
        let mut state = [Packing::from_fn(|_| rng.random::<Goldilocks>()); WIDTH];
        let published = Poseidon2Goldilocks::<WIDTH>::new_from_rng_128(&mut rng);
        let ours = Poseidon2GoldilocksFused::<WIDTH>::new_from_rng_128(&mut rng);
        let mut group = criterion.benchmark_group(format!("packed-poseidon2-w{WIDTH}"));
        group.throughput(Throughput::Elements(Packing::WIDTH as u64));
        group.bench_function("0.8.0", |bencher| {
            bencher.iter(|| published.permute_mut(&mut state));
        });
        group.bench_function("packed-poseidon2", |bencher| {
            bencher.iter(|| ours.permute_mut(&mut state));
        });
        group.finish();
    }
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
fn poseidon2(criterion: &mut Criterion) {
    packed::bench::<8>(criterion);
    packed::bench::<12>(criterion);
    packed::bench::<16>(criterion);
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
fn poseidon2(_criterion: &mut Criterion) {}

criterion_group!(benches, poseidon2);
criterion_main!(benches);
