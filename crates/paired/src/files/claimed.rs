//! Temporary files and folders that do not stay behind, even where the process is killed. Each has a lock, which the system
//! releases when the process ends; the next process removes the files and folders whose locks are free.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use tempfile::Builder;

/// The file in a temporary folder that shows that the folder is one: a user's may have such a name, too.
const MARK: &str = ".p3-temporary";

/// A temporary file or folder with a lock. It is removed when the value is dropped.
pub(crate) struct Claimed<T> {
    /// The file or folder.
    pub(crate) made: T,
    /// The lock; `None` on file systems without locks, where nothing is swept.
    _lock: Option<File>,
}

impl<T: AsRef<Path>> Claimed<T> {
    /// Removes abandoned files and folders whose names begin with `prefix`, and makes a new one with such a name in `folder`.
    pub(crate) fn new(
        folder: &Path,
        prefix: &str,
        make: impl Fn(&Builder<'_, '_>) -> io::Result<T>,
    ) -> io::Result<Self> {
        sweep(folder, prefix)?;
        let mut builder = Builder::new();
        builder.prefix(prefix);
        loop {
            let made = make(&builder)?;
            // Before the lock is held, another process may remove the file as abandoned; then the loop starts again.
            let lock = match File::open(&made) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened?,
            };
            let lock = match lock.try_lock() {
                Err(TryLockError::WouldBlock) => continue,
                tried => tried.is_ok().then_some(lock),
            };
            if made.as_ref().is_dir() {
                File::create(made.as_ref().join(MARK))?;
            }
            if made.as_ref().exists() {
                return Ok(Self { made, _lock: lock });
            }
        }
    }
}

/// Removes the files and folders whose lock no process holds. A failure to remove one is ignored: it may be another user's.
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
            let _ = if kind.is_file() {
                fs::remove_file(&path)
            } else if path.join(MARK).is_file() {
                fs::remove_dir_all(&path)
            } else {
                // An empty one may have lost its process before it was marked.
                fs::remove_dir(&path)
            };
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

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
        fs::write(abandoned.join(MARK), "").unwrap();
        let (empty, users) = (dir.path().join(".a-empty"), dir.path().join(".a-users"));
        fs::create_dir(&empty).unwrap();
        fs::create_dir(&users).unwrap();
        fs::write(users.join("file"), "").unwrap();
        let file = dir.path().join(".a-file");
        fs::write(&file, "").unwrap();
        fs::write(dir.path().join(".b-file"), "").unwrap();
        let new = claim(".a-");
        let there = |path: &Path| path.exists();
        assert!(
            ![&abandoned, &empty, &file]
                .map(PathBuf::as_path)
                .into_iter()
                .any(there)
        );
        let kept = [&held, &other, &new].map(|claimed| claimed.made.path());
        assert!(kept.into_iter().all(there));
        assert!(dir.path().join(".b-file").exists() && users.join("file").exists());
        let gone = held.made.path().to_owned();
        drop(held);
        assert!(!gone.exists());
    }
}
