//! Files that are written whole or not at all, below a folder that no link leads out of.
//!
//! In: a folder and contents. Out: the file's old bytes or its new ones, however the process ends.

pub mod changed;
pub mod claimed;
pub mod contents;
pub mod dir;
pub mod plain;
pub mod replace;
