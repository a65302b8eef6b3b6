//! The rows of a matrix in the order of their indices with the bits reversed.
//!
//! The patch of this name edits a function of p3-matrix and adds no file, so this crate holds tests only. They hold for Plonky3 as
//! published and with the patch, which brings more widths to p3-matrix's own tests.

#[cfg(test)]
mod tests;
