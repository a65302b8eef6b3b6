//! The packed field of this build, against integers.

use p3_field::{PackedValue, PrimeCharacteristicRing, PrimeField64};
use p3_goldilocks::{Goldilocks, PackedGoldilocksAVX512};
use p3_patches_testing::goldilocks::{self as plain, P, representative};
use proptest::prelude::*;

use super::{I, butterfly, inputs, layers};
use crate::gaussian::prepare;
use crate::vector::Packed;
use crate::{Gaussian, LazyButterflies};

fn pack(lanes: impl Fn(usize) -> u64) -> PackedGoldilocksAVX512 {
    PackedGoldilocksAVX512::from_fn(|lane| Goldilocks::new(lanes(lane)))
}

/// Each lane with elements of its own.
#[track_caller]
fn check([a, b, c, d, t, s, scale]: [u64; 7]) {
    let x = [a, b, c, d];
    let of = |i: usize, lane: usize| x[(i + lane) % 4].rotate_left(lane as u32 / 4);
    // Not by the field's scalars, which are assembly that Miri lacks.
    let word = |x: u64| prepare(pack(|_| x).to_words());
    let twiddles = [t, s, plain::mul(t % P, s % P)].map(word);
    for scale in [None, Some(scale)] {
        let loaded = [0, 1, 2, 3].map(|i| Gaussian.load(pack(|lane| of(i, lane))));
        let results = Gaussian
            .radix_4(loaded, twiddles, scale.map(word))
            .map(|y| Gaussian.store(y));
        for lane in 0..PackedGoldilocksAVX512::WIDTH {
            let x = [0, 1, 2, 3].map(|i| of(i, lane));
            let expected = layers(x, t % P, s % P, scale.map(|scale| scale % P));
            let actual = results.map(|y| y.as_slice()[lane].as_canonical_u64());
            assert_eq!(actual, expected, "{x:x?} {t:x} {s:x} {scale:x?}");
        }
    }
}

#[test]
fn layers_are_exact() {
    inputs(1 << 12).into_iter().for_each(check);
}

/// Few of them, for Miri.
#[test]
pub fn few_butterflies_are_exact() {
    inputs(4).into_iter().step_by(9).for_each(check);
}

/// Single layers, for instructions that go wrong in an emulator.
#[test]
pub fn few_layers_of_two_are_exact() {
    for [a, b, t, scale, ..] in inputs(4).into_iter().step_by(9) {
        let of = |x: u64, lane: usize| x.rotate_left(lane as u32);
        let loaded = [a, b].map(|x| Gaussian.load(pack(|lane| of(x, lane))));
        let [twiddle, factor] = [t, scale].map(|x| prepare(pack(|_| x).to_words()));
        let results = Gaussian
            .radix_2(loaded, twiddle, Some(factor))
            .map(|y| Gaussian.store(y));
        for lane in 0..PackedGoldilocksAVX512::WIDTH {
            let expected = butterfly(
                plain::mul(of(a, lane) % P, scale % P),
                plain::mul(of(b, lane) % P, t % P),
            );
            let actual = results.map(|y| y.as_slice()[lane].as_canonical_u64());
            assert_eq!(actual, expected, "{a:x} {b:x} {t:x} {scale:x}");
        }
    }
}

#[test]
fn the_fourth_root_is_that_of_the_text() {
    assert_eq!(Gaussian.fourth_root(), Goldilocks::from_u64(I));
    assert_eq!(Gaussian.fourth_root().square(), Goldilocks::NEG_ONE);
}

#[test]
fn preparations_broadcast() {
    for [t, ..] in inputs(64) {
        let words = |x: core::arch::x86_64::__m512i| {
            PackedGoldilocksAVX512::from_words(x).as_slice().to_vec()
        };
        let ours = Gaussian.prepare(Goldilocks::new(t));
        let lanes = prepare(pack(|_| t).to_words());
        assert_eq!(ours.w.map(words), lanes.w.map(words));
        assert_eq!(ours.v.map(words), lanes.v.map(words));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn layers_of_any_words(x in prop::array::uniform7(representative())) {
        check(x);
    }
}
