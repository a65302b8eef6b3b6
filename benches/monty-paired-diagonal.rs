//! The internal rounds of Poseidon2 over KoalaBear and BabyBear: 0.8.0's, and those with the diagonal in pairs.
//! `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like choose the packing; the kernel needs AVX2.

use criterion::{criterion_group, criterion_main};

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod packed {
    use std::array;

    use criterion::{Criterion, Throughput};
    use monty_paired_diagonal::{Divide2Exp, Pairing, exponents, internal_rounds};
    use p3_baby_bear::{BabyBear, BabyBearParameters, Poseidon2InternalLayerBabyBear};
    use p3_field::{Field, PackedValue, PrimeCharacteristicRing};
    use p3_koala_bear::{KoalaBear, KoalaBearParameters, Poseidon2InternalLayerKoalaBear};
    use p3_poseidon2::{InternalLayer, InternalLayerConstructor};
    use rand::distr::{Distribution, StandardUniform};
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    /// Small enough for the first-level cache.
    const STATES: usize = 16;

    fn compare<F, Layer, const WIDTH: usize, const D: u64>(
        criterion: &mut Criterion,
        name: &str,
        rounds: usize,
        pairing: &'static Pairing<WIDTH>,
    ) where
        F: Field<Packing: Divide2Exp>,
        Layer: InternalLayerConstructor<F> + InternalLayer<F::Packing, WIDTH, D>,
        StandardUniform: Distribution<F>,
    {
        let mut rng = SmallRng::seed_from_u64(1);
        let constants: Vec<F> = (0..rounds).map(|_| rng.random()).collect();
        let packed: Vec<F::Packing> = constants.iter().map(|&rc| rc.into()).collect();
        let layer = Layer::new_from_constants(constants);
        let mut states: [[F::Packing; WIDTH]; STATES] =
            array::from_fn(|_| array::from_fn(|_| F::Packing::from_fn(|_| rng.random())));

        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements((STATES * F::Packing::WIDTH) as u64));
        group.bench_function("0.8.0", |bencher| {
            bencher.iter(|| {
                for state in &mut states {
                    layer.permute_state(state);
                }
            });
        });
        group.bench_function("paired", |bencher| {
            bencher.iter(|| {
                for state in &mut states {
                    internal_rounds(state, &packed, pairing, |x, rc| {
                        *x = (*x + rc).exp_const_u64::<D>();
                    });
                }
            });
        });
        group.finish();
    }

    pub fn bench(criterion: &mut Criterion) {
        compare::<KoalaBear, Poseidon2InternalLayerKoalaBear<16>, 16, 3>(
            criterion,
            "koala-bear-w16",
            20,
            const { &Pairing::new::<KoalaBearParameters>(Some(&exponents::KOALA_BEAR_16)).unwrap() },
        );
        compare::<KoalaBear, Poseidon2InternalLayerKoalaBear<24>, 24, 3>(
            criterion,
            "koala-bear-w24",
            23,
            const { &Pairing::new::<KoalaBearParameters>(Some(&exponents::KOALA_BEAR_24)).unwrap() },
        );
        compare::<BabyBear, Poseidon2InternalLayerBabyBear<16>, 16, 7>(
            criterion,
            "baby-bear-w16",
            13,
            const { &Pairing::new::<BabyBearParameters>(Some(&exponents::BABY_BEAR_16)).unwrap() },
        );
        compare::<BabyBear, Poseidon2InternalLayerBabyBear<24>, 24, 7>(
            criterion,
            "baby-bear-w24",
            21,
            const { &Pairing::new::<BabyBearParameters>(Some(&exponents::BABY_BEAR_24)).unwrap() },
        );
    }
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
mod packed {
    pub fn bench(_: &mut criterion::Criterion) {}
}

use packed::bench;

criterion_group!(benches, bench);
criterion_main!(benches);
