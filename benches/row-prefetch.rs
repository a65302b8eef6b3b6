//! Dot products of the rows of a matrix that no cache holds with weights in the quadratic extension of Goldilocks: `copied`, as
//! p3-matrix reads rows, beside `prefetched`. `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like choose the packing.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use p3_field::{Field, PackedField, PackedValue};
use p3_goldilocks::Goldilocks;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use row_prefetch::prefetch::prefetched;

type Packing = <Goldilocks as Field>::Packing;

const HEIGHT: usize = 1 << 14;
const WIDTH: usize = 2640;

fn rows(criterion: &mut Criterion) {
    let mut rng = SmallRng::seed_from_u64(1);
    let matrix: Vec<Goldilocks> = (0..HEIGHT * WIDTH).map(|_| rng.random()).collect();
    let rows = || matrix.chunks_exact(WIDTH).map(Packing::pack_slice);
    let weights: Vec<[Packing; 2]> = (0..WIDTH / Packing::WIDTH).map(|_| rng.random()).collect();
    let weights = || weights.iter().map(|weight| weight.as_slice());

    let mut group = criterion.benchmark_group("rowwise-dot-product/goldilocks");
    group.sample_size(10);
    group.throughput(Throughput::Bytes((HEIGHT * WIDTH * 8) as u64));
    group.bench_function("copied", |bencher| {
        let product =
            |row: &[Packing]| Packing::coeffwise_dot_product(2, weights().zip(row.iter().copied()));
        bencher.iter(|| {
            for row in rows() {
                let _ = black_box(product(row));
            }
        });
    });
    group.bench_function("prefetched", |bencher| {
        let product =
            |row: &[Packing]| Packing::coeffwise_dot_product(2, weights().zip(prefetched(row)));
        bencher.iter(|| {
            for row in rows() {
                let _ = black_box(product(row));
            }
        });
    });
    group.finish();
}

criterion_group!(benches, rows);
criterion_main!(benches);
