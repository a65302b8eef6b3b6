//! The transform of a matrix in place, natural order in and bit-reversed order out: `published`, as `Radix2DitParallel` of
//! p3-dft does it, beside `tiled`. `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like choose the packing.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use p3_dft::{Radix2DitParallel, TwoAdicSubgroupDft};
use p3_field::TwoAdicField;
use p3_goldilocks::Goldilocks;
use p3_koala_bear::KoalaBear;
use p3_matrix::dense::RowMajorMatrix;
use rand::SeedableRng;
use rand::distr::{Distribution, StandardUniform};
use rand::rngs::SmallRng;
use tiled_dft::network::{Passes, transform, twiddles};

fn shapes<F: TwoAdicField + Ord>(criterion: &mut Criterion, field: &str)
where
    StandardUniform: Distribution<F>,
{
    let mut rng = SmallRng::seed_from_u64(1);
    let mut group = criterion.benchmark_group(format!("dft/{field}"));
    group.sample_size(20);
    for (log_h, width) in [(5, 64), (14, 64), (18, 1), (18, 3)] {
        let mat = RowMajorMatrix::<F>::rand(&mut rng, 1 << log_h, width);
        let shape = format!("2^{log_h}x{width}");
        group.throughput(Throughput::Elements((width << log_h) as u64));
        let published = Radix2DitParallel::<F>::default();
        group.bench_function(BenchmarkId::new("published", &shape), |bencher| {
            let run = |mat| published.dft_batch(mat);
            bencher.iter_batched(|| mat.clone(), run, BatchSize::LargeInput);
        });
        let layers = twiddles(log_h, F::two_adic_generator(log_h), F::ONE);
        let passes = Passes::new::<F>(log_h, width);
        group.bench_function(BenchmarkId::new("tiled", &shape), |bencher| {
            let run = |mut mat: RowMajorMatrix<F>| {
                transform(passes, &mut mat.as_view_mut(), &layers, None, &|_, _| {});
                mat
            };
            bencher.iter_batched(|| mat.clone(), run, BatchSize::LargeInput);
        });
    }
    group.finish();
}

fn dft(criterion: &mut Criterion) {
    shapes::<Goldilocks>(criterion, "goldilocks");
    shapes::<KoalaBear>(criterion, "koala-bear");
}

criterion_group!(benches, dft);
criterion_main!(benches);
