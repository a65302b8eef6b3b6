//! The constraints that the patch compiles differently, evaluated on vectors and on single elements. This holds for Plonky3
//! as published too.

use alloc::vec::Vec;

use p3_air::{Air, AirBuilder, RowWindow};
use p3_field::{Algebra, Field, PackedValue, PrimeCharacteristicRing};
use p3_goldilocks::Goldilocks;
use p3_keccak_air::{KeccakAir, NUM_KECCAK_COLS};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

type Packed = <Goldilocks as Field>::Packing;

/// Next to the carries of sums and products, canonical or not.
const EDGES: [u64; 8] = [
    0,
    1,
    0xffff_ffff,
    1 << 32,
    1 << 63,
    0xffff_ffff_0000_0000,
    0xffff_ffff_0000_0001,
    u64::MAX,
];

/// Collects constraints, as the prover's own builder does.
struct Collector<'a, P> {
    rows: [&'a [P]; 2],
    selectors: [P; 3],
    constraints: Vec<P>,
}

impl<'a, P> AirBuilder for Collector<'a, P>
where
    P: Algebra<Goldilocks> + Copy + Send + Sync,
{
    type F = Goldilocks;
    type Expr = P;
    type Var = P;
    type PreprocessedWindow = RowWindow<'a, P>;
    type MainWindow = RowWindow<'a, P>;
    type PublicVar = Goldilocks;
    type PeriodicVar = P;

    fn main(&self) -> Self::MainWindow {
        RowWindow::from_two_rows(self.rows[0], self.rows[1])
    }

    fn preprocessed(&self) -> &Self::PreprocessedWindow {
        unreachable!("KeccakAir has no preprocessed columns")
    }

    fn is_first_row(&self) -> P {
        self.selectors[0]
    }

    fn is_last_row(&self) -> P {
        self.selectors[1]
    }

    fn is_transition(&self) -> P {
        self.selectors[2]
    }

    fn assert_zero<I: Into<P>>(&mut self, x: I) {
        self.constraints.push(x.into());
    }
}

fn constraints<P>(rows: &[Vec<P>; 2], selectors: [P; 3]) -> Vec<P>
where
    P: Algebra<Goldilocks> + Copy + Send + Sync,
{
    let mut collector = Collector {
        rows: [&rows[0], &rows[1]],
        selectors,
        constraints: Vec::new(),
    };
    KeccakAir {}.eval(&mut collector);
    collector.constraints
}

fn lane(values: &[Packed], lane: usize) -> Vec<Goldilocks> {
    values
        .iter()
        .map(|packed| packed.as_slice()[lane])
        .collect()
}

fn every_lane_evaluates_alone(mut element: impl FnMut() -> Goldilocks) {
    let mut packed = || Packed::from_fn(|_| element());
    let rows: [Vec<Packed>; 2] =
        core::array::from_fn(|_| (0..NUM_KECCAK_COLS).map(|_| packed()).collect());
    let selectors: [Packed; 3] = core::array::from_fn(|_| packed());
    let together = constraints(&rows, selectors);
    for l in 0..Packed::WIDTH {
        let alone = constraints(
            &[lane(&rows[0], l), lane(&rows[1], l)],
            selectors.map(|selector| selector.as_slice()[l]),
        );
        assert_eq!(lane(&together, l), alone, "lane {l}");
    }
}

#[test]
fn keccak_constraints_of_random_rows() {
    let mut rng = SmallRng::seed_from_u64(0x6b65);
    every_lane_evaluates_alone(|| rng.random());
}

#[test]
fn keccak_constraints_of_edge_words() {
    let mut rng = SmallRng::seed_from_u64(0x6563);
    every_lane_evaluates_alone(|| Goldilocks::new(EDGES[rng.random_range(0..EDGES.len())]));
}

/// An array of assertions collects the same as single ones do, in their order.
#[test]
fn arrays_assert_as_single_elements_do() {
    let mut rng = SmallRng::seed_from_u64(0x6161);
    let left: [Packed; 9] = core::array::from_fn(|_| rng.random());
    let right: [Packed; 9] = core::array::from_fn(|_| rng.random());
    let mut arrays = Collector {
        rows: [&[], &[]],
        selectors: [Packed::ZERO; 3],
        constraints: Vec::new(),
    };
    arrays.assert_bools(left);
    arrays.assert_eq_arrays(left, right);
    let mut single = Collector {
        constraints: Vec::new(),
        ..arrays
    };
    left.into_iter().for_each(|x| single.assert_bool(x));
    left.into_iter()
        .zip(right)
        .for_each(|(x, y)| single.assert_eq(x, y));
    assert_eq!(arrays.constraints, single.constraints);
}
