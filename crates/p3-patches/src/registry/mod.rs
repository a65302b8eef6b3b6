//! Plonky3 as published: packages from cargo's cache or a vendored folder, checked against lock files.
//!
//! In: a package's name and version. Out: its files, whose checksum a reviewed lock file has.

pub mod lock;
pub mod locked;
pub mod package;
pub mod source;
