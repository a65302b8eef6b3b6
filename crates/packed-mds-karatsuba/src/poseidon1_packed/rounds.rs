//! The rounds of Poseidon1 on halves.

use core::array;

use super::circulant::{Circulant, circulant};
use super::halves::{fold, fold_constant, normalize, shift, split, unshift};
use super::sbox::x7;
use super::{AsDoubles, Doubles, Halves, MAX_ROUNDS, OFFSET, State};
use crate::MdsMatrixGoldilocks;
use crate::vector::Packed;

/// The full rounds of one state: constants, S-box on every element, matrix. `GROUP` S-boxes at a
/// time.
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

/// `rounds` partial rounds of `B` states, as in the documentation of the module, which has `K` for
/// them. There are as many constants. Elements 0 are shifted before and after.
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

/// The partial rounds of `B` states, `K` to a segment: constant and S-box on element 0, matrix; at
/// last the residual.
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
        // AVX2 gains a twentieth by whole segments whose loops are unrolled. AVX-512 gains nothing,
        // and its code is larger.
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
