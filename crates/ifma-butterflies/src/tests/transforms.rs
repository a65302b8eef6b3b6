//! Whole transforms in lazy tiles, and their comparison with p3-dft's as published. The fuzz target `dft` compiles this too, with
//! the same names beside it.

use core::cell::RefCell;
use core::mem::MaybeUninit;
use std::vec;
use std::vec::Vec;

use p3_dft::{Radix2DitParallel, TwoAdicSubgroupDft};
use p3_field::{Field, PrimeCharacteristicRing, TwoAdicField};
use p3_goldilocks::Goldilocks;
use p3_matrix::Matrix;
use p3_matrix::dense::{RowMajorMatrix, RowMajorMatrixView};
use p3_matrix::util::reverse_matrix_index_bits;
use tiled_dft::network::twiddles;

use super::{LazyButterflies, scratch, transform_lazily};

type Packing = <Goldilocks as Field>::Packing;

/// A tile that is a whole matrix, in scratch memory for more columns than it has.
pub fn tile<L: LazyButterflies<Packing>>(
    lazy: L,
    mat: &RowMajorMatrix<Goldilocks>,
    layers: &[Vec<Goldilocks>],
    index: usize,
    scale: Option<Goldilocks>,
) -> Vec<Goldilocks> {
    let (height, width) = (mat.height(), mat.width());
    let mut results = vec![MaybeUninit::new(Goldilocks::ZERO); height * width];
    let rows: Vec<_> = results.chunks_exact_mut(width).map(Some).collect();
    let rows = RefCell::new(rows);
    let src = |row: usize| &mat.values[row * width..][..width];
    let dst = |row: usize| rows.borrow_mut()[row].take().expect("a row is taken once");
    let mut scratch = scratch::<Goldilocks, L>(lazy, height, width + 3);
    transform_lazily(lazy, src, dst, layers, index, scale, &mut scratch);
    assert!(
        rows.into_inner().iter().all(Option::is_none),
        "each row is written"
    );
    // SAFETY: all elements were initialized.
    results
        .into_iter()
        .map(|x| unsafe { x.assume_init() })
        .collect()
}

/// The two passes of the network: the first layers on `2^log_blocks` long rows, the others on as many blocks.
fn two_passes<L: LazyButterflies<Packing>>(
    lazy: L,
    mat: &RowMajorMatrix<Goldilocks>,
    layers: &[Vec<Goldilocks>],
    log_blocks: usize,
    scale: Option<Goldilocks>,
) -> Vec<Goldilocks> {
    let (last, first) = layers.split_at(layers.len() - log_blocks);
    let long = RowMajorMatrix::new(mat.values.clone(), mat.width() << last.len());
    let blocks = RowMajorMatrix::new(tile(lazy, &long, first, 0, None), long.width());
    let blocks = blocks.row_slices().enumerate().flat_map(|(index, block)| {
        let block = RowMajorMatrixView::new(block, mat.width()).to_row_major_matrix();
        tile(lazy, &block, last, index, scale)
    });
    blocks.collect()
}

/// Transforms a matrix of `elements`, of which the first is the shift, in both directions, in one tile and in two passes.
pub fn agree_with_published<L: LazyButterflies<Packing>>(
    lazy: L,
    log_h: usize,
    width: usize,
    mut elements: impl Iterator<Item = Goldilocks>,
) {
    // A tile has at least two layers.
    if log_h < 2 {
        return;
    }
    let shift = elements.next().expect("a shift");
    let mat = RowMajorMatrix::new(elements.take(width << log_h).collect(), width);
    let published = Radix2DitParallel::<Goldilocks>::default();
    let root = Goldilocks::two_adic_generator(log_h);
    // In the order of the network's results.
    let forward = published.coset_dft_batch(mat.clone(), shift).inner;
    let mut inverse = published.idft_batch(mat.clone());
    reverse_matrix_index_bits(&mut inverse);
    let scale = Goldilocks::ONE.div_2exp_u64(log_h as u64);
    for (layers, scale, expected) in [
        (twiddles(log_h, root, shift), None, forward),
        (
            twiddles(log_h, root.inverse(), Goldilocks::ONE),
            Some(scale),
            inverse,
        ),
    ] {
        assert_eq!(tile(lazy, &mat, &layers, 0, scale), expected.values);
        if log_h >= 4 {
            let values = two_passes(lazy, &mat, &layers, log_h / 2, scale);
            assert_eq!(values, expected.values);
        }
    }
}
