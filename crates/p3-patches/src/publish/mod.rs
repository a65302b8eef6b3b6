//! The checkout's products: texts for upstream, patched packages for a repository, tables, figures and pages of what was
//! measured; and the checks before that.
//!
//! In: patches and records. Out: mails, folders, the generated parts of the documents, `patches/effects.csv`, an HTML page.

pub mod checks;
pub mod documents;
pub mod effects;
pub mod export;
pub mod figure;
pub mod markdown;
pub mod overlay;
pub mod page;
pub mod results;
pub mod summary;
