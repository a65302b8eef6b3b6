//! The packed field of this build, against integers.

use std::vec::Vec;

use p3_field::{Field, PackedValue, PrimeField64};
use p3_goldilocks::Goldilocks;
use p3_patches_testing::goldilocks::{self as plain, EDGES, P, representative};
use proptest::prelude::*;

use super::EXTREME;
use crate::prepared_twiddle::{PreparedTwiddle, SignedVector, prepared_butterfly, signed_digits};
use crate::vector::{Packed, Vector};

type Packing = <Goldilocks as Field>::Packing;
type V = <Packing as Packed>::Words;

fn pack(lanes: impl Fn(usize) -> u64) -> Packing {
    Packing::from_fn(|lane| Goldilocks::new(lanes(lane)))
}

/// The words of each lane, reduced or not.
fn words(x: V) -> Vec<u64> {
    let packed = Packing::from_words(x);
    let lanes = packed.as_slice().iter();
    // SAFETY: `Goldilocks` is `repr(transparent)` over a `u64`.
    lanes
        .map(|x| unsafe { core::mem::transmute::<Goldilocks, u64>(*x) })
        .collect()
}

#[track_caller]
fn check(w: u64, a: impl Fn(usize) -> u64, b: impl Fn(usize) -> u64) {
    let butterfly = prepared_butterfly(Goldilocks::new(w), 1 << 10).expect("many uses");
    let (sums, differences) = butterfly(pack(&a), pack(&b));
    for lane in 0..Packing::WIDTH {
        let (a, product) = (a(lane), plain::mul(w, b(lane)));
        let of = |x: Packing| x.as_slice()[lane].as_canonical_u64();
        assert_eq!(
            of(sums),
            plain::add(a, product),
            "{a:x} + {w:x} * {:x}",
            b(lane)
        );
        let negated = plain::residue(-i128::from(product));
        assert_eq!(
            of(differences),
            plain::add(a, negated),
            "{a:x} - {w:x} * {:x}",
            b(lane)
        );
    }
}

/// The extreme twiddles, powers of 2 and edges, with operands at the ends of digits; each lane another one.
#[test]
pub fn butterflies_are_exact() {
    let mut twiddles = EXTREME.to_vec();
    twiddles.extend(EDGES);
    twiddles.extend((0..64).flat_map(|bit| [1 << bit, (1u64 << bit).wrapping_neg()]));
    let digits = [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
    let mut operands: Vec<u64> = EDGES.to_vec();
    operands.extend(
        digits
            .iter()
            .flat_map(|high| digits.map(|low| high << 32 | low)),
    );
    for w in twiddles {
        for start in 0..operands.len() {
            let operand = |i: usize| operands[i % operands.len()];
            check(
                w,
                |lane| operand(7 * start + 3 * lane),
                |lane| operand(start + lane),
            );
        }
    }
}

/// The preparation on integers: Plonky3's scalar arithmetic is assembly, which Miri lacks.
fn prepare(w: u64) -> PreparedTwiddle<V> {
    let v = plain::mul(w, 1 << 32);
    let c = plain::mul(plain::add(plain::add(w, v), 1), 1 << 31);
    let c0 = i128::from(c as i32);
    let c1 = (i128::from(c) - c0) >> 32;
    PreparedTwiddle {
        w: signed_digits(w % P).map(V::splat),
        v: signed_digits(v).map(V::splat),
        constants: [(1 << 63) + c0, (1 << 63) - (1 << 32) + c1].map(|c| V::splat(c as u64)),
    }
}

/// Few of them, for Miri: each extreme twiddle, an edge in each lane.
#[test]
pub fn few_butterflies_are_exact() {
    for (i, w) in EXTREME.into_iter().enumerate() {
        let edge = |lane: usize| EDGES[(5 * i + lane) % EDGES.len()];
        let [a, b] = [pack(edge), pack(|lane| !edge(lane))].map(Packed::to_words);
        let [sums, differences] = prepare(w).butterfly(a, b).map(words);
        for lane in 0..Packing::WIDTH {
            let (a, product) = (edge(lane), plain::mul(w, !edge(lane)));
            assert_eq!(sums[lane] % P, plain::add(a, product));
            let negated = plain::residue(-i128::from(product));
            assert_eq!(differences[lane] % P, plain::add(a, negated));
        }
    }
}

#[test]
fn preparations_are_those_on_integers() {
    for w in EXTREME.into_iter().chain(EDGES) {
        let (ours, plain) = (PreparedTwiddle::<V>::new(Goldilocks::new(w)), prepare(w));
        let fields = |x: PreparedTwiddle<V>| [x.w, x.v, x.constants].map(|x| x.map(words));
        assert_eq!(fields(ours), fields(plain), "{w:x}");
    }
}

/// Words next to the carry of [`SignedVector::fold`], the ends of its range, and the carries of what follows.
#[test]
pub fn folds_are_canonical_next_to_carries() {
    for h in [0, 1, 2, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff] {
        let term = (h + 1) * 0xffff_ffff;
        for offset in -2i64..=2 {
            for low in [0u64, term, term.wrapping_neg(), u64::MAX, 1 << 63] {
                let low = low.wrapping_add_signed(offset);
                let folded = V::fold(V::splat(low), V::splat(h << 32 | low >> 32));
                let expected = plain::residue(i128::from(low) + (i128::from(h) << 64));
                for word in words(folded) {
                    assert_eq!(word.wrapping_sub(V::FLIP), expected, "{low:x} {h:x}");
                }
            }
        }
    }
}

#[test]
pub fn differences_borrow_where_they_have_to() {
    for y in EDGES.into_iter().filter(|y| *y < P) {
        for x in EDGES
            .into_iter()
            .flat_map(|x| [x, y.wrapping_add(x), y.wrapping_sub(x)])
        {
            let difference = V::sub_modulo(V::splat(x), V::splat(y.wrapping_add(V::FLIP)));
            let expected = plain::residue(i128::from(x) - i128::from(y));
            for word in words(difference) {
                assert_eq!(word % P, expected, "{x:x} - {y:x}");
            }
        }
    }
}

#[test]
pub fn signed_products_are_exact() {
    let digits = [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
    for (x, y) in digits.into_iter().flat_map(|x| digits.map(|y| (x, y))) {
        // The upper words do not count.
        let product = V::splat(x | x << 33).mul_low_signed(V::splat(y | 5 << 32));
        let exact = i64::from(x as i32) * i64::from(y as i32);
        assert!(
            words(product).into_iter().all(|word| word as i64 == exact),
            "{x:x} {y:x}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn butterflies_of_any_words(w in representative(), a in representative(), b in representative()) {
        check(w, |lane| a.rotate_left(lane as u32), |lane| b.rotate_left(lane as u32));
    }

    /// The text is the same on integers, with and without flipped bits, and its product is canonical.
    #[test]
    fn words_of_a_butterfly_are_those_of_the_text(w in representative(), a in any::<u64>(), b in any::<u64>()) {
        let packed = PreparedTwiddle::<V>::new(Goldilocks::new(w)).butterfly(V::splat(a), V::splat(b));
        type Lane = super::lanes::Integer<true>;
        let text = PreparedTwiddle::<Lane>::new(Goldilocks::new(w)).butterfly(Vector::splat(a), Vector::splat(b));
        for (packed, text) in packed.into_iter().zip(text) {
            prop_assert!(words(packed).into_iter().all(|word| word == text.0));
        }
    }
}
