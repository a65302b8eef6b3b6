//! Transforms of matrices by the kernel of tiled-dft, butterflies by that of prepared-twiddles, and dot products of matrices and
//! rows by that of lazy-dot-products, against Plonky3 as published.
//!
//! An input is a head of three bytes, which are the field, the height and the width, then words in little-endian order, which
//! are repeated where more are asked for: the shift, then the matrix. Words are taken as they are, canonical or not.

#![no_main]

use libfuzzer_sys::fuzz_target;
use p3_baby_bear::BabyBear;
use p3_dft::{Radix2DitParallel, TwoAdicSubgroupDft};
use p3_field::{PrimeCharacteristicRing, TwoAdicField};
use p3_goldilocks::Goldilocks;
use p3_koala_bear::KoalaBear;
use p3_matrix::dense::RowMajorMatrix;
use p3_matrix::util::reverse_matrix_index_bits;
use tiled_dft::network::{Passes, transform, twiddles};

/// Elements of a matrix at most, as a power of two: more than fit a tile.
const LOG_ELEMENTS: usize = 16;

fn check<F: TwoAdicField + Ord>(log_h: usize, width: usize, mut elements: impl Iterator<Item = F>) {
    let shift = elements.next().expect("words are repeated");
    let mat = RowMajorMatrix::new(elements.take(width << log_h).collect(), width);
    let published = Radix2DitParallel::<F>::default();
    let passes = Passes::new::<F>(log_h, width);
    let root = F::two_adic_generator(log_h);
    let ours = |layers: &[Vec<F>], scale: Option<F>| {
        let mut mat = mat.clone();
        transform(passes, &mut mat.as_view_mut(), layers, scale, &|_, _| {});
        mat
    };

    let forward = ours(&twiddles(log_h, root, shift), None);
    let expected = published.coset_dft_batch(mat.clone(), shift);
    assert_eq!(forward, expected.inner);

    let scale = F::ONE.div_2exp_u64(log_h as u64);
    let mut inverse = ours(&twiddles(log_h, root.inverse(), F::ONE), Some(scale));
    reverse_matrix_index_bits(&mut inverse);
    assert_eq!(inverse, published.idft_batch(mat.clone()));
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
fn check_butterflies(len: usize, mut elements: impl Iterator<Item = Goldilocks>) {
    use p3_dft::{Butterfly, DitButterfly};
    use p3_field::{Field, PackedValue};
    use prepared_twiddles::prepared_twiddle::prepared_butterfly;

    type Packing = <Goldilocks as Field>::Packing;

    let twiddle = elements.next().expect("words are repeated");
    let mut row = || -> Vec<Goldilocks> { elements.by_ref().take(len * Packing::WIDTH).collect() };
    let (mut low, mut high) = (row(), row());
    let (mut expected_low, mut expected_high) = (low.clone(), high.clone());
    DitButterfly(twiddle).apply_to_rows(&mut expected_low, &mut expected_high);
    let Some(butterfly) = prepared_butterfly::<Packing>(twiddle, len) else {
        return;
    };
    let high_vectors = Packing::pack_slice_mut(&mut high);
    for (low, high) in Packing::pack_slice_mut(&mut low)
        .iter_mut()
        .zip(high_vectors)
    {
        (*low, *high) = butterfly(*low, *high);
    }
    assert_eq!((low, high), (expected_low, expected_high));
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
fn check_dot_products(log_h: usize, width: usize, mut elements: impl Iterator<Item = Goldilocks>) {
    use lazy_dot_products::dot_product::{
        batched_columnwise_dot_product, batched_linear_combination, coeffwise_dot_product,
    };
    use p3_field::extension::BinomialExtensionField;
    use p3_field::{
        Algebra, BasedVectorSpace, ExtensionField, Field, PackedField, PackedFieldExtension,
        PackedValue,
    };
    use p3_matrix::Matrix;

    type Extension = BinomialExtensionField<Goldilocks, 2>;
    type Packing = <Goldilocks as Field>::Packing;
    type ExtensionPacking = <Extension as ExtensionField<Goldilocks>>::ExtensionPacking;

    let mut take = |count: usize| -> Vec<Goldilocks> { elements.by_ref().take(count).collect() };
    let mat = RowMajorMatrix::new(take(width << log_h), width);
    let weights = take(2 << log_h);
    let weight = |r: usize| Extension::from_basis_coefficients_fn(|i| weights[2 * r + i]);
    let weights: Vec<Extension> = (0..1 << log_h).map(weight).collect();
    let mut acc = ExtensionPacking::zero_vec(width.div_ceil(Packing::WIDTH));
    let items = (0..1 << log_h).map(|r| (mat.padded_horizontally_packed_row(r), [weights[r]]));
    batched_columnwise_dot_product::<Extension, _, _, 1>(&mut acc, items);
    let columns =
        <ExtensionPacking as PackedFieldExtension<Goldilocks, Extension>>::to_ext_iter(acc);
    let columns: Vec<Extension> = columns.take(width).collect();
    assert_eq!(columns, mat.columnwise_dot_product(&weights));

    let (values, coeffs) = (
        take(width * Packing::WIDTH),
        take(2 * width * Packing::WIDTH),
    );
    let (values, vectors) = (Packing::pack_slice(&values), Packing::pack_slice(&coeffs));
    let pairs = || vectors.chunks_exact(2).zip(values.iter().copied());
    assert_eq!(
        coeffwise_dot_product(2, pairs()),
        Packing::coeffwise_dot_product(2, pairs())
    );
    let coeffs = &coeffs[..width];
    assert_eq!(
        batched_linear_combination(values, coeffs),
        Packing::batched_linear_combination(values, coeffs)
    );
}

fuzz_target!(|data: &[u8]| {
    let Some((&[field, log_h, width], words)) = data.split_first_chunk::<3>() else {
        return;
    };
    let (words, _) = words.as_chunks::<8>();
    if words.is_empty() {
        return;
    }
    let words = words.iter().cycle().map(|word| u64::from_le_bytes(*word));
    let width = 1 + usize::from(width) % 100;
    let log_h = usize::from(log_h) % (LOG_ELEMENTS - width.ilog2() as usize);
    match field % 3 {
        0 => check(log_h, width, words.map(BabyBear::from_u64)),
        1 => check(log_h, width, words.map(KoalaBear::from_u64)),
        _ => {
            let elements = words.map(Goldilocks::new);
            #[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
            {
                check_butterflies(width, elements.clone());
                check_dot_products(log_h, width, elements.clone());
            }
            check(log_h, width, elements);
        }
    }
});
