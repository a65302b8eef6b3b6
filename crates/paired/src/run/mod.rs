//! Runs two programs in pairs: workers that answer requests ([`pairs`]), or a user's own program as cargo starts it ([`trial`]).

pub(crate) mod figures;
pub mod input;
pub(crate) mod launch;
pub mod pairs;
pub mod program;
pub mod protocol;
pub(crate) mod resident;
pub mod rustflags;
pub mod sample;
pub mod sizes;
pub mod spans;
pub mod threads;
pub mod trial;
pub mod worker;
