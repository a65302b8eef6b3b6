//! The linear layers of packed Poseidon1 over KoalaBear and BabyBear: `published`, as p3-monty-31 has them, beside `sums`. A
//! published layer of partial rounds has S-boxes, too. `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like choose the packing.

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod layers {
    use std::array;

    use criterion::{Criterion, Throughput, criterion_group};
    use monty_poseidon1::packed_poseidon1::{Circulant, PartialRounds};
    use p3_baby_bear::{BabyBearParameters, Poseidon1InternalLayerBabyBear};
    use p3_field::{Field, InjectiveMonomial, PackedValue};
    use p3_koala_bear::{KoalaBearParameters, Poseidon1InternalLayerKoalaBear};
    use p3_mds::karatsuba_convolution::{mds_circulant_karatsuba_16, mds_circulant_karatsuba_24};
    use p3_monty_31::{FieldParameters, MontyField31, RelativelyPrimePower};
    use p3_poseidon1::Poseidon1Constants;
    use p3_poseidon1::internal::{PartialRoundLayer, PartialRoundLayerConstructor};
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    type Packing<FP> = <MontyField31<FP> as Field>::Packing;

    /// Full rounds that the constants are for, besides the partial ones.
    const FULL_ROUNDS: usize = 8;

    fn compare<FP, Layer, const WIDTH: usize, const D: u64>(
        criterion: &mut Criterion,
        name: &str,
        rounds: usize,
        karatsuba: fn(&mut [Packing<FP>; WIDTH], &[MontyField31<FP>; WIDTH]),
    ) where
        FP: FieldParameters + RelativelyPrimePower<D>,
        Packing<FP>: InjectiveMonomial<D>,
        Layer: PartialRoundLayerConstructor<MontyField31<FP>, WIDTH>
            + PartialRoundLayer<Packing<FP>, WIDTH, D>,
    {
        let mut rng = SmallRng::seed_from_u64(1);
        let (full, partial) = Poseidon1Constants {
            rounds_f: FULL_ROUNDS,
            rounds_p: rounds,
            mds_circ_col: array::from_fn(|_| rng.random_range(1..1 << 30)),
            round_constants: (0..FULL_ROUNDS + rounds)
                .map(|_| array::from_fn(|_| rng.random()))
                .collect(),
        }
        .to_optimized();
        let first_column = full.dense_mds.map(|row| row[0]);
        let circulant = Circulant::new(first_column);
        let packed_rounds = PartialRounds::new(&partial);
        let layer = Layer::new_from_constants(partial);
        let mut state = array::from_fn(|_| Packing::<FP>::from_fn(|_| rng.random()));

        beside(
            criterion,
            &format!("{name}/partial-rounds"),
            &mut state,
            |state| layer.permute_state(state),
            |state| packed_rounds.permute_state::<D>(state),
        );
        beside(
            criterion,
            &format!("{name}/matrix"),
            &mut state,
            |state| karatsuba(state, &first_column),
            |state| circulant.apply::<FP>(state),
        );
    }

    fn beside<P: PackedValue, const WIDTH: usize>(
        criterion: &mut Criterion,
        name: &str,
        state: &mut [P; WIDTH],
        published: impl Fn(&mut [P; WIDTH]),
        sums: impl Fn(&mut [P; WIDTH]),
    ) {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(P::WIDTH as u64));
        group.bench_function("published", |bencher| bencher.iter(|| published(state)));
        group.bench_function("sums", |bencher| bencher.iter(|| sums(state)));
        group.finish();
    }

    fn all(criterion: &mut Criterion) {
        type Koala<const WIDTH: usize> = Poseidon1InternalLayerKoalaBear<WIDTH>;
        type Baby<const WIDTH: usize> = Poseidon1InternalLayerBabyBear<WIDTH>;
        compare::<KoalaBearParameters, Koala<16>, 16, 3>(
            criterion,
            "koala-bear-w16",
            20,
            mds_circulant_karatsuba_16,
        );
        compare::<KoalaBearParameters, Koala<24>, 24, 3>(
            criterion,
            "koala-bear-w24",
            23,
            mds_circulant_karatsuba_24,
        );
        compare::<BabyBearParameters, Baby<16>, 16, 7>(
            criterion,
            "baby-bear-w16",
            13,
            mds_circulant_karatsuba_16,
        );
        compare::<BabyBearParameters, Baby<24>, 24, 7>(
            criterion,
            "baby-bear-w24",
            21,
            mds_circulant_karatsuba_24,
        );
    }

    criterion_group!(benches, all);
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
criterion::criterion_main!(layers::benches);

#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
fn main() {
    println!("monty-poseidon1: the kernel is that of AVX2 and AVX-512, which this build lacks");
}
