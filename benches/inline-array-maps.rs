//! 64 constraints of Keccak's AIR, theta's parity, on packed elements: `std`, as `core::array::from_fn` makes the array, beside
//! `inlined`. Where the two differ, the standard library's closure is a call for each element; with
//! `CARGO_PROFILE_BENCH_CODEGEN_UNITS=1` they are the same. `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like choose the
//! packing.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use inline_array_maps::array_from_fn;
use p3_field::{Field, PrimeCharacteristicRing};
use p3_goldilocks::Goldilocks;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

type Packed = <Goldilocks as Field>::Packing;

/// `(sum - parity) (sum - parity - 2) (sum - parity - 4)`, zero for five bits and their parity.
fn constraint(bits: &[[Packed; 64]; 5], parity: &[Packed; 64], z: usize) -> Packed {
    let sum: Packed = bits.iter().map(|lane| lane[z]).sum();
    let diff = sum - parity[z];
    diff * (diff - Packed::TWO) * (diff - Packed::TWO.double())
}

fn theta(criterion: &mut Criterion) {
    let mut rng = SmallRng::seed_from_u64(1);
    let bits: [[Packed; 64]; 5] = core::array::from_fn(|_| rng.random());
    let parity: [Packed; 64] = rng.random();

    let mut group = criterion.benchmark_group("theta");
    group.throughput(Throughput::Elements(64));
    group.bench_function("std", |bencher| {
        bencher.iter(|| {
            let (bits, parity) = (black_box(&bits), black_box(&parity));
            let array: [Packed; 64] = core::array::from_fn(|z| constraint(bits, parity, z));
            array
        });
    });
    group.bench_function("inlined", |bencher| {
        bencher.iter(|| {
            let (bits, parity) = (black_box(&bits), black_box(&parity));
            let array: [Packed; 64] = array_from_fn(|z| constraint(bits, parity, z));
            array
        });
    });
    group.finish();
}

criterion_group!(benches, theta);
criterion_main!(benches);
