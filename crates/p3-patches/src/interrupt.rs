//! Ctrl-C: a flag that long work looks at, so that guards on the stack undo what is half done; and children that end with the
//! work that they are for, together with all that they have started.
//!
//! Each child leads a group of processes: `cargo` that is killed leaves a `rustc` behind, which goes on to write below the
//! target folder. A terminal sends its Ctrl-C to the tool's own group, and the tool ends the others.

use std::fmt;
use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process_group, test_kill_process_group,
    waitid, waitpid,
};

use crate::cargo::settle_paths;
use crate::error::Failure;

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

/// A child process that leads a group. A child that goes on is ended with the value, and its group with it.
pub struct Group(pub Child);

impl Group {
    /// Starts `command`.
    pub fn start(command: &mut Command) -> Result<Self> {
        settle_paths(command);
        let child = command.process_group(0).spawn();
        let unstartable = || format!("cannot run {}", command.get_program().display());
        Ok(Self(child.with_context(unstartable)?))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Once the child has been waited for, another group may have its number.
        let any = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if waitid(WaitId::Pid(Pid::from_child(&self.0)), any).is_ok() {
            end(self.0.id());
        }
    }
}

/// Ends the group that a child leads. Git removes its locks when it is asked to end, and `--setup` may have started anything;
/// after a while, nobody is asked.
pub fn end(child: u32) {
    const PATIENCE: Duration = Duration::from_secs(2);
    let group = pid(child);
    // These fail where all have ended already.
    let _ = kill_process_group(group, Signal::TERM);
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        // A child that nobody has waited for counts as one of its group.
        let _ = waitpid(Some(group), WaitOptions::NOHANG);
        if test_kill_process_group(group).is_err() {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
    let _ = kill_process_group(group, Signal::KILL);
    let _ = waitpid(Some(group), WaitOptions::empty());
}

/// Fails as [`check`] does, and where the child that is waited for has stopped: in the background of a terminal, a child that
/// reads from it waits forever.
pub fn check_on(child: u32, command: &Command) -> Result<()> {
    check()?;
    let stopped = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let status = waitid(WaitId::Pid(pid(child)), stopped).ok().flatten();
    let signal = status.and_then(|status| status.stopping_signal());
    let waits = [Signal::TTIN, Signal::TTOU].map(Signal::as_raw);
    if signal.is_some_and(|signal| waits.contains(&signal)) {
        let program = command.get_program().display();
        let asks = format!("{program} asks for something on the terminal, which is not its own");
        let hint = "run it by hand once, or give an agent or a credential helper what it asks for";
        return Err(Failure::environment(asks).hint(hint).into());
    }
    Ok(())
}

fn pid(child: u32) -> Pid {
    Pid::from_raw(child.cast_signed()).expect("no process has the number 0")
}

/// Runs `command` to its end with its output captured; an interrupt ends it, and all that it has started.
pub fn output(command: &mut Command) -> Result<Output> {
    check()?;
    let (stdin, pipe) = (Stdio::null(), Stdio::piped);
    let mut group = Group::start(command.stdin(stdin).stdout(pipe()).stderr(pipe()))?;
    let drain = |mut pipe: Box<dyn Read + Send>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.read_to_end(&mut bytes).map(|_| bytes)
        })
    };
    let child = &mut group.0;
    let stdout = drain(Box::new(child.stdout.take().expect("stdout is piped")));
    let stderr = drain(Box::new(child.stderr.take().expect("stderr is piped")));
    let status = loop {
        // In this order: whatever holds a pipe is ended with the group, which has to be known for that.
        if stdout.is_finished()
            && stderr.is_finished()
            && let Some(status) = child.try_wait()?
        {
            break status;
        }
        check_on(child.id(), command)?;
        thread::sleep(Duration::from_millis(10));
    };
    check()?;
    let read = |pipe: thread::JoinHandle<io::Result<Vec<u8>>>| {
        pipe.join().expect("the reader does not panic")
    };
    Ok(Output {
        status,
        stdout: read(stdout)?,
        stderr: read(stderr)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        shell
    }

    /// The pipe is closed once the last process that has it is gone.
    #[test]
    fn a_dropped_group_ends_whatever_it_ignores() {
        for script in ["", "trap '' TERM;"] {
            let mut command = shell(&format!("{script} sleep 100000 & echo; wait"));
            let mut group = Group::start(command.stdout(Stdio::piped())).unwrap();
            let mut stdout = group.0.stdout.take().unwrap();
            stdout.read_exact(&mut [0]).unwrap();
            drop(group);
            assert_eq!(stdout.read_to_end(&mut Vec::new()).unwrap(), 0);
        }
    }

    #[test]
    fn a_child_that_asks_the_terminal_is_an_error() {
        let error = output(&mut shell("kill -TTIN $$; echo goes on")).unwrap_err();
        let expected = "sh asks for something on the terminal, which is not its own";
        assert_eq!(error.to_string(), expected);
    }
}
