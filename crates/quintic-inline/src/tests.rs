//! Products, one at a time and one per lane, against the textbook.

use std::array;

use p3_field::extension::QuinticTrinomialExtensionField;
use p3_field::{
    BasedVectorSpace, ExtensionField, Field, PackedFieldExtension, PackedValue,
    PrimeCharacteristicRing, PrimeField32,
};
use p3_koala_bear::KoalaBear;
use p3_patches_testing::koala_bear::{EDGES, Quintic, product, quintic, residue, residue_of};
use proptest::prelude::*;

type Packed = <KoalaBear as Field>::Packing;
type Element = QuinticTrinomialExtensionField<KoalaBear>;
type PackedElement = <Element as ExtensionField<KoalaBear>>::ExtensionPacking;

fn element(coefficients: Quintic) -> Element {
    Element::from_basis_coefficients_fn(|i| KoalaBear::new(coefficients[i]))
}

fn coefficients(element: Element) -> Quintic {
    let coefficients: &[KoalaBear] = element.as_basis_coefficients_slice();
    array::from_fn(|i| coefficients[i].as_canonical_u32())
}

/// Every way to write the product of `a` and `b`, one element at a time.
fn check_scalar(a: Quintic, b: Quintic) {
    let expected = product(a, b);
    let (x, y) = (element(a), element(b));
    assert_eq!(coefficients(x * y), expected, "{a:?} * {b:?}");
    let mut z = x;
    z *= y;
    assert_eq!(coefficients(z), expected, "{a:?} *= {b:?}");
    assert_eq!(coefficients(x.square()), product(a, a), "{a:?} squared");
    let by_base = product(a, [b[0], 0, 0, 0, 0]);
    assert_eq!(
        coefficients(x * KoalaBear::new(b[0])),
        by_base,
        "{a:?} * {}",
        b[0]
    );
}

/// Every way to write the products of `a` and `b`, lane by lane.
fn check_packed(a: &[Quintic], b: &[Quintic]) {
    let pack = |lanes: &[Quintic]| PackedElement::from_ext_fn(|lane| element(lanes[lane]));
    let check = |what: &str, result: PackedElement, expected: &dyn Fn(usize) -> Quintic| {
        for lane in 0..Packed::WIDTH {
            let result = coefficients(result.extract(lane));
            assert_eq!(
                result,
                expected(lane),
                "{what}, lane {lane}: {:?}, {:?}",
                a[lane],
                b[lane]
            );
        }
    };
    let (x, y) = (pack(a), pack(b));
    check("mul", x * y, &|lane| product(a[lane], b[lane]));
    check("square", x.square(), &|lane| product(a[lane], a[lane]));
    let mut z = x;
    z *= y;
    check("mul_assign", z, &|lane| product(a[lane], b[lane]));

    let one = element(b[0]);
    check("mul by one element", x * one, &|lane| {
        product(a[lane], b[0])
    });
    let mut z = x;
    z *= one;
    check("mul_assign by one element", z, &|lane| {
        product(a[lane], b[0])
    });

    let base = Packed::from_fn(|lane| KoalaBear::new(b[lane][0]));
    check("mul by base elements", x * base, &|lane| {
        product(a[lane], [b[lane][0], 0, 0, 0, 0])
    });
}

/// All pairs of edges: everywhere at once, and in one coefficient of each factor.
#[test]
fn edges_one_element_at_a_time() {
    let edges = EDGES.map(residue_of);
    for a in edges {
        for b in edges {
            check_scalar([a; 5], [b; 5]);
            for i in 0..25 {
                let alone = |at, edge| array::from_fn(|k| if k == at { edge } else { 0 });
                check_scalar(alone(i / 5, a), alone(i % 5, b));
            }
        }
    }
}

/// All pairs of edges in one lane, other edges in the others, so that a lane that reads its neighbour is seen.
#[test]
fn edges_in_every_lane() {
    let edge = |i: usize| residue_of(EDGES[i % EDGES.len()]);
    for i in 0..EDGES.len() {
        for j in 0..EDGES.len() {
            for lane in 0..Packed::WIDTH {
                let factor = |own: usize, step: usize| {
                    let lanes = (0..Packed::WIDTH).map(move |other| {
                        array::from_fn(|k| edge(if other == lane { own } else { other * step + k }))
                    });
                    lanes.collect::<Vec<Quintic>>()
                };
                check_packed(&factor(i, 3), &factor(j, 7));
            }
        }
    }
}

fn lanes() -> impl Strategy<Value = Vec<Quintic>> {
    prop::collection::vec(quintic(), Packed::WIDTH)
}

proptest! {
    #[test]
    fn any_elements(a in quintic(), b in quintic()) {
        check_scalar(a, b);
    }

    #[test]
    fn any_lanes(a in lanes(), b in lanes()) {
        check_packed(&a, &b);
    }

    /// A chain of products, each of which takes the one before as it is, without a way through canonical integers.
    #[test]
    fn chains(a in quintic(), b in quintic(), scale in residue()) {
        let (mut x, mut expected) = (element(a), a);
        for _ in 0..32 {
            x = (x * element(b)).square() * KoalaBear::new(scale);
            let next = product(expected, b);
            expected = product(product(next, next), [scale, 0, 0, 0, 0]);
            prop_assert_eq!(coefficients(x), expected);
        }
    }
}
