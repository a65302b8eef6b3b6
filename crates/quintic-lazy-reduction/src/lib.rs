//! One product in the quintic extension of a 31-bit field, with one Montgomery reduction per coefficient.
//!
//! The kernel is [`x86_64_quintic`](https://github.com/Plonky3/Plonky3/tree/main/monty-31/src), the file that the patch of
//! the same name adds to p3-monty-31; its documentation has the mechanism and the bounds. This crate root stands in for
//! p3-monty-31's, so that the same bytes compile in both places. The kernel needs AVX2: on other targets this crate is
//! empty, and the patch multiplies by portable code. The patch's packed products and squares are portable code, too: their
//! tests are in the patch.

#![no_std]
#![cfg(all(target_arch = "x86_64", target_feature = "avx2"))]

use p3_monty_31::{FieldParameters, MontyField31};

mod x86_64_quintic;

#[cfg(test)]
mod tests;

use x86_64_quintic::quintic_mul_packed_trinomial;

/// The product modulo `X^5 + X^2 - 1`, coefficients from the constant one up.
///
/// ```
/// use p3_koala_bear::KoalaBear;
/// use quintic_lazy_reduction::quintic_mul;
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
