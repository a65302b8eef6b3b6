//! Packed Poseidon2 states together: the internal rounds of one are a single dependency chain, and
//! hide behind the others'.

use p3_field::Field;

use crate::Goldilocks;
use crate::poseidon2_fused::Poseidon2GoldilocksFused;
use crate::poseidon2_rounds::has_rounds;

type Packing = <Goldilocks as Field>::Packing;

/// The number of packed states to interleave, which is the fastest one measured.
///
/// AVX2 has registers for one state only, and waits for its chain the longest. On AVX-512 one state
/// of width 16 keeps the ports busy; in limbs of 52 bits, one of width 12 does, too.
pub const fn batch(width: usize) -> usize {
    let widest = if cfg!(target_feature = "avx512ifma") {
        8
    } else if cfg!(target_feature = "avx512f") {
        12
    } else {
        16
    };
    if !has_rounds(width) || width > widest {
        1
    } else if cfg!(target_feature = "avx512f") {
        2
    } else {
        4
    }
}

impl<const WIDTH: usize> Poseidon2GoldilocksFused<WIDTH> {
    /// Permutes as many whole groups of [`batch`] states as there are, and returns the others.
    pub fn permute_groups<'a>(
        &self,
        states: &'a mut [[Packing; WIDTH]],
    ) -> &'a mut [[Packing; WIDTH]] {
        match batch(WIDTH) {
            4 => self.permute_groups_of::<4>(states),
            2 => self.permute_groups_of::<2>(states),
            _ => states,
        }
    }

    fn permute_groups_of<'a, const B: usize>(
        &self,
        states: &'a mut [[Packing; WIDTH]],
    ) -> &'a mut [[Packing; WIDTH]] {
        let (groups, rest) = states.as_chunks_mut::<B>();
        for group in groups {
            self.permute_packed(group);
        }
        rest
    }
}
