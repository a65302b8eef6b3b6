//! `core::arch`, with the instructions that Miri lacks, lane by lane.
//!
//! Miri knows all that the kernels use of AVX2. Of AVX-512, it lacks shifts by a count in a register, and IFMA. Under Miri the
//! kernels' crates take this crate for `core`, so that a kernel's `use core::arch::x86_64::..` finds these; where there is a
//! CPU with IFMA, or an emulator of one, a test compares them with it.
//!
//! With `--cfg mutated`, these are the kernels' instructions, and go wrong in turn.

#[cfg(all(mutated, target_arch = "x86_64"))]
pub use core::arch::asm as assembly;
#[cfg(miri)]
pub use core::arch::*;

#[cfg(mutated)]
pub use mutated::INSTRUCTION_SET;
#[cfg(all(mutated, target_arch = "aarch64"))]
pub use mutated::aarch64;
#[cfg(all(mutated, target_arch = "x86_64"))]
pub use mutated::x86_64;

#[cfg(all(mutated, target_arch = "x86_64"))]
pub use crate::asm;

// A caller's CPU has to have the instruction, as with the intrinsics.
#[cfg(mutated)]
#[cfg_attr(target_arch = "aarch64", allow(dead_code, unused_macros))]
#[allow(missing_docs, clippy::missing_safety_doc)]
mod mutated;
// The same as above.
#[cfg(not(mutated))]
#[allow(missing_docs, clippy::missing_safety_doc)]
pub mod x86_64;
