//! A folder that one run has for itself.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::fs::FileType;

use paired::files::dir::{Dir, Place, Staged, UNFINISHED, cannot_write, is_link, is_locked};
use paired::interrupt;
use paired::terminal::{shown, spinner};

/// The lock file of the folder.
const LOCK: &str = ".lock";

const IGNORE: &str = ".gitignore";

/// A folder that no other run is at work in.
pub struct LockedDir {
    /// The folder that it is in, and its name there.
    parent: Dir,
    name: OsString,
    pub dir: Dir,
    /// Holds the lock; the system lets go of it however the process ends.
    lock: File,
}

impl LockedDir {
    /// Creates the folder if need be, locks it, and removes what killed runs have left.
    pub fn lock(path: &Path) -> Result<Self> {
        Self::try_lock(path)?.ok_or_else(|| is_locked(path).into())
    }

    /// Locks the folder as [`Self::lock`] does, but waits for a run that has it locked.
    pub fn wait(path: &Path) -> Result<Self> {
        const WAIT: Duration = Duration::from_millis(100);
        let mut bar = None;
        loop {
            if let Some(folder) = Self::try_lock(path)? {
                return Ok(folder);
            }
            bar.get_or_insert_with(|| {
                let bar = spinner("");
                let path = shown(path);
                bar.announce(format!("waiting for another run at work in {path}"));
                bar
            });
            interrupt::check()?;
            thread::sleep(WAIT);
        }
    }

    /// Locks the folder as [`Self::lock`] does; `None` where another run is at work.
    pub(crate) fn try_lock(path: &Path) -> Result<Option<Self>> {
        let parent = Dir::create(path.parent().context("a folder in a folder")?)?;
        let name = path.file_name().context("a folder with a name")?.to_owned();
        let dir = parent.create_folder(&name)?;
        let entries = dir.entries()?;
        let is_unfinished = |name: &OsString| name.to_string_lossy().starts_with(UNFINISHED);
        for (name, kind) in &entries {
            if *kind == FileType::Symlink && !is_unfinished(name) {
                return Err(is_link(&path.join(name)).into());
            }
        }
        let lock = dir.file(LOCK)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => {
                return Err(cannot_write(&path.join(LOCK), &error).into());
            }
        }
        for (name, _) in entries.iter().filter(|(name, _)| is_unfinished(name)) {
            dir.remove(name)?;
        }
        let folder = Self {
            parent,
            name,
            dir,
            lock,
        };
        let ignore = b"*\n";
        if folder.dir.read(IGNORE)?.is_none_or(|found| found != ignore) {
            folder.replace(folder.dir.place(IGNORE)?, ignore)?;
        }
        Ok(Some(folder))
    }

    /// Replaces a file in one step, keeping its permissions.
    pub fn replace(&self, place: Place, contents: &[u8]) -> Result<()> {
        place.stage(&self.dir, contents)?.put()
    }

    /// Replaces files that belong together, each in one step, in this order. None is touched before there is space for all.
    pub fn replace_all(&self, files: Vec<(Place, Vec<u8>)>) -> Result<()> {
        let stage = |(place, contents): (Place, Vec<u8>)| place.stage(&self.dir, &contents);
        let staged = files.into_iter().map(stage).collect::<Result<Vec<_>>>()?;
        staged.into_iter().try_for_each(Staged::put)
    }

    /// Ends the work here, and removes the folder where nothing but its own files is left.
    pub fn remove_if_empty(self) -> Result<()> {
        let own = [IGNORE, LOCK];
        let mut entries = self.dir.entries()?.into_iter();
        if entries.all(|(name, _)| own.iter().any(|own| name == *own)) {
            drop(self.lock);
            self.parent.remove(&self.name)?;
        }
        Ok(())
    }
}
