//! The sums on plain integers, their operations and instructions gone wrong, and the hooks on elements given by their forms.

#[cfg(mutated)]
mod instructions;
#[path = "../../monty-poseidon1/src/tests/lanes.rs"]
mod lanes;
mod mutations;

use std::vec::Vec;

use p3_field::{Field, PackedValue, PrimeCharacteristicRing};
use p3_koala_bear::{KoalaBear, KoalaBearParameters};
use p3_patches_testing::koala_bear::{EDGES, P, residue_of};

use crate::dot_product::{Sums, TERMS, coeffwise_dot_product};
use crate::{COLUMNWISE_ROWS, UnreducedSum};

type Packing = <KoalaBear as Field>::Packing;
type S = Sums<KoalaBearParameters>;

const LANES: usize = Packing::WIDTH;

/// The residue of an edge, in turn.
fn edge(i: usize) -> u32 {
    residue_of(EDGES[i % EDGES.len()])
}

fn times(x: u32, y: u32) -> u32 {
    (u64::from(x) * u64::from(y) % u64::from(P)) as u32
}

/// An iterator need not know how many pairs it has.
#[test]
fn uncounted_coefficients_are_added_up() {
    let full = [Packing::ONE; 4];
    for count in [0, 1, 7, 8, 9, 40] {
        let mut pairs = (0..count).map(|_| (&full[..], Packing::TWO));
        let uncounted = std::iter::from_fn(|| pairs.next());
        assert_eq!(uncounted.size_hint(), (0, None));
        let sums = coeffwise_dot_product::<KoalaBearParameters>(4, uncounted);
        assert_eq!(
            sums[..4],
            [Packing::from_usize(2 * count); 4],
            "{count} pairs"
        );
    }
}

/// Eight rows of edges, no two lanes alike, and their products with edges.
#[test]
fn a_pass_over_edges_is_exact() {
    // Miri takes seconds for each.
    for start in (0..EDGES.len()).step_by(if cfg!(miri) { 4 } else { 1 }) {
        let column = std::array::from_fn(|i| {
            Packing::from_fn(|lane| KoalaBear::new(edge(start + 3 * i + lane)))
        });
        let weights = [0, 1, 2, 3]
            .map(|j| std::array::from_fn(|i| S::weight(KoalaBear::new(edge(start * j + 7 * i)))));
        let mut sums = [S::zero(); 4];
        S::add_products(&mut sums, &column, &weights);
        for (j, sum) in sums.into_iter().enumerate() {
            for (lane, &sum) in sum.reduce().as_slice().iter().enumerate() {
                let product = |i| times(edge(start + 3 * i + lane), edge(start * j + 7 * i));
                let expected = (0..COLUMNWISE_ROWS)
                    .map(|i| u64::from(product(i)))
                    .sum::<u64>();
                assert_eq!(sum, KoalaBear::from_u64(expected));
            }
        }
    }
}

/// One row that is not zero.
#[test]
fn single_products_are_exact() {
    let residues = EDGES.map(residue_of);
    for (x, y) in residues.into_iter().flat_map(|x| residues.map(|y| (x, y))) {
        let (mut column, mut weights) = (
            [Packing::ZERO; COLUMNWISE_ROWS],
            [S::weight(KoalaBear::TWO); COLUMNWISE_ROWS],
        );
        column[0] = Packing::from(KoalaBear::new(x));
        weights[0] = S::weight(KoalaBear::new(y));
        let mut sums = [S::zero()];
        S::add_products(&mut sums, &column, &[weights]);
        assert_eq!(sums[0].reduce(), Packing::from(KoalaBear::new(times(x, y))));
    }
}

/// Sums as many terms as fit, at their bounds, by columns and by rows.
#[test]
fn full_sums_are_exact() {
    let largest = KoalaBear::new(residue_of(P - 1));
    let expected = Packing::from(largest.square() * KoalaBear::from_usize(TERMS));
    let mut sums = [S::zero()];
    for _ in 0..TERMS / COLUMNWISE_ROWS {
        let weights = [[S::weight(largest); COLUMNWISE_ROWS]];
        S::add_products(
            &mut sums,
            &[Packing::from(largest); COLUMNWISE_ROWS],
            &weights,
        );
    }
    assert_eq!(sums[0].reduce(), expected);

    let weights = [Packing::from(largest); 5];
    for d in [4, 5] {
        let pairs = (0..TERMS).map(|_| (&weights[..d], weights[0]));
        let sums = coeffwise_dot_product::<KoalaBearParameters>(d, pairs);
        assert_eq!(sums[..d], [expected].repeat(d));
    }
}

/// The edges in every lane, in turn.
#[test]
fn rows_of_edges_are_exact() {
    let packed = |i: usize| Packing::from_fn(|lane| KoalaBear::new(edge(i + lane)));
    let rows: Vec<_> = (0..17)
        .map(|i| {
            (
                std::array::from_fn::<_, 5, _>(|k| packed(i + 3 * k)),
                packed(5 * i),
            )
        })
        .collect();
    // Miri takes half a minute for each.
    let least = if cfg!(miri) { 5 } else { 4 };
    for d in least..=5 {
        let pairs = rows.iter().map(|(weights, x)| (&weights[..d], *x));
        let sums = coeffwise_dot_product::<KoalaBearParameters>(d, pairs);
        for (k, lane) in (0..d).flat_map(|k| (0..LANES).map(move |lane| (k, lane))) {
            let product = |i| times(edge(i + 3 * k + lane), edge(5 * i + lane));
            let expected = (0..rows.len()).map(|i| u64::from(product(i))).sum::<u64>();
            assert_eq!(sums[k].as_slice()[lane], KoalaBear::from_u64(expected));
        }
    }
}
