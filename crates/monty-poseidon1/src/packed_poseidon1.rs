//! The linear layers of packed Poseidon1, with one Montgomery reduction for each output.
//!
//! # Partial rounds
//!
//! With the sparse matrices of Appendix B of the Poseidon paper, a partial round computes the power
//! `y = s_0^D + c`, and then
//!
//! ```text
//! s_0 <- m y + Σ w_i s_i        s_i <- s_i + v_i y
//! ```
//!
//! In a block of rounds the `s_i` stay what they are at its start. What the earlier powers of the
//! block would have added to them reaches `s_0` through the constants `Σ w_i v_i`, one for each
//! pair of rounds. The `s_i` are updated once, at the end of the block. So every element is a dot
//! product with constants.
//!
//! # Circulant matrix
//!
//! A product with a circulant matrix is one of polynomials modulo
//!
//! ```text
//! x^W - 1 = (x^(W/8) - 1) (x^(W/8) + 1) (x^(W/4) + 1) (x^(W/2) + 1)
//! ```
//!
//! It is computed modulo each factor, where every coefficient is a dot product of as many terms as
//! the factor has. The halves of the Chinese remainder theorem are in the constants.

use alloc::vec::Vec;
use core::array;
use core::mem::transmute;

use p3_field::{Field, InjectiveMonomial, PrimeCharacteristicRing};
use p3_poseidon1::internal::PartialRoundConstants;

use crate::vector::{Register, Words};
use crate::{FieldParameters, MontyField31, MontyParameters};

// BOUNDS
//
// Constants: P < 2^31
//            B = 2^32
//            μ = P^-1 mod B
// Input: Montgomery forms in [0, P)
// Output: Montgomery forms in [0, P)
//   1. a group of at most four products, in [0, 4(P - 1)^2 + 1). 4 P^2 < 2 P B.
//   2. fold: what is in [0, 2 P B) has P B taken off unless it is below. The result is in [0, P B).
//   3. a sum: two folded words, in [0, 2 P B). 2 P B < B^2.
//   4. the reduction of a folded word C: C - Q P with Q = μ C mod B is a multiple of B in
//      (-P B, P B). Its upper half, plus P if it is negative, is in [0, P).

/// Products whose sum fits a word.
const GROUP: usize = 4;

type Packing<FP> = <MontyField31<FP> as Field>::Packing;

/// The even elements of a packing and the odd ones, as [`Words::mul_low`] reads them.
type Halves<V> = [V; 2];

#[inline(always)]
fn halves<FP: FieldParameters>(x: Packing<FP>) -> Halves<Register> {
    // SAFETY: a packing is a transparent array of as many transparent `u32` as the register has,
    // and any bits are one.
    let x: Register = unsafe { transmute(x) };
    [x, x.high()]
}

#[inline]
fn montgomery_form<MP: MontyParameters>(x: MontyField31<MP>) -> u32 {
    // SAFETY: an element is a transparent `u32`.
    unsafe { transmute(x) }
}

/// Takes `P B` off unless `x` is below: step 2. `vpsubd`, `vpminud`.
///
/// # Preconditions
///
/// `x` is in `[0, 2 P B)`.
///
/// # Postconditions
///
/// The result is in `[0, P B)`, and equal modulo `P`.
#[inline(always)]
fn fold<MP: MontyParameters, V: Words>(x: V) -> V {
    // The lower half of `P B` is 0, so that both have the lower half of `x`.
    x.min_halves(x.sub_halves(V::splat(u64::from(MP::PRIME) << 32)))
}

/// Sums of products of even elements, and of odd ones, in `[0, 2 P B)`.
#[derive(Clone, Copy)]
pub struct Sums<V>(Halves<V>);

impl<V: Words> Sums<V> {
    #[inline(always)]
    pub fn zero() -> Self {
        Self([V::splat(0); 2])
    }

    /// At most `GROUP` products with constants, whose sums do not wrap: step 1.
    #[inline(always)]
    pub fn of_products<const N: usize>(x: &[Halves<V>; N], constants: &[u32; N]) -> Self {
        const { assert!(0 < N && N <= GROUP) };
        let constants = constants.map(V::repeat);
        Self(array::from_fn(|half| {
            let product = |i: usize| x[i][half].mul_low(constants[i]);
            (1..N).fold(product(0), |sum, i| sum.wrapping_add(product(i)))
        }))
    }

    /// Adds a group. Sums of two folded words do not wrap: step 3.
    #[inline(always)]
    pub fn plus<MP: MontyParameters>(self, group: Self) -> Self {
        let fold = fold::<MP, V>;
        Self(array::from_fn(|half| {
            fold(self.0[half]).wrapping_add(fold(group.0[half]))
        }))
    }

    /// Returns the elements that are the sums divided by `B`: step 4.
    ///
    /// # Preconditions
    ///
    /// The sums are in `[0, 2 P B)`, as every `Sums` is.
    ///
    /// # Postconditions
    ///
    /// Each half is in `[0, P)`.
    #[inline(always)]
    pub fn reduce<MP: MontyParameters>(self) -> V {
        const { assert!(MP::MONTY_BITS == 32 && MP::PRIME < 1 << 31) };
        let p = V::repeat(MP::PRIME);
        let [even, odd] = self.0.map(|x| {
            let x = fold::<MP, V>(x);
            let q = x.mul_low(V::repeat(MP::MONTY_MU));
            x.sub_halves(q.mul_low(p))
        });
        let x = V::join_high(even, odd);
        // Of these two one is in `[0, P)`, and the other is not below `P`.
        x.min_halves(x.add_halves(p))
    }
}

impl Sums<Register> {
    /// Adds the dot product with a row.
    #[inline(always)]
    fn add_row<FP: FieldParameters>(mut self, x: &[Halves<Register>], row: &Row) -> Self {
        for (x, constants) in x.as_chunks::<GROUP>().0.iter().zip(row) {
            self = self.plus::<FP>(Self::of_products(x, constants));
        }
        self
    }

    #[inline(always)]
    fn to_packing<FP: FieldParameters>(self) -> Packing<FP> {
        // SAFETY: the packing is that of `halves`, and `reduce` leaves its words in `[0, P)`.
        unsafe { transmute(self.reduce::<FP>()) }
    }
}

/// The constants of a dot product, in whole groups. Its length is not known to the compiler: if it
/// were, the loops over groups would unroll, masks of the lower halves would be moved out of the
/// loops around them, and `mul_low` would become a product of whole words.
type Row = [[u32; GROUP]];

/// A row that ends in zeros where `constants` do not fill a group.
fn row<MP: MontyParameters>(constants: &[MontyField31<MP>]) -> Vec<[u32; GROUP]> {
    let form = |i: usize| constants.get(i).map_or(0, |&x| montgomery_form(x));
    let groups = constants.len().div_ceil(GROUP);
    (0..groups)
        .map(|g| array::from_fn(|i| form(GROUP * g + i)))
        .collect()
}

/// Rounds after which the state is updated, in whole groups. Longer blocks have fewer updates, and
/// more powers in the sums.
const BLOCK: usize = 2 * GROUP;

/// The partial rounds, in blocks.
#[derive(Clone)]
pub struct PartialRounds<MP: MontyParameters, const WIDTH: usize> {
    first_constants: [MontyField31<MP>; WIDTH],
    /// The rows of the dense matrix before the first round.
    transition: Vec<Vec<[u32; GROUP]>>,
    blocks: Vec<Block<MP>>,
}

#[derive(Clone)]
struct Block<MP: MontyParameters> {
    rounds: Vec<Round<MP>>,
    /// For each `s_i` but the first, the factors of the powers.
    updates: Vec<Vec<[u32; GROUP]>>,
}

#[derive(Clone)]
struct Round<MP: MontyParameters> {
    constant: MontyField31<MP>,
    /// The factors of the earlier powers of the block.
    earlier: Vec<[u32; GROUP]>,
    /// The factors of `s_1`, `s_2`, .., and of the power.
    row: Vec<[u32; GROUP]>,
}

impl<FP: FieldParameters, const WIDTH: usize> PartialRounds<FP, WIDTH> {
    pub fn new(constants: &PartialRoundConstants<MontyField31<FP>, WIDTH>) -> Self {
        let rounds = constants.sparse_first_row.len();
        let round = |start: usize, r: usize| {
            let (m, w) = (
                constants.sparse_first_row[r][0],
                &constants.sparse_first_row[r][1..],
            );
            let earlier: Vec<_> = (constants.v[start..r].iter())
                .map(|v| w.iter().zip(v).map(|(&w, &v)| w * v).sum())
                .collect();
            Round {
                // The last round has none.
                constant: if r + 1 < rounds {
                    constants.round_constants[r]
                } else {
                    MontyField31::ZERO
                },
                earlier: row(&earlier),
                row: row(&[w, &[m]].concat()),
            }
        };
        let block = |start: usize| {
            let end = rounds.min(start + BLOCK);
            let update = |i: usize| {
                let column: Vec<_> = constants.v[start..end].iter().map(|v| v[i]).collect();
                row(&column)
            };
            Block {
                rounds: (start..end).map(|r| round(start, r)).collect(),
                updates: (0..WIDTH - 1).map(update).collect(),
            }
        };
        Self {
            first_constants: constants.first_round_constants,
            transition: constants.m_i.iter().map(|m| row(m)).collect(),
            blocks: (0..rounds).step_by(BLOCK).map(block).collect(),
        }
    }

    #[inline]
    pub fn permute_state<const D: u64>(&self, state: &mut [Packing<FP>; WIDTH])
    where
        Packing<FP>: InjectiveMonomial<D>,
    {
        const { assert!(WIDTH.is_multiple_of(GROUP)) };
        let zero = [Register::splat(0); 2];
        // The state, and later all of it but the first element, and a power.
        let mut x = [zero; WIDTH];
        for ((x, &s), &constant) in x.iter_mut().zip(&*state).zip(&self.first_constants) {
            *x = halves::<FP>(s + Packing::<FP>::from(constant));
        }
        for (s, row) in state.iter_mut().zip(&self.transition) {
            *s = Sums::zero().add_row::<FP>(&x, row).to_packing::<FP>();
        }
        let mut s_0 = state[0];
        for block in &self.blocks {
            for (x, &s) in x.iter_mut().zip(&state[1..]) {
                *x = halves::<FP>(s);
            }
            let mut powers = [zero; BLOCK];
            for (round, r) in block.rounds.iter().zip(0..) {
                let power =
                    halves::<FP>(s_0.injective_exp_n() + Packing::<FP>::from(round.constant));
                let earlier = Sums::zero().add_row::<FP>(&powers, &round.earlier);
                powers[r] = power;
                x[WIDTH - 1] = power;
                s_0 = earlier.add_row::<FP>(&x, &round.row).to_packing::<FP>();
            }
            for ((s, x), update) in state[1..].iter_mut().zip(&x).zip(&block.updates) {
                // In [0, P B)
                let sums = Sums(x.map(Words::shl_half));
                *s = sums.add_row::<FP>(&powers, update).to_packing::<FP>();
            }
        }
        state[0] = s_0;
    }
}

/// A circulant matrix as the coefficients of its first column modulo each factor of `x^WIDTH - 1`,
/// divided by what the remainders of a product are multiplied by when they are put together.
#[derive(Clone)]
pub struct Circulant<const WIDTH: usize> {
    /// From the factor `x^(WIDTH/8) - 1` to `x^(WIDTH/2) + 1`.
    coefficients: [u32; WIDTH],
    /// The coefficients where a product wraps around: modulo `x^n + 1` their negatives.
    wrapped: [u32; WIDTH],
}

/// The degrees of the factors from the second on. The first factor has the degree of the second.
const fn degrees(width: usize) -> [usize; 3] {
    [width / 8, width / 4, width / 2]
}

/// Where the coefficients begin that belong to the factor of coefficient `i`, and how many these
/// are.
const fn factor_of(i: usize, width: usize) -> (usize, usize) {
    let [n, ..] = degrees(width);
    let mut factor = (0, n);
    while i >= factor.0 + factor.1 {
        // The degree of the next factor is the sum of those before.
        let start = factor.0 + factor.1;
        factor = (start, start);
    }
    factor
}

impl<const WIDTH: usize> Circulant<WIDTH> {
    pub fn new<FP: FieldParameters>(first_column: [MontyField31<FP>; WIDTH]) -> Self {
        let mut x = first_column;
        for n in degrees(WIDTH).into_iter().rev() {
            sums_and_differences(&mut x[..2 * n]);
            for x in &mut x[..2 * n] {
                *x = x.halve();
            }
        }
        let first_factor = WIDTH / 8;
        Self {
            coefficients: x.map(montgomery_form),
            wrapped: array::from_fn(|i| {
                montgomery_form(if i < first_factor { x[i] } else { -x[i] })
            }),
        }
    }

    /// Multiplies by the matrix. It is called in all full rounds, and not copied into each.
    #[inline(never)]
    pub fn apply<FP: FieldParameters>(&self, state: &mut [Packing<FP>; WIDTH]) {
        const { assert!(WIDTH.is_multiple_of(8) && WIDTH <= 32) };
        for n in degrees(WIDTH).into_iter().rev() {
            sums_and_differences(&mut state[..2 * n]);
        }
        let x = state.map(halves::<FP>);
        // Straight code: the loop would run through memory.
        macro_rules! outputs {
            ($($i:literal)*) => {$(
                if $i < WIDTH {
                    state[$i] = self.coefficient::<FP, $i>(&x);
                }
            )*};
        }
        outputs!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
        for n in degrees(WIDTH) {
            sums_and_differences(&mut state[..2 * n]);
        }
    }

    /// Coefficient `I` of a product modulo its factor.
    #[inline(always)]
    fn coefficient<FP: FieldParameters, const I: usize>(
        &self,
        x: &[Halves<Register>; WIDTH],
    ) -> Packing<FP> {
        let (start, n) = const { factor_of(I, WIDTH) };
        // That of x_(start + j)
        let constant = |j: usize| {
            let k = I - start;
            if j <= k {
                self.coefficients[start + k - j]
            } else {
                self.wrapped[start + n + k - j]
            }
        };
        macro_rules! products {
            ($terms:literal from $j:literal) => {
                Sums::of_products::<$terms>(
                    &array::from_fn(|i| x[start + $j + i]),
                    &array::from_fn(|i| constant($j + i)),
                )
            };
        }
        macro_rules! group {
            ($j:literal) => {
                match n - $j {
                    1 => products!(1 from $j),
                    2 => products!(2 from $j),
                    3 => products!(3 from $j),
                    _ => products!(4 from $j),
                }
            };
        }
        let mut sums = group!(0);
        macro_rules! add_groups {
            ($($j:literal)*) => {$(
                if $j < n {
                    sums = sums.plus::<FP>(group!($j));
                }
            )*};
        }
        add_groups!(4 8 12);
        sums.to_packing::<FP>()
    }
}

/// A polynomial of degree below `2n` to its remainders modulo `x^n - 1` and `x^n + 1`, and these to
/// twice the polynomial.
#[inline(always)]
fn sums_and_differences<R: PrimeCharacteristicRing + Copy>(x: &mut [R]) {
    let (low, high) = x.split_at_mut(x.len() / 2);
    for (a, b) in low.iter_mut().zip(high) {
        (*a, *b) = (*a + *b, *a - *b);
    }
}

#[cfg(test)]
mod tests {
    #[cfg(not(target_feature = "avx512f"))]
    use core::arch::x86_64::__m256i as Vector;
    #[cfg(target_feature = "avx512f")]
    use core::arch::x86_64::__m512i as Vector;

    use p3_field::PackedValue;
    use p3_poseidon1::internal::partial_permute_state;

    use super::*;
    #[cfg(not(target_feature = "avx512f"))]
    use crate::MontyParametersAVX2 as VectorParameters;
    #[cfg(target_feature = "avx512f")]
    use crate::MontyParametersAVX512 as VectorParameters;
    use crate::{PackedMontyParameters, RelativelyPrimePower};

    const LANES: usize = size_of::<Vector>() / 4;

    macro_rules! field {
        ($name:ident, $p:literal, $mu:literal, $power:literal) => {
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
            impl RelativelyPrimePower<$power> for $name {
                fn exp_root_d<R: PrimeCharacteristicRing>(_: R) -> R {
                    unreachable!("no test takes a root")
                }
            }
        };
    }
    field!(KB, 0x7f00_0001_u32, 0x8100_0001_u32, 3);
    field!(BB, 0x7800_0001_u32, 0x8800_0001_u32, 7);

    /// The element with this Montgomery form.
    fn with_form<FP: FieldParameters>(form: u32) -> MontyField31<FP> {
        MontyField31::from_u32(form).div_2exp_u64(32)
    }

    /// Edges, and multiples of a word without a pattern.
    fn mixed<FP: FieldParameters>(i: usize) -> MontyField31<FP> {
        let p = FP::PRIME;
        let edges = [0, 1, p / 2, p / 2 + 1, p - 2, p - 1];
        let word = (i as u64)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(32);
        match edges.get(word as usize % (2 * edges.len())) {
            Some(&edge) => with_form(edge),
            None => MontyField31::from_u64(word),
        }
    }

    /// The largest form, which takes sums to their bounds.
    fn largest<FP: FieldParameters>(_: usize) -> MontyField31<FP> {
        with_form(FP::PRIME - 1)
    }

    /// Different elements in all lanes, and for each seed.
    fn state<FP: FieldParameters, const WIDTH: usize>(
        element: fn(usize) -> MontyField31<FP>,
        seed: usize,
    ) -> [Packing<FP>; WIDTH] {
        array::from_fn(|i| {
            Packing::<FP>::from_fn(|lane| element((seed * LANES + lane) * WIDTH + i))
        })
    }

    fn lane<FP: FieldParameters, const WIDTH: usize>(
        state: &[Packing<FP>; WIDTH],
        lane: usize,
    ) -> [MontyField31<FP>; WIDTH] {
        state.map(|x| x.as_slice()[lane])
    }

    fn dot<F: Field>(x: impl IntoIterator<Item = F>, y: impl IntoIterator<Item = F>) -> F {
        x.into_iter().zip(y).map(|(x, y)| x * y).sum()
    }

    /// As many terms as a row of a partial round has, on top of the largest first word.
    fn check_sums<FP: FieldParameters>() {
        for element in [mixed::<FP>, largest::<FP>] {
            for terms in 0..=24 + BLOCK {
                let x: Vec<_> = (0..terms.next_multiple_of(GROUP))
                    .map(|i| state(element, i))
                    .collect();
                let constants: Vec<_> = (0..terms).map(|i| element(i + 7)).collect();
                let [first] = state(element, terms + 1);
                let halves_of_x: Vec<_> = x.iter().map(|&[x]| halves::<FP>(x)).collect();
                let sums = Sums(halves::<FP>(first).map(Words::shl_half));
                let sum = sums
                    .add_row::<FP>(&halves_of_x, &row(&constants))
                    .to_packing::<FP>();
                for l in 0..LANES {
                    let x = x.iter().map(|x| lane::<FP, 1>(x, l)[0]);
                    let expected = first.as_slice()[l] + dot(x, constants.iter().copied());
                    assert_eq!(sum.as_slice()[l], expected, "{terms} terms");
                }
            }
        }
    }

    #[test]
    fn test_sums() {
        check_sums::<KB>();
        check_sums::<BB>();
    }

    /// Constants without a structure, for blocks that are whole and for others.
    fn check_rounds<FP, const WIDTH: usize, const D: u64>()
    where
        FP: FieldParameters + RelativelyPrimePower<D>,
    {
        for element in [mixed::<FP>, largest::<FP>] {
            for rounds in [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 3] {
                let vector = |seed: usize| array::from_fn(|i| element(seed * WIDTH + i));
                let constants = PartialRoundConstants {
                    first_round_constants: vector(0),
                    m_i: array::from_fn(|i| vector(1 + i)),
                    sparse_first_row: (0..rounds).map(|r| vector(100 + r)).collect(),
                    v: (0..rounds).map(|r| vector(200 + r)).collect(),
                    round_constants: (1..rounds).map(element).collect(),
                    textbook_scalar_constants: Vec::new(),
                    textbook_residual: vector(0),
                };
                let packed_rounds = PartialRounds::new(&constants);
                for seed in 0..3 {
                    let input = state(element, seed);
                    let mut packed = input;
                    packed_rounds.permute_state::<D>(&mut packed);
                    for l in 0..LANES {
                        let mut s = lane::<FP, WIDTH>(&input, l);
                        partial_permute_state(&mut s, &constants);
                        assert_eq!(lane(&packed, l), s, "{rounds} rounds");
                    }
                }
            }
        }
    }

    #[test]
    fn test_rounds() {
        check_rounds::<KB, 16, 3>();
        check_rounds::<KB, 24, 3>();
        check_rounds::<BB, 16, 7>();
        check_rounds::<BB, 24, 7>();
    }

    fn check_circulant<FP: FieldParameters, const WIDTH: usize>() {
        let unit = |k: usize| move |i: usize| MontyField31::from_bool(i == k);
        let columns = (0..WIDTH).map(|k| array::from_fn(unit(k)));
        for column in columns.chain([array::from_fn(mixed), array::from_fn(largest)]) {
            let matrix = Circulant::<WIDTH>::new::<FP>(column);
            for input in [
                state(mixed::<FP>, 0),
                state(mixed::<FP>, 1),
                state(largest::<FP>, 0),
            ] {
                let mut packed = input;
                matrix.apply::<FP>(&mut packed);
                for l in 0..LANES {
                    let s = lane::<FP, WIDTH>(&input, l);
                    let row = |i: usize| (0..WIDTH).map(move |j| column[(WIDTH + i - j) % WIDTH]);
                    assert_eq!(lane(&packed, l), array::from_fn(|i| dot(s, row(i))));
                }
            }
        }
    }

    #[test]
    fn test_circulant() {
        check_circulant::<KB, 8>();
        check_circulant::<KB, 16>();
        check_circulant::<KB, 24>();
        check_circulant::<KB, 32>();
        check_circulant::<BB, 16>();
        check_circulant::<BB, 24>();
    }
}
