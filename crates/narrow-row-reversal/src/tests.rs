//! The rows of matrices around the widest narrow row, against the definition.

use p3_field::Field;
use p3_field::extension::{BinomialExtensionField, QuinticTrinomialExtensionField};
use p3_goldilocks::Goldilocks;
use p3_koala_bear::KoalaBear;
use p3_matrix::Matrix;
use p3_matrix::bitrev::BitReversibleMatrix;
use p3_matrix::dense::RowMajorMatrix;
use p3_matrix::util::reverse_matrix_index_bits;
use rand::SeedableRng;
use rand::distr::{Distribution, StandardUniform};
use rand::rngs::SmallRng;

/// Reverses matrices that are permuted element by element, by blocks in the cache, and by blocks beyond 16 KiB.
fn rows_are_reversed<F: Field>()
where
    StandardUniform: Distribution<F>,
{
    let mut rng = SmallRng::seed_from_u64(1);
    for log_height in [0, 1, 2, 5, 6, 7, 10, 13, 14] {
        let height = 1 << log_height;
        for width in 1..=10 {
            let matrix = RowMajorMatrix::<F>::rand(&mut rng, height, width);
            let reversed = |row: usize| match log_height {
                0 => 0,
                bits => row.reverse_bits() >> (usize::BITS - bits),
            };
            let rows =
                (0..height).flat_map(|row| matrix.row_slice(reversed(row)).unwrap().to_vec());
            let expected = RowMajorMatrix::new(rows.collect(), width);

            let mut in_place = matrix.clone();
            reverse_matrix_index_bits(&mut in_place);
            assert_eq!(in_place, expected, "2^{log_height} x {width}");
            let view = matrix.bit_reverse_rows().to_row_major_matrix();
            assert_eq!(view, expected, "2^{log_height} x {width}, a view");
        }
    }
}

#[test]
fn rows_of_31_bit_elements_are_reversed() {
    rows_are_reversed::<KoalaBear>();
}

#[test]
fn rows_of_64_bit_elements_are_reversed() {
    rows_are_reversed::<Goldilocks>();
}

#[test]
fn rows_of_extension_elements_are_reversed() {
    rows_are_reversed::<BinomialExtensionField<Goldilocks, 2>>();
    rows_are_reversed::<BinomialExtensionField<KoalaBear, 4>>();
    rows_are_reversed::<QuinticTrinomialExtensionField<KoalaBear>>();
}
