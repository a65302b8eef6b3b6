//! Packed Poseidon2 permutations on split halves against 0.8.0: one state at a time, and 2 to 4 interleaved.
//! `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like choose the packing; without AVX2 there is nothing to time.

use criterion::{Criterion, criterion_group, criterion_main};

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod interleaved;

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
fn poseidon2(criterion: &mut Criterion) {
    use p3_field::Field;
    use p3_goldilocks::{
        Goldilocks, default_goldilocks_poseidon2_8, default_goldilocks_poseidon2_12,
        default_goldilocks_poseidon2_16,
    };
    use split_linear::BatchedPoseidon2;

    type Packed = <Goldilocks as Field>::Packing;
    interleaved::bench_width!(
        criterion,
        "packed-poseidon2",
        BatchedPoseidon2::<Packed, 8>::default_8(),
        default_goldilocks_poseidon2_8()
    );
    interleaved::bench_width!(
        criterion,
        "packed-poseidon2",
        BatchedPoseidon2::<Packed, 12>::default_12(),
        default_goldilocks_poseidon2_12()
    );
    interleaved::bench_width!(
        criterion,
        "packed-poseidon2",
        BatchedPoseidon2::<Packed, 16>::default_16(),
        default_goldilocks_poseidon2_16()
    );
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
fn poseidon2(_criterion: &mut Criterion) {}

criterion_group!(benches, poseidon2);
criterion_main!(benches);
