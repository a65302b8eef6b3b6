//! The rounds with one operation changed at a time: the values have to show each. Every operation takes and returns canonical
//! elements, so that there are no bounds.

use core::iter::{Product, Sum};
use core::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign};
use std::format;
use std::string::String;

use p3_field::Field;
use p3_patches_testing::mutation::{self, MutationTest, goes_wrong};

use super::*;

/// A ring whose operations are mutated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ring<F>(F);

impl<F: Field> Add for Ring<F> {
    type Output = Self;

    #[track_caller]
    fn add(self, rhs: Self) -> Self {
        Self(mutation::sum(self.0, rhs.0, F::add))
    }
}

impl<F: Field> AddAssign for Ring<F> {
    #[track_caller]
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}

impl<F: Field> Sub for Ring<F> {
    type Output = Self;

    #[track_caller]
    fn sub(self, rhs: Self) -> Self {
        Self(mutation::skippable(self.0, |x| x - rhs.0))
    }
}

impl<F: Field> SubAssign for Ring<F> {
    #[track_caller]
    fn sub_assign(&mut self, rhs: Self) {
        *self = *self - rhs;
    }
}

impl<F: Field> Neg for Ring<F> {
    type Output = Self;

    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl<F: Field> Mul for Ring<F> {
    type Output = Self;

    fn mul(self, rhs: Self) -> Self {
        Self(self.0 * rhs.0)
    }
}

impl<F: Field> MulAssign for Ring<F> {
    fn mul_assign(&mut self, rhs: Self) {
        *self = *self * rhs;
    }
}

impl<F: Field> Sum for Ring<F> {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Self::add)
    }
}

impl<F: Field> Product for Ring<F> {
    fn product<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ONE, Self::mul)
    }
}

impl<F: Field> PrimeCharacteristicRing for Ring<F> {
    type PrimeSubfield = F::PrimeSubfield;

    const ZERO: Self = Self(F::ZERO);
    const ONE: Self = Self(F::ONE);
    const TWO: Self = Self(F::TWO);
    const NEG_ONE: Self = Self(F::NEG_ONE);

    fn from_prime_subfield(f: Self::PrimeSubfield) -> Self {
        Self(F::from_prime_subfield(f))
    }

    #[track_caller]
    fn double(&self) -> Self {
        Self(mutation::skippable(self.0, |x| x.double()))
    }

    #[track_caller]
    fn halve(&self) -> Self {
        Self(mutation::skippable(self.0, |x| x.halve()))
    }
}

impl<F: Field> Divide2Exp for Ring<F> {
    #[track_caller]
    fn div_2exp(self, n: u32) -> Self {
        Self(self.0.div_2exp_u64(mutation::distance(n).into()))
    }

    #[track_caller]
    fn add_div_2exp(self, x: Self, n: u32) -> Self {
        if goes_wrong("the other sign") {
            return Self(self.0 - x.0.div_2exp_u64(n.into()));
        }
        let n = mutation::distance(n);
        Self(mutation::sum(self.0, x.0.div_2exp_u64(n.into()), F::add))
    }

    #[track_caller]
    fn sub_div_2exp(self, x: Self, n: u32) -> Self {
        if goes_wrong("the other sign") {
            return Self(self.0 + x.0.div_2exp_u64(n.into()));
        }
        let n = mutation::distance(n);
        Self(mutation::skippable(self.0, |sum| {
            sum - x.0.div_2exp_u64(n.into())
        }))
    }
}

/// Three rounds, so that what the first changes in a pair comes back.
fn examine<MP, ILP, F, const WIDTH: usize>(
    name: &str,
    pairing: &Pairing<WIDTH>,
    sbox: fn(F) -> F,
) -> String
where
    MP: MontyParameters,
    ILP: InternalLayerBaseParameters<MP, WIDTH>,
    F: PrimeField32,
{
    let edges = edges::<MP>();
    let state =
        |start: usize| core::array::from_fn(|i| with_form(edges[(start + 7 * i) % edges.len()]));
    let states: Vec<[F; WIDTH]> = (0..4).map(|i| state(41 * i)).collect();
    let constants: Vec<F> = (1..4).map(|i| F::from_u32(0x0123_4567 * i)).collect();
    MutationTest {
        name,
        files: &["poseidon2_paired.rs"],
        bounds: None,
        inputs: &states,
        value: &|&state| {
            let mut expected = state;
            rounds_as_published::<MP, ILP, F, WIDTH>(&mut expected, &constants, sbox);
            let mut actual = state.map(Ring);
            internal_rounds(&mut actual, &constants, pairing, |x, rc| {
                *x = Ring(sbox(x.0 + rc));
            });
            actual.map(|x| x.0) == expected
        },
        equivalent: &[],
    }
    .run()
}

#[test]
fn rounds() {
    const KOALA_BEAR_16: &Pairing<16> =
        &Pairing::new::<KoalaBearParameters>(Some(&exponents::KOALA_BEAR_16)).unwrap();
    const KOALA_BEAR_24: &Pairing<24> =
        &Pairing::new::<KoalaBearParameters>(Some(&exponents::KOALA_BEAR_24)).unwrap();
    const BABY_BEAR_16: &Pairing<16> =
        &Pairing::new::<BabyBearParameters>(Some(&exponents::BABY_BEAR_16)).unwrap();
    const BABY_BEAR_24: &Pairing<24> =
        &Pairing::new::<BabyBearParameters>(Some(&exponents::BABY_BEAR_24)).unwrap();
    let mut report = String::new();
    macro_rules! examine {
        ($field:ident, $parameters:ty, $layer:ty, $degree:literal, $($width:literal: $pairing:expr),*) => {$(
            report += &examine::<$parameters, $layer, $field, $width>(
                &format!("{} of width {}", stringify!($field), $width),
                $pairing,
                |x| x.exp_const_u64::<$degree>(),
            );
        )*};
    }
    examine!(
        KoalaBear, KoalaBearParameters, KoalaBearInternalLayerParameters, 3,
        16: KOALA_BEAR_16, 24: KOALA_BEAR_24
    );
    examine!(
        BabyBear, BabyBearParameters, BabyBearInternalLayerParameters, 7,
        16: BABY_BEAR_16, 24: BABY_BEAR_24
    );
    insta::assert_snapshot!("rounds", report);
}
