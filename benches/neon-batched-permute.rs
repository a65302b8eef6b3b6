//! Scalar Poseidon2 states over Goldilocks in groups against 0.8.0, one state after the other. On targets without NEON there
//! is nothing to time.

use criterion::{Criterion, criterion_group, criterion_main};

#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
mod groups {
    use criterion::{Criterion, Throughput};
    use neon_batched_permute::{BATCH, Pair, Rounds, permute_group};
    use p3_goldilocks::{Goldilocks, Poseidon2Goldilocks};
    use p3_poseidon2::ExternalLayerConstants;
    use p3_symmetric::Permutation;
    use rand::distr::{Distribution, StandardUniform};
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    pub fn bench<const WIDTH: usize>(criterion: &mut Criterion)
    where
        Poseidon2Goldilocks<WIDTH>: Permutation<[Goldilocks; WIDTH]>,
        StandardUniform: Distribution<[Goldilocks; WIDTH]> + Distribution<[Goldilocks; 22]>,
    {
        // Round constants may be any: no time depends on them.
        let mut rng = SmallRng::seed_from_u64(1);
        let external = ExternalLayerConstants::new_from_rng(8, &mut rng);
        let internal: [Goldilocks; 22] = rng.random();
        let published = Poseidon2Goldilocks::<WIDTH>::new(&external, &internal);
        let rounds = Rounds::<Pair, WIDTH>::new(&external, &internal);
        let mut states: [[Goldilocks; WIDTH]; BATCH] = core::array::from_fn(|_| rng.random());

        let mut group = criterion.benchmark_group(format!("scalar-poseidon2-w{WIDTH}"));
        group.throughput(Throughput::Elements(BATCH as u64));
        group.bench_function("0.8.0", |bencher| {
            bencher.iter(|| {
                for state in &mut states {
                    published.permute_mut(state);
                }
            });
        });
        group.bench_function("group", |bencher| {
            bencher.iter(|| permute_group(&rounds, &mut states));
        });
        group.finish();
    }
}

#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
fn poseidon2(criterion: &mut Criterion) {
    groups::bench::<8>(criterion);
    groups::bench::<12>(criterion);
    groups::bench::<16>(criterion);
}

#[cfg(not(all(target_arch = "aarch64", target_feature = "neon")))]
fn poseidon2(_criterion: &mut Criterion) {}

criterion_group!(benches, poseidon2);
criterion_main!(benches);
