//! Progress on the terminal, and patterns of the command line.

use std::time::Duration;

use globset::{Glob, GlobMatcher};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

use crate::error::Failure;

/// The `pattern` that was given to `option`.
pub fn glob(option: &str, pattern: &str) -> Result<GlobMatcher, Failure> {
    match Glob::new(pattern) {
        Ok(glob) => Ok(glob.compile_matcher()),
        Err(error) => Err(Failure::input(format!(
            "{option} {pattern}: {}",
            error.kind()
        ))),
    }
}

/// A spinner on stderr; hidden where stderr is no terminal.
pub fn spinner(text: impl Into<std::borrow::Cow<'static, str>>) -> ProgressBar {
    // A run that fails takes it off the screen too.
    let bar = ProgressBar::new_spinner()
        .with_message(text)
        .with_finish(ProgressFinish::AndClear);
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// A bar on stderr for what takes minutes, with an estimate of how many; hidden where stderr is no terminal.
pub fn measuring(len: u64, of: &str) -> ProgressBar {
    let template = format!("{{wide_msg}} {{pos}}/{{len}} {of} {{elapsed}}, {{eta}} left");
    let style = ProgressStyle::with_template(&template).expect("a constant");
    let bar = ProgressBar::new(len)
        .with_style(style)
        .with_finish(ProgressFinish::AndClear);
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}
