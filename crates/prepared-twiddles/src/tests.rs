//! The kernel against integers, its bounds for all twiddles and inputs, and its operations gone wrong.

mod bounds;
#[cfg(mutated)]
mod instructions;
// The other crates of kernels compile this too.
#[allow(dead_code)]
#[path = "../../packed-poseidon2/src/tests/lanes.rs"]
mod lanes;
mod mutations;
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod packed;
mod signed;
mod smt;

use p3_patches_testing::goldilocks::P;

/// The three twiddles with an extreme digit: 1/2, both of whose lower digits are `-2^31`, the one whose upper digit is, and
/// that over `2^32`.
const EXTREME: [u64; 3] = [P.div_ceil(2), (1 << 63) - (1 << 31), 0x8000_0000_0000_0000];
