//! The generated parts of the documents, from what was measured.
//!
//! In: patches and records. Out: tables, figures, `patches/effects.csv`, an HTML page.

pub mod documents;
pub mod effects;
pub mod markdown;
mod provers;
pub mod results;
pub mod summary;
