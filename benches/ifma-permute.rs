//! Packed Poseidon2 permutations in limbs of 52 bits against 0.8.0: one state at a time, and 2 to 4 interleaved.
//! `RUSTFLAGS="-C target-cpu=x86-64-v4 -C target-feature=+avx512ifma"`; without IFMA there is nothing to time.

use criterion::{Criterion, criterion_group, criterion_main};

#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
mod interleaved;

#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
fn poseidon2(criterion: &mut Criterion) {
    use ifma_permute::BatchedPoseidon2;
    use p3_goldilocks::{
        PackedGoldilocksAVX512, default_goldilocks_poseidon2_8, default_goldilocks_poseidon2_12,
        default_goldilocks_poseidon2_16,
    };

    interleaved::bench_width!(
        criterion,
        "packed-poseidon2",
        BatchedPoseidon2::<PackedGoldilocksAVX512, 8>::default_8(),
        default_goldilocks_poseidon2_8()
    );
    interleaved::bench_width!(
        criterion,
        "packed-poseidon2",
        BatchedPoseidon2::<PackedGoldilocksAVX512, 12>::default_12(),
        default_goldilocks_poseidon2_12()
    );
    interleaved::bench_width!(
        criterion,
        "packed-poseidon2",
        BatchedPoseidon2::<PackedGoldilocksAVX512, 16>::default_16(),
        default_goldilocks_poseidon2_16()
    );
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "avx512ifma")))]
fn poseidon2(_criterion: &mut Criterion) {}

criterion_group!(benches, poseidon2);
criterion_main!(benches);
