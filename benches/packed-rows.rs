//! Both packed rows that a group of a quotient's constraints reads, from a bit-reversed trace of KoalaBear that the cache holds, as
//! Plonky3 0.8.0 packs them. `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like choose the packing.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use p3_field::{Field, PackedValue};
use p3_koala_bear::KoalaBear;
use p3_matrix::Matrix;
use p3_matrix::bitrev::BitReversibleMatrix;
use p3_matrix::dense::RowMajorMatrix;
use rand::SeedableRng;
use rand::rngs::SmallRng;

type Packing = <KoalaBear as Field>::Packing;

const HEIGHT: usize = 256;

/// Rows between a row of the trace and the next one on a domain of twice the trace's size.
const STEP: usize = 2;

fn rows(criterion: &mut Criterion) {
    let mut rng = SmallRng::seed_from_u64(1);
    let mut group = criterion.benchmark_group("packed-rows/koala-bear");
    for width in [9, 300] {
        let matrix = RowMajorMatrix::<KoalaBear>::rand(&mut rng, HEIGHT, width).bit_reverse_rows();
        let mut packed = Vec::<Packing>::with_capacity(2 * width);
        group.throughput(Throughput::Elements((2 * HEIGHT * width) as u64));
        group.bench_function(BenchmarkId::new("gather", width), |bencher| {
            bencher.iter(|| {
                for first in (0..HEIGHT).step_by(Packing::WIDTH) {
                    packed.clear();
                    packed.extend(matrix.vertically_packed_row::<Packing>(first));
                    packed.extend(matrix.vertically_packed_row::<Packing>(first + STEP));
                    black_box(&packed);
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, rows);
criterion_main!(benches);
