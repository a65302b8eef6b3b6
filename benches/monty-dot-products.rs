//! Dot products over KoalaBear and its quartic extension: `published`, as p3-monty-31 has them, beside `lazy`. BabyBear's have
//! the same instructions. `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like choose the packing.

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod dot_products;

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod products {
    use criterion::{Criterion, criterion_group};
    use monty_dot_products::dot_product::{Sums, coeffwise_dot_product};
    use p3_field::extension::BinomialExtensionField;
    use p3_koala_bear::{KoalaBear, KoalaBearParameters};

    use super::dot_products;

    fn koala_bear(criterion: &mut Criterion) {
        type Quartic = BinomialExtensionField<KoalaBear, 4>;
        type S = Sums<KoalaBearParameters>;

        dot_products::by_columns::<KoalaBear, Quartic, S>(criterion, "koala-bear");
        dot_products::by_rows::<KoalaBear>(criterion, "koala-bear", 4, |weights, row| {
            let pairs = weights.chunks_exact(4).zip(row.iter().copied());
            coeffwise_dot_product::<KoalaBearParameters>(4, pairs)
        });
    }

    criterion_group!(benches, koala_bear);
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
criterion::criterion_main!(products::benches);

#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
fn main() {
    println!("monty-dot-products: the kernel is that of AVX2 and AVX-512, which this build lacks");
}
