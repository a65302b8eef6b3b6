//! The views that a prover packs, against single elements.

use p3_field::{Field, PackedValue};
use p3_goldilocks::Goldilocks;
use p3_koala_bear::KoalaBear;
use p3_matrix::Matrix;
use p3_matrix::bitrev::BitReversibleMatrix;
use p3_matrix::dense::RowMajorMatrix;
use rand::SeedableRng;
use rand::distr::{Distribution, StandardUniform};
use rand::rngs::SmallRng;

/// Packs the rows from each start on, past the matrix's end too, where rows count from the first one again.
fn assert_packed<F: Field>(matrix: &impl Matrix<F>) {
    let height = matrix.height();
    for first in 0..2 * height {
        let packed = matrix.vertically_packed_row::<F::Packing>(first);
        let mut columns = 0;
        for (column, packed) in packed.enumerate() {
            for (lane, x) in packed.as_slice().iter().enumerate() {
                assert_eq!(matrix.get((first + lane) % height, column), Some(*x));
            }
            columns += 1;
        }
        assert_eq!(columns, matrix.width());
    }
}

fn views_are_packed<F: Field>()
where
    StandardUniform: Distribution<F>,
{
    let mut rng = SmallRng::seed_from_u64(1);
    for height in [1, 2, 4, 8, 32] {
        for width in [1, 7, 8, 17, 40] {
            let matrix = RowMajorMatrix::<F>::rand(&mut rng, height, width);
            assert_packed(&matrix);
            assert_packed(&matrix.bit_reverse_rows());
        }
    }
}

#[test]
fn views_of_31_bit_elements_are_packed() {
    views_are_packed::<KoalaBear>();
}

#[test]
fn views_of_64_bit_elements_are_packed() {
    views_are_packed::<Goldilocks>();
}
