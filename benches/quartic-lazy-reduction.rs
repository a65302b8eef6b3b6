//! Products in KoalaBear's extension of degree 4, one element per lane, against 0.8.0: by one dot product per coefficient, as the
//! patch has it, through 0.8.0's own `dot_product::<4>`. `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like choose the packing.

use std::array;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use p3_field::extension::BinomialExtensionField;
use p3_field::{BasedVectorSpace, ExtensionField, Field, PrimeCharacteristicRing};
use p3_koala_bear::KoalaBear;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

type Packing = <KoalaBear as Field>::Packing;
type Packed = <BinomialExtensionField<KoalaBear, 4> as ExtensionField<KoalaBear>>::ExtensionPacking;

/// Small enough for the first-level cache.
const ELEMENTS: usize = 64;

/// Products of independent pairs, and a chain in which each product is the next one's operand.
fn bench(criterion: &mut Criterion, name: &str, mul: impl Fn(Packed, Packed) -> Packed) {
    let mut rng = SmallRng::seed_from_u64(1);
    let a: [Packed; ELEMENTS] = array::from_fn(|_| rng.random());
    let b: [Packed; ELEMENTS] = array::from_fn(|_| rng.random());
    let mut products = a;

    let mut group = criterion.benchmark_group("quartic");
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
fn by_rows(a: Packed, b: Packed) -> Packed {
    let a: &[Packing; 4] = a.as_basis_coefficients_slice().try_into().unwrap();
    let &[b0, b1, b2, b3] = b.as_basis_coefficients_slice() else {
        unreachable!("an element has four coefficients")
    };
    let [w_b1, w_b2, w_b3] = [b1, b2, b3].map(|x: Packing| x.double() + x);
    Packed::new([
        Packing::dot_product(a, &[b0, w_b3, w_b2, w_b1]),
        Packing::dot_product(a, &[b1, b0, w_b3, w_b2]),
        Packing::dot_product(a, &[b2, b1, b0, w_b3]),
        Packing::dot_product(a, &[b3, b2, b1, b0]),
    ])
}

fn quartic(criterion: &mut Criterion) {
    bench(criterion, "0.8.0", |x, y| x * y);
    bench(criterion, "rows", by_rows);
}

criterion_group!(benches, quartic);
criterion_main!(benches);
