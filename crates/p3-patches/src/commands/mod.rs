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

use anyhow::Result;
use clap::builder::NonEmptyStringValueParser;

use crate::error::Failure;
use crate::prover::manifest::Manifest;

/// The downstream workspace to work on.
#[derive(clap::Args)]
pub struct Downstream {
    /// A manifest of the prover's workspace; the stanza goes to the workspace's root.
    #[arg(long, value_name = "PATH", default_value = "Cargo.toml")]
    pub manifest_path: PathBuf,
}

/// The git repository that a workspace has Plonky3 from.
#[derive(clap::Args)]
pub struct Source {
    /// The git repository that the workspace has Plonky3 from [default: as recorded, else the registry].
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new())]
    source: Option<String>,
    /// Fail unless this is the revision, tag or branch that the workspace pins, or the commit that it is locked to, by seven
    /// digits at least.
    #[arg(long, value_name = "REV", requires = "source", value_parser = NonEmptyStringValueParser::new())]
    pub rev: Option<String>,
}

impl Source {
    /// The address of the repository: the given one, which has to be the one that a block in the manifest records.
    pub fn url<'s>(&'s self, manifest: &'s Manifest) -> Result<Option<&'s str>, Failure> {
        let stanza = manifest.stanza.as_ref();
        let recorded = stanza.and_then(|stanza| stanza.git.as_ref());
        if let (Some(stanza), Some(url)) = (stanza, &self.source)
            && !recorded.is_some_and(|git| git.source.is_at(url))
        {
            let path = manifest.path.display();
            let names = stanza.names.join(", ");
            let what = format!("{path}: {names} are applied to Plonky3 from elsewhere than {url}");
            let hint =
                "`cargo p3 remove` takes them out, then `apply` goes by what the workspace has";
            return Err(Failure::input(what).hint(hint));
        }
        let recorded = recorded.map(|git| git.source.url());
        Ok(self.source.as_deref().or(recorded))
    }
}
