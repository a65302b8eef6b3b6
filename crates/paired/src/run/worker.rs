//! A worker's process: one request, one reply, a line of JSON each.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::error::Failure;
use crate::interrupt::{self, Group};
use crate::run::pairs::Side;
use crate::run::protocol::{Reply, Request};

/// A worker process. It dies with the value.
pub(crate) struct Worker {
    side: Side,
    process: Group,
    /// Lines of its standard output, which a thread reads: a pipe cannot be read with a timeout. One is kept at most, so
    /// that nobody fills this process's memory.
    lines: Receiver<std::io::Result<Vec<u8>>>,
    timeout: Duration,
}

impl Worker {
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
                let goes_on = matches!(read, Ok(1..));
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
        })
    }

    pub(crate) fn ask(&mut self, request: &Request) -> Result<Reply> {
        let line =
            serde_json::to_string(request).context("a request with a path that is no text")?;
        if let Ok(Ok(line)) = self.lines.try_recv() {
            return Err(self.failure(&format!("printed what nobody asked for: {}", shown(&line))));
        }
        let stdin = self.process.0.stdin.as_mut().expect("stdin is piped");
        if writeln!(stdin, "{line}").is_err() {
            return Err(self.died());
        }
        let line = self.line()?;
        match serde_json::from_slice(&line) {
            Ok(Reply::Error(error)) => Err(self.failure(&error)),
            Ok(reply) => Ok(reply),
            Err(_) => Err(self.failure(&format!("printed what is no reply: {}", shown(&line)))),
        }
    }

    fn line(&mut self) -> Result<Vec<u8>> {
        // Short waits, so that Ctrl-C is seen; on the core that the workers are not pinned to.
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
                    return Err(self.failure(&format!("gave no answer in {seconds} s")));
                }
                // Others may hold its output.
                Err(RecvTimeoutError::Timeout) if ended => return Err(self.died()),
                Err(RecvTimeoutError::Timeout) => ended = self.process.has_ended(),
            }
        }
    }

    /// Has `self`'s last outputs verified by `other`.
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

    /// The error for a worker that has closed a pipe. Most have ended.
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
                return self.failure("closed its input or its output, and goes on");
            }
            thread::sleep(WAIT);
            if let Err(interrupted) = interrupt::check() {
                return interrupted;
            }
        }
    }

    pub(crate) fn confused(&self, reply: &Reply) -> anyhow::Error {
        self.failure(&format!("gave an answer to another question: {reply:?}"))
    }

    pub(crate) fn failure(&self, what: &str) -> anyhow::Error {
        Failure::check(format!("{} worker: {what}", self.side.name())).into()
    }
}

/// The beginning of the first line that a worker has printed.
fn shown(printed: &[u8]) -> String {
    const LONGEST: usize = 80;
    let printed = String::from_utf8_lossy(&printed[..printed.len().min(LONGEST)]);
    printed
        .lines()
        .next()
        .unwrap_or_default()
        .trim_end()
        .to_owned()
}

/// A worker's answer, or an error where it gave none.
pub fn reply(worker: &Path, text: &str) -> Result<Reply> {
    let worker = worker.display();
    match serde_json::from_str(text) {
        Ok(Reply::Error(error)) => Err(Failure::check(format!("{worker}: {error}")).into()),
        Ok(reply) => Ok(reply),
        Err(_) => Err(Failure::check(format!(
            "{worker}: printed what is no reply: {}",
            shown(text.as_bytes())
        ))
        .into()),
    }
}
