//! Interleaved packed Poseidon2 states against 0.8.0, one state after the other: the batch sizes 1 to 4.
//! `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like choose the packing; without AVX2 there is nothing to time.

use criterion::{Criterion, criterion_group, criterion_main};

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod interleaved;

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
fn poseidon2(criterion: &mut Criterion) {
    use batched_permute::Interleaved;

    interleaved::bench_widths!(criterion, "batched-permute", Interleaved);
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
fn poseidon2(_criterion: &mut Criterion) {}

criterion_group!(benches, poseidon2);
criterion_main!(benches);
