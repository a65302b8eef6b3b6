//! Packages with patches on them, one after the other. Each patch applies as it does to the packages with what it needs alone; see
//! [`super::placement`].

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use super::diff::{Change, FilePatch};
use super::patch::Patch;
use super::placement::{Layers, Misfit, Spot, offsets};
use crate::source::package::{Package, in_the_way};
use paired::error::Failure;

/// Packages, and the patches that have been applied to them.
#[derive(Clone)]
pub struct Stack {
    pub packages: Vec<Package>,
    /// The files that patches have changed, by their paths in upstream's repository.
    files: BTreeMap<String, Layers>,
    /// The patches, each with all that are below it: what it needs, and what these need.
    below: BTreeMap<String, BTreeSet<String>>,
}

impl Stack {
    /// Starts with packages as published.
    pub fn new(packages: Vec<Package>) -> Self {
        Self {
            packages,
            files: BTreeMap::new(),
            below: BTreeMap::new(),
        }
    }

    /// Applies patches in order to packages as published.
    pub fn of<'p>(
        packages: Vec<Package>,
        patches: impl IntoIterator<Item = &'p Patch>,
    ) -> Result<Self> {
        let mut stack = Self::new(packages);
        for patch in patches {
            stack.apply(patch)?;
        }
        Ok(stack)
    }

    /// Applies a patch exactly, and returns a note for each hunk at an offset from the line that it names. After an error, the
    /// packages are of no use.
    pub fn apply(&mut self, patch: &Patch) -> Result<Vec<String>> {
        self.below.insert(patch.name.clone(), self.seen_by(patch));
        let mut notes = Vec::new();
        for file in &patch.files {
            let name = &file.path;
            let (at, path) = self.owner(patch, file)?;
            let package = &self.packages[at];
            let title = format!("{} {}", package.name, package.version);
            let refuse = |what: String| {
                Failure::input(format!(
                    "{}: does not apply to {title}: {what}",
                    patch.shown
                ))
                .hint(
                    "port the patch with `edit` and `refresh`, or pick the base it was written for",
                )
            };
            let exists = package.files.contains_key(path);
            if (file.change == Change::Create) == exists {
                let state = if exists {
                    "exists already"
                } else {
                    "does not exist"
                };
                return Err(refuse(format!("{name} {state}")).into());
            }
            if !exists && let Some(other) = in_the_way(path, &package.files) {
                let what = format!("{name} cannot stand beside {other}: one is the other's folder");
                return Err(refuse(what).into());
            }
            let spots = self.place(patch, file)?.into_iter();
            let spots = (spots.collect::<Result<Vec<_>, _>>())
                .map_err(|misfit| refuse(misfit.describe(name)))?;
            notes.extend(offsets(&spots).into_iter().map(|(hunk, offset)| {
                let shown = &patch.shown;
                format!("{shown}: {name}: hunk {hunk} applies at an offset of {offset:+} lines")
            }));
            if file.change == Change::Delete && self.text(patch, file)?.is_some() {
                return Err(refuse(format!("{name} has more lines than the patch deletes")).into());
            }
        }
        Ok(notes)
    }

    /// Applies a patch, and returns its diff to the packages as they were. It is the patch's own but where a patch which this one does
    /// not need stands beside its lines.
    pub fn apply_as_diff(&mut self, patch: &Patch) -> Result<String> {
        let contents = |stack: &Self| -> Result<Vec<String>> {
            let text_of = |file| {
                let (at, path) = stack.owner(patch, file)?;
                Ok(text(&stack.packages[at], path)?.to_owned())
            };
            patch.files.iter().map(text_of).collect()
        };
        let before = contents(self)?;
        self.apply(patch)?;
        let texts = before.iter().zip(contents(self)?);
        let sections = patch.files.iter().zip(texts);
        Ok(sections
            .map(|(file, (before, after))| file.section(before, &after))
            .collect())
    }

    /// Applies the hunks of one of a patch's files, as far as they have a place, and returns the place of each.
    pub fn place(&mut self, patch: &Patch, file: &FilePatch) -> Result<Vec<Result<Spot, Misfit>>> {
        let seen = self.seen_by(patch);
        let (at, path) = self.owner(patch, file)?;
        let package = &mut self.packages[at];
        let layers = match self.files.entry(file.path.clone()) {
            Entry::Occupied(layers) => layers.into_mut(),
            Entry::Vacant(layers) => layers.insert(Layers::new(text(package, path)?)),
        };
        let spots = file.place(layers, &patch.name, &seen);
        let text = layers.text();
        if file.change == Change::Delete && text.is_empty() {
            package.files.remove(path);
        } else {
            package.files.insert(path.to_owned(), text.into_bytes());
        }
        self.below.insert(patch.name.clone(), seen);
        Ok(spots)
    }

    /// Returns the text of one of a patch's files as the patch sees it, if there is such a file.
    pub fn text(&self, patch: &Patch, file: &FilePatch) -> Result<Option<String>> {
        let (at, path) = self.owner(patch, file)?;
        let package = &self.packages[at];
        if !package.files.contains_key(path) {
            return Ok(None);
        }
        Ok(Some(match self.files.get(&file.path) {
            Some(layers) => layers.seen(&self.seen_by(patch)),
            None => text(package, path)?.to_owned(),
        }))
    }

    /// Takes back the patch that was applied last.
    pub fn take_back(&mut self, patch: &Patch) -> Result<()> {
        self.below.remove(&patch.name);
        for file in &patch.files {
            let layers = (self.files.get_mut(&file.path)).expect("the patch was applied");
            layers.take_back(&patch.name);
            let text = layers.text();
            let (at, path) = self.owner(patch, file)?;
            let files = &mut self.packages[at].files;
            if file.change == Change::Create {
                files.remove(path);
            } else {
                files.insert(path.to_owned(), text.into_bytes());
            }
        }
        Ok(())
    }

    /// Returns which package has one of a patch's files, among those that the header names, and the file's path in there.
    pub fn owner<'f>(&self, patch: &Patch, file: &'f FilePatch) -> Result<(usize, &'f str)> {
        let mut folders = Vec::new();
        for (at, package) in self.packages.iter().enumerate() {
            if patch.header.packages.contains(&package.name) {
                if let Some(path) = package.inside(&file.path) {
                    return Ok((at, path));
                }
                folders.push(format!("{}/", package.folder));
            }
        }
        let (shown, path, folders) = (&patch.shown, &file.path, folders.join(", "));
        Err(Failure::input(format!(
            "{shown}: {path} is in none of the packages that the header names ({folders})"
        ))
        .hint("add the package to the field `Packages:`")
        .into())
    }

    /// Returns the patches whose lines a patch sees: what it needs, and what these need.
    fn seen_by(&self, patch: &Patch) -> BTreeSet<String> {
        let mut seen = BTreeSet::new();
        for need in &patch.header.needs {
            if let Some(below) = self.below.get(need) {
                seen.extend(below.iter().chain([need]).cloned());
            }
        }
        seen
    }
}

/// Returns a package's file, which has no text where there is none.
fn text<'p>(package: &'p Package, path: &str) -> Result<&'p str> {
    let contents = package.files.get(path).map_or(&[][..], Vec::as_slice);
    Ok(str::from_utf8(contents).map_err(|_| {
        let Package { name, version, .. } = package;
        Failure::input(format!("{name} {version}: {path} is not UTF-8 text"))
    })?)
}
