//! Files that take their place in one step: whoever reads one, and however this process ends, it is as before or whole.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::error::Failure;

/// Writes files that belong together. None is touched before there is space for all.
pub fn files(files: &[(PathBuf, Vec<u8>)]) -> Result<()> {
    let part = |(path, contents): &(PathBuf, Vec<u8>)| {
        Part::write(path, contents).map_err(|error| cannot_write(path, &error))
    };
    let parts = files.iter().map(part).collect::<Result<Vec<_>, _>>()?;
    for part in parts.into_iter().flatten() {
        fs::rename(&part.path, &part.target).map_err(|error| cannot_write(&part.target, &error))?;
    }
    Ok(())
}

/// A file beside the one that it is to become. What a killed run has left, the next one overwrites.
struct Part {
    path: PathBuf,
    target: PathBuf,
}

impl Part {
    /// None where `target` is no plain file, say a pipe: these are written to.
    fn write(target: &Path, contents: &[u8]) -> io::Result<Option<Self>> {
        let present = fs::metadata(target).ok();
        if present.as_ref().is_some_and(|target| !target.is_file()) {
            return fs::write(target, contents).map(|()| None);
        }
        // The file that a link names, not the link.
        let target = match present {
            Some(_) => target.canonicalize()?,
            None => target.to_owned(),
        };
        let mut name = OsString::from(".");
        name.push(target.file_name().unwrap_or_default());
        name.push(".part");
        let part = Self {
            path: target.with_file_name(name),
            target,
        };
        fs::write(&part.path, contents)?;
        if let Some(present) = present {
            fs::set_permissions(&part.path, present.permissions())?;
        }
        Ok(Some(part))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // Is gone where it has taken its place.
        let _ = fs::remove_file(&self.path);
    }
}

pub fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::environment(format!("cannot write {}: {error}", path.display()))
        .hint("is the folder writable, and is there space on the disk?")
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        let mut names = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect::<Vec<_>>();
        names.sort();
        names
    }

    #[test]
    fn files_take_their_place_with_links_and_permissions_kept() {
        let dir = tempfile::tempdir().unwrap();
        let [old, new, link] = ["old", "new", "link"].map(|name| dir.path().join(name));
        fs::write(&old, "old").unwrap();
        fs::set_permissions(&old, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("old", &link).unwrap();
        // Left by a run that was killed.
        fs::write(dir.path().join(".new.part"), "half").unwrap();
        files(&[(link.clone(), b"a".to_vec()), (new.clone(), b"b".to_vec())]).unwrap();
        assert_eq!(fs::read(&old).unwrap(), b"a");
        assert_eq!(fs::read(&new).unwrap(), b"b");
        assert!(link.is_symlink());
        let mode = fs::metadata(&old).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert_eq!(names(dir.path()), ["link", "new", "old"]);
    }

    #[test]
    fn nothing_is_touched_where_one_cannot_be_written() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "old").unwrap();
        let nowhere = dir.path().join("nowhere/file");
        let error = files(&[(file.clone(), b"a".to_vec()), (nowhere, b"b".to_vec())]).unwrap_err();
        assert!(error.to_string().starts_with("cannot write "), "{error}");
        assert_eq!(fs::read(&file).unwrap(), b"old");
        assert_eq!(names(dir.path()), ["file"]);
    }

    #[test]
    fn what_is_no_file_is_written_to() {
        files(&[("/dev/null".into(), b"a".to_vec())]).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
