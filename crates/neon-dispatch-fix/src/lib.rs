//! Packed Poseidon2 of width 8 on aarch64: the fused assembly, or the generic layers.
//!
//! The patch of this name edits lines of p3-goldilocks and adds no file, so this crate holds tests only: what the patch
//! relies on, namely that both paths of Plonky3 as published give the same field elements. The patch adds a test of its
//! own choice to upstream's suite.

#[cfg(test)]
mod tests;
