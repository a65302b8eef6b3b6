//! Products, reductions and divisions, proved by z3: for all inputs, the text, and the instructions under it, give what they
//! have to.
//!
//! The kernel's text runs on terms. Products of digits are free variables below `(2^32 - 1)^2`. The few instructions of an
//! instruction set's `add_modulo` and `reduce_product` are written down here, one line for each.

use core::cell::Cell;
use std::format;

use p3_patches_testing::goldilocks::P;
use p3_patches_testing::smt::{Proof, Term, assume, integer, products, require};

use super::words::{is_sum, operands_of_add_modulo};
use super::*;
use crate::poseidon2_batch::{EPSILON, REDUCTION_BIAS, Word};
use crate::poseidon2_split::{Vector, VectorElement, mul, mul_unreduced, square};

fn word(x: u64) -> Term {
    Term::constant(x.into(), 64)
}

/// A lane of AVX2, if biased, or AVX-512.
#[derive(Clone, Copy, Debug)]
struct Lane<const BIASED: bool>(Term);

std::thread_local! {
    /// What a product passes to its reduction.
    static PASSED: Cell<Option<[Term; 2]>> = const { Cell::new(None) };
    /// The word that was shifted to the right last.
    static SHIFTED: Cell<Option<Term>> = const { Cell::new(None) };
}

impl<const BIASED: bool> Word for Lane<BIASED> {
    fn wrapping_add(self, rhs: Self) -> Self {
        Self(self.0.plus(rhs.0))
    }

    fn wrapping_sub(self, rhs: Self) -> Self {
        Self(self.0.minus(rhs.0))
    }

    fn shl(self, bits: u32) -> Self {
        Self(self.0.left(bits))
    }
}

impl<const BIASED: bool> Vector for Lane<BIASED> {
    const OFFSET: u64 = if BIASED { 1 << 63 } else { 0 };
    const BIASED: bool = BIASED;

    fn splat(x: u64) -> Self {
        Self(word(x))
    }

    fn and(self, rhs: Self) -> Self {
        Self(self.0.masked(rhs.0))
    }

    fn shr(self, bits: u32) -> Self {
        SHIFTED.set(Some(self.0));
        Self(self.0.right(bits))
    }

    fn mul_low(self, rhs: Self) -> Self {
        let low = |x: Self| x.0.extract(0, 32).unsigned(64);
        Self(match rhs.0.known() {
            Some(factor) => low(self).times(factor),
            None => self.0.product(rhs.0, 32),
        })
    }

    fn high(self) -> Self {
        Self(self.0.right(32))
    }

    fn join(low: Self, high: Self) -> Self {
        Self(high.0.extract(0, 32).above(low.0.extract(0, 32)))
    }

    fn epsilon() -> Self {
        Self(word(EPSILON))
    }

    fn add_modulo(x: Self, y: Self) -> Self {
        let flipped = y.0.minus(word(Self::OFFSET));
        require(operands_of_add_modulo(x.0, flipped));
        let sum = Term::variable(64);
        assume(is_sum(x.0, flipped, sum));
        Self(sum)
    }

    fn reduce_product<const SQUARE: bool>(low: Self, high: Self) -> Self {
        PASSED.set(Some([low.0, high.0]));
        Self(Term::variable(64))
    }
}

#[derive(Clone, Copy, Debug)]
struct Symbol<const BIASED: bool>(Lane<BIASED>);

impl<const BIASED: bool> VectorElement for Symbol<BIASED> {
    type Vector = Lane<BIASED>;
    const BATCH: usize = 1;
    const GROUPED: bool = false;

    fn into_vector(self) -> Lane<BIASED> {
        self.0
    }

    fn from_vector(vector: Lane<BIASED>) -> Self {
        Self(vector)
    }
}

fn variable<const BIASED: bool>() -> Lane<BIASED> {
    Lane(Term::variable(64))
}

/// The sum of the first products of digits, each with its power of `2^32`.
fn product_of_digits(weights: &[(u32, i128)]) -> Term {
    let products = products();
    assert_eq!(products.len(), weights.len());
    let mut sum = integer(0);
    for ([_, _, product], (digit, factor)) in products.into_iter().zip(weights) {
        sum = sum.plus(product.integer().left(32 * digit).times(*factor));
    }
    sum
}

const PRODUCT: [(u32, i128); 4] = [(0, 1), (1, 1), (1, 1), (2, 1)];
const SQUARE: [(u32, i128); 3] = [(0, 1), (1, 2), (2, 1)];

/// What the reduction gets is the product plus a bias.
fn passes(weights: &[(u32, i128)], bias: i128) -> Term {
    let [low, high] = PASSED.take().expect("a product");
    let passed = low.integer().plus(high.integer().left(64));
    let exact = product_of_digits(weights).plus(integer(bias));
    passed.is(exact)
}

/// `p - EPSILON`, and what of it a square adds itself.
const BIAS: i128 = (1 << 64) - (1 << 33) + 2;

fn products_pass<const BIASED: bool>(name: &str) {
    let bias = if BIASED { BIAS } else { 0 };
    Proof(&format!("split, mul, {name}")).holds(|| {
        mul::<Lane<BIASED>>(variable(), variable());
        passes(&PRODUCT, bias)
    });
    Proof(&format!("split, mul, {name}, other bias")).fails(|| {
        mul::<Lane<BIASED>>(variable(), variable());
        passes(&PRODUCT, bias + 1)
    });
    let square_passes = |root: bool| {
        square::<Lane<BIASED>>(variable());
        if root {
            // That of a digit is 0 or 1 modulo 4.
            assume(products()[0][2].extract(0, 2).is_below(2));
        }
        if BIASED {
            let [low, _] = PASSED.get().expect("a square");
            require(low.is_below((1 << 64) - 2));
        }
        passes(&SQUARE, if BIASED { bias - 2 } else { 0 })
    };
    Proof(&format!("split, square, {name}")).holds(|| square_passes(true));
    if BIASED {
        Proof(&format!("split, square, {name}, of any number")).fails(|| square_passes(false));
    }
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_products() {
    products_pass::<false>("AVX-512");
    products_pass::<true>("AVX2");
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_mul_unreduced() {
    // With `h + 2^32 k` above `2^64`, the words leave `p (h + (2^32 + 1) k)`.
    let unreduced = |least: i128| {
        let [low, high] = mul_unreduced::<Lane<false>>(variable(), variable()).map(|word| word.0);
        let exact = product_of_digits(&PRODUCT);
        let words = low.signed_integer().plus(high.signed_integer().left(32));
        let above = SHIFTED.take().expect("the highest word");
        let (h, k) = (
            above.masked(word(EPSILON)).integer(),
            above.right(32).integer(),
        );
        let multiple = h.plus(k.times((1 << 32) + 1)).times(P.into());
        let ranges = low.is_in(least, 1 << 32).and(high.is_in(0, 2 << 32));
        ranges.and(exact.minus(words).is(multiple))
    };
    Proof("split, mul_unreduced").holds(|| unreduced(-(2 << 32) + 1));
    Proof("split, mul_unreduced, in a smaller range").fails(|| unreduced(-(2 << 32) + (1 << 31)));
}

/// `low + 2^64 high`, plus what a bias adds, less a representative of it, is a multiple of the order: `h + (2^32 + 1) k` times,
/// and one more or less.
fn reduces_product(low: Term, high: Term, bias: i128, reduced: Term) -> Term {
    let sum = low
        .integer()
        .plus(high.integer().left(64))
        .plus(integer(bias));
    let (h, k) = (
        high.masked(word(EPSILON)).integer(),
        high.right(32).integer(),
    );
    let multiple = h.plus(k.times((1 << 32) + 1)).times(P.into());
    let left = sum.minus(reduced.integer()).minus(multiple);
    let order = integer(P.into());
    let one = left.is(order).or(left.is(integer(0).minus(order)));
    one.or(left.is(integer(0)))
}

fn avx2_add_modulo(x: Term, y: Term) -> Term {
    let flip = 1 << 63;
    let sum = x.plus(y); // vpaddq
    let carried = sum.signed_below(y); // vpcmpgtq
    let correction = carried.choose(word(flip + EPSILON), word(flip)); // vpermilpd
    sum.plus(correction) // vpaddq
}

fn avx512_add_modulo(x: Term, y: Term) -> Term {
    let sum = x.plus(y); // vpaddq
    let carried = sum.below(x); // vpcmpltuq
    carried.choose(sum.plus(word(EPSILON)), sum) // vpaddq under a mask
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_add_modulo() {
    let proves = |add: fn(Term, Term) -> Term, offset: u64, any: bool| {
        move || {
            let (x, y) = (Term::variable(64), Term::variable(64));
            if !any {
                assume(operands_of_add_modulo(x, y));
            }
            is_sum(x, y, add(x, y.plus(word(offset))))
        }
    };
    // x86_64_avx2/poseidon2_split.rs, x86_64_avx512/poseidon2_split.rs
    Proof("split, add_modulo, AVX2").holds(proves(avx2_add_modulo, 1 << 63, false));
    Proof("split, add_modulo, AVX2, any operands").fails(proves(avx2_add_modulo, 1 << 63, true));
    Proof("split, add_modulo, AVX2, offset lost").fails(proves(avx2_add_modulo, 0, false));
    Proof("split, add_modulo, AVX-512").holds(proves(avx512_add_modulo, 0, false));
    Proof("split, add_modulo, AVX-512, any operands").fails(proves(avx512_add_modulo, 0, true));
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_reduce_product() {
    let operands = || (Term::variable(64), Term::variable(64));
    let low_half = |x: Term| x.extract(0, 32).unsigned(64);
    // x86_64_avx2/poseidon2_split.rs
    let avx2 = |square: bool, end: i128| {
        let (low, high) = operands();
        assume(low.is_below(end));
        let bias = EPSILON + if square { 2 } else { 0 };
        let constant = word((1 << 63) + bias);
        let product = low_half(high).times(EPSILON.into()); // vpmuludq
        let difference = constant.minus(high.right(32)); // vpsrlq, vpsubq
        let y = product.plus(difference); // vpaddq
        reduces_product(low, high, bias.into(), avx2_add_modulo(low, y))
    };
    Proof("split, reduce_product, AVX2").holds(|| avx2(false, 1 << 64));
    Proof("split, reduce_product, AVX2, square").holds(|| avx2(true, (1 << 64) - 2));
    Proof("split, reduce_product, AVX2, square of any number").fails(|| avx2(true, 1 << 64));
    // x86_64_avx512/poseidon2_split.rs
    let avx512 = |borrow: bool| {
        let (low, high) = operands();
        let h1 = high.right(32); // vpsrlq
        let borrowed = low.below(h1); // vpcmpltuq
        let difference = low.minus(h1); // vpsubq
        let corrected = difference.minus(word(EPSILON));
        let difference = if borrow {
            borrowed.choose(corrected, difference) // vpsubq under a mask
        } else {
            difference
        };
        let h0 = low_half(high).times(EPSILON.into()); // vpmuludq
        let sum = difference.plus(h0); // vpaddq
        let carried = sum.below(h0); // vpcmpltuq
        let sum = carried.choose(sum.plus(word(EPSILON)), sum); // vpaddq under a mask
        reduces_product(low, high, 0, sum)
    };
    Proof("split, reduce_product, AVX-512").holds(|| avx512(true));
    Proof("split, reduce_product, AVX-512, borrow lost").fails(|| avx512(false));
    // aarch64_neon/utils.rs with neon-umull-reduce: `mul_asm` and `mul_add_asm`, after the product.
    let neon = |umull: bool| {
        let (low, high) = operands();
        let t0 = high.right(32); // lsr
        let t1 = low.minus(t0); // subs
        let borrow = low.below(t0);
        let t2 = borrow.choose(word(EPSILON), word(0)); // csetm, of 32 bits
        let t1 = t1.minus(t2); // sub
        let factor = if umull { low_half(high) } else { high };
        let t0 = factor.times(EPSILON.into()); // umull
        let result = t1.plus(t0); // adds
        let carry = result.below(t1);
        let t2 = carry.choose(word(EPSILON), word(0)); // csetm, of 32 bits
        reduces_product(low, high, 0, result.plus(t2)) // add
    };
    Proof("umull, reduction of a product, NEON").holds(|| neon(true));
    Proof("umull, reduction of a product, NEON, all bits of the factor").fails(|| neon(false));
}

/// What two signed halves stand for.
fn value([low, high]: [Term; 2]) -> Term {
    low.signed_integer().plus(high.signed_integer().left(32))
}

/// Two words in `low..end`.
fn halves<const BIASED: bool>(low: i128, end: i128) -> [Lane<BIASED>; 2] {
    let x = [Term::variable(64), Term::variable(64)];
    for word in x {
        assume(word.is_in(low, end));
    }
    x.map(Lane)
}

/// With `m` the bias and `c` the upper digit of the biased upper word, a reduction leaves `p (c - m)`, or that and `p`.
fn reduces<const BIASED: bool>(limit: i128) -> Term {
    let x = halves::<BIASED>(-limit, limit + 1);
    let Symbol(Lane(reduced)) = Symbol::reduce(x);
    let c = x[1].0.plus(word(REDUCTION_BIAS[1])).right(32).integer();
    let left = value(x.map(|word| word.0)).minus(reduced.integer());
    let multiple = c.minus(integer(1 << 30)).times(P.into());
    let corrected = multiple.plus(integer(P.into()));
    left.is(multiple).or(left.is(corrected))
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_reduce() {
    let limit = (1 << 62) - (1 << 34);
    Proof("split, reduce, AVX-512").holds(|| reduces::<false>(limit));
    Proof("split, reduce, AVX2").holds(|| reduces::<true>(limit));
    let limit = (1 << 63) - 1;
    Proof("split, reduce, AVX-512, of magnitudes up to 2^63").fails(|| reduces::<false>(limit));
    Proof("split, reduce, AVX2, of magnitudes up to 2^63").fails(|| reduces::<true>(limit));
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_div_2exp() {
    // The quotient times `2^bits`, and as many times the order as the low bits of the lower word say, are the dividend.
    let divides = |bits: u32, low: i128| {
        let x = halves::<false>(low, 1 << 62);
        let quotient = Symbol::div_2exp(x, bits).map(|word| word.0);
        let [l, _] = x;
        let a = if bits == 32 {
            l.0.signed_integer()
        } else {
            l.0.masked(word((1 << bits) - 1)).integer()
        };
        let back = value(quotient).left(bits).plus(a.times(P.into()));
        back.is(value(x.map(|word| word.0)))
    };
    for bits in [1, 2, 3, 4, 5, 6, 8, 10, 32] {
        let low = if bits == 32 { -(1 << 62) } else { 0 };
        Proof(&format!("split, div_2exp by {bits}")).holds(|| divides(bits, low));
        if bits != 32 {
            let name = format!("split, div_2exp by {bits}, not lifted");
            Proof(&name).fails(|| divides(bits, -(1 << 33)));
        }
    }
}
