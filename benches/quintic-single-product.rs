//! Products of single elements in KoalaBear's quintic extension against 0.8.0, in builds with AVX2: with
//! `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like. In those with AVX-512 the crate's kernel takes a way through memory
//! that the patch's does not.

use std::array;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
use p3_field::BasedVectorSpace;
use p3_field::extension::QuinticTrinomialExtensionField;
use p3_koala_bear::KoalaBear;
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
use quintic_single_product::quintic_mul;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

type Element = QuinticTrinomialExtensionField<KoalaBear>;

/// Small enough for the first-level cache.
const ELEMENTS: usize = 64;

/// Products of independent pairs, and a chain in which each product is the next one's operand.
fn bench(criterion: &mut Criterion, name: &str, mul: impl Fn(Element, Element) -> Element) {
    let mut rng = SmallRng::seed_from_u64(1);
    let a: [Element; ELEMENTS] = array::from_fn(|_| rng.random());
    let b: [Element; ELEMENTS] = array::from_fn(|_| rng.random());
    let mut products = a;

    let mut group = criterion.benchmark_group("quintic");
    group.throughput(Throughput::Elements(ELEMENTS as u64));
    group.bench_function(format!("{name}/independent"), |bencher| {
        bencher.iter(|| {
            for ((product, &x), &y) in products.iter_mut().zip(black_box(&a)).zip(black_box(&b)) {
                *product = mul(x, y);
            }
            black_box(&products);
        });
    });
    group.bench_function(format!("{name}/chain"), |bencher| {
        bencher.iter(|| black_box(&b).iter().fold(a[0], |x, &y| mul(x, y)));
    });
    group.finish();
}

fn quintic(criterion: &mut Criterion) {
    bench(criterion, "0.8.0", |x, y| x * y);
    #[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
    bench(criterion, "kernel", |x, y| {
        let coefficients = |x: &Element| x.as_basis_coefficients_slice().try_into().unwrap();
        Element::new(quintic_mul(&coefficients(&x), &coefficients(&y)))
    });
}

criterion_group!(benches, quintic);
criterion_main!(benches);
