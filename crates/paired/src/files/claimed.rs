//! Temporary files and folders that do not stay behind, even where the process is killed. Each has a lock, which the system
//! releases when the process ends; the next process removes the files and folders whose locks are free.

use std::env;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use tempfile::{Builder, TempDir};

use crate::error::Failure;
use crate::terminal::shown;

/// The file in a temporary folder that shows that the folder is one: a user's may have such a name, too.
const MARK: &str = ".p3-temporary";

/// A temporary file or folder with a lock. It is removed when the value is dropped.
pub struct Claimed<T> {
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

impl Claimed<TempDir> {
    /// Returns the folder's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.made.path()
    }
}

/// Makes a folder in the system's temporary one. Fails where that is not possible.
pub fn folder() -> Result<Claimed<TempDir>, Failure> {
    folder_in(&env::temp_dir())
}

fn folder_in(system: &Path) -> Result<Claimed<TempDir>, Failure> {
    let made = Claimed::new(system, ".p3-folder-", |made| made.tempdir_in(system));
    made.map_err(|error| cannot_make("folder", system, &error))
}

/// Makes a file without a name in the system's temporary folder. Fails where that is not possible.
pub fn file() -> Result<File, Failure> {
    tempfile::tempfile().map_err(|error| cannot_make("file", &env::temp_dir(), &error))
}

fn cannot_make(what: &str, system: &Path, error: &io::Error) -> Failure {
    let what = format!(
        "cannot make a temporary {what} in {}: {error}",
        shown(system)
    );
    Failure::environment(what).hint("TMPDIR names that folder")
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
    use crate::error::Kind;

    #[test]
    fn a_temporary_folder_that_is_not_there_is_named() {
        let error = folder_in(Path::new("/nonexistent")).err().unwrap();
        assert_eq!(error.kind, Kind::Environment);
        let said = "cannot make a temporary folder in /nonexistent: ";
        assert!(error.message.starts_with(said), "{}", error.message);
    }

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
