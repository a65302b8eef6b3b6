//! Writes files whole or not at all, below a folder that no symbolic link leads out of.
//!
//! A file has its old bytes or its new ones, however the process ends.

pub mod changed;
pub mod claimed;
pub mod contents;
pub mod dir;
pub mod plain;
pub mod replace;
