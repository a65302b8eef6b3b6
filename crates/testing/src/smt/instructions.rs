//! Kernels that are instructions of one set, without a lane: written down in terms, one line for each.

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

/// Whether a result is canonical and `2^n` times it is, up to a multiple of `2^n p`, `2^n sum + sign x - sign p t`.
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

/// poseidon1_packed/avx512.rs and poseidon1_packed/avx2.rs: `add_modulo` of sums below `2^65 - 2^32`.
#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_poseidon1_add_modulo() {
    let word = |x: i128| Term::constant(x, 64);
    let avx512 = |x: Term, y: Term| {
        let sum = x.plus(y); // vpaddq
        let carried = sum.below(x); // vpcmpltuq
        carried.choose(sum.plus(word(0xffff_ffff)), sum) // vpaddq under a mask
    };
    let avx2 = |x: Term, y: Term| {
        let flipped = y.flipped(); // what the constants before it have in them
        let sum = x.plus(flipped); // vpaddq
        let carried = sum.signed_below(flipped); // vpcmpgtq
        let flip = 1 << 63;
        sum.plus(carried.choose(word(flip + 0xffff_ffff), word(flip))) // vpermilpd, vpaddq
    };
    let proves = |add: &dyn Fn(Term, Term) -> Term, end: i128| {
        let (x, y) = (Term::variable(64), Term::variable(64));
        let exact = x.integer().plus(y.integer());
        assume(exact.below(integer(end)));
        let left = exact.minus(add(x, y).integer());
        one_of(left, &[0, (1 << 64) - 0xffff_ffff])
    };
    let end = (1 << 65) - (1 << 32);
    Proof("poseidon1, add_modulo, AVX-512").holds(|| proves(&avx512, end));
    Proof("poseidon1, add_modulo, AVX-512, of more").fails(|| proves(&avx512, end + 2));
    Proof("poseidon1, add_modulo, AVX2").holds(|| proves(&avx2, end));
    Proof("poseidon1, add_modulo, AVX2, of more").fails(|| proves(&avx2, end + 2));
}
