//! Cargo's cache of tarballs. It has a folder for each registry.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::source::locked::Locked;
use paired::cargo::home;
use paired::error::Failure;
use paired::files::contents::sha256;
use paired::files::plain;
use paired::interrupt;
use paired::terminal::shown;

/// A file of cargo's cache with the name of a package's tarball. Packages of another registry may have the same names.
pub(super) struct Tarball {
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
    /// Tells whether the file has the checksum.
    pub(super) is_it: bool,
}

impl Tarball {
    /// Tells whether the file has another checksum, though it is in the folder of crates.io.
    pub(super) fn is_corrupt(&self) -> bool {
        !self.is_it && self.path.parent().is_some_and(is_of_crates_io)
    }
}

/// Tells whether a folder of cargo's cache is that of crates.io.
pub(super) fn is_of_crates_io(cache: &Path) -> bool {
    let folder = cache.file_name().unwrap_or_default().to_string_lossy();
    // Cargo before 1.85 and since, where it has the index from git.
    let crates_io = [
        "index.crates.io-",
        "github.com-1ecc6299db9ec823",
        "github.com-25cdd57fae9f0462",
    ];
    crates_io.iter().any(|prefix| folder.starts_with(prefix))
}

/// Finds the tarballs of a package in cargo's cache; one that is corrupt comes first.
pub(super) fn tarballs(locked: &Locked) -> Result<Vec<Tarball>> {
    let file = format!("{}-{}.crate", locked.name, locked.version);
    let mut found = Vec::new();
    for path in caches()?.into_iter().map(|dir| dir.join(&file)) {
        if path.is_file() {
            let unreadable = || format!("cannot read {}", shown(&path));
            let bytes = plain::read(&path).with_context(unreadable)?;
            let is_it = sha256(&bytes) == locked.checksum;
            found.push(Tarball { path, bytes, is_it });
        }
    }
    found.sort_by_key(|found| !found.is_corrupt());
    Ok(found)
}

/// Lists the folders in which cargo keeps tarballs, one per registry.
pub(super) fn caches() -> Result<Vec<PathBuf>> {
    let Ok(entries) = fs::read_dir(home()?.join("registry/cache")) else {
        return Ok(Vec::new());
    };
    let mut dirs = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    dirs.sort();
    Ok(dirs)
}

/// Waits for cargo's lock on its cache, and keeps every cargo from writing there while the result lives. There is none where cargo's home
/// has no lock that can be opened.
pub(super) fn locked() -> Result<Option<File>> {
    let Ok(lock) = File::open(home()?.join(".package-cache")) else {
        return Ok(None);
    };
    loop {
        match lock.try_lock_shared() {
            Ok(()) => return Ok(Some(lock)),
            Err(TryLockError::WouldBlock) => {
                interrupt::check()?;
                thread::sleep(Duration::from_millis(20));
            }
            // A file system without locks.
            Err(TryLockError::Error(_)) => return Ok(None),
        }
    }
}

/// Refuses a pipe or a device in place of a tarball in cargo's cache: cargo opens it, and waits for its other end.
pub(super) fn assert_plain_tarballs() -> Result<()> {
    for cache in caches()? {
        for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
            let path = entry.path();
            let kind = match entry.file_type() {
                Ok(kind) if kind.is_symlink() => fs::metadata(&path).map(|named| named.file_type()),
                kind => kind,
            };
            if kind.is_ok_and(|kind| !kind.is_file() && !kind.is_dir()) {
                return Err(
                    Failure::input(format!("{}: not a plain file", shown(&path)))
                        .hint("delete it; cargo will fetch the package again")
                        .into(),
                );
            }
        }
    }
    Ok(())
}
