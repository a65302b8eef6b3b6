//! Poseidon2 over Goldilocks on targets with a kernel for packed states.
//!
//! [`Poseidon2GoldilocksFused`] holds the round constants twice. The layers of p3-poseidon2 have
//! them for scalar states and for packed ones of width 20, [`Rounds`] for packed ones of width 8,
//! 12 and 16. Both compute the same permutation.
//!
//! A packed state is as many states as a vector has words, and no operation of the rounds crosses
//! words. Its elements become words once, before the first round, and elements once, after the
//! last:
//!
//! ```text
//! to_words, widen      any representatives, to unreduced values
//! external rounds      S-box on each element
//! internal rounds      S-box on element 0; the states are interleaved, where there are several
//! external rounds
//! reduce, from_words   unreduced values, to any representatives
//! ```
//!
//! [`Representation`] says what an unreduced value is, and [`Kernel`] names the one of this build.

use alloc::vec::Vec;
use core::fmt::{self, Debug, Formatter};

use p3_poseidon2::{ExternalLayerConstants, InternalLayer, Poseidon2, poseidon2_round_numbers_128};
use p3_symmetric::{CryptographicPermutation, Permutation};
use rand::distr::{Distribution, StandardUniform};
use rand::{Rng, RngExt};

use crate::Goldilocks;
use crate::poseidon1::GOLDILOCKS_S_BOX_DEGREE;
use crate::poseidon2_rounds::{Representation, Rounds, has_rounds};
use crate::vector::Packed;
#[cfg(all(
    target_arch = "x86_64",
    target_feature = "avx2",
    not(target_feature = "avx512f")
))]
use crate::{
    PackedGoldilocksAVX2 as Packing, Poseidon2ExternalLayerGoldilocksAVX2 as External,
    Poseidon2InternalLayerGoldilocksAVX2 as Internal,
};
#[cfg(all(target_arch = "x86_64", target_feature = "avx512f"))]
use crate::{
    PackedGoldilocksAVX512 as Packing, Poseidon2ExternalLayerGoldilocksAVX512 as External,
    Poseidon2InternalLayerGoldilocksAVX512 as Internal,
};

/// How the kernel keeps its elements between the rounds.
type Kernel = crate::poseidon2_halves::Halves<<Packing as Packed>::Words>;

/// The layers of scalar states, and of packed ones of width 20.
type Layers<const WIDTH: usize> =
    Poseidon2<Goldilocks, External<WIDTH>, Internal, WIDTH, GOLDILOCKS_S_BOX_DEGREE>;

/// The Poseidon2 permutation for Goldilocks.
///
/// It acts on `[Goldilocks; WIDTH]` and on `[<Goldilocks as Field>::Packing; WIDTH]`. Packed states
/// of width 8, 12 and 16 take rounds without modular additions, see [`Rounds`], with constants
/// prepared at construction.
#[derive(Clone)]
pub struct Poseidon2GoldilocksFused<const WIDTH: usize> {
    layers: Layers<WIDTH>,
    rounds: Rounds<Kernel, WIDTH>,
}

impl<const WIDTH: usize> Debug for Poseidon2GoldilocksFused<WIDTH> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // The layers hold the same constants, and have no `Debug`.
        f.debug_struct("Poseidon2GoldilocksFused")
            .field("rounds", &self.rounds)
            .finish_non_exhaustive()
    }
}

impl<const WIDTH: usize> Poseidon2GoldilocksFused<WIDTH> {
    /// A permutation with the given round constants.
    ///
    /// # Panics
    /// Panics if there are fewer than 6 external rounds.
    pub fn new(
        external_constants: ExternalLayerConstants<Goldilocks, WIDTH>,
        internal_constants: Vec<Goldilocks>,
    ) -> Self {
        Self {
            rounds: Rounds::new(&external_constants, &internal_constants),
            layers: Poseidon2::new(external_constants, internal_constants),
        }
    }

    /// A permutation with random round constants.
    ///
    /// # Panics
    /// Panics if `rounds_f` is odd or below 6.
    pub fn new_from_rng<R: Rng>(rounds_f: usize, rounds_p: usize, rng: &mut R) -> Self
    where
        StandardUniform: Distribution<Goldilocks> + Distribution<[Goldilocks; WIDTH]>,
    {
        let external_constants = ExternalLayerConstants::new_from_rng(rounds_f, rng);
        let internal_constants = rng.sample_iter(StandardUniform).take(rounds_p).collect();
        Self::new(external_constants, internal_constants)
    }

    /// A permutation with 128 bits of security and random round constants.
    ///
    /// # Panics
    /// Panics if no round numbers are known for the width.
    pub fn new_from_rng_128<R: Rng>(rng: &mut R) -> Self
    where
        StandardUniform: Distribution<Goldilocks> + Distribution<[Goldilocks; WIDTH]>,
    {
        let round_numbers =
            poseidon2_round_numbers_128::<Goldilocks>(WIDTH, GOLDILOCKS_S_BOX_DEGREE);
        let (rounds_f, rounds_p) = round_numbers.unwrap_or_else(|e| panic!("{e}"));
        Self::new_from_rng(rounds_f, rounds_p, rng)
    }

    /// Permutes `B` packed states.
    // In place: LLVM copies arrays of vectors that closures return.
    #[inline(always)]
    pub(crate) fn permute_packed<const B: usize>(&self, states: &mut [[Packing; WIDTH]; B]) {
        let mut unreduced = [[Kernel::widen(states[0][0].to_words()); WIDTH]; B];
        for (unreduced, state) in unreduced.iter_mut().zip(&*states) {
            for (unreduced, x) in unreduced.iter_mut().zip(state) {
                *unreduced = Kernel::widen(x.to_words());
            }
        }
        self.rounds.permute(&mut unreduced);
        for (unreduced, state) in unreduced.iter().zip(states) {
            for (unreduced, x) in unreduced.iter().zip(state) {
                *x = Packing::from_words(Kernel::reduce(*unreduced));
            }
        }
    }
}

impl<const WIDTH: usize> Permutation<[Goldilocks; WIDTH]> for Poseidon2GoldilocksFused<WIDTH>
where
    Internal: InternalLayer<Goldilocks, WIDTH, GOLDILOCKS_S_BOX_DEGREE>,
{
    fn permute_mut(&self, state: &mut [Goldilocks; WIDTH]) {
        self.layers.permute_mut(state);
    }
}

impl<const WIDTH: usize> CryptographicPermutation<[Goldilocks; WIDTH]>
    for Poseidon2GoldilocksFused<WIDTH>
where
    Internal: InternalLayer<Goldilocks, WIDTH, GOLDILOCKS_S_BOX_DEGREE>,
{
}

impl<const WIDTH: usize> Permutation<[Packing; WIDTH]> for Poseidon2GoldilocksFused<WIDTH>
where
    Internal: InternalLayer<Packing, WIDTH, GOLDILOCKS_S_BOX_DEGREE>,
{
    fn permute_mut(&self, state: &mut [Packing; WIDTH]) {
        if has_rounds(WIDTH) {
            self.permute_packed(core::array::from_mut(state));
        } else {
            self.layers.permute_mut(state);
        }
    }
}

impl<const WIDTH: usize> CryptographicPermutation<[Packing; WIDTH]>
    for Poseidon2GoldilocksFused<WIDTH>
where
    Internal: InternalLayer<Packing, WIDTH, GOLDILOCKS_S_BOX_DEGREE>,
{
}

#[cfg(test)]
mod tests {
    use core::array;

    use p3_field::{PackedValue, PrimeField64};
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    use super::*;
    use crate::poseidon2_halves::{Halves, LIMIT, mul_unreduced};
    use crate::vector::{EPSILON, Vector, Word, mul, square};

    type V = <Packing as Packed>::Words;

    const LANES: usize = Packing::WIDTH;

    const P: u128 = Goldilocks::ORDER_U64 as u128;

    /// Representatives next to every carry: around 0, `2^32`, the order and `2^64`. The last two
    /// make a product whose biased low word is `2^64 - 1`.
    const EDGES: [u64; 16] = [
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
        11 * 128_551 * 9_014_141,
        31_226_411 * 199_051_301,
    ];

    fn vector(lanes: impl Fn(usize) -> u64) -> V {
        Packing::from_fn(|lane| Goldilocks::new(lanes(lane))).to_words()
    }

    fn lanes(vector: V) -> [u64; LANES] {
        // SAFETY: a vector is as many words as it has lanes, without padding.
        unsafe { core::mem::transmute(vector) }
    }

    fn residue([low, high]: [V; 2]) -> [u128; LANES] {
        let (low, high) = (lanes(low), lanes(high));
        array::from_fn(|lane| {
            let value = i128::from(low[lane] as i64) + (i128::from(high[lane] as i64) << 32);
            value.rem_euclid(P as i128) as u128
        })
    }

    /// An edge for each lane, a different one in each.
    fn edge(i: usize) -> impl Fn(usize) -> u64 {
        move |lane| EDGES[(i + lane) % EDGES.len()]
    }

    #[test]
    fn word_operations_act_on_every_lane() {
        for i in 0..EDGES.len() {
            for j in 0..EDGES.len() {
                let (x, y) = (edge(i), edge(j));
                let (v, w) = (vector(&x), vector(&y));
                let check = |found: V, expected: &dyn Fn(u64, u64) -> u64| {
                    assert_eq!(lanes(found), array::from_fn(|l| expected(x(l), y(l))));
                };
                check(v.wrapping_add(w), &u64::wrapping_add);
                check(v.wrapping_sub(w), &u64::wrapping_sub);
                check(v.and(w), &|x, y| x & y);
                check(v.mul_low(w), &|x, y| (x & EPSILON) * (y & EPSILON));
                check(v.mul_low(V::epsilon()), &|x, _| (x & EPSILON) * EPSILON);
                check(V::join(v, w), &|x, y| x & EPSILON | y << 32);
                check(v.high().and(V::splat(EPSILON)), &|x, _| x >> 32);
                for bits in [1, 5, 31, 32, 33] {
                    check(v.shl(bits), &|x, _| x << bits);
                    check(v.shr(bits), &|x, _| x >> bits);
                }
            }
        }
    }

    #[test]
    fn add_modulo_corrects_once_up_to_its_bound() {
        for x in EDGES {
            let sums = [
                0,
                P - 1,
                P,
                (1 << 64) - 1,
                1 << 64,
                (1 << 65) - (1 << 32) - 1,
            ];
            for sum in sums {
                let Ok(y) = u64::try_from(sum.wrapping_sub(u128::from(x))) else {
                    continue;
                };
                let found = V::add_modulo(V::splat(x), V::splat(y.wrapping_add(V::FLIP)));
                for lane in lanes(found) {
                    assert_eq!(u128::from(lane) % P, sum % P, "{x:x} + {y:x}");
                }
            }
        }
    }

    #[test]
    fn products_are_exact() {
        for i in 0..EDGES.len() {
            let square = lanes(square(vector(edge(i))));
            for j in 0..EDGES.len() {
                let (v, w) = (vector(edge(i)), vector(edge(j)));
                let product = lanes(mul(v, w));
                let unreduced = mul_unreduced(v, w);
                for lane in 0..LANES {
                    let (x, y) = (u128::from(edge(i)(lane)), u128::from(edge(j)(lane)));
                    assert_eq!(u128::from(product[lane]) % P, x * y % P, "{x:x} * {y:x}");
                    assert_eq!(u128::from(square[lane]) % P, x * x % P, "{x:x}^2");
                    assert_eq!(residue(unreduced)[lane], x * y % P, "{x:x} * {y:x}");
                }
                let [low, high] = unreduced.map(lanes);
                assert!(
                    low.iter()
                        .all(|&x| (-(2 << 32) + 1..1 << 32).contains(&(x as i64)))
                );
                assert!(high.iter().all(|&x| x < 2 << 32));
            }
        }
    }

    /// Both words at the ends of what a reduction takes, and next to each carry.
    #[test]
    fn reductions_and_divisions_hold_at_their_bounds() {
        let limit = LIMIT as i64 - 1;
        let words = [
            -limit,
            limit,
            0,
            -1,
            1 << 32,
            -(1 << 33),
            limit - EPSILON as i64,
        ];
        for low in words {
            for high in words {
                let x = [low, high].map(|word| V::splat(word as u64));
                let reduced = lanes(Halves::reduce(x)).map(|lane| u128::from(lane) % P);
                assert_eq!(reduced, residue(x), "{low:x} {high:x}");
                for bits in [1, 2, 3, 4, 6, 8, 10, 32] {
                    if bits == 32 || (low >= 0 && high >= 0) {
                        let quotient = residue(Halves::div_2exp(x, bits));
                        let product = quotient.map(|lane| (lane << bits) % P);
                        assert_eq!(product, residue(x), "{low:x} {high:x} / 2^{bits}");
                    }
                }
            }
        }
    }

    /// Packed states equal their lanes permuted as scalar states, which take the layers.
    fn packed_matches_scalar<const WIDTH: usize>()
    where
        Internal: InternalLayer<Goldilocks, WIDTH, GOLDILOCKS_S_BOX_DEGREE>
            + InternalLayer<Packing, WIDTH, GOLDILOCKS_S_BOX_DEGREE>,
        StandardUniform: Distribution<Goldilocks> + Distribution<[Goldilocks; WIDTH]>,
    {
        let mut rng = SmallRng::seed_from_u64(WIDTH as u64);
        let permutation = Poseidon2GoldilocksFused::<WIDTH>::new_from_rng(8, 22, &mut rng);
        for round in 0..64 {
            let lanes: [[Goldilocks; WIDTH]; LANES] = array::from_fn(|_| {
                array::from_fn(|_| match round {
                    0..32 => Goldilocks::new(EDGES[rng.random_range(0..EDGES.len())]),
                    _ => rng.random(),
                })
            });
            let state = array::from_fn(|i| Packing::from_fn(|lane| lanes[lane][i]));
            let permuted: [Packing; WIDTH] = permutation.permute(state);
            for (l, lane) in lanes.into_iter().enumerate() {
                let found = permuted.map(|x| x.as_slice()[l]);
                assert_eq!(found, permutation.permute(lane), "lane {l} of {state:?}");
            }
        }
    }

    #[test]
    fn packed_states_match_scalar_ones() {
        packed_matches_scalar::<8>();
        packed_matches_scalar::<12>();
        packed_matches_scalar::<16>();
        packed_matches_scalar::<20>();
    }
}
