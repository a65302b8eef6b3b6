//! One product in the quintic extension of a 31-bit field, four coefficients in one vector.
//!
//! The kernel is [`x86_64_quintic`](https://github.com/Plonky3/Plonky3/tree/main/monty-31/src), the file that the patch of
//! the same name adds to p3-monty-31; its documentation has the mechanism and the bounds. This crate root stands in for
//! p3-monty-31's, so that the same bytes compile in both places. The kernel needs AVX2: on other targets this crate is
//! empty, and the patch changes nothing.

#![no_std]
#![cfg(all(target_arch = "x86_64", target_feature = "avx2"))]

// With instructions that go wrong.
#[cfg(all(test, mutated))]
extern crate p3_patches_testing as core;

use p3_monty_31::{FieldParameters, MontyField31};

mod x86_64_quintic;

#[cfg(test)]
mod tests;

use x86_64_quintic::quintic_mul_packed_trinomial;

/// Stands in for the function of p3-monty-31's AVX-512 module, which leaves the vector in its register.
#[cfg(target_feature = "avx512f")]
fn confuse_compiler_256(x: core::arch::x86_64::__m256i) -> core::arch::x86_64::__m256i {
    core::hint::black_box(x)
}

/// The product modulo `X^5 + X^2 - 1`, coefficients from the constant one up.
///
/// ```
/// use p3_koala_bear::KoalaBear;
/// use quintic_single_product::quintic_mul;
///
/// let x_4 = KoalaBear::new_array([0, 0, 0, 0, 1]);
/// // X^8 = X^3 - X^5 = X^3 + X^2 - 1
/// assert_eq!(quintic_mul(&x_4, &x_4), KoalaBear::new_array([0x7f00_0000, 0, 1, 1, 0]));
/// ```
#[inline]
pub fn quintic_mul<FP: FieldParameters>(
    a: &[MontyField31<FP>; 5],
    b: &[MontyField31<FP>; 5],
) -> [MontyField31<FP>; 5] {
    let mut product = *a;
    quintic_mul_packed_trinomial(a, b, &mut product);
    product
}
