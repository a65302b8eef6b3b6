//! Dot products over Goldilocks and its quadratic extension: `published`, as p3-goldilocks has them, beside `lazy`.
//! `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like choose the packing.

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod products {
    use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
    use lazy_dot_products::columnwise::unreduced_columnwise_dot_product;
    use lazy_dot_products::dot_product::{
        Columnwise, batched_linear_combination, coeffwise_dot_product,
    };
    use p3_field::extension::BinomialExtensionField;
    use p3_field::{
        Algebra, BasedVectorSpace, ExtensionField, Field, PackedField, PackedValue,
        PrimeCharacteristicRing,
    };
    use p3_goldilocks::Goldilocks;
    use rand::distr::{Distribution, StandardUniform};
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    type Packing = <Goldilocks as Field>::Packing;
    type Extension = BinomialExtensionField<Goldilocks, 2>;
    type ExtensionPacking = <Extension as ExtensionField<Goldilocks>>::ExtensionPacking;

    fn random<T>(len: usize) -> Vec<T>
    where
        StandardUniform: Distribution<T>,
    {
        let mut rng = SmallRng::seed_from_u64(1);
        (0..len).map(|_| rng.random()).collect()
    }

    fn by_columns(criterion: &mut Criterion) {
        let mut group = criterion.benchmark_group("columnwise-dot-product/goldilocks");
        for (rows, vectors) in [(64, 32), (256, 8), (512, 1)] {
            let matrix: Vec<Packing> = random(rows * vectors);
            let weights: Vec<Extension> = random(rows);
            let items = || {
                let rows = matrix.chunks_exact(vectors).zip(&weights);
                rows.map(|(row, &weight)| (row.iter().copied(), [weight]))
            };
            let mut acc = ExtensionPacking::zero_vec(vectors);
            group.throughput(Throughput::Elements(
                (rows * vectors * Packing::WIDTH) as u64,
            ));
            let name = format!("{rows}x{}", vectors * Packing::WIDTH);
            group.bench_function(BenchmarkId::new("published", &name), |bencher| {
                bencher.iter(|| {
                    Goldilocks::batched_columnwise_dot_product::<Extension, _, _, 1>(
                        &mut acc,
                        items(),
                    );
                });
            });
            group.bench_function(BenchmarkId::new("lazy", &name), |bencher| {
                bencher.iter(|| {
                    unreduced_columnwise_dot_product::<Columnwise, Goldilocks, Extension, _, _, 1>(
                        &mut acc,
                        items(),
                    );
                });
            });
        }
        group.finish();
    }

    fn by_rows(criterion: &mut Criterion) {
        let mut group = criterion.benchmark_group("coeffwise-dot-product/goldilocks");
        for vectors in [4, 6, 8, 12, 16, 64, 330] {
            let row: Vec<Packing> = random(vectors);
            let coefficients: [Vec<Packing>; 2] = [random(vectors), random(vectors)];
            let weights: Vec<ExtensionPacking> = (0..vectors)
                .map(|i| ExtensionPacking::from_basis_coefficients_fn(|k| coefficients[k][i]))
                .collect();
            let pairs = || {
                let coefficients = weights.iter().map(|w| w.as_basis_coefficients_slice());
                coefficients.zip(row.iter().copied())
            };
            group.throughput(Throughput::Elements((vectors * Packing::WIDTH) as u64));
            group.bench_function(BenchmarkId::new("published", vectors), |bencher| {
                bencher.iter(|| Packing::coeffwise_dot_product(2, pairs()));
            });
            group.bench_function(BenchmarkId::new("lazy", vectors), |bencher| {
                bencher.iter(|| coeffwise_dot_product(2, pairs()));
            });
        }
        group.finish();
    }

    fn combinations(criterion: &mut Criterion) {
        let mut group = criterion.benchmark_group("linear-combination/goldilocks");
        for terms in [4, 8, 12, 16, 64, 3182] {
            let values: Vec<Packing> = random(terms);
            let coefficients: Vec<Goldilocks> = random(terms);
            group.throughput(Throughput::Elements((terms * Packing::WIDTH) as u64));
            group.bench_function(BenchmarkId::new("published", terms), |bencher| {
                bencher.iter(|| Packing::batched_linear_combination(&values, &coefficients));
            });
            group.bench_function(BenchmarkId::new("lazy", terms), |bencher| {
                bencher.iter(|| batched_linear_combination(&values, &coefficients));
            });
        }
        group.finish();
    }

    criterion_group!(benches, by_columns, by_rows, combinations);
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
criterion::criterion_main!(products::benches);

#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
fn main() {
    println!("lazy-dot-products: the kernel is that of AVX2 and AVX-512, which this build lacks");
}
