//! Interleaved permutations against 0.8.0, one state after the other: the batch sizes 1 to 4.

use criterion::{BenchmarkId, Criterion, Throughput};
use p3_field::PackedValue;
use p3_goldilocks::Goldilocks;
use p3_symmetric::Permutation;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// A multiple of every batch size; small enough for the first-level cache.
const STATES: usize = 12;

/// Permutes states in batches of one size.
type Batched<'a, A, const WIDTH: usize> = &'a dyn Fn(&mut [[A; WIDTH]]);

/// Times `published`, and each of `batched`, which are for the batch sizes 1 and up.
pub fn bench<A, Published, const WIDTH: usize>(
    criterion: &mut Criterion,
    name: &str,
    published: &Published,
    batched: [Batched<'_, A, WIDTH>; 4],
) where
    A: PackedValue<Value = Goldilocks>,
    Published: Permutation<[A; WIDTH]>,
{
    let mut rng = SmallRng::seed_from_u64(1);
    let mut input = [[A::from_fn(|_| Goldilocks::new(0)); WIDTH]; STATES];
    for element in input.as_flattened_mut() {
        *element = A::from_fn(|_| rng.random());
    }

    let mut group = criterion.benchmark_group(format!("{name}-w{WIDTH}"));
    group.throughput(Throughput::Elements((STATES * A::WIDTH) as u64));
    group.bench_function("0.8.0", |bencher| {
        bencher.iter(|| {
            for state in &mut input {
                published.permute_mut(state);
            }
        });
    });
    for (b, permute) in (1..).zip(batched) {
        group.bench_function(BenchmarkId::new("B", b), |bencher| {
            bencher.iter(|| permute(&mut input));
        });
    }
    group.finish();
}

/// [`bench`] of Poseidon2 for each width of `$kernel`, which has `new` and `permute` of groups of states.
#[allow(
    unused_macros,
    reason = "the bench of Poseidon1 includes this module too"
)]
macro_rules! bench_widths {
    ($criterion:expr, $name:literal, $kernel:ident) => {
        interleaved::bench_widths!($criterion, $name, $kernel, 8, 12, 16)
    };
    ($criterion:expr, $name:literal, $kernel:ident, $($width:literal),*) => {$({
        use p3_field::Field;
        use p3_goldilocks::{Goldilocks, Poseidon2Goldilocks};
        use p3_poseidon2::ExternalLayerConstants;
        use rand::rngs::SmallRng;
        use rand::{RngExt, SeedableRng};

        type Packing = <Goldilocks as Field>::Packing;

        fn permute<const B: usize>(
            kernel: &$kernel<$width>,
            states: &mut [[Packing; $width]],
        ) {
            for group in states.as_chunks_mut::<B>().0 {
                kernel.permute(group);
            }
        }
        // Round constants may be any: no time depends on them.
        let mut rng = SmallRng::seed_from_u64($width);
        let external = ExternalLayerConstants::new_from_rng(8, &mut rng);
        let internal: [Goldilocks; 22] = rng.random();
        let kernel = $kernel::<$width>::new(&external, &internal);
        let published = Poseidon2Goldilocks::<$width>::new(external, internal.to_vec());
        interleaved::bench(
            $criterion,
            $name,
            &published,
            [
                &|states| permute::<1>(&kernel, states),
                &|states| permute::<2>(&kernel, states),
                &|states| permute::<3>(&kernel, states),
                &|states| permute::<4>(&kernel, states),
            ],
        );
    })*};
}
#[allow(unused_imports, reason = "as above")]
pub(crate) use bench_widths;
