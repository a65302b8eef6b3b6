//! The kernel against integers, its bounds, and its operations gone wrong.

mod bounds;
mod fused;
#[cfg(all(mutated, target_feature = "avx512ifma"))]
mod instructions;
// The other crates of kernels compile this too.
#[allow(dead_code)]
#[path = "../../packed-poseidon2/src/tests/lanes.rs"]
mod lanes;
mod mutations;
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod packed;
mod smt;

use lanes::{Integer, Range, Symbol};
use p3_patches_testing::mutation::Mutated;

use crate::lazy_product::LazyProduct;

// Lanes with the provided methods. Those of `fused` have IFMA's.
impl LazyProduct for Integer<false> {}
impl LazyProduct for Symbol<false> {}
impl LazyProduct for Range {}
impl LazyProduct for Mutated<Integer<false>> {}
impl LazyProduct for Mutated<Range> {}
