//! Rows of words that a packing takes at once, as columns: a `gather` for each lane beside `tiles`, for rows that the cache holds.
//! `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like choose the tiles; a build without AVX2 has the gather alone.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// The words of 64 bits that a vector has.
const LANES: usize = if cfg!(target_feature = "avx512f") {
    8
} else {
    4
};

fn transposes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("transpose/u64");
    for width in [9, 64, 2633] {
        let rows: Vec<Vec<u64>> = (0..LANES as u64)
            .map(|r| (0..width as u64).map(|c| c << 8 | r).collect())
            .collect();
        let mut columns = vec![0; LANES * width];
        group.throughput(Throughput::Elements(columns.len() as u64));
        group.bench_function(BenchmarkId::new("gather", width), |bencher| {
            bencher.iter(|| {
                let rows = black_box(&rows);
                for (c, column) in columns.chunks_exact_mut(LANES).enumerate() {
                    for (word, row) in column.iter_mut().zip(rows) {
                        *word = row[c];
                    }
                }
                black_box(&columns);
            });
        });
        #[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
        group.bench_function(BenchmarkId::new("tiles", width), |bencher| {
            bencher.iter(|| {
                let rows = black_box(&rows);
                row_tiles::transpose::tiles::transpose_u64(
                    LANES,
                    width,
                    |r| &rows[r],
                    &mut columns,
                    LANES,
                );
                black_box(&columns);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, transposes);
criterion_main!(benches);
