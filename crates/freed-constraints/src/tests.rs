//! Layouts and degrees against those of the constraints themselves.

use p3_air::symbolic::{
    AirLayout, SymbolicAirBuilder, SymbolicExpression, SymbolicExpressionExt,
    get_all_symbolic_constraints, get_constraint_layout, get_max_constraint_degree_extension,
};
use p3_air::{Air, AirBuilder, BaseAir, WindowAccess};
use p3_baby_bear::BabyBear;
use p3_batch_stark::symbolic as batch;
use p3_field::PrimeCharacteristicRing;
use p3_field::extension::BinomialExtensionField;
use p3_keccak_air::KeccakAir;
use p3_lookup::{Count, InteractionBuilder, LogUpGadget, Lookups};

type F = BabyBear;
type EF = BinomialExtensionField<F, 4>;

const ROWS: usize = 16;

/// Constraints of the degrees 2 and 3, and one lookup of a column in another with multiplicities.
struct Lookup;

impl<T> BaseAir<T> for Lookup {
    fn width(&self) -> usize {
        3
    }
}

impl<AB: InteractionBuilder> Air<AB> for Lookup {
    fn eval(&self, builder: &mut AB) {
        let main = builder.main();
        let [value, entry, count] = [0, 1, 2].map(|column| main.current_slice()[column]);
        builder.assert_bool(value);
        builder.push_local_interaction([
            (vec![value.into()], Count::bounded(AB::Expr::ONE, 1)),
            (vec![entry.into()], Count::provided(-count.into())),
        ]);
        builder.assert_zero(value.into() * entry.into() * count.into());
    }
}

/// A column that is zero in every second row, by the square of a periodic column.
struct Periodic;

impl BaseAir<F> for Periodic {
    fn width(&self) -> usize {
        1
    }

    fn num_periodic_columns(&self) -> usize {
        1
    }

    fn periodic_columns(&self) -> std::borrow::Cow<'_, [Vec<F>]> {
        vec![vec![F::ZERO, F::ONE]].into()
    }
}

impl Air<SymbolicAirBuilder<F>> for Periodic {
    fn eval(&self, builder: &mut SymbolicAirBuilder<F>) {
        let column: SymbolicExpression<F> = builder.main().current_slice()[0].into();
        let selector: SymbolicExpression<F> = builder.periodic_values()[0].into();
        builder.assert_zero(selector.clone() * selector * column);
    }
}

/// Returns the largest degree of constraints, without regard to the number of rows.
fn max_degree(base: &[SymbolicExpression<F>], ext: &[SymbolicExpressionExt<F, EF>]) -> usize {
    let base = base.iter().map(SymbolicExpression::degree_multiple);
    let ext = ext.iter().map(SymbolicExpressionExt::degree_multiple);
    base.chain(ext).max().unwrap_or(0)
}

#[test]
fn an_air_has_the_degree_of_its_constraints() {
    let layout = AirLayout::from_air::<F>(&KeccakAir {});
    let (base, ext) = get_all_symbolic_constraints::<F, EF, _>(&KeccakAir {}, layout);
    let degree = get_max_constraint_degree_extension::<F, EF, _>(&KeccakAir {}, layout, ROWS);
    assert_eq!((degree, degree), (3, max_degree(&base, &ext)));

    let places = get_constraint_layout::<F, F, _>(&KeccakAir {}, layout);
    assert!(places.base_indices.iter().copied().eq(0..base.len()));
    assert!(places.ext_indices.is_empty() && ext.is_empty());
}

#[test]
fn lookups_have_extension_constraints() {
    let lookups = Lookups::<F>::from_air::<EF, _>(&Lookup);
    assert_eq!(lookups.len(), 1);
    let (layout, gadget) = (AirLayout::from_air::<F>(&Lookup), LogUpGadget::new());
    let (base, ext) =
        batch::get_symbolic_constraints::<F, EF, _, _>(&Lookup, layout, &lookups, &gadget);
    assert_eq!(base.len(), 2);
    assert!(!ext.is_empty());
    for lookups in [&lookups[..], &[]] {
        let (base, ext) =
            batch::get_symbolic_constraints::<F, EF, _, _>(&Lookup, layout, lookups, &gadget);
        let degree = batch::get_max_constraint_degree::<F, EF, _, _>(
            &Lookup, layout, ROWS, lookups, &gadget,
        );
        assert_eq!(degree, max_degree(&base, &ext));
        let places = batch::get_constraint_layout::<F, EF, _, _>(&Lookup, layout, lookups, &gadget);
        assert_eq!(places.base_indices, [0, 1]);
        let all = base.len()..base.len() + ext.len();
        assert!(places.ext_indices.iter().copied().eq(all));
    }
}

/// A periodic column of period 2 has degree N - N / 2, so that the constraint has degree 2 N - 1, as a product of two columns may.
#[test]
fn the_degree_of_a_periodic_column_is_that_of_its_constraint() {
    let layout = AirLayout::from_air::<F>(&Periodic);
    let degree = get_max_constraint_degree_extension::<F, F, _>(&Periodic, layout, ROWS);
    assert_eq!(degree, 2);
}
