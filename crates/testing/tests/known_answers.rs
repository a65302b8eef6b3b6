//! The release as published, and the permutations on plain integers, give the known answers.

use p3_baby_bear::{
    BABYBEAR_POSEIDON1_RC_16, BABYBEAR_POSEIDON1_RC_24, BABYBEAR_POSEIDON2_RC_16_EXTERNAL_FINAL,
    BABYBEAR_POSEIDON2_RC_16_EXTERNAL_INITIAL, BABYBEAR_POSEIDON2_RC_16_INTERNAL,
    BABYBEAR_POSEIDON2_RC_24_EXTERNAL_FINAL, BABYBEAR_POSEIDON2_RC_24_EXTERNAL_INITIAL,
    BABYBEAR_POSEIDON2_RC_24_INTERNAL, BabyBear, default_babybear_poseidon1_16,
    default_babybear_poseidon1_24, default_babybear_poseidon2_16, default_babybear_poseidon2_24,
};
use p3_field::{Algebra, Field, InjectiveMonomial, PackedValue, PrimeField64};
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
use p3_koala_bear::{
    KOALABEAR_POSEIDON1_RC_16, KOALABEAR_POSEIDON1_RC_24, KOALABEAR_POSEIDON2_RC_16_EXTERNAL_FINAL,
    KOALABEAR_POSEIDON2_RC_16_EXTERNAL_INITIAL, KOALABEAR_POSEIDON2_RC_16_INTERNAL,
    KOALABEAR_POSEIDON2_RC_24_EXTERNAL_FINAL, KOALABEAR_POSEIDON2_RC_24_EXTERNAL_INITIAL,
    KOALABEAR_POSEIDON2_RC_24_INTERNAL, KoalaBear, default_koalabear_poseidon1_16,
    default_koalabear_poseidon1_24, default_koalabear_poseidon2_16, default_koalabear_poseidon2_24,
};
use p3_patches_testing::goldilocks as plain;
use p3_patches_testing::known_answers::{
    BABY_BEAR_POSEIDON1, BABY_BEAR_POSEIDON2, BABY_BEAR_ZKHASH, GOLDILOCKS_POSEIDON1,
    GOLDILOCKS_POSEIDON2, GOLDILOCKS_ZKHASH, Instance, KOALA_BEAR_POSEIDON1, KOALA_BEAR_POSEIDON2,
};
use p3_poseidon2::{
    HLMDSMat4, add_rc_and_sbox_generic, external_initial_permute_state,
    external_terminal_permute_state, matmul_internal,
};
use p3_symmetric::Permutation;

fn words<F: PrimeField64>(row: &[F]) -> Vec<u64> {
    row.iter().map(|x| x.as_canonical_u64()).collect()
}

fn check_published<F, P, const WIDTH: usize>(instance: &Instance<WIDTH>, published: &P)
where
    F: PrimeField64,
    P: Permutation<[F; WIDTH]> + Permutation<[F::Packing; WIDTH]>,
{
    instance.check::<F>(|states| states.iter_mut().for_each(|x| published.permute_mut(x)));
    instance.check::<F::Packing>(|states| states.iter_mut().for_each(|x| published.permute_mut(x)));
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
    let instance = Instance::of(GOLDILOCKS_POSEIDON1);
    check_published::<Goldilocks, _, _>(&instance, &default_goldilocks_poseidon1_8());
    check_plain(&instance, |x| plain_poseidon1(&instance).permute(x));
}

#[test]
fn poseidon1_width_12() {
    let instance = Instance::of(GOLDILOCKS_POSEIDON1);
    check_published::<Goldilocks, _, _>(&instance, &default_goldilocks_poseidon1_12());
    check_plain(&instance, |x| plain_poseidon1(&instance).permute(x));
}

/// The release has a matrix of this width, but no constants.
#[test]
fn poseidon1_width_16() {
    let instance = Instance::of(GOLDILOCKS_POSEIDON1);
    let published = Poseidon1GoldilocksGeneric::<16>::new(&instance.poseidon1_constants());
    instance.check::<Goldilocks>(|states| states.iter_mut().for_each(|x| published.permute_mut(x)));
    // On aarch64 it has none for packed elements.
    #[cfg(not(target_arch = "aarch64"))]
    instance.check::<<Goldilocks as Field>::Packing>(|states| {
        states.iter_mut().for_each(|x| published.permute_mut(x))
    });
    check_plain(&instance, |x| plain_poseidon1(&instance).permute(x));
}

fn check_poseidon2<P, const WIDTH: usize>(published: &P)
where
    P: Permutation<[Goldilocks; WIDTH]> + Permutation<[<Goldilocks as Field>::Packing; WIDTH]>,
{
    let instance = Instance::of(GOLDILOCKS_POSEIDON2);
    check_published::<Goldilocks, _, _>(&instance, published);
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

#[test]
fn fields_of_31_bits() {
    check_published::<BabyBear, _, 16>(
        &Instance::of(BABY_BEAR_POSEIDON1),
        &default_babybear_poseidon1_16(),
    );
    check_published::<BabyBear, _, 24>(
        &Instance::of(BABY_BEAR_POSEIDON1),
        &default_babybear_poseidon1_24(),
    );
    check_published::<BabyBear, _, 16>(
        &Instance::of(BABY_BEAR_POSEIDON2),
        &default_babybear_poseidon2_16(),
    );
    check_published::<BabyBear, _, 24>(
        &Instance::of(BABY_BEAR_POSEIDON2),
        &default_babybear_poseidon2_24(),
    );
    check_published::<KoalaBear, _, 16>(
        &Instance::of(KOALA_BEAR_POSEIDON1),
        &default_koalabear_poseidon1_16(),
    );
    check_published::<KoalaBear, _, 24>(
        &Instance::of(KOALA_BEAR_POSEIDON1),
        &default_koalabear_poseidon1_24(),
    );
    check_published::<KoalaBear, _, 16>(
        &Instance::of(KOALA_BEAR_POSEIDON2),
        &default_koalabear_poseidon2_16(),
    );
    check_published::<KoalaBear, _, 24>(
        &Instance::of(KOALA_BEAR_POSEIDON2),
        &default_koalabear_poseidon2_24(),
    );
}

/// The release's generic layers give zkhash's answers, with zkhash's matrices in place of Plonky3's and the same constants.
#[test]
fn zkhash() {
    fn check<F, const WIDTH: usize>(zkhash: &str, plonky3: &str)
    where
        F: PrimeField64 + InjectiveMonomial<7>,
        F::Packing: InjectiveMonomial<7>,
    {
        let instance = Instance::<WIDTH>::of(zkhash);
        let of_plonky3 = Instance::<WIDTH>::of(plonky3);
        assert_eq!(instance.constants, of_plonky3.constants);
        assert_ne!(instance.matrix, of_plonky3.matrix);
        instance.check::<F>(|states| states.iter_mut().for_each(|x| permute(&instance, x)));
        instance
            .check::<F::Packing>(|states| states.iter_mut().for_each(|x| permute(&instance, x)));
    }
    fn permute<F, A, const WIDTH: usize>(instance: &Instance<WIDTH>, state: &mut [A; WIDTH])
    where
        F: PrimeField64 + InjectiveMonomial<7>,
        A: Algebra<F> + InjectiveMonomial<7> + PackedValue<Value = F>,
    {
        let (initial, internal, terminal) = instance.poseidon2_constants();
        let diagonal = instance.matrix.map(F::from_u64);
        external_initial_permute_state(state, &initial, add_rc_and_sbox_generic, &HLMDSMat4);
        for constant in internal {
            add_rc_and_sbox_generic(&mut state[0], constant);
            matmul_internal(state, diagonal);
        }
        external_terminal_permute_state(state, &terminal, add_rc_and_sbox_generic, &HLMDSMat4);
    }
    check::<Goldilocks, 8>(GOLDILOCKS_ZKHASH, GOLDILOCKS_POSEIDON2);
    check::<Goldilocks, 12>(GOLDILOCKS_ZKHASH, GOLDILOCKS_POSEIDON2);
    check::<Goldilocks, 16>(GOLDILOCKS_ZKHASH, GOLDILOCKS_POSEIDON2);
    check::<BabyBear, 16>(BABY_BEAR_ZKHASH, BABY_BEAR_POSEIDON2);
    check::<BabyBear, 24>(BABY_BEAR_ZKHASH, BABY_BEAR_POSEIDON2);
}

/// The script's parameters, those it generates and those it was told, are the release's: a difference shows by name here.
#[test]
fn parameters() {
    fn check<F: PrimeField64, const WIDTH: usize>(file: &str, rounds: &[&[F]]) -> [u64; WIDTH] {
        let instance = Instance::<WIDTH>::of(file);
        let rounds: Vec<_> = rounds.iter().map(|round| words(round)).collect();
        assert_eq!(instance.constants, rounds, "width {WIDTH}");
        instance.matrix
    }
    fn each<F, const N: usize>(rounds: &[[F; N]]) -> Vec<&[F]> {
        rounds.iter().map(|round| &round[..]).collect()
    }
    fn all<'a, F, const N: usize>(
        initial: &'a [[F; N]],
        internal: &'a [F],
        terminal: &'a [[F; N]],
    ) -> Vec<&'a [F]> {
        [each(initial), internal.chunks(1).collect(), each(terminal)].concat()
    }
    fn first_row<const WIDTH: usize>(column: [i64; WIDTH]) -> [u64; WIDTH] {
        std::array::from_fn(|i| column[(WIDTH - i) % WIDTH] as u64)
    }
    fn canonical<const WIDTH: usize>(diagonal: [Goldilocks; WIDTH]) -> [u64; WIDTH] {
        diagonal.map(|x| x.as_canonical_u64())
    }

    let row = check(GOLDILOCKS_POSEIDON1, &each(&GOLDILOCKS_POSEIDON1_RC_8));
    assert_eq!(row, first_row(MATRIX_CIRC_MDS_8_COL));
    let row = check(GOLDILOCKS_POSEIDON1, &each(&GOLDILOCKS_POSEIDON1_RC_12));
    assert_eq!(row, first_row(MATRIX_CIRC_MDS_12_COL));
    let unit: [Goldilocks; 16] = std::array::from_fn(|i| Goldilocks::new((i == 0).into()));
    let column = (MdsMatrixGoldilocks.permute(unit)).map(|x| x.as_canonical_u64() as i64);
    let row = Instance::of(GOLDILOCKS_POSEIDON1).matrix;
    assert_eq!(row, first_row::<16>(column));

    let rounds = all(
        &GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_INITIAL,
        &GOLDILOCKS_POSEIDON2_RC_8_INTERNAL,
        &GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_FINAL,
    );
    let diagonal = check(GOLDILOCKS_POSEIDON2, &rounds);
    assert_eq!(diagonal, canonical(MATRIX_DIAG_8_GOLDILOCKS));
    let rounds = all(
        &GOLDILOCKS_POSEIDON2_RC_12_EXTERNAL_INITIAL,
        &GOLDILOCKS_POSEIDON2_RC_12_INTERNAL,
        &GOLDILOCKS_POSEIDON2_RC_12_EXTERNAL_FINAL,
    );
    let diagonal = check(GOLDILOCKS_POSEIDON2, &rounds);
    assert_eq!(diagonal, canonical(MATRIX_DIAG_12_GOLDILOCKS));
    let rounds = all(
        &GOLDILOCKS_POSEIDON2_RC_16_EXTERNAL_INITIAL,
        &GOLDILOCKS_POSEIDON2_RC_16_INTERNAL,
        &GOLDILOCKS_POSEIDON2_RC_16_EXTERNAL_FINAL,
    );
    let diagonal = check(GOLDILOCKS_POSEIDON2, &rounds);
    assert_eq!(diagonal, canonical(MATRIX_DIAG_16_GOLDILOCKS));

    // Both fields of 31 bits keep their matrices to themselves.
    check::<_, 16>(BABY_BEAR_POSEIDON1, &each(&BABYBEAR_POSEIDON1_RC_16));
    check::<_, 24>(BABY_BEAR_POSEIDON1, &each(&BABYBEAR_POSEIDON1_RC_24));
    check::<_, 16>(KOALA_BEAR_POSEIDON1, &each(&KOALABEAR_POSEIDON1_RC_16));
    check::<_, 24>(KOALA_BEAR_POSEIDON1, &each(&KOALABEAR_POSEIDON1_RC_24));
    let rounds = all(
        &BABYBEAR_POSEIDON2_RC_16_EXTERNAL_INITIAL,
        &BABYBEAR_POSEIDON2_RC_16_INTERNAL,
        &BABYBEAR_POSEIDON2_RC_16_EXTERNAL_FINAL,
    );
    check::<_, 16>(BABY_BEAR_POSEIDON2, &rounds);
    let rounds = all(
        &BABYBEAR_POSEIDON2_RC_24_EXTERNAL_INITIAL,
        &BABYBEAR_POSEIDON2_RC_24_INTERNAL,
        &BABYBEAR_POSEIDON2_RC_24_EXTERNAL_FINAL,
    );
    check::<_, 24>(BABY_BEAR_POSEIDON2, &rounds);
    let rounds = all(
        &KOALABEAR_POSEIDON2_RC_16_EXTERNAL_INITIAL,
        &KOALABEAR_POSEIDON2_RC_16_INTERNAL,
        &KOALABEAR_POSEIDON2_RC_16_EXTERNAL_FINAL,
    );
    check::<_, 16>(KOALA_BEAR_POSEIDON2, &rounds);
    let rounds = all(
        &KOALABEAR_POSEIDON2_RC_24_EXTERNAL_INITIAL,
        &KOALABEAR_POSEIDON2_RC_24_INTERNAL,
        &KOALABEAR_POSEIDON2_RC_24_EXTERNAL_FINAL,
    );
    check::<_, 24>(KOALA_BEAR_POSEIDON2, &rounds);
}
