//! Poseidon2 sponges over Goldilocks whose states stay in the batched kernel's form for the length of a message.
//!
//! The kernel is `poseidon2_absorb`, the file that the patch of the same name adds to p3-goldilocks; the rounds are those of
//! batched-permute, whose files are compiled here once more, as they are in p3-goldilocks. Provers that apply the patch
//! need no call: the leaves of Merkle trees reach the kernel by themselves.
//!
//! ```
//! use p3_goldilocks::{Goldilocks, default_goldilocks_poseidon2_8};
//! use p3_symmetric::{CryptographicHasher, PaddingFreeSponge};
//! use simd_leaf_feed::BatchedPoseidon2;
//!
//! let rows: [Goldilocks; 30] = core::array::from_fn(|i| Goldilocks::new(i as u64));
//! let mut digests = [[Goldilocks::default(); 4]; 3];
//! BatchedPoseidon2::default_8().hash_many::<4, 4>(&rows, &mut digests);
//!
//! let published = PaddingFreeSponge::<_, 8, 4, 4>::new(default_goldilocks_poseidon2_8());
//! let row = rows[10..20].iter().copied();
//! assert_eq!(digests[1], published.hash_iter(row));
//! ```

#![no_std]

extern crate alloc;

use p3_goldilocks::Goldilocks;
#[cfg(all(
    target_arch = "x86_64",
    target_feature = "avx2",
    not(target_feature = "avx512f")
))]
use p3_goldilocks::PackedGoldilocksAVX2;
#[cfg(all(target_arch = "x86_64", target_feature = "avx512f"))]
use p3_goldilocks::PackedGoldilocksAVX512;

#[path = "../../batched-permute/permutation.rs"]
mod permutation;
#[allow(missing_docs)]
mod poseidon2_absorb;
#[allow(missing_docs)]
#[path = "../../batched-permute/src/poseidon2_batch.rs"]
mod poseidon2_batch;
#[allow(missing_docs)]
#[path = "../../batched-permute/src/poseidon2_batch_pair.rs"]
mod poseidon2_batch_pair;
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
#[allow(missing_docs)]
#[path = "../../batched-permute/src/poseidon2_batch_vector.rs"]
mod poseidon2_batch_vector;

#[cfg(all(
    target_arch = "x86_64",
    target_feature = "avx2",
    not(target_feature = "avx512f")
))]
#[path = "../../batched-permute/src/x86_64_avx2"]
mod x86_64_avx2 {
    mod poseidon2_batch;
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx512f"))]
#[path = "../../batched-permute/src/x86_64_avx512"]
mod x86_64_avx512 {
    mod poseidon2_batch;
}

#[cfg(test)]
mod tests;

pub use permutation::BatchedPoseidon2;
pub use poseidon2_batch::BatchElement;

impl<A: BatchElement + Default, const WIDTH: usize> BatchedPoseidon2<A, WIDTH> {
    /// The digests that `p3_symmetric::PaddingFreeSponge<_, WIDTH, RATE, OUT>` has for messages of equal length, which stand
    /// back to back in `input`.
    ///
    /// # Panics
    ///
    /// If the length of `input` is not a multiple of the number of digests, `RATE` or `OUT` exceeds `WIDTH`, or the
    /// permutation has no terminal rounds.
    pub fn hash_many<const RATE: usize, const OUT: usize>(
        &self,
        input: &[A],
        out: &mut [[A; OUT]],
    ) {
        const { assert!(RATE > 0 && RATE <= WIDTH && OUT <= WIDTH) };
        if out.is_empty() {
            return;
        }
        assert!(
            input.len().is_multiple_of(out.len()),
            "{} elements are not {} messages of equal length",
            input.len(),
            out.len()
        );
        assert!(!self.terminal.is_empty(), "no terminal rounds");
        let length = input.len() / out.len();
        let mut states = [[A::default(); WIDTH]; 4];
        for (group, out) in out.chunks_mut(4).enumerate() {
            let messages = &input[group * 4 * length..];
            let states = &mut states[..out.len()];
            states.fill([A::default(); WIDTH]);
            let mut start = 0;
            self.rounds().absorb_many(states, &mut |states| {
                let block = RATE.min(length - start);
                for (i, state) in states.iter_mut().enumerate() {
                    state[..block].copy_from_slice(&messages[i * length + start..][..block]);
                }
                start += block;
                block
            });
            for (digest, state) in out.iter_mut().zip(states) {
                digest.copy_from_slice(&state[..OUT]);
            }
        }
    }
}
