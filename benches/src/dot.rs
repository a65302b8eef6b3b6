//! Dot products of the columns of a matrix and of its rows with weights in an extension, and the openings that consist of them.

use std::hint::black_box;

use p3_commit::{OpenedValues, Pcs as CommitmentScheme, PolynomialSpace};
use p3_field::{BasedVectorSpace, ExtensionField, PackedFieldExtension, PackedValue, PrimeField64};
use p3_goldilocks::default_goldilocks_poseidon2_8;
use p3_matrix::Matrix;
use p3_matrix::dense::RowMajorMatrix;
use p3_maybe_rayon::prelude::*;
use rand::distr::{Distribution, StandardUniform};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::fri::{self, Challenge, Challenger, GoldilocksPcs as Pcs, val_mmcs};
use crate::permute;
use crate::row::{Prepared, encode, from_bytes, to_bytes};
use crate::timing::time;

/// The dot product of each column with weights, one for each row.
pub fn columns<F, EF>(seed: u64, log_height: usize, width: usize) -> Prepared
where
    F: PrimeField64,
    EF: ExtensionField<F>,
    StandardUniform: Distribution<EF>,
{
    let (matrix, weights) = weighted_columns::<F, EF>(seed, log_height, width);
    Prepared::new(move || {
        let (timing, products) = time(|| matrix.columnwise_dot_product(&weights));
        (timing, coefficients(&products))
    })
}

/// The dot product of each row with weights, one for each column.
pub fn rows<F, EF>(seed: u64, log_height: usize, width: usize) -> Prepared
where
    F: PrimeField64,
    EF: ExtensionField<F>,
    StandardUniform: Distribution<EF>,
{
    let (matrix, weights) = weighted_rows::<F, EF>(seed, log_height, width);
    Prepared::new(move || {
        let (timing, products) = time(|| row_products::<F, EF>(&matrix, &weights));
        (timing, coefficients(&products))
    })
}

/// The matrix of a unit: its rows are several vectors long.
const UNIT: (usize, usize) = (4, 64);

/// Multiplies the columns of a small matrix so many times.
pub fn column_passes<F, EF>(times: usize) -> Vec<u8>
where
    F: PrimeField64,
    EF: ExtensionField<F>,
    StandardUniform: Distribution<EF>,
{
    let (matrix, weights) = weighted_columns::<F, EF>(1, UNIT.0, UNIT.1);
    let mut products = Vec::new();
    for _ in 0..times {
        products = black_box(&matrix).columnwise_dot_product(&weights);
    }
    coefficients(&products)
}

/// Multiplies the rows of a small matrix so many times.
pub fn row_passes<F, EF>(times: usize) -> Vec<u8>
where
    F: PrimeField64,
    EF: ExtensionField<F>,
    StandardUniform: Distribution<EF>,
{
    let (matrix, weights) = weighted_rows::<F, EF>(1, UNIT.0, UNIT.1);
    let mut products = Vec::new();
    for _ in 0..times {
        products = row_products::<F, EF>(black_box(&matrix), &weights);
    }
    coefficients(&products)
}

fn row_products<F: PrimeField64, EF: ExtensionField<F>>(
    matrix: &RowMajorMatrix<F>,
    weights: &[EF::ExtensionPacking],
) -> Vec<EF> {
    matrix.rowwise_packed_dot_product::<EF>(weights).collect()
}

fn weighted_columns<F, EF>(
    seed: u64,
    log_height: usize,
    width: usize,
) -> (RowMajorMatrix<F>, Vec<EF>)
where
    F: PrimeField64,
    EF: ExtensionField<F>,
    StandardUniform: Distribution<EF>,
{
    let mut rng = SmallRng::seed_from_u64(seed);
    let matrix = matrix(&mut rng, 1 << log_height, width);
    let weights = (0..1 << log_height).map(|_| rng.random()).collect();
    (matrix, weights)
}

fn weighted_rows<F, EF>(
    seed: u64,
    log_height: usize,
    width: usize,
) -> (RowMajorMatrix<F>, Vec<EF::ExtensionPacking>)
where
    F: PrimeField64,
    EF: ExtensionField<F>,
    StandardUniform: Distribution<EF>,
{
    let mut rng = SmallRng::seed_from_u64(seed);
    let matrix = matrix(&mut rng, 1 << log_height, width);
    let weights: Vec<EF> = (0..width.next_multiple_of(F::Packing::WIDTH))
        .map(|_| rng.random())
        .collect();
    let packed = weights
        .chunks_exact(F::Packing::WIDTH)
        .map(EF::ExtensionPacking::from_ext_slice);
    (matrix, packed.collect())
}

/// Heights and widths next to the steps of kernels: blocks of rows, terms before a reduction, vectors of columns.
const SHAPES: [[usize; 2]; 13] = [
    [1, 1],
    [4, 63],
    [7, 65],
    [15, 33],
    [16, 40],
    [33, 3],
    [100, 17],
    [511, 9],
    [513, 8],
    [1030, 24],
    [4105, 5],
    [5, 4100],
    [64, 1000],
];

/// Columns and rows of [`SHAPES`], with `edges` among the elements.
pub fn odd_shapes<F, EF>(seed: u64, edges: &[F]) -> Prepared
where
    F: PrimeField64,
    EF: ExtensionField<F>,
    StandardUniform: Distribution<EF>,
{
    let mut rng = SmallRng::seed_from_u64(seed);
    let cases: Vec<(RowMajorMatrix<F>, Vec<EF>, Vec<EF>)> = SHAPES
        .into_iter()
        .map(|[height, width]| {
            let element = |rng: &mut SmallRng| match edges.get(rng.random_range(0..2 * edges.len()))
            {
                Some(&edge) => edge,
                None => permute::random(rng),
            };
            let values = (0..height * width).map(|_| element(&mut rng)).collect();
            let mut weights = |count: usize| -> Vec<EF> {
                let weight = || EF::from_basis_coefficients_fn(|_| element(&mut rng));
                std::iter::repeat_with(weight).take(count).collect()
            };
            let by_row = weights(height);
            let by_column = weights(width.next_multiple_of(F::Packing::WIDTH));
            (RowMajorMatrix::new(values, width), by_row, by_column)
        })
        .collect();
    Prepared::new(move || {
        time(|| {
            let products = cases.iter().flat_map(|(matrix, by_row, by_column)| {
                let packed: Vec<EF::ExtensionPacking> = by_column
                    .chunks_exact(F::Packing::WIDTH)
                    .map(EF::ExtensionPacking::from_ext_slice)
                    .collect();
                let mut products = matrix.columnwise_dot_product(by_row);
                products.par_extend(matrix.rowwise_packed_dot_product::<EF>(&packed));
                products
            });
            coefficients(&products.collect::<Vec<EF>>())
        })
    })
}

/// The opened values and the proof of the low-degree test.
type Opening = (
    OpenedValues<Challenge>,
    <Pcs as CommitmentScheme<Challenge, Challenger>>::Proof,
);

/// Opens a matrix at two points, with the low-degree test, after its commitment. The output is the opened values and the proof.
pub fn open(seed: u64, log_height: usize, width: usize) -> Prepared {
    let mut rng = SmallRng::seed_from_u64(seed);
    let pcs: Pcs = fri::pcs(val_mmcs());
    let challenger = Challenger::new(default_goldilocks_poseidon2_8());
    let domain = <Pcs as CommitmentScheme<Challenge, Challenger>>::natural_domain_for_degree(
        &pcs,
        1 << log_height,
    );
    let matrix = matrix(&mut rng, 1 << log_height, width);
    let (_, data) =
        <Pcs as CommitmentScheme<Challenge, Challenger>>::commit(&pcs, [(domain, matrix)])
            .expect("the matrix has a commitment");
    let point: Challenge = rng.random();
    let next = domain.next_point(point).expect("the domain is a subgroup");
    Prepared::new(move || {
        let mut challenger = challenger.clone();
        let request = (&data, vec![vec![point, next]]).into();
        let (timing, opening) = time(|| pcs.open(vec![request], &mut challenger));
        let opening: Opening = opening.expect("the points are outside of the domain");
        (timing, to_bytes(&opening))
    })
    .settled_as(|bytes| {
        let (values, proof): Opening = from_bytes(bytes).expect("the worker's own opening");
        to_bytes(&(&values, &proof.commit_phase_commits))
    })
}

fn matrix<F: PrimeField64>(rng: &mut SmallRng, height: usize, width: usize) -> RowMajorMatrix<F> {
    let values = (0..height * width).map(|_| permute::random(rng)).collect();
    RowMajorMatrix::new(values, width)
}

/// Encodes the coefficients of elements of an extension.
pub fn coefficients<F: PrimeField64, EF: BasedVectorSpace<F>>(elements: &[EF]) -> Vec<u8> {
    let coefficients = elements
        .iter()
        .flat_map(|x| x.as_basis_coefficients_slice());
    encode(&coefficients.copied().collect::<Vec<F>>())
}
