//! Interleaved batches of Poseidon2 permutations against 0.8.0, one state after the other: the batch sizes 1 to 4, for
//! packed and for scalar states. `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like choose the packing.

use batched_permute::BatchedPoseidon2;
use criterion::{Criterion, criterion_group, criterion_main};
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
use p3_field::Field;
use p3_goldilocks::{
    Goldilocks, default_goldilocks_poseidon2_8, default_goldilocks_poseidon2_12,
    default_goldilocks_poseidon2_16,
};

mod interleaved;

fn poseidon2(criterion: &mut Criterion) {
    macro_rules! widths {
        ($name:literal: $element:ty) => {
            interleaved::bench_width!(
                criterion,
                $name,
                BatchedPoseidon2::<$element, 8>::default_8(),
                default_goldilocks_poseidon2_8()
            );
            interleaved::bench_width!(
                criterion,
                $name,
                BatchedPoseidon2::<$element, 12>::default_12(),
                default_goldilocks_poseidon2_12()
            );
            interleaved::bench_width!(
                criterion,
                $name,
                BatchedPoseidon2::<$element, 16>::default_16(),
                default_goldilocks_poseidon2_16()
            );
        };
    }
    widths!("scalar-poseidon2": Goldilocks);
    // Without AVX2, the packing is the field itself.
    #[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
    widths!("packed-poseidon2": <Goldilocks as Field>::Packing);
}

criterion_group!(benches, poseidon2);
criterion_main!(benches);
