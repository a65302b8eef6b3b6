//! A worker's process. Requests and replies are lines of JSON, one reply to each request.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;

use crate::address::without_credentials;
use crate::error::Failure;
use crate::interrupt::{self, Group};
use crate::run::protocol::{Reply, Request};
use crate::run::sample::Side;
use crate::terminal::shown;

/// A worker's process. It ends when the value is dropped.
pub(crate) struct Worker {
    side: Side,
    process: Group,
    /// The lines of its standard output. A thread reads them, since a pipe cannot be read with a timeout, and keeps one at most,
    /// so that a worker cannot fill this process's memory.
    lines: Receiver<std::io::Result<Vec<u8>>>,
    timeout: Duration,
    /// The name of the last request.
    asked: String,
}

impl Worker {
    /// Starts the worker of a side. It may take `timeout` for each reply.
    pub(crate) fn start(executable: &Path, side: Side, timeout: Duration) -> Result<Self> {
        let mut worker = Command::new(executable);
        let mut process = Group::start(worker.stdin(Stdio::piped()).stdout(Stdio::piped()))?;
        let stdout = process.0.stdout.take().expect("stdout is piped");
        let (sender, lines) = mpsc::sync_channel(1);
        thread::spawn(move || {
            /// The longest reply lists the rows.
            const LONGEST: u64 = 1 << 20;
            let mut stdout = BufReader::new(stdout);
            loop {
                let mut line = Vec::new();
                let read = (&mut stdout).take(LONGEST).read_until(b'\n', &mut line);
                // The rest of a line that is too long is no line.
                let goes_on = read.is_ok() && line.ends_with(b"\n");
                if matches!(read, Ok(0)) || sender.send(read.map(|_| line)).is_err() || !goes_on {
                    break;
                }
            }
        });
        Ok(Self {
            side,
            process,
            lines,
            timeout,
            asked: String::new(),
        })
    }

    /// Sends a request and waits for the reply. Fails where the worker replies with an error, with anything else than a reply,
    /// too late or not at all.
    pub(crate) fn ask(&mut self, request: &Request) -> Result<Reply> {
        let line = serde_json::to_string(request).context("the path in a request is not UTF-8")?;
        self.asked = name_of(request);
        if let Ok(Ok(line)) = self.lines.try_recv() {
            return Err(self.failure(&format!(
                "printed a line before it was asked: {}",
                first_line(&line)
            )));
        }
        let stdin = self.process.0.stdin.as_mut().expect("stdin is piped");
        if writeln!(stdin, "{line}").is_err() {
            return Err(self.died());
        }
        let line = self.line()?;
        parsed(&line).map_err(|what| self.failure(&what))
    }

    fn line(&mut self) -> Result<Vec<u8>> {
        // Short waits, so that Ctrl-C is seen. They take no time from the workers, which are pinned to another core.
        const WAIT: Duration = Duration::from_millis(100);
        let start = Instant::now();
        let mut ended = false;
        loop {
            interrupt::check()?;
            match self.lines.recv_timeout(WAIT) {
                Ok(line) => return line.map_err(|error| self.failure(&error.to_string())),
                Err(RecvTimeoutError::Disconnected) => {
                    interrupt::check()?;
                    return Err(self.died());
                }
                Err(RecvTimeoutError::Timeout) if start.elapsed() > self.timeout => {
                    let seconds = self.timeout.as_secs_f32();
                    return Err(self.failure(&format!("gave no reply within {seconds} s")));
                }
                // Another process may hold its output open.
                Err(RecvTimeoutError::Timeout) if ended => return Err(self.died()),
                Err(RecvTimeoutError::Timeout) => ended = self.process.has_ended(),
            }
        }
    }

    /// Saves the last outputs of `self` to `path`, and lets `other` verify them.
    pub(crate) fn hand_over(&mut self, other: &mut Self, path: &Path) -> Result<()> {
        let path = path.to_owned();
        match self.ask(&Request::Save { path: path.clone() })? {
            Reply::Saved => {}
            reply => return Err(self.confused(&reply)),
        }
        match other.ask(&Request::Verify { path })? {
            Reply::Accepted => Ok(()),
            reply => Err(other.confused(&reply)),
        }
    }

    /// Returns the error for a worker that has closed a pipe: in most cases its process has ended.
    fn died(&mut self) -> anyhow::Error {
        const WAIT: Duration = Duration::from_millis(10);
        let start = Instant::now();
        loop {
            if self.process.has_ended() {
                return match self.process.reap(Child::wait) {
                    Ok(status) => self.failure(&format!("ended early: {status}")),
                    Err(error) => error,
                };
            }
            if start.elapsed() > self.timeout {
                return self.failure("closed its standard input or output, but still runs");
            }
            thread::sleep(WAIT);
            if let Err(interrupted) = interrupt::check() {
                return interrupted;
            }
        }
    }

    /// Returns the error for a reply to another request than the last one.
    pub(crate) fn confused(&self, reply: &Reply) -> anyhow::Error {
        self.failure(&unexpected(&self.asked, reply))
    }

    /// Returns an error that names the side of the worker. It is on one line, whatever the worker has said.
    pub(crate) fn failure(&self, what: &str) -> anyhow::Error {
        Failure::check(format!("{} worker: {}", self.side.name(), shown(what))).into()
    }
}

/// Returns the complaint about a reply to another request than `asked`.
pub fn unexpected(asked: &str, reply: &Reply) -> String {
    let reply = name_of(reply);
    format!("answered the request `{asked}` with `{reply}`; this is a bug in the worker")
}

/// Returns the name of a request or a reply, as the protocol has it.
fn name_of(message: &impl Serialize) -> String {
    match serde_json::to_value(message) {
        Ok(Value::String(name)) => name,
        Ok(Value::Object(fields)) => fields.into_iter().map(|(name, _)| name).collect(),
        _ => unreachable!("a name, or a name and its fields"),
    }
}

/// Returns the beginning of the first line that a worker has printed, up to 80 characters. Credentials are removed from the whole
/// line: behind a cut, the mark that tells a user from a host may be missing.
fn first_line(printed: &[u8]) -> String {
    const LONGEST: usize = 80;
    let printed = String::from_utf8_lossy(printed);
    let line = without_credentials(printed.lines().next().unwrap_or_default());
    let start: String = line.chars().take(LONGEST).collect();
    start.trim_end().to_owned()
}

/// Reads what a worker has printed. An error is the worker's or says what it has printed and, where the text has the form of a reply, which
/// part of it is none.
fn parsed(printed: &[u8]) -> Result<Reply, String> {
    let error = match serde_json::from_slice(printed) {
        Ok(Reply::Error(error)) => return Err(error),
        Ok(reply) => return Ok(reply),
        Err(error) => error,
    };
    let printed = first_line(printed);
    let what = format!("printed a line that is no reply of the protocol: {printed}");
    Err(match error.is_data() {
        true => format!("{what}: {error}"),
        false => what,
    })
}

/// Reads a reply in the output of a worker that was run in another way, such as in an emulator. Fails where the worker replies
/// with an error, or with anything else than a reply.
pub fn reply(worker: &Path, text: &str) -> Result<Reply> {
    let refused = |what| Failure::check(format!("{}: {}", shown(worker), shown(what)));
    Ok(parsed(text.as_bytes()).map_err(refused)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_behind_its_credentials() {
        let token = "s3cr3t-".repeat(9);
        let line = format!("no index at https://ci-user:{token}@h/x, a\nb");
        assert!(!line[..80].contains('@') && line.contains('@'));
        assert_eq!(first_line(line.as_bytes()), "no index at https://h/x, a");
        assert_eq!(first_line("ä".repeat(99).as_bytes()), "ä".repeat(80));
        assert_eq!(first_line(b""), "");
    }

    #[test]
    fn no_line_of_a_worker_is_one_of_the_tools() {
        let error = r#"{"error":"out of memory\nhint: run https://u:s3cr3t@h/x"}"#;
        let refused = reply(Path::new("w"), error).unwrap_err().to_string();
        assert_eq!(refused, r"w: out of memory\nhint: run https://h/x");
        let refused = reply(Path::new("w"), r#"{"a\nhint: b":1}"#).unwrap_err();
        assert!(!refused.to_string().contains('\n'), "{refused}");
    }
}
