//! Puts files back as they were, where a command fails after it has changed them.

use anyhow::Result;

use crate::files::dir::{Place, Staged};
use crate::files::replace;
use crate::prover::locked_dir::LockedDir;

/// Puts files back as they were unless [`Restore::keep`] is called: on an error, an interrupt or a panic.
pub struct Restore {
    files: Vec<(Place, Option<Before>)>,
}

/// A file's contents, and a copy of it that is written while there is space for it.
type Before = (Vec<u8>, Staged);

impl Restore {
    /// Remembers files, some of which may not exist.
    pub fn new(folder: &LockedDir, places: impl IntoIterator<Item = Place>) -> Result<Self> {
        let read = |place: Place| match place.read()? {
            Some(bytes) => {
                let copy = folder.stage(place.again()?, &bytes)?;
                Ok((place, Some((bytes, copy))))
            }
            None => Ok((place, None)),
        };
        Ok(Self {
            files: places.into_iter().map(read).collect::<Result<_>>()?,
        })
    }

    /// Lets the files stand as they are now.
    pub fn keep(mut self) {
        self.files.clear();
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        for (place, before) in self.files.drain(..) {
            let path = place.path();
            let restored = match (before, place.read().ok().flatten()) {
                (Some((before, _)), Some(now)) if before == now => continue,
                // A copy on another file system cannot take the place.
                (Some((before, copy)), _) => copy.put().or_else(|_| {
                    replace::files_below(&[place.folder()], &[(path.clone(), before)])
                }),
                (None, Some(_)) => place.remove(),
                (None, None) => continue,
            };
            if let Err(error) = restored {
                eprintln!(
                    "warning: {} could not be put back: {error:#}",
                    path.display()
                );
            }
        }
    }
}
