//! Writes files whose time of change cargo reads, such as those below `target`.

use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::error::Failure;
use crate::terminal::shown;

/// Writes a file, and the folders above it, unless the file has these contents already: cargo builds again what depends on a file
/// that was written. Fails where it cannot be written.
pub fn write_changed(path: &Path, contents: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|present| present == contents) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().expect("a file in a folder"))
        .and_then(|()| fs::write(path, contents))
        .map_err(|error| Failure::environment(format!("cannot write {}: {error}", shown(path))))?;
    Ok(())
}
