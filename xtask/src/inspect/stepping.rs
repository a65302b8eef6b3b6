//! Runs an executable on this CPU one instruction at a time, and lists each.

use std::path::Path;

use anyhow::Result;

use paired::run::protocol::{Reply, Request};

/// Below this are the addresses of an executable's own instructions, above it those of shared libraries.
pub const LIBRARIES: u64 = 1 << 40;

/// Sends one request to `worker`, and returns its reply with the address of each instruction that it executed, in order. Addresses
/// in the executable are those of its file.
pub fn trace(worker: &Path, request: &Request) -> Result<(Reply, Vec<u64>)> {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    return linux::trace(worker, request);
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    {
        let _ = (worker, request);
        Err(
            paired::error::Failure::environment("instructions are stepped through on x86-64 Linux")
                .into(),
        )
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod linux {
    use std::fs;
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::ops::Range;
    use std::path::PathBuf;
    use std::process::{ChildStdout, Command, Stdio};
    use std::thread;
    use std::time::Duration;

    use anyhow::Context;
    use nix::errno::Errno;
    use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
    use nix::sys::personality::{self, Persona};
    use nix::sys::ptrace::{self, Options};
    use nix::sys::signal::Signal;
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::Pid;
    use object::{Object as _, ObjectKind};

    use super::{Path, Reply, Request, Result};
    use paired::error::Failure;
    use paired::interrupt::{self, Group};
    use paired::run::worker;
    use paired::terminal::shown;

    pub fn trace(worker: &Path, request: &Request) -> Result<(Reply, Vec<u64>)> {
        let _one_core = OneCore::new()?;
        let mut stepped = Stepped::start(worker)?;
        // Once it has answered, it waits for the next request: what its start executes is of no interest.
        stepped.send(&Request::List)?;
        stepped.reply()?;
        let (range, offset) = stepped.placed()?;
        let mut addresses = stepped.step_through(request)?;
        for address in addresses
            .iter_mut()
            .filter(|address| range.contains(address))
        {
            *address -= offset;
        }
        Ok((stepped.reply()?, addresses))
    }

    /// This thread and the processes that it starts, on one core: each step is a switch from one to the other, which takes
    /// many times as long where a second core has to be woken for it.
    struct OneCore(CpuSet);

    impl OneCore {
        fn new() -> Result<Self> {
            let this_thread = Pid::from_raw(0);
            let before = sched_getaffinity(this_thread)?;
            let mut one = CpuSet::new();
            let mut cores = (0..CpuSet::count()).rev();
            let last = cores.find(|core| before.is_set(*core) == Ok(true));
            one.set(last.context("no core to run on")?)?;
            sched_setaffinity(this_thread, &one)?;
            Ok(Self(before))
        }
    }

    impl Drop for OneCore {
        fn drop(&mut self) {
            // The mask is the one that the thread had.
            let _ = sched_setaffinity(Pid::from_raw(0), &self.0);
        }
    }

    /// A process that is waited for here and nowhere else. It dies with the value.
    struct Stepped {
        executable: PathBuf,
        process: Group,
        pid: Pid,
        stdout: BufReader<ChildStdout>,
    }

    impl Stepped {
        fn start(executable: &Path) -> Result<Self> {
            // Where memory lies decides how copies of it are cut. A sandbox may forbid to ask for a fixed place: then runs
            // that differ are refused as such.
            let before = personality::get().ok();
            if let Some(before) = before {
                let _ = personality::set(before | Persona::ADDR_NO_RANDOMIZE);
            }
            let mut worker = Command::new(executable);
            let process = Group::start(worker.stdin(Stdio::piped()).stdout(Stdio::piped()));
            if let Some(before) = before {
                let _ = personality::set(before);
            }
            let mut process = process?;
            let stdout = process.0.stdout.take().expect("stdout is piped");
            Ok(Self {
                executable: executable.canonicalize()?,
                pid: Pid::from_raw(process.0.id() as i32),
                process,
                stdout: BufReader::new(stdout),
            })
        }

        fn send(&mut self, request: &Request) -> Result<()> {
            let stdin = self.process.0.stdin.as_mut().expect("stdin is piped");
            // A worker that does not read it has died, which its answer will say.
            let _ = writeln!(stdin, "{}", serde_json::to_string(request)?);
            Ok(())
        }

        fn reply(&mut self) -> Result<Reply> {
            let mut text = String::new();
            self.stdout.read_line(&mut text)?;
            worker::reply(&self.executable, text.trim_end())
        }

        /// Sends `request`, steps the worker to its end, and returns the address of each instruction that it executed.
        fn step_through(&mut self, request: &Request) -> Result<Vec<u64>> {
            let refused = |errno: Errno| {
                Failure::environment(format!("no process may be traced here: {errno}"))
                    .hint("a sandbox that forbids ptrace has to allow it")
            };
            self.wait_until_it_reads()?;
            ptrace::seize(self.pid, Options::PTRACE_O_EXITKILL).map_err(refused)?;
            ptrace::interrupt(self.pid).map_err(refused)?;
            let stopped = waitpid(self.pid, None)?;
            self.send(request)?;
            // The end of the input ends the worker.
            drop(self.process.0.stdin.take());
            let mut addresses = Vec::new();
            let mut status = stopped;
            loop {
                match status {
                    WaitStatus::Stopped(_, Signal::SIGTRAP) | WaitStatus::PtraceEvent(..) => {
                        let address = ptrace::getregs(self.pid)?.rip;
                        // A string instruction stops after each of its steps.
                        if addresses.last() != Some(&address) {
                            addresses.push(address);
                        }
                        self.step(None)?;
                    }
                    WaitStatus::Stopped(_, signal) => self.step(Some(signal))?,
                    WaitStatus::Exited(_, 0) => return Ok(addresses),
                    ended => {
                        let worker = shown(&self.executable);
                        return Err(
                            Failure::check(format!("{worker}: ended early: {ended:?}")).into()
                        );
                    }
                }
                if addresses.len().is_multiple_of(1 << 12) {
                    interrupt::check()?;
                }
                status = waitpid(self.pid, None)?;
            }
        }

        /// So that every trace begins at the same instruction.
        fn wait_until_it_reads(&self) -> Result<()> {
            // The number of the system call that it is in, and its first argument.
            const READS_STDIN: &str = "0 0x0 ";
            let path = format!("/proc/{}/syscall", self.pid);
            while !fs::read_to_string(&path)?.starts_with(READS_STDIN) {
                interrupt::check()?;
                thread::sleep(Duration::from_millis(1));
            }
            Ok(())
        }

        fn step(&self, signal: Option<Signal>) -> Result<()> {
            match ptrace::step(self.pid, signal) {
                // The process is gone; the next wait says how.
                Err(Errno::ESRCH) | Ok(()) => Ok(()),
                Err(errno) => Err(errno.into()),
            }
        }

        /// Returns the difference between the executable's addresses and those of its file.
        fn placed(&self) -> Result<(Range<u64>, u64)> {
            let bytes = fs::read(&self.executable)?;
            let moves = object::File::parse(&*bytes)?.kind() == ObjectKind::Dynamic;
            let maps = fs::read_to_string(format!("/proc/{}/maps", self.pid))?;
            let range =
                range(&maps, &self.executable).context("a process without an executable")?;
            let offset = if moves { range.start } else { 0 };
            Ok((range, offset))
        }
    }

    /// Tells where the executable lies among the mappings of its process, each `START-END PERMISSIONS OFFSET DEVICE INODE PATH`.
    fn range(maps: &str, executable: &Path) -> Option<Range<u64>> {
        let mut whole: Option<Range<u64>> = None;
        for line in maps.lines() {
            let (range, rest) = line.split_once(' ')?;
            let path = rest.find('/').map(|path| Path::new(&rest[path..]));
            if path != Some(executable) {
                continue;
            }
            let (start, end) = range.split_once('-')?;
            let [start, end] = [start, end].map(|text| u64::from_str_radix(text, 16).ok());
            whole = Some(whole.map_or(start?, |whole| whole.start)..end?);
        }
        whole
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn an_executable_lies_where_its_first_and_last_mapping_say() {
            let maps = "555555554000-555555580000 r--p 00000000 fe:00 17   /a/worker\n\
                        555555580000-555555700000 r-xp 0002c000 fe:00 17   /a/worker\n\
                        555555700000-555555710000 rw-p 00000000 00:00 0\n\
                        7ffff7d00000-7ffff7e00000 r-xp 00000000 fe:00 18   /lib/libc.so.6\n\
                        7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0    [stack]\n";
            let worker = range(maps, Path::new("/a/worker"));
            assert_eq!(worker, Some(0x5555_5555_4000..0x5555_5570_0000));
            assert_eq!(range(maps, Path::new("/a/other")), None);
        }
    }
}
