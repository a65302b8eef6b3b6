//! x86-64 in valgrind, which counts the instructions that a program executes.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::emulation;
use crate::error::Failure;
use crate::interrupt;
use crate::pairs::protocol::{Reply, Request};

pub struct Callgrind {
    pub version: String,
}

impl Callgrind {
    pub fn find() -> Result<Self> {
        let output = Command::new("valgrind").arg("--version").output().ok();
        let output = output.filter(|output| output.status.success());
        let output = output.ok_or_else(|| {
            Failure::environment("no valgrind on this machine")
                .hint("ci/isa.sh installs what is needed, on x86-64 Linux")
        })?;
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(Self { version })
    }

    /// Has `worker` answer one request; also returns how many instructions it executed from its start to its end.
    pub fn count(&self, worker: &Path, request: &Request) -> Result<(Reply, u64)> {
        let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
        let log = folder.path().join("log");
        let mut child = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(format!("--log-file={}", log.display()))
            .arg(worker)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot run valgrind")?;
        let mut stdin = child.stdin.take().expect("stdin is piped");
        // A worker that does not read it has died, which its status will say. The end of the input ends the worker.
        let _ = writeln!(stdin, "{}", serde_json::to_string(request)?);
        drop(stdin);
        let output = child.wait_with_output()?;
        interrupt::check()?;
        if !output.status.success() {
            let said = [output.stderr, fs::read(&log).unwrap_or_default()].concat();
            return Err(Failure::check(format!(
                "{}: ended with {} under valgrind: {}",
                worker.display(),
                output.status,
                String::from_utf8_lossy(&said).trim_end()
            ))
            .into());
        }
        let log = fs::read_to_string(&log).context("valgrind wrote no log")?;
        let count = log.lines().find_map(collected);
        let count = count.context("valgrind says of no instructions that it collected them")?;
        let reply = String::from_utf8_lossy(&output.stdout);
        Ok((emulation::reply(worker, &reply)?, count))
    }
}

/// The count in a line of the log, `==PROCESS== Collected : COUNT`.
fn collected(line: &str) -> Option<u64> {
    let (_, count) = line.split_once("== Collected : ")?;
    count.trim().parse().ok()
}
