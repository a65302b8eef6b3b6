//! The internal rounds of Poseidon2 with the opposite entries of the diagonal in pairs.
//!
//! A round takes `s_0` to `(s_0 + rc)^D`, and then the state to `(1 + Diag(v)) s`, which is
//! `s_i -> v_i s_i + sum`. The diagonals are `[-2, 1, 2, 1/2, 3, 4, -1/2, -3, -4]` and then inverse
//! powers of two of either sign. Where `v_i = d` and `v_j = -d`, let `a = s_i + s_j` and
//! `b = s_i - s_j`. The round takes them to
//!
//! ```text
//! a' = d b + 2 sum
//! b' = d a
//! ```
//!
//! That is one modular addition instead of two. `a` is also all that the sum of the state needs,
//! which saves another one. Two rounds take `a` to `a'' = d^2 a + 2 sum'`. So where `d^2` is one
//! short product, the pair is kept as `(a, b / d)`: the second part is the `a` of the round before,
//! and nothing has to be multiplied for it.
//!
//! There is nothing lazy here: every operation takes canonical elements and returns canonical
//! elements.

use p3_field::PrimeCharacteristicRing;

use crate::MontyParameters;

/// A remainder of the division by a larger power of two would not fit a signed word of 16 bits.
const LARGEST_EXPONENT: u32 = 15;

/// A ring whose elements are cheaply divided by small powers of two.
///
/// It is a trait of field elements, packed or not, and no vocabulary of words: sums and products
/// are the ring's own.
///
/// A quotient is a shift `q` less a short product that takes the remainder's place. AVX2: `vpsrld`,
/// `vpand`, `vpmaddwd`, `vpslld` (for `n = 8`, `vpmaddubsw` alone multiplies a byte). AVX-512: the
/// last shift is under the mask of a `vptestmd`.
///
/// # Preconditions
///
/// `n` lies in `1..=LARGEST_EXPONENT` or is the two-adicity of `P - 1`, for a `P` that
/// [`Pairing::new`] accepts. Elements are canonical.
///
/// # Postconditions
///
/// Elements are canonical.
pub trait Divide2Exp: PrimeCharacteristicRing + Copy {
    /// Returns `self / 2^n`.
    fn div_2exp(self, n: u32) -> Self;

    /// Returns `self + x / 2^n`.
    fn add_div_2exp(self, x: Self, n: u32) -> Self;

    /// Returns `self - x / 2^n`.
    fn sub_div_2exp(self, x: Self, n: u32) -> Self;
}

/// `v_i = 2^-n` and `v_j = -2^-n`, or without a partner `v_i` alone.
#[derive(Clone, Copy)]
struct Entry {
    i: usize,
    j: usize,
    n: u32,
}

/// The kinds of entries: pairs kept as `(a, b / d)`, pairs kept as `(a, b)`, single `2^-n`, single
/// `-2^-n`.
const SQUARES: usize = 0;
const PAIRS: usize = 1;
const PLUS: usize = 2;
const MINUS: usize = 3;

/// How the inverse powers of two in a diagonal are paired.
pub struct Pairing<const WIDTH: usize> {
    /// Kind by kind.
    entries: [Entry; WIDTH],
    /// Where each kind ends.
    ends: [usize; 4],
}

impl<const WIDTH: usize> Pairing<WIDTH> {
    /// `exponents` is the diagonal behind the first nine entries: `n` for `2^-n` and `-n` for
    /// `-2^-n`.
    ///
    /// # Panics
    /// At compile time, if `exponents` does not fill a diagonal, repeats itself or has a division
    /// that is not cheap.
    #[must_use]
    pub const fn new<MP: MontyParameters>(exponents: Option<&[i32]>) -> Option<Self> {
        let Some(exponents) = exponents else {
            return None;
        };
        assert!(exponents.len() + 9 == WIDTH);
        // P = r 2^j + 1
        let j = (MP::PRIME - 1).trailing_zeros();
        let r = MP::PRIME >> j;
        // The one for products of signed bytes, the other for the division by 2^j.
        assert!(r < 1 << 7 && r + 1 == 1 << (31 - j));

        // The 1/2 and -1/2 among the first nine.
        let first = Entry { i: 3, j: 6, n: 1 };
        let mut pairing = Self {
            entries: [first; WIDTH],
            ends: [0; 4],
        };
        let mut len = 1;
        let mut kind = SQUARES;
        while kind <= MINUS {
            let mut e = 0;
            while e < exponents.len() {
                let n = exponents[e].unsigned_abs();
                assert!(n > 1 && (n <= LARGEST_EXPONENT || n == j));
                let mut partner = e;
                let mut other = 0;
                while other < exponents.len() {
                    assert!(other == e || exponents[other] != exponents[e]);
                    if exponents[other] == -exponents[e] {
                        partner = other;
                    }
                    other += 1;
                }
                let positive = exponents[e] > 0;
                let is_of_kind = match kind {
                    SQUARES => partner != e && positive && 2 * n <= LARGEST_EXPONENT,
                    PAIRS => partner != e && positive && 2 * n > LARGEST_EXPONENT,
                    PLUS => partner == e && positive,
                    _ => partner == e && !positive,
                };
                if is_of_kind {
                    pairing.entries[len] = Entry {
                        i: e + 9,
                        j: partner + 9,
                        n,
                    };
                    len += 1;
                }
                e += 1;
            }
            pairing.ends[kind] = len;
            kind += 1;
        }
        Some(pairing)
    }

    /// Calls `f` with each entry of a kind. An index loop, since iterators stay rolled, and the
    /// state then goes through memory.
    #[inline(always)]
    fn each(&self, kind: usize, mut f: impl FnMut(Entry)) {
        let mut e = if kind == 0 { 0 } else { self.ends[kind - 1] };
        while e < self.ends[kind] {
            f(self.entries[e]);
            e += 1;
        }
    }
}

/// The internal rounds, with `constants` in the form that `add_rc_and_sbox` takes.
///
/// For speed, `pairing` has to be a constant: the loops over its entries unroll.
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

/// `s -> (1 + Diag(v)) s` on a paired state.
#[inline(always)]
fn linear_layer<R: Divide2Exp, const WIDTH: usize>(s: &mut [R; WIDTH], pairing: &Pairing<WIDTH>) {
    // The sum of all elements but s_0, in two chains. Of a pair it takes a, which stands in the
    // place of d.
    let mut of_pairs = s[4] + s[5];
    pairing.each(PAIRS, |Entry { i, .. }| of_pairs += s[i]);
    pairing.each(SQUARES, |Entry { i, .. }| of_pairs += s[i]);
    let mut of_singles = s[1] + s[2];
    pairing.each(PLUS, |Entry { i, .. }| of_singles += s[i]);
    pairing.each(MINUS, |Entry { i, .. }| of_singles += s[i]);
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

    pairing.each(PAIRS, |Entry { i, j, n }| {
        (s[i], s[j]) = (two_sums.add_div_2exp(s[j], n), s[i].div_2exp(n));
    });
    pairing.each(SQUARES, |Entry { i, j, n }| {
        (s[i], s[j]) = (two_sums.add_div_2exp(s[j], 2 * n), s[i]);
    });
    pairing.each(PLUS, |Entry { i, n, .. }| s[i] = sum.add_div_2exp(s[i], n));
    pairing.each(MINUS, |Entry { i, n, .. }| s[i] = sum.sub_div_2exp(s[i], n));
}

/// `(s_i, s_j) -> (a, b)` or `(a, b / d)`
#[inline(always)]
fn pair<R: Divide2Exp, const WIDTH: usize>(s: &mut [R; WIDTH], pairing: &Pairing<WIDTH>) {
    let pair = |s: &mut [R; WIDTH], i: usize, j: usize| {
        (s[i], s[j]) = (s[i] + s[j], s[i] - s[j]);
    };
    pair(s, 4, 7);
    pair(s, 5, 8);
    pairing.each(PAIRS, |Entry { i, j, .. }| pair(s, i, j));
    pairing.each(SQUARES, |Entry { i, j, n }| {
        pair(s, i, j);
        let mut doublings = 0;
        while doublings < n {
            s[j] = s[j].double();
            doublings += 1;
        }
    });
}

/// Undoes [`pair`].
#[inline(always)]
fn unpair<R: Divide2Exp, const WIDTH: usize>(s: &mut [R; WIDTH], pairing: &Pairing<WIDTH>) {
    let mut unpair = |i: usize, j: usize| {
        let (a, b) = (s[i].halve(), s[j].halve());
        (s[i], s[j]) = (a + b, a - b);
    };
    unpair(4, 7);
    unpair(5, 8);
    pairing.each(PAIRS, |Entry { i, j, .. }| unpair(i, j));
    pairing.each(SQUARES, |Entry { i, j, n }| {
        // b / 2 = (b / d) / 2^(n + 1)
        let (a, b_over_d) = (s[i].halve(), s[j]);
        s[i] = a.add_div_2exp(b_over_d, n + 1);
        s[j] = a.sub_div_2exp(b_over_d, n + 1);
    });
}

#[cfg(all(test, target_feature = "avx2"))]
mod tests {
    use alloc::vec::Vec;
    #[cfg(not(target_feature = "avx512f"))]
    use core::arch::x86_64::__m256i as Vector;
    #[cfg(target_feature = "avx512f")]
    use core::arch::x86_64::__m512i as Vector;
    use core::array::from_fn;
    use core::mem::transmute;

    use p3_field::{Field, PackedValue};

    use super::*;
    #[cfg(not(target_feature = "avx512f"))]
    use crate::MontyParametersAVX2 as VectorParameters;
    #[cfg(target_feature = "avx512f")]
    use crate::MontyParametersAVX512 as VectorParameters;
    use crate::{FieldParameters, MontyField31, PackedMontyParameters};

    const LANES: usize = size_of::<Vector>() / 4;

    macro_rules! field {
        ($name:ident, $p:literal, $mu:literal) => {
            #[derive(Copy, Clone, Default, Debug, Eq, Hash, PartialEq)]
            struct $name;
            impl MontyParameters for $name {
                const PRIME: u32 = $p;
                const MONTY_BITS: u32 = 32;
                const MONTY_MU: u32 = $mu;
            }
            impl VectorParameters for $name {
                // SAFETY: an array of words of the vector's size.
                const PACKED_P: Vector = unsafe { transmute([$p; LANES]) };
                // SAFETY: an array of words of the vector's size.
                const PACKED_MU: Vector = unsafe { transmute([$mu; LANES]) };
            }
            impl PackedMontyParameters for $name {}
            impl FieldParameters for $name {
                const MONTY_GEN: MontyField31<Self> = MontyField31::new(31);
            }
        };
    }
    field!(KB, 0x7f00_0001_u32, 0x8100_0001_u32);
    field!(BB, 0x7800_0001_u32, 0x8800_0001_u32);

    type Packing<FP> = <MontyField31<FP> as Field>::Packing;

    /// Elements at whose Montgomery form a division by `2^n`, for some `n`, or a correction by `P`
    /// changes its course.
    fn edges<FP: FieldParameters>() -> Vec<MontyField31<FP>> {
        let p = FP::PRIME;
        // For each n the largest remainder, the quotients 1 and 2^(31-n), none at all, and the
        // largest multiple of 2^n.
        let powers = (0..31).map(|n| 1 << n);
        let around = powers.flat_map(|d| [d - 1, d, d + 1, p - d, p - 1 - d, (p - 1) / d * d]);
        around
            .chain([p / 2, p / 2 + 1])
            .filter(|&form| form < p)
            .map(|form| MontyField31::from_u32(form).div_2exp_u64(32))
            .collect()
    }

    /// Every divisor, every edge as the dividend and as the other operand, in every lane.
    fn check_divisions<FP: FieldParameters>()
    where
        Packing<FP>: Divide2Exp,
    {
        let edges = edges::<FP>();
        for n in (1..=LARGEST_EXPONENT).chain([(FP::PRIME - 1).trailing_zeros()]) {
            let quotients: Vec<_> = edges.iter().map(|x| x.div_2exp_u64(n.into())).collect();
            for (&x, &quotient) in edges.iter().zip(&quotients) {
                let (x, x_quotient) = (Packing::<FP>::from(x), Packing::<FP>::from(quotient));
                for start in (0..edges.len()).step_by(LANES) {
                    let at = |lane| (start + lane) % edges.len();
                    let y = Packing::<FP>::from_fn(|lane| edges[at(lane)]);
                    let y_quotient = Packing::<FP>::from_fn(|lane| quotients[at(lane)]);
                    assert_eq!(x.div_2exp(n), x_quotient);
                    assert_eq!(y.add_div_2exp(x, n), y + x_quotient);
                    assert_eq!(y.sub_div_2exp(x, n), y - x_quotient);
                    // The edges beside each other, so that no lane reads another's bits.
                    assert_eq!(y.div_2exp(n), y_quotient);
                    assert_eq!(x.add_div_2exp(y, n), x + y_quotient);
                    assert_eq!(x.sub_div_2exp(y, n), x - y_quotient);
                }
            }
        }
    }

    #[test]
    fn test_divisions() {
        check_divisions::<KB>();
        check_divisions::<BB>();
    }

    /// Rounds of packed edges against `s -> (1 + Diag(v)) s` on each lane.
    fn check_rounds<FP: FieldParameters, const WIDTH: usize>(
        exponents: &[i32],
        pairing: &Pairing<WIDTH>,
    ) where
        Packing<FP>: Divide2Exp,
    {
        let of = |x: i32| MontyField31::<FP>::from_i32(x);
        let v: [MontyField31<FP>; WIDTH] = from_fn(|i| match i {
            0..9 => [-4, 2, 4, 1, 6, 8, -1, -6, -8].map(|x| of(x).halve())[i],
            _ => of(exponents[i - 9].signum()).div_2exp_u64(exponents[i - 9].unsigned_abs().into()),
        });
        let edges = edges::<FP>();
        for start in 0..edges.len() {
            let state = |lane: usize| -> [MontyField31<FP>; WIDTH] {
                from_fn(|i| edges[(start + 5 * lane + 7 * i) % edges.len()])
            };
            let constants = [edges[start], of(3), of(-5)];
            for rounds in 0..=constants.len() {
                let mut packed = from_fn(|i| Packing::<FP>::from_fn(|lane| state(lane)[i]));
                internal_rounds(&mut packed, &constants[..rounds], pairing, |x, rc| {
                    *x = (*x + rc.into()).cube();
                });
                for lane in 0..LANES {
                    let mut s = state(lane);
                    for &rc in &constants[..rounds] {
                        s[0] = (s[0] + rc).cube();
                        let sum: MontyField31<FP> = s.into_iter().sum();
                        s = from_fn(|i| v[i] * s[i] + sum);
                    }
                    assert_eq!(packed.map(|x| x.as_slice()[lane]), s);
                }
            }
        }
    }

    macro_rules! test_rounds {
        ($($name:ident: $fp:ident, $exponents:expr;)*) => {$(
            #[test]
            fn $name() {
                const EXPONENTS: &[i32] = &$exponents;
                const PAIRING: &Pairing<{ EXPONENTS.len() + 9 }> =
                    &Pairing::new::<$fp>(Some(EXPONENTS)).unwrap();
                check_rounds::<$fp, _>(EXPONENTS, PAIRING);
            }
        )*};
    }
    // The least and the largest exponents of each kind.
    test_rounds! {
        test_kb_pairs: KB, [2, 7, 8, 15, 24, -2, -7, -8, -15, -24, 3, 14, -4, -13, 9];
        test_bb_pairs: BB, [2, 7, 8, 15, 27, -2, -7, -8, -15, -27, 3, 14, -4, -13, 9];
        test_kb_singles: KB, [2, 8, 15, 24, -3, -7, -14];
        test_bb_singles: BB, [-2, -8, -15, -27, 3, 7, 14];
    }

    #[test]
    fn test_no_exponents() {
        assert!(Pairing::<16>::new::<KB>(None).is_none());
    }

    macro_rules! test_refused {
        ($($name:ident: $mp:ident, $exponents:expr, $because:literal;)*) => {$(
            #[test]
            #[should_panic(expected = $because)]
            fn $name() {
                let _ = Pairing::<16>::new::<$mp>(Some(&$exponents));
            }
        )*};
    }
    test_refused! {
        test_too_short: KB, [8, 3, 24, -8, -3, -4], "exponents.len()";
        test_repeated: KB, [8, 3, 24, 8, -3, -4, -24], "exponents[other]";
        test_half_repeated: KB, [1, 3, 24, -8, -3, -4, -24], "n > 1";
        test_above_largest: KB, [8, 3, 24, -8, -3, -16, -24], "n <= LARGEST_EXPONENT";
        test_other_two_adicity: KB, [8, 3, 27, -8, -3, -4, -27], "n == j";
        test_odd_factor: OddFactor27, [8, 3, 26, -8, -3, -4, -26], "r + 1";
    }

    /// `27 2^26 + 1`, where `27` is not `2^i - 1`.
    #[derive(Copy, Clone, Default, Debug, Eq, Hash, PartialEq)]
    struct OddFactor27;
    impl MontyParameters for OddFactor27 {
        const PRIME: u32 = (27 << 26) + 1;
        const MONTY_BITS: u32 = 32;
        const MONTY_MU: u32 = 0;
    }
}
