//! Dot products of the columns of a matrix, and of its rows, with weights in an extension.
//!
//! The patch of this name edits p3-matrix and adds no file, so this crate holds tests only. They hold for Plonky3 as published and
//! for every patch of these products.

#[cfg(test)]
mod tests;
