//! The subcommands, one file each.

pub mod ab;
pub mod apply;
pub mod check;
pub mod compared;
pub mod constant_time;
pub mod count;
pub mod drift;
pub mod edit;
pub mod export;
pub mod list;
pub mod overlay;
pub mod phases;
pub mod preflight;
pub mod refresh;
pub mod remove;
pub mod report;
pub mod status;
pub mod test;
pub mod r#try;

use std::path::PathBuf;

/// The downstream workspace to work on.
#[derive(clap::Args)]
pub struct Downstream {
    /// A manifest of the prover's workspace; the stanza goes to the workspace's root.
    #[arg(long, value_name = "PATH", default_value = "Cargo.toml")]
    pub manifest_path: PathBuf,
}
