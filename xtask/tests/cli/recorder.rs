//! Records what a run changes below a folder: the system calls of the tool, and of all that it starts, with what they write.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// A call that has succeeded. Times and owners are left out.
#[derive(Debug, Eq, PartialEq)]
pub enum Call {
    /// Opens a file, which is created where none is.
    Open {
        path: PathBuf,
        mode: u32,
        empties: bool,
    },
    Folder(PathBuf),
    Write {
        path: PathBuf,
        at: usize,
        bytes: Vec<u8>,
    },
    Truncate(PathBuf, usize),
    Mode(PathBuf, u32),
    Sync(PathBuf),
    /// All of the file system.
    SyncAll,
    Rename(PathBuf, PathBuf),
    Exchange(PathBuf, PathBuf),
    Link(PathBuf, PathBuf),
    /// Removes a file or an empty folder.
    Remove(PathBuf),
    /// Changes something in another way, by this number.
    Other(i64, PathBuf),
}

impl Call {
    fn is_below(&self, folder: &Path) -> bool {
        match self {
            Self::SyncAll => true,
            Self::Rename(from, to) | Self::Exchange(from, to) | Self::Link(from, to) => {
                from.starts_with(folder) || to.starts_with(folder)
            }
            Self::Open { path, .. } | Self::Write { path, .. } => path.starts_with(folder),
            Self::Folder(path)
            | Self::Truncate(path, _)
            | Self::Mode(path, _)
            | Self::Sync(path)
            | Self::Remove(path)
            | Self::Other(_, path) => path.starts_with(folder),
        }
    }
}

/// The calls of a run, which has to succeed, that change files below `folder`, in their order.
#[expect(clippy::zombie_processes, reason = "`waitpid` waits for it")]
pub fn record(mut command: Command, folder: &Path) -> Vec<Call> {
    // SAFETY: between fork and exec, one system call.
    unsafe {
        command.pre_exec(|| Ok(ptrace::traceme()?));
    }
    let output = fs::File::create("/dev/null").unwrap();
    let child = command
        .stdout(output.try_clone().unwrap())
        .stderr(output)
        .spawn()
        .unwrap();
    let tool = Pid::from_raw(child.id().try_into().unwrap());
    waitpid(tool, None).unwrap();
    let options = Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACEEXEC;
    ptrace::setoptions(tool, options).unwrap();
    ptrace::syscall(tool, None).unwrap();
    // Threads and processes, and whether each is in a call.
    let mut traced = HashMap::from([(tool, false)]);
    let mut calls = Vec::new();
    // Other tests, in other threads, have processes of their own.
    let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
    loop {
        let status = match waitpid(None, Some(flags)) {
            Err(Errno::ECHILD) => return calls,
            status => status.unwrap(),
        };
        let pid = status.pid().unwrap();
        let is_new = !traced.contains_key(&pid);
        let in_call = traced.entry(pid).or_default();
        let mut signal = None;
        match status {
            WaitStatus::PtraceSyscall(_) => {
                *in_call = !*in_call;
                if !*in_call {
                    let call = call(pid, folder).filter(|call| call.is_below(folder));
                    let is_other = matches!(call, Some(Call::Other(..)));
                    assert!(!is_other, "not to be recorded: {call:?}");
                    calls.extend(call);
                }
            }
            // With this signal a new one begins.
            WaitStatus::Stopped(_, Signal::SIGSTOP) if is_new => {}
            WaitStatus::Stopped(_, stopped) => signal = Some(stopped),
            WaitStatus::PtraceEvent(..) => {}
            WaitStatus::Exited(_, code) => {
                assert!(pid != tool || code == 0, "exit {code}");
                traced.remove(&pid);
                continue;
            }
            status => panic!("{status:?}"),
        }
        match ptrace::syscall(pid, signal) {
            // Another of its threads ends the process, which is told next. A change that is lost here, the replay misses.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// The call that a process has made, by the numbers and registers of x86-64.
fn call(pid: Pid, folder: &Path) -> Option<Call> {
    // None where another thread ends the process.
    let registers = ptrace::getregs(pid).ok()?;
    let result = usize::try_from(registers.rax as i64).ok()?;
    let handle = |number: u64| fs::read_link(format!("/proc/{pid}/fd/{}", number as i32)).unwrap();
    let at = |folder: u64, name: u64| {
        let folder = match folder as i32 {
            libc::AT_FDCWD => fs::read_link(format!("/proc/{pid}/cwd")).unwrap(),
            _ => handle(folder),
        };
        folder.join(text(pid, name))
    };
    let here = |name: u64| at(libc::AT_FDCWD as u64, name);
    let has = |flags: u64, flag: i32| flags as i32 & flag != 0;
    let mode = |path: PathBuf| {
        let metadata = fs::metadata(&path).ok()?;
        Some((path, metadata.permissions().mode()))
    };
    let open = |flags: u64| {
        if !has(flags, libc::O_CREAT | libc::O_TRUNC) {
            return None;
        }
        let (path, mode) = mode(handle(result as u64))?;
        let empties = has(flags, libc::O_TRUNC);
        Some(Call::Open {
            path,
            mode,
            empties,
        })
    };
    // The file has the bytes that were written.
    let write = |file: u64, at: Option<u64>| {
        let path = handle(file);
        if !path.starts_with(folder) {
            return None;
        }
        let at = at.map_or_else(|| position(pid, file) - result, |at| at as usize);
        let bytes = fs::read(&path).unwrap()[at..at + result].to_vec();
        Some(Call::Write { path, at, bytes })
    };
    let changed = |path: PathBuf| mode(path).map(|(path, mode)| Call::Mode(path, mode));
    let (one, two, three, four) = (registers.rdi, registers.rsi, registers.rdx, registers.r10);
    let number = registers.orig_rax as i64;
    let other = |path: PathBuf| Some(Call::Other(number, path));
    match number {
        libc::SYS_open => open(two),
        libc::SYS_openat => open(three),
        libc::SYS_creat => open(libc::O_TRUNC as u64),
        libc::SYS_mkdir => Some(Call::Folder(here(one))),
        libc::SYS_mkdirat => Some(Call::Folder(at(one, two))),
        libc::SYS_write | libc::SYS_writev | libc::SYS_sendfile => write(one, None),
        libc::SYS_pwrite64 => write(one, Some(four)),
        libc::SYS_copy_file_range if four == 0 => write(three, None),
        libc::SYS_copy_file_range => other(handle(three)),
        libc::SYS_ftruncate => Some(Call::Truncate(handle(one), two as usize)),
        libc::SYS_chmod => changed(here(one)),
        libc::SYS_fchmod => changed(handle(one)),
        libc::SYS_fchmodat => changed(at(one, two)),
        libc::SYS_fsync | libc::SYS_fdatasync => Some(Call::Sync(handle(one))),
        libc::SYS_syncfs if !handle(one).starts_with(folder) => None,
        libc::SYS_syncfs | libc::SYS_sync => Some(Call::SyncAll),
        libc::SYS_rename => Some(Call::Rename(here(one), here(two))),
        libc::SYS_renameat => Some(Call::Rename(at(one, two), at(three, four))),
        libc::SYS_renameat2 if registers.r8 == u64::from(libc::RENAME_EXCHANGE) => {
            Some(Call::Exchange(at(one, two), at(three, four)))
        }
        libc::SYS_renameat2 => Some(Call::Rename(at(one, two), at(three, four))),
        libc::SYS_unlink | libc::SYS_rmdir => Some(Call::Remove(here(one))),
        libc::SYS_unlinkat => Some(Call::Remove(at(one, two))),
        libc::SYS_pwritev | libc::SYS_pwritev2 | libc::SYS_fallocate => other(handle(one)),
        libc::SYS_splice => other(handle(three)),
        libc::SYS_truncate | libc::SYS_mknod => other(here(one)),
        libc::SYS_mknodat | libc::SYS_openat2 => other(at(one, two)),
        libc::SYS_link => Some(Call::Link(here(one), here(two))),
        libc::SYS_linkat => Some(Call::Link(at(one, two), at(three, four))),
        libc::SYS_symlink => other(here(two)),
        libc::SYS_symlinkat => other(at(two, three)),
        libc::SYS_mmap
            if has(three, libc::PROT_WRITE)
                && has(four, libc::MAP_SHARED)
                && !has(four, libc::MAP_ANONYMOUS) =>
        {
            other(handle(registers.r8))
        }
        _ => None,
    }
}

/// Where in a file the next byte goes.
fn position(pid: Pid, file: u64) -> usize {
    let facts = fs::read_to_string(format!("/proc/{pid}/fdinfo/{}", file as i32)).unwrap();
    let position = facts.lines().find_map(|line| line.strip_prefix("pos:"));
    position.unwrap().trim().parse().unwrap()
}

/// The string at an address of another process.
fn text(pid: Pid, mut address: u64) -> PathBuf {
    let mut bytes = Vec::new();
    loop {
        let word = ptrace::read(pid, address as ptrace::AddressType).unwrap();
        for byte in word.to_ne_bytes() {
            if byte == 0 {
                return String::from_utf8(bytes).unwrap().into();
            }
            bytes.push(byte);
        }
        address += 8;
    }
}
