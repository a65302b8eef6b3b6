//! Gaussian integers, proved by z3: for all inputs, the text gives what it has to.
//!
//! The kernel's text runs on terms. Products of 52 bits are free variables, at most `2^52 - 1` times either factor, and multiples of
//! the `2^4` in each twiddle.

use std::format;

use p3_patches_testing::mutation::{self, Mutated};
use p3_patches_testing::smt::{Proof, Term, assume, integer, require};

use super::P;
use super::lanes::{Symbol, leaves, shifted, word};
use super::limb::zero;
use crate::gaussian::{Twiddle, ZERO, load, prepare, radix_2, radix_4, store};
use crate::poseidon2_limbs::Limb;
use crate::vector::{Vector, Word};

type Words = [Symbol<false>; 2];

/// The value of two words.
fn value([l, h]: Words) -> Term {
    l.0.integer().plus(h.0.integer().left(48))
}

/// Any words in this range.
fn words([low, end]: [i128; 2]) -> Words {
    [(); 2].map(|()| {
        let word = Term::variable(64);
        assume(word.is_in(low, end));
        Symbol(word)
    })
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_load_and_store() {
    Proof("gaussian, load").holds(|| {
        let x = Symbol(Term::variable(64));
        value(load(x)).is(x.0.integer())
    });
    // With `c` above bit 48 of the upper word, `2^96 + 1` is taken `c` times; with `g` above bit 64 of the rest, the order is
    // taken `g` times, and perhaps once more.
    let stores = |range: [i128; 2]| {
        let x = words(range);
        let Symbol(stored) = store(x);
        let c = x[1].0.right(48).integer();
        let g = shifted().right(16).integer();
        leaves(value(x).minus(zero(c)), stored, g)
    };
    Proof("gaussian, store").holds(|| stores([1 << 4, 1 << 52]));
    Proof("gaussian, store, of smaller words").fails(|| stores([0, 1 << 52]));
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_prepare() {
    let prepares = |middle: u64| {
        let x = Term::variable(64);
        let Twiddle { w, v } = prepare(Symbol::<false>(x));
        let x1 = x.right(32).masked(word(middle)).integer();
        let whole = x.integer().plus(x1.times(P.into())).left(4);
        // `(1 + i) (M[0] - i M[1])`, which a multiple of is `ZERO`.
        let [m0, m1] = [(1i128 << 32) - 1, 1 << 16];
        let constant = integer(m0 + m1).plus(integer(m0 - m1).left(48)).left(4);
        let times_i = value(w).left(48).minus(zero(w[1].0.integer()));
        value(w).is(whole).and(value(v).is(constant.plus(times_i)))
    };
    Proof("gaussian, prepare").holds(|| prepares((1 << 16) - 1));
    Proof("gaussian, prepare, with another digit").fails(|| prepares((1 << 15) - 1));
}

/// A word modulo `2^64`, as an integer that does not wrap: sums and differences are exact, and what is taken apart, or is a factor,
/// has to be a word as it is. So no statement is left with a case for each carry.
#[derive(Clone, Copy, Debug)]
struct Unwrapped(Term);

impl Unwrapped {
    /// Any word below this.
    fn any(end: i128) -> Self {
        let word = Self(Term::variable(0));
        assume(word.is_in(0, end));
        word
    }

    fn is_in(self, low: i128, end: i128) -> Term {
        let Self(x) = self;
        x.below(integer(end)).and(x.below(integer(low)).negation())
    }

    /// Itself, where it has so many bits.
    fn of(self, bits: u32) -> Term {
        require(self.is_in(0, 1 << bits));
        self.0
    }

    /// The column of a product.
    fn column(self, factor: Self) -> Term {
        self.of(52).product(factor.of(52), 52)
    }
}

/// An operation that butterflies do without.
fn none() -> ! {
    unreachable!("no such operation is in a butterfly")
}

impl Word for Unwrapped {
    fn wrapping_add(self, rhs: Self) -> Self {
        Self(self.0.plus(rhs.0))
    }

    fn wrapping_sub(self, rhs: Self) -> Self {
        Self(self.0.minus(rhs.0))
    }

    fn shl(self, bits: u32) -> Self {
        Self(self.of(64 - bits).left(bits))
    }
}

impl Vector for Unwrapped {
    const FLIP: u64 = 0;

    fn splat(x: u64) -> Self {
        Self(integer(x.into()))
    }

    fn and(self, mask: Self) -> Self {
        Self(self.of(64).masked(mask.0))
    }

    fn shr(self, bits: u32) -> Self {
        Self(self.of(64).right(bits))
    }

    fn mul_low(self, _: Self) -> Self {
        none()
    }

    fn high(self) -> Self {
        none()
    }

    fn join(_: Self, _: Self) -> Self {
        none()
    }

    fn epsilon() -> Self {
        none()
    }

    fn add_modulo(_: Self, _: Self) -> Self {
        none()
    }
}

impl Limb for Unwrapped {
    fn sar(self, _: u32) -> Self {
        none()
    }

    fn add_product_low(self, a: Self, b: Self) -> Self {
        Self(self.0.plus(a.column(b).extract(0, 52).integer()))
    }

    fn add_product_high(self, a: Self, b: Self) -> Self {
        Self(self.0.plus(a.column(b).extract(52, 52).integer()))
    }
}

/// A lane whose operations may go wrong.
type Lane = Mutated<Unwrapped>;

/// The words of a twiddle, of which the test of bounds shows 37 bits.
fn twiddle(bits: u32) -> Twiddle<Lane> {
    let [w, v] = [(); 2].map(|()| [(); 2].map(|()| Mutated(Unwrapped::any(1 << bits))));
    Twiddle { w, v }
}

/// The element's value, and its upper word, times `2^4`.
#[derive(Clone, Copy)]
struct Element {
    value: Term,
    upper: Term,
}

impl Element {
    fn new([l, h]: [Term; 2]) -> Self {
        let (value, upper) = (l.plus(h.left(48)).left(4), h.left(4));
        Self { value, upper }
    }

    /// A product by the definition, whatever the text multiplies.
    ///
    /// Its columns: the lower word by `w[0]`, the upper by `v[0]`, and both by `w[1]` and `v[1]`. The upper halves of the last two
    /// count `-1`, those of the others `i`.
    fn product([l, h]: [Lane; 2], Twiddle { w, v }: Twiddle<Lane>) -> Self {
        let columns = [(l, w[0]), (h, v[0]), (l, w[1]), (h, v[1])].map(|(x, y)| {
            let column = x.0.0.product(y.0.0, 52);
            let low = column.extract(0, 52);
            assume(low.extract(0, 4).is_below(1));
            [column, low, column.extract(52, 52)].map(Term::integer)
        });
        let [a, b, c, d] = columns;
        let exact = a[0].plus(b[0]).plus(c[0].plus(d[0]).left(48));
        Self {
            value: exact.minus(zero(c[2].plus(d[2])).left(4)),
            upper: c[1].plus(d[1]).plus(a[2].plus(b[2]).left(4)),
        }
    }

    /// The first operand: with a scale a product, else with what is above bit 48 of its upper word counted as `-1`.
    fn first(x: [Lane; 2], scale: Option<Twiddle<Lane>>) -> Self {
        let words = x.map(|word| word.0.0);
        let added = Self::new(ZERO.map(|word| integer(word.into())));
        let moved = zero(words[1].right(48)).left(4);
        let value = match scale {
            Some(scale) => Self::product(x, scale).value,
            None => Self::new(words).value.minus(moved),
        };
        // Its upper word is not asked for.
        let value = value.plus(added.value);
        Self { value, ..added }
    }

    fn plus(self, rhs: Self) -> Self {
        Self {
            value: self.value.plus(rhs.value),
            upper: self.upper.plus(rhs.upper),
        }
    }

    fn minus(self, rhs: Self) -> Self {
        Self {
            value: self.value.minus(rhs.value),
            upper: self.upper.minus(rhs.upper),
        }
    }

    /// The value times `i`: what the upper word stands for comes to `2^96`, which counts `-1`.
    fn turned(self) -> Term {
        self.value.left(48).minus(zero(self.upper))
    }
}

/// Butterflies as a whole, of any words that multiply-adds take: results stand for those of the definition, and are words between
/// layers, which the next layers take.
#[derive(Clone, Copy)]
struct Butterflies {
    /// The operands' words are below this.
    end: i128,
    /// Bits of a twiddle's words.
    bits: u32,
    scaled: bool,
    /// The twiddles of the definition that the text gets.
    order: [usize; 3],
    /// An operation that goes wrong: a part of its line, and how.
    mutated: Option<[&'static str; 2]>,
}

const BUTTERFLIES: Butterflies = Butterflies {
    end: 1 << 52,
    bits: 37,
    scaled: false,
    order: [0, 1, 2],
    mutated: None,
};

impl Butterflies {
    fn operands<const N: usize>(self) -> ([[Lane; 2]; N], Option<Twiddle<Lane>>) {
        let x = [(); N].map(|()| [(); 2].map(|()| Mutated(Unwrapped::any(self.end))));
        (x, self.scaled.then(|| twiddle(self.bits)))
    }

    fn run<T>(self, text: impl Fn() -> T) -> T {
        match self.mutated {
            Some([place, kind]) => mutation::mutated(&["gaussian.rs"], place, kind, text),
            None => text(),
        }
    }

    fn radix_2(self) -> Term {
        let (x, scale) = self.operands();
        let t = twiddle(self.bits);
        let results = self.run(|| radix_2(x, t, scale));
        let (a, b) = (Element::first(x[0], scale), Element::product(x[1], t));
        are(&results, &[a.plus(b).value, a.minus(b).value])
    }

    fn radix_4(self) -> Term {
        let (x, scale) = self.operands();
        let twiddles = [(); 3].map(|()| twiddle(self.bits));
        let given = self.order.map(|i| twiddles[i]);
        let results = self.run(|| radix_4(x, given, scale));
        let [t, s, ts] = twiddles;
        let a = Element::first(x[0], scale);
        let [b, c, d] = [(x[1], s), (x[2], t), (x[3], ts)].map(|(x, t)| Element::product(x, t));
        let ([a, c], [b, d]) = ([a.plus(c), a.minus(c)], [b.plus(d), b.minus(d)]);
        let i_d = d.turned();
        let expected = [
            a.plus(b).value,
            a.minus(b).value,
            c.value.plus(i_d),
            c.value.minus(i_d),
        ];
        are(&results, &expected)
    }
}

/// Tells whether the results are words between layers, and 16 times these.
fn are(results: &[[Lane; 2]], expected: &[Term]) -> Term {
    let words = results.iter().flatten();
    let between = words.map(|word| word.0.is_in(1 << 41, 1 << 52));
    let exact = results.iter().zip(expected).map(|(y, expected)| {
        let y = Element::new(y.map(|word| word.0.0));
        y.value.is(*expected)
    });
    let all = between.chain(exact).reduce(Term::and);
    all.expect("results")
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_butterflies() {
    for (scaled, suffix) in [(false, ""), (true, ", scaled")] {
        let butterflies = Butterflies {
            scaled,
            ..BUTTERFLIES
        };
        Proof(&format!("gaussian, radix 2{suffix}")).holds(|| butterflies.radix_2());
        Proof(&format!("gaussian, radix 4{suffix}")).holds(|| butterflies.radix_4());
    }
}

#[test]
#[ignore = "takes z3: crates/testing/smt/prove"]
fn smt_butterflies_gone_wrong() {
    let fails = |name: &str, butterflies: Butterflies| {
        let name = format!("gaussian, radix 4, {name}");
        Proof(&name).fails(|| butterflies.radix_4());
    };
    let end = (1 << 52) + 1;
    fails("of wider words", Butterflies { end, ..BUTTERFLIES });
    let bits = 40;
    fails(
        "with twiddles of 40 bits",
        Butterflies {
            bits,
            ..BUTTERFLIES
        },
    );
    for (name, order) in [
        ("twiddles of the layers swapped", [1, 0, 2]),
        ("twiddles of the second layer swapped", [0, 2, 1]),
    ] {
        fails(
            name,
            Butterflies {
                order,
                ..BUTTERFLIES
            },
        );
    }
    for (name, place, kind) in [
        ("zero lost", "»V::splat(ZERO[0])", "constant 0"),
        ("borrow lost", ".»wrapping_sub(h.shr(48))", "skipped"),
        (
            "carry lost",
            ".»wrapping_add(l.shr(48))",
            "right operand lost",
        ),
        ("mask lost", "h.»and(mask)", "skipped"),
        ("minus one lost", "low.»wrapping_sub(minus_one)", "skipped"),
        ("i lost", "y1[1].»wrapping_add(z_l)", "right operand lost"),
    ] {
        let mutated = Some([place, kind]);
        fails(
            name,
            Butterflies {
                mutated,
                ..BUTTERFLIES
            },
        );
    }
    let other_shift = Butterflies {
        mutated: Some(["h.»shr(48)", "a bit less"]),
        ..BUTTERFLIES
    };
    Proof("gaussian, radix 2, other bits moved").fails(|| other_shift.radix_2());
}
