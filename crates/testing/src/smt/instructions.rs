//! Kernels that are instructions of one set, without a lane: written down in terms, one line for each.

use super::text::{Scope, Value, function};
use super::*;
use crate::goldilocks::inverse;

fn word(x: i128) -> Term {
    Term::constant(x, 32)
}

/// The lesser of two unsigned words: vpminud.
fn least(x: Term, y: Term) -> Term {
    x.below(y).choose(x, y)
}

fn one_of(x: Term, multiples: &[i128]) -> Term {
    let mut cases = multiples.iter().map(|multiple| x.is(integer(*multiple)));
    let first = cases.next().expect("one at least");
    cases.fold(first, Term::or)
}

/// The prime, and the two-adicity of what is below it.
const KOALA_BEAR: (i128, u32) = (0x7f00_0001, 24);
const BABY_BEAR: (i128, u32) = (0x7800_0001, 27);

/// x86_64_quintic.rs, `reduce`: the sum of four products and the fifth, to the high word.
#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_quintic() {
    let (p, _) = KOALA_BEAR;
    let mu = inverse(p as u64) as u32;
    let reduces = |largest: i128, folded: bool| {
        let (sum, fifth) = (Term::variable(64), Term::variable(64));
        assume(sum.is_below(largest + 1));
        assume(fifth.is_below((p - 1) * (2 * p - 1) + 1));
        let low = |x: Term| x.extract(0, 32);
        let high = |x: Term| x.extract(32, 32);
        let fold = |x: Term| least(high(x), high(x).minus(word(p))); // vpsubq, vpminud
        let first = if folded { fold(sum) } else { high(sum) };
        let c = first.above(low(sum)).plus(fifth); // vpaddq
        let q = low(low(c).unsigned(64).times(mu.into())); // vpmuludq
        let product = q.unsigned(64).times(p); // vpmuludq
        let d = fold(c).minus(high(product)); // vpsubd
        let result = least(d, d.plus(word(p))); // vpaddd, vpminud
        let exact = sum.integer().plus(fifth.integer());
        let left = exact
            .minus(result.integer().left(32))
            .minus(q.integer().times(p));
        let multiples = [-1, 0, 1, 2].map(|k| (k * p) << 32);
        result.is_below(p).and(one_of(left, &multiples))
    };
    let four = 4 * (p - 1) * (p - 1);
    Proof("quintic, reduce").holds(|| reduces(four, true));
    Proof("quintic, reduce, not folded").fails(|| reduces(four, false));
}

const LAZY: &str = "quintic-lazy-reduction";

/// Tells whether `result` is canonical and `2^32` times it is the sum, up to `quotient` and a multiple of `2^32` times the order.
fn is_reduced(result: Term, sum: Term, quotient: Term, p: i128) -> Term {
    let left = sum.minus(result.integer().left(32));
    let left = left.minus(quotient.integer().times(p));
    let multiples = [-1, 0, 1, 2].map(|k| (k * p) << 32);
    result.is_below(p).and(one_of(left, &multiples))
}

/// utils.rs with quintic-lazy-reduction: `large_monty_reduce_by_halves`, for what it says that it takes.
#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_by_halves() {
    let text = function(
        LAZY,
        "monty-31/src/utils.rs",
        "large_monty_reduce_by_halves",
    );
    let correction = "x_hi.min(x_hi.wrapping_sub(MP::PRIME))";
    assert!(text.contains(correction), "{text}");
    for (name, (p, _)) in [("KoalaBear", KOALA_BEAR), ("BabyBear", BABY_BEAR)] {
        let mu = inverse(p as u64) as u32;
        let reduces = |text: &str, end: i128| {
            let x = Term::variable(64);
            assume(x.is_below(end));
            let mut scope = Scope {
                names: [
                    ("x", x),
                    ("MP::PRIME", word(p)),
                    ("MP::MONTY_MU", word(mu.into())),
                ]
                .map(|(name, term)| (name.to_owned(), Value::Word(term)))
                .into(),
                callee: &|name, _, _| panic!("{name} has no meaning here"),
            };
            let result = scope.run(text).word();
            let quotient = scope.names["t"].clone().word();
            is_reduced(result, x.integer(), quotient, p)
        };
        let name = |what: &str| format!("by halves, {name}{what}");
        Proof(&name("")).holds(|| reduces(&text, (2 * p) << 32));
        Proof(&name(", of any word")).fails(|| reduces(&text, 1 << 64));
        let uncorrected = text.replace(correction, "x_hi");
        Proof(&name(", correction lost")).fails(|| reduces(&uncorrected, (2 * p) << 32));
    }
}

/// packing.rs with quintic-lazy-reduction: `dot_product_3`, of canonical elements. What it calls is upstream's, and
/// instructions.
#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_dot_product_3() {
    for (isa, avx512) in [("avx2", false), ("avx512", true)] {
        let file = format!("monty-31/src/x86_64_{isa}/packing.rs");
        let text = function(LAZY, &file, "dot_product_3");
        for (name, (p, _)) in [("KoalaBear", KOALA_BEAR), ("BabyBear", BABY_BEAR)] {
            let name = |what: &str| format!("dot_product_3, {isa}, {name}{what}");
            Proof(&name("")).holds(|| dot_product(&text, p, avx512));
            let five = text.replace("3>(", "5>(");
            assert_ne!(five, text);
            Proof(&name(", of five")).fails(|| dot_product(&five, p, avx512));
        }
    }
}

/// One element of each parity.
fn dot_product(text: &str, p: i128, avx512: bool) -> Term {
    let mu = inverse(p as u64) as u32;
    let exact = RefCell::new(Vec::new());
    // vpmuludq, vpaddq
    let wide_dot = |terms: usize| {
        let mut sum = long(0);
        let mut integers = integer(0);
        for _ in 0..terms {
            let product = Term::variable(64);
            assume(product.is_below((p - 1) * (p - 1) + 1));
            sum = sum.plus(product);
            integers = integers.plus(product.integer());
        }
        let q = sum.extract(0, 32).unsigned(64).times(mu.into());
        exact.borrow_mut().push((integers, q.extract(0, 32)));
        Value::Word(sum)
    };
    let canonical = |sum: Term| {
        let high = |x: Term| x.extract(32, 32);
        let dot = high(sum); // vmovshdup, vpblendd
        let q = sum.extract(0, 32).unsigned(64).times(mu.into()); // vpmuludq
        let q_p = q.extract(0, 32).unsigned(64).times(p); // vpmuludq
        let q_p = high(q_p); // vmovshdup, vpblendd
        if avx512 {
            let over_p = dot.below(word(p)).negation(); // vpcmpleud
            let dot = over_p.choose(dot.minus(word(p)), dot); // vpsubd under a mask
            let underflow = dot.below(q_p); // vpcmpltud
            let t = dot.minus(q_p); // vpsubd
            underflow.choose(t.plus(word(p)), t) // vpaddd under a mask
        } else {
            let dot = least(dot, dot.minus(word(p))); // vpsubd, vpminud
            let t = dot.minus(q_p); // vpsubd
            least(t, t.plus(word(p))) // vpaddd, vpminud
        }
    };
    let mut scope = Scope {
        names: ["lhs", "rhs"]
            .map(|name| (name.to_owned(), Value::Tuple(Vec::new())))
            .into(),
        callee: &|name, terms, arguments| match name {
            "wide_dot" => {
                let terms = terms.expect("a number of terms");
                Value::Tuple(vec![wide_dot(terms), wide_dot(terms)])
            }
            "monty_red_wide_to_canonical" => {
                let sums = arguments.into_iter().map(Value::word);
                Value::Tuple(sums.map(|sum| Value::Word(canonical(sum))).collect())
            }
            other => panic!("{other} has no meaning here"),
        },
    };
    let Value::Tuple(results) = scope.run(text) else {
        panic!("no vector")
    };
    let exact = exact.into_inner();
    assert_eq!((results.len(), exact.len()), (2, 2));
    let reduced = results.into_iter().zip(exact);
    let mut reduced = reduced.map(|(result, (sum, q))| is_reduced(result.word(), sum, q, p));
    let even = reduced.next().expect("two");
    even.and(reduced.next().expect("two"))
}

/// x86_64_avx512/poseidon2_paired.rs and x86_64_avx2/poseidon2_paired.rs: `x` over `2^n`, added to or taken from `sum`.
#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_paired() {
    for (name, (p, j)) in [("KoalaBear", KOALA_BEAR), ("BabyBear", BABY_BEAR)] {
        for n in (1..=15).chain([j]) {
            let name = |what: &str| format!("paired, {name}, {what} 2^{n}");
            Proof(&name("AVX-512, over")).holds(|| avx512(p, j, n, true));
            Proof(&name("AVX2, over")).holds(|| avx2(p, j, n, true));
            if n == 8 {
                Proof(&name("AVX-512, zero as any, over")).fails(|| avx512(p, j, n, false));
                Proof(&name("AVX2, one sign for both, over")).fails(|| avx2(p, j, n, false));
            }
        }
    }
}

fn element(p: i128) -> Term {
    let x = Term::variable(32);
    assume(x.is_below(p));
    x
}

/// `x = 2^n q + t`, and `t` times the odd factor of `p - 1`: vpmaddubsw or vpmaddwd, of which both factors are below their
/// words.
fn parts(x: Term, p: i128, j: u32, n: u32) -> [Term; 3] {
    let t = x.extract(0, n).unsigned(32);
    [x.right(n), t, t.times((p - 1) >> j)]
}

/// Tells whether a result is canonical and `2^n` times it is, up to a multiple of `2^n p`, `2^n sum + sign x - sign p t`.
fn is_quotient(result: Term, sum: Term, sign: i128, x: Term, t: Term, p: i128, n: u32) -> Term {
    let quotient = x.integer().minus(t.integer().times(p)).times(sign);
    let left = result.integer().minus(sum).left(n).minus(quotient);
    let multiples = [-1, 0, 1].map(|k| (k * p) << n);
    result.is_below(p).and(one_of(left, &multiples))
}

fn avx512(p: i128, j: u32, n: u32, zero: bool) -> Term {
    let (x, sum) = (element(p), element(p));
    let [q, t, product] = parts(x, p, j, n);
    let is_zero = t.is(word(0)); // vptestmd
    let shifted = if n == j {
        t.left(31 - j)
    } else {
        product.left(j - n)
    }; // vpslld
    let taken = if n == j { q.plus(t) } else { q }; // vpaddd
    let or_p = if zero {
        is_zero.choose(word(p), shifted) // under a mask
    } else {
        shifted
    };
    let negative = or_p.minus(taken); // vpsubd
    let quotient = word(p).minus(negative); // vpsubd
    let difference = sum.minus(negative); // vpsubd
    let added = least(difference, difference.plus(word(p))); // vpaddd, vpminud
    let total = sum.plus(negative); // vpaddd
    let subtracted = least(total, total.minus(word(p))); // vpsubd, vpminud
    let is_quotient = |result, sum, sign| is_quotient(result, sum, sign, x, t, p, n);
    is_quotient(quotient, integer(0), 1)
        .and(is_quotient(added, sum.integer(), 1))
        .and(is_quotient(subtracted, sum.integer(), -1))
}

fn avx2(p: i128, j: u32, n: u32, signs: bool) -> Term {
    let (x, sum) = (element(p), element(p));
    let [q, t, product] = parts(x, p, j, n);
    let high = if n == j { q.plus(t) } else { q }; // vpaddd
    let low = if n == j {
        t.left(31 - j)
    } else {
        product.left(j - n)
    }; // vpslld
    let quotient = high.minus(low); // vpsubd
    let signed_add = |x: Term| {
        let negative = x.signed_below(word(0));
        let minus_p = word(0).minus(word(p));
        let sign = if signs {
            let positive = x.is(word(0)).choose(word(0), word(p));
            negative.choose(minus_p, positive) // vpsignd
        } else {
            word(p)
        };
        let t = sum.plus(x); // vpaddd
        least(t, t.minus(sign)) // vpsubd, vpminud
    };
    let (added, subtracted) = (signed_add(quotient), signed_add(low.minus(high)));
    let canonical = least(quotient, quotient.plus(word(p))); // vpaddd, vpminud
    let is_quotient = |result, sum, sign| is_quotient(result, sum, sign, x, t, p, n);
    is_quotient(canonical, integer(0), 1)
        .and(is_quotient(added, sum.integer(), 1))
        .and(is_quotient(subtracted, sum.integer(), -1))
}

/// The order of Goldilocks, and `2^64` modulo it.
const GOLDILOCKS: i128 = 0xffff_ffff_0000_0001;
const EPSILON: i128 = 0xffff_ffff;

fn long(x: i128) -> Term {
    Term::constant(x, 64)
}

/// aarch64_neon/utils.rs with neon-umull-reduce: `mul_asm` and `mul_add_asm`, after the product.
#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_umull() {
    let reduces = |umull: bool| {
        let (low, high) = (Term::variable(64), Term::variable(64));
        let t0 = high.right(32); // lsr
        let t1 = low.minus(t0); // subs
        let borrow = low.below(t0);
        let t1 = t1.minus(borrow.choose(long(EPSILON), long(0))); // csetm, of 32 bits; sub
        let factor = if umull {
            high.extract(0, 32).unsigned(64)
        } else {
            high
        };
        let t0 = factor.times(EPSILON); // umull
        let sum = t1.plus(t0); // adds
        let carry = sum.below(t1);
        let reduced = sum.plus(carry.choose(long(EPSILON), long(0))); // csetm, of 32 bits; add
        // With `high = d + 2^32 c`, the product leaves `d + (2^32 + 1) c` times the order, and one more or less.
        let (d, c) = (
            high.masked(long(EPSILON)).integer(),
            high.right(32).integer(),
        );
        let multiple = d.plus(c.times((1 << 32) + 1)).times(GOLDILOCKS);
        let exact = low.integer().plus(high.integer().left(64));
        let left = exact.minus(reduced.integer()).minus(multiple);
        one_of(left, &[0, GOLDILOCKS, -GOLDILOCKS])
    };
    Proof("umull, reduction of a product, NEON").holds(|| reduces(true));
    Proof("umull, reduction of a product, NEON, all bits of the factor").fails(|| reduces(false));
}

/// Two signed words `[l, h]` as `l + 2^32 h`.
fn halves([low, high]: [Term; 2]) -> Term {
    low.signed_integer().plus(high.signed_integer().left(32))
}

fn signed_words(low: i128, end: i128) -> [Term; 2] {
    let x = [Term::variable(64), Term::variable(64)];
    for word in x {
        assume(word.is_in(low, end));
    }
    x
}

/// aarch64_neon/poseidon2_pair.rs: `reduce`, on scalar registers.
#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_pair_reduce() {
    let bias = [(1 << 30) * ((1 << 32) + 1), (1 << 30) * ((1 << 32) - 2)];
    let reduces = |corrected: bool| {
        let limit = (1 << 62) - (1 << 34);
        let [low, high] = signed_words(-limit + 1, limit);
        let (biased_low, biased_high) = (low.plus(long(bias[0])), high.plus(long(bias[1])));
        let x = biased_high.left(32);
        let sum = x.plus(biased_low.plus(biased_high.right(32).times(EPSILON)));
        let carry = sum.below(x).choose(long(EPSILON), long(0));
        let reduced = if corrected { sum.plus(carry) } else { sum };
        let c = biased_high.right(32).integer().minus(integer(1 << 30));
        let left = halves([low, high]).minus(reduced.integer());
        one_of(left.minus(c.times(GOLDILOCKS)), &[0, GOLDILOCKS])
    };
    Proof("pair, reduce").holds(|| reduces(true));
    Proof("pair, reduce, carry lost").fails(|| reduces(false));
}

/// aarch64_neon/poseidon2_pair.rs: `div_2exp`. The quotient times `2^bits`, and as many times the order as the low bits of the
/// lower word say, are the dividend.
#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_pair_div_2exp() {
    let over_2exp_32 = |[low, high]: [Term; 2], borrow: bool| {
        let zero = long(0);
        let sum = [low.plus(high), zero]; // vext, add
        let moved = [zero, low]; // vext
        if borrow {
            [sum[0].minus(moved[0]), sum[1].minus(moved[1])] // sub
        } else {
            sum
        }
    };
    let divides = |bits: u32, borrow: bool| {
        let low = if bits == 32 { -(1 << 62) } else { 0 };
        let x = signed_words(low, 1 << 62);
        let (quotient, a) = if bits == 32 {
            (over_2exp_32(x, borrow), x[0].signed_integer())
        } else {
            let mask = long((1 << bits) - 1);
            let part = over_2exp_32(x.map(|word| word.masked(mask)), borrow); // and
            let high = x.map(|word| word.right(bits)); // ushl
            let quotient = [0, 1].map(|i| high[i].plus(part[i].left(32 - bits))); // ushl, add
            (quotient, x[0].masked(mask).integer())
        };
        let back = halves(quotient).left(bits).plus(a.times(GOLDILOCKS));
        back.is(halves(x))
    };
    for bits in [1, 2, 3, 4, 5, 6, 8, 10, 32] {
        Proof(&format!("pair, div_2exp by {bits}")).holds(|| divides(bits, true));
        Proof(&format!("pair, div_2exp by {bits}, borrow lost")).fails(|| divides(bits, false));
    }
}
