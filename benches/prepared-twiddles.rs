//! The butterflies of two rows over Goldilocks in place, with one twiddle: `published`, as `DitButterfly` of p3-dft does them,
//! beside `prepared`. `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like choose the packing.

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod rows {
    use std::hint::black_box;

    use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
    use p3_dft::{Butterfly, DitButterfly};
    use p3_field::{Field, PackedValue};
    use p3_goldilocks::Goldilocks;
    use prepared_twiddles::prepared_twiddle::prepared_butterfly;
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    type Packing = <Goldilocks as Field>::Packing;

    fn butterflies(criterion: &mut Criterion) {
        let mut rng = SmallRng::seed_from_u64(1);
        let mut group = criterion.benchmark_group("dit-butterfly/goldilocks");
        for vectors in [4, 16, 64] {
            let len = vectors * Packing::WIDTH;
            let mut row = || -> Vec<Goldilocks> { (0..len).map(|_| rng.random()).collect() };
            let (mut low, mut high) = (row(), row());
            let twiddle: Goldilocks = rng.random();
            group.throughput(Throughput::Elements(len as u64));
            group.bench_function(BenchmarkId::new("published", len), |bencher| {
                bencher
                    .iter(|| DitButterfly(black_box(twiddle)).apply_to_rows(&mut low, &mut high));
            });
            group.bench_function(BenchmarkId::new("prepared", len), |bencher| {
                bencher.iter(|| {
                    let butterfly = prepared_butterfly(black_box(twiddle), vectors);
                    let butterfly = butterfly.expect("a long row");
                    let low = Packing::pack_slice_mut(&mut low);
                    for (low, high) in low.iter_mut().zip(Packing::pack_slice_mut(&mut high)) {
                        (*low, *high) = butterfly(*low, *high);
                    }
                });
            });
        }
        group.finish();
    }

    criterion_group!(benches, butterflies);
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
criterion::criterion_main!(rows::benches);

#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
fn main() {
    println!("prepared-twiddles: the kernel is that of AVX2 and AVX-512, which this build lacks");
}
