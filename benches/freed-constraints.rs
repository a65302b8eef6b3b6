//! The symbolic evaluations of a proof: for the number of quotient chunks and for the order of the constraints.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use p3_air::symbolic::{AirLayout, get_constraint_layout};
use p3_goldilocks::Goldilocks;
use p3_keccak_air::KeccakAir;
use p3_uni_stark::get_log_num_quotient_chunks;

fn symbolic(criterion: &mut Criterion) {
    let air = KeccakAir {};
    let layout = AirLayout::from_air::<Goldilocks>(&air);
    let mut group = criterion.benchmark_group("symbolic/keccak-air");
    group.bench_function("chunks", |bencher| {
        bencher.iter(|| {
            get_log_num_quotient_chunks::<Goldilocks, _>(&air, black_box(layout), 1 << 12, 0)
        });
    });
    group.bench_function("constraints", |bencher| {
        bencher
            .iter(|| get_constraint_layout::<Goldilocks, Goldilocks, _>(&air, black_box(layout)));
    });
    group.finish();
}

criterion_group!(benches, symbolic);
criterion_main!(benches);
