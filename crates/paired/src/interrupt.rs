//! Ctrl-C and child processes. A signal sets a flag that long work reads with [`check`], so that destructors undo half-done work.
//! A child process ends with the value that started it, together with every process that it has started itself.
//!
//! Each child leads a process group: a killed `cargo` leaves a `rustc` behind, which goes on to write below the target folder.
//! A terminal sends its Ctrl-C to the tool's own group only, and the tool ends the groups of its children. A tool that is
//! killed cannot do so; its guard, a second process of the same executable, then does.

use std::collections::BTreeSet;
use std::env;
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, ExitCode, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, WaitOptions, kill_process_group,
    test_kill_process_group, waitid, waitpid,
};

use crate::environment::settle_paths;
use crate::error::Failure;
use crate::terminal::{print_line, shown};

/// The exit code of an interrupted run.
pub(crate) const CODE: u8 = 130;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The error that carries an interrupt up to `main`, past every guard's `Drop`.
#[derive(Debug)]
pub(crate) struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// The first argument of a guard's process.
const GUARD: &str = "end-groups";

/// The guard's process. It starts with the first group, and reads the numbers of the groups from its standard input.
static GUARD_PROCESS: Mutex<Option<Child>> = Mutex::new(None);

/// Ends the guard's process when it is dropped.
pub(crate) struct Guarded;

/// Makes SIGINT, SIGTERM and SIGHUP set the flag that [`check`] reads. A second signal ends the process at once. The first one
/// ends it after ten seconds: no destructor takes that long, and no work should go that long without a check.
pub(crate) fn install() -> Result<Guarded> {
    const PATIENCE: Duration = Duration::from_secs(10);
    let end = || process::exit(CODE.into());
    ctrlc::set_handler(move || {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            end();
        }
        thread::spawn(move || {
            thread::sleep(PATIENCE);
            end();
        });
    })
    .context("cannot install the Ctrl-C handler")?;
    Ok(Guarded)
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if let Some(mut guard) = guard_process().take() {
            // The guard ends with its input.
            drop(guard.stdin.take());
            let _ = guard.wait();
        }
    }
}

/// Runs this process as the guard, if its first argument says so. The guard reads lines until the tool has ended: `NUMBER` for a
/// group that has begun, `-NUMBER` for one that is gone. Then it ends the groups that are left.
pub(crate) fn guard() -> Option<ExitCode> {
    if env::args_os().nth(1)? != GUARD {
        return None;
    }
    let mut groups = BTreeSet::new();
    for line in io::stdin().lines().map_while(Result::ok) {
        match line.strip_prefix('-') {
            Some(gone) => groups.remove(gone),
            None => groups.insert(line),
        };
    }
    let groups = groups.iter().filter_map(|group| group.parse().ok());
    groups.filter_map(Pid::from_raw).for_each(end);
    Some(ExitCode::SUCCESS)
}

/// Tells the guard the number of a group that has begun; starts the guard with the first one.
fn tell(group: u32) -> Result<()> {
    let mut process = guard_process();
    if process.is_none() {
        let mut guard = Command::new(executable()?);
        guard.arg(GUARD).stdin(Stdio::piped());
        *process = Some(lead(guard.stdout(Stdio::null()).stderr(Stdio::null()))?);
    }
    write_line(&mut process, &group.to_string());
    Ok(())
}

/// Writes a line to the guard. An error is ignored: the work does not depend on the guard.
fn write_line(process: &mut Option<Child>, line: &str) {
    if let Some(stdin) = process.as_mut().and_then(|guard| guard.stdin.as_mut()) {
        let _ = writeln!(stdin, "{line}");
    }
}

fn guard_process() -> MutexGuard<'static, Option<Child>> {
    GUARD_PROCESS.lock().expect("no thread panics with it")
}

/// Returns a path to the executable of this process. On Linux it stays valid after another build has replaced the file, which is
/// likely while workers compile. Fails where the system cannot tell the path.
pub fn executable() -> Result<PathBuf> {
    let running = Path::new("/proc/self/exe");
    if running.exists() {
        return Ok(running.to_owned());
    }
    env::current_exe().context("cannot tell where this tool is")
}

/// Fails once a signal has asked this process to stop.
pub fn check() -> Result<()> {
    if INTERRUPTED.load(Ordering::SeqCst) {
        Err(Interrupted.into())
    } else {
        Ok(())
    }
}

/// A child process that leads a process group, and the processes of that group. All end when the value is dropped: SIGTERM first,
/// SIGKILL two seconds later.
pub struct Group(
    /// The child, for its pipes and its number. Dropping the group reaps it.
    pub Child,
);

impl Group {
    /// Starts `command` in a process group of its own. Paths in cargo's variables start at this process's folder, whatever folder
    /// the command runs in. Fails where the program cannot be started.
    pub fn start(command: &mut Command) -> Result<Self> {
        settle_paths(command);
        let child = lead(command)?;
        let group = Self(child);
        tell(group.0.id())?;
        Ok(group)
    }

    /// Returns the child's exit, if it has ended, and leaves the child as a zombie, so that the group keeps its number.
    fn ended(&self) -> io::Result<Option<WaitIdStatus>> {
        let end = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(pid(self.0.id())), end)?)
    }

    /// Tells whether the child has ended, or cannot be asked.
    pub(crate) fn has_ended(&self) -> bool {
        !matches!(self.ended(), Ok(None))
    }

    /// Tells whether the child has ended with exit code 0.
    pub(crate) fn has_succeeded(&self) -> bool {
        let ended = self.ended().ok().flatten();
        ended.and_then(|status| status.exit_status()) == Some(0)
    }

    /// Reaps a child that has ended with `wait`, and ends the processes that it has left in its group.
    pub(crate) fn reap<T>(&mut self, wait: impl FnOnce(&mut Child) -> io::Result<T>) -> Result<T> {
        let group = pid(self.0.id());
        // Once the child is reaped, another group may get the number.
        let _ = kill_process_group(group, Signal::TERM);
        let reaped = wait(&mut self.0);
        await_end(group);
        reaped.context("cannot wait for a child")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Once the child is reaped, another group may have its number.
        if self.ended().is_ok() {
            end(pid(self.0.id()));
        }
        write_line(&mut guard_process(), &format!("-{}", self.0.id()));
    }
}

/// Starts `command` as the leader of a group.
fn lead(command: &mut Command) -> Result<Child> {
    let child = command.process_group(0).spawn();
    child.with_context(|| format!("cannot run {}", shown(command.get_program())))
}

/// Blocks until a child has ended, and leaves it to be reaped.
pub(crate) fn wait_for_end(child: u32) {
    let end = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while matches!(waitid(WaitId::Pid(pid(child)), end), Err(Errno::INTR)) {}
}

/// Ends a group with SIGTERM, on which git removes its locks, and after two seconds with SIGKILL.
fn end(group: Pid) {
    // This fails where all processes of the group have ended already.
    let _ = kill_process_group(group, Signal::TERM);
    await_end(group);
}

/// Waits for the end of a group that got SIGTERM; after two seconds it gets SIGKILL.
fn await_end(group: Pid) {
    const PATIENCE: Duration = Duration::from_secs(2);
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        // A zombie still counts as a process of its group.
        let _ = waitpid(Some(group), WaitOptions::NOHANG);
        if test_kill_process_group(group).is_err() {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
    let _ = kill_process_group(group, Signal::KILL);
    let _ = waitpid(Some(group), WaitOptions::empty());
}

/// Fails where [`check`] does, or where the child is stopped because it uses the terminal: its group is in the background
/// there, so that it would wait forever.
pub(crate) fn check_on(child: u32, command: &Command) -> Result<()> {
    check()?;
    let stopped = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let status = waitid(WaitId::Pid(pid(child)), stopped).ok().flatten();
    let signal = status.and_then(|status| status.stopping_signal());
    let waits = [Signal::TTIN, Signal::TTOU].map(Signal::as_raw);
    if signal.is_some_and(|signal| waits.contains(&signal)) {
        let program = shown(command.get_program());
        let asks = format!("{program} waits for the terminal, perhaps to ask for a password");
        let hint = "run it by hand once, or set up an SSH agent or a credential helper for it";
        return Err(Failure::environment(asks).hint(hint).into());
    }
    Ok(())
}

fn pid(child: u32) -> Pid {
    Pid::from_raw(child.cast_signed()).expect("no process has the number 0")
}

/// Waits until a child has ended. Fails after an interrupt, with the child still running.
pub(crate) fn wait(group: &Group, command: &Command) -> Result<()> {
    while !group.has_ended() {
        check_on(group.0.id(), command)?;
        thread::sleep(Duration::from_millis(10));
    }
    check()
}

/// Runs `command` to its end, without standard input, and captures its output.
///
/// Processes that the command leaves in the background end with it, even where they hold its pipes. Fails where the command
/// cannot be started, after an interrupt, and where the command waits for the terminal. An exit code other than 0 is no error.
pub fn output(command: &mut Command) -> Result<Output> {
    check()?;
    let (stdin, pipe) = (Stdio::null(), Stdio::piped);
    let mut group = Group::start(command.stdin(stdin).stdout(pipe()).stderr(pipe()))?;
    let child = &mut group.0;
    let stdout = child.stdout.take().expect("stdout is piped").into();
    let stderr = child.stderr.take().expect("stderr is piped").into();
    let mut pipes = [Pipe::new(stdout)?, Pipe::new(stderr)?];
    let mut is_told = false;
    loop {
        // Before the pipes are read: they then have all that the child has written.
        let ended = group.has_ended();
        pipes.iter_mut().try_for_each(Pipe::drain)?;
        if !is_told && let Some(awaited) = awaited(&pipes[1].read) {
            print_line(
                "progress",
                &format!("cargo is {awaited}, which another cargo holds"),
            );
            is_told = true;
        }
        if ended {
            break;
        }
        check_on(group.0.id(), command)?;
        wait_for_any(&pipes)?;
    }
    check()?;
    let status = group.reap(Child::wait)?;
    let [stdout, stderr] = pipes.map(|pipe| pipe.read);
    Ok(Output {
        status,
        stdout,
        stderr,
    })
}

/// Finds the line in which cargo names a lock that it waits for; the wait may take as long as another build.
fn awaited(stderr: &[u8]) -> Option<&str> {
    // A tool that is a child itself tells the same in other words.
    const BLOCKING: &[u8] = b"Blocking ";
    const WAITING: &[u8] = b"Blocking waiting for file lock on ";
    let start = stderr
        .windows(WAITING.len())
        .position(|bytes| bytes == WAITING)?;
    let line = &stderr[start + BLOCKING.len()..];
    let end = line.iter().position(|byte| *byte == b'\n')?;
    str::from_utf8(&line[..end]).ok()
}

/// The reading end of a pipe that a child writes to, and the bytes that were read.
struct Pipe {
    /// The reading end; `None` once the writing end is closed.
    file: Option<File>,
    read: Vec<u8>,
}

impl Pipe {
    fn new(end: OwnedFd) -> Result<Self> {
        fcntl_setfl(&end, OFlags::NONBLOCK).context("cannot read a pipe")?;
        Ok(Self {
            file: Some(end.into()),
            read: Vec::new(),
        })
    }

    /// Reads the bytes in the pipe, without waiting for more.
    fn drain(&mut self) -> Result<()> {
        /// The most that a pipe holds, so that a writer that never stops does not keep the reader here.
        const MOST: usize = 1 << 20;
        let Some(file) = &self.file else {
            return Ok(());
        };
        match file.take(MOST as u64).read_to_end(&mut self.read) {
            Ok(MOST) => Ok(()),
            Ok(_) => {
                self.file = None;
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error).context("cannot read a pipe"),
        }
    }
}

/// Waits until a pipe can be read or is closed, 10 ms at most, so that an interrupt is seen.
fn wait_for_any(pipes: &[Pipe]) -> Result<()> {
    let open = pipes.iter().filter_map(|pipe| pipe.file.as_ref());
    let mut open: Vec<_> = open.map(|file| PollFd::new(file, PollFlags::IN)).collect();
    // A child that has closed its pipes is about to end.
    let milliseconds = if open.is_empty() { 1 } else { 10 };
    let wait = Timespec {
        tv_sec: 0,
        tv_nsec: milliseconds * 1_000_000,
    };
    match poll(&mut open, Some(&wait)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error).context("cannot wait for a pipe"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        shell
    }

    /// A pipe is closed once the last process that holds its writing end is gone.
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
    fn the_childs_end_is_the_end_whoever_holds_its_pipes() {
        let dir = tempfile::tempdir().unwrap();
        let mut command = shell(
            "(trap 'touch ended; exit' TERM; touch up; while :; do sleep 0.01; done) 2>&1 &
            while [ ! -e up ]; do sleep 0.01; done; echo out; echo err >&2; exit 3",
        );
        let output = output(command.current_dir(&dir)).unwrap();
        assert!(dir.path().join("ended").exists());
        assert_eq!(output.status.code(), Some(3));
        assert_eq!([&*output.stdout, &output.stderr], [b"out\n", b"err\n"]);
    }

    #[test]
    fn output_is_read_to_the_childs_end_and_not_beyond() {
        const MANY: usize = 3_000_000;
        let long = output(&mut shell(&format!("head -c {MANY} /dev/zero"))).unwrap();
        assert_eq!(long.stdout.len(), MANY);
        let flooded = output(&mut shell("yes & echo")).unwrap();
        assert!(flooded.status.success());
    }

    #[test]
    fn a_child_that_asks_the_terminal_is_an_error() {
        let error = output(&mut shell("kill -TTIN $$; echo goes on")).unwrap_err();
        let expected = "sh waits for the terminal, perhaps to ask for a password";
        assert_eq!(error.to_string(), expected);
    }
}
