//! A prover's workspace: trees of patched packages beside it, and a block in its manifest that points at them.
//!
//! In: a workspace and names of patches. Out: the workspace, whose graph takes each tree, or as it was.

pub mod choice;
pub mod git_source;
pub mod graph;
mod inherited;
pub mod locked_dir;
pub mod manifest;
pub mod relock;
pub mod restore;
pub mod stanza;
pub mod tree;
pub mod workspace;
