//! Merkle trees that keep no digests of leaves.
//!
//! The patch of this name edits functions of p3-merkle-tree and adds no file, so this crate holds tests only. They hold for Plonky3 as
//! published and with the patch, which brings tests of what is kept to p3-merkle-tree's own.

#[cfg(test)]
mod tests;
