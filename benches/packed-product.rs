//! Independent products of packed Goldilocks elements, and chains of them: `published`, as p3-goldilocks has them, beside `patched`.
//! `RUSTFLAGS="-C target-cpu=x86-64-v4 -C target-feature=+avx512ifma"` builds it; the kernel is for no other instruction set.

#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
mod products {
    use std::hint::black_box;

    use criterion::{Criterion, Throughput, criterion_group};
    use p3_field::{Field, PackedValue};
    use p3_goldilocks::Goldilocks;
    use packed_product::limb_product::mul;
    use packed_product::vector::Packed;
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    type Packing = <Goldilocks as Field>::Packing;

    const COUNT: usize = 64;

    fn patched(x: Packing, y: Packing) -> Packing {
        Packing::from_words(mul(x.to_words(), y.to_words()))
    }

    fn products(criterion: &mut Criterion) {
        let mut rng = SmallRng::seed_from_u64(1);
        let mut packed = || -> [Packing; COUNT] { std::array::from_fn(|_| rng.random()) };
        let (mut x, y) = (packed(), packed());
        let mut group = criterion.benchmark_group("product/goldilocks");
        group.throughput(Throughput::Elements((COUNT * Packing::WIDTH) as u64));
        group.bench_function("independent/published", |bencher| {
            bencher.iter(|| x.iter_mut().zip(&y).for_each(|(x, y)| *x *= *black_box(y)));
        });
        group.bench_function("independent/patched", |bencher| {
            bencher.iter(|| {
                x.iter_mut()
                    .zip(&y)
                    .for_each(|(x, y)| *x = patched(*x, *black_box(y)))
            });
        });
        group.bench_function("chain/published", |bencher| {
            bencher.iter(|| y.iter().fold(x[0], |product, y| product * *black_box(y)));
        });
        group.bench_function("chain/patched", |bencher| {
            bencher.iter(|| {
                y.iter()
                    .fold(x[0], |product, y| patched(product, *black_box(y)))
            });
        });
        group.finish();
    }

    criterion_group!(benches, products);
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
criterion::criterion_main!(products::benches);

#[cfg(not(all(target_arch = "x86_64", target_feature = "avx512ifma")))]
fn main() {
    println!("packed-product: the kernel is that of AVX-512 IFMA, which this build lacks");
}
