//! Fibonacci numbers as a trace, and the constraints that make it one.

use p3_air::{Air, AirBuilder, BaseAir, WindowAccess};
use p3_field::PrimeCharacteristicRing;
use p3_goldilocks::Goldilocks;
use p3_matrix::dense::RowMajorMatrix;

/// A row is `[active, count, a, b]`. `a` and `b` are neighbours in the sequence, `count` is the index of `a`. An active
/// row takes one step to the next, any other one repeats itself, which fills the trace up to a power of two.
const WIDTH: usize = 4;

/// The constraints: the last row has `[n, value]`, the public values, as its `count` and `a`.
pub struct Fibonacci;

impl<F> BaseAir<F> for Fibonacci {
    fn width(&self) -> usize {
        WIDTH
    }

    fn num_public_values(&self) -> usize {
        2
    }
}

impl<AB: AirBuilder> Air<AB> for Fibonacci {
    fn eval(&self, builder: &mut AB) {
        let main = builder.main();
        let row =
            |row: &[AB::Var]| -> [AB::Expr; WIDTH] { core::array::from_fn(|i| row[i].into()) };
        let [active, count, a, b] = row(main.current_slice());
        let [_, next_count, next_a, next_b] = row(main.next_slice());
        let (n, value) = (builder.public_values()[0], builder.public_values()[1]);

        builder.assert_bool(active.clone());

        let mut first = builder.when_first_row();
        first.assert_zero(count.clone());
        first.assert_zero(a.clone());
        first.assert_one(b.clone());

        let mut transition = builder.when_transition();
        transition.assert_eq(next_count, count.clone() + active.clone());
        transition.assert_eq(next_a, a.clone() + active.clone() * (b.clone() - a.clone()));
        transition.assert_eq(next_b, b + active * a.clone());

        let mut last = builder.when_last_row();
        last.assert_eq(count, n);
        last.assert_eq(a, value);
    }
}

/// The trace for the `n`-th number, and that number.
pub fn trace(n: u32) -> (RowMajorMatrix<Goldilocks>, Goldilocks) {
    let rows = (n as usize + 1).next_power_of_two();
    let mut values = Vec::with_capacity(rows * WIDTH);
    let (mut a, mut b) = (Goldilocks::ZERO, Goldilocks::ONE);
    for row in 0..rows {
        let active = row < n as usize;
        let count = row.min(n as usize);
        values.extend([
            Goldilocks::from_bool(active),
            Goldilocks::from_usize(count),
            a,
            b,
        ]);
        if active {
            (a, b) = (b, a + b);
        }
    }
    (RowMajorMatrix::new(values, WIDTH), a)
}
