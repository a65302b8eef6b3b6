//! Puts a file back as it was, where a command fails after it has changed it.

use std::path::Path;

use anyhow::{Error, Result};

use crate::prover::locked_dir::LockedDir;
use paired::error::Failure;
use paired::files::dir::{Place, Staged};
use paired::interrupt;
use paired::terminal::{print_line, shown};

/// Puts a file back as it was unless [`Restore::keep`] lets it stand: on an error, an interrupt or a panic. What another program has
/// written there meanwhile stays.
pub struct Restore<'f> {
    folder: &'f LockedDir,
    place: Place,
    before: Option<Before>,
    /// The contents after the last step that has written them; none of a file that is not there.
    known: Option<Vec<u8>>,
    at_work: AtWork,
    kept: bool,
}

/// A file's contents, and a copy of it that is written while there is space for it.
type Before = (Vec<u8>, Staged);

/// The step that may be writing a file.
#[derive(Eq, PartialEq)]
enum AtWork {
    Nothing,
    /// This program, which replaces the contents by these.
    Replacing(Vec<u8>),
    /// Another program, of which the contents are not known before.
    Child,
}

impl<'f> Restore<'f> {
    /// Remembers a file, which need not exist. Copies of it lie in `folder`.
    pub fn new(folder: &'f LockedDir, place: Place) -> Result<Self> {
        let known = place.read()?;
        Self::of(folder, place, known)
    }

    /// Remembers a file whose contents were read before.
    pub fn of(folder: &'f LockedDir, place: Place, known: Option<Vec<u8>>) -> Result<Self> {
        let before = match &known {
            Some(bytes) => Some((bytes.clone(), place.again()?.stage(&folder.dir, bytes)?)),
            None => None,
        };
        Ok(Self {
            folder,
            place,
            before,
            known,
            at_work: AtWork::Nothing,
            kept: false,
        })
    }

    /// Replaces the file in one step; refuses to where another program has written it.
    pub fn replace(&mut self, contents: &[u8]) -> Result<()> {
        let staged = self.place.again()?.stage(&self.folder.dir, contents)?;
        self.assert_unchanged()?;
        self.at_work = AtWork::Replacing(contents.to_owned());
        staged.put()?;
        self.at_work = AtWork::Nothing;
        self.known = Some(contents.to_owned());
        Ok(())
    }

    /// Runs a step in which a child may write the file; refuses to where another program has written it. `is_of` tells of the step's
    /// result, the contents before and those after it whether the step may have written these. Otherwise, they are another program's.
    pub fn during<T>(
        &mut self,
        step: impl FnOnce() -> Result<T>,
        is_of: impl FnOnce(Result<&T, ()>, [&[u8]; 2]) -> bool,
    ) -> Result<T> {
        self.assert_unchanged()?;
        self.at_work = AtWork::Child;
        let done = step();
        self.at_work = AtWork::Nothing;
        // A file that cannot be read is not put back.
        let now = self.place.read().ok().flatten();
        if now != self.known {
            let texts = [&self.known, &now].map(|text| text.as_deref().unwrap_or_default());
            if !is_of(done.as_ref().map_err(drop), texts) {
                return Err(changed(&self.place.path()).into());
            }
            self.known = now;
        }
        done
    }

    /// Refuses to go on where another program has written the file.
    pub fn assert_unchanged(&self) -> Result<()> {
        if self.place.read()? != self.known {
            return Err(changed(&self.place.path()).into());
        }
        Ok(())
    }

    /// Returns the reason why work on these files has failed: a change by another program comes before the error, an interrupt does not.
    pub fn reason(files: [&Self; 2], error: Error) -> Error {
        if interrupt::check().is_err() {
            return error;
        }
        let mut changes = files.into_iter().map(Self::assert_unchanged);
        changes.find_map(Result::err).unwrap_or(error)
    }

    /// Lets files that belong together stand as they are now. Where another program has written one of them, none is kept.
    pub fn keep(files: impl IntoIterator<Item = Self>) -> Result<()> {
        let mut files: Vec<_> = files.into_iter().collect();
        files.iter().try_for_each(Self::assert_unchanged)?;
        files.iter_mut().for_each(|file| file.kept = true);
        Ok(())
    }
}

impl Drop for Restore<'_> {
    fn drop(&mut self) {
        let now = self.place.read().ok().flatten();
        let before = self.before.take();
        if self.kept || now.as_ref() == before.as_ref().map(|(before, _)| before) {
            return;
        }
        let path = self.place.path();
        let is_own = now == self.known
            || match &self.at_work {
                AtWork::Nothing => false,
                AtWork::Replacing(contents) => now.as_ref() == Some(contents),
                AtWork::Child => true,
            };
        if !is_own {
            let what = format!(
                "{} was changed by another program, and is left as it is; it may still name patched packages",
                shown(&path)
            );
            print_line("warning", &what);
            return;
        }
        let restored = match before {
            Some((_, copy)) => copy.put(),
            None => self.place.remove(),
        };
        if let Err(error) = restored {
            let what = format!("{} could not be put back: {error:#}", shown(&path));
            print_line("warning", &what);
        }
    }
}

/// Returns the refusal to go on where another program has changed a file.
pub fn changed(path: &Path) -> Failure {
    let what = format!("{}: changed by another program meanwhile", shown(path));
    Failure::environment(what).hint("run this again once that has ended")
}
