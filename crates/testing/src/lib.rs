//! Tools that the optimizations' tests share.
//!
//! - [`fuzzing`]: inputs of the fuzz targets.
//! - [`goldilocks`]: values at which reductions go wrong, Poseidon1 and Poseidon2 written from the papers on plain integers.
//! - [`koala_bear`]: the same for KoalaBear, and products of its extension of degree 5 by the textbook.
//! - [`known_answers`]: Poseidon1 and Poseidon2 by implementations in other languages.
//! - [`interval`]: a word that knows the range of its values, to run a kernel on all inputs at once.
//! - [`mutation`]: a kernel with one operation changed at a time, which its tests have to notice.
//! - [`smt`]: a word that is an expression, to prove what a kernel computes.
//! - `arch`: instructions that Miri lacks, and wrong ones.

// The kernels' crates take this one for `core` under Miri, and where instructions are mutated; see `arch`.
#[cfg(any(miri, mutated))]
pub use core::*;

#[cfg(any(mutated, all(any(miri, test), target_arch = "x86_64")))]
pub mod arch;
pub mod fuzzing;
pub mod goldilocks;
pub mod interval;
pub mod known_answers;
pub mod koala_bear;
pub mod mutation;
pub mod smt;
