//! Small matrices in every division of the layers, few enough for Miri.
//!
//! Plonky3's products are assembly, which Miri lacks, of elements of Goldilocks, and of vectors over BabyBear on AVX-512. So
//! BabyBear runs on AVX2. On Goldilocks, rows are whole vectors, nothing is scaled, and the rest is on integers.

use alloc::vec::Vec;
use core::iter;

use p3_field::{Field, PackedValue, PrimeField64};
use p3_util::reverse_bits_len;

use super::*;
use crate::NaiveDft;

/// Every division of the layers into passes.
fn divisions<F: Field>(log_h: usize, width: usize) -> impl Iterator<Item = Passes> {
    let most = log_h.saturating_sub(2);
    iter::once(0).chain(2..=most).map(move |log_blocks| {
        let mut passes = Passes::new::<F>(log_h, width);
        passes.log_blocks = log_blocks;
        passes.log_block_height = log_h - log_blocks;
        passes
    })
}

/// Rows in bit-reversed order.
fn reversed<F: Clone>(values: &[F], width: usize) -> Vec<F> {
    let height = values.len() / width;
    let row = |row: usize| reverse_bits_len(row, height.ilog2() as usize) * width;
    let rows = (0..height).map(|i| &values[row(i)..][..width]);
    rows.collect::<Vec<_>>().concat()
}

/// In place with a scale, then out of place without one.
fn transformed<F: Field>(
    passes: Passes,
    mat: &RowMajorMatrix<F>,
    layers: &[Vec<F>],
    scale: Option<F>,
) -> [Vec<F>; 2] {
    let mut in_place = mat.clone();
    transform(
        passes,
        &mut in_place.as_view_mut(),
        layers,
        scale,
        &|_, _| {},
    );
    let mut values = Vec::with_capacity(mat.values.len());
    let spare = &mut values.spare_capacity_mut()[..mat.values.len()];
    let mut dst = RowMajorMatrixViewMut::new(spare, mat.width);
    transform_oop(passes, &mat.as_view(), &mut dst, layers, &|_, _| {});
    // SAFETY: the transform has written all elements.
    unsafe { values.set_len(mat.values.len()) };
    [in_place.values, values]
}

#[test]
fn small_matrices_there_and_back() {
    for log_h in 1..=5 {
        for width in [1, 3, 9] {
            let words = EDGES.into_iter().cycle().take(width << log_h);
            let mat = RowMajorMatrix::new(words.map(BabyBear::from_u64).collect(), width);
            let root = BabyBear::two_adic_generator(log_h);
            let forward = twiddles(log_h, root, BabyBear::GENERATOR);
            let inverse = twiddles(log_h, root.inverse(), BabyBear::ONE);
            let scale = BabyBear::ONE.div_2exp_u64(log_h as u64);
            let on_coset = NaiveDft.coset_dft_batch(mat.clone(), BabyBear::GENERATOR);
            let on_group = NaiveDft.dft_batch(mat.clone());
            for passes in divisions::<BabyBear>(log_h, width) {
                let there = transformed(passes, &mat, &forward, None);
                let expected = reversed(&on_coset.values, width);
                assert_eq!(there, [&expected; 2].map(Vec::clone), "{passes:?}");

                let back = transformed(passes, &on_group, &inverse, Some(scale));
                let multiples: Vec<_> = back[1].iter().map(|&x| x * scale).collect();
                let expected = reversed(&mat.values, width);
                assert_eq!([&back[0], &multiples], [&expected; 2], "{passes:?}");
            }
        }
    }
}

const P: u64 = Goldilocks::ORDER_U64;

fn mul(x: u64, y: u64) -> u64 {
    (u128::from(x) * u128::from(y) % u128::from(P)) as u64
}

fn add(x: u64, y: u64) -> u64 {
    ((u128::from(x) + u128::from(y)) % u128::from(P)) as u64
}

fn power(x: u64, exponent: usize) -> u64 {
    iter::repeat_n(x, exponent).fold(1, mul)
}

/// The layers one after the other, on integers.
fn network(values: &mut [u64], layers: &[Vec<u64>]) {
    for twiddles in layers.iter().rev() {
        let len = values.len() / twiddles.len();
        for (block, &twiddle) in values.chunks_exact_mut(len).zip(twiddles) {
            let (lo, hi) = block.split_at_mut(len / 2);
            for (lo, hi) in lo.iter_mut().zip(hi) {
                let product = mul(twiddle, *hi);
                (*lo, *hi) = (add(*lo, product), add(*lo, P - product));
            }
        }
    }
}

#[test]
fn small_matrices_of_whole_vectors() {
    let shift = Goldilocks::GENERATOR.as_canonical_u64();
    let width = <Goldilocks as Field>::Packing::WIDTH;
    for log_h in 1..=5 {
        let height = 1 << log_h;
        let root = Goldilocks::two_adic_generator(log_h).as_canonical_u64();
        let words: Vec<u64> = EDGES.into_iter().cycle().take(width << log_h).collect();
        let mat = words.iter().copied().map(Goldilocks::new).collect();
        let mat = RowMajorMatrix::new(mat, width);
        // The inverse root is the last power.
        for root in [root, power(root, height - 1)] {
            let twiddle = |layer: usize, block: usize| {
                let exponent = reverse_bits_len(block, log_h - 1 - layer) << layer;
                mul(power(root, exponent), power(shift, 1 << layer))
            };
            let layers = (0..log_h).map(|layer| {
                let blocks = 0..height >> (layer + 1);
                blocks.map(|block| twiddle(layer, block)).collect()
            });
            let layers: Vec<Vec<_>> = layers.collect();
            let mut expected = words.clone();
            network(&mut expected, &layers);
            let elements = |layer: &Vec<u64>| layer.iter().copied().map(Goldilocks::new).collect();
            let layers: Vec<Vec<_>> = layers.iter().map(elements).collect();
            for passes in divisions::<Goldilocks>(log_h, width) {
                for values in transformed(passes, &mat, &layers, None) {
                    let values: Vec<_> = values.iter().map(Goldilocks::as_canonical_u64).collect();
                    assert_eq!(values, expected, "{passes:?}");
                }
            }
        }
    }
}
