//! Rows of a matrix whose vectors are fetched from memory ahead of their use.
//!
//! The kernel is [`prefetch`], the file that the patch of the same name adds to p3-matrix; its documentation has the mechanism.
//! This crate root stands in for p3-matrix's, so that the same bytes compile in both places.
//!
//! ```
//! use row_prefetch::prefetch::prefetched;
//!
//! let row = [[1_u64; 4], [2; 4]];
//! assert!(prefetched(&row).eq(row));
//! ```

#![no_std]

#[cfg(test)]
extern crate alloc;

// Documented in upstream's manner: the module is private there.
#[allow(missing_docs)]
pub mod prefetch;
