//! The network in both directions against p3-dft's as published, on elements in every representation.

mod small;

use alloc::vec::Vec;
use core::mem::MaybeUninit;

use p3_baby_bear::BabyBear;
use p3_field::{PrimeCharacteristicRing as _, TwoAdicField};
use p3_goldilocks::Goldilocks;
use p3_koala_bear::KoalaBear;
use p3_matrix::dense::{RowMajorMatrix, RowMajorMatrixViewMut};
use p3_matrix::util::reverse_matrix_index_bits;
use proptest::prelude::*;

use crate::network::{Passes, transform, transform_oop, twiddles};
use crate::{Radix2DitParallel, TwoAdicSubgroupDft as _};

/// Words at the ends of every range that the arithmetic of a field distinguishes.
const EDGES: [u64; 12] = [
    0,
    1,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 32,
    (1 << 63) - 1,
    1 << 63,
    0xffff_ffff_0000_0000,
    0xffff_ffff_0000_0001,
    u64::MAX - 1,
    u64::MAX,
];

fn word() -> impl Strategy<Value = u64> {
    prop_oneof![prop::sample::select(&EDGES[..]), any::<u64>()]
}

/// A height, a width, and a few words that fill the matrix in turns.
fn shape() -> impl Strategy<Value = (usize, usize, Vec<u64>)> {
    let widths = prop_oneof![1..10usize, 10..70usize];
    (0..13usize, widths, prop::collection::vec(word(), 1..50))
        .prop_map(|(log_h, width, words)| (log_h.min(17 - width.ilog2() as usize), width, words))
}

fn agrees<F: TwoAdicField + Ord>(log_h: usize, width: usize, values: Vec<F>) {
    let mat = RowMajorMatrix::new(values, width);
    let published = Radix2DitParallel::<F>::default();
    let passes = Passes::new::<F>(log_h, width);
    let root = F::two_adic_generator(log_h);

    let mut forward = mat.clone();
    let layers = twiddles(log_h, root, F::GENERATOR);
    transform(
        passes,
        &mut forward.as_view_mut(),
        &layers,
        None,
        &|_, _| {},
    );
    let expected = published.coset_dft_batch(mat.clone(), F::GENERATOR);
    assert_eq!(forward, expected.inner);

    let mut inverse = mat.clone();
    let layers = twiddles(log_h, root.inverse(), F::ONE);
    let scale = F::ONE.div_2exp_u64(log_h as u64);
    transform(
        passes,
        &mut inverse.as_view_mut(),
        &layers,
        Some(scale),
        &|_, _| {},
    );
    reverse_matrix_index_bits(&mut inverse);
    assert_eq!(inverse, published.idft_batch(mat));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 64 }))]

    #[test]
    fn goldilocks((log_h, width, words) in shape()) {
        let words = words.iter().copied().cycle().take(width << log_h);
        agrees(log_h, width, words.map(Goldilocks::new).collect());
    }

    #[test]
    fn koala_bear((log_h, width, words) in shape()) {
        let words = words.iter().copied().cycle().take(width << log_h);
        agrees(log_h, width, words.map(KoalaBear::from_u64).collect());
    }

    #[test]
    fn baby_bear((log_h, width, words) in shape()) {
        let words = words.iter().copied().cycle().take(width << log_h);
        agrees(log_h, width, words.map(BabyBear::from_u64).collect());
    }
}

/// Transforms `2^3` rows of two elements with tables that `change` spoils, into a matrix of this width and of so many elements.
fn transform_with(change: impl FnOnce(&mut Vec<Vec<BabyBear>>), width: usize, len: usize) {
    let mut layers = twiddles(3, BabyBear::two_adic_generator(3), BabyBear::ONE);
    change(&mut layers);
    let mat = RowMajorMatrix::new([BabyBear::ONE; 16].to_vec(), 2);
    let mut values = [MaybeUninit::uninit(); 16];
    let mut dst = RowMajorMatrixViewMut::new(&mut values[..len], width);
    let passes = Passes::new::<BabyBear>(3, 2);
    transform_oop(passes, &mat.as_view(), &mut dst, &layers, &|_, _| {});
}

#[test]
fn tables_as_they_are_fit() {
    transform_with(|_| {}, 2, 16);
}

#[test]
#[should_panic(expected = "incorrect number of twiddle layers")]
fn rejects_a_layer_too_many() {
    transform_with(|layers| layers.push(layers[0].clone()), 2, 16);
}

#[test]
#[should_panic(expected = "incorrect twiddle count for layer 1")]
fn rejects_a_short_layer() {
    transform_with(|layers| layers[1].truncate(1), 2, 16);
}

#[test]
#[should_panic(expected = "incorrect matrix dimensions")]
fn rejects_another_height() {
    transform_with(|_| {}, 2, 8);
}

#[test]
#[should_panic(expected = "incorrect matrix dimensions")]
fn rejects_another_width() {
    transform_with(|_| {}, 4, 16);
}
