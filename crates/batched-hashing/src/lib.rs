//! Merkle trees whose rows and nodes are hashed several lane groups at a time.
//!
//! The patch of this name edits p3-symmetric and p3-merkle-tree and adds no file, so this crate holds tests only. They hold for
//! Plonky3 as published and for every patch of these trees, whatever their permutation interleaves. The patch brings tests of
//! its own to upstream's suites.

#[cfg(test)]
mod tests;
