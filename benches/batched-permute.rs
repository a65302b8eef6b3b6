//! Interleaved batches of Poseidon2 permutations against 0.8.0, one state after the other: the batch sizes 1 to 4, for
//! packed and for scalar states. `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like choose the packing.

use batched_permute::{BatchElement, BatchedPoseidon2};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
use p3_field::Field;
use p3_field::PackedValue;
use p3_goldilocks::{
    Goldilocks, default_goldilocks_poseidon2_8, default_goldilocks_poseidon2_12,
    default_goldilocks_poseidon2_16,
};
use p3_symmetric::Permutation;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// A multiple of every batch size; small enough for the first-level cache.
const STATES: usize = 12;

fn bench<A, Published, const WIDTH: usize>(
    criterion: &mut Criterion,
    states: &str,
    batched: &BatchedPoseidon2<WIDTH>,
    published: &Published,
) where
    A: BatchElement + PackedValue<Value = Goldilocks>,
    Published: Permutation<[A; WIDTH]>,
{
    let mut rng = SmallRng::seed_from_u64(1);
    let mut input = [[A::from_fn(|_| Goldilocks::new(0)); WIDTH]; STATES];
    for element in input.as_flattened_mut() {
        *element = A::from_fn(|_| rng.random());
    }

    let mut group = criterion.benchmark_group(format!("poseidon2-w{WIDTH}/{states}"));
    group.throughput(Throughput::Elements((STATES * A::WIDTH) as u64));
    group.bench_function("0.8.0", |bencher| {
        bencher.iter(|| {
            for state in &mut input {
                published.permute_mut(state);
            }
        });
    });
    macro_rules! interleaved {
        ($($b:literal)*) => {$(
            group.bench_function(BenchmarkId::new("B", $b), |bencher| {
                bencher.iter(|| batched.permute_interleaved::<A, $b>(&mut input));
            });
        )*};
    }
    interleaved!(1 2 3 4);
    group.finish();
}

fn poseidon2(criterion: &mut Criterion) {
    macro_rules! widths {
        ($($states:literal: $element:ty),*) => {$(
            bench::<$element, _, 8>(
                criterion,
                $states,
                &BatchedPoseidon2::default_8(),
                &default_goldilocks_poseidon2_8(),
            );
            bench::<$element, _, 12>(
                criterion,
                $states,
                &BatchedPoseidon2::default_12(),
                &default_goldilocks_poseidon2_12(),
            );
            bench::<$element, _, 16>(
                criterion,
                $states,
                &BatchedPoseidon2::default_16(),
                &default_goldilocks_poseidon2_16(),
            );
        )*};
    }
    widths!("scalar": Goldilocks);
    // Without AVX2, the packing is the field itself.
    #[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
    widths!("packed": <Goldilocks as Field>::Packing);
}

criterion_group!(benches, poseidon2);
criterion_main!(benches);
