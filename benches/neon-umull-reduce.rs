//! Products of the aarch64 assembly, reduced by `and` and `mul` as published, and by one `umull`: a chain of squares,
//! which is latency, and eight chains, which is throughput. On other targets there is nothing to measure.

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use std::hint::black_box;

    use criterion::{Criterion, criterion_group};

    /// A square, with the reduction in use before and after the fold given as text.
    macro_rules! square {
        ($name:ident, $($fold:literal),+) => {
            #[inline(always)]
            fn $name(x: u64) -> u64 {
                let result;
                // SAFETY: arithmetic on registers.
                unsafe {
                    core::arch::asm!(
                        "mul   {lo}, {x}, {x}",
                        "umulh {hi}, {x}, {x}",
                        "subs  {lo}, {lo}, {hi}, lsr #32",
                        "csetm {adj:w}, cc",
                        "sub   {lo}, {lo}, {adj}",
                        $($fold,)+
                        "adds  {lo}, {lo}, {hi}",
                        "csetm {adj:w}, cs",
                        "add   {lo}, {lo}, {adj}",
                        x = in(reg) x,
                        epsilon = in(reg) 0xffff_ffff_u64,
                        lo = out(reg) result,
                        hi = out(reg) _,
                        adj = out(reg) _,
                        options(pure, nomem, nostack),
                    );
                }
                result
            }
        };
    }
    square!(
        by_and_and_mul,
        "and {hi}, {hi}, {epsilon}",
        "mul {hi}, {hi}, {epsilon}"
    );
    square!(by_umull, "umull {hi}, {hi:w}, {epsilon:w}");

    fn squares(criterion: &mut Criterion) {
        macro_rules! chains {
            ($($chains:literal)*) => {$(
                let mut group = criterion.benchmark_group(concat!("64 squares, chains: ", $chains));
                let start: [u64; $chains] = std::array::from_fn(|i| 0x9e37_79b9_7f4a_7c15 + i as u64);
                macro_rules! reduction {
                    ($name:literal, $square:ident) => {
                        group.bench_function($name, |bencher| {
                            bencher.iter(|| {
                                let mut x = black_box(start);
                                for _ in 0..64 / $chains {
                                    x = x.map($square);
                                }
                                x
                            });
                        });
                    };
                }
                reduction!("and, mul", by_and_and_mul);
                reduction!("umull", by_umull);
                group.finish();
            )*};
        }
        chains!(1 8);
    }

    criterion_group!(benches, squares);
}

#[cfg(target_arch = "aarch64")]
criterion::criterion_main!(aarch64::benches);

#[cfg(not(target_arch = "aarch64"))]
fn main() {
    eprintln!("neon-umull-reduce: the assembly is aarch64's, nothing to measure on this target");
}
