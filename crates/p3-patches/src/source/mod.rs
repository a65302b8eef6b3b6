//! Plonky3 as published: packages from cargo's cache or a vendored folder, checked against reviewed checksums.
//!
//! In: a package's name and version. Out: its files, of the tarball with the reviewed checksum.

mod cache;
pub mod checksums;
pub mod index;
pub mod lock;
pub mod locked;
mod manifests;
pub mod package;
pub mod registry;
pub mod requirement;
pub mod resolve;
