//! The work on patches: their checks, their texts for upstream, and upstream's own lints and next release.
//!
//! In: patches and records. Out: mails, notes, patches on another release.

pub mod checks;
pub mod drift;
mod evidence;
pub mod export;
mod figures;
pub mod git;
mod legs;
pub mod lints;
