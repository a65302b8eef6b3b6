//! The internal rounds of Poseidon2 with the opposite entries of the diagonal in pairs.
//!
//! A round takes `s_0` to `(s_0 + rc)^D`, and then the state to `(1 + Diag(v)) s`, which is `s_i -> v_i s_i + sum`.
//! The diagonals are `[-2, 1, 2, 1/2, 3, 4, -1/2, -3, -4]` and then inverse powers of two of either sign.
//! Where `v_i = d` and `v_j = -d`, let `a = s_i + s_j` and `b = s_i - s_j`. The round takes them to
//!
//! ```text
//! a' = d b + 2 sum
//! b' = d a
//! ```
//!
//! That is one modular addition instead of two. `a` is also all that the sum of the state needs, which saves another one.
//! Two rounds take `a` to `a'' = d^2 a + 2 sum'`. So where `d^2` is one short product, the pair is kept as `(a, b / d)`:
//! the second part is the `a` of the round before, and nothing has to be multiplied for it.
//!
//! There is nothing lazy here: every operation takes canonical elements and returns canonical elements.

use p3_field::PrimeCharacteristicRing;

/// Divisors beyond it would need products wider than 16 bits.
const LARGEST_EXPONENT: u32 = 15;

/// A ring whose elements are cheaply divided by small powers of two.
pub trait Divide2Exp: PrimeCharacteristicRing + Copy {
    /// `self / 2^n`, here and below for `n` in `1..=LARGEST_EXPONENT`, or equal to the two-adicity of `P - 1`.
    fn div_2exp(self, n: u32) -> Self;

    /// `self + x / 2^n`
    fn add_div_2exp(self, x: Self, n: u32) -> Self;

    /// `self - x / 2^n`
    fn sub_div_2exp(self, x: Self, n: u32) -> Self;
}

/// A place in the state with the entry `2^-n` or `-2^-n`, or two places with both.
#[derive(Clone, Copy)]
struct Entry {
    plus: usize,
    minus: usize,
    n: u32,
}

/// The first so many of `entries`.
#[derive(Clone, Copy)]
struct Entries<const WIDTH: usize> {
    entries: [Entry; WIDTH],
    len: usize,
}

impl<const WIDTH: usize> Entries<WIDTH> {
    const EMPTY: Self = Self {
        entries: [Entry {
            plus: 0,
            minus: 0,
            n: 0,
        }; WIDTH],
        len: 0,
    };

    const fn with(mut self, plus: usize, minus: usize, n: u32) -> Self {
        self.entries[self.len] = Entry { plus, minus, n };
        self.len += 1;
        self
    }
}

/// What the inverse powers of two in a diagonal are paired to, at compile time: the loops over the entries unroll.
pub struct Pairing<const WIDTH: usize> {
    /// Pairs kept as `(a, b)`.
    pairs: Entries<WIDTH>,
    /// Pairs kept as `(a, b / d)`, since `d^2` is one short product.
    squares: Entries<WIDTH>,
    /// `2^-n` without a partner.
    plus: Entries<WIDTH>,
    /// `-2^-n` without a partner.
    minus: Entries<WIDTH>,
}

impl<const WIDTH: usize> Pairing<WIDTH> {
    /// `exponents` is the diagonal behind the first nine entries: `n` for `2^-n` and `-n` for `-2^-n`.
    ///
    /// # Panics
    /// Panics if `exponents` does not fill a diagonal, or repeats itself.
    #[must_use]
    pub const fn new(exponents: &[i32]) -> Self {
        assert!(exponents.len() + 9 == WIDTH);
        let mut pairing = Self {
            pairs: Entries::EMPTY,
            // The 1/2 and -1/2 among the first nine.
            squares: Entries::EMPTY.with(3, 6, 1),
            plus: Entries::EMPTY,
            minus: Entries::EMPTY,
        };
        let mut i = 0;
        while i < exponents.len() {
            let mut partner = 0;
            while partner < exponents.len() && exponents[partner] != -exponents[i] {
                partner += 1;
            }
            let mut earlier = 0;
            while earlier < i {
                assert!(exponents[earlier] != exponents[i]);
                earlier += 1;
            }
            let (place, n) = (i + 9, exponents[i].unsigned_abs());
            let paired = partner < exponents.len();
            if paired && exponents[i] > 0 {
                if 2 * n <= LARGEST_EXPONENT {
                    pairing.squares = pairing.squares.with(place, partner + 9, n);
                } else {
                    pairing.pairs = pairing.pairs.with(place, partner + 9, n);
                }
            } else if !paired && exponents[i] > 0 {
                pairing.plus = pairing.plus.with(place, 0, n);
            } else if !paired {
                pairing.minus = pairing.minus.with(0, place, n);
            }
            i += 1;
        }
        pairing
    }
}

/// The internal rounds, with `constants` in the form that `add_rc_and_sbox` takes.
///
/// For speed, `pairing` has to be a constant.
#[inline(always)]
pub fn internal_rounds<R: Divide2Exp, C: Copy, const WIDTH: usize>(
    state: &mut [R; WIDTH],
    constants: &[C],
    pairing: &Pairing<WIDTH>,
    add_rc_and_sbox: impl Fn(&mut R, C),
) {
    // A copy, so that the compiler keeps it in registers.
    let mut s = *state;
    pair(&mut s, pairing);
    for &rc in constants {
        add_rc_and_sbox(&mut s[0], rc);
        linear_layer(&mut s, pairing);
    }
    unpair(&mut s, pairing);
    *state = s;
}

// Index loops below: iterators over the entries stay rolled, and the state then goes through memory.

/// `s -> (1 + Diag(v)) s` on a paired state.
#[inline(always)]
fn linear_layer<R: Divide2Exp, const WIDTH: usize>(s: &mut [R; WIDTH], pairing: &Pairing<WIDTH>) {
    let Pairing {
        pairs,
        squares,
        plus,
        minus,
    } = pairing;

    // The sum of all elements but s_0, in two chains. Of a pair it takes a, which stands in the place of d.
    let mut of_pairs = s[4] + s[5];
    let mut i = 0;
    while i < pairs.len {
        of_pairs += s[pairs.entries[i].plus];
        i += 1;
    }
    i = 0;
    while i < squares.len {
        of_pairs += s[squares.entries[i].plus];
        i += 1;
    }
    let mut of_singles = s[1] + s[2];
    i = 0;
    while i < plus.len {
        of_singles += s[plus.entries[i].plus];
        i += 1;
    }
    i = 0;
    while i < minus.len {
        of_singles += s[minus.entries[i].minus];
        i += 1;
    }
    let tail = of_pairs + of_singles;

    let sum = tail + s[0];
    // sum - 2 s_0
    s[0] = tail - s[0];
    s[1] += sum;
    s[2] = s[2].double() + sum;

    let two_sums = sum.double();
    let times_3 = |x: R| x.double() + x;
    (s[4], s[7]) = (times_3(s[7]) + two_sums, times_3(s[4]));
    let times_4 = |x: R| x.double().double();
    (s[5], s[8]) = (times_4(s[8]) + two_sums, times_4(s[5]));

    i = 0;
    while i < pairs.len {
        let Entry { plus, minus, n } = pairs.entries[i];
        (s[plus], s[minus]) = (two_sums.add_div_2exp(s[minus], n), s[plus].div_2exp(n));
        i += 1;
    }
    i = 0;
    while i < squares.len {
        let Entry { plus, minus, n } = squares.entries[i];
        (s[plus], s[minus]) = (two_sums.add_div_2exp(s[minus], 2 * n), s[plus]);
        i += 1;
    }
    i = 0;
    while i < plus.len {
        let Entry { plus, n, .. } = plus.entries[i];
        s[plus] = sum.add_div_2exp(s[plus], n);
        i += 1;
    }
    i = 0;
    while i < minus.len {
        let Entry { minus, n, .. } = minus.entries[i];
        s[minus] = sum.sub_div_2exp(s[minus], n);
        i += 1;
    }
}

/// `(s_i, s_j) -> (a, b)` or `(a, b / d)`
#[inline(always)]
fn pair<R: Divide2Exp, const WIDTH: usize>(s: &mut [R; WIDTH], pairing: &Pairing<WIDTH>) {
    let Pairing { pairs, squares, .. } = pairing;
    let mut pair = |i: usize, j: usize| (s[i], s[j]) = (s[i] + s[j], s[i] - s[j]);
    pair(4, 7);
    pair(5, 8);
    let mut i = 0;
    while i < pairs.len {
        pair(pairs.entries[i].plus, pairs.entries[i].minus);
        i += 1;
    }
    i = 0;
    while i < squares.len {
        let Entry { plus, minus, n } = squares.entries[i];
        let mut b = s[plus] - s[minus];
        s[plus] += s[minus];
        let mut doublings = 0;
        while doublings < n {
            b = b.double();
            doublings += 1;
        }
        s[minus] = b;
        i += 1;
    }
}

/// What [`pair`] does, undone.
#[inline(always)]
fn unpair<R: Divide2Exp, const WIDTH: usize>(s: &mut [R; WIDTH], pairing: &Pairing<WIDTH>) {
    let Pairing { pairs, squares, .. } = pairing;
    let mut unpair = |i: usize, j: usize| {
        let (a, b) = (s[i].halve(), s[j].halve());
        (s[i], s[j]) = (a + b, a - b);
    };
    unpair(4, 7);
    unpair(5, 8);
    let mut i = 0;
    while i < pairs.len {
        unpair(pairs.entries[i].plus, pairs.entries[i].minus);
        i += 1;
    }
    i = 0;
    while i < squares.len {
        let Entry { plus, minus, n } = squares.entries[i];
        // b / 2 = (b / d) / 2^(n + 1)
        let (a, b_over_d) = (s[plus].halve(), s[minus]);
        s[plus] = a.add_div_2exp(b_over_d, n + 1);
        s[minus] = a.sub_div_2exp(b_over_d, n + 1);
        i += 1;
    }
}
