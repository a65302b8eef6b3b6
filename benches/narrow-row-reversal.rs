//! The rows of a matrix in bit-reversed order: `rows`, by swaps, as Plonky3 0.8.0 does it for all but one column of small elements,
//! beside `slices`, by blocks. A matrix in the cache, and one that no cache holds.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use p3_field::PrimeCharacteristicRing;
use p3_koala_bear::KoalaBear;
use p3_matrix::dense::RowMajorMatrix;
use p3_matrix::util::reverse_matrix_index_bits;
use p3_util::reverse_slice_index_bits;

fn reversal<const WIDTH: usize>(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("row-reversal/koala-bear");
    for log_height in [12, 20] {
        let values = KoalaBear::zero_vec(WIDTH << log_height);
        let mut matrix = RowMajorMatrix::new(values, WIDTH);
        group.throughput(Throughput::Elements(1 << log_height));
        let size = format!("2^{log_height}x{WIDTH}");
        group.bench_function(BenchmarkId::new("rows", &size), |bencher| {
            bencher.iter(|| reverse_matrix_index_bits(black_box(&mut matrix)));
        });
        group.bench_function(BenchmarkId::new("slices", &size), |bencher| {
            bencher.iter(|| {
                let rows = black_box(&mut matrix).values.as_chunks_mut::<WIDTH>().0;
                reverse_slice_index_bits(rows);
            });
        });
    }
    group.finish();
}

criterion_group!(
    benches,
    reversal::<2>,
    reversal::<4>,
    reversal::<8>,
    reversal::<16>
);
criterion_main!(benches);
