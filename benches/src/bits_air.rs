//! A plain AIR of any width, for what a proof costs beside its constraints: each cell is a bit.

use p3_air::{Air, AirBuilder, BaseAir, WindowAccess};
use p3_field::{Field, PrimeCharacteristicRing};
use p3_matrix::dense::RowMajorMatrix;
use p3_uni_stark::{StarkGenericConfig, Val};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::fri::LOG_BLOWUP;
use crate::stark::Traced;

/// One constraint of degree 2 a column. The next row is opened too, as for an AIR whose constraints read it.
#[derive(Clone)]
pub struct Bits {
    pub width: usize,
}

impl<F> BaseAir<F> for Bits {
    fn width(&self) -> usize {
        self.width
    }
}

impl<AB: AirBuilder> Air<AB> for Bits {
    fn eval(&self, builder: &mut AB) {
        let main = builder.main();
        for &cell in main.current_slice() {
            builder.assert_bool(cell);
        }
    }
}

impl<SC: StarkGenericConfig + 'static> Traced<SC> for Bits
where
    Val<SC>: Field,
{
    /// The seed, and the number of rows.
    type Inputs = (u64, usize);

    fn inputs(&self, seed: u64, rows: usize) -> Self::Inputs {
        (seed, rows)
    }

    fn trace(&self, (seed, rows): Self::Inputs) -> RowMajorMatrix<Val<SC>> {
        let cells = rows * self.width;
        // The low-degree extension grows into the spare capacity.
        let mut bits = Vec::with_capacity(cells << LOG_BLOWUP);
        let mut rng = SmallRng::seed_from_u64(seed);
        bits.extend((0..cells).map(|_| Val::<SC>::from_bool(rng.random())));
        RowMajorMatrix::new(bits, self.width)
    }
}
