//! Openings whose precomputations are freed once they are read.
//!
//! The patch of this name adds three lines to a function of p3-fri, so this crate holds tests only. They hold for Plonky3 as published
//! and with the patch.

#[cfg(test)]
mod tests;
