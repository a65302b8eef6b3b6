//! Products in an extension, as several benches time them.

use std::array;
use std::hint::black_box;

use criterion::{Criterion, Throughput};
use rand::distr::{Distribution, StandardUniform};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// Small enough for the first-level cache.
const ELEMENTS: usize = 64;

/// Products of independent pairs, and a chain in which each product is the next one's operand.
pub fn bench<E: Copy>(criterion: &mut Criterion, degree: &str, name: &str, mul: impl Fn(E, E) -> E)
where
    StandardUniform: Distribution<E>,
{
    let mut rng = SmallRng::seed_from_u64(1);
    let a: [E; ELEMENTS] = array::from_fn(|_| rng.random());
    let b: [E; ELEMENTS] = array::from_fn(|_| rng.random());
    let mut products = a;

    let mut group = criterion.benchmark_group(degree);
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
