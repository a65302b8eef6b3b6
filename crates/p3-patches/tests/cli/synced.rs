//! A power failure keeps what was synced. A recorder of the system calls shows that whatever a rename brings in reached the disk
//! before it, and the rename before what relies on it.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::ptrace::{self, Options};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::fixture::{Fixture, MANIFEST};

#[derive(Debug, Eq, PartialEq)]
enum Call {
    Write(PathBuf),
    Sync(PathBuf),
    /// All of the file system.
    SyncAll,
    Rename(PathBuf, PathBuf),
    Unlink(PathBuf),
}

/// What the main thread of a run does to files, in this order.
#[expect(clippy::zombie_processes, reason = "`waitpid` waits for it")]
fn record(mut command: Command) -> Vec<Call> {
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
    let pid = Pid::from_raw(child.id().try_into().unwrap());
    waitpid(pid, None).unwrap();
    ptrace::setoptions(pid, Options::PTRACE_O_TRACESYSGOOD).unwrap();
    let mut calls = Vec::new();
    let mut signal = None;
    let mut entered = false;
    loop {
        ptrace::syscall(pid, signal.take()).unwrap();
        match waitpid(pid, None).unwrap() {
            WaitStatus::PtraceSyscall(_) => {
                entered = !entered;
                if entered {
                    calls.extend(call(pid));
                }
            }
            WaitStatus::Stopped(_, stopped) => signal = Some(stopped),
            WaitStatus::Exited(_, code) => {
                assert_eq!(code, 0);
                return calls;
            }
            status => panic!("{status:?}"),
        }
    }
}

/// The call that a process is about to make, by the numbers of x86-64.
fn call(pid: Pid) -> Option<Call> {
    let registers = ptrace::getregs(pid).unwrap();
    let handle = |number: u64| fs::read_link(format!("/proc/{pid}/fd/{}", number as i32)).unwrap();
    let at = |folder: u64, name: u64| match folder as i32 {
        nix::libc::AT_FDCWD => text(pid, name),
        _ => handle(folder).join(text(pid, name)),
    };
    let (one, two, three, four) = (registers.rdi, registers.rsi, registers.rdx, registers.r10);
    Some(match registers.orig_rax {
        1 if one > 2 => Call::Write(handle(one)),
        74 | 75 => Call::Sync(handle(one)),
        306 => Call::SyncAll,
        82 => Call::Rename(text(pid, one), text(pid, two)),
        264 | 316 => Call::Rename(at(one, two), at(three, four)),
        87 | 84 => Call::Unlink(text(pid, one)),
        263 => Call::Unlink(at(one, two)),
        _ => return None,
    })
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

/// Whether one of `calls` is a sync of `path`, by itself or with all.
fn syncs(calls: &[Call], path: &Path) -> bool {
    let syncs = |call: &Call| matches!(call, Call::SyncAll) || *call == Call::Sync(path.to_owned());
    calls.iter().any(syncs)
}

/// Asserts that what every rename among `calls` brings in was synced since it was written, and that the folder is synced after a
/// rename onto one of `files`, before the next rename or removal.
#[track_caller]
fn assert_synced(calls: &[Call], files: &[PathBuf]) -> usize {
    let mut renamed = 0;
    for (at, call) in calls.iter().enumerate() {
        let Call::Rename(from, to) = call else {
            continue;
        };
        if !files.contains(to) {
            continue;
        }
        renamed += 1;
        let written = calls[..at]
            .iter()
            .rposition(|call| *call == Call::Write(from.clone()));
        let written = written.unwrap_or_else(|| panic!("{call:?}: nothing was written"));
        assert!(syncs(&calls[written..at], from), "{call:?}: not synced");
        let relies = |call: &Call| matches!(call, Call::Rename(..) | Call::Unlink(_));
        let after = &calls[at + 1..];
        let end = after.iter().position(relies).unwrap_or(after.len());
        let folder = to.parent().unwrap();
        assert!(
            syncs(&after[..end], folder),
            "{call:?}: the folder is not synced"
        );
    }
    renamed
}

#[test]
fn renames_and_what_they_bring_reach_the_disk_in_order() {
    let fixture = Fixture::new();
    let prover = fs::canonicalize(fixture.prover()).unwrap();
    let [manifest, lock] = ["Cargo.toml", "Cargo.lock"].map(|name| prover.join(name));
    let files = [manifest.clone(), lock];
    for args in [&["apply", "demo"][..], &["apply", "stacked"]] {
        let calls = record(fixture.command(args));
        assert!(assert_synced(&calls, &files) >= 1, "{args:?}: {calls:?}");
        // The trees are on the disk before the manifest names them, and that is before the old ones go.
        let names = |call: &Call| matches!(call, Call::Rename(_, to) if *to == manifest);
        let named = calls.iter().position(names).unwrap();
        let of_tree = |path: &Path| path.starts_with(prover.join(".p3-patches/0.8.0"));
        let placed = |call: &Call| matches!(call, Call::Rename(_, to) if of_tree(to));
        let placed = calls[..named].iter().rposition(placed).unwrap();
        assert!(calls[placed..named].contains(&Call::SyncAll), "{args:?}");
        let goes = |call: &Call| matches!(call, Call::Rename(from, _) if of_tree(from));
        let gone = calls.iter().position(goes);
        assert!(gone.is_none_or(|gone| gone > named), "{args:?}");
    }
    let calls = record(fixture.command(&["remove"]));
    assert!(assert_synced(&calls, &files) >= 2, "{calls:?}");
    assert_eq!(fixture.manifest(), MANIFEST);
}
