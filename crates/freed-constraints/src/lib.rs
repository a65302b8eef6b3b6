//! Symbolic evaluations that drop each constraint once its degree is known.
//!
//! The patch of this name changes functions of p3-air, p3-lookup and p3-batch-stark, so this crate holds tests only. They hold for
//! Plonky3 as published and with the patch.

#[cfg(test)]
mod tests;
