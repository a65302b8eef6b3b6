//! The kernel against integers, its bounds for all twiddles and inputs, and its operations gone wrong.

mod bounds;
#[cfg(struck)]
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

use p3_field::PrimeCharacteristicRing;
use p3_goldilocks::Goldilocks;

/// The three twiddles with an extreme digit: 1/2, both of whose lower digits are `-2^31`, and those that have an upper one.
fn extreme() -> [Goldilocks; 3] {
    let digit = Goldilocks::new((1 << 63) - (1 << 31));
    [Goldilocks::ONE.halve(), digit, digit.div_2exp_u64(32)]
}
