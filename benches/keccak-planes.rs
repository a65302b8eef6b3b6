//! Keccak-f on interleaved states: p3-keccak as published beside `planes`. `RUSTFLAGS="-C target-cpu=x86-64-v3"` chooses AVX2; on AVX-512
//! p3-keccak has another kernel, and the two differ in their lanes.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use p3_keccak::{KeccakF, VECTOR_LEN};
use p3_symmetric::Permutation;

fn permutations(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("keccak-f");
    group.throughput(Throughput::Elements(VECTOR_LEN as u64));
    let mut state = [[1; VECTOR_LEN]; 25];
    group.bench_function(format!("published/{VECTOR_LEN}"), |bencher| {
        bencher.iter(|| KeccakF.permute_mut(black_box(&mut state)));
    });
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::*;

        use keccak_planes::permute;

        #[cfg(not(target_feature = "avx2"))]
        type Vector = __m128i;
        #[cfg(target_feature = "avx2")]
        type Vector = __m256i;
        const LANES: usize = size_of::<Vector>() / 8;

        /// Calls the kernel as p3-keccak does.
        #[inline(never)]
        fn planes(state: &mut [[u64; LANES]; 25]) {
            // SAFETY: the build has the instruction set of the vector.
            unsafe { permute::<Vector, LANES>(state) };
        }

        let mut state = [[1; LANES]; 25];
        group.throughput(Throughput::Elements(LANES as u64));
        group.bench_function(format!("planes/{LANES}"), |bencher| {
            bencher.iter(|| planes(black_box(&mut state)));
        });
    }
    group.finish();
}

criterion_group!(benches, permutations);
criterion_main!(benches);
