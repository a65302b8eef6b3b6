//! The subcommands, one file each.

pub mod apply;
pub mod list;
pub mod overlay;
pub mod remove;
pub mod status;
pub mod r#try;

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Result;
use clap::builder::{NonEmptyStringValueParser, TypedValueParser};

use crate::prover::manifest::Manifest;
use paired::address::{address_without_credentials, argument_without_credentials};
use paired::error::Failure;
use paired::terminal::shown;

/// How the tool is called in a checkout; `.cargo/config.toml` has the alias.
pub const ALIAS: &str = "cargo p3";

/// The most pairs of runs, or inputs, that can be asked for.
pub const MOST_RUNS: u64 = 1_000_000;

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
    // The address is compared and shown, and never fetched from.
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new().map(|url| address_without_credentials(&url)))]
    source: Option<String>,
    /// Fail unless this is the revision, tag or branch that the workspace pins, or the commit that it is locked to, by seven
    /// digits at least.
    #[arg(long, value_name = "REV", value_parser = NonEmptyStringValueParser::new())]
    pub rev: Option<String>,
}

impl Source {
    /// Returns the address of the repository: the given one, which has to be the one that a block in the manifest records.
    pub fn url<'s>(&'s self, manifest: &'s Manifest) -> Result<Option<&'s str>, Failure> {
        let stanza = manifest.stanza.as_ref();
        let recorded = stanza.and_then(|stanza| stanza.git.as_ref());
        if let (Some(stanza), Some(url)) = (stanza, &self.source)
            && !recorded.is_some_and(|git| git.source.is_at(url))
        {
            let path = shown(&manifest.path);
            let names = stanza.names.join(", ");
            let what = format!(
                "{path}: {names} are applied to Plonky3 from elsewhere than {}",
                shown(url)
            );
            let hint =
                "`cargo p3 remove` takes them out, then `apply` goes by what the workspace has";
            return Err(Failure::input(what).hint(hint));
        }
        let recorded = recorded.map(|git| git.source.url());
        let url = self.source.as_deref().or(recorded);
        if let (None, Some(rev)) = (url, &self.rev) {
            let what = format!("--rev {}: no git repository is named", shown(rev));
            let hint = "--source names the git repository that the workspace has Plonky3 from";
            return Err(Failure::input(what).hint(hint));
        }
        Ok(url)
    }
}

/// Returns the command as the user typed it. Cargo's alias stands for the option that it adds.
pub fn typed() -> Result<String, Failure> {
    let words = env::args_os().skip(1).map(OsString::into_string);
    let words: Vec<String> = words.collect::<Result<_, _>>().map_err(|word| {
        Failure::input(format!("{word:?}: no UTF-8 text"))
            .hint("the command is kept with the figures, as text; name files in UTF-8")
    })?;
    let added = words.first().is_some_and(|word| word == "--checkout");
    let words = words.iter().skip(usize::from(added));
    let words: Vec<String> = words
        .map(|word| argument_without_credentials(word))
        .collect();
    Ok(format!("{ALIAS} {}", joined(&words)))
}

/// Joins the words of a command, as a shell splits them.
///
/// # Panics
///
/// If a word has a NUL, which no argument of a process has.
pub fn joined(words: &[String]) -> String {
    shlex::try_join(words.iter().map(String::as_str)).expect("no argument has a NUL")
}

/// Names the command that runs this tool: the alias of the checkout under cargo, which sets this variable, else its own name.
pub fn called() -> &'static str {
    if env::var_os("CARGO").is_some() {
        ALIAS
    } else {
        env!("CARGO_PKG_NAME")
    }
}

/// Returns a text that names commands by the alias with the name by which they are called.
pub fn as_called(text: &str) -> String {
    text.replace(ALIAS, called())
}
