//! Circulant matrices on halves, by convolutions of half the length.
//!
//! ```text
//! x        | x_i               | x_(n+i)           |   0 <= i < n
//! folded   | x_i + x_(n+i)     | x_i - x_(n+i)     |
//! product  | a_i + b_i         | a_i - b_i         |
//! ```
//!
//! `a` is the cyclic convolution of the sums and `b` the negacyclic one of the differences. The row
//! is folded alike, once and for all, and halved ([`folded`]). The sums are folded further, down to
//! [`base`].

use core::array;

use super::halves::{fold, fold_constant, normalize, shift, state_halves};
use super::{AsDoubles, Doubles, MAX_ROUNDS, OFFSET, P, State};
use crate::{
    MATRIX_CIRC_MDS_8_SML_ROW, MATRIX_CIRC_MDS_12_SML_ROW, MATRIX_CIRC_MDS_16_SML_ROW,
    MATRIX_CIRC_MDS_24_GOLDILOCKS, MdsMatrixGoldilocks,
};

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

/// The coefficients of the convolutions that a circulant folds to: half the sums of opposite ones,
/// half the differences.
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

/// From the convolution `a` of the sums and from the differences, whose negacyclic convolution is
/// `b`, to the whole: `a + b` and `a - b`.
#[inline(always)]
fn unfold_once<D: Doubles, const HALF: usize>(x: &mut [D], row: &[f64]) {
    let differences: [D; HALF] = array::from_fn(|i| x[HALF + i]);
    // Differences that wrap around change sign. Where the loops are unrolled, the instructions take
    // that over.
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
pub(super) fn circulant<D: Doubles, const N: usize>(x: [D; N], row: &[f64; N]) -> [D; N] {
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

/// The limbs of the row of width 24: base `2^16`, each in `[-2^15, 2^15]`, as [`unfold`] needs
/// them.
pub(super) const LIMBS_24: [[f64; 24]; 4] = {
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

/// The product with [`MdsMatrixGoldilocks`] of width 24, whose coefficients are arbitrary: one
/// circulant per limb.
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
