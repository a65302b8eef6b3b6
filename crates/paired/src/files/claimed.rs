//! Temporary files and folders that a killed process leaves to the next one. Each has a lock, which the system releases when
//! its process ends, however that ends; the next process removes the files and folders whose locks are free.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use tempfile::Builder;

/// A temporary file or folder, locked. It is removed with the value.
pub struct Claimed<T> {
    pub made: T,
    /// None on file systems without locks, where nothing is swept.
    _lock: Option<File>,
}

impl<T: AsRef<Path>> Claimed<T> {
    /// Sweeps a folder, and makes a temporary file or folder there whose name begins with `prefix`.
    pub fn new(
        folder: &Path,
        prefix: &str,
        make: impl Fn(&Builder<'_, '_>) -> io::Result<T>,
    ) -> io::Result<Self> {
        sweep(folder, prefix)?;
        let mut builder = Builder::new();
        builder.prefix(prefix);
        loop {
            let made = make(&builder)?;
            // Between these two lines another process may sweep, and take it for a dead one's.
            let lock = match File::open(&made) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened?,
            };
            let lock = match lock.try_lock() {
                Err(TryLockError::WouldBlock) => continue,
                tried => tried.is_ok().then_some(lock),
            };
            if made.as_ref().exists() {
                return Ok(Self { made, _lock: lock });
            }
        }
    }
}

/// Removes the files and folders that no live process holds. The rest may be another user's.
fn sweep(folder: &Path, prefix: &str) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let begins = entry.file_name().to_string_lossy().starts_with(prefix);
        if begins
            && (kind.is_file() || kind.is_dir())
            && let Ok(lock) = File::open(&path)
            && lock.try_lock().is_ok()
        {
            let _ = if kind.is_dir() {
                fs::remove_dir_all(&path)
            } else {
                fs::remove_file(&path)
            };
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_holds_is_swept() {
        let dir = tempfile::tempdir().unwrap();
        let claim = |prefix| {
            let claimed = Claimed::new(dir.path(), prefix, |builder| builder.tempdir_in(&dir));
            claimed.unwrap()
        };
        let (held, other) = (claim(".a-"), claim(".b-"));
        let abandoned = dir.path().join(".a-killed");
        fs::create_dir(&abandoned).unwrap();
        fs::write(abandoned.join("file"), "").unwrap();
        let file = dir.path().join(".a-file");
        fs::write(&file, "").unwrap();
        fs::write(dir.path().join(".b-file"), "").unwrap();
        let new = claim(".a-");
        let there = |path: &Path| path.exists();
        assert!(![&*abandoned, &file].into_iter().any(there));
        let kept = [&held, &other, &new].map(|claimed| claimed.made.path());
        assert!(kept.into_iter().all(there));
        assert!(dir.path().join(".b-file").exists());
        let gone = held.made.path().to_owned();
        drop(held);
        assert!(!gone.exists());
    }
}
