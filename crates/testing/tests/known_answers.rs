//! The release as published, and the permutations on plain integers, give the known answers.

use p3_field::{Field, PrimeField64};
use p3_goldilocks::poseidon1::{
    GOLDILOCKS_POSEIDON1_RC_8, GOLDILOCKS_POSEIDON1_RC_12, Poseidon1GoldilocksGeneric,
    default_goldilocks_poseidon1_8, default_goldilocks_poseidon1_12,
};
use p3_goldilocks::{
    GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_FINAL, GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_INITIAL,
    GOLDILOCKS_POSEIDON2_RC_8_INTERNAL, GOLDILOCKS_POSEIDON2_RC_12_EXTERNAL_FINAL,
    GOLDILOCKS_POSEIDON2_RC_12_EXTERNAL_INITIAL, GOLDILOCKS_POSEIDON2_RC_12_INTERNAL,
    GOLDILOCKS_POSEIDON2_RC_16_EXTERNAL_FINAL, GOLDILOCKS_POSEIDON2_RC_16_EXTERNAL_INITIAL,
    GOLDILOCKS_POSEIDON2_RC_16_INTERNAL, Goldilocks, MATRIX_CIRC_MDS_8_COL, MATRIX_CIRC_MDS_12_COL,
    MATRIX_DIAG_8_GOLDILOCKS, MATRIX_DIAG_12_GOLDILOCKS, MATRIX_DIAG_16_GOLDILOCKS,
    MdsMatrixGoldilocks, default_goldilocks_poseidon2_8, default_goldilocks_poseidon2_12,
    default_goldilocks_poseidon2_16,
};
use p3_patches_testing::goldilocks as plain;
use p3_patches_testing::known_answers::{Instance, poseidon1, poseidon2};
use p3_symmetric::Permutation;

type Packed = <Goldilocks as Field>::Packing;

fn words(row: &[Goldilocks]) -> Vec<u64> {
    row.iter().map(|x| x.as_canonical_u64()).collect()
}

fn check_published<P, const WIDTH: usize>(instance: &Instance<WIDTH>, published: &P)
where
    P: Permutation<[Goldilocks; WIDTH]> + Permutation<[Packed; WIDTH]>,
{
    instance.check::<Goldilocks>(|states| states.iter_mut().for_each(|x| published.permute_mut(x)));
    instance.check::<Packed>(|states| states.iter_mut().for_each(|x| published.permute_mut(x)));
}

/// A permutation on plain integers.
fn check_plain<const WIDTH: usize>(
    instance: &Instance<WIDTH>,
    permute: impl Fn([u64; WIDTH]) -> [u64; WIDTH],
) {
    for (input, output) in instance.inputs.iter().zip(&instance.outputs) {
        assert_eq!(permute(*input), *output, "{input:x?}");
    }
}

fn rows<const WIDTH: usize>(constants: &[Vec<u64>]) -> Vec<[u64; WIDTH]> {
    let row = |row: &Vec<u64>| row.as_slice().try_into().expect("a constant per element");
    constants.iter().map(row).collect()
}

fn plain_poseidon1<const WIDTH: usize>(instance: &Instance<WIDTH>) -> plain::Poseidon1<WIDTH> {
    plain::Poseidon1 {
        initial: rows(&instance.constants[..4]),
        partial: rows(&instance.constants[4..26]),
        terminal: rows(&instance.constants[26..]),
        row: instance.matrix,
    }
}

#[test]
fn poseidon1_width_8() {
    let instance = poseidon1();
    check_published(&instance, &default_goldilocks_poseidon1_8());
    check_plain(&instance, |x| plain_poseidon1(&instance).permute(x));
}

#[test]
fn poseidon1_width_12() {
    let instance = poseidon1();
    check_published(&instance, &default_goldilocks_poseidon1_12());
    check_plain(&instance, |x| plain_poseidon1(&instance).permute(x));
}

/// The release has a matrix of this width, but no constants.
#[test]
fn poseidon1_width_16() {
    let instance = poseidon1();
    let published = Poseidon1GoldilocksGeneric::<16>::new(&instance.poseidon1_constants());
    instance.check::<Goldilocks>(|states| states.iter_mut().for_each(|x| published.permute_mut(x)));
    // On aarch64 it has none for packed elements.
    #[cfg(not(target_arch = "aarch64"))]
    instance.check::<Packed>(|states| states.iter_mut().for_each(|x| published.permute_mut(x)));
    check_plain(&instance, |x| plain_poseidon1(&instance).permute(x));
}

fn check_poseidon2<P, const WIDTH: usize>(published: &P)
where
    P: Permutation<[Goldilocks; WIDTH]> + Permutation<[Packed; WIDTH]>,
{
    let instance = poseidon2();
    check_published(&instance, published);
    let plain = plain::Poseidon2 {
        initial: rows(&instance.constants[..4]),
        internal: instance.constants[4..26].concat(),
        terminal: rows(&instance.constants[26..]),
        diagonal: instance.matrix,
    };
    check_plain(&instance, |x| plain.permute(x));
}

#[test]
fn poseidon2_width_8() {
    check_poseidon2::<_, 8>(&default_goldilocks_poseidon2_8());
}

#[test]
fn poseidon2_width_12() {
    check_poseidon2::<_, 12>(&default_goldilocks_poseidon2_12());
}

#[test]
fn poseidon2_width_16() {
    check_poseidon2::<_, 16>(&default_goldilocks_poseidon2_16());
}

/// The script's parameters, those it generates and those it was told, are the release's: a difference shows by name here.
#[test]
fn parameters() {
    fn check<const WIDTH: usize>(
        instance: &Instance<WIDTH>,
        rounds: &[&[Goldilocks]],
        matrix: [Goldilocks; WIDTH],
    ) {
        let rounds: Vec<_> = rounds.iter().map(|round| words(round)).collect();
        assert_eq!(instance.constants, rounds, "width {WIDTH}");
        assert_eq!(instance.matrix, *words(&matrix), "width {WIDTH}");
    }
    fn each<const N: usize>(rounds: &[[Goldilocks; N]]) -> Vec<&[Goldilocks]> {
        rounds.iter().map(|round| &round[..]).collect()
    }
    fn first_row<const WIDTH: usize>(column: [i64; WIDTH]) -> [Goldilocks; WIDTH] {
        std::array::from_fn(|i| Goldilocks::new(column[(WIDTH - i) % WIDTH] as u64))
    }

    let row = first_row(MATRIX_CIRC_MDS_8_COL);
    check(&poseidon1(), &each(&GOLDILOCKS_POSEIDON1_RC_8), row);
    let row = first_row(MATRIX_CIRC_MDS_12_COL);
    check(&poseidon1(), &each(&GOLDILOCKS_POSEIDON1_RC_12), row);
    let unit: [Goldilocks; 16] = std::array::from_fn(|i| Goldilocks::new((i == 0).into()));
    let column = (MdsMatrixGoldilocks.permute(unit)).map(|x| x.as_canonical_u64() as i64);
    let row = words(&first_row(column));
    assert_eq!(poseidon1::<16>().matrix, *row, "width 16");

    let rounds = [
        each(&GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_INITIAL),
        GOLDILOCKS_POSEIDON2_RC_8_INTERNAL.chunks(1).collect(),
        each(&GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_FINAL),
    ];
    check(&poseidon2(), &rounds.concat(), MATRIX_DIAG_8_GOLDILOCKS);
    let rounds = [
        each(&GOLDILOCKS_POSEIDON2_RC_12_EXTERNAL_INITIAL),
        GOLDILOCKS_POSEIDON2_RC_12_INTERNAL.chunks(1).collect(),
        each(&GOLDILOCKS_POSEIDON2_RC_12_EXTERNAL_FINAL),
    ];
    check(&poseidon2(), &rounds.concat(), MATRIX_DIAG_12_GOLDILOCKS);
    let rounds = [
        each(&GOLDILOCKS_POSEIDON2_RC_16_EXTERNAL_INITIAL),
        GOLDILOCKS_POSEIDON2_RC_16_INTERNAL.chunks(1).collect(),
        each(&GOLDILOCKS_POSEIDON2_RC_16_EXTERNAL_FINAL),
    ];
    check(&poseidon2(), &rounds.concat(), MATRIX_DIAG_16_GOLDILOCKS);
}
