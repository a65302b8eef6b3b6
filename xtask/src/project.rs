//! The checkout that a command works in.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use p3_patches::catalog::Catalog;
use p3_patches::project::{Embedded, Patches, relative};
use paired::terminal::shown;

/// The root of a checkout of this repository, and its patches.
pub struct Project {
    pub root: PathBuf,
    /// The folder of the patches.
    pub patches_dir: PathBuf,
    pub catalog: Catalog,
}

impl Project {
    /// Opens the checkout at `root`, with the patches in `folder` if there is one.
    pub fn open(root: PathBuf, folder: Option<PathBuf>) -> Result<Self> {
        let patches = Patches::locate(Embedded::NONE, Some(root), folder)?;
        let (root, folder) = patches
            .root()
            .zip(patches.folder())
            .context("no checkout")?;
        Ok(Self {
            root: root.to_owned(),
            patches_dir: folder.to_owned(),
            catalog: Catalog::load(&patches)?,
        })
    }

    /// Returns the folder of the patches, and where cargo works for them.
    pub fn patches(&self) -> &Patches {
        &self.catalog.patches
    }

    /// Returns `crates/`: one folder per optimization, beside the tool's own.
    pub fn crates_dir(&self) -> PathBuf {
        self.root.join("crates")
    }

    /// Returns `path` as a reader of the checkout would write it.
    pub fn relative(&self, path: &Path) -> String {
        shown(relative(&self.root, path))
    }
}

#[cfg(test)]
impl Project {
    /// Opens the checkout at `root`.
    pub fn at(root: &Path) -> Self {
        Self::open(root.to_owned(), None).unwrap()
    }
}
