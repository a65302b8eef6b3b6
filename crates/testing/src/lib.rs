//! What the optimizations' tests share.
//!
//! - [`goldilocks`]: values at which reductions go wrong, and Poseidon2 written from the paper on plain integers.
//! - [`interval`]: a word that knows the range of its values, to run a kernel on all inputs at once.

pub mod goldilocks;
pub mod interval;
