//! The kernel against Plonky3 as published, its arithmetic on operands next to every carry, and its bounds for all inputs.

mod bounds;
// The other crates of kernels compile this too.
#[allow(dead_code)]
mod differential;
// Samples for `mutations` and `packed`.
#[cfg(target_arch = "x86_64")]
mod halves;
// Elsewhere, only the intervals.
#[cfg(all(mutated, target_feature = "avx2"))]
mod instructions;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
mod lanes;
#[cfg(target_arch = "x86_64")]
mod mutations;
#[cfg(target_arch = "x86_64")]
mod smt;

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod packed;
