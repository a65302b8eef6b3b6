//! `export`: what goes upstream.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::error::Failure;
use crate::interrupt;
use crate::patch::{END, Patch};
use crate::project::Project;
use crate::record::{self, Counts, Line, Reader, Record};
use crate::series::Series;

/// Write a patch for upstream: a mail for `git am`, and the text of the pull request.
///
/// DIR/NAME.patch applies with `git am` to a checkout of Plonky3 at the release; DIR/NAME.md is the description with
/// the recorded measurements. The same patch gives the same bytes.
#[derive(clap::Args)]
#[command(after_help = "Example: cargo p3 export batched-permute --out upstream")]
pub struct Args {
    /// Patches to export; what they need is exported too.
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// The folder to write to; it is created.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The commit's author, as `Name <address>` [default: git's].
    #[arg(long)]
    author: Option<String>,
    /// The Plonky3 release [default: the newest that each patch has been ported to].
    #[arg(long, value_name = "VERSION")]
    base: Option<String>,
}

/// What is exported for one patch.
#[derive(Eq, PartialEq)]
pub struct Texts {
    /// The mail that `git am` takes.
    pub mail: String,
    /// The pull request's description, in Markdown.
    pub description: String,
}

pub fn run(args: &Args, project: &Project) -> Result<()> {
    let series = Series::load(&project.patches)?;
    let author = match &args.author {
        Some(author) => author.clone(),
        None => author(project)?,
    };
    // What a patch stacks on goes to the same release.
    let mut exported = BTreeMap::new();
    for name in series
        .select(&args.names)?
        .iter()
        .filter(|name| args.names.contains(name))
    {
        let base = match &args.base {
            Some(base) => base.clone(),
            None => series.newest_base_of(&project.patches, name)?,
        };
        let asked = std::slice::from_ref(name);
        let (base, stack) = series.resolve(&project.patches, Some(&base), asked)?;
        exported.extend(stack.into_iter().map(|name| (name, base.clone())));
    }
    let mut files = Vec::new();
    for (name, base) in exported {
        let texts = texts(project, &base, &name, &author)?;
        files.push((args.out.join(format!("{name}.patch")), texts.mail));
        files.push((args.out.join(format!("{name}.md")), texts.description));
    }
    fs::create_dir_all(&args.out).map_err(|error| {
        Failure::environment(format!("cannot create {}: {error}", args.out.display()))
    })?;
    for (path, text) in files {
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}

/// What is exported for `name`, by `author`.
pub fn texts(project: &Project, base: &str, name: &str, author: &str) -> Result<Texts> {
    let patch = Patch::load(&project.patches, base, name)?;
    let records = record::records(&project.root, base, name)?;
    let counts = record::counts(&project.root, base, name)?;
    Ok(Texts {
        mail: mail(&patch, author),
        description: description(&patch, base, &records, &counts),
    })
}

/// The patch as a mail. The date is fixed, so that the same patch gives the same text.
fn mail(patch: &Patch, author: &str) -> String {
    format!(
        "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n\
         From: {author}\n\
         Date: Thu, 1 Jan 1970 00:00:00 +0000\n\
         Subject: [PATCH] {}\n\
         MIME-Version: 1.0\n\
         Content-Type: text/plain; charset=UTF-8\n\
         Content-Transfer-Encoding: 8bit\n\n\
         {}\n---\n\n{}{END}",
        patch.header.title, patch.header.body, patch.diff
    )
}

/// The pull request's text: why, how much, and how to see it for oneself.
fn description(
    patch: &Patch,
    base: &str,
    records: &[Record],
    counts: &[(String, Counts)],
) -> String {
    let name = &patch.name;
    let mut text = format!("# {}\n\n{}\n", patch.header.title, patch.header.body);
    if !patch.header.needs.is_empty() {
        text += &format!("\nStacks on: {}.\n", patch.header.needs.join(", "));
    }
    if !records.is_empty() {
        let mut lines = record::lines(records);
        lines.retain(Line::of_prover);
        let table = record::markdown(&lines, Reader::Elsewhere);
        text += &format!("\n## Measured\n\n{table}");
    }
    for (_, counts) in counts {
        text += &format!("\n## Counted\n\n{}", counts.markdown());
    }
    text += &format!(
        "\n## Reproduce\n\nBaseline: Plonky3 {base} as published. In a checkout of the patches' repository:\n\n\
         ```\ncargo p3 ab {name} --base {base}\n```\n"
    );
    text
}

/// Who commits here, as git would have it.
fn author(project: &Project) -> Result<String> {
    let output = interrupt::output(
        Command::new("git")
            .args(["var", "GIT_AUTHOR_IDENT"])
            .current_dir(&project.root),
    )?;
    let ident = String::from_utf8_lossy(&output.stdout);
    // `Name <address> time zone`
    match ident.rfind('>') {
        Some(end) if output.status.success() => Ok(ident[..=end].to_owned()),
        _ => Err(Failure::environment("git does not know who you are")
            .hint("set user.name and user.email, or pass --author 'Name <address>'")
            .into()),
    }
}
