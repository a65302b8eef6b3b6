//! Folders by handle. A path below one is opened part by part, and no part may be a symbolic link, so no path leads out of the
//! folder, even while another process changes it.
//!
//! cap-std has such handles too, but follows links that stay inside, and `deny.toml` refuses one of its dependencies.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use rustix::fs::{self, AtFlags, FileType, Gid, Mode, OFlags, RawMode, Stat, Uid};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::error::Failure;
use crate::terminal::shown;

/// The prefix of the names of unfinished files and folders. The next run that holds the lock removes those.
pub const UNFINISHED: &str = ".tmp-";

/// An open folder.
pub struct Dir {
    handle: OwnedFd,
    /// The path, for messages and for other programs.
    path: PathBuf,
}

/// The place of a file: an open folder and a name in it.
pub struct Place {
    folder: Dir,
    name: OsString,
}

/// A file that is written, but not yet moved to its place. It is removed when the value is dropped.
pub struct Staged {
    folder: Dir,
    name: OsString,
    place: Place,
    /// The file, until it has its place.
    locked: Option<File>,
}

/// A temporary folder. It is removed with its contents when the value is dropped.
pub struct Temporary {
    parent: Dir,
    name: OsString,
    folder: Dir,
}

impl Dir {
    /// Opens a folder by a path of the user's, along symbolic links. Fails where there is none, or a file.
    pub fn open(path: &Path) -> Result<Self> {
        let handle = fs::open(path, FOLDER, Mode::empty());
        if let Err(Errno::NOTDIR) = handle {
            return Err(is_other(path, "not a folder").into());
        }
        Ok(Self {
            handle: handle.with_context(|| format!("cannot open {}", shown(path)))?,
            path: path.to_owned(),
        })
    }

    /// Creates a folder and those above it where they are missing, and opens it as [`Self::open`] does.
    pub fn create(path: &Path) -> Result<Self> {
        std::fs::create_dir_all(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                is_other(path, "not a folder")
            }
            _ => cannot_write(path, &error),
        })?;
        Self::open(path)
    }

    /// Returns the path, as it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn again(&self) -> Result<Self> {
        Ok(Self {
            handle: self.handle.try_clone()?,
            path: self.path.clone(),
        })
    }

    /// Opens the folder at the relative path `place`; `None` where nothing is there. Fails for a file or a link.
    pub fn folder(&self, place: impl AsRef<Path>) -> Result<Option<Self>> {
        let mut folder = self.again()?;
        for name in self.parts(place.as_ref())? {
            match folder.enter(name) {
                Ok(inner) => folder = inner,
                Err(Errno::NOENT) => return Ok(None),
                Err(error) => return Err(folder.cannot("read", name, error)),
            }
        }
        Ok(Some(folder))
    }

    /// Opens the folder at the relative path `place`, and creates it and those above it where they are missing. Fails for a file
    /// or a link on the way.
    pub fn create_folder(&self, place: impl AsRef<Path>) -> Result<Self> {
        let mut folder = self.again()?;
        for name in self.parts(place.as_ref())? {
            let made = match fs::mkdirat(&folder.handle, name, Mode::from_raw_mode(0o777)) {
                Err(error) if error != Errno::EXIST => Err(error),
                _ => folder.enter(name),
            };
            folder = made.map_err(|error| folder.cannot("write", name, error))?;
        }
        Ok(folder)
    }

    fn enter(&self, name: &OsStr) -> rustix::io::Result<Self> {
        let handle = fs::openat(&self.handle, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?;
        Ok(Self {
            handle,
            path: self.path.join(name),
        })
    }

    /// Returns the place of the file at the relative path `path`, and creates the folders above it where they are missing.
    pub fn place(&self, path: impl AsRef<Path>) -> Result<Place> {
        let path = path.as_ref();
        let name = path.file_name().unwrap_or_default().to_owned();
        let folder = self.create_folder(path.parent().unwrap_or(Path::new("")))?;
        Ok(Place { folder, name })
    }

    /// Reads the file at the relative path `path`; `None` where nothing is there. Fails unless it is a plain file.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Option<Vec<u8>>> {
        let path = path.as_ref();
        let folder = self.folder(path.parent().unwrap_or(Path::new("")))?;
        match folder {
            None => Ok(None),
            Some(folder) => folder.read_here(path.file_name().unwrap_or_default()),
        }
    }

    fn read_here(&self, name: &OsStr) -> Result<Option<Vec<u8>>> {
        let mut file = match self.open_file(name, OFlags::RDONLY) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(self.cannot("read", name, error)),
        };
        let mut contents = Vec::new();
        let read = file.read_to_end(&mut contents);
        read.with_context(|| format!("cannot read {}", shown(self.path.join(name))))?;
        Ok(Some(contents))
    }

    /// Opens a plain file in this folder to read and write, and creates it where it is missing.
    pub fn file(&self, name: &str) -> Result<File> {
        let opened = self.open_file(name.as_ref(), OFlags::RDWR | OFlags::CREATE);
        opened.map_err(|error| self.cannot("write", name.as_ref(), error))
    }

    fn open_file(&self, name: &OsStr, flags: OFlags) -> rustix::io::Result<File> {
        // A named pipe would block until a writer opens it.
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = fs::openat(&self.handle, name, flags, Mode::from_raw_mode(0o666))?;
        match FileType::from_raw_mode(fs::fstat(&file)?.st_mode) {
            FileType::RegularFile => Ok(file.into()),
            _ => Err(Errno::NOTSUP),
        }
    }

    /// Creates a file with the permissions `mode`, less those of the process's umask, and locks it. Fails where something is there.
    fn create_new(&self, name: &OsStr, mode: RawMode) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = File::from(fs::openat(&self.handle, name, flags, mode.into())?);
        // Another run may have locked it first, to remove it. Some file systems have no locks.
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::AlreadyExists.into()),
            _ => Ok(file),
        }
    }

    /// Lists the names in this folder, each with the type of its file.
    pub fn entries(&self) -> Result<Vec<(OsString, FileType)>> {
        let read = || -> rustix::io::Result<Vec<_>> {
            let mut entries = Vec::new();
            for entry in fs::Dir::read_from(&self.handle)? {
                let name = entry?.file_name().to_owned();
                let name = OsStr::from_bytes(name.to_bytes());
                if name == "." || name == ".." {
                    continue;
                }
                if let Some(kind) = self.kind(name)? {
                    entries.push((name.to_owned(), kind));
                }
            }
            Ok(entries)
        };
        read().with_context(|| format!("cannot read {}", shown(&self.path)))
    }

    fn stat(&self, name: &OsStr) -> rustix::io::Result<Option<Stat>> {
        match fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn kind(&self, name: &OsStr) -> rustix::io::Result<Option<FileType>> {
        let stat = self.stat(name)?;
        Ok(stat.map(|stat| FileType::from_raw_mode(stat.st_mode)))
    }

    /// Moves the file or folder `name` to `new` in another folder, where it replaces a file.
    pub fn rename(&self, name: &OsStr, to: &Self, new: &OsStr) -> Result<()> {
        let renamed = fs::renameat(&self.handle, name, &to.handle, new);
        Ok(renamed.map_err(|error| cannot_write(&to.path.join(new), &error.into()))?)
    }

    /// Exchanges `name` with `new` in another folder in one step. Returns false where the system or the file system cannot.
    fn exchange(&self, name: &OsStr, to: &Self, new: &OsStr) -> bool {
        #[cfg(any(target_os = "linux", target_vendor = "apple"))]
        {
            let flags = fs::RenameFlags::EXCHANGE;
            fs::renameat_with(&self.handle, name, &to.handle, new, flags).is_ok()
        }
        #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
        {
            let _ = (name, to, new);
            false
        }
    }

    /// Moves `name` from this folder to a place. A file or folder at the place comes here: under `name`, or under `old-` and
    /// `name` where the two cannot be exchanged in one step.
    pub fn swap(&self, name: &OsStr, place: &Place) -> Result<()> {
        let Place { folder, name: new } = place;
        if folder.kind(new)?.is_some() {
            if self.exchange(name, folder, new) {
                return Ok(());
            }
            let mut old = OsString::from("old-");
            old.push(name);
            folder.rename(new, self, &old)?;
        }
        self.rename(name, folder, new)
    }

    /// Moves `name` from this folder to a place where nothing is; returns false where something is there.
    pub fn put_new(&self, name: &OsStr, place: &Place) -> Result<bool> {
        let Place { folder, name: new } = place;
        #[cfg(any(target_os = "linux", target_vendor = "apple"))]
        {
            let flags = fs::RenameFlags::NOREPLACE;
            match fs::renameat_with(&self.handle, name, &folder.handle, new, flags) {
                Ok(()) => return Ok(true),
                Err(Errno::EXIST) => return Ok(false),
                // The system or the file system cannot, or says why below.
                Err(_) => {}
            }
        }
        if folder.kind(new)?.is_some() {
            return Ok(false);
        }
        self.rename(name, folder, new).map(|()| true)
    }

    /// Removes the file or folder `name` from this folder, with its contents. Succeeds where nothing is there.
    pub fn remove(&self, name: &OsStr) -> Result<()> {
        let remove = || -> rustix::io::Result<Option<Self>> {
            match self.kind(name)? {
                None => Ok(None),
                Some(FileType::Directory) => self.enter(name).map(Some),
                Some(_) => fs::unlinkat(&self.handle, name, AtFlags::empty()).map(|()| None),
            }
        };
        let cannot = |error| self.cannot("remove", name, error);
        if let Some(folder) = remove().map_err(cannot)? {
            for (name, _) in folder.entries()? {
                folder.remove(&name)?;
            }
            fs::unlinkat(&self.handle, name, AtFlags::REMOVEDIR).map_err(cannot)?;
        }
        Ok(())
    }

    /// Locks the folder, until the value is dropped; `None` where another process has it locked.
    pub fn lock(&self) -> Result<Option<File>> {
        let itself = fs::openat(&self.handle, ".", FOLDER, Mode::empty());
        let itself = File::from(itself.map_err(|error| cannot_write(&self.path, &error.into()))?);
        match itself.try_lock() {
            Err(TryLockError::WouldBlock) => Ok(None),
            // Some file systems have no locks.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(itself)),
        }
    }

    /// Creates a temporary folder in this one.
    pub fn temporary(&self) -> Result<Temporary> {
        let name = unfinished();
        let folder = self.create_folder(&name)?;
        Ok(Temporary {
            parent: self.again()?,
            name,
            folder,
        })
    }

    /// Waits until everything on this file system is on the disk. Elsewhere than on Linux the system may only begin to write.
    pub fn sync_all(&self) -> Result<()> {
        #[cfg(target_os = "linux")]
        {
            let synced = fs::syncfs(&self.handle);
            Ok(synced.map_err(|error| cannot_write(&self.path, &error.into()))?)
        }
        #[cfg(not(target_os = "linux"))]
        {
            fs::sync();
            Ok(())
        }
    }

    /// Splits the relative path `place` into its names. Fails for `..` and for absolute paths.
    fn parts<'p>(&self, place: &'p Path) -> Result<Vec<&'p OsStr>> {
        let parts = place.components().map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        });
        let parts = parts.collect::<Option<_>>();
        let outside = || {
            let place = shown(place);
            Failure::input(format!("{place}: lies outside {}", shown(&self.path)))
                .hint("name a file below that folder")
        };
        Ok(parts.ok_or_else(outside)?)
    }

    fn cannot(&self, what: &str, name: &OsStr, error: Errno) -> anyhow::Error {
        let path = self.path.join(name);
        match self.kind(name) {
            Ok(Some(FileType::Symlink)) => is_link(&path).into(),
            Ok(Some(_)) if error == Errno::NOTDIR => is_other(&path, "not a folder").into(),
            Ok(Some(_)) if [Errno::NOTSUP, Errno::ISDIR].contains(&error) => {
                is_other(&path, "not a plain file").into()
            }
            _ if what == "write" => cannot_write(&path, &error.into()).into(),
            _ if error == Errno::BUSY => {
                let what = format!("cannot {what} {}: {error}", shown(&path));
                Failure::environment(what).hint(MOUNTED).into()
            }
            _ => {
                let path = shown(&path);
                anyhow::Error::new(io::Error::from(error)).context(format!("cannot {what} {path}"))
            }
        }
    }
}

/// The flags with which a folder is opened.
const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

impl Place {
    /// Returns a second handle of the same place. Fails where the process has too many open files.
    pub fn again(&self) -> Result<Self> {
        Ok(Self {
            folder: self.folder.again()?,
            name: self.name.clone(),
        })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> PathBuf {
        self.folder.path.join(&self.name)
    }

    /// Reads the file; `None` where nothing is there. Fails unless it is a plain file.
    pub fn read(&self) -> Result<Option<Vec<u8>>> {
        self.folder.read_here(&self.name)
    }

    /// Removes the file or folder, with its contents. Succeeds where nothing is there.
    pub fn remove(&self) -> Result<()> {
        self.folder.remove(&self.name)
    }

    /// Writes a new file. Fails where something is there.
    pub fn write_new(&self, contents: &[u8]) -> Result<()> {
        let created = self.folder.create_new(&self.name, 0o666);
        let written = created.and_then(|mut file| file.write_all(contents));
        written.map_err(|error| cannot_write(&self.path(), &error))?;
        Ok(())
    }

    /// Writes the next contents of the file to `folder`, with the permissions of the present file and, where root writes, its owner.
    /// Fails where the place has a folder, a link or a device.
    pub fn stage(self, folder: &Dir, contents: &[u8]) -> Result<Staged> {
        self.stage_as(folder, unfinished(), contents)
    }

    /// Writes the next contents as [`Self::stage`] does, under a name of the caller's, which replaces a file that a killed run
    /// left. Fails where another run writes that file.
    pub(crate) fn stage_as(self, folder: &Dir, name: OsString, contents: &[u8]) -> Result<Staged> {
        let path = self.path();
        let present = match self.folder.stat(&self.name)? {
            None => None,
            Some(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => Some(stat),
                FileType::Symlink => return Err(is_link(&path).into()),
                _ => return Err(is_other(&path, "not a plain file").into()),
            },
        };
        // Nothing but a plain file is what a killed run left.
        let left = match folder.open_file(&name, OFlags::RDONLY) {
            Ok(file) => Some(file),
            Err(Errno::NOENT) => None,
            Err(error) => return Err(folder.cannot("write", &name, error)),
        };
        if left.is_some_and(|left| matches!(left.try_lock(), Err(TryLockError::WouldBlock))) {
            return Err(is_locked(&path).into());
        }
        folder.remove(&name)?;
        let part = folder.again()?;
        let mode = present.map(|present| Mode::from_raw_mode(present.st_mode));
        let created = folder.create_new(&name, mode.map_or(0o666, Mode::as_raw_mode));
        let file = created.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => is_locked(&path),
            _ => cannot_write(&path, &error),
        })?;
        // From here on, the file is removed after an error, however much of it is written.
        let staged = Staged {
            folder: part,
            name,
            place: self,
            locked: Some(file),
        };
        let mut file = staged.locked.as_ref().expect("a file that was created");
        let mut write = || -> io::Result<()> {
            file.write_all(contents)?;
            // Only root may give a file away, as in a container over its owner's folder.
            if let Some(present) = present.filter(|_| geteuid().is_root()) {
                let (owner, group) = (present.st_uid, present.st_gid);
                fs::fchown(file, Some(Uid::from_raw(owner)), Some(Gid::from_raw(group)))?;
            }
            if let Some(mode) = mode {
                fs::fchmod(file, mode)?;
            }
            file.sync_all()
        };
        write().map_err(|error| cannot_write(&path, &error))?;
        Ok(staged)
    }
}

impl Staged {
    /// Moves the file to its place, which needs no space on the disk, and writes the move to the disk.
    pub fn put(mut self) -> Result<()> {
        let Place { folder, name } = &self.place;
        self.folder.rename(&self.name, folder, name)?;
        self.locked = None;
        // Some file systems sync files, but not folders.
        let _ = fs::fsync(&folder.handle);
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // After `put`, the name may be another run's.
        if self.locked.is_some() {
            let _ = self.folder.remove(&self.name);
        }
    }
}

impl Temporary {
    /// Returns the folder.
    pub fn folder(&self) -> &Dir {
        &self.folder
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = self.parent.remove(&self.name);
    }
}

/// Returns a new name for an unfinished file or folder.
fn unfinished() -> OsString {
    // The keys of each new hasher differ.
    let random = RandomState::new().build_hasher().finish();
    format!("{UNFINISHED}{random:016x}").into()
}

/// Returns the failure for a symbolic link at `path`.
pub fn is_link(path: &Path) -> Failure {
    is_other(path, "a symbolic link, which is not followed here")
}

/// Returns the failure for a folder in which another run holds the lock.
pub fn is_locked(path: &Path) -> Failure {
    Failure::environment(format!("{}: another run is at work here", shown(path)))
        .hint("wait until that run has ended")
}

fn is_other(path: &Path, what: &str) -> Failure {
    Failure::input(format!("{}: {what}", shown(path)))
        .hint("put the file or folder itself there, or work in another folder")
}

/// The hint for a file or a folder in whose place another one is mounted, as containers do.
const MOUNTED: &str =
    "a mount point cannot be replaced or removed: mount the folder that it is in, as a whole";

/// Returns the failure for a file that cannot be written.
pub fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    let hint = match Errno::from_io_error(error) {
        Some(Errno::MFILE | Errno::NFILE) => "raise the limit on open files, as `ulimit -n` does",
        Some(Errno::NAMETOOLONG) => "choose a shorter name",
        Some(Errno::XDEV | Errno::BUSY) => MOUNTED,
        _ => "check that the folder is writable and that the disk has space",
    };
    Failure::environment(format!("cannot write {}: {error}", shown(path))).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The errors are those of a file that is mounted by itself, and of a file system that is mounted in between.
    #[test]
    fn a_mount_point_is_no_full_disk() {
        for error in [Errno::BUSY, Errno::XDEV] {
            let failure = cannot_write(Path::new("Cargo.lock"), &error.into());
            let said = failure.to_string();
            assert!(said.contains("cannot write Cargo.lock: "), "{said}");
            assert_eq!(failure.hint.as_deref(), Some(MOUNTED));
        }
    }

    #[test]
    fn nothing_takes_a_place_that_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a", "b", "taken"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        std::fs::write(dir.path().join("taken/notes"), "kept").unwrap();
        let folder = Dir::open(dir.path()).unwrap();
        let put = |name: &str, place: &str| {
            let place = folder.place(place).unwrap();
            folder.put_new(name.as_ref(), &place).unwrap()
        };
        assert!(!put("a", "taken"));
        assert_eq!(
            std::fs::read(dir.path().join("taken/notes")).unwrap(),
            b"kept"
        );
        assert!(put("a", "free"));
        // An empty folder is something, too, which a plain rename would replace.
        assert!(!put("b", "free"));
        assert!(dir.path().join("b").exists());
    }
}
