//! Packed Poseidon2 permutations in limbs of 52 bits against 0.8.0: the batch sizes 1 to 4.
//! `RUSTFLAGS="-C target-cpu=x86-64-v4 -C target-feature=+avx512ifma"`; without IFMA there is nothing to time.

use criterion::{Criterion, criterion_group, criterion_main};

#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
mod interleaved;

#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
fn poseidon2(criterion: &mut Criterion) {
    use ifma_permute::IfmaPoseidon2;

    interleaved::bench_widths!(criterion, "ifma-permute", IfmaPoseidon2);
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "avx512ifma")))]
fn poseidon2(_criterion: &mut Criterion) {}

criterion_group!(benches, poseidon2);
criterion_main!(benches);
