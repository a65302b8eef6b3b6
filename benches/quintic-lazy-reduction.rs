//! Products in KoalaBear's quintic extension against 0.8.0: one element with the kernel (builds with AVX2), and one per
//! lane by the matrix that the patch brings to packed products, through 0.8.0's own `dot_product::<5>`.
//! `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like choose the packing.

use std::array;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use p3_field::extension::QuinticTrinomialExtensionField;
use p3_field::{BasedVectorSpace, ExtensionField, Field, PrimeCharacteristicRing};
use p3_koala_bear::KoalaBear;
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
use quintic_lazy_reduction::quintic_mul;
use rand::distr::{Distribution, StandardUniform};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

type Scalar = QuinticTrinomialExtensionField<KoalaBear>;
type Packing = <KoalaBear as Field>::Packing;
type Packed = <Scalar as ExtensionField<KoalaBear>>::ExtensionPacking;

/// Small enough for the first-level cache.
const ELEMENTS: usize = 64;

/// Products of independent pairs, and a chain in which each product is the next one's operand.
fn bench<R, E>(criterion: &mut Criterion, group: &str, name: &str, mul: impl Fn(E, E) -> E)
where
    R: PrimeCharacteristicRing,
    E: BasedVectorSpace<R> + Copy,
    StandardUniform: Distribution<R>,
{
    let mut rng = SmallRng::seed_from_u64(1);
    let mut element = || E::from_basis_coefficients_fn(|_| rng.random());
    let a: [E; ELEMENTS] = array::from_fn(|_| element());
    let b: [E; ELEMENTS] = array::from_fn(|_| element());
    let mut products = a;

    let mut group = criterion.benchmark_group(group);
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

/// The product of the patch, with the operations of 0.8.0.
fn by_matrix(a: Packed, b: Packed) -> Packed {
    let a: &[Packing; 5] = a.as_basis_coefficients_slice().try_into().unwrap();
    let &[b0, b1, b2, b3, b4] = b.as_basis_coefficients_slice() else {
        unreachable!("an element has five coefficients")
    };
    let (e, f, g) = (b1 - b4, b0 - b3, b4 - b2);
    let h = b3 - e;
    Packed::new([
        Packing::dot_product(a, &[b0, b4, b3, b2, e]),
        Packing::dot_product(a, &[b1, b0, b4, b3, b2]),
        Packing::dot_product(a, &[b2, e, f, g, h]),
        Packing::dot_product(a, &[b3, b2, e, f, g]),
        Packing::dot_product(a, &[b4, b3, b2, e, f]),
    ])
}

fn quintic(criterion: &mut Criterion) {
    bench::<KoalaBear, Scalar>(criterion, "scalar", "0.8.0", |x, y| x * y);
    #[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
    bench::<KoalaBear, Scalar>(criterion, "scalar", "kernel", |x, y| {
        let coefficients = |x: &Scalar| x.as_basis_coefficients_slice().try_into().unwrap();
        Scalar::new(quintic_mul(&coefficients(&x), &coefficients(&y)))
    });
    bench::<Packing, Packed>(criterion, "packed", "0.8.0", |x, y| x * y);
    bench::<Packing, Packed>(criterion, "packed", "matrix", by_matrix);
}

criterion_group!(benches, quintic);
criterion_main!(benches);
