//! Writes below `target`, where cargo goes by the time of the last change.

use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::error::Failure;

/// Leaves a file that is right alone: cargo goes by the time of the last change.
pub fn write_changed(path: &Path, contents: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|present| present == contents) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().expect("a file in a folder"))
        .and_then(|()| fs::write(path, contents))
        .map_err(|error| {
            Failure::environment(format!("cannot write {}: {error}", path.display()))
        })?;
    Ok(())
}
