//! Prints how long plonky2 and winterfell take, the shortest of some runs on one thread, in nanoseconds: a line for each subject.
//!
//! A permutation is of one state at a time, each the result of the one before. An extension `lde` is to twice the height, on a coset, as the
//! workers' rows of that name do, in the order in which the library has it.

use std::env;
use std::hint::black_box;
use std::time::{Duration, Instant};

use plonky2::field::goldilocks_field::GoldilocksField;
use plonky2::field::polynomial::PolynomialValues;
use plonky2::field::types::Field;
use plonky2::hash::poseidon::Poseidon;
use winter_crypto::hashers::Rp64_256;
use winter_math::fields::f64::BaseElement;
use winter_math::{FieldElement, StarkField, fft};

const PERMUTATIONS: u32 = 1 << 12;

/// Prints the shortest run of a subject for each of the parts that a run has.
fn measure<T>(subject: &str, runs: usize, parts: u32, run: impl Fn() -> T) {
    let time = || {
        let start = Instant::now();
        black_box(run());
        start.elapsed()
    };
    let shortest = (0..runs).map(|_| time()).min().unwrap_or(Duration::MAX);
    println!(
        "{subject}\t{:.1}",
        shortest.as_nanos() as f64 / f64::from(parts)
    );
}

/// Measures a permutation of one state.
fn single<S: Copy>(subject: &str, runs: usize, start: S, permutation: impl Fn(S) -> S) {
    measure(subject, runs, PERMUTATIONS, || {
        (0..PERMUTATIONS).fold(black_box(start), |state, _| permutation(state))
    });
}

fn main() {
    let runs = env::args().nth(1).expect("a number of runs");
    let runs = runs.parse().expect("a number of runs");
    let zero = [GoldilocksField::ZERO; 12];
    let name = "plonky2 goldilocks poseidon-12 single";
    single(name, runs, zero, GoldilocksField::poseidon);
    let zero = [BaseElement::ZERO; 12];
    let name = "winterfell goldilocks Rescue Prime-12 single";
    single(name, runs, zero, |mut state| {
        Rp64_256::apply_permutation(&mut state);
        state
    });
    let height = 1 << 22;
    let column: Vec<_> = (0..height)
        .map(GoldilocksField::from_noncanonical_u64)
        .collect();
    measure("plonky2 lde/goldilocks/2^22x1", runs, 1, || {
        PolynomialValues::new(column.clone()).lde_onto_coset(1)
    });
    let column: Vec<_> = (0..height).map(BaseElement::new).collect();
    let inverse = fft::get_inv_twiddles::<BaseElement>(column.len());
    let twiddles = fft::get_twiddles::<BaseElement>(column.len());
    measure("winterfell lde/goldilocks/2^22x1", runs, 1, || {
        let mut values = column.clone();
        fft::interpolate_poly(&mut values, &inverse);
        fft::evaluate_poly_with_offset(&values, &twiddles, BaseElement::GENERATOR, 2)
    });
}
