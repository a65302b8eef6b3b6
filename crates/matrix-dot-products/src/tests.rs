//! Products of matrices against those of single elements, at heights and widths next to the steps of kernels and of tasks.

use p3_baby_bear::BabyBear;
use p3_field::extension::BinomialExtensionField;
use p3_field::{ExtensionField, Field, FieldArray, PackedFieldExtension, PackedValue};
use p3_goldilocks::Goldilocks;
use p3_koala_bear::KoalaBear;
use p3_matrix::Matrix;
use p3_matrix::dense::RowMajorMatrix;
use p3_maybe_rayon::prelude::*;
use rand::distr::{Distribution, StandardUniform};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// Heights and widths: few elements and none, next to a pass of eight rows, next to a vector, and beyond the elements that p3-matrix
/// leaves to one task.
const SHAPES: [(usize, usize); 12] = [
    (1, 1),
    (1, 40),
    (2, 3),
    (7, 16),
    (8, 17),
    (9, 15),
    (15, 33),
    (16, 130),
    (17, 8),
    (300, 70),
    (1023, 9),
    (1025, 131),
];

fn elements<F>(count: usize, seed: u64) -> Vec<F>
where
    StandardUniform: Distribution<F>,
{
    let mut rng = SmallRng::seed_from_u64(seed);
    (0..count).map(|_| rng.random()).collect()
}

fn matrix<F>(height: usize, width: usize) -> RowMajorMatrix<F>
where
    F: Field,
    StandardUniform: Distribution<F>,
{
    let mut values = elements(height * width, (height + width) as u64);
    // The largest element, side by side.
    let full = values.len() / 2;
    values[..full].fill(F::NEG_ONE);
    RowMajorMatrix::new(values, width)
}

/// The sum of the products of elements and weights, one after the other.
fn dot<F: Field, EF: ExtensionField<F>>(
    elements: impl Iterator<Item = F>,
    weights: impl Iterator<Item = EF>,
) -> EF {
    elements
        .zip(weights)
        .fold(EF::ZERO, |sum, (x, weight)| sum + weight * x)
}

fn check<F, EF>()
where
    F: Field,
    EF: ExtensionField<F>,
    StandardUniform: Distribution<F> + Distribution<EF>,
{
    for (height, width) in SHAPES {
        let matrix = matrix::<F>(height, width);
        let column = |c: usize| matrix.values[c..].iter().step_by(width).copied();

        let weights: Vec<EF> = elements(height, 1);
        let expected: Vec<_> = (0..width)
            .map(|c| dot(column(c), weights.iter().copied()))
            .collect();
        assert_eq!(
            matrix.columnwise_dot_product(&weights),
            expected,
            "columns of {height} x {width}"
        );

        let several: Vec<FieldArray<EF, 3>> = elements(3 * height, 2)
            .chunks_exact(3)
            .map(|row| FieldArray([row[0], row[1], row[2]]))
            .collect();
        let products = matrix.columnwise_dot_product_batched(&several);
        for j in 0..3 {
            let weights = || several.iter().map(|row| row[j]);
            let expected: Vec<EF> = (0..width).map(|c| dot(column(c), weights())).collect();
            let products: Vec<_> = products.iter().map(|column| column[j]).collect();
            assert_eq!(
                products, expected,
                "columns of {height} x {width}, weight {j}"
            );
        }

        let padded = width.next_multiple_of(F::Packing::WIDTH);
        let weights: Vec<EF> = elements(padded, 3);
        let packed: Vec<_> = weights
            .chunks_exact(F::Packing::WIDTH)
            .map(EF::ExtensionPacking::from_ext_slice)
            .collect();
        let rows = matrix.values.chunks_exact(width);
        let expected: Vec<_> = rows
            .map(|row| dot(row.iter().copied(), weights.iter().copied()))
            .collect();
        let products: Vec<EF> = matrix.rowwise_packed_dot_product::<EF>(&packed).collect();
        assert_eq!(products, expected, "rows of {height} x {width}");
    }
}

#[test]
fn products_of_goldilocks() {
    check::<Goldilocks, Goldilocks>();
    check::<Goldilocks, BinomialExtensionField<Goldilocks, 2>>();
    check::<Goldilocks, BinomialExtensionField<Goldilocks, 5>>();
}

#[test]
fn products_of_fields_of_31_bits() {
    check::<KoalaBear, BinomialExtensionField<KoalaBear, 4>>();
    check::<KoalaBear, BinomialExtensionField<KoalaBear, 8>>();
    check::<BabyBear, BinomialExtensionField<BabyBear, 4>>();
    check::<BabyBear, BinomialExtensionField<BabyBear, 5>>();
}
