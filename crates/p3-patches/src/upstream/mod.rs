//! Upstream's own checks on patched packages, its test suites and its lints; and patches on its next release.
//!
//! In: a release and names of patches. Out: a workspace that cargo can test.

pub mod drift;
pub mod lints;
pub mod suites;
