extern crate std;

#[cfg(all(mutated, target_feature = "avx2"))]
mod instructions;
#[cfg(target_arch = "x86_64")]
mod mutations;

use std::vec::Vec;

use p3_baby_bear::{BabyBear, BabyBearInternalLayerParameters, BabyBearParameters};
use p3_field::{Algebra, InjectiveMonomial, PrimeCharacteristicRing, PrimeField32};
use p3_koala_bear::{KoalaBear, KoalaBearInternalLayerParameters, KoalaBearParameters};
use p3_monty_31::{InternalLayerBaseParameters, MontyParameters};
use p3_patches_testing::known_answers::{BABY_BEAR_POSEIDON2, Instance, KOALA_BEAR_POSEIDON2};
use p3_poseidon2::{
    MDSMat4, add_rc_and_sbox_generic, external_initial_permute_state,
    external_terminal_permute_state,
};
use proptest::prelude::*;

use crate::{Divide2Exp, Pairing, exponents, internal_rounds};

macro_rules! divide_by_the_ring {
    ($field:ty) => {
        impl Divide2Exp for $field {
            fn div_2exp(self, n: u32) -> Self {
                self.div_2exp_u64(n.into())
            }

            fn add_div_2exp(self, x: Self, n: u32) -> Self {
                self + x.div_2exp(n)
            }

            fn sub_div_2exp(self, x: Self, n: u32) -> Self {
                self - x.div_2exp(n)
            }
        }
    };
}
divide_by_the_ring!(KoalaBear);
divide_by_the_ring!(BabyBear);

/// The element with this Montgomery form, below the order.
fn with_form<F: PrimeField32>(form: u32) -> F {
    F::from_u32(form).div_2exp_u64(32)
}

/// Montgomery forms where a division by `2^n`, for some `n`, or a correction by the order changes its course.
fn edges<MP: MontyParameters>() -> Vec<u32> {
    let p = MP::PRIME;
    let powers = (0..31).flat_map(|n| {
        let power = 1 << n;
        // Below: all that is divided away is set. At: none is. The last: the largest multiple, p - 1 up to the two-adicity.
        [
            power - 1,
            power,
            power + 1,
            p - power,
            p - 1 - power,
            (p - 1) / power * power,
        ]
    });
    powers
        .chain([0, 1, 2, p / 2, p / 2 + 1, p - 2, p - 1])
        .filter(|&x| x < p)
        .collect()
}

fn rounds_as_published<MP: MontyParameters, ILP, F: PrimeField32, const WIDTH: usize>(
    state: &mut [F; WIDTH],
    constants: &[F],
    sbox: fn(F) -> F,
) where
    ILP: InternalLayerBaseParameters<MP, WIDTH>,
{
    for &rc in constants {
        state[0] = sbox(state[0] + rc);
        ILP::generic_internal_linear_layer(state);
    }
}

/// One field and width: the kernel on single elements and, where there is one, on the packing, against upstream's rounds.
macro_rules! rounds {
    ($name:ident, $field:ident, $parameters:ty, $layer:ty, $width:literal, $exponents:expr, $degree:literal, $answers:ident) => {
        mod $name {
            use super::*;

            const WIDTH: usize = $width;

            fn element() -> impl Strategy<Value = $field> {
                let edges = edges::<$parameters>();
                let form = prop_oneof![0..<$parameters>::PRIME, prop::sample::select(edges)];
                form.prop_map(with_form::<$field>)
            }

            fn rounds<R: Divide2Exp>(state: &mut [R; WIDTH], constants: &[R]) {
                let pairing = const { &Pairing::new::<$parameters>(Some(&$exponents)).unwrap() };
                internal_rounds(state, constants, pairing, |x, rc| {
                    *x = (*x + rc).exp_const_u64::<$degree>();
                });
            }

            proptest! {
                #[test]
                fn are_those_of_the_release(
                    state in prop::array::uniform::<_, WIDTH>(element()),
                    constants in prop::collection::vec(element(), 0..24),
                ) {
                    let mut expected = state;
                    rounds_as_published::<$parameters, $layer, $field, WIDTH>(
                        &mut expected,
                        &constants,
                        |x| x.exp_const_u64::<$degree>(),
                    );
                    let mut actual = state;
                    rounds(&mut actual, &constants);
                    prop_assert_eq!(actual, expected);
                }
            }

            /// The kernel's rounds between the external ones of the release.
            #[test]
            fn give_known_answers() {
                fn permute<R>(answers: &Instance<WIDTH>, state: &mut [R; WIDTH])
                where
                    R: Divide2Exp + Algebra<$field> + InjectiveMonomial<$degree>,
                {
                    let (initial, internal, terminal) = answers.poseidon2_constants();
                    let internal: Vec<_> = internal.into_iter().map($field::into).collect();
                    let add = add_rc_and_sbox_generic::<$field, R, $degree>;
                    external_initial_permute_state(state, &initial, add, &MDSMat4);
                    rounds(state, &internal);
                    external_terminal_permute_state(state, &terminal, add, &MDSMat4);
                }
                let answers = Instance::of($answers);
                answers.check::<$field>(|states| {
                    states.iter_mut().for_each(|state| permute(&answers, state));
                });
                #[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
                answers.check::<Packed<$field>>(|states| {
                    states.iter_mut().for_each(|state| permute(&answers, state));
                });
            }

            #[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
            #[test]
            pub fn of_packed_edges_are_those_of_the_lanes() {
                let edges = edges::<$parameters>();
                for start in (0..edges.len()).step_by(7) {
                    let at = |lane: usize, i: usize| {
                        with_form::<$field>(edges[(start + 5 * lane + 7 * i) % edges.len()])
                    };
                    let constants = [1, 2, 3].map(|i| at(i, i));
                    let mut packed: [Packed<$field>; WIDTH] =
                        std::array::from_fn(|i| Packed::<$field>::from_fn(|lane| at(lane, i)));
                    rounds(&mut packed, &constants.map(Into::into));
                    for lane in 0..Packed::<$field>::WIDTH {
                        let mut state = std::array::from_fn(|i| at(lane, i));
                        rounds(&mut state, &constants);
                        let of_lane = packed.map(|x| x.as_slice()[lane]);
                        assert_eq!(of_lane, state, "lane {lane}");
                    }
                }
            }

            #[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
            proptest! {
                #[test]
                fn of_a_packing_are_those_of_its_lanes(
                    states in prop::collection::vec(
                        prop::array::uniform::<_, WIDTH>(element()),
                        Packed::<$field>::WIDTH,
                    ),
                    constants in prop::collection::vec(element(), 0..24),
                ) {
                    let mut packed: [Packed<$field>; WIDTH] =
                        std::array::from_fn(|i| Packed::<$field>::from_fn(|lane| states[lane][i]));
                    let broadcast: Vec<_> = constants.iter().map(|&rc| rc.into()).collect();
                    rounds(&mut packed, &broadcast);
                    for (lane, mut state) in states.into_iter().enumerate() {
                        rounds(&mut state, &constants);
                        let of_lane = packed.map(|x| x.as_slice()[lane]);
                        prop_assert_eq!(of_lane, state, "lane {}", lane);
                    }
                }
            }
        }
    };
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
use p3_field::{Field, PackedValue};

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
type Packed<F> = <F as Field>::Packing;

/// Every divisor and the edges next to it, few enough for Miri.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
fn divisions<MP: MontyParameters, F: PrimeField32 + Divide2Exp>()
where
    Packed<F>: Divide2Exp,
{
    let p = MP::PRIME;
    for n in (1..=15).chain([(p - 1).trailing_zeros()]) {
        let d = 1 << n;
        let forms = [0, 1, d - 1, d, d + 1, p / 2, p - d, (p - 1) / d * d, p - 1];
        let edges = forms.map(with_form::<F>);
        let lane = |first: usize, lane: usize| edges[(first + lane) % edges.len()];
        for first in (0..edges.len()).step_by(3) {
            let x = Packed::<F>::from_fn(|l| lane(first, l));
            let sum = Packed::<F>::from_fn(|l| lane(2 * first + 4, l));
            let results = [
                x.div_2exp(n),
                sum.add_div_2exp(x, n),
                sum.sub_div_2exp(x, n),
            ];
            for l in 0..Packed::<F>::WIDTH {
                let (x, sum) = (lane(first, l), lane(2 * first + 4, l));
                let expected = [
                    x.div_2exp(n),
                    sum.add_div_2exp(x, n),
                    sum.sub_div_2exp(x, n),
                ];
                assert_eq!(
                    results.map(|x| x.as_slice()[l]),
                    expected,
                    "2^{n}, lane {l}"
                );
            }
        }
    }
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
#[test]
fn divisions_are_those_of_the_lanes() {
    divisions::<KoalaBearParameters, KoalaBear>();
    divisions::<BabyBearParameters, BabyBear>();
}

/// The edges of all divisors divided by each.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
#[test]
fn divisions_of_all_edges() {
    let elements: Vec<KoalaBear> = (edges::<KoalaBearParameters>().into_iter())
        .map(with_form)
        .collect();
    for n in (1..=15).chain([24]) {
        for elements in elements.chunks(Packed::<KoalaBear>::WIDTH) {
            let at = |lane: usize| elements[lane % elements.len()];
            let quotient = Packed::<KoalaBear>::from_fn(at).div_2exp(n);
            let expected = Packed::<KoalaBear>::from_fn(|lane| at(lane).div_2exp(n));
            assert_eq!(quotient, expected, "2^{n}");
        }
    }
}

rounds!(
    koala_bear_16,
    KoalaBear,
    KoalaBearParameters,
    KoalaBearInternalLayerParameters,
    16,
    exponents::KOALA_BEAR_16,
    3,
    KOALA_BEAR_POSEIDON2
);
rounds!(
    koala_bear_24,
    KoalaBear,
    KoalaBearParameters,
    KoalaBearInternalLayerParameters,
    24,
    exponents::KOALA_BEAR_24,
    3,
    KOALA_BEAR_POSEIDON2
);
rounds!(
    baby_bear_16,
    BabyBear,
    BabyBearParameters,
    BabyBearInternalLayerParameters,
    16,
    exponents::BABY_BEAR_16,
    7,
    BABY_BEAR_POSEIDON2
);
rounds!(
    baby_bear_24,
    BabyBear,
    BabyBearParameters,
    BabyBearInternalLayerParameters,
    24,
    exponents::BABY_BEAR_24,
    7,
    BABY_BEAR_POSEIDON2
);
