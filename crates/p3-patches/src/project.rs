//! Where this repository is: the patches, the optimizations' crates and the recorded measurements.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::error::Failure;

/// The root of a checkout of this repository.
pub struct Project {
    pub root: PathBuf,
    /// The series, and one folder per base.
    pub patches: PathBuf,
}

impl Project {
    /// Finds the project: the folder asked for, else the nearest one above the current folder that holds
    /// `patches/series`, else the checkout that this tool was built from (so that an installed binary works
    /// from inside a prover's own repository). Its patches are those in `patches`, where that is given.
    pub fn locate(explicit: Option<PathBuf>, patches: Option<PathBuf>) -> Result<Self> {
        let here = env::current_dir().context("cannot tell the current folder")?;
        let root = explicit
            .or_else(|| {
                here.ancestors()
                    .find(|dir| is_project(dir))
                    .map(Path::to_path_buf)
            })
            .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
        if !is_project(&root) {
            return Err(Failure::input(format!(
                "{}: no patches/series in this folder",
                root.display()
            ))
            .hint("run the tool inside a checkout of its repository")
            .into());
        }
        let resolve = |path: PathBuf| {
            path.canonicalize()
                .with_context(|| format!("cannot resolve {}", path.display()))
        };
        let patches = resolve(patches.unwrap_or_else(|| root.join("patches")))?;
        Ok(Self {
            root: resolve(root)?,
            patches,
        })
    }

    /// `crates/`: one folder per optimization, beside the tool's own.
    pub fn crates_dir(&self) -> PathBuf {
        self.root.join("crates")
    }

    /// `benches/record/`: the raw samples behind every published number.
    pub fn record_dir(&self) -> PathBuf {
        self.root.join("benches/record")
    }

    /// `path` as a reader of the checkout would write it.
    pub fn relative<'a>(&self, path: &'a Path) -> std::path::Display<'a> {
        path.strip_prefix(&self.root).unwrap_or(path).display()
    }
}

fn is_project(dir: &Path) -> bool {
    dir.join("patches/series").is_file()
}
