//! Arrays from closures that are compiled next to their caller, for constraints of an AIR.
//!
//! The kernel is [`inlined_array`](https://github.com/Plonky3/Plonky3/tree/main/field/src), the file that the patch of the
//! same name adds to p3-field; its documentation has the mechanism. This crate root stands in for p3-field's, so that the
//! same bytes compile in both places. An AIR of a prover's own that builds arrays of constraints from large closures can
//! call these functions where it calls the standard library's.
//!
//! ```
//! use inline_array_maps::{array_from_fn, array_map};
//!
//! let squares: [u64; 4] = array_from_fn(|i| (i * i) as u64);
//! assert_eq!(array_map(squares, |x| x + 1), [1, 2, 5, 10]);
//! ```

#![no_std]

#[cfg(test)]
extern crate alloc;

mod inlined_array;

#[cfg(test)]
mod tests;

pub use inlined_array::{array_from_fn, array_map};
