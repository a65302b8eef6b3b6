//! Keccak-f on interleaved states, one plane of the result at a time.
//!
//! The kernel is [`permute`] of the module `planes`, the file that the patch of the same name adds to p3-keccak; its documentation has the
//! mechanism. This crate root stands in for p3-keccak's, so that the same bytes compile in both places. There is a kernel on x86-64 only.

#![no_std]

#[cfg(target_arch = "x86_64")]
mod planes;
#[cfg(target_arch = "x86_64")]
pub use planes::permute;

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
