//! The Goldilocks field, `p = 2^64 - 2^32 + 1`, on plain integers.

use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// The order of the field.
pub const P: u64 = 0xffff_ffff_0000_0001;

/// Representatives next to every carry of the reductions, canonical or not.
pub const EDGES: [u64; 14] = [
    0,
    1,                     // an even value becomes odd: halving
    0xffff_fffe,           // 2^32 - 2
    0xffff_ffff,           // 2^32 - 1, which is 2^64
    1 << 32,               // the low half carries
    1 << 63,               // a signed comparison takes it for negative
    0xffff_fffe_ffff_ffff, // p - 2^32: the largest sum of a multiple of 2^32 and 2^32 - 1 below p
    P - 1,
    P, // a zero that is not canonical
    P + 1,
    0xffff_ffff_ffff_0000,
    u64::MAX - 1,
    u64::MAX,              // the largest representative: both halves full
    0x7fff_ffff_8000_0001, // (p + 1) / 2
];

/// Any representative; one in three is an edge, or close to one.
pub fn representative() -> impl Strategy<Value = u64> {
    prop_oneof![
        2 => any::<u64>(),
        1 => (prop::sample::select(EDGES.to_vec()), -2i64..=2)
            .prop_map(|(edge, offset)| edge.wrapping_add_signed(offset)),
    ]
}

/// Pairs of operands within 2 of where the reduction of their product changes its course, found by solving for them.
///
/// The product is `low + 2^64 (h + 2^32 k)`, its residue `low + (2^32 - 1) h - k`. At a borrow, `low = k`; at a carry,
/// `low + (2^32 - 1) h - k = 2^64`. Some kernels add `2^64 - 2^33 + 2` to the product, which is `1 - 2^32`, and `2^32 - 1` to
/// the residue, for which there is one more carry. Each says that the product is `a h + c`: for one operand, the other one
/// and `h` follow. The rest are the powers of 2 and their neighbours, and lower words of products at an edge.
#[must_use]
pub fn operands() -> Vec<[u64; 2]> {
    const BIAS: i128 = (1 << 64) - (1 << 33) + 2;
    let mut rng = SmallRng::seed_from_u64(2);
    let mut operands = Vec::new();
    for offset in -2i128..=2 {
        let mut found = [0; 3];
        while found.iter().any(|found| *found < 24) {
            let x = rng.random_range(1u64 << 20..1 << 38) | 1;
            let k = i128::from(rng.random_range(0..=x >> 32));
            let carry = (1 << 64) + offset;
            let thresholds = [
                (1 << 64, k + offset),
                (i128::from(P), carry + k),
                (i128::from(P), carry + k - 0xffff_ffff - BIAS),
            ];
            for (found, (a, c)) in found.iter_mut().zip(thresholds) {
                let product = solve(x, a, c + (k << 96));
                let y = product.and_then(|product| u64::try_from(product / i128::from(x)).ok());
                if let Some(y) = y {
                    *found += 1;
                    operands.push([x, y]);
                }
            }
        }
    }
    for edge in EDGES {
        // `x y = edge` modulo 2^64.
        let x: u64 = rng.random::<u64>() | 1;
        operands.push([x, inverse(x).wrapping_mul(edge)]);
        operands.extend(EDGES.map(|other| [edge, other]));
    }
    for bit in 0..64 {
        for offset in -2i64..=2 {
            let x = (1u64 << bit).wrapping_add_signed(offset);
            operands.extend([[x, x], [x, rng.random()], [x, x.wrapping_neg()]]);
        }
    }
    // The factors of 2^96 - 2^64 + 2^33 - 1: with the bias, its lower word is 2^64 - 1, and its upper one adds the most to it.
    operands.push([11 * 128_551 * 199_051_301, 9_014_141 * 31_226_411]);
    operands
}

/// Operands of squares: both of each pair, and the root of a square that is close to their product.
#[must_use]
pub fn roots(operands: &[[u64; 2]]) -> Vec<u64> {
    let root = |x, y| (u128::from(x) * u128::from(y)).isqrt() as u64;
    let roots = operands.iter().flat_map(|&[x, y]| [x, y, root(x, y)]);
    roots.collect()
}

/// The inverse of an odd `x` modulo `2^64`, by Newton's iteration, from 3 bits.
#[must_use]
pub fn inverse(x: u64) -> u64 {
    (0..5).fold(x, |inverse, _| {
        inverse.wrapping_mul(2u64.wrapping_sub(x.wrapping_mul(inverse)))
    })
}

/// The multiple of `x` that is `a h + c` for an `h` in `[0, 2^32)`, if there is one.
fn solve(x: u64, a: i128, c: i128) -> Option<i128> {
    let x = i128::from(x);
    // Euclid's algorithm: the inverse of `a`.
    let (mut remainders, mut inverses) = ((x, a % x), (0, 1));
    while remainders.1 != 0 {
        let quotient = remainders.0 / remainders.1;
        remainders = (remainders.1, remainders.0 - quotient * remainders.1);
        inverses = (inverses.1, inverses.0 - quotient * inverses.1);
    }
    let h = (-c % x * (inverses.0 % x)).rem_euclid(x);
    let product = a * h + c;
    (remainders.0 == 1 && h >> 32 == 0 && product >= 0).then_some(product)
}

/// Seeded states of elements that `pack` makes of so many lanes: an edge in every position, an edge in one lane of one
/// element, edges mixed at random.
pub fn states<A: Copy, const WIDTH: usize>(
    lanes: usize,
    pack: impl Fn(&[u64]) -> A,
) -> Vec<[A; WIDTH]> {
    let mut rng = SmallRng::seed_from_u64(WIDTH as u64);
    let mut states = Vec::new();
    for edge in EDGES {
        states.push([pack(&vec![edge; lanes]); WIDTH]);
        for lane in 0..lanes {
            let mut state = [(); WIDTH].map(|()| vec![0; lanes]);
            state.iter_mut().for_each(|x| rng.fill(&mut x[..]));
            state[rng.random_range(0..WIDTH)][lane] = edge;
            states.push(state.map(|x| pack(&x)));
        }
    }
    for _ in 0..64 {
        let mut edges = |_| EDGES[rng.random_range(0..EDGES.len())];
        states.push([(); WIDTH].map(|()| pack(&(0..lanes).map(&mut edges).collect::<Vec<_>>())));
    }
    states
}

/// The canonical representative of an integer.
#[must_use]
pub const fn residue(x: i128) -> u64 {
    x.rem_euclid(P as i128) as u64
}

/// The canonical sum of two representatives.
#[must_use]
pub fn add(x: u64, y: u64) -> u64 {
    ((u128::from(x) + u128::from(y)) % u128::from(P)) as u64
}

/// Their canonical product.
#[must_use]
pub fn mul(x: u64, y: u64) -> u64 {
    (u128::from(x) * u128::from(y) % u128::from(P)) as u64
}

/// The S-box.
#[must_use]
pub fn power_7(x: u64) -> u64 {
    (0..6).fold(x, |power, _| mul(power, x))
}

/// The round constants of Poseidon2 and the diagonal of its internal matrix, less one.
#[derive(Clone, Debug)]
pub struct Poseidon2<const WIDTH: usize> {
    /// Constants of the first half of the external rounds.
    pub initial: Vec<[u64; WIDTH]>,
    /// Constants of the internal rounds.
    pub internal: Vec<u64>,
    /// Constants of the second half of the external rounds.
    pub terminal: Vec<[u64; WIDTH]>,
    /// `V` in the internal matrix `1 + diag(V)`, the all-one matrix plus a diagonal.
    pub diagonal: [u64; WIDTH],
}

impl<const WIDTH: usize> Poseidon2<WIDTH> {
    /// The permutation, matrix by matrix, as in sections 5.1 and 5.2 of <https://eprint.iacr.org/2023/323>, with the
    /// matrix `M4` that Plonky3 uses, `circ(2, 3, 1, 1)`. The result is canonical.
    #[must_use]
    pub fn permute(&self, state: [u64; WIDTH]) -> [u64; WIDTH] {
        let external_round = |state: [u64; WIDTH], constants: &[u64; WIDTH]| {
            let sbox = |i: usize| power_7(add(state[i], constants[i]));
            Self::external_matrix(std::array::from_fn(sbox))
        };

        let state = Self::external_matrix(state);
        let state = self.initial.iter().fold(state, external_round);
        let state = self.internal.iter().fold(state, |mut state, &constant| {
            state[0] = power_7(add(state[0], constant));
            let sum = state.iter().copied().fold(0, add);
            std::array::from_fn(|i| add(sum, mul(self.diagonal[i], state[i])))
        });
        self.terminal.iter().fold(state, external_round)
    }

    /// `circ(2 M4, M4, ..., M4)`, entry by entry.
    fn external_matrix(state: [u64; WIDTH]) -> [u64; WIDTH] {
        const M4: [u64; 4] = [2, 3, 1, 1];
        std::array::from_fn(|row| {
            (0..WIDTH).fold(0, |sum, column| {
                let block = if row / 4 == column / 4 { 2 } else { 1 };
                add(
                    sum,
                    mul(block * M4[(4 + column % 4 - row % 4) % 4], state[column]),
                )
            })
        })
    }
}

/// The round constants of Poseidon1 and the first row of its circulant matrix.
#[derive(Clone, Debug)]
pub struct Poseidon1<const WIDTH: usize> {
    /// Constants of the first half of the full rounds.
    pub initial: Vec<[u64; WIDTH]>,
    /// Constants of the partial rounds.
    pub partial: Vec<[u64; WIDTH]>,
    /// Constants of the second half of the full rounds.
    pub terminal: Vec<[u64; WIDTH]>,
    /// The matrix is `row[(column - row) mod WIDTH]`.
    pub row: [u64; WIDTH],
}

impl<const WIDTH: usize> Poseidon1<WIDTH> {
    /// The permutation, round by round, as in section 2.3 of <https://eprint.iacr.org/2019/458>. The result is canonical.
    #[must_use]
    pub fn permute(&self, state: [u64; WIDTH]) -> [u64; WIDTH] {
        let round = |state: [u64; WIDTH], constants: &[u64; WIDTH], boxes: usize| {
            let state: [u64; WIDTH] = std::array::from_fn(|i| {
                let x = add(state[i], constants[i]);
                if i < boxes { power_7(x) } else { x }
            });
            self.matrix(state)
        };
        let state = (self.initial.iter()).fold(state, |state, c| round(state, c, WIDTH));
        let state = (self.partial.iter()).fold(state, |state, c| round(state, c, 1));
        (self.terminal.iter()).fold(state, |state, c| round(state, c, WIDTH))
    }

    /// The circulant matrix, entry by entry.
    #[must_use]
    pub fn matrix(&self, state: [u64; WIDTH]) -> [u64; WIDTH] {
        std::array::from_fn(|i| {
            (0..WIDTH).fold(0, |sum, j| {
                add(sum, mul(self.row[(WIDTH + j - i) % WIDTH], state[j]))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_words_have_inverses() {
        for x in EDGES.map(|edge| edge | 1) {
            assert_eq!(x.wrapping_mul(inverse(x)), 1, "{x:x}");
        }
    }

    /// How often the solver hits each threshold, exactly and on both sides.
    #[test]
    fn operands_are_next_to_each_threshold() {
        let mut seen = std::collections::BTreeSet::new();
        for [x, y] in operands() {
            let product = u128::from(x) * u128::from(y);
            for (threshold, bias) in [(0, 0), (1, 0), (2, (1u128 << 64) - (1 << 33) + 2)] {
                let Some(biased) = product.checked_add(bias) else {
                    continue;
                };
                let word = |shift: u32| (biased >> shift) as u64;
                let (low, h, k) = (word(0), word(64) & 0xffff_ffff, word(96));
                let signed = i128::from(low) - i128::from(k);
                let folded = signed + 0xffff_ffff * i128::from(h) - (1 << 64);
                let distance = [signed, folded, folded + 0xffff_ffff][threshold];
                if distance.abs() <= 2 {
                    seen.insert((threshold, distance));
                }
            }
        }
        assert_eq!(seen.len(), 15, "{seen:?}");
    }
}
