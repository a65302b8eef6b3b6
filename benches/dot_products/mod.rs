//! Dot products over a field: `published`, as its package has them, beside `lazy`.

use criterion::{BenchmarkId, Criterion, Throughput};
use lazy_dot_products::columnwise::{UnreducedSum, unreduced_columnwise_dot_product};
use p3_field::{ExtensionField, Field, PackedField, PackedValue, PrimeCharacteristicRing};
use rand::distr::{Distribution, StandardUniform};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

pub fn random<T>(len: usize) -> Vec<T>
where
    StandardUniform: Distribution<T>,
{
    let mut rng = SmallRng::seed_from_u64(1);
    (0..len).map(|_| rng.random()).collect()
}

/// Columns with weights in `EF`.
pub fn by_columns<F, EF, S>(criterion: &mut Criterion, field: &str)
where
    F: Field,
    EF: ExtensionField<F>,
    S: UnreducedSum<F>,
    StandardUniform: Distribution<F> + Distribution<EF>,
{
    let mut group = criterion.benchmark_group(format!("columnwise-dot-product/{field}"));
    for (rows, vectors) in [(64, 32), (256, 8), (512, 1)] {
        let matrix: Vec<F> = random(rows * vectors * F::Packing::WIDTH);
        let matrix = F::Packing::pack_slice(&matrix);
        let weights: Vec<EF> = random(rows);
        let items = || {
            let rows = matrix.chunks_exact(vectors).zip(&weights);
            rows.map(|(row, &weight)| (row.iter().copied(), [weight]))
        };
        let mut acc = EF::ExtensionPacking::zero_vec(vectors);
        let width = vectors * F::Packing::WIDTH;
        group.throughput(Throughput::Elements((rows * width) as u64));
        let name = format!("{rows}x{width}");
        group.bench_function(BenchmarkId::new("published", &name), |bencher| {
            bencher.iter(|| F::batched_columnwise_dot_product::<EF, _, _, 1>(&mut acc, items()));
        });
        group.bench_function(BenchmarkId::new("lazy", &name), |bencher| {
            bencher.iter(|| {
                unreduced_columnwise_dot_product::<S, F, EF, _, _, 1>(&mut acc, items());
            });
        });
    }
    group.finish();
}

/// Rows with weights of degree `d`. `lazy` takes the weights of a row's vectors, one after the other, and the row.
pub fn by_rows<F>(
    criterion: &mut Criterion,
    field: &str,
    d: usize,
    lazy: impl Fn(&[F::Packing], &[F::Packing]) -> [F::Packing; 8],
) where
    F: Field,
    StandardUniform: Distribution<F>,
{
    let mut group = criterion.benchmark_group(format!("coeffwise-dot-product/{field}"));
    for vectors in [4, 6, 8, 9, 12, 16, 64, 330] {
        let row: Vec<F> = random(vectors * F::Packing::WIDTH);
        let weights: Vec<F> = random(d * vectors * F::Packing::WIDTH);
        let row = F::Packing::pack_slice(&row);
        let weights = F::Packing::pack_slice(&weights);
        group.throughput(Throughput::Elements((vectors * F::Packing::WIDTH) as u64));
        group.bench_function(BenchmarkId::new("published", vectors), |bencher| {
            bencher.iter(|| {
                let pairs = weights.chunks_exact(d).zip(row.iter().copied());
                F::Packing::coeffwise_dot_product(d, pairs)
            });
        });
        group.bench_function(BenchmarkId::new("lazy", vectors), |bencher| {
            bencher.iter(|| lazy(weights, row));
        });
    }
    group.finish();
}
