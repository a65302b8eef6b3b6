//! Tests of KoalaBear's extension of degree 5.
//!
//! The patch of the same name moves no arithmetic: it tells the compiler which products to inline, so there is no kernel
//! here. These tests hold for Plonky3 as published and for every patch of the extension's products. The patch brings
//! tests of its own to upstream's suite.

#[cfg(test)]
mod tests;
