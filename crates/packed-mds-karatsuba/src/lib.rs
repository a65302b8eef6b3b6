//! Packed Poseidon1 and its MDS matrices over Goldilocks on exact doubles, with one reduction per output.
//!
//! The kernel is `poseidon1_packed`, the module that the patch of the same name adds to p3-goldilocks; its documentation has
//! the mechanism and the bounds. The words under it are packed-poseidon2's, whose `vector` files are compiled here once
//! more, as they are in p3-goldilocks. This crate root stands in for p3-goldilocks's, so that the same bytes compile in both
//! places. It offers the kernel to provers that stay on Plonky3 as published, as a permutation of its own type; where
//! neither AVX2 nor AVX-512 is enabled, that is the published one. Provers that apply the patch change nothing.
//!
//! ```
//! use p3_field::{Field, PackedValue};
//! use p3_goldilocks::Goldilocks;
//! use p3_goldilocks::poseidon1::default_goldilocks_poseidon1_8;
//! use p3_symmetric::Permutation;
//!
//! type Packing = <Goldilocks as Field>::Packing;
//! let state: [Packing; 8] = core::array::from_fn(|i| Packing::from_fn(|_| Goldilocks::new(i as u64)));
//!
//! let permutation = packed_mds_karatsuba::default_8();
//! assert_eq!(permutation.permute(state), default_goldilocks_poseidon1_8().permute(state));
//! ```

#![no_std]

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
extern crate alloc;
#[cfg(test)]
extern crate std;
// With the instructions that Miri lacks, or wrong ones.
#[cfg(all(test, any(miri, mutated)))]
extern crate p3_patches_testing as core;

use p3_goldilocks::poseidon1::{
    GOLDILOCKS_POSEIDON_HALF_FULL_ROUNDS, GOLDILOCKS_POSEIDON_PARTIAL_ROUNDS_8,
    GOLDILOCKS_POSEIDON_PARTIAL_ROUNDS_12, GOLDILOCKS_POSEIDON1_RC_8, GOLDILOCKS_POSEIDON1_RC_12,
};
use p3_goldilocks::{MATRIX_CIRC_MDS_8_COL, MATRIX_CIRC_MDS_12_COL};
use p3_poseidon1::Poseidon1Constants;

// Documented in upstream's manner: the modules are private there, and public here for batched-poseidon1.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
#[allow(missing_docs)]
#[doc(hidden)]
pub mod poseidon1_packed;
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
#[allow(missing_docs)]
#[doc(hidden)]
#[path = "../../packed-poseidon2/src/vector.rs"]
pub mod vector;
#[cfg(all(
    target_arch = "x86_64",
    target_feature = "avx2",
    not(target_feature = "avx512f")
))]
#[path = "../../packed-poseidon2/src/x86_64_avx2/vector.rs"]
mod vector_avx2;
#[cfg(all(target_arch = "x86_64", target_feature = "avx512f"))]
#[path = "../../packed-poseidon2/src/x86_64_avx512/vector.rs"]
mod vector_avx512;

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod packed {
    use p3_field::Field;
    use p3_goldilocks::poseidon1::GOLDILOCKS_S_BOX_DEGREE;
    use p3_goldilocks::{Goldilocks, MdsMatrixGoldilocks};
    use p3_poseidon1::Poseidon1;
    use p3_symmetric::Permutation;

    use crate::poseidon1_packed::PackedMds;
    pub use crate::poseidon1_packed::{
        Poseidon1ExternalLayerGoldilocks, Poseidon1InternalLayerGoldilocks,
    };

    /// Poseidon1 over Goldilocks with this crate's layers.
    pub type PackedPoseidon1<const WIDTH: usize> = Poseidon1<
        Goldilocks,
        Poseidon1ExternalLayerGoldilocks<WIDTH>,
        Poseidon1InternalLayerGoldilocks<WIDTH>,
        WIDTH,
        GOLDILOCKS_S_BOX_DEGREE,
    >;

    /// The matrices of `MdsMatrixGoldilocks` of widths 8, 12, 16 and 24, on packed elements.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct PackedMdsMatrix;

    type Packing = <Goldilocks as Field>::Packing;

    impl<const WIDTH: usize> Permutation<[Packing; WIDTH]> for PackedMdsMatrix
    where
        MdsMatrixGoldilocks: PackedMds<WIDTH>,
    {
        fn permute(&self, state: [Packing; WIDTH]) -> [Packing; WIDTH] {
            <MdsMatrixGoldilocks as PackedMds<WIDTH>>::apply(state)
        }
    }
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
pub use packed::*;
// This build has no packed kernel.
#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
pub use p3_goldilocks::{
    MdsMatrixGoldilocks as PackedMdsMatrix,
    poseidon1::Poseidon1GoldilocksGeneric as PackedPoseidon1,
};

// 0.8.0 has no matrices of widths 16 and 24 for packed elements on aarch64, and there is no kernel for it here.
#[cfg(all(test, not(target_arch = "aarch64")))]
mod tests;

#[cfg(all(test, target_arch = "aarch64"))]
#[test]
#[ignore = "the kernel is x86-64's: cargo p3 test --only 'kernels/x86-64-*'"]
fn packed_poseidon1() {
    unreachable!("ignored")
}

// The items that the kernel finds in p3-goldilocks's root.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
use matrices::*;
#[cfg(all(
    target_arch = "x86_64",
    target_feature = "avx2",
    not(target_feature = "avx512f")
))]
use p3_goldilocks::PackedGoldilocksAVX2;
#[cfg(all(target_arch = "x86_64", target_feature = "avx512f"))]
use p3_goldilocks::PackedGoldilocksAVX512;
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
use p3_goldilocks::{Goldilocks, MdsMatrixGoldilocks, poseidon1};

/// The rows of the circulants, which p3-goldilocks keeps to itself.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod matrices {
    pub const MATRIX_CIRC_MDS_8_SML_ROW: [i64; 8] = [7, 1, 3, 8, 8, 3, 4, 9];
    pub const MATRIX_CIRC_MDS_12_SML_ROW: [i64; 12] = [1, 1, 2, 1, 8, 9, 10, 7, 5, 9, 4, 10];
    pub const MATRIX_CIRC_MDS_16_SML_ROW: [i64; 16] =
        [1, 1, 51, 1, 11, 17, 2, 1, 101, 63, 15, 2, 67, 22, 13, 3];
    #[rustfmt::skip]
    pub const MATRIX_CIRC_MDS_24_GOLDILOCKS: [u64; 24] = [
        0x5FFFFFFFA00AAAAB, 0x24021AB75BBFE656, 0x7BE9082D73B06DF5, 0x2282863E9C3A5A62,
        0xE0071C70DFFC71C8, 0x796CB65AB42A1A63, 0xDBBBBFFADFFDDDE3, 0x23B88EE217C5C9C2,
        0x20030C309FFB6DB7, 0x23C3C64763BE1E1D, 0x0F93B7C9CC51362E, 0xC697A1094BD0850A,
        0xDFFFFFFF1FFC71C8, 0xC15A4FD614950302, 0xC41D883A4C4DEDF2, 0x187879BC23C46462,
        0x5FFCF3CEDFFE79E8, 0x1C41DF105B82398E, 0x64444003DFFDDDDA, 0x76EDDBB6F7E51F95,
        0x1FF8E38E20038E39, 0x214139BD5C40A09D, 0x3065B7CCF3B3B621, 0x23B6F4622485CEDC,
    ];
}

/// The permutation of `p3_goldilocks::poseidon1::default_goldilocks_poseidon1_8`.
#[must_use]
pub fn default_8() -> PackedPoseidon1<8> {
    PackedPoseidon1::new(&Poseidon1Constants {
        rounds_f: 2 * GOLDILOCKS_POSEIDON_HALF_FULL_ROUNDS,
        rounds_p: GOLDILOCKS_POSEIDON_PARTIAL_ROUNDS_8,
        mds_circ_col: MATRIX_CIRC_MDS_8_COL,
        round_constants: GOLDILOCKS_POSEIDON1_RC_8.to_vec(),
    })
}

/// The permutation of `p3_goldilocks::poseidon1::default_goldilocks_poseidon1_12`.
#[must_use]
pub fn default_12() -> PackedPoseidon1<12> {
    PackedPoseidon1::new(&Poseidon1Constants {
        rounds_f: 2 * GOLDILOCKS_POSEIDON_HALF_FULL_ROUNDS,
        rounds_p: GOLDILOCKS_POSEIDON_PARTIAL_ROUNDS_12,
        mds_circ_col: MATRIX_CIRC_MDS_12_COL,
        round_constants: GOLDILOCKS_POSEIDON1_RC_12.to_vec(),
    })
}
