//! The SHA-256 of files' contents, and values as JSON.

use std::io::{self, ErrorKind};
use std::path::Path;

use anyhow::Result;
use hmac_sha256::Hash;
use serde::Serialize;

use crate::error::Failure;
use crate::files::plain;
use crate::terminal::shown;

/// Returns the SHA-256 of `bytes` in lower-case hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Hash::hash(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Returns the [`sha256`] of a plain file.
pub fn sha256_of_file(path: &Path) -> Result<String> {
    match plain::read(path) {
        Ok(bytes) => Ok(sha256(&bytes)),
        Err(error) => Err(no_executable(format!("cannot read {}", shown(path)), error)),
    }
}

/// Returns the error for an executable that cannot be read or copied; `what` names it.
pub(crate) fn no_executable(what: String, error: io::Error) -> anyhow::Error {
    const NO_FILE: [ErrorKind; 2] = [ErrorKind::NotFound, ErrorKind::InvalidInput];
    match NO_FILE.contains(&error.kind()) {
        true => Failure::input(format!("{what}: {error}"))
            .hint("put the executable there again: copy it, or build it")
            .into(),
        false => anyhow::Error::new(error).context(what),
    }
}

/// Formats a value as indented JSON with a line ending.
///
/// # Panics
///
/// Panics where `value` cannot be JSON, such as a map whose keys are not text.
pub fn json(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).expect("plain data");
    text.push(b'\n');
    text
}
