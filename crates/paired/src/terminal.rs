//! Progress and messages on stderr, and patterns of the command line.

use std::cell::RefCell;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

use crate::address::without_credentials;
use crate::run::protocol::is_control;

/// The progress of work in steps. On a terminal it is a spinner or a bar; elsewhere, in logs, a line tells of each step that
/// took a while.
pub struct Progress {
    pub bar: ProgressBar,
    step: RefCell<Step>,
    /// The name of the things that a bar counts.
    of: String,
}

struct Step {
    name: String,
    started: Instant,
    told: Instant,
}

impl Progress {
    fn new(bar: ProgressBar, of: &str, name: String) -> Self {
        // A run that fails takes it off the screen too.
        let bar = bar.with_finish(ProgressFinish::AndClear);
        bar.set_message(name.clone());
        let step = RefCell::new(Step::new(name));
        let of = of.to_owned();
        Self { bar, step, of }
    }

    /// Ends a step and begins the next one.
    pub fn set_message(&self, name: impl Into<String>) {
        let name = name.into();
        self.bar.set_message(name.clone());
        let ended = self.step.replace(Step::new(name));
        self.tell(ended.account());
    }

    /// Begins a step that takes minutes: a log tells of it at once.
    pub fn announce(&self, name: impl Into<String>) {
        let name = name.into();
        self.set_message(name.clone());
        self.tell(Some(name));
    }

    /// Counts one more of what a bar counts. A log tells of it once a minute.
    pub fn inc(&self) {
        const SILENCE: Duration = Duration::from_mins(1);
        self.bar.inc(1);
        let mut step = self.step.borrow_mut();
        if step.told.elapsed() >= SILENCE {
            step.told = Instant::now();
            let (at, len) = (self.bar.position(), self.bar.length().unwrap_or_default());
            let (name, time) = (&step.name, seconds(step.started));
            self.tell(Some(format!(
                "{name}: {at} of {len} {} after {time}",
                self.of
            )));
        }
    }

    /// Ends the last step.
    pub fn finish_and_clear(&self) {
        self.set_message("");
        self.bar.finish_and_clear();
    }

    fn tell(&self, line: Option<String>) {
        if let Some(line) = line.filter(|_| self.bar.is_hidden()) {
            eprintln!("progress: {line}");
        }
    }
}

impl Step {
    fn new(name: String) -> Self {
        let now = Instant::now();
        Self {
            name,
            started: now,
            told: now,
        }
    }

    /// A line on a step that took long enough to be worth one.
    fn account(&self) -> Option<String> {
        const LONG: Duration = Duration::from_secs(2);
        let is_long = self.started.elapsed() >= LONG && !self.name.is_empty();
        is_long.then(|| format!("{} took {}", self.name, seconds(self.started)))
    }
}

/// The time since then, in whole seconds.
fn seconds(since: Instant) -> impl std::fmt::Display {
    humantime::format_duration(Duration::from_secs(since.elapsed().as_secs()))
}

/// A spinner, with the name of the first step.
pub fn spinner(name: impl Into<String>) -> Progress {
    let progress = Progress::new(ProgressBar::new_spinner(), "", name.into());
    progress.bar.enable_steady_tick(Duration::from_millis(100));
    progress
}

/// A bar for what takes minutes, with an estimate of how many.
pub fn measuring(len: u64, of: &str) -> Progress {
    let template = format!("{{wide_msg}} {{pos}}/{{len}} {of} {{elapsed}}, {{eta}} left");
    let style = ProgressStyle::with_template(&template).expect("a constant");
    let progress = Progress::new(ProgressBar::new(len).with_style(style), of, String::new());
    progress.bar.enable_steady_tick(Duration::from_secs(1));
    progress
}

/// Prints a line to stderr that may quote others: without credentials, and without characters that control the terminal.
pub fn print_line(what: &str, text: &str) {
    let text = without_credentials(text);
    let mut shown = String::new();
    for c in text.chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            c if is_control(c) => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    // The exit code says the same where this cannot be written.
    let _ = writeln!(io::stderr(), "{what}: {shown}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_took_a_while_are_told_of() {
        let took = |name: &str, seconds| {
            let mut step = Step::new(name.to_owned());
            step.started -= Duration::from_secs(seconds);
            step.account()
        };
        assert_eq!(took("resolving", 1), None);
        assert_eq!(took("", 60), None);
        let expected = "resolving took 1h 1m".to_owned();
        assert_eq!(took("resolving", 3660), Some(expected));
    }
}
