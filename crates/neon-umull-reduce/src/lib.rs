//! The reduction of products in the aarch64 assembly of p3-goldilocks, by one `umull`.
//!
//! The patch of this name edits lines of p3-goldilocks and adds no file, so this crate holds tests only: the identity
//! that the patch relies on, on the instruction itself, and what is built on the reduction, in Plonky3 as published,
//! against the paper. The patch adds a test of the edited functions, word for word, to upstream's suite.

#[cfg(test)]
mod tests;
