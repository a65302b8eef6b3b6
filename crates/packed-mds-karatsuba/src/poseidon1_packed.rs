//! Poseidon1 and its MDS matrices on packed elements, with one reduction per output of a linear layer.
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
//! latency that bounds a single state. Several states at once are as many chains. Halves begin a segment in `[-2^31 - 2^22, 2^31 + 2^22]`. They grow by the sum of
//! the row, 43, 67 or 371, in each round, so that `K = 3`, or 2 for width 16, keeps every sum below `2^51`.

use alloc::vec::Vec;
use core::array;

use p3_field::{PrimeCharacteristicRing, PrimeField64};
use p3_poseidon1::{
    FullRoundConstants, FullRoundLayer, FullRoundLayerConstructor, PartialRoundConstants,
    PartialRoundLayer, PartialRoundLayerConstructor, Poseidon1ExternalLayerGeneric,
    Poseidon1InternalLayerGeneric, partial_permute_state, textbook_partial_permute_state,
};
use p3_symmetric::Permutation;

use crate::poseidon1::GOLDILOCKS_S_BOX_DEGREE;
use crate::{
    Goldilocks, MATRIX_CIRC_MDS_8_SML_ROW, MATRIX_CIRC_MDS_12_SML_ROW, MATRIX_CIRC_MDS_16_SML_ROW,
    MATRIX_CIRC_MDS_24_GOLDILOCKS, MdsMatrixGoldilocks,
};

#[cfg(not(target_feature = "avx512f"))]
mod avx2;
#[cfg(target_feature = "avx512f")]
mod avx512;

#[cfg(not(target_feature = "avx512f"))]
use crate::PackedGoldilocksAVX2 as Packed;
#[cfg(target_feature = "avx512f")]
use crate::PackedGoldilocksAVX512 as Packed;

/// The order of the field.
const P: u64 = Goldilocks::ORDER_U64;

/// `2^64` modulo the field's order.
const EPSILON: u64 = 0xffff_ffff;

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

/// A vector of 64-bit words. Additions and subtractions wrap; that no value does is for the caller to show.
pub trait Words: Copy {
    type Doubles: Doubles;

    /// What [`Self::add_modulo`] expects its second operand to be increased by.
    const FLIP: u64;

    fn splat(x: u64) -> Self;

    /// `splat(EPSILON)` that the compiler knows nothing about: it would replace the product with it by three operations.
    fn epsilon() -> Self;

    fn wrapping_add(self, rhs: Self) -> Self;
    fn wrapping_sub(self, rhs: Self) -> Self;
    fn shl<const BITS: u32>(self) -> Self;
    fn shr<const BITS: u32>(self) -> Self;

    /// The lower 32 bits.
    fn lower(self) -> Self;

    /// The upper 32 bits in the place of the lower ones. The upper ones of the result may be anything.
    fn upper(self) -> Self;

    /// The lower 32 bits of `self`, and those of `upper` above them.
    fn join(self, upper: Self) -> Self;

    /// The product of the lower 32 bits.
    fn mul_lower(self, rhs: Self) -> Self;

    /// The sum with `y = flipped_y - FLIP`, and `EPSILON` more if it carries: `x + y` modulo the order, in `[0, 2^64)`,
    /// for `x + y` in `[0, 2^65 - 2^32)`.
    fn add_modulo(self, flipped_y: Self) -> Self;

    /// The bits of a shifted double: the lower 32 bits of `self` plus `OFFSET`.
    fn lower_shifted(self) -> Self;

    fn from_bits(x: Self::Doubles) -> Self;
    fn to_bits(self) -> Self::Doubles;
}

/// A vector of field elements, any representatives.
pub trait PackedElement: PrimeCharacteristicRing + Copy {
    type Words: Words;
    fn to_words(self) -> Self::Words;
    fn from_words(words: Self::Words) -> Self;
}

type Halves<W> = [<W as Words>::Doubles; 2];

// ---- The S-box ----

/// `low + 2^64 high + EPSILON + offset` modulo the order, for an `offset` of 0, or of 2 if `low` is below `2^64 - 2`.
///
/// With `high = 2^32 c + d`, `2^64 high = (2^32 - 1) d - c`. Then `y = EPSILON d + EPSILON - c + offset` is in
/// `[0, 2^64 - 2^32 + offset]`, and `low + y` is below `2^65 - 2^32`.
#[inline(always)]
fn reduce<W: Words>(low: W, high: W, offset: u64) -> W {
    let epsilon = W::splat(W::FLIP.wrapping_add(EPSILON + offset));
    let y = high.mul_lower(W::epsilon());
    low.add_modulo(y.wrapping_add(epsilon.wrapping_sub(high.shr::<32>())))
}

/// `x^2`, for any words. 3 multiplications, and one to reduce.
#[inline(always)]
pub fn square<W: Words>(x: W) -> W {
    let u = x.upper();
    let (ll, lu, uu) = (x.mul_lower(x), x.mul_lower(u), u.mul_lower(u));
    // 2^33 (2^31 - 1) + 2 = -EPSILON, which `reduce` adds. The 2 is left to it: x^2 is 0 or 1 modulo 4, so that the low
    // word of the sum is below 2^64 - 2.
    let lu = lu.wrapping_add(W::splat((1 << 31) - 1));
    let carry = lu.wrapping_add(ll.shr::<33>()).shr::<31>();
    reduce(ll.wrapping_add(lu.shl::<33>()), uu.wrapping_add(carry), 2)
}

/// The parts of `x y + bias[0] + 2^32 bias[1]`: a word whose lower half has weight 1, one whose lower half has weight
/// `2^32`, and one with weight `2^64`. 4 multiplications. Biases are below `2^32`: no word wraps.
#[inline(always)]
fn product<W: Words>(x: W, y: W, bias: [u64; 2]) -> [W; 3] {
    let (xu, yu) = (x.upper(), y.upper());
    let ll = x.mul_lower(y).wrapping_add(W::splat(bias[0]));
    let ul = xu.mul_lower(y).wrapping_add(W::splat(bias[1]));
    let carried = ul.wrapping_add(ll.shr::<32>());
    let middle = x.mul_lower(yu).wrapping_add(carried.lower());
    let high = xu.mul_lower(yu).wrapping_add(carried.shr::<32>());
    [ll, middle, high.wrapping_add(middle.shr::<32>())]
}

/// `x y`, for any words.
#[inline(always)]
pub fn mul<W: Words>(x: W, y: W) -> W {
    // 2^32 (2^32 - 2) + 2 = -EPSILON, which `reduce` adds.
    let [low, middle, high] = product(x, y, [2, (1 << 32) - 2]);
    reduce(low.join(middle), high, 0)
}

/// `x y`, in shifted halves `l` in `(-2^33, 2^32)` and `h` in `[0, 2^33)`: with `high = 2^32 c + d`, `l = low - c - d` and
/// `h = middle + d`.
#[inline(always)]
pub fn mul_unreduced<W: Words>(x: W, y: W) -> Halves<W> {
    let [low, middle, high] = product(x, y, [0, 0]);
    let d = high.lower();
    let l = low
        .lower_shifted()
        .wrapping_sub(d.wrapping_add(high.shr::<32>()));
    [l, middle.lower_shifted().wrapping_add(d)].map(W::to_bits)
}

/// The S-box of `N` elements, stage by stage: `N` independent multiplications are in flight at each. `finish` is applied
/// to the shifted results, each with its place.
#[inline(always)]
fn x7<W: Words, const N: usize>(
    x: [W; N],
    finish: impl Fn(usize, Halves<W>) -> Halves<W>,
) -> [Halves<W>; N] {
    let x2: [W; N] = array::from_fn(|i| square(x[i]));
    let x3: [W; N] = array::from_fn(|i| mul(x2[i], x[i]));
    let x4: [W; N] = array::from_fn(|i| square(x2[i]));
    array::from_fn(|i| finish(i, mul_unreduced(x3[i], x4[i])))
}

// ---- Halves ----

#[inline(always)]
fn shift<W: Words>(x: Halves<W>) -> Halves<W> {
    x.map(|half| half.add(W::Doubles::splat(OFFSET)))
}

#[inline(always)]
fn unshift<W: Words>(x: Halves<W>) -> Halves<W> {
    x.map(|half| half.sub(W::Doubles::splat(OFFSET)))
}

/// The shifted halves of any words, in `[0, 2^32)`.
#[inline(always)]
fn split<W: Words>(x: W) -> Halves<W> {
    [x.lower_shifted(), x.upper().lower_shifted()].map(W::to_bits)
}

/// What [`fold`] adds to the bits of shifted halves: a constant, the bias, and no `OFFSET`.
#[inline(always)]
pub const fn fold_constant<W: Words>(constant: u64) -> [u64; 2] {
    [
        (constant & EPSILON)
            .wrapping_add(BIAS[0])
            .wrapping_add(W::FLIP)
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
pub fn fold<W: Words>([l, h]: Halves<W>, constant: [u64; 2]) -> W {
    let l = W::from_bits(l).wrapping_add(W::splat(constant[0]));
    let h = W::from_bits(h).wrapping_add(W::splat(constant[1]));
    let y = l.wrapping_add(h.shr::<32>().mul_lower(W::epsilon()));
    h.shl::<32>().add_modulo(y)
}

/// The same element with halves of at most `2^31 + 2^22`, for halves below `2^53`.
///
/// With `l = l_0 + 2^32 l_1` and `h = h_0 + 2^32 h_1`, the element is `(l_0 - h_1) + 2^32 (h_0 + h_1 + l_1)`.
#[inline(always)]
pub fn normalize<W: Words>([l, h]: Halves<W>) -> Halves<W> {
    let scale = W::Doubles::splat(1.0 / (1u64 << 32) as f64);
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
pub fn mds_small<W: Words, const N: usize>(state: &[W; N]) -> [W; N]
where
    MdsMatrixGoldilocks: Circulant<N>,
{
    let halves: State<W, N> = state_halves(state, OFFSET);
    let [l, h] = halves.map(|half| circulant(half, const { &MdsMatrixGoldilocks::FOLDED[1] }));
    array::from_fn(|i| fold(shift::<W>([l[i], h[i]]), fold_constant::<W>(0)))
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

/// What every output of width 24 lacks when `2^31 (2^32 + 1)` is taken from every input.
const CENTER_24: u64 = {
    let mut sum = 0;
    let mut i = 0;
    while i < 24 {
        sum += MATRIX_CIRC_MDS_24_GOLDILOCKS[i] as u128;
        i += 1;
    }
    ((sum % P as u128) * ((1 << 31) * ((1 << 32) + 1)) % P as u128) as u64
};

/// The product with [`MdsMatrixGoldilocks`] of width 24, whose coefficients are arbitrary: one circulant per limb.
///
/// Halves in `[-2^31, 2^31)` make outputs below `24 * 2^15 * 2^31 < 2^50.6` for each limb.
#[inline(always)]
pub fn mds_24<W: Words>(state: &[W; 24]) -> [W; 24] {
    let halves: State<W, 24> = state_halves(state, OFFSET + (1u64 << 31) as f64);
    let halves = halves.map(fold_all);
    // One after the other: the code of all eight would not fit the instruction cache.
    let mut products = [halves; 4];
    for (products, limbs) in products.iter_mut().zip(&LIMBS_24) {
        for half in products {
            *half = unfold(*half, limbs);
        }
    }
    let [p0, p1, p2, p3] = products;
    array::from_fn(|i| {
        // p + 2^32 q = (p_l - q_h) + 2^32 (p_h + q_l + q_h)
        let combine = |p: &State<W, 24>, q: &State<W, 24>| {
            normalize::<W>([p[0][i].sub(q[1][i]), p[1][i].add(q[0][i]).add(q[1][i])])
        };
        let (even, odd) = (combine(&p0, &p2), combine(&p1, &p3));
        let scale = W::Doubles::splat((1 << 16) as f64);
        let sum = array::from_fn(|half| even[half].add_product(odd[half], scale));
        fold(shift::<W>(sum), fold_constant::<W>(CENTER_24))
    })
}

// ---- Rounds ----

/// A state, all lower halves first: one of the two at a time fits the registers.
type State<W, const WIDTH: usize> = [[<W as Words>::Doubles; WIDTH]; 2];

/// The halves of words, less `offset`; shifted if that is 0.
#[inline(always)]
fn state_halves<W: Words, const WIDTH: usize>(state: &[W; WIDTH], offset: f64) -> State<W, WIDTH> {
    let halves = state.map(split);
    array::from_fn(|half| array::from_fn(|i| halves[i][half].sub(W::Doubles::splat(offset))))
}

/// The full rounds of one state: constants, S-box on every element, matrix. `GROUP` S-boxes at a time.
#[inline(always)]
pub fn full_rounds<W: Words, const WIDTH: usize, const GROUP: usize>(
    state: &mut [W; WIDTH],
    constants: &[[[u64; 2]; WIDTH]],
) where
    MdsMatrixGoldilocks: Circulant<WIDTH>,
{
    let mut x: State<W, WIDTH> = state_halves(state, 0.0);
    for constants in constants {
        // Rolled loops, here and above: unrolled ones leave the instruction cache.
        for start in (0..WIDTH).step_by(GROUP) {
            let folded =
                array::from_fn(|i| fold([x[0][start + i], x[1][start + i]], constants[start + i]));
            let images = x7::<W, GROUP>(folded, |_, y| unshift::<W>(y));
            for i in 0..GROUP {
                [x[0][start + i], x[1][start + i]] = images[i];
            }
        }
        for half in &mut x {
            *half = circulant(*half, const { &MdsMatrixGoldilocks::FOLDED[1] })
                .map(|y| y.add(W::Doubles::splat(OFFSET)));
        }
    }
    *state = array::from_fn(|i| fold([x[0][i], x[1][i]], fold_constant::<W>(0)));
}

/// `K` partial rounds of `B` states, as in the documentation of the module. Elements 0 are shifted before and after.
// `i` is the third index of `x`, the second is the half.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
fn segment<W: Words, const WIDTH: usize, const K: usize, const B: usize>(
    x: &mut [State<W, WIDTH>; B],
    constants: &[[u64; 2]; K],
) where
    MdsMatrixGoldilocks: Circulant<WIDTH>,
{
    let powers = const { &MdsMatrixGoldilocks::POWERS };
    let offset = W::Doubles::splat(OFFSET);
    let y0 = x7::<W, B>(
        array::from_fn(|b| fold([x[b][0][0], x[b][1][0]], constants[0])),
        |_, y| unshift::<W>(y),
    );
    // (M^r x)_0, shifted. The term of y0 comes last, the others do not wait for it.
    let mut s = [[[offset; 2]; B]; K];
    for b in 0..B {
        let x = &mut x[b];
        for i in 1..WIDTH {
            [x[0][i], x[1][i]] = normalize::<W>([x[0][i], x[1][i]]);
        }
        [x[0][0], x[1][0]] = y0[b];
        for r in 1..K {
            for half in 0..2 {
                for j in (0..WIDTH).rev() {
                    let coefficient = W::Doubles::splat(powers[r][j]);
                    s[r][b][half] = s[r][b][half].add_product(x[half][j], coefficient);
                }
            }
        }
    }
    let mut d = [[[offset; 2]; B]; K];
    for r in 1..K {
        for b in 0..B {
            for half in 0..2 {
                for t in 1..r {
                    let coefficient = W::Doubles::splat(powers[r - t][0]);
                    s[r][b][half] = s[r][b][half].add_product(d[t][b][half], coefficient);
                }
            }
        }
        d[r] = x7::<W, B>(
            array::from_fn(|b| fold(s[r][b], constants[r])),
            |b, y: Halves<W>| array::from_fn(|half| y[half].sub(s[r][b][half])),
        );
        // Between two S-boxes, so that the CPU has both in its window.
        if r == 1 {
            for b in 0..B {
                apply_power::<W, WIDTH, K>(&mut x[b]);
            }
        }
    }
    for b in 0..B {
        if K == 1 {
            apply_power::<W, WIDTH, K>(&mut x[b]);
        }
        for t in 1..K {
            for half in 0..2 {
                for i in 0..WIDTH {
                    let coefficient = W::Doubles::splat(powers[K - t][(WIDTH - i) % WIDTH]);
                    x[b][half][i] = x[b][half][i].add_product(d[t][b][half], coefficient);
                }
            }
        }
    }
}

/// `M^K x`, element 0 shifted.
#[inline(always)]
fn apply_power<W: Words, const WIDTH: usize, const K: usize>(x: &mut State<W, WIDTH>)
where
    MdsMatrixGoldilocks: Circulant<WIDTH>,
{
    for half in x {
        *half = circulant(*half, const { &MdsMatrixGoldilocks::FOLDED[K] });
        half[0] = half[0].add(W::Doubles::splat(OFFSET));
    }
}

/// The partial rounds of `B` states, `K` to a segment: constant and S-box on element 0, matrix; at last the residual.
// As above.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
pub fn partial_rounds<W: Words, const WIDTH: usize, const K: usize, const B: usize>(
    states: &mut [[W; WIDTH]; B],
    constants: &[[u64; 2]],
    residual: &[[u64; 2]; WIDTH],
) where
    MdsMatrixGoldilocks: Circulant<WIDTH>,
{
    let mut x: [State<W, WIDTH>; B] = array::from_fn(|b| {
        let mut x = state_halves(&states[b], OFFSET);
        [x[0][0], x[1][0]] = split(states[b][0]);
        x
    });
    let (segments, rest) = constants.as_chunks::<K>();
    for constants in segments {
        segment::<W, WIDTH, K, B>(&mut x, constants);
    }
    for constants in rest.as_chunks::<1>().0 {
        segment::<W, WIDTH, 1, B>(&mut x, constants);
    }
    for b in 0..B {
        let x = &mut x[b];
        for i in 1..WIDTH {
            [x[0][i], x[1][i]] = shift::<W>([x[0][i], x[1][i]]);
        }
        states[b] = array::from_fn(|i| fold([x[0][i], x[1][i]], residual[i]));
    }
}

// ---- What p3-poseidon1 and p3-mds call ----

/// The product with [`MdsMatrixGoldilocks`] on packed elements.
pub trait PackedMds<const WIDTH: usize> {
    fn apply(state: [Packed; WIDTH]) -> [Packed; WIDTH];
}

macro_rules! impl_packed_mds {
    ($($width:literal: $mds:ident),*) => {$(
        impl PackedMds<$width> for MdsMatrixGoldilocks {
            fn apply(state: [Packed; $width]) -> [Packed; $width] {
                $mds(&state.map(PackedElement::to_words)).map(PackedElement::from_words)
            }
        }
    )*};
}
impl_packed_mds!(8: mds_small, 12: mds_small, 16: mds_small, 24: mds_24);

type PackedWords = <Packed as PackedElement>::Words;

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
        // The sparse form is that of whatever matrix the caller has. Only with this one may the textbook form replace it.
        let input: [Goldilocks; WIDTH] = array::from_fn(|i| Goldilocks::new(i as u64));
        let is_known_matrix = !constants.sparse_first_row.is_empty() && {
            let (mut sparse, mut textbook) = (input, input);
            partial_permute_state::<_, _, WIDTH, GOLDILOCKS_S_BOX_DEGREE>(&mut sparse, &constants);
            textbook_partial_permute_state::<_, _, _, WIDTH, GOLDILOCKS_S_BOX_DEGREE>(
                &mut textbook,
                &constants,
                &MdsMatrixGoldilocks,
            );
            sparse == textbook
        };
        let textbook = is_known_matrix.then(|| TextbookConstants {
            rounds: (constants.textbook_scalar_constants.iter())
                .map(|constant| fold_constant::<PackedWords>(constant.as_canonical_u64()))
                .collect(),
            residual: fold_constants(&constants.textbook_residual),
        });
        let generic = Poseidon1InternalLayerGeneric::new_from_constants(constants);
        Self { generic, textbook }
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
impl_generic_layers!(Packed, 24);

macro_rules! impl_packed_layers {
    ($($width:literal in groups of $group:literal),*) => {$(
        impl FullRoundLayer<Packed, $width, GOLDILOCKS_S_BOX_DEGREE>
            for Poseidon1ExternalLayerGoldilocks<$width>
        {
            fn permute_state_initial(&self, state: &mut [Packed; $width]) {
                let mut words = state.map(PackedElement::to_words);
                full_rounds::<_, $width, $group>(&mut words, &self.initial);
                *state = words.map(PackedElement::from_words);
            }

            fn permute_state_terminal(&self, state: &mut [Packed; $width]) {
                let mut words = state.map(PackedElement::to_words);
                full_rounds::<_, $width, $group>(&mut words, &self.terminal);
                *state = words.map(PackedElement::from_words);
            }
        }

        impl PartialRoundLayer<Packed, $width, GOLDILOCKS_S_BOX_DEGREE>
            for Poseidon1InternalLayerGoldilocks<$width>
        {
            fn permute_state(&self, state: &mut [Packed; $width]) {
                let Some(textbook) = &self.textbook else {
                    return self.generic.permute_state(state);
                };
                let mut words = [state.map(PackedElement::to_words)];
                partial_rounds::<_, $width, { <MdsMatrixGoldilocks as Circulant<$width>>::ROUNDS }, 1>(
                    &mut words,
                    &textbook.rounds,
                    &textbook.residual,
                );
                *state = words[0].map(PackedElement::from_words);
            }
        }
    )*};
}
impl_packed_layers!(8 in groups of 8, 12 in groups of 6, 16 in groups of 8);
