//! Products in KoalaBear's extension of degree 5: `operator`, inlined or not as the compiler decides here, beside `call`,
//! which is never inlined and passes its operands and its result through memory. `RUSTFLAGS="-C target-cpu=x86-64-v3"`
//! and the like choose the packing. What inlining does to a prover is a matter of `cargo p3 ab` and of the ladder in
//! `crates/quintic-inline`.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use p3_field::extension::QuinticTrinomialExtensionField;
use p3_field::{ExtensionField, PrimeCharacteristicRing};
use p3_koala_bear::KoalaBear;
use rand::distr::{Distribution, StandardUniform};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

type Element = QuinticTrinomialExtensionField<KoalaBear>;
type PackedElement = <Element as ExtensionField<KoalaBear>>::ExtensionPacking;

/// Few enough for the first-level cache.
const ELEMENTS: usize = 16;

#[inline(never)]
fn call<A, B>(operation: impl Fn(A, B) -> A, x: A, y: B) -> A {
    operation(x, y)
}

fn bench<A: Copy, B: Copy>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    operation: impl Fn(A, B) -> A + Copy,
) where
    StandardUniform: Distribution<A> + Distribution<B>,
{
    let mut rng = SmallRng::seed_from_u64(1);
    let mut values: [A; ELEMENTS] = std::array::from_fn(|_| rng.random());
    let factors: [B; ELEMENTS] = std::array::from_fn(|_| rng.random());
    group.bench_function(format!("{name}/operator"), |bencher| {
        bencher.iter(|| {
            for (value, &factor) in values.iter_mut().zip(&factors) {
                *value = operation(*value, factor);
            }
        });
    });
    group.bench_function(format!("{name}/call"), |bencher| {
        bencher.iter(|| {
            for (value, &factor) in values.iter_mut().zip(&factors) {
                *value = call(operation, *value, factor);
            }
        });
    });
}

fn quintic(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("quintic");
    group.throughput(Throughput::Elements(ELEMENTS as u64));
    bench(
        &mut group,
        "mul-packed",
        |x: PackedElement, y: PackedElement| x * y,
    );
    bench(
        &mut group,
        "mul-packed-by-one-element",
        |x: PackedElement, y: Element| x * y,
    );
    bench(
        &mut group,
        "square-packed",
        |x: PackedElement, _: Element| x.square(),
    );
    bench(&mut group, "mul-scalar", |x: Element, y: Element| x * y);
    bench(&mut group, "square-scalar", |x: Element, _: Element| {
        x.square()
    });
    group.finish();
}

criterion_group!(benches, quintic);
criterion_main!(benches);
