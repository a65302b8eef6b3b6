//! KoalaBear and BabyBear with the Poseidon2 that upstream's WHIR example uses over KoalaBear, and a STARK's configuration of it.

use p3_baby_bear::{
    BabyBear, Poseidon2BabyBear, default_babybear_poseidon2_16, default_babybear_poseidon2_24,
};
use p3_challenger::DuplexChallenger;
use p3_field::{Field, PrimeField32, TwoAdicField};
use p3_koala_bear::{
    KoalaBear, Poseidon2KoalaBear, default_koalabear_poseidon2_16, default_koalabear_poseidon2_24,
};
use p3_merkle_tree::MerkleTreeMmcs;
use p3_symmetric::{CryptographicPermutation, PaddingFreeSponge, TruncatedPermutation};

/// A field of p3-monty-31 with its Poseidon2 of widths 16 and 24.
pub trait Monty31: PrimeField32 + TwoAdicField {
    type Width16: CryptographicPermutation<[Self; 16]>;
    type Width24: CryptographicPermutation<[Self; 24]>;

    fn width_16() -> Self::Width16;
    fn width_24() -> Self::Width24;
}

impl Monty31 for KoalaBear {
    type Width16 = Poseidon2KoalaBear<16>;
    type Width24 = Poseidon2KoalaBear<24>;

    fn width_16() -> Self::Width16 {
        default_koalabear_poseidon2_16()
    }

    fn width_24() -> Self::Width24 {
        default_koalabear_poseidon2_24()
    }
}

impl Monty31 for BabyBear {
    type Width16 = Poseidon2BabyBear<16>;
    type Width24 = Poseidon2BabyBear<24>;

    fn width_16() -> Self::Width16 {
        default_babybear_poseidon2_16()
    }

    fn width_24() -> Self::Width24 {
        default_babybear_poseidon2_24()
    }
}

pub type Challenger<F> = DuplexChallenger<F, <F as Monty31>::Width16, 16, 8>;
pub type Mmcs<F> = MerkleTreeMmcs<
    <F as Field>::Packing,
    <F as Field>::Packing,
    PaddingFreeSponge<<F as Monty31>::Width24, 24, 16, 8>,
    TruncatedPermutation<<F as Monty31>::Width16, 2, 8, 16>,
    2,
    8,
>;

pub fn challenger<F: Monty31>() -> Challenger<F> {
    Challenger::<F>::new(F::width_16())
}

pub fn mmcs<F: Monty31>() -> Mmcs<F> {
    Mmcs::<F>::new(
        PaddingFreeSponge::new(F::width_24()),
        TruncatedPermutation::new(F::width_16()),
        0,
    )
}

#[cfg(all(feature = "proofs", feature = "since-0-8"))]
mod stark {
    use p3_uni_stark::StarkConfig;

    use super::{Challenger, Mmcs, Monty31, challenger, mmcs};
    use crate::extension::Quartic;
    use crate::fri::{Pcs, pcs};

    type Config<F> = StarkConfig<Pcs<F, Quartic<F>, Mmcs<F>>, Quartic<F>, Challenger<F>>;

    /// Challenges are of degree 4.
    pub fn config<F: Monty31>() -> Config<F> {
        StarkConfig::new(pcs(mmcs::<F>()), challenger::<F>())
    }
}
#[cfg(all(feature = "proofs", feature = "since-0-8"))]
pub use stark::config;
