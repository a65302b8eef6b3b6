//! The sponge against Plonky3 as published: every number of messages about a group of states, every length about a block.

extern crate std;

use core::fmt::Debug;
use std::vec::Vec;

use p3_field::PackedValue;
use p3_goldilocks::{
    default_goldilocks_poseidon2_8, default_goldilocks_poseidon2_12,
    default_goldilocks_poseidon2_16,
};
use p3_patches_testing::goldilocks as plain;
use p3_poseidon2::ExternalLayerConstants;
use p3_symmetric::{CryptographicHasher, CryptographicPermutation, PaddingFreeSponge};

use super::*;

/// Messages of edge values and arbitrary ones, in blocks of `RATE` elements and a digest of four.
fn check<A, Published, const WIDTH: usize, const RATE: usize>(
    batched: &BatchedPoseidon2<A, WIDTH>,
    published: Published,
) where
    A: BatchElement + PackedValue<Value = Goldilocks> + Default + PartialEq + Debug,
    Published: CryptographicPermutation<[A; WIDTH]>,
{
    let published = PaddingFreeSponge::<_, WIDTH, RATE, 4>::new(published);
    let states: Vec<[A; WIDTH]> =
        plain::states(A::WIDTH, |lanes| A::from_fn(|l| Goldilocks::new(lanes[l])));
    let values = states.as_flattened();
    for count in 0..10 {
        for length in 0..=3 * RATE + 1 {
            // Other values for each shape, over all there are.
            let start = (count * 1009 + length * 9176) % (values.len() - count * length);
            let input = &values[start..][..count * length];
            let mut digests = std::vec![[A::default(); 4]; count];
            batched.hash_many::<RATE, 4>(input, &mut digests);
            for (i, digest) in digests.iter().enumerate() {
                let message = input[i * length..][..length].iter().copied();
                assert_eq!(
                    *digest,
                    published.hash_iter(message),
                    "message {i} of {count}, {length} elements"
                );
            }
        }
    }
}

/// [`check`] for all widths, with the rates that provers use.
macro_rules! check_widths {
    ($name:ident, $element:ty) => {
        #[test]
        fn $name() {
            check::<$element, _, 8, 4>(
                &BatchedPoseidon2::default_8(),
                default_goldilocks_poseidon2_8(),
            );
            check::<$element, _, 12, 8>(
                &BatchedPoseidon2::default_12(),
                default_goldilocks_poseidon2_12(),
            );
            check::<$element, _, 16, 12>(
                &BatchedPoseidon2::default_16(),
                default_goldilocks_poseidon2_16(),
            );
        }
    };
}

check_widths!(scalar_sponges_match_the_published_one, Goldilocks);
// On other targets, the packing is the scalar field or has no kernel here.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
check_widths!(
    packed_sponges_match_the_published_one,
    <Goldilocks as p3_field::Field>::Packing
);

#[test]
#[should_panic(expected = "5 elements are not 2 messages of equal length")]
fn messages_of_different_lengths() {
    let input = [Goldilocks::default(); 5];
    BatchedPoseidon2::default_8().hash_many::<4, 4>(&input, &mut [[Goldilocks::default(); 4]; 2]);
}

/// Nothing would bound what blocks do not overwrite.
#[test]
#[should_panic(expected = "no terminal rounds")]
fn a_sponge_without_full_rounds() {
    let external = ExternalLayerConstants::new(Vec::new(), Vec::new());
    let batched = BatchedPoseidon2::<Goldilocks, 8>::new(&external, &[Goldilocks::new(1)]);
    batched.hash_many::<4, 4>(&[Goldilocks::new(1)], &mut [[Goldilocks::new(0); 4]]);
}

/// More states than one call takes are left as they are, and nothing is absorbed.
#[test]
fn too_many_states() {
    let mut states = [[Goldilocks::new(1); 8]; 5];
    let batched = BatchedPoseidon2::default_8();
    assert!(
        !batched
            .rounds()
            .absorb_many(&mut states, &mut |_| panic!("absorbs"))
    );
    assert_eq!(states, [[Goldilocks::new(1); 8]; 5]);
}
