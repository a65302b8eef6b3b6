//! Reads and copies plain files only. A named pipe would block until a writer opens it, and no signal would be seen meanwhile.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a plain file, by way of symbolic links too. Fails for a folder, a pipe or a device with `InvalidInput`.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let nonblock = OFlags::NONBLOCK.bits().cast_signed();
    let file = options.read(true).custom_flags(nonblock).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a plain file",
        ));
    }
    Ok(file)
}

/// Reads a plain file. Fails for a folder, a pipe or a device with `InvalidInput`.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut contents = Vec::new();
    open(path)?.read_to_end(&mut contents)?;
    Ok(contents)
}

/// Copies a plain file with its permissions. Fails as [`read`] does, and where `to` cannot be written.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut from = open(from)?;
    let mut to = File::create(to)?;
    io::copy(&mut from, &mut to)?;
    to.set_permissions(from.metadata()?.permissions())
}

/// Reads a plain file of text as [`read`] does. Fails with `InvalidData` where the bytes are not UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}
