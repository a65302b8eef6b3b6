//! Low-degree extensions and discrete Fourier transforms in two passes over tiles that stay in the cache.
//!
//! The kernel is [`network`], which the patch of the same name adds to p3-dft; `Radix2DitParallel` is built on it there.
//! This crate root stands in for p3-dft's, so that the same bytes compile in both places.
//!
//! ```
//! use p3_dft::{Radix2DitParallel, TwoAdicSubgroupDft};
//! use p3_field::{PrimeCharacteristicRing, TwoAdicField};
//! use p3_goldilocks::Goldilocks;
//! use p3_matrix::dense::RowMajorMatrix;
//! use tiled_dft::network::{Passes, transform, twiddles};
//!
//! let mut mat = RowMajorMatrix::new((0..1 << 10).map(Goldilocks::from_u64).collect(), 4);
//! let expected = Radix2DitParallel::default().dft_batch(mat.clone());
//! let layers = twiddles(8, Goldilocks::two_adic_generator(8), Goldilocks::ONE);
//! let passes = Passes::new::<Goldilocks>(8, 4);
//! transform(passes, &mut mat.as_view_mut(), &layers, None, &|_, _| {});
//! assert_eq!(mat, expected.inner);
//! ```

#![no_std]

extern crate alloc;

use p3_dft::{Butterfly, DitButterfly, ScaledDitButterfly, TwiddleFreeButterfly};
#[cfg(test)]
use p3_dft::{NaiveDft, Radix2DitParallel, TwoAdicSubgroupDft};

pub mod network;
mod pairs;
mod transpose_rows;

use transpose_rows::transpose_rows;

#[cfg(test)]
mod tests;
