//! The kernel against Plonky3 as published, operation by operation next to each carry, and against its own bounds.
//!
//! [`Integer`] runs the kernel's text on one lane of ordinary integers, so that all of this is tested on every machine.

use core::fmt::Debug;

use p3_field::PackedValue;
use p3_goldilocks::Goldilocks;
use p3_patches_testing::goldilocks::{self as plain, P, representative};
use p3_patches_testing::mutation::sample;
use proptest::prelude::*;

use self::differential::{Kernel, Published};
use self::lanes::Integer;
use crate::poseidon2_limbs::{self, Limb, Limbs};
use crate::poseidon2_rounds::{Representation, Rounds};
use crate::vector::Packed;

mod bounds;
// Whole vectors of one element are not looked at here.
#[allow(dead_code)]
#[path = "../../packed-poseidon2/src/tests/differential.rs"]
mod differential;
#[cfg(all(mutated, target_feature = "avx512ifma"))]
mod instructions;
// Flipped lanes are AVX2's.
#[allow(dead_code)]
#[path = "../../packed-poseidon2/src/tests/lanes.rs"]
mod lanes;
mod limb;
#[cfg(target_arch = "x86_64")]
mod mutations;
#[cfg(target_arch = "x86_64")]
mod smt;

const MASK_52: u64 = (1 << 52) - 1;

// ---- Whole permutations ----

impl Packed for Goldilocks {
    type Words = Integer<false>;

    fn to_words(self) -> Integer<false> {
        // SAFETY: `Goldilocks` is `repr(transparent)` over a `u64`.
        Integer(unsafe { core::mem::transmute::<Self, u64>(self) })
    }

    fn from_words(words: Integer<false>) -> Self {
        Self::new(words.0)
    }
}

/// The rounds, in groups.
struct Interleaved;

impl<E: Packed<Words: Limb>> Kernel<E> for Interleaved {
    fn permute<const WIDTH: usize, const B: usize>(
        constants: &Published<WIDTH>,
        states: &mut [[E; WIDTH]; B],
    ) {
        let Published { external, internal } = constants;
        let rounds = Rounds::<Limbs<E::Words>, WIDTH>::new(external, internal);
        let mut unreduced = states.map(|state| state.map(|x| Limbs::widen(x.to_words())));
        rounds.permute(&mut unreduced);
        *states = unreduced.map(|state| state.map(|x| E::from_words(Limbs::reduce(x))));
    }
}

fn rounds_match<E: Packed<Words: Limb> + PackedValue<Value = Goldilocks> + PartialEq + Debug>() {
    differential::check::<Interleaved, E>();
}

#[test]
fn portable_lanes_match_the_published_permutation() {
    rounds_match::<Goldilocks>();
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
#[test]
fn packed_states_match_the_published_permutation() {
    rounds_match::<crate::PackedGoldilocksAVX512>();
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
#[test]
fn few_rounds_of_packed_states_match_the_paper() {
    differential::check_few::<Interleaved, crate::PackedGoldilocksAVX512>();
}

/// The permutation that this crate offers.
#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
#[test]
fn permutations_match_the_published_ones() {
    struct Offered;

    impl Kernel<crate::PackedGoldilocksAVX512> for Offered {
        fn permute<const WIDTH: usize, const B: usize>(
            constants: &Published<WIDTH>,
            states: &mut [[crate::PackedGoldilocksAVX512; WIDTH]; B],
        ) {
            crate::IfmaPoseidon2::new(&constants.external, &constants.internal).permute(states);
        }
    }

    differential::check::<Offered, crate::PackedGoldilocksAVX512>();
}

// ---- The operations, on limbs that a permutation of random states does not reach ----

/// A vector, all of whose lanes are alike.
trait Uniform: Limb {
    fn uniform(self) -> i64;
}

impl Uniform for Integer<false> {
    fn uniform(self) -> i64 {
        self.0 as i64
    }
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
impl Uniform for core::arch::x86_64::__m512i {
    fn uniform(self) -> i64 {
        // SAFETY: a vector is eight words.
        let words: [i64; 8] = unsafe { core::mem::transmute(self) };
        assert_eq!(words, [words[0]; 8]);
        words[0]
    }
}

/// The field element that two limbs stand for.
fn value([l, h]: [i64; 2]) -> u64 {
    plain::residue(i128::from(l) + (i128::from(h) << 52))
}

/// Close to a multiple of `2^bits`, that is, to a carry, within 63 bits and a sign.
fn near_carry(bits: u32) -> impl Strategy<Value = i64> {
    (0u32..=63 - bits, any::<i64>(), -3i64..=3).prop_map(move |(top, x, offset)| {
        let x = x >> bits >> top << bits;
        x.saturating_add(offset)
            .clamp(i64::MIN + (1 << 32), i64::MAX - (1 << 32))
    })
}

/// Lower limbs: arbitrary, or such that a fold of the upper limb moves them over a multiple of `2^52`.
fn lower() -> impl Strategy<Value = i64> {
    prop_oneof![
        near_carry(52),
        (near_carry(52), -(1i64 << 19)..1 << 19).prop_map(|(x, fold)| x.saturating_add(fold))
    ]
}

fn upper() -> impl Strategy<Value = i64> {
    prop_oneof![near_carry(44), near_carry(12), near_carry(0)].prop_map(|h| h >> 2)
}

/// Representatives of an operand: carried, with any bits above the low 52 of the lower limb.
fn operand() -> impl Strategy<Value = [i64; 2]> {
    const H: [i64; 6] = [
        0,
        1,
        (1 << 44) - 1,
        1 << 44,
        (1 << 44) + (1 << 11) - 1,
        1 << 43,
    ];
    let l = prop_oneof![
        0..=MASK_52 as i64,
        prop::sample::select(std::vec![0, 1, 2, MASK_52 as i64 - 1, MASK_52 as i64])
    ];
    let h = prop_oneof![
        0..(1i64 << 44) + (1 << 11),
        prop::sample::select(H.to_vec())
    ];
    [l.boxed(), h.boxed()]
}

macro_rules! operations {
    ($name:ident, $vector:ty) => {
        mod $name {
            use super::*;
            use crate::vector::Vector;

            type V = $vector;

            fn splat(x: [i64; 2]) -> [V; 2] {
                x.map(|word| V::splat(word as u64))
            }

            fn words(x: [V; 2]) -> [i64; 2] {
                x.map(V::uniform)
            }

            fn element(x: V) -> u64 {
                x.uniform() as u64 % P
            }

            proptest! {
                #![proptest_config(ProptestConfig::with_cases(4096))]

                #[test]
                fn reduce(l in lower(), h in upper()) {
                    check_reduction([l, h]);
                }

                #[test]
                fn widen_then_reduce(x in representative()) {
                    let reduced = Limbs::reduce(Limbs::widen(V::splat(x)));
                    prop_assert_eq!(element(reduced), x % P);
                }

                /// `operand` accepts a lower limb that is negative by less than its constant's zero.
                #[test]
                fn operand_is_carried(l in lower(), h in upper(), c in representative()) {
                    let l = l.rem_euclid(1 << 61) - (5 << 52);
                    let constant = Limbs::<V>::constant(Goldilocks::new(c));
                    let [low, high] = words(poseidon2_limbs::operand(splat([l, h]), constant));
                    prop_assert!((0..(1 << 44) + (1 << 11)).contains(&high));
                    let carried = value([low & MASK_52 as i64, high]);
                    prop_assert_eq!(carried, plain::add(value([l, h]), c));
                }

                #[test]
                fn tail_is_compact(l in lower(), h in upper()) {
                    let [low, high] = words(Limbs::compact_tail(splat([l, h])));
                    prop_assert!((0..1 << 52).contains(&low));
                    prop_assert!((-(1 << 11)..(1 << 44) + (1 << 11)).contains(&high));
                    prop_assert_eq!(value([low, high]), value([l, h]));
                }

                #[test]
                fn x7(x in operand(), above in any::<i64>()) {
                    check_power(x, above);
                }

                #[test]
                fn div_2exp(
                    l in lower(),
                    h in upper(),
                    bits in prop::sample::select(std::vec![1, 2, 3, 4, 5, 6, 8, 10, 32]),
                ) {
                    check_quotient([l, h], bits);
                }
            }

            #[track_caller]
            fn check_reduction([l, h]: [i64; 2]) {
                let h = h.clamp(-(1 << 62) + (1 << 13), (1 << 62) - (1 << 13));
                assert_eq!(element(Limbs::reduce(splat([l, h]))), value([l, h]));
            }

            #[track_caller]
            fn check_power(x: [i64; 2], above: i64) {
                let mut x7 = [splat([x[0] ^ above << 52, x[1]])];
                poseidon2_limbs::x7(&mut x7);
                let [result] = x7.map(words);
                assert_eq!(value(result), plain::power_7(value(x)));
                assert!(((1 << 52) - (1 << 48)..5 << 52).contains(&result[0]));
                assert!((-(1 << 48)..3 << 52).contains(&result[1]));
            }

            #[track_caller]
            fn check_quotient(x: [i64; 2], bits: u32) {
                let quotient = value(words(Limbs::div_2exp(splat(x), bits)));
                assert_eq!(plain::mul(quotient, 1 << bits), value(x));
            }

            /// Few of them, for instructions that go wrong in an emulator.
            #[test]
            pub fn few_operations_are_exact() {
                for (x, above) in sample((operand(), any::<i64>()), 16) {
                    check_power(x, above);
                }
                for (l, h) in sample((lower(), upper()), 16) {
                    check_reduction([l, h]);
                    for bits in [1, 6, 10, 32] {
                        check_quotient([l, h], bits);
                    }
                }
            }
        }
    };
}

operations!(portable, Integer<false>);
#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
operations!(packed, core::arch::x86_64::__m512i);
