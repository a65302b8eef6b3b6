//! The kernel against integers, its bounds, and its operations gone wrong.

mod bounds;
// The other crates of kernels compile this too.
#[allow(dead_code)]
#[path = "../../packed-poseidon2/src/tests/lanes.rs"]
mod lanes;
mod mutations;
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod packed;
mod smt;

use lanes::{Integer, Range, Symbol};
use p3_patches_testing::mutation::Struck;

use crate::lazy_product::LazyProduct;

// The provided methods are what is tested.
impl<const FLIPPED: bool> LazyProduct for Integer<FLIPPED> {}
impl<const FLIPPED: bool> LazyProduct for Symbol<FLIPPED> {}
impl<T: LazyProduct> LazyProduct for Struck<T> {}
impl LazyProduct for Range {}
