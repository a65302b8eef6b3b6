//! Packed Poseidon1 permutations against 0.8.0: one state at a time, and 2 to 4 interleaved.
//! `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like choose the packing; without AVX2 there is nothing to time.

use criterion::{Criterion, criterion_group, criterion_main};

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod interleaved;

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
fn poseidon1(criterion: &mut Criterion) {
    use batched_poseidon1::BatchedPoseidon1;
    use p3_goldilocks::poseidon1::{
        default_goldilocks_poseidon1_8, default_goldilocks_poseidon1_12,
    };

    macro_rules! bench {
        ($batched:expr, $published:expr) => {{
            let batched = $batched;
            interleaved::bench(
                criterion,
                "packed-poseidon1",
                &$published,
                [
                    &|states| batched.permute_interleaved::<1>(states),
                    &|states| batched.permute_interleaved::<2>(states),
                    &|states| batched.permute_interleaved::<3>(states),
                    &|states| batched.permute_interleaved::<4>(states),
                ],
            );
        }};
    }
    bench!(
        BatchedPoseidon1::default_8(),
        default_goldilocks_poseidon1_8()
    );
    bench!(
        BatchedPoseidon1::default_12(),
        default_goldilocks_poseidon1_12()
    );
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
fn poseidon1(_criterion: &mut Criterion) {}

criterion_group!(benches, poseidon1);
criterion_main!(benches);
