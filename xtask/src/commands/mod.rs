//! The subcommands, one file each.

pub mod ab;
pub mod check;
pub mod compared;
pub mod constant_time;
pub mod count;
pub mod drift;
pub mod edit;
pub mod export;
pub mod inspect;
pub mod inspected;
pub mod memory;
pub mod preflight;
pub mod refresh;
pub mod report;
pub mod test;
pub mod threads;
pub mod upstream_bench;

use globset::{Glob, GlobMatcher};
use paired::error::Failure;

/// Returns the `pattern` that was given to `option`.
pub fn glob(option: &str, pattern: &str) -> Result<GlobMatcher, Failure> {
    match Glob::new(pattern) {
        Ok(glob) => Ok(glob.compile_matcher()),
        Err(error) => Err(Failure::input(format!(
            "{option} {pattern}: {}",
            error.kind()
        ))),
    }
}
