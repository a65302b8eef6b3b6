//! The formulas of the patch on 0.8.0's dot products, one element at a time and one per lane, against the textbook.

use std::array;

use p3_field::{Field, PackedField, PackedValue, PrimeCharacteristicRing, PrimeField32};
use p3_koala_bear::KoalaBear;
use p3_patches_testing::koala_bear::{EDGES, Quintic, product, quintic, residue_of};
use proptest::prelude::*;

type Packed = <KoalaBear as Field>::Packing;

/// A row of the matrix of `x -> x b` per coefficient.
fn by_matrix<R: PrimeCharacteristicRing + Copy>(a: [R; 5], [b0, b1, b2, b3, b4]: [R; 5]) -> [R; 5] {
    let (e, f, g) = (b1 - b4, b0 - b3, b4 - b2);
    let h = b3 - e;
    [
        R::dot_product(&a, &[b0, b4, b3, b2, e]),
        R::dot_product(&a, &[b1, b0, b4, b3, b2]),
        R::dot_product(&a, &[b2, e, f, g, h]),
        R::dot_product(&a, &[b3, b2, e, f, g]),
        R::dot_product(&a, &[b4, b3, b2, e, f]),
    ]
}

/// Three products per coefficient.
fn square_in_rows<R: PrimeCharacteristicRing + Copy>([a0, a1, a2, a3, a4]: [R; 5]) -> [R; 5] {
    let [d1, d2, d4] = [a1, a2, a4].map(|x| x.double());
    let (u, v) = (a0 - a3, a1 - a4);
    [
        R::dot_product(&[a0, d2, a4], &[a0, a3, a1 + v]),
        R::dot_product(&[d1, d2, a3], &[a0, a4, a3]),
        R::dot_product(&[d2, v, d4], &[u, v, a3]),
        R::dot_product(&[a3, d2, a4], &[a0 + u, v, a4]),
        R::dot_product(&[d4, d1, a2], &[u, a3, a2]),
    ]
}

/// Lane `l` has `lanes[l]`, again from the first one where there are more lanes.
fn pack<P: PackedField<Scalar = KoalaBear>>(lanes: &[Quintic]) -> [P; 5] {
    array::from_fn(|i| P::from_fn(|lane| KoalaBear::new(lanes[lane % lanes.len()][i])))
}

fn check<P: PackedField<Scalar = KoalaBear>>(a: &[Quintic], b: &[Quintic]) {
    let (x, y) = (pack::<P>(a), pack::<P>(b));
    let (products, squares) = (by_matrix(x, y), square_in_rows(x));
    for lane in 0..P::WIDTH {
        let (a, b) = (a[lane % a.len()], b[lane % b.len()]);
        let at = |result: [P; 5]| result.map(|x| x.as_slice()[lane].as_canonical_u32());
        assert_eq!(at(products), product(a, b), "lane {lane}: {a:?} * {b:?}");
        assert_eq!(at(squares), product(a, a), "lane {lane}: {a:?} squared");
    }
}

/// Every pair of edges, in all distributions over the coefficients; other ones in each lane.
#[test]
fn edges_in_every_position() {
    for edge in EDGES.map(residue_of) {
        for other in EDGES.map(residue_of) {
            let elements: Vec<Quintic> = (0..32)
                .map(|mask| array::from_fn(|i| if mask >> i & 1 == 1 { edge } else { other }))
                .collect();
            for first in 0..32 {
                let mut a = elements.clone();
                a.rotate_left(first);
                check::<KoalaBear>(&a, &elements);
                check::<Packed>(&a, &elements);
            }
        }
    }
}

proptest! {
    #[test]
    fn any_elements(
        a in prop::collection::vec(quintic(), Packed::WIDTH),
        b in prop::collection::vec(quintic(), Packed::WIDTH),
    ) {
        check::<KoalaBear>(&a, &b);
        check::<Packed>(&a, &b);
    }
}
