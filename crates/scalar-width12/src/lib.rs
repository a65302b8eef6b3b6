//! Scalar additions in Goldilocks, and the scalar Poseidon2 permutations that consist of them.
//!
//! The patch of this name edits two lines of p3-goldilocks and adds no file, so this crate holds tests only. They hold for
//! Plonky3 as published and for every patch of its scalar code. The patch brings a test of its own to upstream's suite.

#[cfg(test)]
mod tests;
