//! Puts a file back as it was, where a command fails after it has changed it.

use std::path::Path;

use anyhow::Result;

use crate::prover::locked_dir::LockedDir;
use paired::error::Failure;
use paired::files::dir::{Place, Staged};
use paired::files::replace;

/// Puts a file back as it was unless [`Restore::keep`] is called: on an error, an interrupt or a panic. What another program has
/// written there meanwhile stays.
pub struct Restore {
    place: Place,
    before: Option<Before>,
    /// The contents after the last step that may have written them; none of a file that is not there.
    known: Option<Vec<u8>>,
    /// Whether such a step is at work.
    writing: bool,
    kept: bool,
}

/// A file's contents, and a copy of it that is written while there is space for it.
type Before = (Vec<u8>, Staged);

impl Restore {
    /// Remembers a file, which need not exist.
    pub fn new(folder: &LockedDir, place: Place) -> Result<Self> {
        let known = place.read()?;
        let before = match &known {
            Some(bytes) => Some((bytes.clone(), folder.stage(place.again()?, bytes)?)),
            None => None,
        };
        Ok(Self {
            place,
            before,
            known,
            writing: false,
            kept: false,
        })
    }

    /// Runs a step that may write the file; refuses to where another program has written it.
    pub fn during<T>(&mut self, step: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.place.read()? != self.known {
            return Err(changed(&self.place.path()).into());
        }
        self.writing = true;
        let done = step();
        self.writing = false;
        // A file that cannot be read is not put back.
        self.known = self.place.read().ok().flatten();
        done
    }

    /// Lets the file stand as it is now.
    pub fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        let now = self.place.read().ok().flatten();
        let before = self.before.take();
        if self.kept || now.as_ref() == before.as_ref().map(|(before, _)| before) {
            return;
        }
        let path = self.place.path();
        if !self.writing && now != self.known {
            eprintln!(
                "warning: {} was changed by another program, and is left as it is; it may still name patched packages",
                path.display()
            );
            return;
        }
        let restored = match before {
            // A copy on another file system cannot take the place.
            Some((before, copy)) => copy.put().or_else(|_| {
                replace::files_below(&[self.place.folder()], &[(path.clone(), before)])
            }),
            None => self.place.remove(),
        };
        if let Err(error) = restored {
            eprintln!(
                "warning: {} could not be put back: {error:#}",
                path.display()
            );
        }
    }
}

/// The refusal to go on where another program has changed a file.
pub fn changed(path: &Path) -> Failure {
    let what = format!("{}: changed by another program meanwhile", path.display());
    Failure::environment(what).hint("run this again once that has ended")
}
