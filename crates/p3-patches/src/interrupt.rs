//! Ctrl-C: a flag that long work looks at, so that guards on the stack undo what is half done.

use std::fmt;
use std::io::Read;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The error that carries an interrupt up to `main`, past every guard's `Drop`.
#[derive(Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// Turns SIGINT, SIGTERM and SIGHUP into the flag that [`check`] reads.
pub fn install() -> Result<()> {
    ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::SeqCst))
        .context("cannot install the Ctrl-C handler")
}

/// Fails once the user has asked to stop.
pub fn check() -> Result<()> {
    if INTERRUPTED.load(Ordering::SeqCst) {
        Err(Interrupted.into())
    } else {
        Ok(())
    }
}

/// Runs `command` to its end with its output captured; an interrupt kills it.
///
/// A signal sent to this process alone does not reach the child, which is why `Command::output` does not do.
pub fn output(command: &mut Command) -> Result<Output> {
    check()?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {}", command.get_program().display()))?;
    let drain = |mut pipe: Box<dyn Read + Send>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.read_to_end(&mut bytes).map(|_| bytes)
        })
    };
    let stdout = drain(Box::new(child.stdout.take().expect("stdout is piped")));
    let stderr = drain(Box::new(child.stderr.take().expect("stderr is piped")));
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if let Err(interrupted) = check() {
            child.kill()?;
            child.wait()?;
            return Err(interrupted);
        }
        thread::sleep(Duration::from_millis(10));
    };
    // A terminal's Ctrl-C ends the child as well; that is no failure of the child's.
    check()?;
    let read = |pipe: thread::JoinHandle<std::io::Result<Vec<u8>>>| {
        pipe.join().expect("the reader does not panic")
    };
    Ok(Output {
        status,
        stdout: read(stdout)?,
        stderr: read(stderr)?,
    })
}
