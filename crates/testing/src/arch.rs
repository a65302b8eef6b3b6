//! `core::arch`, with the instructions that Miri lacks, lane by lane.
//!
//! Miri knows all that the kernels use of AVX2. Of AVX-512, it lacks shifts by a count in a register, and IFMA. Under Miri the
//! kernels' crates take this crate for `core`, so that a kernel's `use core::arch::x86_64::..` finds these; where there is a
//! CPU with IFMA, or an emulator of one, a test compares them with it.
//!
//! With `--cfg struck`, these are instructions of AVX2 that go wrong in turn.

#[cfg(any(miri, struck))]
pub use core::arch::*;

#[cfg_attr(struck, path = "arch/struck.rs")]
// A caller's CPU has to have the instruction, as with the intrinsics.
#[allow(missing_docs, clippy::missing_safety_doc)]
pub mod x86_64;
