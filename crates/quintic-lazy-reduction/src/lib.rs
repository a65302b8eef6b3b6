//! Products and squares in KoalaBear's extension of degree 5 with one dot product, and so one reduction, per coefficient.
//!
//! The patch of this name edits lines of p3-field and p3-monty-31 and adds no file, so this crate holds tests only: the
//! two formulas, on the operations of Plonky3 as published, against the textbook. What the patch makes of the dot products
//! is tested at its bounds in upstream's suite, by the tests that the patch brings.

#[cfg(test)]
mod tests;
