//! Packed Poseidon1 and its MDS matrices on exact doubles, with one reduction per output of a linear layer.
//!
//! The circulant matrices of widths 8, 12 and 16 have small coefficients. Field multiplications by them, or Karatsuba
//! over the field, reduce after each step. Here a linear layer works on integers and reduces once, before the next S-box.
//!
//! # Unreduced values
//!
//! An element is split into two *halves* `[l, h]` that stand for `l + 2^32 h`. Linear maps with integer coefficients act
//! on each half alone. Halves are integers below `2^53` in double-precision floats: a multiplication by a coefficient of
//! any size and an addition are one instruction, and exact. Modulo `p = 2^64 - 2^32 + 1`, `2^64 = 2^32 - 1`.
//!
//! A double of magnitude below `2^51` becomes a word, and back, by adding [`OFFSET`], `1.5 * 2^52`: the sum's bits are
//! those of `OFFSET` plus the integer. Halves with the offset are called *shifted*.
//!
//! # Circulants
//!
//! A cyclic convolution of length `2n` is one of length `n` on the sums of opposite elements and a negacyclic one on their
//! differences. Widths 8, 12, 16, 24 fold to 2, 3, 2, 6 ([`circulant`]). Each fold halves the coefficients, so that
//! the sums within hold multiples of 1/4 or 1/8; the outputs are integers.
//!
//! # Partial rounds
//!
//! The constants are folded forward, one per round is left. The sparse form needs `2 WIDTH` products of full size a round;
//! the textbook form needs none. With `M` the matrix, `s_r` the element 0 that enters the S-box of round `r`,
//! `y_r = s_r^7` and `d_r = y_r - s_r`, `K` rounds that begin with `x` are
//!
//! ```text
//!     x_0 <- y_0,    s_r = (M^r x)_0 + sum of (M^(r-t))_00 d_t for 0 < t < r,    x <- M^K x + sum of M^(K-t) e_0 d_t.
//! ```
//!
//! `M^K` is a circulant too: [`segment`] applies one where there were `K`, and off the chain of S-boxes, which is the
//! latency that bounds a single state. Several states at once are as many chains. Halves begin a segment in
//! `[-2^31 - 2^22, 2^31 + 2^22]`. They grow by the sum of the row, 43, 67 or 371, in each round, so that `K = 3`, or 2 for
//! width 16, keeps every sum below `2^51`.

use alloc::vec::Vec;
use core::array;

use p3_field::PrimeField64;
use p3_poseidon1::{
    FullRoundConstants, FullRoundLayer, FullRoundLayerConstructor, PartialRoundConstants,
    PartialRoundLayer, PartialRoundLayerConstructor, Poseidon1ExternalLayerGeneric,
    Poseidon1InternalLayerGeneric, textbook_partial_permute_state,
};
use p3_symmetric::Permutation;

use crate::poseidon1::GOLDILOCKS_S_BOX_DEGREE;
use crate::vector::{EPSILON, Packed, Vector, mul, product, square};
use crate::{
    Goldilocks, MATRIX_CIRC_MDS_8_SML_ROW, MATRIX_CIRC_MDS_12_SML_ROW, MATRIX_CIRC_MDS_16_SML_ROW,
    MATRIX_CIRC_MDS_24_GOLDILOCKS, MdsMatrixGoldilocks,
};

#[cfg(not(target_feature = "avx512f"))]
mod avx2;
#[cfg(target_feature = "avx512f")]
mod avx512;

#[cfg(not(target_feature = "avx512f"))]
use crate::PackedGoldilocksAVX2 as Packing;
#[cfg(target_feature = "avx512f")]
use crate::PackedGoldilocksAVX512 as Packing;

/// The order of the field.
const P: u64 = Goldilocks::ORDER_U64;

/// `1.5 * 2^52`: the unit in the last place is 1 here, and stays 1 up to a distance of `2^51`.
pub const OFFSET: f64 = 3.0 * (1u64 << 51) as f64;
pub const OFFSET_BITS: u64 = OFFSET.to_bits();

/// The halves of `2^20 p`, zero modulo `p`: they make every half above `-2^51` positive.
const BIAS: [u64; 2] = [(1 << 20) * ((1 << 32) + 1), (1 << 20) * ((1 << 32) - 2)];

/// The most rounds of a segment.
const MAX_ROUNDS: usize = 3;

/// A vector of doubles. All values are integers or multiples of 1/8, and every operation is exact.
pub trait Doubles: Copy {
    fn splat(x: f64) -> Self;
    fn add(self, rhs: Self) -> Self;
    fn sub(self, rhs: Self) -> Self;
    fn neg(self) -> Self;
    fn mul(self, rhs: Self) -> Self;

    /// `self + a b`.
    fn add_product(self, a: Self, b: Self) -> Self;

    /// `self - a b`.
    fn sub_product(self, a: Self, b: Self) -> Self;

    /// Called where sums of fractions are integers again, for tests that track the unit of a value.
    #[inline(always)]
    fn integers(_: &mut [Self]) {}

    /// `[x_0, x_1]` with `x_0 + x_1 = self` and `x_1` the nearest multiple of `2^32`, for magnitudes below `2^53`.
    #[inline(always)]
    fn split_upper(self) -> [Self; 2] {
        // The unit in the last place is 2^32 there.
        let offset = Self::splat(OFFSET * (1u64 << 32) as f64);
        let upper = self.add(offset).sub(offset);
        [self.sub(upper), upper]
    }
}

/// A vector of words that are the bits of doubles, where the kernel takes them for that.
pub trait AsDoubles: Vector {
    type Doubles: Doubles;

    /// The bits of a shifted double: the lower 32 bits of `self` plus `OFFSET`.
    fn lower_shifted(self) -> Self;

    fn from_bits(x: Self::Doubles) -> Self;
    fn to_bits(self) -> Self::Doubles;
}

type Halves<V> = [<V as AsDoubles>::Doubles; 2];

// ---- The S-box ----

/// `x y`, in shifted halves `l` in `(-2^33, 2^32)` and `h` in `[0, 2^33)`: with `high = 2^32 c + d`, `l = low - c - d` and
/// `h = middle + d`.
#[inline(always)]
pub fn mul_unreduced<V: AsDoubles>(x: V, y: V) -> Halves<V> {
    let [low, middle, high] = product(x, y, [0, 0]);
    let d = high.and(V::splat(EPSILON));
    let l = low
        .lower_shifted()
        .wrapping_sub(d.wrapping_add(high.shr(32)));
    [l, middle.lower_shifted().wrapping_add(d)].map(V::to_bits)
}

/// The S-box of `N` elements, stage by stage: `N` independent multiplications are in flight at each. `finish` is applied
/// to the shifted results, each with its place.
#[inline(always)]
fn x7<V: AsDoubles, const N: usize>(
    x: [V; N],
    finish: impl Fn(usize, Halves<V>) -> Halves<V>,
) -> [Halves<V>; N] {
    let x2: [V; N] = array::from_fn(|i| square(x[i]));
    let x3: [V; N] = array::from_fn(|i| mul(x2[i], x[i]));
    let x4: [V; N] = array::from_fn(|i| square(x2[i]));
    array::from_fn(|i| finish(i, mul_unreduced(x3[i], x4[i])))
}

// ---- Halves ----

#[inline(always)]
fn shift<V: AsDoubles>(x: Halves<V>) -> Halves<V> {
    x.map(|half| half.add(V::Doubles::splat(OFFSET)))
}

#[inline(always)]
fn unshift<V: AsDoubles>(x: Halves<V>) -> Halves<V> {
    x.map(|half| half.sub(V::Doubles::splat(OFFSET)))
}

/// The shifted halves of any words, in `[0, 2^32)`.
#[inline(always)]
fn split<V: AsDoubles>(x: V) -> Halves<V> {
    [x.lower_shifted(), x.high().lower_shifted()].map(V::to_bits)
}

/// The number that [`fold`] adds to the bits of shifted halves: a constant, the bias, and no `OFFSET`.
#[inline(always)]
pub const fn fold_constant<V: Vector>(constant: u64) -> [u64; 2] {
    [
        (constant & EPSILON)
            .wrapping_add(BIAS[0])
            .wrapping_add(V::FLIP)
            .wrapping_sub(OFFSET_BITS),
        (constant >> 32)
            .wrapping_add(BIAS[1])
            .wrapping_sub(OFFSET_BITS),
    ]
}

/// Shifted halves plus a constant, to one word.
///
/// With the bias, halves are in `[0, 2^53)`. `h = 2^32 c + d` counts `(2^32 - 1) c + 2^32 d`, and
/// `l + (2^32 - 1) c < 2^54`.
#[inline(always)]
pub fn fold<V: AsDoubles>([l, h]: Halves<V>, constant: [u64; 2]) -> V {
    let l = V::from_bits(l).wrapping_add(V::splat(constant[0]));
    let h = V::from_bits(h).wrapping_add(V::splat(constant[1]));
    let y = l.wrapping_add(h.shr(32).mul_low(V::epsilon()));
    V::add_modulo(h.shl(32), y)
}

/// The same element with halves of at most `2^31 + 2^22`, for halves below `2^53`.
///
/// With `l = l_0 + 2^32 l_1` and `h = h_0 + 2^32 h_1`, the element is `(l_0 - h_1) + 2^32 (h_0 + h_1 + l_1)`.
#[inline(always)]
pub fn normalize<V: AsDoubles>([l, h]: Halves<V>) -> Halves<V> {
    let scale = V::Doubles::splat(1.0 / (1u64 << 32) as f64);
    let ([l0, l1], [h0, h1]) = (l.split_upper(), h.split_upper());
    let h = h0.add_product(l1, scale).add_product(h1, scale);
    [l0.sub_product(h1, scale), h]
}

// ---- Circulant matrices ----

/// A circulant matrix with small coefficients, `y_i` the sum of `ROW[j - i] x_j`, and its powers.
pub trait Circulant<const N: usize> {
    const ROW: [i64; N];

    /// How many partial rounds make a segment.
    const ROUNDS: usize;

    /// The first rows of the powers 0 to `MAX_ROUNDS`, and the same as [`circulant`] needs them.
    const POWERS: [[f64; N]; MAX_ROUNDS + 1] = powers(&Self::ROW, false);
    const FOLDED: [[f64; N]; MAX_ROUNDS + 1] = powers(&Self::ROW, true);
}

impl Circulant<8> for MdsMatrixGoldilocks {
    const ROW: [i64; 8] = MATRIX_CIRC_MDS_8_SML_ROW;
    const ROUNDS: usize = 3;
}

impl Circulant<12> for MdsMatrixGoldilocks {
    const ROW: [i64; 12] = MATRIX_CIRC_MDS_12_SML_ROW;
    const ROUNDS: usize = 3;
}

impl Circulant<16> for MdsMatrixGoldilocks {
    const ROW: [i64; 16] = MATRIX_CIRC_MDS_16_SML_ROW;
    const ROUNDS: usize = 2;
}

const fn powers<const N: usize>(row: &[i64; N], fold: bool) -> [[f64; N]; MAX_ROUNDS + 1] {
    let mut power = [0; N];
    power[0] = 1;
    let mut powers = [[0.0; N]; MAX_ROUNDS + 1];
    let mut k = 0;
    while k <= MAX_ROUNDS {
        let mut next = [0; N];
        let mut i = 0;
        while i < N {
            powers[k][i] = power[i] as f64;
            let mut j = 0;
            while j < N {
                next[(i + j) % N] += power[i] * row[j];
                j += 1;
            }
            i += 1;
        }
        if fold {
            powers[k] = folded(powers[k]);
        }
        power = next;
        k += 1;
    }
    powers
}

/// The length at which [`circulant`] stops folding.
const fn base(n: usize) -> usize {
    match n {
        8 | 16 => 2,
        12 => 3,
        24 => 6,
        _ => panic!("no circulant of this size"),
    }
}

/// The coefficients of the convolutions that a circulant folds to: half the sums of opposite ones, half the differences.
const fn folded<const N: usize>(mut row: [f64; N]) -> [f64; N] {
    let mut n = N;
    while n > base(N) {
        n /= 2;
        let mut i = 0;
        while i < n {
            let (a, b) = (row[i], row[i + n]);
            row[i] = (a + b) / 2.0;
            row[i + n] = (a - b) / 2.0;
            i += 1;
        }
    }
    row
}

/// Sums of opposite elements to the front, differences to the back.
#[inline(always)]
fn fold_once<D: Doubles, const HALF: usize>(x: &mut [D]) {
    for i in 0..HALF {
        (x[i], x[i + HALF]) = (x[i].add(x[i + HALF]), x[i].sub(x[i + HALF]));
    }
}

/// The cyclic convolution of the first `N` elements.
#[inline(always)]
fn convolve<D: Doubles, const N: usize>(x: &mut [D], row: &[f64]) {
    let input: [D; N] = array::from_fn(|i| x[i]);
    for i in 0..N {
        let mut sum = input[0].mul(D::splat(row[(N - i) % N]));
        for j in 1..N {
            sum = sum.add_product(input[j], D::splat(row[(N + j - i) % N]));
        }
        x[i] = sum;
    }
}

/// From the convolution `a` of the sums and from the differences, whose negacyclic convolution is `b`, to the whole: `a + b`
/// and `a - b`.
#[inline(always)]
fn unfold_once<D: Doubles, const HALF: usize>(x: &mut [D], row: &[f64]) {
    let differences: [D; HALF] = array::from_fn(|i| x[HALF + i]);
    // Those that wrap around change sign. Where the loops are unrolled, the instructions take that over.
    let negated = differences.map(D::neg);
    let rotated = |i: usize| {
        if i < HALF {
            differences[i]
        } else {
            negated[i - HALF]
        }
    };
    for i in 0..HALF {
        let mut b = rotated(i).mul(D::splat(row[HALF]));
        for k in 1..HALF {
            b = b.add_product(rotated(i + k), D::splat(row[HALF + k]));
        }
        (x[i], x[HALF + i]) = (x[i].add(b), x[i].sub(b));
    }
}

/// All sums and differences that [`unfold`] needs.
#[inline(always)]
fn fold_all<D: Doubles, const N: usize>(mut x: [D; N]) -> [D; N] {
    match N {
        8 => fold_once::<D, 4>(&mut x),
        12 => fold_once::<D, 6>(&mut x),
        16 => fold_once::<D, 8>(&mut x),
        _ => fold_once::<D, 12>(&mut x),
    }
    match N {
        8 => fold_once::<D, 2>(&mut x),
        12 => fold_once::<D, 3>(&mut x),
        16 => {
            fold_once::<D, 4>(&mut x);
            fold_once::<D, 2>(&mut x);
        }
        _ => fold_once::<D, 6>(&mut x),
    }
    x
}

/// From [`fold_all`] to the product with the matrix.
#[inline(always)]
fn unfold<D: Doubles, const N: usize>(mut x: [D; N], row: &[f64; N]) -> [D; N] {
    match N {
        8 => {
            convolve::<D, 2>(&mut x, row);
            unfold_once::<D, 2>(&mut x, row);
            unfold_once::<D, 4>(&mut x, row);
        }
        12 => {
            convolve::<D, 3>(&mut x, row);
            unfold_once::<D, 3>(&mut x, row);
            unfold_once::<D, 6>(&mut x, row);
        }
        16 => {
            convolve::<D, 2>(&mut x, row);
            unfold_once::<D, 2>(&mut x, row);
            unfold_once::<D, 4>(&mut x, row);
            unfold_once::<D, 8>(&mut x, row);
        }
        _ => {
            convolve::<D, 6>(&mut x, row);
            unfold_once::<D, 6>(&mut x, row);
            unfold_once::<D, 12>(&mut x, row);
        }
    }
    D::integers(&mut x);
    x
}

/// The product with the circulant matrix whose [`folded`] row is given.
#[inline(always)]
fn circulant<D: Doubles, const N: usize>(x: [D; N], row: &[f64; N]) -> [D; N] {
    unfold(fold_all(x), row)
}

/// The product with [`MdsMatrixGoldilocks`], of width 8, 12 or 16.
#[inline(always)]
pub fn mds_small<V: AsDoubles, const N: usize>(state: &[V; N]) -> [V; N]
where
    MdsMatrixGoldilocks: Circulant<N>,
{
    let halves: State<V, N> = state_halves(state, OFFSET);
    let [l, h] = halves.map(|half| circulant(half, const { &MdsMatrixGoldilocks::FOLDED[1] }));
    array::from_fn(|i| fold(shift::<V>([l[i], h[i]]), fold_constant::<V>(0)))
}

/// The limbs of the row of width 24: base `2^16`, each in `[-2^15, 2^15]`, as [`unfold`] needs them.
const LIMBS_24: [[f64; 24]; 4] = {
    let mut limbs = [[0.0; 24]; 4];
    let mut i = 0;
    while i < 24 {
        let entry = MATRIX_CIRC_MDS_24_GOLDILOCKS[i] as i128;
        // The representative of least magnitude: its last limb is in range.
        let mut entry = if entry > P as i128 / 2 {
            entry - P as i128
        } else {
            entry
        };
        let mut k = 0;
        while k < 3 {
            let limb = (entry + (1 << 15)).rem_euclid(1 << 16) - (1 << 15);
            limbs[k][i] = limb as f64;
            entry = (entry - limb) >> 16;
            k += 1;
        }
        limbs[3][i] = entry as f64;
        i += 1;
    }
    [
        folded(limbs[0]),
        folded(limbs[1]),
        folded(limbs[2]),
        folded(limbs[3]),
    ]
};

/// The value that every output of width 24 lacks when `2^31 (2^32 + 1)` is taken from every input.
const CENTER_24: u64 = {
    let mut sum = 0;
    let mut i = 0;
    while i < 24 {
        sum += MATRIX_CIRC_MDS_24_GOLDILOCKS[i] as u128;
        i += 1;
    }
    ((sum % P as u128) * ((1 << 31) * ((1 << 32) + 1)) % P as u128) as u64
};

// One copy: the code of all eight would not fit the instruction cache.
#[inline(never)]
fn unfold_24<D: Doubles>(x: &mut [D; 24], row: &[f64; 24]) {
    *x = unfold(*x, row);
}

/// The product with [`MdsMatrixGoldilocks`] of width 24, whose coefficients are arbitrary: one circulant per limb.
///
/// Halves in `[-2^31, 2^31)` make outputs below `24 * 2^15 * 2^31 < 2^50.6` for each limb.
#[inline(always)]
pub fn mds_24<V: AsDoubles>(state: &[V; 24]) -> [V; 24] {
    let halves: State<V, 24> = state_halves(state, OFFSET + (1u64 << 31) as f64);
    let halves = halves.map(fold_all);
    let mut products = [halves; 4];
    for (products, limbs) in products.iter_mut().zip(&LIMBS_24) {
        for half in products {
            unfold_24(half, limbs);
        }
    }
    let [p0, p1, p2, p3] = products;
    array::from_fn(|i| {
        // p + 2^32 q = (p_l - q_h) + 2^32 (p_h + q_l + q_h)
        let combine = |p: &State<V, 24>, q: &State<V, 24>| {
            normalize::<V>([p[0][i].sub(q[1][i]), p[1][i].add(q[0][i]).add(q[1][i])])
        };
        let (even, odd) = (combine(&p0, &p2), combine(&p1, &p3));
        let scale = V::Doubles::splat((1 << 16) as f64);
        let sum = array::from_fn(|half| even[half].add_product(odd[half], scale));
        fold(shift::<V>(sum), fold_constant::<V>(CENTER_24))
    })
}

// ---- Rounds ----

/// A state, all lower halves first: one of the two at a time fits the registers.
type State<V, const WIDTH: usize> = [[<V as AsDoubles>::Doubles; WIDTH]; 2];

/// The halves of words, less `offset`.
#[inline(always)]
fn state_halves<V: AsDoubles, const WIDTH: usize>(
    state: &[V; WIDTH],
    offset: f64,
) -> State<V, WIDTH> {
    let halves = state.map(split);
    array::from_fn(|half| array::from_fn(|i| halves[i][half].sub(V::Doubles::splat(offset))))
}

/// The full rounds of one state: constants, S-box on every element, matrix. `GROUP` S-boxes at a time.
// One copy for the initial and the terminal rounds.
#[inline(never)]
pub fn full_rounds<P: Packed, const WIDTH: usize, const GROUP: usize>(
    state: &mut [P; WIDTH],
    constants: &[[[u64; 2]; WIDTH]],
) where
    P::Words: AsDoubles,
    MdsMatrixGoldilocks: Circulant<WIDTH>,
{
    let mut x: State<P::Words, WIDTH> = [[Doubles::splat(0.0); WIDTH]; 2];
    for (i, y) in state.iter().enumerate() {
        [x[0][i], x[1][i]] = split(y.to_words());
    }
    for constants in constants {
        // Rolled loops, here and above: unrolled ones leave the instruction cache.
        for start in (0..WIDTH).step_by(GROUP) {
            let folded =
                array::from_fn(|i| fold([x[0][start + i], x[1][start + i]], constants[start + i]));
            let images = x7::<P::Words, GROUP>(folded, |_, y| unshift::<P::Words>(y));
            for i in 0..GROUP {
                [x[0][start + i], x[1][start + i]] = images[i];
            }
        }
        for half in &mut x {
            *half = circulant(*half, const { &MdsMatrixGoldilocks::FOLDED[1] })
                .map(|y| y.add(Doubles::splat(OFFSET)));
        }
    }
    for (i, y) in state.iter_mut().enumerate() {
        *y = P::from_words(fold([x[0][i], x[1][i]], fold_constant::<P::Words>(0)));
    }
}

/// `rounds` partial rounds of `B` states, as in the documentation of the module, which has `K` for them. There are as many
/// constants. Elements 0 are shifted before and after.
// `i` is the third index of `x`, the second is the half.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
fn segment<V: AsDoubles, const WIDTH: usize, const B: usize>(
    x: &mut [State<V, WIDTH>; B],
    constants: &[[u64; 2]],
    rounds: usize,
) where
    MdsMatrixGoldilocks: Circulant<WIDTH>,
{
    let powers = const { &MdsMatrixGoldilocks::POWERS };
    let offset = V::Doubles::splat(OFFSET);
    let y0 = x7::<V, B>(
        array::from_fn(|b| fold([x[b][0][0], x[b][1][0]], constants[0])),
        |_, y| unshift::<V>(y),
    );
    // (M^r x)_0, shifted. The term of y0 comes last, the others do not wait for it.
    let mut s = [[[offset; 2]; B]; MAX_ROUNDS];
    for b in 0..B {
        let x = &mut x[b];
        for i in 1..WIDTH {
            [x[0][i], x[1][i]] = normalize::<V>([x[0][i], x[1][i]]);
        }
        [x[0][0], x[1][0]] = y0[b];
        for r in 1..rounds {
            for half in 0..2 {
                for j in (0..WIDTH).rev() {
                    let coefficient = V::Doubles::splat(powers[r][j]);
                    s[r][b][half] = s[r][b][half].add_product(x[half][j], coefficient);
                }
            }
        }
    }
    let mut d = [[[offset; 2]; B]; MAX_ROUNDS];
    for r in 1..rounds {
        for b in 0..B {
            for half in 0..2 {
                for t in 1..r {
                    let coefficient = V::Doubles::splat(powers[r - t][0]);
                    s[r][b][half] = s[r][b][half].add_product(d[t][b][half], coefficient);
                }
            }
        }
        d[r] = x7::<V, B>(
            array::from_fn(|b| fold(s[r][b], constants[r])),
            |b, y: Halves<V>| array::from_fn(|half| y[half].sub(s[r][b][half])),
        );
        // Between two S-boxes, so that the CPU has both in its window.
        if r == 1 {
            for x in &mut *x {
                apply_power::<V, WIDTH>(x, rounds);
            }
        }
    }
    for b in 0..B {
        if rounds == 1 {
            apply_power::<V, WIDTH>(&mut x[b], 1);
        }
        for t in 1..rounds {
            for half in 0..2 {
                for i in 0..WIDTH {
                    let coefficient = V::Doubles::splat(powers[rounds - t][(WIDTH - i) % WIDTH]);
                    x[b][half][i] = x[b][half][i].add_product(d[t][b][half], coefficient);
                }
            }
        }
    }
}

/// `M^rounds x`, element 0 shifted.
// One copy for all states of a width: they wait in memory anyway.
#[inline(never)]
fn apply_power<V: AsDoubles, const WIDTH: usize>(x: &mut State<V, WIDTH>, rounds: usize)
where
    MdsMatrixGoldilocks: Circulant<WIDTH>,
{
    let row = &const { &MdsMatrixGoldilocks::FOLDED }[rounds];
    for half in x {
        *half = circulant(*half, row);
        half[0] = half[0].add(V::Doubles::splat(OFFSET));
    }
}

/// The partial rounds of `B` states, `K` to a segment: constant and S-box on element 0, matrix; at last the residual.
// As above.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
pub fn partial_rounds<P: Packed, const WIDTH: usize, const K: usize, const B: usize>(
    states: &mut [[P; WIDTH]; B],
    constants: &[[u64; 2]],
    residual: &[[u64; 2]; WIDTH],
) where
    P::Words: AsDoubles,
    MdsMatrixGoldilocks: Circulant<WIDTH>,
{
    let mut x: [State<P::Words, WIDTH>; B] = [[[Doubles::splat(0.0); WIDTH]; 2]; B];
    for (x, state) in x.iter_mut().zip(&*states) {
        for (i, y) in state.iter().enumerate() {
            let halves = split(y.to_words());
            [x[0][i], x[1][i]] = if i == 0 {
                halves
            } else {
                unshift::<P::Words>(halves)
            };
        }
    }
    for constants in constants.chunks(K) {
        // AVX2 gains a twentieth by whole segments whose loops are unrolled. AVX-512 gains nothing, and its code is larger.
        if cfg!(not(target_feature = "avx512f")) && constants.len() == K {
            segment::<P::Words, WIDTH, B>(&mut x, constants, K);
        } else {
            segment::<P::Words, WIDTH, B>(&mut x, constants, constants.len());
        }
    }
    for (x, state) in x.iter().zip(states) {
        for (i, y) in state.iter_mut().enumerate() {
            let halves = [x[0][i], x[1][i]];
            let shifted = if i == 0 {
                halves
            } else {
                shift::<P::Words>(halves)
            };
            *y = P::from_words(fold(shifted, residual[i]));
        }
    }
}

// ---- What p3-poseidon1 and p3-mds call ----

/// The product with [`MdsMatrixGoldilocks`] on packed elements.
pub trait PackedMds<const WIDTH: usize> {
    fn apply(state: [Packing; WIDTH]) -> [Packing; WIDTH];
}

macro_rules! impl_packed_mds {
    ($($width:literal: $mds:ident),*) => {$(
        impl PackedMds<$width> for MdsMatrixGoldilocks {
            fn apply(state: [Packing; $width]) -> [Packing; $width] {
                $mds(&state.map(Packed::to_words)).map(Packed::from_words)
            }
        }
    )*};
}
impl_packed_mds!(8: mds_small, 12: mds_small, 16: mds_small, 24: mds_24);

type PackedWords = <Packing as Packed>::Words;

fn fold_constants<const WIDTH: usize>(constants: &[Goldilocks; WIDTH]) -> [[u64; 2]; WIDTH] {
    constants.map(|constant| fold_constant::<PackedWords>(constant.as_canonical_u64()))
}

/// The full rounds of Poseidon1: packed states of widths 8, 12 and 16 unreduced, others as any field.
#[derive(Clone, Debug)]
pub struct Poseidon1ExternalLayerGoldilocks<const WIDTH: usize> {
    generic: Poseidon1ExternalLayerGeneric<Goldilocks, MdsMatrixGoldilocks, WIDTH>,
    initial: Vec<[[u64; 2]; WIDTH]>,
    terminal: Vec<[[u64; 2]; WIDTH]>,
}

impl<const WIDTH: usize> FullRoundLayerConstructor<Goldilocks, WIDTH>
    for Poseidon1ExternalLayerGoldilocks<WIDTH>
{
    fn new_from_constants(constants: FullRoundConstants<Goldilocks, WIDTH>) -> Self {
        Self {
            initial: constants.initial.iter().map(fold_constants).collect(),
            terminal: constants.terminal.iter().map(fold_constants).collect(),
            generic: Poseidon1ExternalLayerGeneric::new_from_constants(constants),
        }
    }
}

/// The partial rounds of Poseidon1: packed states of widths 8, 12 and 16 unreduced, others as any field.
#[derive(Clone, Debug)]
pub struct Poseidon1InternalLayerGoldilocks<const WIDTH: usize> {
    generic: Poseidon1InternalLayerGeneric<Goldilocks, WIDTH>,
    textbook: Option<TextbookConstants<WIDTH>>,
}

/// The constants of the partial rounds folded forward, as [`fold`] needs them.
#[derive(Clone, Debug)]
struct TextbookConstants<const WIDTH: usize> {
    rounds: Vec<[u64; 2]>,
    residual: [[u64; 2]; WIDTH],
}

impl<const WIDTH: usize> PartialRoundLayerConstructor<Goldilocks, WIDTH>
    for Poseidon1InternalLayerGoldilocks<WIDTH>
where
    MdsMatrixGoldilocks: Permutation<[Goldilocks; WIDTH]>,
{
    fn new_from_constants(constants: PartialRoundConstants<Goldilocks, WIDTH>) -> Self {
        let has_sparse_form = !constants.sparse_first_row.is_empty();
        let textbook = TextbookConstants {
            rounds: (constants.textbook_scalar_constants.iter())
                .map(|constant| fold_constant::<PackedWords>(constant.as_canonical_u64()))
                .collect(),
            residual: fold_constants(&constants.textbook_residual),
        };
        // The sparse form is that of whatever matrix the caller has. Only with this one may the textbook form replace it.
        let mut expected: [Goldilocks; WIDTH] = array::from_fn(|i| Goldilocks::new(i as u64));
        let mut state = expected;
        textbook_partial_permute_state::<_, _, _, WIDTH, GOLDILOCKS_S_BOX_DEGREE>(
            &mut expected,
            &constants,
            &MdsMatrixGoldilocks,
        );
        let generic = Poseidon1InternalLayerGeneric::new_from_constants(constants);
        let is_known_matrix = has_sparse_form && {
            generic.permute_state(&mut state);
            state == expected
        };
        Self {
            generic,
            textbook: is_known_matrix.then_some(textbook),
        }
    }
}

macro_rules! impl_generic_layers {
    ($element:ty, $width:tt $(, $parameter:tt)*) => {
        impl$(<const $parameter: usize>)* FullRoundLayer<$element, $width, GOLDILOCKS_S_BOX_DEGREE>
            for Poseidon1ExternalLayerGoldilocks<$width>
        where
            MdsMatrixGoldilocks: Permutation<[$element; $width]>,
        {
            fn permute_state_initial(&self, state: &mut [$element; $width]) {
                self.generic.permute_state_initial(state);
            }

            fn permute_state_terminal(&self, state: &mut [$element; $width]) {
                self.generic.permute_state_terminal(state);
            }
        }

        impl$(<const $parameter: usize>)* PartialRoundLayer<$element, $width, GOLDILOCKS_S_BOX_DEGREE>
            for Poseidon1InternalLayerGoldilocks<$width>
        {
            fn permute_state(&self, state: &mut [$element; $width]) {
                self.generic.permute_state(state);
            }
        }
    };
}
impl_generic_layers!(Goldilocks, WIDTH, WIDTH);
impl_generic_layers!(Packing, 24);

macro_rules! impl_packed_layers {
    ($($width:literal in groups of $group:literal),*) => {$(
        impl FullRoundLayer<Packing, $width, GOLDILOCKS_S_BOX_DEGREE>
            for Poseidon1ExternalLayerGoldilocks<$width>
        {
            fn permute_state_initial(&self, state: &mut [Packing; $width]) {
                full_rounds::<_, $width, $group>(state, &self.initial);
            }

            fn permute_state_terminal(&self, state: &mut [Packing; $width]) {
                full_rounds::<_, $width, $group>(state, &self.terminal);
            }
        }

        impl PartialRoundLayer<Packing, $width, GOLDILOCKS_S_BOX_DEGREE>
            for Poseidon1InternalLayerGoldilocks<$width>
        {
            fn permute_state(&self, state: &mut [Packing; $width]) {
                let Some(textbook) = &self.textbook else {
                    return self.generic.permute_state(state);
                };
                partial_rounds::<_, $width, { <MdsMatrixGoldilocks as Circulant<$width>>::ROUNDS }, 1>(
                    array::from_mut(state),
                    &textbook.rounds,
                    &textbook.residual,
                );
            }
        }
    )*};
}
impl_packed_layers!(8 in groups of 8, 12 in groups of 6, 16 in groups of 8);

#[cfg(test)]
mod tests {
    use p3_field::PackedValue;
    use p3_poseidon1::{Poseidon1, Poseidon1Constants};
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::poseidon1::{GOLDILOCKS_POSEIDON1_RC_8, GOLDILOCKS_POSEIDON1_RC_12};

    type V = <Packing as Packed>::Words;
    type D = <V as AsDoubles>::Doubles;

    /// Packed states take the kernel, scalar ones and those of width 24 the generic layers.
    type Layered<const WIDTH: usize> = Poseidon1<
        Goldilocks,
        Poseidon1ExternalLayerGoldilocks<WIDTH>,
        Poseidon1InternalLayerGoldilocks<WIDTH>,
        WIDTH,
        GOLDILOCKS_S_BOX_DEGREE,
    >;

    const LANES: usize = Packing::WIDTH;

    /// Representatives next to every carry: around 0, `2^32`, the order and `2^64`.
    const EDGES: [u64; 14] = [
        0,
        1,
        2,
        0xffff_fffe,
        0xffff_ffff,
        1 << 32,
        (1 << 32) + 1,
        1 << 63,
        0xffff_fffe_ffff_ffff,
        0xffff_ffff_0000_0000,
        0xffff_ffff_0000_0001,
        0xffff_ffff_0000_0002,
        0xffff_ffff_ffff_fffe,
        0xffff_ffff_ffff_ffff,
    ];

    /// The largest magnitude of a normalized half.
    const NORMAL: i64 = (1 << 31) + (1 << 22);

    /// The magnitudes of an S-box's halves are below this.
    const S_BOX: i64 = 1 << 33;

    /// The magnitudes of halves that become words are below this.
    const WORD: i64 = 1 << 51;

    fn vector(lanes: impl Fn(usize) -> u64) -> V {
        Packing::from_fn(|lane| Goldilocks::new(lanes(lane))).to_words()
    }

    fn words(vector: V) -> [u64; LANES] {
        // SAFETY: a vector is as many words as it has lanes, without padding.
        unsafe { core::mem::transmute(vector) }
    }

    fn doubles(lanes: impl Fn(usize) -> i64) -> D {
        vector(|lane| (lanes(lane) as f64).to_bits()).to_bits()
    }

    fn integers(doubles: D) -> [i64; LANES] {
        words(V::from_bits(doubles)).map(|bits| {
            let x = f64::from_bits(bits);
            assert_eq!(x, x as i64 as f64, "not an integer");
            x as i64
        })
    }

    fn residue(x: i128) -> u64 {
        x.rem_euclid(P.into()) as u64
    }

    fn value([l, h]: [i64; 2]) -> u64 {
        residue(i128::from(l) + (i128::from(h) << 32))
    }

    fn pairs(halves: &[i64]) -> Vec<[i64; 2]> {
        let pairs = |&l| halves.iter().map(move |&h| [l, h]);
        halves.iter().flat_map(pairs).collect()
    }

    /// An element for each lane, element `i` in the first.
    fn vectors(elements: &[[i64; 2]], i: usize) -> Halves<V> {
        array::from_fn(|half| doubles(|lane| elements[(i + lane) % elements.len()][half]))
    }

    #[test]
    fn unreduced_products_stay_within_their_bounds() {
        for i in 0..EDGES.len() {
            for j in 0..EDGES.len() {
                let edge = |i: usize| move |lane: usize| EDGES[(i + lane) % EDGES.len()];
                let (x, y) = (edge(i), edge(j));
                let product = mul_unreduced(vector(x), vector(y));
                let [l, h] = unshift::<V>(product).map(integers);
                for lane in 0..LANES {
                    let expected = u128::from(x(lane)) * u128::from(y(lane)) % u128::from(P);
                    assert_eq!(u128::from(value([l[lane], h[lane]])), expected);
                    assert!(-S_BOX < l[lane] && l[lane] < 1 << 32);
                    assert!((0..S_BOX).contains(&h[lane]));
                }
            }
        }
    }

    /// Halves at the ends of what becomes a word, and sums within 2 of the carry: where `h = 2^32 m`, the sum with the bias
    /// is `2^64 + l + (2^32 - 1) (m - 1)`.
    #[test]
    fn fold_holds_at_its_bounds() {
        let ends = [1 - WORD, WORD - 1, 0, -1, 1 << 32, -(1 << 32), 1 << 50];
        let mut halves = pairs(&ends);
        for m in [1i64, 2, 1 << 10, 1 << 18] {
            halves.extend((-2..=2).map(|l| [l - (m - 1) * EPSILON as i64, m << 32]));
        }
        for constant in [0, 1, EPSILON, 1 << 32, P - 1] {
            for i in 0..halves.len() {
                let shifted = shift::<V>(vectors(&halves, i));
                let folded = words(fold(shifted, fold_constant::<V>(constant)));
                for (lane, folded) in folded.into_iter().enumerate() {
                    let x = halves[(i + lane) % halves.len()];
                    let sum = residue(i128::from(value(x)) + i128::from(constant));
                    assert_eq!(folded % P, sum, "{x:x?} + {constant:x}");
                }
            }
        }
    }

    #[test]
    fn normalized_halves_stay_within_their_bounds() {
        const LIMIT: i64 = (1 << 53) - 1;
        // Multiples of 2^32, halves between two of them, and the largest.
        let ends = [
            0,
            1 << 31,
            (1 << 31) + 1,
            -(1 << 31),
            -(1 << 31) - 1,
            3 << 31,
            LIMIT,
            -LIMIT,
            LIMIT - (1 << 31),
            (1 << 31) - LIMIT,
        ];
        let halves = pairs(&ends);
        for i in 0..halves.len() {
            let [l, h] = normalize::<V>(vectors(&halves, i)).map(integers);
            for lane in 0..LANES {
                let x = halves[(i + lane) % halves.len()];
                assert_eq!(value([l[lane], h[lane]]), value(x), "{x:x?}");
                assert!(l[lane].abs().max(h[lane].abs()) <= NORMAL, "{x:x?}");
            }
        }
    }

    /// Each power of a matrix that the rounds apply, on halves at the ends of their ranges with every sign, against integers.
    fn check_circulants<const N: usize>()
    where
        MdsMatrixGoldilocks: Circulant<N>,
    {
        let mut rng = SmallRng::seed_from_u64(N as u64);
        for power in 1..=MdsMatrixGoldilocks::ROUNDS {
            // Full rounds multiply results of S-boxes; segments have one, in element 0.
            let limit = |i| if i == 0 || power == 1 { S_BOX } else { NORMAL };
            for round in 0..64 {
                let signs: [u32; N] = array::from_fn(|_| rng.random());
                let lane_value = |i: usize, lane: usize| match round {
                    0 => limit(i),
                    1 => -limit(i),
                    _ if signs[i] >> lane & 1 == 0 => limit(i),
                    _ => -limit(i),
                };
                let x: [D; N] = array::from_fn(|i| doubles(|lane| lane_value(i, lane)));
                let found = circulant(x, &MdsMatrixGoldilocks::FOLDED[power]).map(integers);
                for lane in 0..LANES {
                    let mut expected: [i64; N] = array::from_fn(|i| lane_value(i, lane));
                    for _ in 0..power {
                        let row = MdsMatrixGoldilocks::ROW;
                        let x = expected;
                        expected =
                            array::from_fn(|i| (0..N).map(|j| row[(N + j - i) % N] * x[j]).sum());
                    }
                    assert_eq!(found.map(|x| x[lane]), expected, "power {power}");
                }
            }
        }
    }

    #[test]
    fn circulants_are_exact_at_their_bounds() {
        check_circulants::<8>();
        check_circulants::<12>();
        check_circulants::<16>();
    }

    /// No half of a [`segment`] comes as far as `2^51` from the offset. With one more round it would.
    fn check_segment<const N: usize>()
    where
        MdsMatrixGoldilocks: Circulant<N>,
    {
        let rounds = MdsMatrixGoldilocks::ROUNDS;
        let power = |k: usize, i: usize| MdsMatrixGoldilocks::POWERS[k][i] as i64;
        let largest = |k| (0..N).map(|i| power(k, i)).max().unwrap_or(0);
        let product = |k| {
            let rest: i64 = (1..N).map(|_| largest(k) * NORMAL).sum();
            largest(k) * S_BOX + rest
        };
        // Each difference of a round's S-box, from the elements and the differences before.
        let mut differences = [0; MAX_ROUNDS];
        for r in 1..rounds {
            let earlier: i64 = (1..r).map(|t| power(r - t, 0) * differences[t]).sum();
            assert!(product(r) + earlier < WORD);
            differences[r] = product(r) + earlier + S_BOX;
        }
        let sums: i64 = (1..rounds)
            .map(|t| largest(rounds - t) * differences[t])
            .sum();
        assert!(product(rounds) + sums < WORD);

        let row_sum: i64 = MdsMatrixGoldilocks::ROW.iter().sum();
        assert!(row_sum.pow(rounds as u32 + 1) > WORD / NORMAL);
    }

    #[test]
    fn segments_are_as_long_as_their_bounds_allow() {
        check_segment::<8>();
        check_segment::<12>();
        check_segment::<16>();
    }

    /// Packed states, whose lanes hold the given ones, equal these permuted alone.
    fn check_lanes<const WIDTH: usize>(
        packed: impl Fn([Packing; WIDTH]) -> [Packing; WIDTH],
        scalar: &impl Permutation<[Goldilocks; WIDTH]>,
        states: &[[u64; WIDTH]],
    ) {
        for first in 0..states.len() {
            let lane_state =
                |lane: usize| states[(first + lane) % states.len()].map(Goldilocks::new);
            let state = array::from_fn(|i| Packing::from_fn(|lane| lane_state(lane)[i]));
            let permuted = packed(state);
            for lane in 0..LANES {
                let found = permuted.map(|x| x.as_slice()[lane]);
                assert_eq!(
                    found,
                    scalar.permute(lane_state(lane)),
                    "lane {lane} of {state:?}"
                );
            }
        }
    }

    /// Edges alone, edges anywhere, random elements.
    fn states<const WIDTH: usize>() -> Vec<[u64; WIDTH]> {
        let mut rng = SmallRng::seed_from_u64(WIDTH as u64);
        let mut states: Vec<_> = EDGES.iter().map(|&edge| [edge; WIDTH]).collect();
        for _ in 0..32 {
            states.push(array::from_fn(|_| EDGES[rng.random_range(0..EDGES.len())]));
        }
        for _ in 0..16 {
            states.push(array::from_fn(|_| rng.random()));
        }
        states
    }

    #[test]
    fn packed_matrices_match_scalar_ones() {
        let mds = &MdsMatrixGoldilocks;
        check_lanes(<MdsMatrixGoldilocks as PackedMds<8>>::apply, mds, &states());
        check_lanes(
            <MdsMatrixGoldilocks as PackedMds<12>>::apply,
            mds,
            &states(),
        );
        check_lanes(
            <MdsMatrixGoldilocks as PackedMds<16>>::apply,
            mds,
            &states(),
        );
        check_lanes(
            <MdsMatrixGoldilocks as PackedMds<24>>::apply,
            mds,
            &states(),
        );
    }

    /// Every input half at the end of its range that makes a limb's first output largest, or smallest.
    #[test]
    fn width_24_holds_at_its_bounds() {
        let unit: [D; 24] = array::from_fn(|i| doubles(|_| (i == 0).into()));
        let mut states = Vec::new();
        for limbs in &LIMBS_24 {
            let column = circulant(unit, limbs).map(|x| integers(x)[0]);
            assert!(column.iter().all(|limb| limb.abs() <= 1 << 15));
            let row: [i64; 24] = array::from_fn(|j| column[(24 - j) % 24]);
            states.push(row.map(|limb| if limb > 0 { u64::MAX } else { 0 }));
            states.push(row.map(|limb| if limb > 0 { 0 } else { u64::MAX }));
        }
        let apply = <MdsMatrixGoldilocks as PackedMds<24>>::apply;
        check_lanes(apply, &MdsMatrixGoldilocks, &states);
    }

    fn check_permutation<const WIDTH: usize>(partial_rounds: usize)
    where
        MdsMatrixGoldilocks: Permutation<[Goldilocks; WIDTH]>,
        Layered<WIDTH>: Permutation<[Goldilocks; WIDTH]> + Permutation<[Packing; WIDTH]>,
    {
        let mut rng = SmallRng::seed_from_u64(partial_rounds as u64);
        let permutation =
            Layered::<WIDTH>::new_from_rng(4, partial_rounds, &MdsMatrixGoldilocks, &mut rng);
        check_lanes(|state| permutation.permute(state), &permutation, &states());
    }

    /// For every remainder of a segment.
    #[test]
    fn packed_permutations_match_scalar_ones() {
        for partial_rounds in [1, 2, 21, 22, 23] {
            check_permutation::<8>(partial_rounds);
            check_permutation::<12>(partial_rounds);
            check_permutation::<16>(partial_rounds);
        }
        check_permutation::<24>(22);
    }

    /// The textbook form stands for [`MdsMatrixGoldilocks`] only: a foreign matrix keeps the sparse one.
    fn check_matrix<const WIDTH: usize>(round_constants: &[[Goldilocks; WIDTH]])
    where
        MdsMatrixGoldilocks: Circulant<WIDTH> + Permutation<[Goldilocks; WIDTH]>,
        Layered<WIDTH>: Permutation<[Goldilocks; WIDTH]> + Permutation<[Packing; WIDTH]>,
    {
        for foreign in [false, true] {
            let row = MdsMatrixGoldilocks::ROW;
            let mut mds_circ_col = array::from_fn(|i| row[(WIDTH - i) % WIDTH]);
            mds_circ_col[0] += i64::from(foreign);
            let constants = Poseidon1Constants {
                rounds_f: 8,
                rounds_p: round_constants.len() - 8,
                mds_circ_col,
                round_constants: round_constants.to_vec(),
            };
            let (_, partial) = constants.to_optimized();
            let layer = Poseidon1InternalLayerGoldilocks::new_from_constants(partial);
            assert_eq!(layer.textbook.is_none(), foreign);
            let permutation = Layered::new(&constants);
            check_lanes(|state| permutation.permute(state), &permutation, &states());
        }
    }

    #[test]
    fn a_foreign_matrix_keeps_the_sparse_form() {
        check_matrix(&GOLDILOCKS_POSEIDON1_RC_8);
        check_matrix(&GOLDILOCKS_POSEIDON1_RC_12);
    }
}
