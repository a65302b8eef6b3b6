//! The kernel against integers, its bounds for all inputs, its operations gone wrong, tiles against the definition, and whole
//! transforms against p3-dft's as published.

mod bounds;
#[cfg(all(mutated, target_feature = "avx512ifma"))]
mod instructions;
// The other crates of kernels compile these too.
#[allow(dead_code)]
#[path = "../../packed-poseidon2/src/tests/lanes.rs"]
mod lanes;
#[allow(dead_code)]
#[path = "../../ifma-permute/src/tests/limb.rs"]
mod limb;
mod mutations;
#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
mod packed;
mod seeds;
mod smt;
mod tile;
mod transforms;

use std::vec::Vec;

use p3_patches_testing::goldilocks::{self as plain, EDGES, P, representative};
use p3_patches_testing::mutation;

use crate::LazyButterflies;
use crate::lazy_tile::{scratch, transform_lazily};

const MASK_52: u64 = (1 << 52) - 1;

/// The fourth root of unity.
const I: u64 = 1 << 48;

/// The sum and the difference, on integers.
fn butterfly(x: u64, y: u64) -> [u64; 2] {
    [
        plain::add(x, y),
        plain::add(x, plain::residue(-i128::from(y))),
    ]
}

/// The results of two layers on `x`, as the trait's documentation has them, on integers.
fn layers(x: [u64; 4], t: u64, s: u64, scale: Option<u64>) -> [u64; 4] {
    let y = [scale.unwrap_or(1), s, t, plain::mul(t, s)];
    let y: [u64; 4] = core::array::from_fn(|i| plain::mul(y[i], x[i] % P));
    let ([a, c], [b, d]) = (butterfly(y[0], y[2]), butterfly(y[1], y[3]));
    let ([a, b], [c, d]) = (butterfly(a, b), butterfly(c, plain::mul(I, d)));
    [a, b, c, d]
}

/// Four elements, two twiddles and a scale: edges beside each other, and random ones.
fn inputs(random: usize) -> Vec<[u64; 7]> {
    let n = EDGES.len();
    let edges = (0..n * n).map(|i| core::array::from_fn(|j| EDGES[(i / n * j + i % n) % n]));
    let random = mutation::sample(representative(), 7 * random);
    let random = random.chunks_exact(7).map(|x| x.try_into().expect("seven"));
    edges.chain(random).collect()
}
