//! Packed Poseidon1 and the packed MDS matrices against 0.8.0. `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like choose the
//! packing; without AVX2 the packing is the field itself, and both sides are the same.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use p3_field::{Field, PackedValue};
use p3_goldilocks::poseidon1::{default_goldilocks_poseidon1_8, default_goldilocks_poseidon1_12};
use p3_goldilocks::{Goldilocks, MdsMatrixGoldilocks};
use p3_symmetric::Permutation;
use packed_mds_karatsuba::{PackedMdsMatrix, default_8, default_12};

type Packing = <Goldilocks as Field>::Packing;

fn bench<const WIDTH: usize>(
    criterion: &mut Criterion,
    name: &str,
    published: &impl Permutation<[Packing; WIDTH]>,
    ours: &impl Permutation<[Packing; WIDTH]>,
) {
    let state: [Packing; WIDTH] =
        std::array::from_fn(|i| Packing::from_fn(|lane| Goldilocks::new(!((i + lane) as u64))));
    let mut group = criterion.benchmark_group(format!("{name}-w{WIDTH}"));
    group.throughput(Throughput::Elements(Packing::WIDTH as u64));
    group.bench_function("0.8.0", |bencher| {
        bencher.iter_batched_ref(
            || state,
            |state| published.permute_mut(state),
            BatchSize::SmallInput,
        );
    });
    group.bench_function("packed", |bencher| {
        bencher.iter_batched_ref(
            || state,
            |state| ours.permute_mut(state),
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

fn poseidon1(criterion: &mut Criterion) {
    bench(
        criterion,
        "poseidon1",
        &default_goldilocks_poseidon1_8(),
        &default_8(),
    );
    bench(
        criterion,
        "poseidon1",
        &default_goldilocks_poseidon1_12(),
        &default_12(),
    );
    #[cfg(not(target_arch = "aarch64"))]
    poseidon1_w16(criterion);
}

/// Upstream has no default constants for this width, and on aarch64 no packed matrix.
#[cfg(not(target_arch = "aarch64"))]
fn poseidon1_w16(criterion: &mut Criterion) {
    use p3_goldilocks::poseidon1::{
        GOLDILOCKS_POSEIDON_HALF_FULL_ROUNDS, GOLDILOCKS_POSEIDON_PARTIAL_ROUNDS_8,
        Poseidon1GoldilocksGeneric,
    };
    use packed_mds_karatsuba::PackedPoseidon1;
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    let (mut rng, mut same_rng) = (SmallRng::seed_from_u64(16), SmallRng::seed_from_u64(16));
    let published = Poseidon1GoldilocksGeneric::<16>::new_from_rng(
        GOLDILOCKS_POSEIDON_HALF_FULL_ROUNDS,
        GOLDILOCKS_POSEIDON_PARTIAL_ROUNDS_8,
        &MdsMatrixGoldilocks,
        &mut rng,
    );
    let ours = PackedPoseidon1::<16>::new_from_rng(
        GOLDILOCKS_POSEIDON_HALF_FULL_ROUNDS,
        GOLDILOCKS_POSEIDON_PARTIAL_ROUNDS_8,
        &MdsMatrixGoldilocks,
        &mut same_rng,
    );
    bench(criterion, "poseidon1", &published, &ours);
}

fn mds(criterion: &mut Criterion) {
    bench::<8>(criterion, "mds", &MdsMatrixGoldilocks, &PackedMdsMatrix);
    bench::<12>(criterion, "mds", &MdsMatrixGoldilocks, &PackedMdsMatrix);
    // On aarch64, 0.8.0 has no packed matrices of these widths.
    #[cfg(not(target_arch = "aarch64"))]
    {
        bench::<16>(criterion, "mds", &MdsMatrixGoldilocks, &PackedMdsMatrix);
        bench::<24>(criterion, "mds", &MdsMatrixGoldilocks, &PackedMdsMatrix);
    }
}

criterion_group!(benches, poseidon1, mds);
criterion_main!(benches);
