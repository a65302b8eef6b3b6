//! Packed rows of matrices, as the constraints of a quotient read them.
//!
//! The patch of this name edits p3-matrix and its users and adds no file, so this crate holds tests only. They hold for Plonky3 as
//! published and with the patch, which brings a test of its new function to p3-matrix.

#[cfg(test)]
mod tests;
