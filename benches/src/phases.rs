//! The three phases of a Poseidon2 permutation, each alone, for `cargo p3 phases`.
//!
//! They go through upstream's layer traits, on one state: what a patch does for several states together is not in them.

use p3_field::{PackedValue, PrimeCharacteristicRing};
use p3_goldilocks::Goldilocks;
use p3_goldilocks::poseidon1::GOLDILOCKS_S_BOX_DEGREE as DEGREE;
// On NEON the permutation that provers use has no layers; this one calls the same assembly, packed widths 12 and 16
// apart.
#[cfg(not(target_arch = "aarch64"))]
use p3_goldilocks::Poseidon2Goldilocks as Layered;
#[cfg(target_arch = "aarch64")]
use p3_goldilocks::Poseidon2GoldilocksAsm as Layered;
use p3_poseidon2::{
    ExternalLayer, ExternalLayerConstants, ExternalLayerConstructor, InternalLayer,
    InternalLayerConstructor, Poseidon2, poseidon2_round_numbers_128,
};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::permute::repeat;
use crate::row::Prepared;

/// The types of a permutation's layers.
pub trait Layers {
    type External;
    type Internal;
}

impl<F, E, I, const WIDTH: usize, const D: u64> Layers for Poseidon2<F, E, I, WIDTH, D> {
    type External = E;
    type Internal = I;
}

type External<const WIDTH: usize> = <Layered<WIDTH> as Layers>::External;
type Internal<const WIDTH: usize> = <Layered<WIDTH> as Layers>::Internal;

/// Numbers of external and internal rounds.
fn rounds<const WIDTH: usize>() -> (usize, usize) {
    poseidon2_round_numbers_128::<Goldilocks>(WIDTH, DEGREE).expect("a width that upstream has")
}

/// Round constants may be any: no time depends on them.
fn external<const WIDTH: usize>() -> External<WIDTH>
where
    External<WIDTH>: ExternalLayerConstructor<Goldilocks, WIDTH>,
{
    let mut rng = SmallRng::seed_from_u64(WIDTH as u64);
    let constants = ExternalLayerConstants::new_from_rng(rounds::<WIDTH>().0, &mut rng);
    ExternalLayerConstructor::new_from_constants(constants)
}

/// The first external rounds.
pub fn initial<P, const WIDTH: usize>(seed: u64) -> Prepared
where
    P: PackedValue<Value = Goldilocks> + PrimeCharacteristicRing,
    External<WIDTH>:
        ExternalLayerConstructor<Goldilocks, WIDTH> + ExternalLayer<P, WIDTH, DEGREE> + 'static,
{
    let layer = external::<WIDTH>();
    repeat(seed, move |state| layer.permute_state_initial(state))
}

/// The internal rounds.
pub fn internal<P, const WIDTH: usize>(seed: u64) -> Prepared
where
    P: PackedValue<Value = Goldilocks> + PrimeCharacteristicRing,
    Internal<WIDTH>:
        InternalLayerConstructor<Goldilocks> + InternalLayer<P, WIDTH, DEGREE> + 'static,
{
    let mut rng = SmallRng::seed_from_u64(WIDTH as u64);
    let constants = (0..rounds::<WIDTH>().1).map(|_| rng.random()).collect();
    let layer = Internal::<WIDTH>::new_from_constants(constants);
    repeat(seed, move |state| layer.permute_state(state))
}

/// The last external rounds.
pub fn terminal<P, const WIDTH: usize>(seed: u64) -> Prepared
where
    P: PackedValue<Value = Goldilocks> + PrimeCharacteristicRing,
    External<WIDTH>:
        ExternalLayerConstructor<Goldilocks, WIDTH> + ExternalLayer<P, WIDTH, DEGREE> + 'static,
{
    let layer = external::<WIDTH>();
    repeat(seed, move |state| layer.permute_state_terminal(state))
}
