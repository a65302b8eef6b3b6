//! Transposes of rows of words in square tiles that vector registers hold.
//!
//! The kernel is `transpose::tiles`, the file that the patch of the same name adds to p3-util; its documentation has the mechanism. This
//! crate root stands in for p3-util's, so that the same bytes compile in both places. There is a kernel on AVX2 and AVX-512 only.

#![no_std]

/// The module of p3-util that the kernel is added to.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
pub mod transpose {
    pub mod tiles;
}

#[cfg(all(test, target_arch = "x86_64", target_feature = "avx2"))]
mod tests;
