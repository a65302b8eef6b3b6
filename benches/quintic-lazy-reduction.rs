//! Products in KoalaBear's quintic extension, one element per lane, against 0.8.0: by the matrix that the patch brings,
//! through 0.8.0's own `dot_product::<5>`. `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like choose the packing.

use std::array;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use p3_field::extension::QuinticTrinomialExtensionField;
use p3_field::{BasedVectorSpace, ExtensionField, Field, PrimeCharacteristicRing};
use p3_koala_bear::KoalaBear;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

type Packing = <KoalaBear as Field>::Packing;
type Packed =
    <QuinticTrinomialExtensionField<KoalaBear> as ExtensionField<KoalaBear>>::ExtensionPacking;

/// Small enough for the first-level cache.
const ELEMENTS: usize = 64;

/// Products of independent pairs, and a chain in which each product is the next one's operand.
fn bench(criterion: &mut Criterion, name: &str, mul: impl Fn(Packed, Packed) -> Packed) {
    let mut rng = SmallRng::seed_from_u64(1);
    let a: [Packed; ELEMENTS] = array::from_fn(|_| rng.random());
    let b: [Packed; ELEMENTS] = array::from_fn(|_| rng.random());
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
    bench(criterion, "0.8.0", |x, y| x * y);
    bench(criterion, "matrix", by_matrix);
}

criterion_group!(benches, quintic);
criterion_main!(benches);
