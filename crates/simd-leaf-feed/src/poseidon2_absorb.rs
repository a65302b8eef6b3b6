//! Sponges over the batched Poseidon2 permutation, whose states stay unreduced for the length of a message.
//!
//! From one block to the next, a sponge overwrites the rate and keeps the capacity. What it overwrites need not be reduced
//! at all, and what it keeps only has to be fit for the next external layer, which is less: see
//! [`BatchElement::settle`]. So elements are reduced once per message, not once per block.

use crate::poseidon2_batch::{BatchElement, Rounds};

/// The most states that absorb together.
const MAX_STATES: usize = 4;

impl<A: BatchElement, const WIDTH: usize> Rounds<'_, A, WIDTH> {
    /// Permutes the states after each call of `absorb`, up to one that returns 0. `absorb` overwrites the first elements of
    /// every state and returns how many; while it runs, the others are not those of the state.
    ///
    /// There have to be terminal rounds, as every Poseidon2 has them: their external layers bound what a block keeps.
    ///
    /// Returns whether it did: it leaves more than four states as they are.
    pub fn absorb_many<F>(&self, states: &mut [[A; WIDTH]], absorb: &mut F) -> bool
    where
        F: FnMut(&mut [[A; WIDTH]]) -> usize,
    {
        if states.is_empty() || states.len() > MAX_STATES {
            return false;
        }
        match A::BATCH {
            1 => self.absorb_interleaved::<1, F>(states, absorb),
            2 => self.absorb_interleaved::<2, F>(states, absorb),
            3 => self.absorb_interleaved::<3, F>(states, absorb),
            4 => self.absorb_interleaved::<4, F>(states, absorb),
            _ => unreachable!("see BatchElement::BATCH"),
        }
        true
    }

    #[allow(clippy::needless_range_loop)]
    #[inline(always)]
    fn absorb_interleaved<const B: usize, F>(&self, states: &mut [[A; WIDTH]], absorb: &mut F)
    where
        F: FnMut(&mut [[A; WIDTH]]) -> usize,
    {
        let mut wide = [[states[0][0].widen(); WIDTH]; MAX_STATES];
        let wide = &mut wide[..states.len()];
        for (wide, state) in wide.iter_mut().zip(&*states) {
            for i in 0..WIDTH {
                wide[i] = state[i].widen();
            }
        }
        loop {
            let absorbed = absorb(states);
            if absorbed == 0 {
                break;
            }
            for (wide, state) in wide.iter_mut().zip(&*states) {
                for i in 0..WIDTH {
                    wide[i] = if i < absorbed {
                        state[i].widen()
                    } else {
                        A::settle(wide[i])
                    };
                }
            }
            self.permute_unreduced::<B>(wide);
        }
        for (wide, state) in wide.iter().zip(states) {
            for i in 0..WIDTH {
                state[i] = A::reduce(wide[i]);
            }
        }
    }
}
