//! The two paths of packed Poseidon2 of width 8 in one process, a chain of permutations each: Plonky3 as published, which
//! on aarch64 is the fused assembly, and the generic layers. Which of them a core runs faster is what the patch has to
//! know of it; `cargo p3 ab --phases neon-dispatch-fix` shows where the difference is.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use p3_field::{Field, PackedValue};
use p3_goldilocks::{
    GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_FINAL, GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_INITIAL,
    GOLDILOCKS_POSEIDON2_RC_8_INTERNAL, Goldilocks, Poseidon2ExternalLayerGoldilocks,
    Poseidon2InternalLayerGoldilocks, default_goldilocks_poseidon2_8,
};
use p3_poseidon2::{ExternalLayerConstants, Poseidon2};
use p3_symmetric::Permutation;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

type Packed = <Goldilocks as Field>::Packing;

type Generic = Poseidon2<
    Goldilocks,
    Poseidon2ExternalLayerGoldilocks<8>,
    Poseidon2InternalLayerGoldilocks,
    8,
    7,
>;

fn paths(criterion: &mut Criterion) {
    let generic = Generic::new(
        ExternalLayerConstants::new(
            GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_INITIAL.to_vec(),
            GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_FINAL.to_vec(),
        ),
        GOLDILOCKS_POSEIDON2_RC_8_INTERNAL.to_vec(),
    );
    let published = default_goldilocks_poseidon2_8();
    let mut rng = SmallRng::seed_from_u64(1);
    let mut state: [Packed; 8] = std::array::from_fn(|_| Packed::from_fn(|_| rng.random()));

    let mut group = criterion.benchmark_group("poseidon2-w8/packed");
    group.throughput(Throughput::Elements(Packed::WIDTH as u64));
    group.bench_function("0.8.0", |bencher| {
        bencher.iter(|| published.permute_mut(&mut state));
    });
    group.bench_function("generic layers", |bencher| {
        bencher.iter(|| generic.permute_mut(&mut state));
    });
    group.finish();
}

criterion_group!(benches, paths);
criterion_main!(benches);
