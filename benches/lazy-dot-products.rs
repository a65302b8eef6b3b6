//! Dot products over Goldilocks and its quadratic extension: `published`, as p3-goldilocks has them, beside `lazy`.
//! `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like choose the packing.

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod dot_products;

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod products {
    use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
    use lazy_dot_products::dot_product::{
        Columnwise, batched_linear_combination, coeffwise_dot_product,
    };
    use p3_field::extension::BinomialExtensionField;
    use p3_field::{Algebra, Field, PackedValue};
    use p3_goldilocks::Goldilocks;

    use super::dot_products::{self, random};

    type Packing = <Goldilocks as Field>::Packing;

    fn goldilocks(criterion: &mut Criterion) {
        type Quadratic = BinomialExtensionField<Goldilocks, 2>;

        dot_products::by_columns::<Goldilocks, Quadratic, Columnwise>(criterion, "goldilocks");
        dot_products::by_rows::<Goldilocks>(criterion, "goldilocks", 2, |weights, row| {
            coeffwise_dot_product(2, weights.chunks_exact(2).zip(row.iter().copied()))
        });
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

    criterion_group!(benches, goldilocks, combinations);
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
criterion::criterion_main!(products::benches);

#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
fn main() {
    println!("lazy-dot-products: the kernel is that of AVX2 and AVX-512, which this build lacks");
}
