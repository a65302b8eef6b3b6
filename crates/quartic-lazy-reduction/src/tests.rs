//! The formulas of the patch on 0.8.0's dot products, one element at a time and one per lane, against the textbook.

use std::array;

use p3_baby_bear::BabyBear;
use p3_field::{Field, PackedField, PrimeCharacteristicRing, PrimeField32};
use p3_koala_bear::KoalaBear;
use proptest::prelude::*;

/// KoalaBear's extension by `X^4 - 3`: a row of the matrix of `x -> x b` per coefficient.
fn quartic<R: PrimeCharacteristicRing + Copy>(a: [R; 4], b: [R; 4]) -> [R; 4] {
    let [b0, b1, b2, b3] = b;
    let [w_b1, w_b2, w_b3] = [b1, b2, b3].map(|x| x.double() + x);
    [
        R::dot_product(&a, &[b0, w_b3, w_b2, w_b1]),
        R::dot_product(&a, &[b1, b0, w_b3, w_b2]),
        R::dot_product(&a, &[b2, b1, b0, w_b3]),
        R::dot_product(&a, &[b3, b2, b1, b0]),
    ]
}

/// BabyBear's extension by `X^5 - 2`.
fn quintic<R: PrimeCharacteristicRing + Copy>(a: [R; 5], b: [R; 5]) -> [R; 5] {
    let [b0, b1, b2, b3, b4] = b;
    let [w_b1, w_b2, w_b3, w_b4] = [b1, b2, b3, b4].map(|x| x.double());
    [
        R::dot_product(&a, &[b0, w_b4, w_b3, w_b2, w_b1]),
        R::dot_product(&a, &[b1, b0, w_b4, w_b3, w_b2]),
        R::dot_product(&a, &[b2, b1, b0, w_b4, w_b3]),
        R::dot_product(&a, &[b3, b2, b1, b0, w_b4]),
        R::dot_product(&a, &[b4, b3, b2, b1, b0]),
    ]
}

/// All products of coefficients, those of degree `D` and above multiplied by `w`.
fn textbook<F: PrimeField32, const D: usize>(w: u64, a: [F; D], b: [F; D]) -> [u32; D] {
    let p = u64::from(F::ORDER_U32);
    let mut sums = [0u64; D];
    for (i, j) in (0..D).flat_map(|i| (0..D).map(move |j| (i, j))) {
        let product = a[i].as_canonical_u64() * b[j].as_canonical_u64() % p;
        sums[(i + j) % D] += if i + j < D { product } else { product * w };
    }
    sums.map(|sum| (sum % p) as u32)
}

/// Lane `l` has `lanes[l]`, again from the first one where there are more lanes.
fn pack<P: PackedField, const D: usize>(lanes: &[[P::Scalar; D]]) -> [P; D] {
    array::from_fn(|i| P::from_fn(|lane| lanes[lane % lanes.len()][i]))
}

fn check<P: PackedField<Scalar: PrimeField32>, const D: usize>(
    w: u64,
    product: fn([P; D], [P; D]) -> [P; D],
    a: &[[P::Scalar; D]],
    b: &[[P::Scalar; D]],
) {
    let products = product(pack(a), pack(b));
    for lane in 0..P::WIDTH {
        let (a, b) = (a[lane % a.len()], b[lane % b.len()]);
        let at = products.map(|x| x.as_slice()[lane].as_canonical_u32());
        assert_eq!(at, textbook(w, a, b), "lane {lane}: {a:?} * {b:?}");
    }
}

/// The element with this Montgomery form.
fn form<F: PrimeField32>(form: u32) -> F {
    F::from_u32(form).div_2exp_u64(32)
}

/// Every pair of edges, in all distributions over the coefficients; other ones in each lane.
fn edges<F: PrimeField32, const D: usize>(check: impl Fn(&[[F; D]], &[[F; D]])) {
    let p = F::ORDER_U32;
    let edges = [0, 1, p / 2, p / 2 + 1, p - 2, p - 1].map(form);
    for edge in edges {
        for other in edges {
            let elements: Vec<[F; D]> = (0..1 << D)
                .map(|mask| array::from_fn(|i| if mask >> i & 1 == 1 { edge } else { other }))
                .collect();
            for first in 0..1 << D {
                let mut a = elements.clone();
                a.rotate_left(first);
                check(&a, &elements);
            }
        }
    }
}

#[test]
fn edges_in_every_position() {
    edges(|a, b| {
        check::<KoalaBear, 4>(3, quartic, a, b);
        check::<<KoalaBear as Field>::Packing, 4>(3, quartic, a, b);
    });
    edges(|a, b| {
        check::<BabyBear, 5>(2, quintic, a, b);
        check::<<BabyBear as Field>::Packing, 5>(2, quintic, a, b);
    });
}

/// An element for each of 16 lanes.
fn lanes<F: PrimeField32, const D: usize>() -> impl Strategy<Value = Vec<[F; D]>> {
    let element = prop::collection::vec(0..F::ORDER_U32, D)
        .prop_map(|forms| array::from_fn(|i| form(forms[i])));
    prop::collection::vec(element, 16)
}

proptest! {
    #[test]
    fn any_quartic_elements(a in lanes(), b in lanes()) {
        check::<KoalaBear, 4>(3, quartic, &a, &b);
        check::<<KoalaBear as Field>::Packing, 4>(3, quartic, &a, &b);
    }

    #[test]
    fn any_quintic_elements(a in lanes(), b in lanes()) {
        check::<BabyBear, 5>(2, quintic, &a, &b);
        check::<<BabyBear as Field>::Packing, 5>(2, quintic, &a, &b);
    }
}
