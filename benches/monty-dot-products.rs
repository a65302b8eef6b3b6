//! Dot products over KoalaBear and its quartic extension: `published`, as p3-monty-31 has them, beside `lazy`. BabyBear's have
//! the same instructions. `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like choose the packing.

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod products {
    use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
    use lazy_dot_products::columnwise::unreduced_columnwise_dot_product;
    use monty_dot_products::dot_product::{Sums, coeffwise_dot_product};
    use p3_field::extension::BinomialExtensionField;
    use p3_field::{
        BasedVectorSpace, ExtensionField, Field, PackedField, PackedValue, PrimeCharacteristicRing,
    };
    use p3_koala_bear::{KoalaBear, KoalaBearParameters};
    use rand::distr::{Distribution, StandardUniform};
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    type Packing = <KoalaBear as Field>::Packing;
    type Extension = BinomialExtensionField<KoalaBear, 4>;
    type ExtensionPacking = <Extension as ExtensionField<KoalaBear>>::ExtensionPacking;

    fn random<T>(len: usize) -> Vec<T>
    where
        StandardUniform: Distribution<T>,
    {
        let mut rng = SmallRng::seed_from_u64(1);
        (0..len).map(|_| rng.random()).collect()
    }

    fn by_columns(criterion: &mut Criterion) {
        let mut group = criterion.benchmark_group("columnwise-dot-product/koala-bear");
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
                    KoalaBear::batched_columnwise_dot_product::<Extension, _, _, 1>(
                        &mut acc,
                        items(),
                    );
                });
            });
            group.bench_function(BenchmarkId::new("lazy", &name), |bencher| {
                bencher.iter(|| {
                    unreduced_columnwise_dot_product::<
                        Sums<KoalaBearParameters>,
                        KoalaBear,
                        Extension,
                        _,
                        _,
                        1,
                    >(&mut acc, items());
                });
            });
        }
        group.finish();
    }

    fn by_rows(criterion: &mut Criterion) {
        let mut group = criterion.benchmark_group("coeffwise-dot-product/koala-bear");
        for vectors in [4, 8, 9, 12, 16, 64, 330] {
            let row: Vec<Packing> = random(vectors);
            let coefficients: [Vec<Packing>; 4] = std::array::from_fn(|_| random(vectors));
            let weights: Vec<ExtensionPacking> = (0..vectors)
                .map(|i| ExtensionPacking::from_basis_coefficients_fn(|k| coefficients[k][i]))
                .collect();
            let pairs = || {
                let coefficients = weights.iter().map(|w| w.as_basis_coefficients_slice());
                coefficients.zip(row.iter().copied())
            };
            group.throughput(Throughput::Elements((vectors * Packing::WIDTH) as u64));
            group.bench_function(BenchmarkId::new("published", vectors), |bencher| {
                bencher.iter(|| Packing::coeffwise_dot_product(4, pairs()));
            });
            group.bench_function(BenchmarkId::new("lazy", vectors), |bencher| {
                bencher.iter(|| coeffwise_dot_product::<KoalaBearParameters>(4, pairs()));
            });
        }
        group.finish();
    }

    criterion_group!(benches, by_columns, by_rows);
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
criterion::criterion_main!(products::benches);

#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
fn main() {
    println!("monty-dot-products: the kernel is that of AVX2 and AVX-512, which this build lacks");
}
