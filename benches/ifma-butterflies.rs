//! A network of butterflies on a tile over Goldilocks: `published`, layer by layer as `DitButterfly` of p3-dft does them, beside
//! `lazy`. `RUSTFLAGS="-C target-cpu=x86-64-v4 -C target-feature=+avx512ifma"` has the kernel.

#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
mod tiles {
    use std::cell::RefCell;
    use std::mem::MaybeUninit;

    use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
    use ifma_butterflies::Gaussian;
    use ifma_butterflies::lazy_tile::{scratch, transform_lazily};
    use p3_dft::{Butterfly, DitButterfly};
    use p3_field::{Field, TwoAdicField};
    use p3_goldilocks::Goldilocks;
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};
    use tiled_dft::network::twiddles;

    fn networks(criterion: &mut Criterion) {
        let mut rng = SmallRng::seed_from_u64(1);
        let mut group = criterion.benchmark_group("dit-network/goldilocks");
        for (log_h, width) in [(4, 64), (8, 64), (8, 128)] {
            let len = width << log_h;
            let mut values: Vec<Goldilocks> = (0..len).map(|_| rng.random()).collect();
            let root = Goldilocks::two_adic_generator(log_h);
            let layers = twiddles(log_h, root, Goldilocks::GENERATOR);
            let shape = format!("2^{log_h}x{width}");
            group.throughput(Throughput::Elements(len as u64));
            group.bench_function(BenchmarkId::new("published", &shape), |bencher| {
                bencher.iter(|| {
                    for (depth, twiddles) in layers.iter().rev().enumerate() {
                        let blocks = values.chunks_exact_mut(len >> depth);
                        for (block, &twiddle) in blocks.zip(twiddles) {
                            let (lo, hi) = block.split_at_mut(block.len() / 2);
                            DitButterfly(twiddle).apply_to_rows(lo, hi);
                        }
                    }
                });
            });
            let mut scratch = scratch::<Goldilocks, _>(Gaussian, 1 << log_h, width);
            let mut results = vec![MaybeUninit::uninit(); len];
            group.bench_function(BenchmarkId::new("lazy", &shape), |bencher| {
                bencher.iter(|| {
                    let rows: Vec<_> = results.chunks_exact_mut(width).map(Some).collect();
                    let rows = RefCell::new(rows);
                    transform_lazily(
                        Gaussian,
                        |row| &values[row * width..][..width],
                        |row| rows.borrow_mut()[row].take().expect("a row is taken once"),
                        &layers,
                        0,
                        None,
                        &mut scratch,
                    );
                });
            });
        }
        group.finish();
    }

    criterion_group!(benches, networks);
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
criterion::criterion_main!(tiles::benches);

#[cfg(not(all(target_arch = "x86_64", target_feature = "avx512ifma")))]
fn main() {
    println!("ifma-butterflies: the kernel is that of AVX-512 IFMA, which this build lacks");
}
