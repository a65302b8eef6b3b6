//! Runs of two programs, in pairs: workers that answer requests, or a user's own program as cargo starts it.

pub mod figures;
pub mod input;
pub mod launch;
pub mod pairs;
pub mod program;
pub mod protocol;
pub mod rustflags;
pub mod spans;
pub mod trial;
pub mod worker;
