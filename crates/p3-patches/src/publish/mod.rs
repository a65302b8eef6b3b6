//! Tables, figures and pages of what was measured.
//!
//! In: records. Out: the generated parts of the documents, `patches/effects.csv`, an HTML page.

pub mod documents;
pub mod effects;
pub mod figure;
pub mod markdown;
pub mod page;
pub mod results;
pub mod summary;
