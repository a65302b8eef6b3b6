//! Transforms of matrices by the kernels of tiled-dft and ifma-butterflies, butterflies by that of prepared-twiddles, dot
//! products of matrices and rows by those of lazy-dot-products and monty-dot-products, and the linear layers of
//! monty-poseidon1, against Plonky3 as published.
//!
//! An input is what [`Transform`] reads.

#![no_main]

#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
use ifma_butterflies::{
    Gaussian, LazyButterflies,
    lazy_tile::{scratch, transform_lazily},
};
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
use lazy_dot_products::{
    UnreducedSum,
    dot_product::{Columnwise, batched_linear_combination, coeffwise_dot_product},
    unreduced_columnwise_dot_product,
};
use libfuzzer_sys::fuzz_target;
use p3_baby_bear::BabyBear;
use p3_dft::{Radix2DitParallel, TwoAdicSubgroupDft};
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
use p3_field::{
    Algebra, ExtensionField, Field, PackedField, PackedFieldExtension, PackedValue,
    extension::BinomialExtensionField,
};
use p3_field::{PrimeCharacteristicRing, TwoAdicField};
use p3_goldilocks::Goldilocks;
use p3_koala_bear::KoalaBear;
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
use p3_matrix::Matrix;
use p3_matrix::dense::RowMajorMatrix;
use p3_matrix::util::reverse_matrix_index_bits;
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
use p3_monty_31::{FieldParameters, MontyField31, RelativelyPrimePower, TwoAdicData};
use p3_patches_testing::fuzzing::Transform;
use tiled_dft::network::{Passes, transform, twiddles};

// The crate's tests run it on the seeds.
#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
#[path = "../../crates/ifma-butterflies/src/tests/transforms.rs"]
mod transforms;

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

/// `coeffwise` takes the weights of a row's vectors, one after the other, and the row.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
fn check_dot_products<F, EF, S>(
    log_h: usize,
    width: usize,
    mut elements: impl Iterator<Item = F>,
    coeffwise: fn(&[F::Packing], &[F::Packing]) -> [F::Packing; 8],
) where
    F: TwoAdicField,
    EF: ExtensionField<F>,
    S: UnreducedSum<F>,
{
    let mut take = |count: usize| -> Vec<F> { elements.by_ref().take(count).collect() };
    let mat = RowMajorMatrix::new(take(width << log_h), width);
    let weights = take(EF::DIMENSION << log_h);
    let weights: Vec<EF> = weights
        .chunks_exact(EF::DIMENSION)
        .map(|weight| EF::from_basis_coefficients_fn(|i| weight[i]))
        .collect();
    let mut acc = EF::ExtensionPacking::zero_vec(width.div_ceil(F::Packing::WIDTH));
    let items = (0..1 << log_h).map(|r| (mat.padded_horizontally_packed_row(r), [weights[r]]));
    unreduced_columnwise_dot_product::<S, F, EF, _, _, 1>(&mut acc, items);
    let columns: Vec<EF> = EF::ExtensionPacking::to_ext_iter(acc).take(width).collect();
    assert_eq!(columns, mat.columnwise_dot_product(&weights));

    let row = take(width * F::Packing::WIDTH);
    let weights = take(EF::DIMENSION * width * F::Packing::WIDTH);
    let (row, weights) = (
        F::Packing::pack_slice(&row),
        F::Packing::pack_slice(&weights),
    );
    let pairs = weights.chunks_exact(EF::DIMENSION).zip(row.iter().copied());
    assert_eq!(
        F::Packing::unpack_slice(&coeffwise(weights, row)),
        F::Packing::unpack_slice(&F::Packing::coeffwise_dot_product(EF::DIMENSION, pairs))
    );
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
fn check_combinations(width: usize, mut elements: impl Iterator<Item = Goldilocks>) {
    type Packing = <Goldilocks as Field>::Packing;

    let values: Vec<Goldilocks> = elements.by_ref().take(width * Packing::WIDTH).collect();
    let coeffs: Vec<Goldilocks> = elements.take(width).collect();
    let values = Packing::pack_slice(&values);
    assert_eq!(
        batched_linear_combination(values, &coeffs),
        Packing::batched_linear_combination(values, &coeffs)
    );
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
fn check_monty<FP>(log_h: usize, width: usize, elements: impl Iterator<Item = MontyField31<FP>>)
where
    FP: FieldParameters + TwoAdicData,
    BinomialExtensionField<MontyField31<FP>, 4>: ExtensionField<MontyField31<FP>>,
{
    check_dot_products::<_, BinomialExtensionField<_, 4>, monty_dot_products::dot_product::Sums<FP>>(
        log_h,
        width,
        elements,
        |weights, row| {
            let pairs = weights.chunks_exact(4).zip(row.iter().copied());
            monty_dot_products::dot_product::coeffwise_dot_product::<FP>(4, pairs)
        },
    );
}

/// Partial rounds, and a circulant matrix, as scalars take them.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
fn check_poseidon1<FP, const D: u64>(
    rounds: usize,
    mut elements: impl Iterator<Item = MontyField31<FP>>,
) where
    FP: FieldParameters + RelativelyPrimePower<D>,
{
    use monty_poseidon1::packed_poseidon1::{Circulant, PartialRounds};
    use p3_poseidon1::internal::{PartialRoundConstants, partial_permute_state};

    const WIDTH: usize = 16;
    type Packing<FP> = <MontyField31<FP> as Field>::Packing;

    let mut vector = || std::array::from_fn(|_| elements.next().expect("words are repeated"));
    let constants = PartialRoundConstants {
        first_round_constants: vector(),
        m_i: std::array::from_fn(|_| vector()),
        sparse_first_row: (0..rounds).map(|_| vector()).collect(),
        v: (0..rounds).map(|_| vector()).collect(),
        round_constants: (1..rounds).map(|_| vector()[0]).collect(),
        textbook_scalar_constants: Vec::new(),
        textbook_residual: vector(),
    };
    let column = vector();
    let mut states: Vec<[MontyField31<FP>; WIDTH]> =
        (0..Packing::<FP>::WIDTH).map(|_| vector()).collect();
    let mut packed: [Packing<FP>; WIDTH] =
        std::array::from_fn(|i| Packing::<FP>::from_fn(|lane| states[lane][i]));
    PartialRounds::new(&constants).permute_state::<D>(&mut packed);
    Circulant::new(column).apply::<FP>(&mut packed);
    for (lane, state) in states.iter_mut().enumerate() {
        partial_permute_state::<_, _, WIDTH, D>(state, &constants);
        let product = |i: usize, j: usize| column[(WIDTH + i - j) % WIDTH] * state[j];
        let expected: [_; WIDTH] =
            std::array::from_fn(|i| (0..WIDTH).map(|j| product(i, j)).sum::<MontyField31<FP>>());
        assert_eq!(packed.map(|x| x.as_slice()[lane]), expected);
    }
}

fuzz_target!(|data: &[u8]| {
    let Some(Transform {
        field,
        log_h,
        width,
        words,
    }) = Transform::read(data)
    else {
        return;
    };
    match field {
        0 => {
            let elements = words.map(BabyBear::from_u64);
            #[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
            {
                check_monty(log_h, width, elements.clone());
                check_poseidon1::<_, 7>(width, elements.clone());
            }
            check(log_h, width, elements);
        }
        1 => {
            let elements = words.map(KoalaBear::from_u64);
            #[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
            {
                check_monty(log_h, width, elements.clone());
                check_poseidon1::<_, 3>(width, elements.clone());
            }
            check(log_h, width, elements);
        }
        _ => {
            let elements = words.map(Goldilocks::new);
            #[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
            {
                check_butterflies(width, elements.clone());
                check_dot_products::<_, BinomialExtensionField<_, 2>, Columnwise>(
                    log_h,
                    width,
                    elements.clone(),
                    |weights, row| {
                        coeffwise_dot_product(2, weights.chunks_exact(2).zip(row.iter().copied()))
                    },
                );
                check_combinations(width, elements.clone());
            }
            #[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
            transforms::agree_with_published(Gaussian, log_h, width, elements.clone());
            check(log_h, width, elements);
        }
    }
});
