//! Progress and messages on stderr.

use std::cell::RefCell;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use console::strip_ansi_codes;
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use serde::Serialize;

use crate::address::without_credentials;
use crate::run::protocol::is_control;

/// The progress of work in steps. A terminal shows a spinner or a bar. Elsewhere, as in logs, each step of two seconds or more
/// prints a line when it ends.
pub struct Progress {
    /// The spinner or bar, for its style and length; its steps are named with the methods of [`Progress`].
    pub bar: ProgressBar,
    step: RefCell<Step>,
    /// The noun for the things that a bar counts, in the plural.
    of: String,
}

struct Step {
    name: String,
    started: Instant,
    told: Instant,
}

impl Progress {
    fn new(bar: ProgressBar, of: &str, name: String) -> Self {
        // A run that fails clears the bar too.
        let bar = bar.with_finish(ProgressFinish::AndClear);
        bar.set_message(name.clone());
        let step = RefCell::new(Step::new(name));
        let of = of.to_owned();
        Self { bar, step, of }
    }

    /// Ends the current step and begins the one of this name.
    pub fn set_message(&self, name: impl Into<String>) {
        let name = name.into();
        self.bar.set_message(name.clone());
        let ended = self.step.replace(Step::new(name));
        self.tell(ended.account());
    }

    /// Gives the current step another name, by which a log tells of it.
    pub fn rename(&self, name: impl Into<String>) {
        self.step.borrow_mut().name = name.into();
    }

    /// Begins a step that takes minutes: a log has a line when it begins, too.
    pub fn announce(&self, name: impl Into<String>) {
        let name = name.into();
        self.set_message(name.clone());
        self.tell(Some(name));
    }

    /// Moves the bar on by one. A log has a line on its position once a minute.
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

    /// Ends the last step, and removes the spinner or bar from the terminal.
    pub fn finish_and_clear(&self) {
        self.set_message("");
        self.bar.finish_and_clear();
    }

    fn tell(&self, line: Option<String>) {
        if let Some(line) = line.filter(|_| self.bar.is_hidden()) {
            print_line("progress", &line);
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

    /// Returns the line for a step that took two seconds or more.
    fn account(&self) -> Option<String> {
        const LONG: Duration = Duration::from_secs(2);
        let is_long = self.started.elapsed() >= LONG && !self.name.is_empty();
        is_long.then(|| format!("{} took {}", self.name, seconds(self.started)))
    }
}

/// Returns the time since an instant, in whole seconds.
fn seconds(since: Instant) -> impl std::fmt::Display {
    humantime::format_duration(Duration::from_secs(since.elapsed().as_secs()))
}

/// Returns a spinner whose first step has this name.
pub fn spinner(name: impl Into<String>) -> Progress {
    let progress = Progress::new(ProgressBar::new_spinner(), "", name.into());
    progress.bar.enable_steady_tick(Duration::from_millis(100));
    progress
}

/// Returns a bar of `len` steps, which are called `of`, with an estimate of the time left.
pub fn measuring(len: u64, of: &str) -> Progress {
    let template = format!("{{wide_msg}} {{pos}}/{{len}} {of} {{elapsed}}, {{eta}} left");
    let style = ProgressStyle::with_template(&template).expect("a constant");
    let progress = Progress::new(ProgressBar::new(len).with_style(style), of, String::new());
    progress.bar.enable_steady_tick(Duration::from_secs(1));
    progress
}

/// Writes a path, or a text that others have chosen, as a part of a line: without the credentials in addresses, and with control
/// characters escaped, line breaks too.
pub fn shown(text: impl AsRef<Path>) -> String {
    escaped(&without_credentials(&text.as_ref().to_string_lossy()), &[])
}

/// Prints a value to stdout as indented JSON, whose text has control characters escaped as JSON does.
///
/// # Panics
///
/// Panics as `println!` does, and where `value` cannot be JSON.
pub fn print_json(value: &impl Serialize) {
    let json = serde_json::to_string_pretty(value).expect("plain data");
    println!("{}", escaped_json(&json));
}

/// Escapes the control characters in the text of JSON, but for its line breaks.
fn escaped_json(json: &str) -> String {
    escaped_by(json, &['\n'], |c| {
        let units = c.encode_utf16(&mut [0; 2]).to_vec();
        units.iter().map(|unit| format!("\\u{unit:04x}")).collect()
    })
}

/// Prints `what: text` to stderr, without the credentials in addresses and with control characters escaped, since `text` may
/// quote other programs.
pub fn print_line(what: &str, text: &str) {
    let text = escaped(&without_credentials(text), &['\n', '\t']);
    // Where stderr is closed, the exit code still tells of the failure.
    let _ = writeln!(io::stderr(), "{what}: {text}");
}

/// Prints lines that another program has written, as [`print_line`] does, and without their colours.
pub fn print_lines<'l>(lines: impl IntoIterator<Item = &'l str>) {
    for line in lines {
        let line = without_credentials(&strip_ansi_codes(line));
        let _ = writeln!(io::stderr(), "{}", escaped(&line, &['\t']));
    }
}

/// Escapes control characters, except for those that are `kept`.
fn escaped(text: &str, kept: &[char]) -> String {
    escaped_by(text, kept, |c| c.escape_default().collect())
}

fn escaped_by(text: &str, kept: &[char], escape: impl Fn(char) -> String) -> String {
    let escaped = text
        .chars()
        .map(|c| match is_control(c) && !kept.contains(&c) {
            true => escape(c),
            false => c.to_string(),
        });
    escaped.collect()
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

    #[test]
    fn a_step_is_told_of_by_its_last_name() {
        let progress = spinner("measuring");
        progress.step.borrow_mut().started -= Duration::from_secs(3);
        progress.rename("measuring (left out)");
        let told = progress.step.borrow().account();
        assert_eq!(told.as_deref(), Some("measuring (left out) took 3s"));
    }

    #[test]
    fn json_is_the_same_value_without_control_characters() {
        let value = "a\u{202e}\u{9b}\u{e0041}\nä";
        let json = serde_json::to_string_pretty(&[value]).unwrap();
        let escaped = escaped_json(&json);
        assert_eq!(escaped, "[\n  \"a\\u202e\\u009b\\udb40\\udc41\\nä\"\n]");
        let read: [String; 1] = serde_json::from_str(&escaped).unwrap();
        assert_eq!(read, [value]);
    }
}
