//! Packed products in extensions of degree 4 and 5 with one dot product, and so one reduction, per coefficient, where multiples
//! of `W` are additions.
//!
//! The patch of this name edits lines of p3-field and p3-monty-31 and adds no file, so this crate holds tests only: the
//! formulas, on the operations of Plonky3 as published, against the textbook. What the patch makes of packed products is
//! tested in upstream's suites of p3-koala-bear and p3-baby-bear, in degrees 4, 5 and 8, by the tests that the patch brings.

#[cfg(test)]
mod tests;
