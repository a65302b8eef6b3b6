//! Limbs, proved by z3: for all inputs, the text gives what it has to.
//!
//! The kernel's text runs on terms. Products of 52 bits are free variables, at most `2^52 - 1` times either factor.

use std::format;
use std::vec::Vec;

use p3_patches_testing::smt::{Proof, Term, assume, integer, products, require};

use super::lanes::{Symbol, leaves, word};
use super::limb::{folded, zero};
use super::{MASK_52, P};
use crate::poseidon2_limbs::{self, Limbs};
use crate::poseidon2_rounds::Representation;

/// Two limbs.
type Words = [Term; 2];

/// The value of two signed limbs.
fn value([l, h]: Words) -> Term {
    l.signed_integer().plus(h.signed_integer().left(52))
}

/// The value of an operand, whose lower limb counts by its low 52 bits.
fn operand_value([l, h]: Words) -> Term {
    value([l.masked(word(MASK_52)), h])
}

fn limbs(l: [i128; 2], h: [i128; 2]) -> Words {
    let x = [Term::variable(64), Term::variable(64)];
    for (word, [low, end]) in x.into_iter().zip([l, h]) {
        assume(word.is_in(low, end));
    }
    x
}

/// The kernel's result for these limbs.
fn run(x: Words, kernel: impl FnOnce([Symbol<false>; 2]) -> [Symbol<false>; 2]) -> Words {
    kernel(x.map(Symbol)).map(|word| word.0)
}

const ANY: [i128; 2] = [-(1 << 63), 1 << 63];
const OPERAND: i128 = (1 << 44) + (1 << 11);

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_carry() {
    // With `t` above bit 44 of the upper limb, `2^96 + 1` is taken `t` times.
    let carries = |l: [i128; 2]| {
        let x = limbs(l, ANY);
        let carried = run(x, |x| poseidon2_limbs::operand(x, [0, 0]));
        let t = x[1].signed_right(44).signed_integer();
        let same = value(x).is(operand_value(carried).plus(zero(t)));
        same.and(carried[1].is_in(0, OPERAND))
    };
    Proof("limbs, carry").holds(|| carries([1 << 19, (1 << 63) - (1 << 19)]));
    Proof("limbs, carry, from below").fails(|| carries([0, (1 << 63) - (1 << 19)]));
    Proof("limbs, carry, from above").fails(|| carries([1 << 19, 1 << 63]));
    let compacts = |l: i128| {
        let x = limbs([-l + 1, l], ANY);
        let compact = run(x, Limbs::settle);
        let t = x[1].signed_right(44).signed_integer();
        let same = value(x).is(value(compact).plus(zero(t)));
        let ranges = compact[0].is_in(0, 1 << 52);
        same.and(ranges).and(compact[1].is_in(-(1 << 11), OPERAND))
    };
    Proof("limbs, compact").holds(|| compacts((1 << 63) - (1 << 19)));
    Proof("limbs, compact, of any word").fails(|| compacts(1 << 63));
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_reduce() {
    // `h` after the carry and the zero is `-2^44 c + 2^12 u + v`; what is left is `p u - (2^96 + 1) c`, the zero, and an order.
    let reduces = |l: i128, h: i128| {
        let x = limbs([-l + 1, l], [-h + 1, h]);
        let Symbol(reduced) = Limbs::reduce(x.map(Symbol));
        let low = x[0].plus(word((1 << 32) - 1 - (1 << 18)));
        let carried = x[1].plus(low.signed_right(52));
        let high = carried.minus(word((1 << 12) + (1 << 62)));
        let c = integer(0).minus(high.signed_right(44).signed_integer());
        let u = high.signed_right(12).extract(0, 32).integer();
        let order = integer(P.into());
        let bias = order.plus(zero(integer(1 << 18)));
        leaves(value(x).minus(bias).plus(zero(c)), reduced, u)
    };
    let (l, h) = ((1 << 63) - (1 << 32), (1 << 62) - (1 << 13));
    Proof("limbs, reduce").holds(|| reduces(l, h));
    Proof("limbs, reduce, of any lower limb").fails(|| reduces(1 << 63, h));
    Proof("limbs, reduce, of any upper limb").fails(|| reduces(l, 1 << 63));
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_div_2exp() {
    // `2^bits` times the quotient is the dividend less `2^96 + 1` times the low bits of `l`.
    let divides = |bits: u32, x: Words| {
        let quotient = run(x, |x| Limbs::div_2exp(x, bits));
        let a = x[0].masked(word((1 << bits) - 1)).integer();
        let back = value(quotient).left(bits).plus(zero(a));
        back.is(value(x))
    };
    for bits in [1, 2, 3, 4, 5, 6, 8, 10, 32] {
        let largest = (1i128 << 63) - (1 << 53);
        let small = || limbs([-largest, largest], [-largest, largest]);
        Proof(&format!("limbs, div_2exp by {bits}")).holds(|| divides(bits, small()));
        if bits == 1 {
            let name = format!("limbs, div_2exp by {bits}, of other low bits");
            Proof(&name).fails(|| {
                divides(bits, small())
                    .and(divides(bits + 1, small()))
                    .negation()
            });
        }
    }
}

/// Products of an operand's limbs, as [`products`] has them.
#[derive(Clone, Copy)]
enum Columns {
    /// `l l`, `l 2h`, `16h 16h`
    Square(usize),
    /// `l k`, `h m`, `l m`, `16h 16k`
    Product(usize),
}

impl Columns {
    /// The product of the operands, and by how many times `2^96 + 1` the columns' combination is less.
    fn exact(self) -> [Term; 2] {
        let products = products();
        let column = |i: usize| products[i][2];
        let high = |i: usize| column(i).extract(52, 52).integer();
        let (low, cross, top) = match self {
            Self::Square(first) => (first, std::vec![first + 1], first + 2),
            Self::Product(first) => (first + 2, std::vec![first, first + 1], first + 3),
        };
        let mut product = column(low).integer().plus(column(top).integer().left(96));
        let mut less = column(top).integer();
        for i in cross {
            product = product.plus(column(i).integer().left(52));
            less = less.plus(high(i).left(8));
        }
        [product, less]
    }

    /// Tells whether `carried` is the product, carried: by a carry whose upper word, `upper`, has `t`
    /// above bit 44.
    fn is_carried(self, carried: Words, upper: Term) -> Term {
        let [product, less] = self.exact();
        let t = upper.signed_right(44).signed_integer();
        let same = product.is(operand_value(carried).plus(zero(less.plus(t))));
        same.and(carried[1].is_in(0, OPERAND))
    }
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_x7() {
    // The operands of the four multiplications, found as factors of their products, in the order of the text.
    let operands = |largest: i128| {
        let x = limbs(ANY, [0, largest]);
        folded();
        let image = run(x, |x| {
            let mut image = [x];
            poseidon2_limbs::x7(&mut image);
            image[0]
        });
        let uppers: [Term; 3] = folded().try_into().expect("three carries");
        let factors: Vec<[Term; 2]> = products().iter().map(|[a, b, _]| [*a, *b]).collect();
        assert_eq!(factors.len(), 3 + 4 + 3 + 4);
        let [l, h] = x;
        let (x2, x3) = (
            [factors[4][1], factors[3][1]],
            [factors[10][0], factors[11][0]],
        );
        let x4 = [factors[11][1], factors[10][1]];
        assert_eq!(factors[0], [l, l]);
        assert_eq!(factors[3..6], [[l, x2[1]], [h, x2[0]], [l, x2[0]]]);
        assert_eq!(factors[7], [x2[0], x2[0]]);
        assert_eq!(factors[12], [x3[0], x4[0]]);
        // `2 h`, and the upper limbs with the factor 16.
        let twice = |[_, h]: Words| h.plus(h);
        let same = [
            factors[1][1].is(twice(x)),
            factors[8][1].is(twice(x2)),
            factors[2][0].is(h.left(4)),
            factors[2][1].is(h.left(4)),
            factors[6][0].is(h.left(4)),
            factors[6][1].is(x2[1].left(4)),
            factors[9][0].is(x2[1].left(4)),
            factors[9][1].is(x2[1].left(4)),
            factors[13][0].is(x3[1].left(4)),
            factors[13][1].is(x4[1].left(4)),
        ];
        for same in same {
            require(same);
        }
        (x2, x3, x4, image, uppers)
    };
    let largest = OPERAND;
    Proof("limbs, x7, the square").holds(|| {
        let (x2, .., uppers) = operands(largest);
        Columns::Square(0).is_carried(x2, uppers[0])
    });
    Proof("limbs, x7, the square of a larger operand").fails(|| {
        let (x2, .., uppers) = operands(1 << 48);
        Columns::Square(0).is_carried(x2, uppers[0])
    });
    // From here on with what is proved of the operands before.
    let carried = |x: Words| assume(x[1].is_in(0, OPERAND));
    Proof("limbs, x7, the cube").holds(|| {
        let (x2, x3, .., uppers) = operands(largest);
        carried(x2);
        Columns::Product(3).is_carried(x3, uppers[1])
    });
    Proof("limbs, x7, the fourth power").holds(|| {
        let (x2, _, x4, _, uppers) = operands(largest);
        carried(x2);
        Columns::Square(7).is_carried(x4, uppers[2])
    });
    let image = |least: i128| {
        let (x2, x3, x4, image, _) = operands(largest);
        [x2, x3, x4].into_iter().for_each(carried);
        let [product, less] = Columns::Product(10).exact();
        let same = product.is(value(image).plus(zero(less)));
        let ranges = image[0].is_in(least, 5 << 52);
        same.and(ranges).and(image[1].is_in(-(1 << 49), 3 << 52))
    };
    Proof("limbs, x7, the seventh power").holds(|| image((1 << 52) - (1 << 49)));
    Proof("limbs, x7, the seventh power in a smaller range").fails(|| image(3 << 51));
}
