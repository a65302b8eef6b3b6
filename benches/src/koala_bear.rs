//! KoalaBear with its extension of degree 5, and the hashes that upstream's WHIR example uses with it.

use p3_challenger::DuplexChallenger;
use p3_field::Field;
use p3_field::extension::{PackedQuinticTrinomialExtensionField, QuinticTrinomialExtensionField};
use p3_koala_bear::{
    KoalaBear, Poseidon2KoalaBear, default_koalabear_poseidon2_16, default_koalabear_poseidon2_24,
};
use p3_merkle_tree::MerkleTreeMmcs;
use p3_symmetric::{PaddingFreeSponge, TruncatedPermutation};

pub type Packed = <KoalaBear as Field>::Packing;
pub type Quintic = QuinticTrinomialExtensionField<KoalaBear>;
pub type PackedQuintic = PackedQuinticTrinomialExtensionField<KoalaBear, Packed>;
pub type Challenger = DuplexChallenger<KoalaBear, Poseidon2KoalaBear<16>, 16, 8>;
pub type Mmcs = MerkleTreeMmcs<
    Packed,
    Packed,
    PaddingFreeSponge<Poseidon2KoalaBear<24>, 24, 16, 8>,
    TruncatedPermutation<Poseidon2KoalaBear<16>, 2, 8, 16>,
    2,
    8,
>;

pub fn challenger() -> Challenger {
    Challenger::new(default_koalabear_poseidon2_16())
}

pub fn mmcs() -> Mmcs {
    Mmcs::new(
        PaddingFreeSponge::new(default_koalabear_poseidon2_24()),
        TruncatedPermutation::new(default_koalabear_poseidon2_16()),
        0,
    )
}
