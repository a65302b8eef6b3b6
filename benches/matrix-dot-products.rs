//! Dot products of a matrix's columns, and of its rows, with weights in the extension of degree 4 of KoalaBear: a matrix in the cache,
//! and one that no cache holds. `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like choose the packing.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use p3_field::extension::BinomialExtensionField;
use p3_field::{ExtensionField, Field, PackedFieldExtension, PackedValue};
use p3_koala_bear::KoalaBear;
use p3_matrix::Matrix;
use p3_matrix::dense::RowMajorMatrix;
use p3_maybe_rayon::prelude::*;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

type Ext = BinomialExtensionField<KoalaBear, 4>;
type Packing = <KoalaBear as Field>::Packing;
type Packed = <Ext as ExtensionField<KoalaBear>>::ExtensionPacking;

fn products(criterion: &mut Criterion) {
    let mut rng = SmallRng::seed_from_u64(1);
    for (height, width) in [(1 << 10, 64), (1 << 14, 2640)] {
        let values = (0..height * width).map(|_| rng.random()).collect();
        let matrix = RowMajorMatrix::<KoalaBear>::new(values, width);
        let by_row: Vec<Ext> = (0..height).map(|_| rng.random()).collect();
        let by_column: Vec<Ext> = (0..width).map(|_| rng.random()).collect();
        let packed: Vec<Packed> = (by_column.chunks_exact(Packing::WIDTH))
            .map(Packed::from_ext_slice)
            .collect();

        let mut group = criterion.benchmark_group("dot-product/koala-bear");
        group.sample_size(10);
        group.throughput(Throughput::Elements((height * width) as u64));
        let size = format!("{height}x{width}");
        group.bench_function(BenchmarkId::new("columns", &size), |bencher| {
            bencher.iter(|| black_box(matrix.columnwise_dot_product(&by_row)));
        });
        group.bench_function(BenchmarkId::new("rows", &size), |bencher| {
            let rows = || matrix.rowwise_packed_dot_product::<Ext>(&packed);
            bencher.iter(|| black_box(rows().collect::<Vec<Ext>>()));
        });
        group.finish();
    }
}

criterion_group!(benches, products);
criterion_main!(benches);
